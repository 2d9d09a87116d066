code=0
"$COMP" bench --json x --json y || code=$?
ls -A
exit "$code"
