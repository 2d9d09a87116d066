#!/usr/bin/python3
"""Flavor vst and loess against R: Seurat's FindVariableFeatures and SelectIntegrationFeatures, stats::loess.
Skips without Rscript and Seurat (Debian: r-cran-seurat). `test_vst.py --fixtures` rewrites tests/prep/data."""
import shutil
import subprocess
import sys

import prep_common as pc
from prep_common import np, ok, pd, sp

LOESS = """
args <- commandArgs(TRUE)
p <- as.matrix(read.table(file.path(args[1], "points.txt")))
fit <- loess(p[, 2] ~ p[, 1], span = as.numeric(args[2]))
writeLines(formatC(fit$fitted, digits = 17, format = "g"), file.path(args[1], "r_fitted.txt"))
"""

# Counts come as a MatrixMarket file, genes x cells. Genes are named so that Seurat does not change the names.
SEURAT = """
args <- commandArgs(TRUE)
suppressMessages({library(Matrix); library(Seurat)})
x <- as(readMM(file.path(args[1], "x.mtx")), "CsparseMatrix")
n <- as.integer(args[2])
batch <- readLines(file.path(args[1], "batch.txt"))
rownames(x) <- sprintf("g%06d", seq_len(nrow(x)))
colnames(x) <- sprintf("c%06d", seq_len(ncol(x)))
whole <- FindVariableFeatures(CreateSeuratObject(x), nfeatures = n, verbose = FALSE)
info <- whole[["RNA"]]@meta.features
numbers <- sapply(info, is.double)
info[numbers] <- lapply(info[numbers], formatC, digits = 17, format = "g")
write.table(info, file.path(args[1], "r_info.tsv"), sep = "\\t", quote = FALSE)
writeLines(VariableFeatures(whole), file.path(args[1], "r_top.txt"))
parts <- lapply(sort(unique(batch)), function(b)
  FindVariableFeatures(CreateSeuratObject(x[, batch == b]), nfeatures = n, verbose = FALSE))
writeLines(SelectIntegrationFeatures(parts, nfeatures = n, verbose = FALSE), file.path(args[1], "r_merged.txt"))
"""


