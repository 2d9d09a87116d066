"""bench/neighbors.py [exact approximate million]: exact neighbours against scikit-learn's brute force; recall and cost of approximate search.

The best of 3 rounds counts. Points: 45,222 x 16 in clusters, as an embedding of Adult; for approximate search 50,000 and
COMP_CELLS simulated cells in 40 dimensions, points without structure, and copies; a million cells.
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


def cells(n):
    """Simulated cells in 40 dimensions."""
    path = os.path.join(folder.name, "cells.h5ad")
    bench.ours("comp", "simulate", "-q", "-o", path, "--cells", n, "--genes", 300, "--no-truth")
    data = anndata.read_h5ad(path).X
    return TruncatedSVD(40, random_state=0).fit_transform(data.log1p() if hasattr(data, "log1p") else np.log1p(data)).astype(np.float32)


def compare(name, x, k):
    near_seconds, exact_seconds, cpu = [], [], [[], []]
    for _ in range(bench.repeats(3)):
        near = comp.neighbors(x, k, search="approximate", threads=bench.THREADS)
        cpu[0].append(comp.cpu)
        best = comp.neighbors(x, k, threads=bench.THREADS)
        cpu[1].append(comp.cpu)
        near_seconds.append(near[2])
        exact_seconds.append(best[2])
    found = np.mean(near[1] <= best[1][:, -1:])
    bench.report(f"approximate neighbours, {name}, {len(x):,} x {x.shape[1]}, k {k}", near_seconds, "comp, exact", exact_seconds,
                 note=f"recall {found:.4f} (bar 0.98; its own estimate {near[3]:.4f}); CPU seconds {min(cpu[0]):.1f} : {min(cpu[1]):.1f}")


def approximate():
    rng, n = np.random.default_rng(1), 10000 if bench.QUICK else 50000
    for z in (cells(n), cells(bench.CELLS)):
        for k in (15, 100):
            compare("simulated cells", z, k)
    compare("gaussian", rng.normal(size=(n, 40)).astype(np.float32), 15)
    compare("five copies of each", np.repeat(z[:len(z) // 5], 5, axis=0), 15)


def million():
    """Approximate search alone: exact search would take a quarter of an hour."""
    z = cells(20000 if bench.QUICK else 1000000)
    for k in (15, 100):
        seconds = comp.neighbors(z, k, search="approximate", threads=bench.THREADS)
        bench.report(f"approximate neighbours, simulated cells, {len(z):,} x 40, k {k}", [seconds[2]],
                     note=f"its own estimate of recall {seconds[3]:.4f}; CPU seconds {comp.cpu:.1f}")


bench.main({"exact": exact, "approximate": approximate, "million": million})
