#!/usr/bin/python3
"""Scores of counterfactual predictions, restated with numpy and scipy: on Kang's cells, and on simulated ones whose truth is known."""
import json
import os
import subprocess

import prep_common as pc
from prep_common import np, ok, pd, sp

DUMP = os.path.join(pc.BUILD, "tests", "counterfactual_dump")
COMP = os.path.join(pc.BUILD, "comp")
if not os.path.exists(DUMP) or not os.path.exists(COMP):
    pc.skip_all(f"{DUMP} is not built")
try:
    import anndata
    from scipy.spatial.distance import cdist
    from scipy.stats import pearsonr, rankdata, wasserstein_distance
except ImportError as error:
    pc.skip_all(f"python module missing: {error.name}")

FOLDER = pc.folder()


def score(path, condition, source, target, label, pair="-", threads=2):
    result = subprocess.run([DUMP, path, condition, source, target, label, pair, str(threads)], capture_output=True, text=True)
    return (json.loads(result.stdout), result.stdout) if result.returncode == 0 else (None, result.stderr)


def pearson(a, b):
    return pearsonr(a, b)[0] if a.std() > 0 and b.std() > 0 else None


def energy(a, b):
    return 2 * cdist(a, b).mean() - cdist(a, a).mean() - cdist(b, b).mean()


def wilcoxon(a, b):
    """As scanpy's rank_genes_groups(method="wilcoxon"): z by gene, the variance without ties."""
    ranks, n, m = rankdata(np.vstack([a, b]), axis=0), len(a), len(b)
    return (ranks[:n].sum(0) - n * (n + m + 1) / 2) / np.sqrt(n * m * (n + m + 1) / 12)


def top(z, n=100):
    return np.argsort(-np.abs(z), kind="stable")[:n]


def restated(adata, condition, source, target, label, predicted, truth=None, pair=None):
    x = adata.X.toarray().astype(float) if sp.issparse(adata.X) else np.asarray(adata.X, float)
    p = np.asarray(predicted, float)
    c, d = adata.obs[condition].astype(str).values, adata.obs[label].astype(str).values
    shift = x[c == target].mean(0) - x[c == source].mean(0)
    out = {}
    for name in sorted(set(d)):
        a, b = (d == name) & (c == source), (d == name) & (c == target)
        if a.sum() < 2 or b.sum() < 2:
            continue
        z = wilcoxon(x[b], x[a])
        de = np.argsort(-z, kind="stable")[:50]
        rows, t = {"prediction": p[a], "no_change": x[a], "mean_shift": x[a] + shift}, x[b].mean(0)
        out[name] = {}
        for way, r in rows.items():
            m, v = r.mean(0), {}
            for which, g in (("all", slice(None)), ("de", de)):
                v[f"r_{which}"] = pearson(m[g], t[g])
                v[f"mse_{which}"] = ((m[g] - t[g]) ** 2).mean()
                v[f"r2_{which}"] = 1 - ((m[g] - t[g]) ** 2).sum() / ((t[g] - t[g].mean()) ** 2).sum()
                v[f"r_change_{which}"] = None if way == "no_change" else pearson((m - x[a].mean(0))[g], (t - x[a].mean(0))[g])
            ta = top(z, min(100, x.shape[1]))
            v["r_change_top"] = None if way == "no_change" else pearson((m - x[a].mean(0))[ta], (t - x[a].mean(0))[ta])
            if max(a.sum(), b.sum()) <= 1000:
                f = r.astype(np.float32).astype(float)
                v["e_distance"] = energy(f, x[b])
                v["wasserstein"] = np.mean([wasserstein_distance(f[:, j], x[b, j]) for j in range(x.shape[1])])
                v["common_de"] = 0 if way == "no_change" else len(set(top(wilcoxon(f, x[a]), len(ta))) & set(ta)) / len(ta)
            v["rmse_truth"] = None if truth is None else np.sqrt(((r - truth[a]) ** 2).mean())
            if pair:
                who, errors = adata.obs[pair].astype(str).values, []
                for one in set(who):
                    u, w = who[a] == one, b & (who == one)
                    if u.any() and w.any():
                        errors.append(((r[u].mean(0) - x[w].mean(0)) ** 2).mean())
                v["rmse_pair"] = np.sqrt(np.mean(errors)) if errors else None
            out[name][way] = v
    return out


def compare(what, got, want):
    worst, bad = 0.0, []
    labels = {l["label"]: l for l in got["labels"]}
    for name, ways in want.items():
        for way, values in ways.items():
            for key, value in values.items():
                mine = labels[name][way][key]
                if (mine is None) != (value is None):
                    bad.append((name, way, key, mine, value))
                elif value is not None:
                    error = abs(mine - value) / max(1, abs(value))
                    worst = max(worst, error)
                    if error > 1e-6:
                        bad.append((name, way, key, mine, value))
    ok(not bad and set(labels) == set(want), f"{what}: as restated (off by {worst:.1e}) {bad[:3]}")
    mean = np.mean([l["prediction"]["r_all"] for l in got["labels"]])
    ok(abs(got["mean"]["prediction"]["r_all"] - mean) < 1e-12 and got["mean"]["no_change"]["r_change_all"] is None, f"{what}: the mean over labels")


