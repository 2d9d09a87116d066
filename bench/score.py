"""bench/score.py [kang simulated]: kBET and local silhouettes against scikit-learn's neighbours and a loop of scipy tests, one a sample.

The best of 3 rounds counts. Three rows: the statistics alone, with the neighbours given; neighbours and statistics; and all of `comp score` with the
labels, from starting the program and reading the file, against the peer's computation alone. Data: principal components of Kang's cells (COMP_DATA),
and simulated points.
"""
import os
import tempfile
import time
import warnings

import bench_common as bench
from bench_common import np

import anndata
import pandas as pd
import scipy.sparse as sp
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

warnings.filterwarnings("ignore")
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
    search, statistics = (float(v) for v in bench.ours("tests/score_dump", "seconds", path, "X_comp", "condition", K).split())
    start = time.perf_counter()
    out = bench.ours("comp", "score", "-q", "-i", path, "-c", "condition", "-l", "label", "-k", K, "-a", ALPHA)
    seconds = time.perf_counter() - start
    rows = {line.split()[0]: line.split()[1] for line in out.splitlines() if line.startswith("  ") and len(line.split()) > 1}
    return (statistics, search + statistics, seconds), (float(rows["kbet"]), float(rows["s"]))


def compare(name, points, condition, label):
    with tempfile.TemporaryDirectory(prefix="comp-bench-") as folder:
        path = os.path.join(folder, "data.h5ad")
        obs = pd.DataFrame({"condition": condition, "label": label}, index=[f"c{i}" for i in range(len(points))])
        a = anndata.AnnData(sp.csr_matrix((len(points), 1), dtype=np.float32), obs=obs)
        a.obsm["X_comp"] = points
        a.write_h5ad(path)
        mine, theirs = [], []
        for _ in range(bench.repeats(3)):
            seconds, value = ours(path)
            mine.append(seconds)
            seconds, expected = peer(points, condition, label)
            theirs.append(seconds)
    for row, (what, bar) in enumerate((("kBET and silhouettes", 50), ("with neighbours", None), ("comp score, with labels", None))):
        bench.report(f"{what}, {name}", [m[row] for m in mine], "scikit-learn, a loop with scipy", [t[row] for t in theirs], bar=bar)
    bench.say(f"kBET {value[0]:.4f}, peer {expected[0]:.4f}; s {value[1]:.4f}, peer {expected[1]:.4f}")


def kang():
    path = os.path.join(bench.DATA, "kang", "kang_ifnb.h5ad")
    if not os.path.exists(path):
        return bench.absent("kBET and silhouettes, Kang", bench.NO_DATA)
    a = anndata.read_h5ad(path)
    a = a[a.obs["in_paper_set"].astype(bool).values]
    x = sp.csr_matrix(a.X, dtype=np.float64)
    totals = np.asarray(x.sum(1)).ravel()
    x = sp.diags(np.median(totals) / totals) @ x
    x.data = np.log1p(x.data)
    x = np.asarray(x[:, np.argsort(-np.asarray(x.power(2).mean(0) - np.square(x.mean(0))).ravel())[:2000]].todense())
    compare(f"Kang {len(x):,} x 40", PCA(40, random_state=0).fit_transform(x).astype(np.float32), a.obs["stim"].astype(str).values,
            a.obs["cell_type"].astype(str).values)


def simulated():
    n, rng = bench.CELLS // 5, np.random.default_rng(0)
    compare(f"simulated {n:,} x 40", rng.normal(size=(n, 40)).astype(np.float32), rng.choice(["a", "b"], n), rng.choice(list("pqrs"), n))


bench.main({"kang": kang, "simulated": simulated})
