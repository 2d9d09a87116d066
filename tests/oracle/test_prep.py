#!/usr/bin/python3
"""Filters, the record repeated on new data, and tables of mixed columns (Adult: pandas and scikit-learn restate the
authors' preparation)."""
import json

import prep_common as pc
from prep_common import np, ok, pd, sp

rng = np.random.default_rng(3)
n, genes = 200, 40
x = sp.csr_matrix(rng.poisson(rng.gamma(0.4, 1.5, genes), (n, genes)).astype(np.float32))
names = np.array([f"MT-{j}" if j % 9 == 0 else f"g{j}" for j in range(genes)])
obs = pd.DataFrame({"kind": rng.choice(["a", "b", "c, d"], n), "good": rng.random(n) < 0.8})
where = pc.folder()
pc.write_dataset(where, x, names, obs)

message = pc.run(where, "prep", "keep=kind=a,b", "keep=good=true", "drop_genes=^MT-", "min_cell_counts=20",
                 "min_cell_genes=8", "min_gene_cells=10", "min_gene_counts=30")
ok(message == "", f"filters: run {message}")
rows = (obs["kind"].isin(["a", "b"]) & obs["good"]).values
cols = ~np.char.startswith(names, "MT-")
dense = x.toarray()
rows &= (dense[:, cols].sum(1) >= 20) & ((dense[:, cols] > 0).sum(1) >= 8)
cols &= (dense[rows].sum(0) >= 30) & ((dense[rows] > 0).sum(0) >= 10)
got = pc.read_matrix(where + "/out_x.bin")
ok(got.shape == (rows.sum(), cols.sum()) and (got.toarray() == dense[rows][:, cols]).all(),
   f"filters: the same {got.shape} values")
ok(list(pc.read_out(where)["name"] if "name" in pc.read_out(where) else []) == list(names[cols]), "filters: the genes")

pc.run(where, "prep", "keep=kind=c, d")
ok(pc.read_matrix(where + "/out_x.bin").shape[0] == (obs["kind"] == "c, d").sum(), "filters: a value with a comma")

# A record repeated: the same cells give the same matrix, also with genes in another order and some lacking.
pc.run(where, "prep", "drop_genes=^MT-", "normalize=median", "log1p=1", "hvg=seurat:15")
prepared = pc.read_matrix(where + "/out_x.bin").toarray()
chosen = list(pc.read_out(where)["name"])
open(where + "/record.json", "w").write(open(where + "/out_record.json").read())
order = rng.permutation(genes)
pc.write_dataset(where, sp.csr_matrix(x[:, order]), names[order], obs, "new_")
message = pc.run(where, "apply", "record=record.json", "prefix=new_")
ok(message == "", f"record: repeats {message}")
ok(list(pc.read_out(where)["name"]) == chosen and
   pc.near(pc.read_matrix(where + "/out_x.bin").toarray(), prepared, 1e-7), "record: the same values in another order")
for dense_input in (False, True):
    some = [j for j in order if names[j] not in (chosen[0], chosen[5])]
    part = x[:, some]
    pc.write_dataset(where, part.toarray() if dense_input else sp.csr_matrix(part), names[some], obs, "part_")
    pc.run(where, "apply", "record=record.json", "prefix=part_")
    got = pc.read_matrix(where + "/out_x.bin")
    got = got if dense_input else got.toarray()
    ok(list(pc.read_out(where)["name"]) == chosen and (got[:, [0, 5]] == 0).all() and (got[:, 1] > 0).any(),
       f"record: lacking genes are 0 ({'dense' if dense_input else 'sparse'})")
message = pc.run(where, "prep", "normalize=1e4", "log1p=1", "all_genes=1")
logged = pc.read_matrix(where + "/out_x.bin")
pc.write_dataset(where, logged, names, obs, "log_")
pc.run(where, "apply", "record=record.json", "prefix=log_")
ok(pc.near(pc.read_matrix(where + "/out_x.bin").toarray(), logged.toarray()[:, [list(names).index(g) for g in chosen]]),
   "record: data that looks logged is not logged again")
