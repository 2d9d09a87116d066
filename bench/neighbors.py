"""bench/neighbors.py: exact neighbours against scikit-learn's brute force, and the recall and cost of approximate search, taking turns in one run.

Points: 45,222 x 16 in clusters, as a representation of Adult; simulated cells in 40 dimensions for the recall (COMP_CELLS, 100000). Run through
`./dev bench neighbors`.
"""
import os
import statistics
import sys
import tempfile
import time

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.neighbors import NearestNeighbors

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "oracle"))
from points_io import Points  # noqa: E402

BUILD = os.environ.get("COMP_BUILD", "build")
THREADS = len(os.sched_getaffinity(0))
ROUNDS = int(os.environ.get("COMP_REPEATS", "3"))
CELLS = int(os.environ.get("COMP_CELLS", "100000"))

folder = tempfile.TemporaryDirectory(prefix="comp-bench-")
comp = Points(BUILD, folder.name)
rng = np.random.default_rng(1)
x = (2 * rng.normal(size=(20, 16))[rng.integers(20, size=45222)] + rng.normal(size=(45222, 16))).astype(np.float32)

print(f"{'points':>14} {'k':>5} {'comp s':>8} {'sklearn s':>10} {'ratio':>6}")
for k in (15, 100):
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(comp.neighbors(x, k, threads=THREADS)[2])
        start = time.perf_counter()
        NearestNeighbors(n_neighbors=k, algorithm="brute", n_jobs=THREADS).fit(x).kneighbors()
        theirs.append(time.perf_counter() - start)
    a, b = min(ours), min(theirs)
    print(f"{'45,222 x 16':>14} {k:>5} {a:>8.2f} {b:>10.2f} {b / a:>6.1f}" + ("   wanted: 5" if k == 100 else ""), flush=True)
print(f"{'45,222 x 16':>14} {1000:>5} {statistics.median(comp.neighbors(x, 1000, threads=THREADS)[2] for _ in range(ROUNDS)):>8.2f}", flush=True)

import subprocess  # noqa: E402

import anndata  # noqa: E402

cells = os.path.join(folder.name, "cells.h5ad")
subprocess.run([os.path.join(BUILD, "comp"), "simulate", "-q", "-o", cells, "--cells", str(CELLS), "--genes", "300", "--no-truth"], check=True)
data = anndata.read_h5ad(cells).X
z = TruncatedSVD(40, random_state=0).fit_transform(data.log1p() if hasattr(data, "log1p") else np.log1p(data)).astype(np.float32)
exact = comp.neighbors(z, 15, threads=THREADS)
near = comp.neighbors(z, 15, search="approximate", threads=THREADS)
found = np.mean([len(np.intersect1d(a, b)) / 15 for a, b in zip(exact[0], near[0])])
print(f"{CELLS:,} simulated cells x 40, k = 15: exact {exact[2]:.1f} s; approximate {near[2]:.1f} s, recall {found:.4f} (its own estimate {near[3]:.4f}), "
      "wanted: 0.98")
