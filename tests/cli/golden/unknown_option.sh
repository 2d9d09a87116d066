code=0
"$COMP" bench --secnods 3 --json x || code=$?
ls -A
exit "$code"
