# Models, a checkpoint and a run folder of version 0.1 (tests/samples) are read by the program of today.
old=$SAMPLES/0.1
cp "$old/samples.csv" "$old/stopped.safetensors.checkpoint" . && cp -r "$old/run" . && chmod -R u+w . || exit
for model in vae cvae vfae trvae comp centred protect; do
  echo "$model"
  "$COMP" info -q "$old/$model.safetensors" | sed '1d; /^  last epoch/,$d' || exit
  "$COMP" embed -q -i samples.csv -m "$old/$model.safetensors" -o "$model.h5ad" || exit
  "$COMP" info --json "$model.json" -q "$model.h5ad" | grep -c X_comp
done
echo "a checkpoint"
set -- train -i samples.csv --condition group -o stopped.safetensors --scale 0.1 --no-centre --blur 0 --hidden 4 --latent 2 --batch 16 --epochs 40
"$COMP" "$@" --resume -v 2>&1 | grep -o '^going on after.*'
ls stopped*
echo "a run folder"
"$COMP" run -i samples.csv --as omics -c group -l kind -o run --hidden 4 --latent 2 --batch 16 --epochs 2 --no-umap --no-diagnose >summary 2>messages
echo "exit $?"
grep -c '^\$ comp' messages
(cd run && find . -type f | sort)
