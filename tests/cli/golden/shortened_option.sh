code=0
"$COMP" bench --sec 3 --json x || code=$?
ls -A
exit "$code"
