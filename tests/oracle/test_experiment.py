#!/usr/bin/python3
"""Tables of `comp experiment pbmc`: rows of baselines are what prep, baseline and score give one after the other; means,
standard errors and marks follow from the runs by numpy."""
import csv
import glob
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from tap import COMP, ROOT, finish, ok, skip_all

DATA = os.environ.get("COMP_DATA", os.path.join(ROOT, "..", "shared", "data"))
SOURCE = os.path.join(DATA, "pbmc_protocols", "v2_vs_5p_6500.h5ad")
if not os.path.exists(SOURCE):
    skip_all("the data is not there (COMP_DATA)")
work = tempfile.TemporaryDirectory()
os.chdir(work.name)


def comp(*arguments):
    done = subprocess.run([COMP, *arguments, "-q"], capture_output=True, text=True)
    if done.returncode:
        print("#", " ".join(arguments), done.stderr, file=sys.stderr)
    return done.returncode == 0


def close(a, b):
    return abs(a - b) <= 1e-9 * max(1, abs(b))


ok(comp("experiment", "pbmc", "-d", DATA, "-o", "out", "--models", "vae,comp", "--baselines", "pca,harmony", "--seeds", "3,5,8",
        "--epochs", "4"), "the experiment runs")
table = {(r["row"], r["column"]): r for r in csv.DictReader(open("out/models.csv"))}
marks = {r["row"]: r["columns"] for r in json.load(open("out/models.json"))["rows"]}
columns = ("kbet", "m_kbet", "s", "s_label")
ok(sorted(marks) == ["comp", "harmony", "pca", "vae"], "four rows")

# One after the other, by hand.
ok(comp("prep", "-i", SOURCE, "-o", "p.h5ad", "--keep", "cell_type=bcells,dc,mk,mono,nk,tcells", "--normalize-total", "median",
        "--log1p", "--hvg", "vst:2000", "--hvg-batch", "batch"), "prep")
for method in ("pca", "harmony"):
    ok(comp("baseline", method, "-i", "p.h5ad", "-o", "b.h5ad", "-c", "batch"), f"baseline {method}")
    ok(comp("score", "-i", "b.h5ad", "-u", f"X_{method}", "-c", "batch", "-l", "cell_type", "-k", "100", "--alpha",
            "0.05", "--small-labels", "shrink", "--json", "s.json"), f"score {method}")
    scored = json.load(open("s.json"))["embeddings"][0]["scores"]
    for column in columns:
        mine = float(table[method, column]["mean"])
        ok(abs(mine - scored[column]["value"]) < 1e-8, f"{method}, {column}: {mine:.6f} is what comp score has")
        ok(table[method, column]["seeds"] == "1" and table[method, column]["standard_error"] == "", f"{method}, {column}: once")

# Means and errors over seeds.
for model in ("vae", "comp"):
    runs = [json.load(open(f))["figures"][model] for f in sorted(glob.glob(f"out/runs/*-models-{model}-*.json"))]
    ok(len(runs) == 3, f"{model}: a run a seed")
    for column in columns:
        values = np.array([r[column] for r in runs])
        cell = table[model, column]
        ok(close(float(cell["mean"]), values.mean()), f"{model}, {column}: mean")
        ok(close(float(cell["standard_error"]), values.std(ddof=1) / np.sqrt(3)), f"{model}, {column}: standard error")
ok(float(table["harmony", "kbet"]["paper"]) == 0.318 and table["vae", "kbet"]["paper"] == "", "the paper's numbers")
for column in columns:
    best = min(marks, key=lambda row: abs(marks[row][column]["mean"]))
    ok([row for row in marks if marks[row][column]["best"]] == [best], f"{column}: {best} is marked")
finish()
