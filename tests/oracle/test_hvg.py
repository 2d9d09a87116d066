#!/usr/bin/python3
"""normalize_total, log1p and highly variable genes (flavors seurat, variance) against scanpy's algorithms, restated here
with numpy and pandas as scanpy documents them, on random counts and on Kang."""
import prep_common as pc
from prep_common import np, ok, pd, sp


def normalize(x):
    totals = np.asarray(x.sum(1)).ravel()
    target = np.median(totals[totals > 0])
    totals[totals == 0] = 1
    return sp.csr_matrix(sp.diags(target / totals) @ x.astype(np.float64)).astype(np.float32), target


def moments(x):
    x = x.astype(np.float64)
    n = x.shape[0]
    mean = np.asarray(x.mean(0)).ravel()
    square = np.asarray(x.multiply(x).mean(0)).ravel() if sp.issparse(x) else (x * x).mean(0)
    return mean, (square - mean**2) * n / (n - 1)


def seurat_one(x, n_top, bins=20):
    x = x.copy()
    x.data = np.expm1(x.data)
    mean, var = moments(x)
    mean[mean == 0] = 1e-12
    with np.errstate(divide="ignore", invalid="ignore"):
        dispersion = var / mean
        dispersion[dispersion <= 0] = np.nan
        dispersion = np.log(dispersion)
    df = pd.DataFrame({"means": np.log1p(mean), "dispersions": dispersion})
    df["bin"] = pd.cut(df["means"], bins=bins)
    groups = df.groupby("bin")["dispersions"]
    centre, sd = groups.mean(), groups.std(ddof=1)
    alone = sd.isnull()
    sd[alone] = centre[alone]
    centre[alone] = 0
    codes = df["bin"].cat.codes.values
    df["dispersions_norm"] = (df["dispersions"].values - centre.values[codes]) / sd.values[codes]
    known = np.sort(df["dispersions_norm"].dropna().values)[::-1]
    cut = known[min(n_top, known.size) - 1]
    df["highly_variable"] = df["dispersions_norm"].fillna(-np.inf) >= cut
    return df.drop(columns="bin")


def seurat_batches(x, batch, names, n_top):
    parts = []
    for b in sorted(set(batch)):
        sub = x[batch == b]
        seen = np.asarray((sub > 0).sum(0)).ravel() > 0
        part = pd.DataFrame(0.0, index=names, columns=["means", "dispersions", "dispersions_norm", "highly_variable"])
        found = seurat_one(sub[:, seen], n_top)
        found.index = np.asarray(names)[seen]
        part.loc[found.index, found.columns] = found.astype(float)
        parts.append(part)
    df = pd.concat(parts)
    df = df.groupby(df.index).agg({"means": "mean", "dispersions": "mean", "dispersions_norm": "mean",
                                   "highly_variable": "sum"})
    df = df.rename(columns={"highly_variable": "highly_variable_nbatches"})
    df = df.sort_values(["highly_variable_nbatches", "dispersions_norm"], ascending=False, na_position="last")
    df["highly_variable"] = np.arange(len(df)) < n_top
    return df.loc[list(names)]


def compare(where, expected, what, columns):
    got = pc.read_out(where)
    same = set(got["name"][got["highly_variable"]]) == set(np.asarray(expected.index)[expected["highly_variable"]])
    ok(same, f"{what}: the same {int(expected['highly_variable'].sum())} genes")
    for c in columns:
        ok(pc.near(got[c], expected[c]), f"{what}: {c} to 1e-6 (worst {pc.worst(got[c], expected[c]):.1e})")


