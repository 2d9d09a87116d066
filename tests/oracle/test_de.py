#!/usr/bin/python3
"""Wilcoxon rank-sum tests against scipy.stats.rankdata, as scanpy's rank_genes_groups(method="wilcoxon") uses ranks, on
random values (sparse, dense, negative) and on Kang."""
import prep_common as pc
from prep_common import np, ok, pd, sp
from scipy import stats


def adjust(p):
    order = np.argsort(p)
    raw = p[order] * len(p) / np.arange(1, len(p) + 1)
    out = np.empty_like(p)
    out[order] = np.minimum(np.minimum.accumulate(raw[::-1])[::-1], 1)
    return out


def restate(x, target, reference, tie_correct=False):
    a, b = x[target], x[reference]
    n, m = a.shape[0], b.shape[0]
    both = np.concatenate([a, b])
    ranks = stats.rankdata(both, axis=0)
    variance = n * m * (n + m + 1) / 12
    if tie_correct:
        variance = variance * np.array([stats.tiecorrect(r) for r in ranks.T])
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = (ranks[:n].sum(0) - n * (n + m + 1) / 2) / np.sqrt(variance)
        scores[~np.isfinite(scores)] = 0
        pvals = 2 * stats.norm.sf(np.abs(scores))
        folds = np.log2((np.expm1(a.mean(0)) + 1e-9) / (np.expm1(b.mean(0)) + 1e-9))
    return pd.DataFrame({"scores": scores, "logfoldchanges": folds, "pvals": pvals, "pvals_adj": adjust(pvals)})


def relative(a, b, tolerance):
    a, b = np.asarray(a), np.asarray(b)
    return bool((np.abs(a - b) <= tolerance * np.abs(b) + 1e-320).all())


def check(x, names, obs, what, target, reference, label, folds=True, tie_correct=False):
    where = pc.folder()
    pc.write_dataset(where, x, names, obs)
    arguments = ["groupby=group", f"target={target}", "min_samples=2", f"label={label}"]
    arguments += [f"reference={reference}"] if reference else []
    arguments += ["tie_correct=1"] if tie_correct else []
    message = pc.run(where, "de", *arguments)
    ok(message == "", f"{what}: runs {message}")
    got = pc.read_out(where, "out_de.tsv")
    values = (x.toarray() if sp.issparse(x) else x).astype(np.float64)
    side = obs["group"].values == target
    other = obs["group"].values == reference if reference else ~side
    good = {c: True for c in ("scores", "logfoldchanges", "pvals", "pvals_adj", "order")}
    compared, lowest = [], 1.0
    for l in sorted(set(obs[label])):
        here = obs[label].values == l
        if (here & side).sum() < 2 or (here & other).sum() < 2:
            continue
        compared.append(l)
        expected = restate(values, here & side, here & other, tie_correct)
        expected.index = names
        rows = got[got["label"] == l].set_index("names")
        good["order"] &= len(rows) == len(names) and bool((np.diff(rows["scores"]) <= 1e-12).all())
        rows = rows.loc[list(names)]
        good["scores"] &= pc.near(rows["scores"], expected["scores"])
        good["logfoldchanges"] &= not folds or pc.near(rows["logfoldchanges"], expected["logfoldchanges"])
        good["pvals"] &= relative(rows["pvals"], expected["pvals"], 1e-6)
        good["pvals_adj"] &= relative(rows["pvals_adj"], expected["pvals_adj"], 1e-6)
        lowest = min(lowest, rows["pvals"].min())
    ok(sorted(set(got["label"])) == compared, f"{what}: {len(compared)} labels are compared")
    for c, good_c in good.items():
        ok(good_c, f"{what}: {c}" + (f" (lowest p {lowest:.1e})" if c == "pvals" else ""))
    reference_bytes = pc.bytes_of(where, "out_de.tsv")
    for threads in (1, 7):
        pc.run(where, "de", *arguments, f"threads={threads}")
        ok(pc.bytes_of(where, "out_de.tsv") == reference_bytes, f"{what}: the same bytes with {threads} threads")


rng = np.random.default_rng(1)
n, genes = 500, 60
x = np.log1p(rng.poisson(rng.gamma(0.5, 2, genes), (n, genes))).astype(np.float32)
x[:, 3] = 0
x[:, 4] = 1
obs = pd.DataFrame({"group": rng.choice(["s", "c", "t"], n), "kind": rng.choice(["k1", "k2", "k3"], n)})
obs.loc[0, "kind"] = "rare"
x[obs["group"] == "s", 5] += 2
names = [f"g{j}" for j in range(genes)]
check(sp.csr_matrix(x), names, obs, "sparse", "s", "c", "kind")
check(x, names, obs, "dense", "s", "c", "kind")
check(x, names, obs, "against the rest", "s", None, "kind")
check(x, names, obs, "ties corrected", "s", "c", "kind", tie_correct=True)
check(x - np.float32(0.7), names, obs, "negative values", "s", "c", "kind", folds=False)
far = np.concatenate([np.arange(4000) + 5000.0, np.arange(4000.0)])[:, None].astype(np.float32)
check(far / 10000, ["far"], pd.DataFrame({"group": ["s"] * 4000 + ["c"] * 4000, "kind": "k"}), "far apart", "s", "c",
      "kind")

data = pc.kang()
if data is None:
    pc.skip("Kang", "kang_ifnb.h5ad is not here (COMP_DATA)")
else:
    data = data[data.obs["in_paper_set"].values]
    counts = sp.csr_matrix(data.X, dtype=np.float64)
    totals = np.asarray(counts.sum(1)).ravel()
    logged = sp.csr_matrix(sp.diags(np.median(totals) / totals) @ counts).astype(np.float32)
    logged.data = np.log1p(logged.data)
    seen = np.asarray((logged > 0).sum(0)).ravel() > 0
    obs = pd.DataFrame({"group": data.obs["stim"].astype(str).values, "kind": data.obs["cell_type"].astype(str).values})
    check(sp.csr_matrix(logged[:, seen]), list(data.var_names[seen]), obs, "Kang", "STIM", "CTRL", "kind")
pc.done()
