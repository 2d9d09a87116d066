"""bench/baseline.py [combat harmony seurat]: ComBat against sva, Harmony against harmonypy, seurat-cca against Seurat.

The best round counts (COMP_REPEATS: 1). ComBat: TCGA's pairs and Kang's cells (COMP_DATA), the correction alone without reading and writing, and without
the principal components that comp adds. Harmony: simulated components, COMP_CELLS x 50, two batches, from k-means to the end, at most COMP_ROUNDS (10)
rounds. Seurat: two protocols of PBMC (COMP_DATA), from logged data to the components of the corrected matrix, with processor time; R with all threads of its
BLAS and with one, the better counts. Peak memory is that of the whole process, reading included.
"""
import os
import re
import subprocess
import sys
import tempfile
import warnings

import bench_common as bench
from bench_common import np

warnings.filterwarnings("ignore")
os.environ.update(COMP_BUILD=bench.BUILD, COMP_DATA=bench.DATA)  # for the modules of tests/oracle
sys.path.insert(0, os.path.join(bench.ROOT, "tests", "oracle"))
import baseline_common as bc  # noqa: E402

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


def measured(command, env=bench.UNTUNED):
    """Seconds of the method alone, processor time and peak memory (MB) of the process. The first and the last are what the command itself prints: what the
    system says of memory would include this script's."""
    with tempfile.TemporaryFile("w+") as notes:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=notes, text=True, env=env)
        said = child.stdout.read().split()
        _, code, usage = os.wait4(child.pid, 0)
        notes.seek(0)
        words = notes.read()
    if code != 0 or not said:
        raise RuntimeError(f"{os.path.basename(command[0])} failed: {words.strip()[-200:]}")
    alone = re.search(r"corrected in ([\d.]+) s", words)
    return float(alone[1] if alone else said[0]), usage.ru_utime + usage.ru_stime, float(said[-1])


def ours(path, method, condition, *arguments):
    with tempfile.TemporaryDirectory(prefix="comp-bench-") as where:
        return measured([bench.program("tests/baseline_dump"), path, method, condition, where + "/out.bin", *arguments])


def costs(where, message):
    """What R wrote about its cost, as measured() has it."""
    if message:
        raise RuntimeError(f"R failed: {message.strip()[-200:]}")
    with open(where + "/cost.txt") as file:
        return tuple(float(v) for v in file.read().split())


def report(case, mine, peer, theirs, bar, processor=False):
    """A row for seconds with peak memory, and one for processor time where it is known of both."""
    bench.report(case, [m[0] for m in mine], peer, [t[0] for t in theirs], bar=bar, comp_mb=min(m[2] for m in mine), peer_mb=min(t[2] for t in theirs))
    if processor:
        bench.report(f"{case}, processor time", [m[1] for m in mine], peer, [t[1] for t in theirs], bar=bar)


def combat():
    if bc.rscript("library(sva)"):
        return bench.absent("ComBat", "R with sva is not there")
    for name, path, condition in (("TCGA", bc.tcga(), "condition"), ("Kang", bc.kang(), "stim")):
        if not path:
            bench.absent(f"ComBat, {name}", bench.NO_DATA)
            continue
        a = bc.ad.read_h5ad(path)
        x = a.X.toarray() if bc.sp.issparse(a.X) else a.X
        where = bc.pc.folder()
        x.astype(np.float64).tofile(where + "/x.bin")
        np.savetxt(where + "/shape.txt", x.shape, fmt="%d")
        with open(where + "/batch.txt", "w") as file:
            file.write("".join(f"{b}\n" for b in a.obs[condition]))
        mine, theirs = [], []
        for _ in range(bench.repeats(1)):
            mine.append(ours(path, "combat", condition))
            theirs.append(costs(where, bc.rscript(SVA, where, **bench.SETTINGS)))
        report(f"ComBat, {name} {x.shape[0]:,} x {x.shape[1]:,}", mine, "sva", theirs, 10)


def harmony():
    n, d, rounds = bench.CELLS, 50, int(os.environ.get("COMP_ROUNDS", "1" if bench.QUICK else "10"))
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
    with open(where + "/batch.txt", "w") as file:
        file.write("".join(f"{b}\n" for b in obs["batch"]))
    mine, theirs = [], []
    for _ in range(bench.repeats(1)):
        mine.append(ours(path, "harmony", "batch", "rep=X_pca", f"max_iter={rounds}"))
        theirs.append(measured([sys.executable, "-c", HARMONYPY, where + "/z.npy", where + "/batch.txt", str(rounds)],
                               bench.TUNED))
    report(f"Harmony, {n:,} x {d}, rounds: at most {rounds}", mine, "harmonypy", theirs, 5, processor=True)


def seurat():
    import seurat_common as sc
    if not sc.there():
        return bench.absent("Seurat's CCA integration", "R with Seurat is not there")
    path = sc.pbmc()
    if not path:
        return bench.absent("Seurat's CCA integration", bench.NO_DATA)
    mine, theirs = [], []
    for _ in range(bench.repeats(1)):
        mine.append(ours(path, "seurat-cca", "batch"))
        for threads in ({}, {"OPENBLAS_NUM_THREADS": "1"}):  # threads of R's BLAS can cost more than they bring
            theirs.append(costs(*sc.seurat(path, "batch", **bench.SETTINGS, **threads)))
    shape = bc.ad.read_h5ad(path, backed="r").shape
    report(f"Seurat's CCA integration, PBMC {shape[0]:,} x {shape[1]:,}", mine, "Seurat", theirs, 10, processor=True)


bench.main({"combat": combat, "harmony": harmony, "seurat": seurat})
