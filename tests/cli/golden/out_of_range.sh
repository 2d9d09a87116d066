code=0
"$COMP" bench --json x --threads 5000 || code=$?
ls -A
exit "$code"
