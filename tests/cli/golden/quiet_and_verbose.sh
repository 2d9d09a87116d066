code=0
"$COMP" bench --json x -qv || code=$?
ls -A
exit "$code"
