code=0
"$COMP" bench --seconds 'a
b' || code=$?
ls -A
exit "$code"
