#!/usr/bin/python3
"""`comp counterfactual --borrow` and `--cells` against their rules restated with numpy, on simulated cells of which one label was never seen treated."""
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

comp("simulate", "-o", path("raw.h5ad"), "--cells", "2000", "--genes", "200", "--labels", "6", "--separation", "2.5", "--effect", "2", "--specific", "0.2",
     "--library", "800", "--absent", "type1:treated", "--seed", "3")
comp("prep", "-i", path("raw.h5ad"), "-o", path("ready.h5ad"), "--normalize-total", "median", "--log1p")
comp("train", "-i", path("ready.h5ad"), "-o", path("model.comp"), "-c", "condition", "--hidden", "64,64", "--latent", "8", "--epochs", "40", "--gamma", "0.1",
     "--precision", "f32")
comp("embed", "-i", path("ready.h5ad"), "-m", path("model.comp"), "-o", path("out.h5ad"))
for key, to, options in (("residual", "treated", ["--residual"]), ("borrow", "treated", ["--borrow"]), ("cells", "treated", ["--cells"]),
                         ("both", "treated", ["--borrow", "--cells"]), ("own", "control", [])):
    source = ["--from", "control"] if to == "treated" else []
    comp("counterfactual", "-i", path("out.h5ad"), "-m", path("model.comp"), "-o", path("out.h5ad"), *source, "--to", to, "--key", key, *options)

data = anndata.read_h5ad(path("out.h5ad"))
x = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
z = data.obsm["X_comp"].astype(float)
treated = (data.obs["condition"] == "treated").to_numpy()
label = data.obs["label"].astype(str).to_numpy()
source = np.flatnonzero(~treated)
absent = label[source] == "type1"
layer = {name: np.asarray(data.layers[name], float)[source] for name in ("residual", "borrow", "cells", "both", "own")}
x1 = x[source].astype(float)

# ---- borrow: who borrows, and from how far
near = NearestNeighbors(n_neighbors=31).fit(z).kneighbors(z)[1][:, 1:]
support = (treated[near].sum(1) / (30 * treated.mean()))[source]
takers = np.abs(layer["borrow"] - layer["residual"]).max(1) > 1e-6
ok(takers[absent].mean() > 0.7 and takers[~absent].mean() < 0.2,
   f"{takers[absent].mean():.2f} of the label that was never seen treated borrow, {takers[~absent].mean():.2f} of the others")
ok(support[takers].mean() < 0.5 < support[~takers].mean(), f"support {support[takers].mean():.2f} and {support[~takers].mean():.2f}")
truth = np.log1p(np.asarray(data.layers["truth_treated"], float))[source][absent].mean(0) - np.log1p(
    np.asarray(data.layers["truth_control"], float))[source][absent].mean(0)
change = {name: (layer[name] - x1)[absent].mean(0) for name in ("residual", "borrow", "both")}
r = {name: np.corrcoef(value, truth)[0, 1] for name, value in change.items()}
ok(r["borrow"] > r["residual"] and r["borrow"] > 0.7, "r of the change with the truth: " + ", ".join(f"{k} {v:.3f}" for k, v in r.items()))
ok(all(np.array_equal(data.layers[name][treated], x[treated]) for name in ("borrow", "cells", "both")), "treated cells keep their values")

# ---- cells: the rule
for name, before in (("cells", "residual"), ("both", "borrow")):
    delta, own = layer[before] - x1, layer["own"]
    with np.errstate(divide="ignore", invalid="ignore"):
        e = np.where(delta >= 0, x1 + delta, np.where((own > 0) & (own + delta > 0), x1 * (own + delta) / own, 0))
    least = np.where(x1 > 0, x1, np.inf).min(1)[:, None]
    kept = e >= least * (1 + 1e-5)
    ok(np.abs(layer[name] - e)[kept].max() < 1e-4, f"{name}: values of one count and more are as expected (off by {np.abs(layer[name] - e)[kept].max():.1e})")
    low = e < least * (1 - 1e-5)
    drawn = layer[name][low]
    ok(np.all((drawn == 0) | (np.abs(drawn - np.broadcast_to(least, e.shape)[low]) < 1e-6)), f"{name}: less than that is 0 or one count")
    off = np.abs(layer[name].mean(0) - e.mean(0))
    plain = np.sqrt((np.where(low, e * (least - e), 0)).sum(0)) / len(e)  # standard error of independent draws
    ok(off.mean() < 0.9 * plain.mean() and off.max() < 4 * plain.max(), f"{name}: means stay, with less noise than independent draws have ({off.mean():.1e}, {plain.mean():.1e})")
    zeros = (layer[name] == 0).mean(), (layer[before] == 0).mean(), (x1 == 0).mean()
    ok(abs(zeros[0] - zeros[2]) < 0.15 and zeros[1] < 0.05, f"{name}: zeros {zeros[0]:.2f}, as measured cells have {zeros[2]:.2f}; {before}: {zeros[1]:.2f}")

key = "counterfactual_treated"
for options in (["--borrow"], ["--borrow", "--cells"]):
    results = []
    for threads in ("1", "7"):
        comp("counterfactual", "-i", path("out.h5ad"), "-m", path("model.comp"), "-o", path("t.h5ad"), "--from", "control", "--to", "treated", "--threads", threads, *options)
        results.append(anndata.read_h5ad(path("t.h5ad")).layers[key])
    ok(np.array_equal(*results), f"{' '.join(options)}: the same at 1 and 7 threads")

# ---- comp run: populations that the other condition lacks borrow, others do not
run = subprocess.run([COMP, "run", "-i", path("raw.h5ad"), "-c", "condition", "-o", path("run"), "--to", "treated", "--epochs", "60", "--no-umap", "--no-correct", "--no-diagnose"],
                     check=True, capture_output=True, text=True)
comp("counterfactual", "-i", path("run/data.h5ad"), "-m", path("run/model.safetensors"), "-o", path("plain.h5ad"), "--to", "treated", "--cells", "--clip")
ours, plain = (np.asarray(anndata.read_h5ad(path(name)).layers[key], float)[source] for name in ("run/data.h5ad", "plain.h5ad"))
borrowed = np.abs(ours - plain).max(1) > 1e-6
ok("--borrow --rarer 10" in run.stderr and borrowed[absent].mean() > 0.7 and borrowed[~absent].mean() < 0.05,
   f"comp run: {borrowed[absent].mean():.2f} of the label that was never seen treated borrow, {borrowed[~absent].mean():.2f} of the others")

for options in (["--borrow"], ["--cells"]):
    wrong = subprocess.run([COMP, "counterfactual", "-q", "-i", path("out.h5ad"), "-m", path("model.comp"), "-o", path("x.h5ad"), "--to", "treated", *options,
                            "--samples", "5"], capture_output=True, text=True)
    ok(wrong.returncode == 2 and "draws" in wrong.stderr and not os.path.exists(path("x.h5ad")), "not with draws: " + wrong.stderr.strip()[:80])
finish()
