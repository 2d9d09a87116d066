"""What the oracles of the baselines share: the program, the data sets prepared as a user would, R, mixing scores."""
import subprocess

import prep_common as pc
from prep_common import np, ok, os, pd, skip, sp  # noqa: F401

import anndata as ad

COMP = os.environ.get("COMP", os.path.join(pc.BUILD, "comp"))


def comp(*arguments):
    """Runs the program; "" or what it said when it failed."""
    result = subprocess.run([COMP, *arguments], capture_output=True, text=True)
    return "" if result.returncode == 0 else result.stderr


def rscript(code, *arguments, **settings):
    """Runs R; settings are further environment variables. "" or what it said when it failed."""
    path = os.path.join(pc.folder(), "script.R")
    open(path, "w").write(code)
    result = subprocess.run(["Rscript", path, *arguments], capture_output=True, text=True,
                            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin:/usr/local/bin", **settings})
    return "" if result.returncode == 0 else result.stderr


def write(x, obs, path):
    """An .h5ad of a matrix and a table."""
    names = [f"s{i}" for i in range(x.shape[0])]
    a = ad.AnnData(x.astype(np.float32), obs=obs.set_index(pd.Index(names)))
    a.var_names = [f"g{j}" for j in range(x.shape[1])]
    a.write_h5ad(path)
    return path


def kang():
    """Kang's cells of the paper, logged, 2,000 genes: a path, or None."""
    raw = pc.data_file("kang", "kang_ifnb.h5ad")
    if not raw:
        return None
    path = os.path.join(pc.folder(), "kang.h5ad")
    message = comp("prep", "-q", "-i", raw, "--keep", "in_paper_set=True", "--normalize-total", "median", "--log1p",
                   "--hvg", "seurat:2000", "-o", path)
    return path if message == "" else None


def pbmc():
    raw = pc.data_file("pbmc_protocols", "symphony_1500x1764.h5ad")
    if not raw:
        return None
    path = os.path.join(pc.folder(), "pbmc.h5ad")
    message = comp("prep", "-q", "-i", raw, "--normalize-total", "median", "--log1p", "-o", path)
    return path if message == "" else None


def tcga():
    raw = pc.data_file("tcga_paired", "expr.tsv.gz")
    if not raw:
        return None
    path = os.path.join(pc.folder(), "tcga.h5ad")
    message = comp("convert", "-q", "-i", raw, "-o", path, "--metadata", pc.data_file("tcga_paired", "samples.tsv.gz"))
    return path if message == "" else None


def neighbours(z, k):
    from sklearn.neighbors import NearestNeighbors
    return NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(z).kneighbors(z, return_distance=False)[:, 1:]


def kbet(z, batch, k=100):
    """Share of the neighbourhoods whose batches differ from those of all, by a chi-squared test at 0.05."""
    from scipy.stats import chi2
    codes = pd.Categorical(batch).codes
    share = np.bincount(codes) / len(codes)
    near = codes[neighbours(z, k)]
    observed = np.stack([(near == b).sum(1) for b in range(len(share))], 1)
    statistic = ((observed - k * share) ** 2 / (k * share)).sum(1)
    return float((chi2.sf(statistic, len(share) - 1) < 0.05).mean())


def ilisi(z, batch, k=90):
    """Mean inverse Simpson index of the batches in a neighbourhood, all neighbours alike, scaled to 0 .. 1."""
    codes = pd.Categorical(batch).codes
    levels = codes.max() + 1
    near = codes[neighbours(z, k)]
    shares = np.stack([(near == b).mean(1) for b in range(levels)], 1)
    return float(((1 / (shares ** 2).sum(1)).mean() - 1) / (levels - 1))
