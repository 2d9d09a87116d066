# The files that docs/user.md takes for granted: cells of CTRL and STIM, in all formats, and what commands that come later on the page read.
comp simulate -q -o raw.h5ad --cells 300 --genes 80 --labels 3 --library 900 --no-truth
comp convert -q -i raw.h5ad -o raw.csv
python3 - <<'END'
import csv, os
rows = list(csv.reader(open("raw.csv")))
head = rows[0]
at = {name: i for i, name in enumerate(head)}
genes = [i for i, name in enumerate(head) if name.startswith("gene")]
names = ["MT-" + head[i] if i == genes[0] else head[i] for i in genes]
with open("cells.csv", "w") as f:
    print("cell,stim,cell_type,type,donor,condition,label", file=f)
    for n, row in enumerate(rows[1:]):
        label, condition = row[at["label"]], row[at["condition"]]
        print(row[0], "STIM" if condition == "treated" else "CTRL", label, {"type1": "B", "type2": "NK"}.get(label, "T"), "AB"[n // 2 % 2], condition, label, sep=",", file=f)
os.mkdir("filtered_feature_bc_matrix")
entries = [(g + 1, c + 1, row[i]) for c, row in enumerate(rows[1:]) for g, i in enumerate(genes) if float(row[i])]
with open("filtered_feature_bc_matrix/matrix.mtx", "w") as f:
    print("%%MatrixMarket matrix coordinate integer general", file=f)
    print(len(genes), len(rows) - 1, len(entries), file=f)
    for g, c, v in entries:
        print(g, c, int(float(v)), file=f)
open("filtered_feature_bc_matrix/barcodes.tsv", "w").write("".join(row[0] + "\n" for row in rows[1:]))
open("filtered_feature_bc_matrix/features.tsv", "w").write("".join(f"id{i}\t{n}\tGene Expression\n" for i, n in enumerate(names)))
with open("people.csv", "w") as f:
    print("age,hours,sex,income", file=f)
    for i in range(200):
        print(20 + i % 40, 30 + i * 7 % 13, ("man", "woman")[i * 5 % 3 % 2], ("low", "high")[i * 11 % 7 % 2], sep=",", file=f)
END
comp convert -q -i filtered_feature_bc_matrix -o cells.h5ad --metadata cells.csv
comp convert -q -i cells.h5ad -o cells.zarr
cp cells.h5ad counts.h5ad
cp cells.h5ad new_cells.h5ad
comp prep -q -i cells.h5ad -o ready.h5ad --normalize-total median --log1p --keep-counts
comp train -q -i ready.h5ad -o model.comp --condition stim
comp prep -q -i people.csv -o adult.h5ad --obs sex --obs income
comp embed -q -i ready.h5ad -m model.comp -o scored.h5ad
comp score -q -i scored.h5ad --condition stim --label cell_type -k 20 --json scores.json >scores.txt
cp scores.json comp.json
cp scores.json harmony.json
echo '{"findings": []}' >diagnose.json
