"""bench/score.py: kBET and local silhouettes against the usual way to compute them: neighbours by scikit-learn, then a loop over the samples with
one scipy test each.

Both take turns; the best of each counts. Three rows: the statistics alone, with the neighbours found; neighbours and statistics; and all of
`comp score`, with the labels, from starting the program and reading the file, against the peer's computation alone. Kang's cells (COMP_DATA or ../shared/data) with principal components when they are there, and simulated points. Run through
`./dev bench score`."""
import os
import subprocess
import tempfile
import time
import warnings

import anndata
import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

warnings.filterwarnings("ignore")
BUILD = os.environ.get("COMP_BUILD", "build")
DATA = os.environ.get("COMP_DATA", os.path.join("..", "shared", "data"))
REPEATS = int(os.environ.get("COMP_REPEATS", "3"))
K, ALPHA = 100, 0.1


def score(points, condition):
    """Seconds for the neighbours, seconds for the loop, kBET, s."""
    start = time.perf_counter()
    distance, index = NearestNeighbors(n_neighbors=K, algorithm="brute", n_jobs=-1).fit(points).kneighbors()
    found = time.perf_counter()
    levels = np.unique(condition)
    share = np.array([(condition == c).mean() for c in levels])
    rejected, widths = [], []
    for i in range(len(points)):
        around = condition[index[i]]
        observed = np.array([(around == c).sum() + (condition[i] == c) for c in levels])
        expected = K * share + (levels == condition[i])
        rejected.append(stats.chisquare(observed, expected, axis=0).pvalue < ALPHA)
        own = around == condition[i]
        if own.all() or not own.any():
            widths.append(1.0 if own.any() else -1.0)
        else:
            a, b = distance[i][own].mean(), distance[i][~own].mean()
            widths.append((b - a) / max(a, b))
    return found - start, time.perf_counter() - found, np.mean(rejected), np.mean(widths)


def peer(points, condition, label):
    """Seconds for the statistics of all samples, with their neighbours, and with all labels."""
    search, loop, kbet, width = score(points, condition)
    seconds = search + loop
    for l in np.unique(label):
        here = label == l
        if here.sum() >= 4 * K and len(np.unique(condition[here])) > 1:
            seconds += sum(score(points[here], condition[here])[:2])
    return (loop, search + loop, seconds), (kbet, width)


def ours(path):
    out = subprocess.run([os.path.join(BUILD, "tests", "score_dump"), "seconds", path, "X_comp", "condition", str(K)], check=True,
                         capture_output=True, text=True).stdout
    search, statistics = (float(v) for v in out.split())
    start = time.perf_counter()
    out = subprocess.run([os.path.join(BUILD, "comp"), "score", "-q", "-i", path, "-c", "condition", "-l", "label", "-k", str(K), "-a", str(ALPHA)],
                         check=True, capture_output=True, text=True).stdout
    seconds = time.perf_counter() - start
    rows = {line.split()[0]: line.split()[1] for line in out.splitlines() if line.startswith("  ") and len(line.split()) > 1}
    return (statistics, search + statistics, seconds), (float(rows["kbet"]), float(rows["s"]))


def compare(name, points, condition, label):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data.h5ad")
        obs = pd.DataFrame({"condition": condition, "label": label}, index=[f"c{i}" for i in range(len(points))])
        a = anndata.AnnData(sp.csr_matrix((len(points), 1), dtype=np.float32), obs=obs)
        a.obsm["X_comp"] = points
        a.write_h5ad(path)
        mine, theirs = [], []
        for _ in range(REPEATS):
            seconds, value = ours(path)
            mine.append(seconds)
            seconds, expected = peer(points, condition, label)
            theirs.append(seconds)
    print(f"{name}: kBET {value[0]:.4f}, peer {expected[0]:.4f}; s {value[1]:.4f}, peer {expected[1]:.4f}")
    for row, (what, bar) in enumerate((("statistics", "  (bar 50x)"), ("neighbours and statistics", ""), ("comp score, with labels", ""))):
        a, b = min(m[row] for m in mine), min(t[row] for t in theirs)
        print(f"  {what:32s} {a:9.4f} s {b:9.3f} s {b / a:7.1f}x{bar}", flush=True)


def main():
    print(f"best of {REPEATS}, taking turns\n\n{'':34s} {'comp':>11s} {'peer':>11s} {'ratio':>8s}")
    kang = os.path.join(DATA, "kang", "kang_ifnb.h5ad")
    if os.path.exists(kang):
        a = anndata.read_h5ad(kang)
        a = a[a.obs["in_paper_set"].astype(bool).values]
        x = sp.csr_matrix(a.X, dtype=np.float64)
        totals = np.asarray(x.sum(1)).ravel()
        x = sp.diags(np.median(totals) / totals) @ x
        x.data = np.log1p(x.data)
        x = np.asarray(x[:, np.argsort(-np.asarray(x.power(2).mean(0) - np.square(x.mean(0))).ravel())[:2000]].todense())
        compare("Kang, 4,864 cells, 40 dimensions", PCA(40, random_state=0).fit_transform(x).astype(np.float32),
                a.obs["stim"].astype(str).values, a.obs["cell_type"].astype(str).values)
    else:
        print(f"(the Kang file is not in {DATA}: set COMP_DATA)")
    rng = np.random.default_rng(0)
    n = 20000
    compare("simulated, 20,000 points", rng.normal(size=(n, 40)).astype(np.float32), rng.choice(["a", "b"], n), rng.choice(list("pqrs"), n))


if __name__ == "__main__":
    main()
