"""bench/baseline.py [combat harmony seurat]: ComBat against sva, Harmony against harmonypy, seurat-cca against Seurat; both
take turns, the best counts.

ComBat: TCGA's pairs and Kang's cells (COMP_DATA), the correction alone without reading and writing; skipped without R and
sva, and without the principal components that comp adds. Harmony: simulated components, COMP_CELLS (100000) x 50, two
batches, from k-means to the end, at most COMP_ROUNDS (10) rounds. Seurat: two protocols of PBMC, from logged data to the
components of the corrected matrix, with processor time and peak memory of the whole process too; R with
all threads of its BLAS and with one, the better counts. Run through `./dev bench baseline`; for a fair BLAS on
AVX-512 machines set OPENBLAS_CORETYPE=SkylakeX.
"""
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
REPEATS = int(os.environ.get("COMP_REPEATS", "1"))

import baseline_common as bc  # noqa: E402

DUMP = os.path.join(bc.pc.BUILD, "tests", "baseline_dump")

SVA = """
args <- commandArgs(TRUE)
suppressMessages(library(sva))
shape <- scan(file.path(args[1], "shape.txt"), quiet = TRUE)
x <- matrix(readBin(file.path(args[1], "x.bin"), "double", shape[1] * shape[2]), shape[2], shape[1])
batch <- readLines(file.path(args[1], "batch.txt"))
start <- proc.time()[["elapsed"]]
y <- suppressMessages(ComBat(x, batch))
cat(proc.time()[["elapsed"]] - start, file = file.path(args[1], "seconds.txt"))
"""


def ours(path, method, condition, *arguments):
    with tempfile.TemporaryDirectory() as where:
        out = subprocess.run([DUMP, path, method, condition, where + "/out.bin", *arguments], check=True,
                             capture_output=True, text=True)
    alone = re.search(r"corrected in ([\d.]+) s", out.stderr)
    return float(alone[1]) if alone else float(out.stdout.split()[0])


def report(name, mine, theirs, bar):
    print(f"{name:40s} {min(mine):9.2f} s {min(theirs):9.2f} s {min(theirs) / min(mine):7.1f}x  (bar {bar}x)", flush=True)


def combat():
    if bc.rscript("library(sva)"):
        print("combat: R with sva is not there")
        return
    for name, path, condition in (("tcga", bc.tcga(), "condition"), ("kang", bc.kang(), "stim")):
        if not path:
            print(f"combat, {name}: the data is not there (COMP_DATA)")
            continue
        a = bc.ad.read_h5ad(path)
        x = a.X.toarray() if bc.sp.issparse(a.X) else a.X
        where = bc.pc.folder()
        x.astype(np.float64).tofile(where + "/x.bin")
        np.savetxt(where + "/shape.txt", x.shape, fmt="%d")
        open(where + "/batch.txt", "w").write("".join(f"{b}\n" for b in a.obs[condition]))
        mine, theirs = [], []
        for _ in range(REPEATS):
            mine.append(ours(path, "combat", condition))
            message = bc.rscript(SVA, where)
            if message:
                sys.exit(message)
            theirs.append(float(open(where + "/seconds.txt").read()))
        report(f"combat, {name} {x.shape[0]} x {x.shape[1]}", mine, theirs, 10)


def harmony():
    import logging

    import harmonypy
    harmonypy.harmony.logger.setLevel(logging.ERROR)
    n, d = int(os.environ.get("COMP_CELLS", "100000")), 50
    rounds = int(os.environ.get("COMP_ROUNDS", "10"))
    rng = np.random.default_rng(0)
    kind, batch = rng.integers(0, 15, n), rng.integers(0, 2, n)
    scale = np.linspace(8, 1, d)
    z = rng.normal(0, 2, (15, d))[kind] * scale + rng.normal(0, 0.7, (n, d)) * scale
    z += batch[:, None] * (rng.normal(0, 1, d) + rng.normal(0, 0.5, (15, d))[kind]) * scale
    obs = bc.pd.DataFrame({"batch": np.where(batch, "a", "b")})
    path = os.path.join(bc.pc.folder(), "z.h5ad")
    a = bc.ad.AnnData(z[:, :2].astype(np.float32), obs=obs.set_index(bc.pd.Index([f"c{i}" for i in range(n)])))
    a.obsm["X_pca"] = z.astype(np.float32)
    a.write_h5ad(path)
    mine, theirs = [], []
    for _ in range(REPEATS):
        mine.append(ours(path, "harmony", "batch", "rep=X_pca", f"max_iter={rounds}"))
        start = time.perf_counter()
        harmonypy.run_harmony(z, obs, ["batch"], theta=2, verbose=False, max_iter_harmony=rounds)
        theirs.append(time.perf_counter() - start)
    report(f"harmony, {n} x {d}, {rounds} rounds at most", mine, theirs, 5)


def measured(path, method, condition):
    """Seconds of the method alone; seconds of processor time and peak memory (MB) of the process, reading included."""
    with tempfile.TemporaryDirectory() as where:
        child = subprocess.Popen([DUMP, path, method, condition, where + "/out.bin"], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True)
        seconds = child.stdout.read().split()
        _, code, usage = os.wait4(child.pid, 0)
    if code != 0 or not seconds:
        sys.exit(f"{DUMP} failed")
    return float(seconds[0]), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def seurat():
    import seurat_common as sc
    path = sc.pbmc()
    if not path or not sc.there():
        print("seurat: R with Seurat, or the data, is not there (COMP_DATA)")
        return
    mine, theirs = [], []
    for _ in range(REPEATS):
        mine.append(measured(path, "seurat-cca", "batch"))
        for settings in ({}, {"OPENBLAS_NUM_THREADS": "1"}):  # threads of R's BLAS can cost more than they bring
            where, message = sc.seurat(path, "batch", **settings)
            if message:
                sys.exit(message)
            theirs.append(tuple(float(v) for v in open(where + "/cost.txt").read().split()))
    report("seurat, pbmc 1583 x 2000", [m[0] for m in mine], [t[0] for t in theirs], 10)
    report("  processor time", [m[1] for m in mine], [t[1] for t in theirs], 10)
    ours_peak, peak = min(m[2] for m in mine), min(t[2] for t in theirs)
    print(f"{'  peak memory':40s} {ours_peak:8.0f} MB {peak:8.0f} MB {peak / ours_peak:7.1f}x  (bar 1x)", flush=True)


print(f"{'':40s} {'comp':>11s} {'peer':>11s}")
for part in sys.argv[1:] or ["combat", "harmony", "seurat"]:
    {"combat": combat, "harmony": harmony, "seurat": seurat}[part]()
