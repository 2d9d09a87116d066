#!/usr/bin/python3
"""UMAP against umap-learn: the curve, the graph's weights, the trustworthiness of layouts, new points among old ones, and the command."""
import os
import subprocess
import tempfile
import warnings

from tap import BUILD, COMP, finish, ok, skip_all

try:
    warnings.filterwarnings("ignore")
    import anndata
    import numpy as np
    import pandas
    import scipy.sparse
    import umap
    from sklearn.datasets import load_digits
    from sklearn.manifold import trustworthiness as sklearn_trustworthiness
    from sklearn.neighbors import NearestNeighbors
    from umap.umap_ import find_ab_params, fuzzy_simplicial_set

    from points_io import Points, read_points, trustworthiness, write_points
except ImportError as error:
    skip_all(f"python module missing: {error.name}")
if not os.path.exists(os.path.join(BUILD, "tests", "umap_dump")):
    skip_all("tests/umap_dump is not built")

folder = tempfile.TemporaryDirectory(prefix="comp-umap-")
comp = Points(BUILD, folder.name)

for min_dist, spread in ((0.1, 1.0), (0.5, 1.0), (0.0, 1.0), (0.3, 2.5), (0.99, 1.0)):
    ours, theirs = comp.umap_print("curve", min_dist, spread)[0], find_ab_params(spread, min_dist)
    ok(np.allclose(ours, theirs, rtol=1e-4), f"curve for min_dist {min_dist}, spread {spread}: {ours[0]:.5f} {ours[1]:.5f}")

digits = load_digits().data.astype(np.float32)
copies = np.vstack([digits[:300], digits[:40]])  # duplicates: distances of 0
for name, x, k, metric in (("digits", digits, 15, "euclidean"), ("digits", digits, 100, "euclidean"), ("digits", digits, 15, "cosine"),
                           ("with copies", copies + np.float32(0), 10, "euclidean")):
    # Our neighbours for both: where two points are equally far from a third, either may be the last (test_neighbors.py compares them).
    index, distance = comp.neighbors(x, k - 1, metric)[:2]
    distance = np.hstack([np.zeros((len(x), 1), np.float32), distance])
    index = np.hstack([np.arange(len(x))[:, None], index])
    graph = fuzzy_simplicial_set(x, k, np.random.RandomState(0), metric, knn_indices=index, knn_dists=distance)[0].toarray()
    edges = comp.umap_print("graph", write_points(comp.path("points"), x), k, metric)
    ours = np.zeros_like(graph)
    ours[edges[:, 0].astype(int), edges[:, 1].astype(int)] = edges[:, 2]
    worst = np.abs(ours - graph).max()
    ok(worst <= 1e-4, f"graph of {name}, {k} neighbours, {metric}: {(graph > 0).sum()} weights differ by {worst:.1e} at most")

plain = np.random.default_rng(5).normal(size=(1500, 6))
score, theirs = trustworthiness(plain, plain[:, :2]), sklearn_trustworthiness(plain, plain[:, :2], n_neighbors=15)
ok(abs(score - theirs) < 1e-3, f"our measure of trustworthiness is scikit-learn's: {score:.4f}, {theirs:.4f}")

rng = np.random.default_rng(0)
t = 1.5 * np.pi * (1 + 2 * rng.random(3000))
roll = np.stack([t * np.cos(t), 21 * rng.random(3000), t * np.sin(t)], 1).astype(np.float32)
blobs = (rng.normal(size=(3000, 10)) + 5 * rng.normal(size=(6, 10))[rng.integers(6, size=3000)]).astype(np.float32)
for name, x, arguments in (("digits", digits, {}), ("a roll", roll, {}), ("blobs", blobs, {}), ("blobs, a curve of its own", blobs, dict(n_neighbors=50, a=0.1, b=2.0))):
    theirs = sklearn_trustworthiness(x, umap.UMAP(random_state=0, **arguments).fit_transform(x), n_neighbors=15)
    layout = comp.umap(x, arguments.get("n_neighbors", 15), a=arguments.get("a", 0), b=arguments.get("b", 0))[0]
    ours = sklearn_trustworthiness(x, layout, n_neighbors=15)
    ok(ours >= theirs - 0.005, f"trustworthiness of {name}: {ours:.4f}, umap-learn {theirs:.4f}")

