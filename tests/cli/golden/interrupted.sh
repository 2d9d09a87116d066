# A signal stops the run soon, with a message and without a result.
[ -r /proc/self/status ] || { echo "no /proc"; exit 77; }
"$COMP" bench --seconds 60 --json x.json &
pid=$!
caught=0
while [ $((caught & 0x4000)) -eq 0 ] && kill -0 $pid; do # until the program has asked for SIGTERM
  sleep 0.1
  caught=0x$(sed -n 's/^SigCgt:[[:space:]]*//p' /proc/$pid/status)
done
kill -TERM $pid
code=0
wait $pid || code=$?
ls -A
exit "$code"
