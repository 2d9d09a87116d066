#!/usr/bin/python3
"""`comp run` on simulated cells whose truth is known: its predictions are nearer to the truth than a mean shift in every label; the condition cannot be
predicted from the embedding, but can without the penalty; and data.h5ad, read by anndata, holds the results and the user's own fields as they were."""
import json
import os
import subprocess
import tempfile
import warnings

from tap import COMP, finish, ok, skip_all

try:
    import anndata
    import numpy as np
    import pandas as pd
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
except ImportError as error:
    skip_all(f"python module missing: {error.name}")
if not os.path.exists(COMP):
    skip_all(f"{COMP} is not built")

folder = tempfile.TemporaryDirectory(prefix="comp-demo-")
cells = os.path.join(folder.name, "cells.h5ad")


def read(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return anndata.read_h5ad(path)


def run(name, *arguments, gamma="4"):
    # few and narrow layers, and little time to align them: less weight on it than the recipe has. The decoder's means, because the truth is without
    # the noise that cells have.
    weight = ["--gamma", gamma] if gamma else []
    out = os.path.join(folder.name, name)
    subprocess.run([COMP, "run", "-q", "-i", cells, "-c", "condition", "-l", "label", "-o", out, "--hidden", "128,128", "--latent", "10",
                    "--epochs", "60", "--predict", "decoded", *weight, "--no-diagnose", *arguments], check=True, stdout=subprocess.DEVNULL)
    return out


# ---- the user's file: simulated cells, and fields of his own

subprocess.run([COMP, "simulate", "-q", "-o", cells, "--cells", "3000", "--genes", "300"], check=True)
theirs = read(cells)
rng = np.random.default_rng(0)
theirs.obs["donor"] = pd.Categorical(rng.choice(["d1", "d2", "d3"], theirs.n_obs))
theirs.obs["weight"] = rng.normal(size=theirs.n_obs)
theirs.var["length"] = rng.integers(100, 9000, theirs.n_vars)
theirs.obsm["X_theirs"] = rng.normal(size=(theirs.n_obs, 3)).astype(np.float32)
theirs.uns["colours"] = {"condition": np.array(["red", "blue"])}
theirs.layers["theirs"] = theirs.X.copy()
theirs.write_h5ad(cells)

out = run("comp")
data = read(os.path.join(out, "data.h5ad"))
scores = json.load(open(os.path.join(out, "scores.json")))
record = json.load(open(os.path.join(out, "run.json")))

# ---- what is in the folder

ok(all(os.path.getsize(os.path.join(out, name)) > 0 for name in ["data.h5ad", "model.safetensors", "scores.json", "report.html", "run.json"]),
   "data, model, scores, report and record are there")
ok(sorted(os.listdir(os.path.join(out, "figures"))) == ["counterfactual.svg", "metrics.svg", "strip.svg", "training.svg", "umap.svg"], "five figures")
ok(data.obsm["X_comp"].shape == (3000, 10) and all(data.obsm[k].shape == (3000, 2) for k in ["X_umap", "X_umap_before"]), "X_comp and both maps")
ok({"counterfactual_control", "counterfactual_treated", "corrected", "counts"} <= set(data.layers) and
   all(np.isfinite(data.layers[k]).all() for k in ["counterfactual_control", "counterfactual_treated", "corrected"]), "layers, all finite")
ok(list(data.obs_names) == list(theirs.obs_names) and list(data.var_names) == list(theirs.var_names), "the same samples and features")
ok(data.obs["donor"].astype(str).equals(theirs.obs["donor"].astype(str)) and np.array_equal(data.obs["weight"], theirs.obs["weight"]) and
   np.array_equal(data.var["length"], theirs.var["length"]), "the user's columns of obs and var are intact")
ok(np.array_equal(data.obsm["X_theirs"], theirs.obsm["X_theirs"]) and (data.layers["theirs"] != theirs.layers["theirs"]).nnz == 0 and
   list(data.uns["colours"]["condition"]) == ["red", "blue"], "so are obsm, layers and uns")
ok((data.layers["counts"] != theirs.X).nnz == 0, "layers/counts holds the counts")
total = np.median(np.asarray(theirs.X.sum(1)).ravel())
expected = np.log1p(theirs.X.toarray() / np.asarray(theirs.X.sum(1)) * total)
ok(np.abs(data.X.toarray() - expected).max() < 1e-4, "X is normalised to the median total and logged")
digest = subprocess.run(["sha256sum", cells], check=True, capture_output=True, text=True).stdout.split()[0]
ok(record["input"]["sha256"] == digest and record["finished"] and [s["name"] for s in record["steps"]][:2] == ["prep", "train"],
   "run.json has the digest of the data and the steps")

# ---- nearer to the truth than a mean shift, by the numbers of the program and again by hand

X = data.X.toarray()
condition, label = data.obs["condition"].astype(str).to_numpy(), data.obs["label"].astype(str).to_numpy()
pairs = {(c["from"], c["to"]): c for c in [scores["counterfactual"], *scores["more_counterfactuals"]]}
ok(set(pairs) == {("control", "treated"), ("treated", "control")}, "both changes of condition are scored")
for (source, goal), change in pairs.items():
    shift = X[condition == goal].mean(0) - X[condition == source].mean(0)
    for entry in change["labels"]:
        rows = (condition == source) & (label == entry["label"])
        truth = np.log1p(theirs.layers[f"truth_{goal}"][rows])
        predicted = np.sqrt(((data.layers[f"counterfactual_{goal}"][rows] - truth) ** 2).mean())
        shifted = np.sqrt(((X[rows] + shift - truth) ** 2).mean())
        same = abs(predicted - entry["prediction"]["rmse_truth"]) < 1e-4 and abs(shifted - entry["mean_shift"]["rmse_truth"]) < 1e-4
        ok(same and predicted < shifted, f"{source} to {goal}, {entry['label']}: error {predicted:.3f}, of a mean shift {shifted:.3f}")
        real, mean = X[(condition == goal) & (label == entry["label"])].mean(0), data.layers[f"counterfactual_{goal}"][rows].mean(0)
        by_model, by_shift = ((mean - real) ** 2).mean(), ((X[rows].mean(0) + shift - real) ** 2).mean()
        same = abs(by_model - entry["prediction"]["mse_all"]) < 1e-5 and abs(by_shift - entry["mean_shift"]["mse_all"]) < 1e-5
        ok(same and by_model < by_shift, f"{source} to {goal}, {entry['label']}: squared error of the mean {by_model:.4f}, of a mean shift {by_shift:.4f}")

# ---- the condition is hidden, and is not when the penalty is off


def told(path, key="X_comp"):
    z = read(os.path.join(path, "data.h5ad"))
    codes = z.obs["condition"].astype(str).to_numpy()
    return cross_val_score(make_pipeline(StandardScaler(), LogisticRegression()), z.obsm[key], codes, cv=5).mean()


def told_by_us(path):
    found = [p for p in json.load(open(os.path.join(path, "scores.json")))["predict"] if p["embedding"] == "X_comp" and p["column"] == "condition"]
    return [c["accuracy"] for c in found[0]["classifiers"] if c["classifier"] == "logistic"][0], found[0]["majority"]


ours, floor = told_by_us(out)
again = told(out)
ok(ours <= floor + 0.02 and again <= floor + 0.03, f"the condition cannot be predicted: {ours:.3f} (scikit-learn, other folds: {again:.3f}), floor {floor:.3f}")
for name, without in [("cvae", run("cvae", "--no-umap", "--model", "cvae", gamma=None)), ("no penalty", run("no_penalty", "--no-umap", gamma="0"))]:
    ours, floor = told_by_us(without)
    ok(ours > floor + 0.1 and told(without) > floor + 0.1, f"{name}: it can be predicted: {ours:.3f}, floor {floor:.3f}")

finish()