def check(x, names, obs, n_top, batch, what, *filters):
    where = pc.folder()
    pc.write_dataset(where, x, names, obs)
    if filters:
        x, obs = x[obs["in_paper_set"].values], obs[obs["in_paper_set"]]
        seen = np.asarray((x > 0).sum(0)).ravel() > 0
        x, names = sp.csr_matrix(x[:, seen]), np.asarray(names)[seen]
    scaled, target = normalize(x)
    logged = scaled.copy()
    logged.data = np.log1p(logged.data)
    steps = [*filters, "normalize=median", "log1p=1", "all_genes=1"]

    message = pc.run(where, "prep", *steps, f"hvg=seurat:{n_top}")
    ok(message == "", f"{what}: runs {message}")
    got = pc.read_matrix(where + "/out_x.bin")
    ok(got.shape == logged.shape and pc.near(got.toarray(), logged.toarray()), f"{what}: log-normalised values to 1e-6")
    out_obs = pc.read_out(where, "out_obs.tsv")
    ok(pc.near(out_obs["comp_library_size"], np.asarray(x.sum(1)).ravel()), f"{what}: library sizes")
    import json
    record = json.load(open(where + "/out_record.json"))["prep"]["steps"]
    used = [s["target_sum"] for s in record if s["step"] == "normalize_total"]
    ok(len(used) == 1 and abs(used[0] - target) < 1e-6 * target, f"{what}: the recorded target is the median")
    expected = seurat_one(logged, n_top)
    expected.index = names
    compare(where, expected, f"{what} seurat", ["means", "dispersions", "dispersions_norm"])
    reference = pc.bytes_of(where, "out_x.bin", "out_var.tsv", "out_obs.tsv", "out_record.json")
    for threads in (1, 7):
        pc.run(where, "prep", *steps, f"hvg=seurat:{n_top}", f"threads={threads}")
        ok(pc.bytes_of(where, "out_x.bin", "out_var.tsv", "out_obs.tsv", "out_record.json") == reference,
           f"{what}: the same bytes with {threads} threads")

    pc.run(where, "prep", *steps, f"hvg=seurat:{n_top}", f"batch={batch}")
    expected = seurat_batches(logged, obs[batch].astype(str).values, names, n_top)
    compare(where, expected, f"{what} seurat by {batch}",
            ["means", "dispersions", "dispersions_norm", "highly_variable_nbatches"])

    pc.run(where, "prep", *steps, f"hvg=variance:{n_top}", f"batch={batch}")
    chosen = np.zeros(len(names), bool)
    for b in set(obs[batch]):
        var = moments(logged[(obs[batch] == b).values])[1]
        chosen |= var >= np.sort(var)[::-1][n_top - 1]
    got = pc.read_out(where)
    ok(set(got["name"][got["highly_variable"]]) == set(np.asarray(names)[chosen]),
       f"{what} variance by {batch}: the same {chosen.sum()} genes")

    pc.run(where, "prep", *[s for s in steps if s != "all_genes=1"], f"hvg=seurat:{n_top}")
    got = pc.read_matrix(where + "/out_x.bin")
    ok(pc.near(got.toarray(), logged[:, seurat_one(logged, n_top)["highly_variable"].values].toarray()),
       f"{what}: the subset holds these genes, in their order")


rng = np.random.default_rng(0)
rates = rng.gamma(0.5, 2.0, 300) * rng.lognormal(0, 1, 300)
counts = rng.poisson(rates * rng.gamma(2, 0.5, (400, 300)))
counts[:, 7] = 0
counts[5] = 0
check(sp.csr_matrix(counts.astype(np.float32)), [f"g{j}" for j in range(300)],
      pd.DataFrame({"batch": np.where(np.arange(400) % 3 == 0, "a", "b")}), 50, "batch", "random counts")

data = pc.kang()
if data is None:
    pc.skip("Kang", "kang_ifnb.h5ad is not here (COMP_DATA)")
else:
    check(data.X, list(data.var_names), data.obs[["stim", "cell_type", "in_paper_set"]].astype(
        {"stim": str, "cell_type": str}), 2000, "stim", "Kang", "keep=in_paper_set=True", "drop_empty=1")
pc.done()
