code=0
"$COMP" bench --json x --seconds abc || code=$?
ls -A
exit "$code"
