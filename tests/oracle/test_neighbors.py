#!/usr/bin/python3
"""Neighbours against scikit-learn's brute force, in double precision: euclidean and cosine, few and many dimensions, duplicates, many neighbours,
queries; and the recall of approximate search."""
import os
import subprocess
import tempfile

from tap import BUILD, COMP, finish, ok, skip_all

try:
    import anndata
    import numpy as np
    from sklearn.decomposition import PCA
    from sklearn.neighbors import NearestNeighbors

    from points_io import Points
except ImportError as error:
    skip_all(f"python module missing: {error.name}")
if not os.path.exists(os.path.join(BUILD, "tests", "knn_dump")):
    skip_all("tests/knn_dump is not built")

folder = tempfile.TemporaryDirectory(prefix="comp-neighbors-")
comp = Points(BUILD, folder.name)
rng = np.random.default_rng(1)


def same(ours, theirs, metric):
    """The same distances; the same neighbours, but where scikit-learn's distances are equal to its own rounding (it expands the product)."""
    (index, distance), (their_distance, their_index) = ours, theirs
    scale = their_distance.max() + 1e-30
    slack = 1e-6 * scale + (1e-7 if metric == "euclidean" else 1e-12)
    if np.abs(distance - their_distance).max() > slack:
        return False
    for i in np.flatnonzero((index != their_index).any(1)):
        lost = set(their_index[i]) - set(index[i])
        if any(abs(their_distance[i][list(their_index[i]).index(j)] - their_distance[i][-1]) > slack for j in lost):
            return False
    return True


CASES = [("2 dimensions", rng.normal(size=(3000, 2)), 15), ("16 dimensions, clusters", rng.normal(size=(4000, 16)) + 4 * rng.integers(3, size=(4000, 1)), 100),
         ("40 dimensions", rng.normal(size=(2000, 40)), 30), ("300 dimensions", rng.normal(size=(1500, 300)), 15),
         ("a coarse grid with copies", np.tile(np.round(rng.normal(size=(800, 3))), (2, 1)), 50),
         ("far from the origin", 50 + 0.01 * rng.normal(size=(1000, 100)), 20), ("1000 neighbours", rng.normal(size=(2500, 8)), 1000)]
for name, x, k in CASES:
    x = x.astype(np.float32)
    for metric in ("euclidean", "cosine"):
        theirs = NearestNeighbors(n_neighbors=k, algorithm="brute", metric=metric).fit(x.astype(np.float64)).kneighbors()
        ok(same(comp.neighbors(x, k, metric)[:2], theirs, metric), f"{name}, {metric}: as scikit-learn")

x, q = rng.normal(size=(2000, 12)).astype(np.float32), rng.normal(size=(300, 12)).astype(np.float32)
theirs = NearestNeighbors(n_neighbors=25, algorithm="brute").fit(x.astype(np.float64)).kneighbors(q.astype(np.float64))
ok(same(comp.neighbors(x, 25, queries=q)[:2], theirs, "euclidean"), "queries: as scikit-learn")

def found(index, distance, x, k):
    """The share of scikit-learn's neighbours, or of others as near, that were found, over some of the points."""
    some = np.random.default_rng(2).choice(len(x), 600, replace=False)
    tree = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(x.astype(np.float64))
    far = tree.kneighbors(x[some].astype(np.float64))[0][:, -1]
    return np.mean(distance[some] <= far[:, None] * (1 + 1e-6) + 1e-6)


def approximate(name, x, ks, least=0):
    x = x.astype(np.float32)
    for k in ks:
        index, distance, _, recall = comp.neighbors(x, k, search="approximate", threads=2)
        share = found(index, distance, x, k)
        ok(share >= 0.98, f"approximate search, {name}, k {k}: finds {share:.4f} of scikit-learn's neighbours")
        ok(abs(recall - share) < 0.012, f"approximate search, {name}, k {k}: its own estimate is right: {recall:.4f}")
        if least:
            ok(recall >= least, f"approximate search, {name}, k {k}: is exact where there is nothing to gain")


cells = os.path.join(folder.name, "cells.h5ad")
subprocess.run([COMP, "simulate", "-q", "-o", cells, "--cells", "20000", "--genes", "200"], check=True)
data = anndata.read_h5ad(cells)
counts = data.X.toarray() if hasattr(data.X, "toarray") else data.X
x = PCA(40, random_state=0).fit_transform(np.log1p(counts))
approximate("simulated cells", x, (15, 100))
approximate("five copies of each", np.repeat(x[:3000], 5, axis=0)[rng.permutation(15000)], (15,))
approximate("no structure", rng.normal(size=(10000, 40)), (15,), least=1)
finish()
