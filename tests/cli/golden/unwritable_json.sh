# Refused before anything is measured (an hour each would not pass unnoticed), and nothing is left.
code=0
"$COMP" bench --seconds 3600 --json no/such/folder.json || code=$?
ls -A
exit "$code"
