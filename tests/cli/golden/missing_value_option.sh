code=0
"$COMP" bench --json --quiet || code=$?
ls -A
exit "$code"
