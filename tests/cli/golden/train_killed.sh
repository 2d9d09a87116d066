# Killed again and again, with SIGKILL at whatever step it is, and resumed: the same bytes as a run that was left alone.
"$COMP" simulate -q -o cells.h5ad --cells 600 --genes 60 --labels 3 || exit
"$COMP" prep -q -i cells.h5ad -o ready.h5ad --normalize-total median --log1p || exit
set -- train -q -i ready.h5ad --condition condition --hidden 24,24 --latent 4 --batch 64 --epochs 60
"$COMP" "$@" -o unbroken.comp || exit
kills=0
while :; do
  "$COMP" "$@" -o broken.comp --resume --checkpoint-epochs 7 --log log.jsonl --threads 2 &
  pid=$!
  ms=$((50 + kills * 80 + kills * 37 % 23 * 10)) # longer each time: the first state must be saved once
  sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
  kill -KILL "$pid" 2>/dev/null || true
  if wait "$pid"; then break; fi
  kills=$((kills + 1))
  [ "$kills" -lt 60 ] || { echo "never finished"; exit 1; }
done 2>/dev/null
if [ "$kills" = 0 ]; then echo "too fast to be killed"; fi
cmp unbroken.comp broken.comp && echo "the same bytes"
sed 's/^{"epoch":\([0-9]*\),.*/\1/' log.jsonl | tr '\n' ' ' # each epoch once
echo
ls
