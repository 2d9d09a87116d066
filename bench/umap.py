"""bench/umap.py: UMAP against umap-learn at its fastest (several threads, no seed, after its compilation), taking turns: seconds and trustworthiness.

`./dev bench umap [kang adult adult-paper simulated]`, the same parameters for both:
  kang         50 principal components of Kang's cells (2,000 variable genes), default parameters
  adult        representations of Adult's rows, 45,222 x 16, default parameters
  adult-paper  the same with the parameters of the paper's Adult figures (a = 0.1, b = 2, 100 neighbours)
  simulated    clusters of the size of Adult, default parameters; or the points of the file that COMP_POINTS names (.npy)
Real data is looked for in COMP_DATA (../shared/data); what is not there is left out, which is said. COMP_REPEATS rounds (3).
"""
import os
import subprocess
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
import anndata  # noqa: E402
import numba  # noqa: E402
import numpy as np  # noqa: E402
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]  # this file is umap.py too
import umap  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
from points_io import Points, trustworthiness  # noqa: E402

BUILD = os.environ.get("COMP_BUILD", "build")
COMP = os.environ.get("COMP", os.path.join(BUILD, "comp"))
DATA = os.environ.get("COMP_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data"))
THREADS = len(os.sched_getaffinity(0))
ROUNDS = int(os.environ.get("COMP_REPEATS", "3"))
PAPER = dict(n_neighbors=100, a=0.1, b=2.0)
NAMES = ("age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,sex,capital_gain,capital_loss,hours_per_week,"
         "native_country,income")

folder = tempfile.TemporaryDirectory(prefix="comp-bench-")
comp = Points(BUILD, folder.name)
numba.set_num_threads(THREADS)


def run(*arguments):
    subprocess.run([COMP, *arguments], check=True, stdout=subprocess.DEVNULL)


def kang():
    source, made = os.path.join(DATA, "kang", "kang_ifnb.h5ad"), comp.path("kang.h5ad")
    if not os.path.exists(source):
        return None
    run("prep", "-q", "-i", source, "--keep", "in_paper_set=True", "--normalize-total", "median", "--log1p", "--hvg", "seurat:2000", "-o", made)
    run("pca", "-q", "-i", made, "-o", made, "--components", "50")
    return anndata.read_h5ad(made).obsm["X_pca"]


def adult():
    """A few epochs are enough for points as a representation has them."""
    sources, made, model = [os.path.join(DATA, "adult", f"adult.{part}.gz") for part in ("data", "test")], comp.path("adult.h5ad"), comp.path("adult.comp")
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


SETS = {"kang": (kang, {}), "adult": (adult, {}), "adult-paper": (adult, PAPER), "simulated": (simulated, {})}
compiled = False
for name in sys.argv[1:] or SETS:
    points, arguments = SETS[name]
    x = points()
    if x is None:
        print(f"{name}: left out: there is no such data in {DATA}", flush=True)
        continue
    x = np.ascontiguousarray(x, np.float32)
    if not compiled:
        umap.UMAP(n_epochs=5).fit(x[:5000])
        compiled = True
    ours, theirs, our_trust, their_trust = [], [], [], []
    for turn in range(ROUNDS):
        layout, seconds = comp.umap(x, arguments.get("n_neighbors", 15), a=arguments.get("a", 0), b=arguments.get("b", 0), seed=turn, threads=THREADS)
        ours.append(seconds)
        our_trust.append(trustworthiness(x, layout))
        start = time.perf_counter()
        layout = umap.UMAP(**arguments).fit_transform(x)
        theirs.append(time.perf_counter() - start)
        their_trust.append(trustworthiness(x, layout))
    print(f"{name}: {x.shape[0]:,} x {x.shape[1]}: comp {min(ours):.1f} s, umap-learn {min(theirs):.1f} s, ratio {min(theirs) / min(ours):.1f}"
          f"{' (wanted: 2)' if name == 'adult' else ''}; trustworthiness comp {np.mean(our_trust):.4f}, umap-learn {np.mean(their_trust):.4f}"
          " (wanted: at least that - 0.005)", flush=True)
