# Nothing but the JSON on stdout; a working command ends with time, memory and threads on stderr.
"$COMP" bench --seconds 0.01 --threads 2 --json - | sed 's/: .*//'
ls -A
