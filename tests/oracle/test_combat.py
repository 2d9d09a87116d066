#!/usr/bin/python3
"""`comp baseline combat` against sva's ComBat in R: bulk and single cells, with and without covariates, both priors.
Skips without Rscript and sva (Debian: r-bioc-sva)."""
import shutil
import time

import baseline_common as bc
import prep_common as pc
from baseline_common import ad, np, ok, os, pd, sp

SVA = """
args <- commandArgs(TRUE)
suppressMessages(library(sva))
shape <- scan(file.path(args[1], "shape.txt"), quiet = TRUE)
x <- matrix(readBin(file.path(args[1], "x.bin"), "double", shape[1] * shape[2]), shape[2], shape[1])
obs <- read.table(file.path(args[1], "obs.tsv"), header = TRUE, sep = "\\t", stringsAsFactors = TRUE)
mod <- NULL
if (args[2] != "-") mod <- model.matrix(as.formula(args[2]), obs)
start <- proc.time()[["elapsed"]]
y <- suppressMessages(ComBat(x, obs$batch, mod, par.prior = args[3] == "T", mean.only = args[4] == "T"))
cat(proc.time()[["elapsed"]] - start, file = file.path(args[1], "seconds.txt"))
writeBin(as.double(y), file.path(args[1], "y.bin"))
"""


def sva(x, obs, formula="-", parametric=True, mean_only=False):
    where = pc.folder()
    x.astype(np.float64).tofile(where + "/x.bin")  # samples one after the other: R's columns
    np.savetxt(where + "/shape.txt", x.shape, fmt="%d")
    obs.to_csv(where + "/obs.tsv", sep="\t", index=False)
    message = bc.rscript(SVA, where, formula, "T" if parametric else "F", "T" if mean_only else "F")
    if message:
        return None, message
    return np.fromfile(where + "/y.bin").reshape(x.shape), float(open(where + "/seconds.txt").read())


def ours(path, *arguments):
    out = os.path.join(pc.folder(), "out.h5ad")
    start = time.time()
    message = bc.comp("baseline", "combat", "-q", "-i", path, "-o", out, *arguments)
    return (ad.read_h5ad(out).layers["combat"] if message == "" else None), message, time.time() - start


def check(what, x, obs, path, condition, arguments=(), **options):
    got, message, seconds = ours(path, "-c", condition, *arguments)
    ok(message == "", f"{what}: runs {message}")
    expected, info = sva(x, obs, **options)
    ok(expected is not None, f"{what}: sva runs {'' if expected is not None else info[:300]}")
    if got is None or expected is None:
        return
    error = pc.worst(got, expected)
    ok(error < 1e-6, f"{what}: as sva (worst {error:.1e}; {info:.1f} s in sva, {seconds:.1f} s for the whole command)")


if not shutil.which("Rscript"):
    pc.skip_all("Rscript is not installed")
if bc.rscript("library(sva)"):
    pc.skip_all("sva is not installed (Debian: r-bioc-sva)")

rng = np.random.default_rng(3)
n, genes = 70, 90
batch = np.repeat(["a", "b", "c"], [30, 25, 15])
kind = rng.choice(["x", "y"], n)
age = rng.normal(50, 10, n).round(1)
x = rng.normal(5, 1, (n, genes)) * (1 + 0.3 * (batch == "b")[:, None]) + rng.normal(0, 1, genes) * (batch == "c")[:, None]
x = (x + rng.normal(0, 1, genes) * (kind == "y")[:, None] + 0.02 * age[:, None]).astype(np.float32)
x[batch == "a", 7] = 2.5  # one value within a batch: left alone
x[:, 8] = 0
obs = pd.DataFrame({"batch": batch, "kind": kind, "age": age})
few = ["--components", "10"]
path = bc.write(x, obs, os.path.join(pc.folder(), "x.h5ad"))
sparse = bc.write(sp.csr_matrix(np.where(x > 5, x, 0)), obs, os.path.join(pc.folder(), "s.h5ad"))
check("simulated", x, obs, path, "batch", few)
check("simulated, sparse", np.where(x > 5, x, 0).astype(np.float32), obs, sparse, "batch", few)
check("simulated, covariates", x, obs, path, "batch", [*few, "--covariates", "kind,age"], formula="~kind+age")
check("simulated, mean only", x, obs, path, "batch", [*few, "--mean-only"], mean_only=True)
check("simulated, nonparametric", x, obs, path, "batch", [*few, "--nonparametric"], parametric=False)
check("simulated, nonparametric, covariate", x, obs, path, "batch", [*few, "--nonparametric", "--covariates", "kind"],
      parametric=False, formula="~kind")
check("simulated, nonparametric, mean only", x, obs, path, "batch", [*few, "--nonparametric", "--mean-only"],
      parametric=False, mean_only=True)
lone = obs.assign(batch=np.where(np.arange(n) == 0, "z", obs["batch"]))
check("a batch of one", x, lone, bc.write(x, lone, os.path.join(pc.folder(), "l.h5ad")), "batch", few)

for name, path, condition, label in (("tcga", bc.tcga(), "condition", "tissue"), ("kang", bc.kang(), "stim", "cell_type")):
    if not path:
        pc.skip(name, "the data is not there (COMP_DATA)")
        continue
    a = ad.read_h5ad(path)
    x = a.X.toarray() if sp.issparse(a.X) else a.X
    obs = pd.DataFrame({"batch": a.obs[condition].astype(str).values, "label": a.obs[label].astype(str).values})
    check(name, x, obs, path, condition)
    check(f"{name}, covariate", x, obs, path, condition, ["--covariates", label], formula="~label")

pc.done()
