# The tumour experiment on made-up files in the layouts of Celligner: models, baselines, and figures that depend on neither jobs nor threads.
mkdir -p data/celligner data/tcga_paired
touch data/tcga_paired/expr.tsv.gz # both are there: it says which is used
cd data/celligner || exit
awk 'function noise() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
  function value(i, g, line) { return 3 + 2 * ((g + i % 3) % 3) + 2 * noise() + (line && g % 2 ? 1.5 : 0) }
  BEGIN {
    seed = 7; tissues[0] = "lung"; tissues[1] = "skin"; tissues[2] = "bone"
    printf "Gene" >"TCGA_mat.tsv"
    for (i = 0; i < 130; i++) printf "\tT%d", i >"TCGA_mat.tsv"
    for (g = 0; g < 80; g++) {
      printf "\nG%d", g >"TCGA_mat.tsv"
      for (i = 0; i < 130; i++) printf "\t%.4f", value(i, g, 0) >"TCGA_mat.tsv"
    }
    print "" >"TCGA_mat.tsv"
    for (g = 79; g >= 0; g--) printf ",G%d (%d)", g, 100 + g >"CCLE_expression.csv"
    for (i = 0; i < 90; i++) {
      printf "\nACH-%d", i >"CCLE_expression.csv"
      for (g = 79; g >= 0; g--) printf ",%.4f", value(i, g, 1) >"CCLE_expression.csv"
    }
    print "" >"CCLE_expression.csv"
    print "sampleID,lineage,type" >"Celligner_info.csv"
    for (i = 0; i < 130; i++) print "T" i "," tissues[i % 3] ",tumor" >"Celligner_info.csv"
    for (i = 0; i < 90; i++) print "ACH-" i "," tissues[i % 3] ",CL" >"Celligner_info.csv"
  }'
cd ../..
set -- experiment tumour -d data --models cvae,comp --baselines pca,mnn --seeds 0-1 --epochs 3
"$COMP" "$@" -o one --jobs 1 --threads 1 >one.txt 2>one.err || { cat one.err; exit 1; }
grep -E 'celligner|hgnc' one.err
"$COMP" "$@" -q -o three --jobs 3 --threads 5 >three.txt || exit
cmp one.txt three.txt && cut -c 1-10 one.txt | sed '3d'
for file in one/*.* one/runs/*.safetensors; do cmp "$file" "three/${file#one/}"; done
tag=$(find one/runs -name '*pca.json')
tag=${tag#one/runs/}
tag=${tag%-models*}
runs() { (cd "$1/runs" && find . -type f) | sed "s/$tag/TAG/; s/tumour-........-/OTHER-/; s/^..//" | LC_ALL=C sort; }
runs one
# What is there is not done again; what is lacking is.
rm "three/runs/$tag-models-comp-default-3epochs-seed1".* "three/runs/$tag-models-baseline-mnn.json"
touch -d 2001-01-01 three/runs/*seed0*
"$COMP" "$@" -q -o three | cmp - one.txt
find three/runs -name '*seed*' ! -newer data/celligner | LC_ALL=C sort | sed "s/$tag/TAG/"
# A model of another recipe (here: without a penalty) is fitted again.
cp "three/runs/$tag-models-cvae-default-3epochs-seed0.safetensors" "three/runs/$tag-models-comp-default-3epochs-seed0.safetensors"
"$COMP" "$@" -o three 2>again.err | cmp - one.txt
grep 'done again' again.err
for model in cvae comp; do cmp one/runs/*-$model-*-seed0.safetensors three/runs/*-$model-*-seed0.safetensors; done
# Stopped while two train: both leave a state, and go on to the same bytes.
set -- experiment tumour -d data --models cvae --seeds 0-1 --epochs 100
"$COMP" "$@" -q -o whole --threads 2 >/dev/null || exit
: >broken.err # the loop below may look before the program has started
"$COMP" "$@" -o broken --jobs 2 --threads 2 >/dev/null 2>broken.err &
pid=$!
until [ "$(grep -c 'epochs of' broken.err)" = 2 ]; do sleep 0.02; kill -0 $pid || exit; done
kill -TERM $pid
wait $pid || echo "exit code $?"
tail -n 1 broken.err | sed 's/seed[01]/seed/'
runs broken
"$COMP" "$@" -q -o broken >/dev/null || exit
cmp whole/models.csv broken/models.csv && runs broken
for seed in 0 1; do cmp whole/runs/*seed$seed.safetensors broken/runs/*seed$seed.safetensors; done
# Other data: nothing of the old runs is taken for its own.
sed '2s/lung/skin/' data/celligner/Celligner_info.csv >info.csv && mv info.csv data/celligner/Celligner_info.csv
"$COMP" experiment tumour -d data --models cvae --seeds 0-1 --epochs 100 -q -o broken >/dev/null || exit
runs broken
# What it takes, by the whole recipe, before it begins; --estimate leaves nothing behind.
"$COMP" experiment tumour -d data --models cvae --seeds 0 --epochs 2 --preset paper --estimate -o nothing 2>&1 | grep -e take -e 'to train on' | sed 's/some [0-9.]* [a-z]*/some TIME/'
test -e nothing || echo "nothing is left"