def rscript(where, code, *arguments):
    path = where + "/script.R"
    open(path, "w").write(code)
    result = subprocess.run(["Rscript", path, where, *arguments], capture_output=True, text=True,
                            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin:/usr/local/bin"})
    return "" if result.returncode == 0 else result.stderr


def check_loess(x, y, span, what):
    where = pc.folder()
    np.savetxt(where + "/points.txt", np.column_stack([x, y]), fmt="%.17g")
    message = pc.run(where, "loess", f"span={span}") + rscript(where, LOESS, str(span))
    ok(message == "", f"loess {what}: runs {message}")
    got, expected = np.loadtxt(where + "/out_fitted.txt"), np.loadtxt(where + "/r_fitted.txt")
    ok(np.abs(got - expected).max() < 1e-9, f"loess {what}: as R (worst {np.abs(got - expected).max():.1e})")


def check_seurat(x, batch, n_top, what):
    from scipy.io import mmwrite
    where = pc.folder()
    names = [f"g{j + 1:06d}" for j in range(x.shape[1])]
    pc.write_dataset(where, x, names, pd.DataFrame({"batch": batch}))
    mmwrite(where + "/x.mtx", sp.coo_matrix(x.T.astype(np.int64)), field="integer")
    open(where + "/batch.txt", "w").write("".join(f"{b}\n" for b in batch))
    message = rscript(where, SEURAT, str(n_top))
    ok(message == "", f"{what}: Seurat runs {message[:300]}")
    message = pc.run(where, "prep", f"hvg=vst:{n_top}", "all_genes=1")
    ok(message == "", f"{what}: runs {message}")
    got = pc.read_out(where).set_index("name")
    info = pd.read_csv(where + "/r_info.tsv", sep="\t")
    for ours, theirs in (("means", "vst.mean"), ("variances", "vst.variance"),
                         ("variances_norm", "vst.variance.standardized")):
        error = pc.worst(got[ours], info[theirs])
        ok(error < 1e-6, f"{what}: {ours} as Seurat (worst {error:.1e})")
    top = open(where + "/r_top.txt").read().split()
    ours = set(got.index[got["highly_variable"].astype(bool)])
    share = len(ours & set(top))
    ok(len(ours) == len(top) and share >= 0.995 * len(top), f"{what}: {share} of {len(top)} genes as Seurat")
    # Genes with the same counts in other cells have the same score; Seurat orders them by the rounding of its sums.
    cut = info["vst.variance.standardized"].loc[top[-1]]
    tied = set(info.index[np.abs(info["vst.variance.standardized"] - cut) <= 1e-9 * cut])
    ok((ours ^ set(top)) <= tied, f"{what}: others differ only among {len(tied)} genes that tie at the cut")
    ok((np.diff(got["variances_norm"].loc[top]) <= 1e-9).all(), f"{what}: Seurat's order, but for ties")
    reference = pc.bytes_of(where, "out_var.tsv")
    for threads in (1, 7):
        pc.run(where, "prep", f"hvg=vst:{n_top}", "all_genes=1", f"threads={threads}")
        ok(pc.bytes_of(where, "out_var.tsv") == reference, f"{what}: the same bytes with {threads} threads")
    pc.run(where, "prep", f"hvg=vst:{n_top}", "all_genes=1", "batch=batch")
    got = pc.read_out(where)
    merged = set(open(where + "/r_merged.txt").read().split())
    ours = set(got["name"][got["highly_variable"]])
    ok(len(ours) == len(merged) and len(ours & merged) >= 0.995 * len(merged),
       f"{what}: {len(ours & merged)} of {len(merged)} genes as SelectIntegrationFeatures")
    return where


def random_counts(rng, n, genes):
    rates = rng.gamma(0.6, 1.5, genes)
    return rng.poisson(rates * rng.gamma(1.5, 1 / 1.5, (n, genes)) * rng.lognormal(0, 0.3, (n, 1)))


def points(rng, n):
    x = np.round(rng.exponential(1, n), 2)
    return x, np.sin(2 * x) + rng.normal(0, 0.2, n)


def fixtures():
    """Small inputs with what R made of them, for the unit tests that run without R."""
    folder = pc.ROOT + "/tests/prep/data/"
    rng = np.random.default_rng(5)
    where = pc.folder()
    x, y = points(rng, 300)
    np.savetxt(where + "/points.txt", np.column_stack([x, y]), fmt="%.17g")
    assert rscript(where, LOESS, "0.3") == ""
    np.savetxt(folder + "loess.txt", np.column_stack([x, y, np.loadtxt(where + "/r_fitted.txt")]), fmt="%.17g")
    counts = random_counts(rng, 60, 120)
    counts[:, 11] = 0
    counts[:, 12] = 3
    from scipy.io import mmwrite
    mmwrite(where + "/x.mtx", sp.coo_matrix(counts.T), field="integer")
    open(where + "/batch.txt", "w").write("".join(f"{'ab'[i % 2]}\n" for i in range(60)))
    assert rscript(where, SEURAT, "30") == ""
    info = pd.read_csv(where + "/r_info.tsv", sep="\t")
    merged = set(open(where + "/r_merged.txt").read().split())
    top = open(where + "/r_top.txt").read().split()
    with open(folder + "vst.txt", "w") as f:
        f.write("60 120\n")
        for row in counts:
            f.write(" ".join(map(str, row)) + "\n")
        for j, value in enumerate(info["vst.variance.standardized"]):
            name = f"g{j + 1:06d}"
            f.write(f"{value:.17g} {int(name in top)} {int(name in merged)}\n")


if not shutil.which("Rscript"):
    pc.skip_all("Rscript is not installed (Debian: r-base-core)")
if subprocess.run(["Rscript", "-e", "library(Seurat)"], capture_output=True).returncode != 0:
    pc.skip_all("Seurat is not installed (Debian: r-cran-seurat)")
if "--fixtures" in sys.argv:
    fixtures()
    sys.exit(0)

rng = np.random.default_rng(2)
check_loess(*points(rng, 400), 0.3, "400 points with ties")
check_loess(*points(rng, 5000), 0.3, "5,000 points with many ties")
check_loess(rng.normal(size=1000), rng.normal(size=1000), 0.75, "span 0.75")
check_loess(np.repeat(np.arange(8.0), 50), rng.normal(size=400), 0.3, "8 different x")
check_loess(np.repeat([0.0, 1, 2, 3], [10, 100, 200, 90]), rng.normal(size=400), 0.6, "too few x for a quadratic")
check_loess(np.linspace(0, 1, 14), rng.normal(size=14), 0.3, "the fewest points")

check_seurat(sp.csr_matrix(random_counts(rng, 300, 1000).astype(np.float32)), rng.choice(["a", "b", "c"], 300), 200,
             "random counts")
data = pc.kang()
if data is None:
    pc.skip("Kang", "kang_ifnb.h5ad is not here (COMP_DATA)")
else:
    check_seurat(sp.csr_matrix(data.X), data.obs["stim"].astype(str).values, 2000, "Kang, all cells")
    data = data[data.obs["in_paper_set"].values]
    check_seurat(sp.csr_matrix(data.X), data.obs["stim"].astype(str).values, 2000, "Kang")
for file, batch, n_top in (("v2_vs_5p_6500.h5ad", "batch", 2000), ("symphony_1500x1764.h5ad", "batch", 1000)):
    path = pc.data_file("pbmc_protocols", file)
    if not path:
        pc.skip(file, "not here (COMP_DATA)")
        continue
    import anndata
    data = anndata.read_h5ad(path)
    check_seurat(sp.csr_matrix(data.X, dtype=np.float32), data.obs[batch].astype(str).values, n_top, "PBMC " + file)
pc.done()
