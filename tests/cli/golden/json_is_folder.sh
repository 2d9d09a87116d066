code=0
"$COMP" bench --seconds 3600 --json . || code=$?
ls -A
exit "$code"