def check_ceiling(what, adata, got, condition, source, target, label):
    """Halves are drawn by the program: so bounds, and what many halves of our own give on average."""
    rng, x = np.random.default_rng(1), adata.X.toarray().astype(float) if sp.issparse(adata.X) else np.asarray(adata.X, float)
    c, d, bad = adata.obs[condition].astype(str).values, adata.obs[label].astype(str).values, []
    for one in got["labels"]:
        a, b = x[(d == one["label"]) & (c == source)], x[(d == one["label"]) & (c == target)]
        mine = {"r_change_all": [], "mse_all": [], "e_distance": []}
        for _ in range(40):
            order, half = rng.permutation(len(b)), len(b) // 2
            p, t = b[order[:half]], b[order[half:]]
            mine["r_change_all"].append(pearson(p.mean(0) - a.mean(0), t.mean(0) - a.mean(0)))
            mine["mse_all"].append(((p.mean(0) - t.mean(0)) ** 2).mean())
            if len(b) <= 400:
                mine["e_distance"].append(energy(p, t))
        for key, values in mine.items():
            if values and abs(one["ceiling"][key] - np.mean(values)) > 5 * np.std(values) + 1e-9:
                bad.append((one["label"], key, one["ceiling"][key], np.mean(values), np.std(values)))
        if one["ceiling"]["rmse_truth"] is not None or not 0 <= one["ceiling"]["common_de"] <= 1:
            bad.append((one["label"], one["ceiling"]))
    ok(not bad, f"{what}: the noise ceiling is what halves of the real samples give {bad[:2]}")


def predictions(adata, condition, source, target, label):
    """Something that is neither right nor silly: each source sample plus a noisy share of its label's change."""
    rng, x = np.random.default_rng(0), adata.X.toarray() if sp.issparse(adata.X) else np.asarray(adata.X)
    c, d, p = adata.obs[condition].astype(str).values, adata.obs[label].astype(str).values, x.copy()
    for name in set(d):
        a, b = (d == name) & (c == source), (d == name) & (c == target)
        if a.any() and b.any():
            p[a] = x[a] + 0.8 * (x[b].mean(0) - x[a].mean(0)) + rng.normal(0, 0.02, x.shape[1])
    return p.astype(np.float32)


def check_simulated():
    cells, ready = FOLDER + "/cells.h5ad", FOLDER + "/ready.h5ad"
    subprocess.run([COMP, "simulate", "-q", "-o", cells, "--cells", "400", "--genes", "80"], check=True)
    subprocess.run([COMP, "prep", "-q", "-i", cells, "-o", ready, "--normalize-total", "median", "--log1p"], check=True)
    adata = anndata.read_h5ad(ready)
    adata.layers["counterfactual_treated"] = predictions(adata, "condition", "control", "treated", "label")
    adata.obs["patient"] = pd.Categorical([f"p{i % 37}" for i in range(adata.n_obs)])
    adata.write_h5ad(ready)
    got, text = score(ready, "condition", "control", "treated", "label", "patient")
    want = restated(adata, "condition", "control", "treated", "label", adata.layers["counterfactual_treated"],
                    np.log1p(np.asarray(adata.layers["truth_treated"], float)), "patient")
    compare("simulated, with truth and pairs", got, want)
    check_ceiling("simulated", adata, got, "condition", "control", "treated", "label")
    ok(all(score(ready, "condition", "control", "treated", "label", "patient", t)[1] == text for t in (1, 7)), "simulated: the same bytes at 1, 2 and 7 threads")
    adata.layers["counterfactual_treated"] = sp.csr_matrix(adata.layers["counterfactual_treated"])
    adata.X = adata.X.toarray()
    adata.write_h5ad(FOLDER + "/swapped.h5ad")
    ok(score(FOLDER + "/swapped.h5ad", "condition", "control", "treated", "label", "patient")[1] == text, "simulated: sparse and dense are the same")
    for what, arguments, message in (
            ("no such column", ("conditon", "control", "treated", "label"), "did you mean 'condition'?"),
            ("no such condition", ("condition", "control", "treted", "label"), "did you mean 'treated'?"),
            ("no such layer", ("condition", "treated", "control", "label"), "there is no layer 'counterfactual_control'")):
        got, error = score(ready, *arguments)
        ok(got is None and message in error, f"refused: {what} ({error.strip()})")


def check_kang(path):
    ready = FOLDER + "/kang.h5ad"
    subprocess.run([COMP, "prep", "-q", "-i", path, "-o", ready, "--keep", "in_paper_set=True", "--normalize-total", "median", "--log1p",
                    "--hvg", "seurat:2000"], check=True)
    adata = anndata.read_h5ad(ready)
    adata.layers["counterfactual_STIM"] = predictions(adata, "stim", "CTRL", "STIM", "cell_type")
    adata.write_h5ad(ready)
    got, error = score(ready, "stim", "CTRL", "STIM", "cell_type")
    if got is None:
        ok(False, f"Kang: {error}")
        return
    compare("Kang", got, restated(adata, "stim", "CTRL", "STIM", "cell_type", adata.layers["counterfactual_STIM"]))


check_simulated()
kang = pc.data_file("kang", "kang_ifnb.h5ad")
check_kang(kang) if kang else pc.skip("Kang", "kang_ifnb.h5ad is not here (COMP_DATA)")
pc.done()
