code=0
"$COMP" bench --json || code=$?
ls -A
exit "$code"
