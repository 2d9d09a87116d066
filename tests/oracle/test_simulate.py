#!/usr/bin/python3
"""`comp simulate` read back with anndata: its parts, the moments of the counts against the truth layers and scipy's negative binomial, that the
effect can be seen in every label and depends on it, and the same bytes at any number of threads."""
import hashlib
import json
import os
import subprocess
import tempfile
import warnings

from tap import COMP, finish, ok, skip_all

try:
    import anndata
    import numpy as np
    import scipy.sparse as sp
    from scipy import stats
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
except ImportError as error:
    skip_all(f"python module missing: {error.name}")
if not os.path.exists(COMP):
    skip_all(f"{COMP} is not built")

folder = tempfile.TemporaryDirectory(prefix="comp-simulate-")


def simulate(name, *arguments):
    path = os.path.join(folder.name, name)
    subprocess.run([COMP, "simulate", "-q", "-o", path, *arguments], check=True)
    return path


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def read(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return anndata.read_h5ad(path)


def record(data):
    text = data.uns["comp"]
    return json.loads(text if isinstance(text, str) else text["record"])


# ---- the parts

small = ["--cells", "700", "--genes", "300", "--conditions", "3", "--labels", "4", "--seed", "11"]
data = read(simulate("small.h5ad", *small))
ok(data.shape == (700, 300), "anndata reads it without a warning, with the shape asked for")
ok(sp.isspmatrix_csr(data.X) and data.X.dtype == np.float32 and data.X.has_sorted_indices, "X is sorted CSR of float32")
ok((data.X.data > 0).all() and (data.X.data == np.round(data.X.data)).all(), "its values are counts")
ok(list(data.obs["condition"].cat.categories) == ["control", "treated1", "treated2"], "conditions are categories")
ok(list(data.obs["label"].cat.categories) == ["type1", "type2", "type3", "type4"], "labels are categories")
ok(data.obs.groupby(["condition", "label"]).size().between(58, 59).all(), "groups are of equal size")
ok(data.var["response_treated1"].dtype == bool and 30 <= data.var["response_treated1"].sum() <= 90, "response genes are marked")
ok(sorted(data.layers) == ["truth_control", "truth_treated1", "truth_treated2"], "there is a truth layer for every condition")
ok(data.obsm["truth_state"].shape == (700, 5), "states are in obsm")
ok(record(data)["simulate"]["seed"] == 11, "the parameters are recorded")
ok(list(data.obs_names[:2]) == ["cell1", "cell2"] and data.var_names[299] == "gene300", "cells and genes have names")
one, seven = (digest(simulate(f"{n}.h5ad", *small, "--threads", n)) for n in ("1", "7"))
ok(one == seven, "the file is the same at 1 and 7 threads")
ok(one != digest(simulate("other.h5ad", *small[:-1], "12")), "another seed gives another file")
bare = read(simulate("bare.h5ad", *small, "--no-truth"))
ok(not bare.layers and (bare.X != data.X).nnz == 0, "--no-truth leaves the layers out and the counts as they are")

# ---- counts against truth, at the default size

data = read(simulate("cells.h5ad", "--seed", "3"))
x = data.X.toarray().astype(float)
p = record(data)["simulate"]
truth = {c: data.layers[f"truth_{c}"].astype(float) for c in ("control", "treated")}
treated = (data.obs["condition"] == "treated").to_numpy()
mu = np.where(treated[:, None], truth["treated"], truth["control"])
mu *= data.obs["library_size"].to_numpy()[:, None] / p["library"]
ok(all(np.allclose(t.sum(1), p["library"], rtol=1e-5) for t in truth.values()), "every row of the truth sums to the library size")
z = (x.sum(0) - mu.sum(0)) / np.sqrt((mu + p["dispersion"] * mu**2).sum(0))
ok(stats.kstest(z, "norm").pvalue > 1e-3, f"gene totals are as far from their expectation as chance has it (sd {z.std():.3f})")
rest = ((x - mu) ** 2 / (mu + p["dispersion"] * mu**2)).ravel()
ok(abs(rest[mu.ravel() > 0.05].mean() - 1) < 0.01, f"the variance is mean + dispersion mean^2 (ratio {rest[mu.ravel() > 0.05].mean():.4f})")
size = 1 / p["dispersion"]
zero = stats.nbinom.pmf(0, size, size / (size + mu))
zeros = ((x == 0).sum() - zero.sum()) / np.sqrt((zero * (1 - zero)).sum())
ok(abs(zeros) < 4, f"zeros are as many as a negative binomial has ({zeros:.2f} standard errors)")
big = mu > 60  # these are drawn in another way
u = stats.nbinom.cdf(x[big] - 1, size, size / (size + mu[big]))
u += np.random.default_rng(0).random(u.size) * stats.nbinom.pmf(x[big], size, size / (size + mu[big]))
ok(big.sum() > 200 and stats.kstest(u, "uniform").pvalue > 1e-3, f"large counts have the whole distribution right ({big.sum()} of them)")
few = (mu > 0.5) & (mu < 60)
u = stats.nbinom.cdf(x[few] - 1, size, size / (size + mu[few]))
u += np.random.default_rng(1).random(u.size) * stats.nbinom.pmf(x[few], size, size / (size + mu[few]))
ok(stats.kstest(u, "uniform").pvalue > 1e-3, f"smaller ones too ({few.sum()} of them)")
log_library = np.log(data.obs["library_size"] / p["library"])
ok(stats.kstest(log_library, "norm", (0, p["library_sd"])).pvalue > 1e-3, "library sizes are log-normal")
ok(abs(np.median(x.sum(1)) / p["library"] - 1) < 0.05, "the median total is the library size asked for")

# ---- labels and effects

median = np.median(x.sum(1))
logged = np.log1p(x / x.sum(1, keepdims=True) * median)
change = np.log1p(truth["treated"]) - np.log1p(truth["control"])
means = []
for label in data.obs["label"].cat.categories:
    inside = (data.obs["label"] == label).to_numpy()
    accuracy = cross_val_score(LogisticRegression(max_iter=300), logged[inside], treated[inside], cv=3).mean()
    ok(accuracy > 0.8, f"{label}: the condition can be predicted from X (accuracy {accuracy:.3f})")
    seen = logged[inside & treated].mean(0) - logged[inside & ~treated].mean(0)
    mean = change[inside].mean(0)
    means.append(mean)
    ok(np.corrcoef(seen, mean)[0, 1] > 0.9, f"{label}: what is seen is what the truth says (r {np.corrcoef(seen, mean)[0, 1]:.3f})")
    left = ((change[inside] - mean) ** 2).mean() / (change[inside] ** 2).mean()
    ok(left > 0.15, f"{label}: a shift for all its cells leaves {left:.0%} of the change unexplained")
similar = np.corrcoef(means)[np.triu_indices(len(means), 1)]
ok(0.1 < similar.mean() < 0.9, f"labels answer differently, but not wholly (mean r {similar.mean():.2f})")
labels = cross_val_score(LogisticRegression(max_iter=300), logged, data.obs["label"], cv=3).mean()
ok(labels > 0.95, f"labels can be predicted (accuracy {labels:.3f})")
state = data.obsm["truth_state"]
inside = (data.obs["label"] == "type1").to_numpy()
p_values = [stats.normaltest(column).pvalue for column in state[inside].T]
ok(max(p_values) < 1e-6, "no dimension of the state is Gaussian within a label")
p_values = [stats.ks_2samp(column[inside & treated], column[inside & ~treated]).pvalue for column in state.T]
ok(min(p_values) > 1e-3, "the state does not depend on the condition")

finish()
