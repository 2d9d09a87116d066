"""bench/umap.py: UMAP against umap-learn at its fastest (several threads, no seed, after its compilation), taking turns: seconds and trustworthiness.

Points: those of the file that COMP_POINTS names (.npy), else 45,222 x 16 in clusters, as a representation of Adult. Run through
`./dev bench umap [default adult]`: default parameters, and those of the paper's Adult figures (a = 0.1, b = 2, 100 neighbours).
"""
import os
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
import numba  # noqa: E402
import numpy as np  # noqa: E402
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]  # this file is umap.py too
import umap  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "oracle"))
from points_io import Points, trustworthiness  # noqa: E402

BUILD = os.environ.get("COMP_BUILD", "build")
THREADS = len(os.sched_getaffinity(0))
ROUNDS = int(os.environ.get("COMP_REPEATS", "3"))
SETS = {"default": {}, "adult": dict(n_neighbors=100, a=0.1, b=2.0)}

folder = tempfile.TemporaryDirectory(prefix="comp-bench-")
comp = Points(BUILD, folder.name)
numba.set_num_threads(THREADS)
if "COMP_POINTS" in os.environ:
    x = np.load(os.environ["COMP_POINTS"]).astype(np.float32)
else:
    rng = np.random.default_rng(1)
    x = (2 * rng.normal(size=(20, 16))[rng.integers(20, size=45222)] + rng.normal(size=(45222, 16))).astype(np.float32)
umap.UMAP(n_epochs=5).fit(x[:5000])  # compiles

for name in sys.argv[1:] or SETS:
    arguments = SETS[name]
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
          f"{' (wanted: 2)' if name == 'default' else ''}; trustworthiness comp {np.mean(our_trust):.4f}, umap-learn {np.mean(their_trust):.4f}"
          " (wanted: at least that - 0.005)", flush=True)
