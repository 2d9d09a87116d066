# New samples of a condition that the model does not know; the files of model and reference stay as they are.
"$COMP" simulate -q -o all.h5ad --cells 240 --genes 30 --conditions 3 --labels 2 --separation 3 --library 200 --no-truth || exit
"$COMP" prep -q -i all.h5ad -o ref.h5ad --keep condition=control,treated1 --normalize-total 100 --log1p || exit
"$COMP" prep -q -i all.h5ad -o new.h5ad --keep condition=treated2 --hvg variance:25 --force || exit
"$COMP" train -q -i ref.h5ad -o model.comp --condition condition --hidden 16 --latent 3 --epochs 30 || exit
cksum model.comp ref.h5ad >before
"$COMP" map -i new.h5ad -m model.comp -r ref.h5ad -o out.h5ad --label label --steps 20 --save-model larger.comp --json report.json |
  sed 's/ *[0-9]*$//; s/^[0-9]* of 80/N of 80/'
cksum model.comp ref.h5ad | cmp - before
"$COMP" info -q out.h5ad | sed -n '/^obs$/,/^var/p;/^obsm/,/^record/p' | grep -v library_size | sed 's/levels: .*/levels/; s/number  .*/number/; s/bool  .*/bool/'
grep -A3 '"missing"' report.json
# The larger model knows the condition, and embeds old samples as before.
"$COMP" embed -q -i new.h5ad -m larger.comp -o new.h5ad 2>/dev/null && echo "embedded by the larger model"
"$COMP" embed -q -i new.h5ad -m model.comp -o new2.h5ad 2>&1 | grep -o "'treated2' is not a condition that the model knows"
"$COMP" map -q -i ref.h5ad -m model.comp -r ref.h5ad -o same.h5ad | head -3
"$COMP" map -q -i new.h5ad -m model.comp -r ref.h5ad -o out.h5ad --as control
"$COMP" map -q -i new.h5ad -m model.comp -r ref.h5ad -o out.h5ad --label typo
"$COMP" map -q -i new.h5ad -m model.comp -r ref.h5ad -o ref.h5ad
"$COMP" map -q -i new.h5ad -m model.comp -r ref.h5ad -o out.h5ad --save-model model.comp
"$COMP" map -q -i new.h5ad -m model.comp -r new.h5ad -o out.h5ad
# Both sides on one page, and in one file.
"$COMP" map -q -i new.h5ad -m model.comp -r ref.h5ad -o out.h5ad --as late --label label --steps 5 --report page.html 2>/dev/null | head -1
grep -o '"mapping":{"reference":160,"query":80' page.html
"$COMP" info -q page_together.h5ad | grep -o 'comp_role\|X_umap'
"$COMP" info -q out.h5ad | grep -o 'late'
"$COMP" map -q -i new.h5ad -m model.comp -r ref.h5ad -o out.h5ad --report page.pdf
# No result takes the place of another file, also where neither is there yet. Nothing that is there changes.
map() { "$COMP" map -q -i new.h5ad -m model.comp -r ref.h5ad --steps 5 "$@"; }
cksum new.h5ad ref.h5ad model.comp out.h5ad >before
map -o out.h5ad --together ref.h5ad
map -o out.h5ad --together new.h5ad
map -o out.h5ad --together model.comp
map -o out.h5ad --together ./out.h5ad
map -o out.h5ad --report r.html --together new.h5ad
map -o out.h5ad --json out.h5ad
map -o fresh.h5ad --json ./fresh.h5ad
map -o out.h5ad --json m.json --save-model m.json
map -o out.h5ad --json t.h5ad --together t.h5ad
map -o out.h5ad --save-model fresh.comp --together "./fresh.comp"
mkdir folder && mv model.comp folder && ln folder/model.comp model.comp
map -o folder/model.comp
cksum new.h5ad ref.h5ad model.comp out.h5ad | cmp - before
# The names that come to mind first: a page beside its data. A folder for both sides.
map -o out.h5ad --label label --report out.html 2>/dev/null | head -1
"$COMP" info -q out.h5ad | head -2 | tail -1
"$COMP" info -q out_together.h5ad | head -2 | tail -1
map -o out.h5ad --label label --report p.html --together p.zarr 2>/dev/null | head -1
grep -o '"mapping":{"reference":160,"query":80' p.html
true
