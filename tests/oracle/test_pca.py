#!/usr/bin/python3
"""`comp pca` against the eigenvectors of numpy's covariance, in double precision: random data by each of the three ways, and Kang."""
import os
import subprocess

os.environ.setdefault("OMP_NUM_THREADS", "1")
import prep_common as pc
from prep_common import np, ok, pd, sp

COMP = os.environ.get("COMP", os.path.join(pc.BUILD, "comp"))
try:
    import anndata
except ImportError:
    pc.skip_all("anndata is not here")
if not os.path.exists(COMP):
    pc.skip_all(f"{COMP} is not built")


def comp(*arguments):
    result = subprocess.run([COMP, *arguments, "-q"], capture_output=True, text=True)
    if result.returncode:
        print("#", result.stderr.strip())
    return result


def restate(x, k, scale, clip):
    """Variances, their shares and scores of the first k components."""
    x = x - x.mean(0)
    if scale:
        deviation = x.std(0, ddof=1)
        x = x / np.where(deviation > 1e-9, deviation, 1)
        if clip:
            x = np.clip(x, -clip, clip)
            x = x - x.mean(0)
    n, d = x.shape
    if n < d:
        values, vectors = np.linalg.eigh(x @ x.T / (n - 1))
        scores = vectors * np.sqrt(np.maximum(values, 0) * (n - 1))
    else:
        values, vectors = np.linalg.eigh(x.T @ x / (n - 1))
        scores = x @ vectors
    return values[::-1][:k], values[::-1][:k] / values.sum(), scores[:, ::-1][:, :k]


def check(path, what, k, looked_at, *options, scale=False, clip=0.0):
    where = pc.folder()
    result = comp("pca", "-i", path, "-o", where + "/out.h5ad", "-n", str(k), *options)
    ok(result.returncode == 0, f"{what}: runs")
    table = pd.read_csv(pd.io.common.StringIO(result.stdout), sep="\t")
    out = anndata.read_h5ad(where + "/out.h5ad")
    got = np.asarray(out.obsm["X_pca"], float)
    x = out.X.toarray() if sp.issparse(out.X) else np.asarray(out.X)
    variances, shares, scores = restate(x.astype(float), k, scale, clip)
    worst = np.abs(table["variance"] / variances - 1).max()
    ok(worst < 1e-4, f"{what}: variances (worst {worst:.1e})")
    worst = np.abs(table["variance_ratio"] / shares - 1).max()
    ok(worst < 1e-4, f"{what}: shares (worst {worst:.1e})")
    cosines = np.abs((got * scores).sum(0)) / np.linalg.norm(got, axis=0) / np.linalg.norm(scores, axis=0)
    ok(cosines[:looked_at].min() >= 0.999, f"{what}: the first {looked_at} (lowest cosine {cosines[:looked_at].min():.6f})")
    norms = np.abs(np.linalg.norm(got, axis=0) / np.linalg.norm(scores, axis=0) - 1).max()
    ok(norms < 1e-4, f"{what}: lengths (worst {norms:.1e})")
    before = open(where + "/out.h5ad", "rb").read()
    for threads in ("1", "7"):
        comp("pca", "-i", path, "-o", where + "/again.h5ad", "-n", str(k), *options, "--threads", threads)
        ok(open(where + "/again.h5ad", "rb").read() == before, f"{what}: the same bytes with {threads} threads")


def random_file(n, d, sparse):
    rng = np.random.default_rng(n + d)
    x = rng.normal(size=(n, 12)) * 2.0 ** -np.arange(12) @ rng.normal(size=(12, d)) * 2 + rng.normal(size=(n, d)) * 0.3
    x = np.maximum(x, 0) if sparse else x + 5
    path = pc.folder() + "/data.h5ad"
    a = anndata.AnnData(sp.csr_matrix(x.astype(np.float32)) if sparse else x.astype(np.float32))
    a.write_h5ad(path)
    return path


check(random_file(1500, 60, False), "few features", 12, 12)
check(random_file(1500, 60, True), "few features, sparse, scaled", 10, 10, "--scale", scale=True)
check(random_file(80, 900, True), "few samples, sparse", 10, 10)
check(random_file(900, 800, False), "neither is few", 12, 10)
check(random_file(900, 800, True), "neither is few, sparse, scaled and clipped", 10, 9, "--scale", "--clip", "2", scale=True,
      clip=2.0)
kang = pc.data_file("kang", "kang_ifnb.h5ad")
if not kang:
    pc.skip("Kang", "the data is not here")
else:
    ready = pc.folder() + "/kang.h5ad"
    comp("prep", "-i", kang, "-o", ready, "--keep", "in_paper_set=True", "--normalize-total", "median", "--log1p", "--hvg",
         "seurat:2000")
    check(ready, "Kang", 50, 30)
    check(ready, "Kang, scaled", 50, 30, "--scale", scale=True)
pc.done()
