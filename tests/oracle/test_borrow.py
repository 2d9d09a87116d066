#!/usr/bin/python3
"""`comp counterfactual --borrow` against its rule restated with numpy, on simulated cells of which one label was never seen treated."""
import os
import subprocess
import tempfile

from tap import COMP, finish, ok, skip_all

try:
    import anndata
    import numpy as np
    from sklearn.neighbors import NearestNeighbors
except ImportError as error:
    skip_all(f"python module missing: {error.name}")

folder = tempfile.TemporaryDirectory(prefix="comp-borrow-")
path = lambda name: os.path.join(folder.name, name)  # noqa: E731
comp = lambda *a: subprocess.run([COMP, *a, "-q"], check=True, stdout=subprocess.DEVNULL)  # noqa: E731

comp("simulate", "-o", path("raw.h5ad"), "--cells", "2000", "--genes", "200", "--absent", "type1:treated", "--seed", "3")
comp("prep", "-i", path("raw.h5ad"), "-o", path("ready.h5ad"), "--normalize-total", "median", "--log1p")
comp("train", "-i", path("ready.h5ad"), "-o", path("model.comp"), "-c", "condition", "--hidden", "64,64", "--latent", "8", "--epochs", "40", "--gamma", "0.1",
     "--precision", "f32")
comp("embed", "-i", path("ready.h5ad"), "-m", path("model.comp"), "-o", path("out.h5ad"))
for key, option in (("residual", "--residual"), ("borrow", "--borrow")):
    comp("counterfactual", "-i", path("out.h5ad"), "-m", path("model.comp"), "-o", path("out.h5ad"), "--from", "control", "--to", "treated", "--key", key,
         option)

data = anndata.read_h5ad(path("out.h5ad"))
x = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
z = data.obsm["X_comp"].astype(float)
treated = (data.obs["condition"] == "treated").to_numpy()
source = np.flatnonzero(~treated)
near = NearestNeighbors(n_neighbors=101).fit(z).kneighbors(z)[1][:, 1:]
support = treated[near].sum(1) / (100 * treated.mean())
change = (data.layers["residual"] - x)[source]
donors = np.flatnonzero(support[source] >= 0.5)
takers = np.flatnonzero(support[source] < 0.9)
d2 = ((z[source[takers]][:, None, :] - z[source[donors]][None]) ** 2).sum(2)
width = np.sort(d2, 1)[:, :30].mean(1, keepdims=True)
w = np.exp(-0.1 * d2 / width)
expected = change.copy()
expected[takers] = w / w.sum(1, keepdims=True) @ change[donors]
borrowed = (data.layers["borrow"] - x)[source]
absent = (data.obs["label"] == "type1").to_numpy()[source]
ok(0 < len(takers) < len(source) and 30 < len(donors) < len(source), f"{len(takers)} of {len(source)} borrow, from {len(donors)}")
ok(np.isin(np.flatnonzero(absent), takers).mean() > 0.5, "most cells of the label that was never seen treated do")
ok(np.abs(borrowed - expected).max() < 1e-4, f"changes are those of the rule: {np.abs(borrowed - expected).max():.1e}")
ok(np.array_equal(data.layers["borrow"][treated], x[treated]), "treated cells keep their values")
one, seven = path("one.h5ad"), path("seven.h5ad")
for out, threads in ((one, "1"), (seven, "7")):
    comp("counterfactual", "-i", path("out.h5ad"), "-m", path("model.comp"), "-o", out, "--from", "control", "--to", "treated", "--borrow", "--threads", threads)
key = "counterfactual_treated"
ok(np.array_equal(anndata.read_h5ad(one).layers[key], anndata.read_h5ad(seven).layers[key]), "the same at 1 and 7 threads")
wrong = subprocess.run([COMP, "counterfactual", "-q", "-i", path("out.h5ad"), "-m", path("model.comp"), "-o", path("x.h5ad"), "--to", "treated", "--borrow",
                        "--samples", "5"], capture_output=True, text=True)
ok(wrong.returncode == 2 and "draws" in wrong.stderr and not os.path.exists(path("x.h5ad")), "not with draws: " + wrong.stderr.strip()[:80])
finish()
