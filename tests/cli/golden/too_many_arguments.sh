code=0
"$COMP" bench --json x this that || code=$?
ls -A
exit "$code"