pc.write_dataset(where, logged, names, obs)
ok("already logged" in pc.run(where, "prep", "log1p=1"), "logged data is not logged again")
ok("counts" in pc.run(where, "prep", "normalize=median"), "logged data is not normalised")
ok("counts" in pc.run(where, "prep", "hvg=vst:10"), "vst refuses logged data")
ok(pc.run(where, "prep", "log1p=1", "force=1") == "", "unless forced")

# Adult.
NAMES = ("age workclass fnlwgt education education_num marital_status occupation relationship race sex capital_gain "
         "capital_loss hours_per_week native_country income").split()
DROPPED = [f"native_country_{c}" for c in ("Holand-Netherlands", "Vietnam", "Yugoslavia")]


def adult():
    parts = []
    for file, skip in (("adult.data.gz", 0), ("adult.test.gz", 1)):
        path = pc.data_file("adult", file)
        if not path:
            return None
        parts.append(pd.read_csv(path, names=NAMES, skiprows=skip, skipinitialspace=True, na_values="?"))
    return parts


def check_adult(parts):
    try:
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        return pc.skip("Adult", "scikit-learn is not here")
    for i, part in enumerate(parts):
        pc.write_table(f"{where}/adult{i}.tsv", part)
    arguments = ["table=adult0.tsv", "table=adult1.tsv", "obs=sex", "obs=income", "drop=education", "missing=drop",
                 "merge=relationship=Wife,Husband:spouse", "merge=income=<=50K.:<=50K", "merge=income=>50K.:>50K",
                 *[f"drop_feature={name}" for name in DROPPED]]
    message = pc.run(where, "tabular", *arguments)
    ok(message == "", f"Adult: runs {message}")
    df = pd.concat(parts, ignore_index=True).dropna()
    df["relationship"] = df["relationship"].replace({"Wife": "spouse", "Husband": "spouse"})
    df["income"] = df["income"].str.rstrip(".")
    wide = pd.get_dummies(df.drop(columns=["education", "income", "sex"])).astype(float)
    expected = pd.DataFrame(StandardScaler().fit_transform(wide), columns=wide.columns).drop(columns=DROPPED)
    got = pc.read_matrix(where + "/out_x.bin")
    ok(got.shape == (45222, 82), f"Adult: 45,222 rows x 82 features (found {got.shape})")
    ok(list(pc.read_out(where)["name"]) == list(expected.columns), "Adult: the features of pandas.get_dummies")
    ok(pc.near(got, expected.values), f"Adult: values to 1e-6 (worst {pc.worst(got, expected.values):.1e})")
    out = pc.read_out(where, "out_obs.tsv")
    ok(list(out["sex"]) == list(df["sex"]) and list(out["income"]) == list(df["income"]), "Adult: sex and income in obs")
    ok(list(out["name"].astype(int)) == list(df.index), "Adult: rows are named by their numbers")
    again = pc.read_matrix(where + "/again_x.bin")
    ok((again == got).all(), "Adult: the record encodes the same rows to the same bytes")
    reference = pc.bytes_of(where, "out_x.bin", "out_record.json")
    for threads in (1, 7):
        pc.run(where, "tabular", *arguments, f"threads={threads}")
        ok(pc.bytes_of(where, "out_x.bin", "out_record.json") == reference, f"Adult: the same bytes, {threads} threads")
    ok("row 15 has no value in column 'native_country'" in pc.run(where, "tabular", "table=adult0.tsv"),
       "Adult: a missing value is refused by row and column")
    steps = json.load(open(where + "/out_record.json"))["prep"]["steps"]
    ok(len(steps[0]["features"]) == 82, "Adult: the record holds 82 features")


parts = adult()
if parts is None:
    pc.skip("Adult", "the files are not here (COMP_DATA)")
else:
    check_adult(parts)
pc.done()
