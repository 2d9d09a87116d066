#!/usr/bin/python3
"""`comp baseline harmony` against harmonypy: the same corrected components from the same centroids and order of
updates; about the same mixing from its own start. Skips without harmonypy."""
import warnings

import baseline_common as bc
import prep_common as pc
from baseline_common import COMP, ad, np, ok, os, pd, subprocess

try:
    import logging

    import harmonypy
    from harmonypy import harmony as hp
    hp.logger.setLevel(logging.ERROR)
except ImportError:
    pc.skip_all("harmonypy is not installed")
warnings.filterwarnings("ignore")

DUMP = os.path.join(pc.BUILD, "tests", "baseline_dump")
STEPS = 200


class SameStart:
    """Stands in for sklearn's KMeans: gives the centroids that comp gets too."""
    centroids = None

    def __init__(self, n_clusters, **_):
        self.n = n_clusters

    def fit(self, _):
        self.cluster_centers_, self.labels_ = SameStart.centroids.astype(np.float64), None


def dump(path, condition, *arguments):
    out = os.path.join(pc.folder(), "out.bin")
    result = subprocess.run([DUMP, path, "harmony", condition, out, *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        return None, result.stderr
    rows, cols = (int(v) for v in result.stdout.split()[1:3])
    return np.fromfile(out, np.float32).reshape(rows, cols), ""


def theirs(z, obs, columns, orders=None):
    """Harmony on z; with orders, updates follow them."""
    shuffle, kmeans = np.random.shuffle, hp.KMeans
    step = iter(orders if orders is not None else [])
    if orders is not None:
        def given(order):
            order[:] = next(step)
        np.random.shuffle, hp.KMeans = given, SameStart
    try:
        run = harmonypy.run_harmony(z.astype(np.float64), obs, columns, theta=2, verbose=False)
    finally:
        np.random.shuffle, hp.KMeans = shuffle, kmeans
    return run.result().T, len(run.objective_kmeans) - 1


def check(name, path, columns):
    pca = os.path.join(pc.folder(), "pca.h5ad")
    message = bc.comp("baseline", "pca", "-q", "-i", path, "-o", pca, "-c", columns[0], "--components", "30")
    ok(message == "", f"{name}: principal components {message}")
    if message:
        return
    a = ad.read_h5ad(pca)
    z, obs = a.obsm["X_pca"], a.obs[columns].astype(str)
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    clusters = int(min(np.round(len(z) / 30), 100))
    SameStart.centroids = unit[np.random.default_rng(1).choice(len(z), clusters, replace=False)].astype(np.float32)
    where = pc.folder()
    SameStart.centroids.tofile(where + "/centroids.bin")
    more = ["covariate=" + columns[1]] if len(columns) > 1 else []
    got, message = dump(pca, columns[0], "rep=X_pca", f"clusters={clusters}", f"centroids={where}/centroids.bin",
                        f"orders={STEPS}:{where}/orders.bin", *more)
    ok(message == "", f"{name}: runs {message}")
    if message:
        return
    orders = np.fromfile(where + "/orders.bin", np.int64).reshape(STEPS, len(z))
    expected, steps = theirs(z, obs, columns, orders)
    error = np.abs(got - expected).max() / np.abs(expected).max()
    rms = np.sqrt(((got - expected) ** 2).mean() / (expected ** 2).mean())
    moved = np.sqrt(((z - expected) ** 2).mean() / (expected ** 2).mean())
    ok(error < 1e-3, f"{name}: as harmonypy from the same start (worst {error:.1e} of the largest, rms {rms:.1e}; "
                     f"the correction itself is {moved:.2f}; {steps} steps)")
    for threads in (1, 7):
        again, _ = dump(pca, columns[0], "rep=X_pca", f"clusters={clusters}", f"centroids={where}/centroids.bin",
                        f"threads={threads}", *more)
        ok((again == got).all(), f"{name}: the same bytes with {threads} threads")
    if len(columns) > 1:
        return
    own, message = dump(pca, columns[0], "rep=X_pca")
    peer, _ = theirs(z, obs, columns)
    ok(message == "", f"{name}: runs from its own start {message}")
    batch = obs[columns[0]]
    before = bc.kbet(z, batch), bc.ilisi(z, batch)
    mine, other = (bc.kbet(own, batch), bc.ilisi(own, batch)), (bc.kbet(peer, batch), bc.ilisi(peer, batch))
    for k, score in enumerate(("kBET", "iLISI")):
        ok(abs(mine[k] - other[k]) < 0.02, f"{name}: {score} from its own start {mine[k]:.3f}, harmonypy {other[k]:.3f}, "
                                           f"uncorrected {before[k]:.3f}")


for name, path, columns in (("kang", bc.kang(), ["stim"]), ("pbmc", bc.pbmc(), ["batch"]),
                            ("tcga, two columns", bc.tcga(), ["condition", "tissue"])):
    if path:
        check(name, path, columns)
    else:
        pc.skip(name, "the data is not there (COMP_DATA)")
pc.done()