path, result = os.path.join(folder.name, "plain.h5ad"), os.path.join(folder.name, "fast.h5ad")
for name, x in (("digits", digits), ("a roll", roll), ("blobs", blobs)):
    data = anndata.AnnData(np.zeros((len(x), 1), np.float32))
    data.obsm["X_comp"] = x
    data.write_h5ad(path)
    scores = []
    for options in ([], ["--fast", "--threads", "4"]):
        subprocess.run([COMP, "umap", "-q", "-i", path, "-o", result, *options], check=True, stdout=subprocess.DEVNULL)
        scores.append(sklearn_trustworthiness(x, anndata.read_h5ad(result).obsm["X_umap"], n_neighbors=15))
    ok(scores[1] >= scores[0] - 0.005, f"trustworthiness of {name}: {scores[1]:.4f} with --fast, {scores[0]:.4f} without")

old, new = blobs[:2500], blobs[2500:]
layout = comp.umap(old)[0]
umap_dump = os.path.join(BUILD, "tests", "umap_dump")
subprocess.run([umap_dump, "new", write_points(comp.path("old"), old), write_points(comp.path("layout"), layout), write_points(comp.path("new"), new), "15",
                comp.path("placed")], check=True)
placed = read_points(comp.path("placed"))
truth = NearestNeighbors(n_neighbors=15).fit(old).kneighbors(new, return_distance=False)
near = NearestNeighbors(n_neighbors=100).fit(layout).kneighbors(placed, return_distance=False)
share = np.mean([len(set(a) & set(b)) / 15 for a, b in zip(truth, near)])
fitted = umap.UMAP(random_state=0).fit(old)
their_near = NearestNeighbors(n_neighbors=100).fit(fitted.embedding_).kneighbors(fitted.transform(new), return_distance=False)
their_share = np.mean([len(set(a) & set(b)) / 15 for a, b in zip(truth, their_near)])
ok(share >= their_share - 0.05, f"new points stand among their neighbours: {share:.3f}, umap-learn {their_share:.3f}")

path, result = os.path.join(folder.name, "in.h5ad"), os.path.join(folder.name, "out.h5ad")
data = anndata.AnnData(digits)
data.obsm["X_comp"] = digits[:, 10:30]
data.uns["kept"] = "as it was"
data.write_h5ad(path)
subprocess.run([COMP, "umap", "-q", "-i", path, "-o", result, "--epochs", "50", "--seed", "3"], check=True, stdout=subprocess.DEVNULL)
after = anndata.read_h5ad(result)
ok(after.obsm["X_umap"].shape == (len(digits), 2) and np.isfinite(after.obsm["X_umap"]).all(), "the command adds obsm/X_umap")
ok(after.uns["kept"] == "as it was" and (after.X == data.X).all() and (after.obsm["X_comp"] == data.obsm["X_comp"]).all(), "and leaves the rest")

bad = data.copy()
bad.obs_names = [f"digit{i}" for i in range(len(digits))]
bad.obsm["X_comp"] = bad.obsm["X_comp"].copy()
bad.obsm["X_comp"][7, 2] = np.nan
bad.obsm["X_sparse"] = scipy.sparse.csr_matrix(bad.obsm["X_comp"])
bad.obs["half"] = pandas.Categorical(["a", "b"] * (len(digits) // 2) + ["a"] * (len(digits) % 2))
bad.write_h5ad(path)
for command in (["umap", "-o", os.path.join(folder.name, "no.h5ad")], ["score", "-c", "half"]):
    run = subprocess.run([COMP, *command, "-i", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    ok(run.returncode == 1 and "sample 'digit7' (row 8), column 3" in run.stderr, f"{command[0]} names the sample whose value is not finite")
    ok("obsm/X_sparse is not used: it is sparse" in run.stderr, "and says why a sparse matrix of obsm is not read")
finish()
