"""bench/neighbors.py [exact approximate]: exact neighbours against scikit-learn's brute force; recall and cost of approximate search.

The best of 3 rounds counts. Points: 45,222 x 16 in clusters, as an embedding of Adult; simulated cells (COMP_CELLS) in 40 dimensions for the recall.
"""
import os
import sys
import tempfile
import time

import bench_common as bench
from bench_common import np

import anndata
from sklearn.decomposition import TruncatedSVD
from sklearn.neighbors import NearestNeighbors

sys.path.insert(0, os.path.join(bench.ROOT, "tests", "oracle"))
from points_io import Points  # noqa: E402

folder = tempfile.TemporaryDirectory(prefix="comp-bench-")
comp = Points(bench.BUILD, folder.name)


def ours(x, k):
    return comp.neighbors(x, k, threads=bench.THREADS)[2]


def scikit_learn(x, k):
    start = time.perf_counter()
    NearestNeighbors(n_neighbors=k, algorithm="brute", n_jobs=bench.THREADS).fit(x).kneighbors()
    return time.perf_counter() - start


def exact():
    n, rng = 10000 if bench.QUICK else 45222, np.random.default_rng(1)
    x = (2 * rng.normal(size=(20, 16))[rng.integers(20, size=n)] + rng.normal(size=(n, 16))).astype(np.float32)
    for k, bar in ((15, None), (100, 5)):
        mine, theirs = [], []
        for _ in range(bench.repeats(3)):
            mine.append(ours(x, k))
            theirs.append(scikit_learn(x, k))
        bench.report(f"exact neighbours, {n:,} x 16, k {k}", mine, "scikit-learn, brute force", theirs, bar=bar)
    bench.report(f"exact neighbours, {n:,} x 16, k 1000", [ours(x, 1000) for _ in range(bench.repeats(3))])


def approximate():
    cells, k = os.path.join(folder.name, "cells.h5ad"), 15
    bench.ours("comp", "simulate", "-q", "-o", cells, "--cells", bench.CELLS, "--genes", 300, "--no-truth")
    data = anndata.read_h5ad(cells).X
    z = TruncatedSVD(40, random_state=0).fit_transform(data.log1p() if hasattr(data, "log1p") else np.log1p(data)).astype(np.float32)
    near_seconds, exact_seconds = [], []
    for _ in range(bench.repeats(3)):
        near = comp.neighbors(z, k, search="approximate", threads=bench.THREADS)
        best = comp.neighbors(z, k, threads=bench.THREADS)
        near_seconds.append(near[2])
        exact_seconds.append(best[2])
    found = np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(best[0], near[0])])
    bench.report(f"approximate neighbours, {bench.CELLS:,} x 40, k {k}", near_seconds, "comp, exact", exact_seconds,
                 note=f"recall {found:.4f} (bar 0.98; its own estimate {near[3]:.4f})")


bench.main({"exact": exact, "approximate": approximate})
