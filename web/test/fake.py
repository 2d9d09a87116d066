"""Adds to a simulated and prepared .h5ad what later steps of comp make: maps before and after, counterfactual layers,
scores. What it makes is fake, but of the right shape: labels as clouds, conditions apart before and mixed after.

    fake.py IN.h5ad OUT.h5ad [--cells N] [--names plain|long|nasty] [--genes N] [--scores FILE]
"""
import argparse
import json

import anndata
import numpy as np
import scipy.sparse as sp

parser = argparse.ArgumentParser()
parser.add_argument("input")
parser.add_argument("output")
parser.add_argument("--cells", type=int, default=0)
parser.add_argument("--names", default="plain")
parser.add_argument("--scores")
parser.add_argument("--bad", action="store_true", help="scores of an over-corrected embedding")
a = parser.parse_args()

rng = np.random.default_rng(1)
data = anndata.read_h5ad(a.input)
if a.cells and a.cells > data.n_obs:
    rows = rng.integers(0, data.n_obs, a.cells)
    x, obs = data.X[rows], data.obs.iloc[rows].copy()
    obs.index = [f"cell{i}" for i in range(a.cells)]
    data = anndata.AnnData(x, obs=obs, var=data.var)
for layer in list(data.layers):
    del data.layers[layer]
labels = data.obs["label"].cat.categories
if a.names == "long":
    data.obs["label"] = data.obs["label"].cat.rename_categories(
        [f"CD{i}+ effector memory T cells, re-expressing CD45RA_and_a_very_long_suffix number {i}" for i in range(len(labels))])
if a.names == "nasty":
    nasty = ['<script>alert(1)</script>', '"quotes" & \'apostrophes\'', '</script><b>bold</b>', 'Ünïcödé → 細胞 🧬',
             'back\\slash\u2028line', '<img src=x onerror=alert(2)>']
    data.obs["label"] = data.obs["label"].cat.rename_categories(
        [nasty[i] if i < len(nasty) else l for i, l in enumerate(labels)])
    data.obs["<b>column</b>"] = rng.normal(size=data.n_obs)

n, k = data.n_obs, len(labels)
code = data.obs["label"].cat.codes.to_numpy()
condition = data.obs["condition"].cat.codes.to_numpy()
angle = 2 * np.pi * np.arange(k) / k
centre = np.c_[np.cos(angle), np.sin(angle)] * (4 + 2.5 * (np.arange(k) % 3))[:, None]
shape = rng.normal(size=(k, 2, 2)) * 0.45
cloud = np.einsum("nij,nj->ni", shape[code] + np.eye(2) * 0.5, rng.normal(size=(n, 2)))
data.obsm["X_umap"] = (centre[code] + cloud).astype(np.float32)
data.obsm["X_umap_before"] = (centre[code] + cloud + np.c_[condition * 9.0, condition * 2.0] - 4).astype(np.float32)
data.obs["n_genes"] = np.asarray((data.X > 0).sum(1)).ravel().astype(np.int64)
data.obs["donor"] = np.array([f"donor {i}" for i in rng.integers(0, 4, n)])
data.obs["score"] = np.where(rng.random(n) < 0.05, np.nan, rng.normal(size=n))
names = list(data.obs["condition"].cat.categories)
dense = data.X.toarray() if sp.issparse(data.X) else np.asarray(data.X)
for target in range(1, len(names)):
    shift = np.zeros((k, data.n_vars), np.float32)
    for l in range(k):
        t, s = dense[(code == l) & (condition == target)], dense[(code == l) & (condition == 0)]
        if len(t) and len(s):
            shift[l] = (t.mean(0) - s.mean(0)) * rng.normal(0.85, 0.12, data.n_vars)
    smooth = dense * 0.6 + 0.4 * np.stack([dense[(code == l)].mean(0) for l in range(k)])[code]
    data.layers[f"counterfactual_{names[target]}"] = (smooth + np.where((condition != target)[:, None], shift[code], 0)).astype(np.float32)
data.write_h5ad(a.output, compression="gzip")
if a.scores:
    good = [("X_pca", 0.93, 0.88, 0.31, 0.29, 0.95), ("X_comp", 0.12, 0.07, -0.004, -0.01, 0.96)]
    if a.bad:
        good[1] = ("X_comp", 0.08, 0.71, -0.02, -0.21, 0.4)
    scores = []
    for use, kbet, mkbet, s, ms, own in good:
        for name, value in (("kBET", kbet), ("m-kBET", mkbet), ("s", s), ("s~", ms), ("label_knn", own)):
            scores.append({"name": name, "value": value, "embedding": use})
        for l in data.obs["label"].cat.categories:
            scores.append({"name": "kBET", "value": round(float(kbet * rng.uniform(0.5, 1.5)), 4), "embedding": use, "label": str(l)})
    json.dump({"scores": scores}, open(a.scores, "w"))
