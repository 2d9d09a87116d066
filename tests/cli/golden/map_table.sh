# New rows of a text table are encoded as the table of the model was; also those of the reference.
awk 'BEGIN {
  srand(5); print "age,job,city,site,class"
  for (i = 0; i < 300; i++) {
    k = i % 3; s = int(i / 3) % 3
    print int(30 + 20 * k + 5 * rand() + 3 * s) "," (k == 0 ? "cook" : k == 1 ? "smith" : "nurse") "," (rand() < 0.5 ? "x" : "y") ",s" s "," (k == 0 ? "low" : k == 1 ? "mid" : "high")
  }
}' >people.csv
grep -v ,s2, people.csv >old.csv
{ head -n 1 people.csv; grep ,s2, people.csv; } >new.csv
"$COMP" prep -q -i old.csv -o ref.h5ad --obs site --obs class || exit
"$COMP" train -i ref.h5ad -o model.comp --condition site --target class --hidden 16 --latent 3 --epochs 30 2>messages || exit
sed -n 's/of [0-9.]*, [0-9.]* after/of X, Y after/; s/^target: /&/p' messages
"$COMP" info -q model.comp | grep -o 'class is predicted from z'
"$COMP" map -q -i new.csv -m model.comp -r ref.h5ad -o out.h5ad --label class --steps 20 | head -n 2
"$COMP" map -q -i new.csv -m model.comp -r old.csv -o out2.h5ad --label class --steps 20 >/dev/null && cmp out.h5ad out2.h5ad && echo "the same by the table of the reference"
"$COMP" info -q out.h5ad | grep -o -e '^99 samples x 6 features' -e 'class_predicted' -e 'X_comp'
# an audit of new rows, in a text table
"$COMP" audit -q -i old.csv -m model.comp -c site --target class --attackers logistic | grep -o '^Can .*found'
