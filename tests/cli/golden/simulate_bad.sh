# Wrong options are named; a file that exists stays as it is.
echo old >cells.h5ad
for bad in '--effect -1' '--conditions 1' '--cells 0' '--cells 3' '--absent type9:treated' '--truth --no-truth'; do
  # shellcheck disable=SC2086  # two words
  "$COMP" simulate -o cells.h5ad $bad || echo "$bad: exit $?"
done
"$COMP" simulate -o no/cells.h5ad || echo "exit $?"
cat cells.h5ad
ls -A
