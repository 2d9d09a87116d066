"""bench/umap.py [kang adult adult-paper simulated]: UMAP against umap-learn with the same parameters: seconds and trustworthiness (k = 15).

The best of 3 rounds counts. umap-learn runs at its fastest: all threads, no seed, after its compilation.
  kang         50 principal components of Kang's cells (2,000 variable genes), default parameters
  adult        embeddings of Adult's rows, 45,222 x 16, default parameters
  adult-paper  the same with the parameters of the paper's Adult figures (a = 0.1, b = 2, 100 neighbours)
  simulated    clusters of the size of Adult, default parameters; or the points of the file that COMP_POINTS names (.npy)
"""
import functools
import os
import sys
import tempfile
import time
import warnings

import bench_common as bench
from bench_common import np

warnings.filterwarnings("ignore")
import anndata  # noqa: E402
import numba  # noqa: E402
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]  # this file is umap.py too
import umap  # noqa: E402

sys.path.insert(0, os.path.join(bench.ROOT, "tests", "oracle"))
from points_io import Points, trustworthiness  # noqa: E402

PAPER = dict(n_neighbors=100, a=0.1, b=2.0)
NAMES = ("age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,sex,capital_gain,capital_loss,hours_per_week,"
         "native_country,income")

folder = tempfile.TemporaryDirectory(prefix="comp-bench-")
comp = Points(bench.BUILD, folder.name)
numba.set_num_threads(bench.THREADS)


def run(*arguments):
    bench.ours("comp", *arguments)


def kang():
    source, made = os.path.join(bench.DATA, "kang", "kang_ifnb.h5ad"), comp.path("kang.h5ad")
    if not os.path.exists(source):
        return None
    run("prep", "-q", "-i", source, "--keep", "in_paper_set=True", "--normalize-total", "median", "--log1p", "--hvg", "seurat:2000", "-o", made)
    run("pca", "-q", "-i", made, "-o", made, "--components", "50")
    return anndata.read_h5ad(made).obsm["X_pca"]


def adult():
    """A few epochs are enough for points as an embedding has them."""
    sources, made, model = [os.path.join(bench.DATA, "adult", f"adult.{part}.gz") for part in ("data", "test")], comp.path("adult.h5ad"), comp.path("adult.comp")
    if not all(map(os.path.exists, sources)):
        return None
    if not os.path.exists(model):
        run("prep", "-q", "-i", sources[0], "-i", sources[1], "-o", made, "--no-header", "--names", NAMES, "--missing", "?", "--comment", "|", "--drop-missing",
            "--drop", "education", "--obs", "sex", "--obs", "income", "--merge", "relationship=Wife,Husband:spouse", "--merge", "income=<=50K.:<=50K",
            "--merge", "income=>50K.:>50K")
        run("train", "-q", "-i", made, "-o", model, "--condition", "sex", "--preset", "paper-adult", "--epochs", "5")
        run("embed", "-q", "-i", made, "-m", model, "-o", made)
    return anndata.read_h5ad(made).obsm["X_comp"]


def simulated():
    if "COMP_POINTS" in os.environ:
        return np.load(os.environ["COMP_POINTS"])
    rng = np.random.default_rng(1)
    return 2 * rng.normal(size=(20, 16))[rng.integers(20, size=45222)] + rng.normal(size=(45222, 16))


@functools.cache
def compile_peer():
    """umap-learn compiles itself at its first use, with code of its own below 4,096 points; that is not counted."""
    umap.UMAP(n_epochs=5).fit(np.random.default_rng(0).normal(size=(5000, 16)).astype(np.float32))


def compare(name, points, bar=None, **arguments):
    x = points()
    if x is None:
        return bench.absent(f"UMAP, {name}", bench.NO_DATA)
    x = np.ascontiguousarray(x[:4500] if bench.QUICK else x, np.float32)
    compile_peer()
    mine, theirs, my_trust, their_trust = [], [], [], []
    for turn in range(bench.repeats(3)):
        layout, seconds = comp.umap(x, arguments.get("n_neighbors", 15), a=arguments.get("a", 0), b=arguments.get("b", 0), seed=turn,
                                    threads=bench.THREADS)
        mine.append(seconds)
        my_trust.append(trustworthiness(x, layout))
        start = time.perf_counter()
        layout = umap.UMAP(**arguments).fit_transform(x)
        theirs.append(time.perf_counter() - start)
        their_trust.append(trustworthiness(x, layout))
    bench.report(f"UMAP, {name} {x.shape[0]:,} x {x.shape[1]}", mine, "umap-learn, compiled", theirs, bar=bar,
                 note=f"trustworthiness {np.mean(my_trust):.4f} : {np.mean(their_trust):.4f} (bar: at most 0.005 less)")


bench.main({
    "kang": lambda: compare("kang", kang),
    "adult": lambda: compare("adult", adult, 2),
    "adult-paper": lambda: compare("adult-paper", adult, **PAPER),
    "simulated": lambda: compare("simulated", simulated),
})
