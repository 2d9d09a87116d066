# No stream is open: nothing can be said. A result that goes to stdout fails and creates nothing; a file is good, with nothing of the streams in it.
code=0
"$COMP" bench --seconds 0.01 --json x.json <&- >&- 2>&- || code=$?
"$COMP" simulate -o x.h5ad --cells 20 --genes 5 <&- >&- 2>&- || exit
"$COMP" info -q x.h5ad >info && sed -n 2p info
ls -A
exit "$code"
