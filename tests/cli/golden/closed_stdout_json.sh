# Nothing is created when stdout cannot take the table.
code=0
"$COMP" bench -q --seconds 0.01 --json x.json >&- || code=$?
ls -A
exit "$code"
