"""bench/baseline.py [combat harmony seurat]: ComBat against sva, Harmony against harmonypy, seurat-cca against Seurat; both
take turns, the best counts.

ComBat: TCGA's pairs and Kang's cells (COMP_DATA), the correction alone without reading and writing; skipped without R and
sva, and without the principal components that comp adds. Harmony: simulated components, COMP_CELLS (100000) x 50, two
batches, from k-means to the end, at most COMP_ROUNDS (10) rounds. Seurat: two protocols of PBMC, from logged data to the
components of the corrected matrix, with processor time; R with all threads of its BLAS and with one, the better counts.
Peak memory is that of the whole process, reading included. Run through `./dev bench baseline`.
"""
import os
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np

warnings.filterwarnings("ignore")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
REPEATS = int(os.environ.get("COMP_REPEATS", "1"))

import baseline_common as bc  # noqa: E402

FAIR = {k: v for k, v in os.environ.items() if k == "OPENBLAS_CORETYPE"}  # ./dev sets it; R gets a clean environment
DUMP = os.path.join(bc.pc.BUILD, "tests", "baseline_dump")

SVA = """
args <- commandArgs(TRUE)
suppressMessages(library(sva))
shape <- scan(file.path(args[1], "shape.txt"), quiet = TRUE)
x <- matrix(readBin(file.path(args[1], "x.bin"), "double", shape[1] * shape[2]), shape[2], shape[1])
batch <- readLines(file.path(args[1], "batch.txt"))
start <- proc.time()[["elapsed"]]
y <- suppressMessages(ComBat(x, batch))
took <- proc.time()[["elapsed"]] - start
memory <- as.numeric(sub("[^0-9]*([0-9]+).*", "\\\\1", grep("VmHWM", readLines("/proc/self/status"), value = TRUE))) / 1024
cat(took, 0, memory, file = file.path(args[1], "cost.txt"))
"""

HARMONYPY = """
import logging, sys, time
import harmonypy, numpy as np, pandas as pd
harmonypy.harmony.logger.setLevel(logging.ERROR)
z = np.load(sys.argv[1])
obs = pd.DataFrame({"batch": open(sys.argv[2]).read().split()})
start = time.perf_counter()
harmonypy.run_harmony(z, obs, ["batch"], theta=2, verbose=False, max_iter_harmony=int(sys.argv[3]))
took = time.perf_counter() - start
print(took, next(float(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def measured(command):
    """Seconds of the method alone and peak memory (MB) of the process, as the command says (what the system tells counts the
    parent's too); between them its processor time."""
    with tempfile.TemporaryFile("w+") as notes:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=notes, text=True)
        said = child.stdout.read().split()
        _, code, usage = os.wait4(child.pid, 0)
        notes.seek(0)
        words = notes.read()
    if code != 0 or not said:
        sys.exit(f"{command[0]} failed: {words}")
    alone = re.search(r"corrected in ([\d.]+) s", words)
    return float(alone[1] if alone else said[0]), usage.ru_utime + usage.ru_stime, float(said[-1])


def ours(path, method, condition, *arguments):
    with tempfile.TemporaryDirectory() as where:
        return measured([DUMP, path, method, condition, where + "/out.bin", *arguments])


def costs(where):
    return tuple(float(v) for v in open(where + "/cost.txt").read().split())


def report(name, mine, theirs, bar, processor=False):
    """Rows of a table: seconds, processor time where it is known of both, and peak memory."""
    for what, unit, column, wanted in ((name, "s", 0, bar), ("  processor time", "s", 1, bar), ("  peak memory", "MB", 2, 1)):
        if column == 1 and not processor:
            continue
        a, b = min(m[column] for m in mine), min(t[column] for t in theirs)
        digits = 0 if unit == "MB" else 2
        print(f"{what:40s} {a:8.{digits}f} {unit:2s} {b:8.{digits}f} {unit:2s} {b / a:7.1f}x  (bar {wanted}x)", flush=True)


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
            message = bc.rscript(SVA, where, **FAIR)
            if message:
                sys.exit(message)
            theirs.append(costs(where))
        report(f"combat, {name} {x.shape[0]} x {x.shape[1]}", mine, theirs, 10)


def harmony():
    n, d = int(os.environ.get("COMP_CELLS", "100000")), 50
    rounds = int(os.environ.get("COMP_ROUNDS", "10"))
    rng = np.random.default_rng(0)
    kind, batch = rng.integers(0, 15, n), rng.integers(0, 2, n)
    scale = np.linspace(8, 1, d)
    z = rng.normal(0, 2, (15, d))[kind] * scale + rng.normal(0, 0.7, (n, d)) * scale
    z += batch[:, None] * (rng.normal(0, 1, d) + rng.normal(0, 0.5, (15, d))[kind]) * scale
    obs = bc.pd.DataFrame({"batch": np.where(batch, "a", "b")})
    where = bc.pc.folder()
    path = os.path.join(where, "z.h5ad")
    a = bc.ad.AnnData(z[:, :2].astype(np.float32), obs=obs.set_index(bc.pd.Index([f"c{i}" for i in range(n)])))
    a.obsm["X_pca"] = z.astype(np.float32)
    a.write_h5ad(path)
    np.save(where + "/z.npy", z)
    open(where + "/batch.txt", "w").write("".join(f"{b}\n" for b in obs["batch"]))
    mine, theirs = [], []
    for _ in range(REPEATS):
        mine.append(ours(path, "harmony", "batch", "rep=X_pca", f"max_iter={rounds}"))
        theirs.append(measured([sys.executable, "-c", HARMONYPY, where + "/z.npy", where + "/batch.txt", str(rounds)]))
    report(f"harmony, {n} x {d}, {rounds} rounds at most", mine, theirs, 5, processor=True)


def seurat():
    import seurat_common as sc
    path = sc.pbmc()
    if not path or not sc.there():
        print("seurat: R with Seurat, or the data, is not there (COMP_DATA)")
        return
    mine, theirs = [], []
    for _ in range(REPEATS):
        mine.append(ours(path, "seurat-cca", "batch"))
        for settings in (FAIR, {**FAIR, "OPENBLAS_NUM_THREADS": "1"}):  # threads of R's BLAS can cost more than they bring
            where, message = sc.seurat(path, "batch", **settings)
            if message:
                sys.exit(message)
            theirs.append(costs(where))
    report("seurat, pbmc 1583 x 2000", mine, theirs, 10, processor=True)


print(f"{'':40s} {'comp':>11s} {'peer':>11s}")
for part in sys.argv[1:] or ["combat", "harmony", "seurat"]:
    {"combat": combat, "harmony": harmony, "seurat": seurat}[part]()
