#!/usr/bin/python3
"""Which genes of Kang are in the report when `comp run` chooses them by default: of the 50 genes with the largest absolute change of the mean and of the top 50 of the Wilcoxon rank-sum
test, both by numpy and scipy over all genes and cells, at least 45 each. `comp run` prints the command that prepares the data, before it runs it: this test takes the command from
there and goes on with a short training, since neither the training nor the scores choose genes. `--hvg seurat:2000` is the paper's choice: test_hvg.py compares it with scanpy's."""
import json
import os
import re
import shlex
import subprocess
import tempfile

import tap
from tap import COMP, ROOT, ok

try:
    import anndata
    import numpy as np
    import scipy.sparse as sp
    from scipy import stats
except ImportError as error:
    tap.skip_all(f"python module missing: {error.name}")

path = os.path.join(os.environ.get("COMP_DATA", os.path.join(ROOT, "..", "shared", "data")), "kang", "kang_ifnb.h5ad")
if not os.path.exists(path):
    tap.skip_all("kang_ifnb.h5ad is not here (COMP_DATA)")


def preparation(out, *options):
    """What `comp run` does to prepare the data, as a command with its own output."""
    command = [COMP, "run", "-i", path, "-c", "stim", "-l", "cell_type", "-o", out + ".run", *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        line = next(line for line in process.stderr if line.startswith("$ comp prep "))
        process.kill()
    words = shlex.split(line[2:])
    words[words.index("-o") + 1] = out
    return [COMP, *words[1:]]


def comp(*arguments):
    subprocess.run([COMP, arguments[0], "-q", *arguments[1:]], check=True, stdout=subprocess.DEVNULL)


def wilcoxon(x, side):
    """z of each column between the rows of `side` and the others. Zeros are one tie, so that only the other values are ranked."""
    n, m = int(side.sum()), int((~side).sum())
    x, z = sp.csc_matrix(x), np.zeros(x.shape[1])
    for j in range(x.shape[1]):
        rows, values = x.indices[x.indptr[j]:x.indptr[j + 1]], x.data[x.indptr[j]:x.indptr[j + 1]]
        zeros = n + m - len(values)
        own = side[rows]
        ranks = zeros + stats.rankdata(values)
        total = ranks[own].sum() + (n - own.sum()) * (zeros + 1) / 2
        z[j] = (total - n * (n + m + 1) / 2) / np.sqrt(n * m * (n + m + 1) / 12)
    return z


data = anndata.read_h5ad(path)
counts = sp.csr_matrix(data.X, dtype=np.float64)
totals = np.asarray(counts.sum(1)).ravel()
logged = sp.csr_matrix(sp.diags(np.median(totals) / totals) @ counts)
logged.data = np.log1p(logged.data)
stimulated = data.obs["stim"].astype(str).values == "STIM"
change = np.asarray(logged[stimulated].mean(0) - logged[~stimulated].mean(0)).ravel()
z = wilcoxon(logged, stimulated)
dense = logged[:, :40].toarray()
ok(np.allclose([stats.ranksums(g[stimulated], g[~stimulated])[0] for g in dense.T], z[:40]), "the ranks of sparse values are those of scipy.stats.ranksums")

with tempfile.TemporaryDirectory(prefix="comp-kang-") as folder_name:
    at = lambda name: os.path.join(folder_name, name)
    subprocess.run(preparation(at("data.h5ad")), check=True, stderr=subprocess.DEVNULL)
    comp("train", "-i", at("data.h5ad"), "-o", at("model"), "-c", "stim", "--epochs", "1", "--hidden", "16", "--latent", "4")
    comp("counterfactual", "-i", at("data.h5ad"), "-m", at("model"), "-o", at("data.h5ad"), "--to", "STIM")
    comp("report", "-i", at("data.h5ad"), "-c", "stim", "-l", "cell_type", "-o", at("report.html"))
    page = open(at("report.html"), encoding="utf-8").read()
    report = json.loads(re.search(r'<script type="application/json" id="comp-data">(.*?)</script>', page, re.S)[1])
    shown, tables = set(report["genes"]["names"]), set(report["effects"]["genes"])
    for what, score in (("largest absolute change of the mean", np.abs(change)), ("highest z of the Wilcoxon test", z), ("largest |z| of the Wilcoxon test", np.abs(z))):
        top = set(np.asarray(data.var_names)[np.argsort(-score)[:50]])
        found, listed = len(top & shown), len(top & tables)
        ok(found >= 45 and listed >= 45, f"of the 50 genes with the {what}, {found} can be shown in the report and {listed} are in its table of changes (missing: {' '.join(sorted(top - (shown & tables))) or 'none'})")
    whole = anndata.read_h5ad(at("data.h5ad"), backed="r").raw
    ok(whole is not None and whole.shape[1] == data.n_vars, f"all {data.n_vars} genes are in raw")

    paper = ["--keep", "in_paper_set=True", "--hvg", "seurat:2000"]
    subprocess.run(preparation(at("run.h5ad"), *paper), check=True, stderr=subprocess.DEVNULL)
    comp("prep", "-i", path, "-o", at("prep.h5ad"), "--normalize-total", "median", "--log1p", *paper)
    by_run, by_prep = (list(anndata.read_h5ad(at(name), backed="r").var_names) for name in ("run.h5ad", "prep.h5ad"))
    ok(len(by_run) == 2000 and by_run == by_prep, f"--hvg seurat:2000 still takes the same {len(by_run)} genes as `comp prep --hvg seurat:2000`")
tap.finish()
