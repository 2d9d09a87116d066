code=0
"$COMP" bench --json x --seconds -1 || code=$?
ls -A
exit "$code"
