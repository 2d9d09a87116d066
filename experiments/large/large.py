#!/usr/bin/env python3
"""large.py: how well conditions are mixed in large data, by steps, batch and other options of training, beside what chance gives. Prints one table. README.md
beside it says how to use it."""
import argparse
import json
import os
import resource
import shutil
import subprocess
import sys

import h5py
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
COMP = os.environ.get("COMP", os.path.join(HERE, "..", "..", "build", "comp"))
SETTINGS = ["", "--batch 512", "--batch 512 --epochs 30", "--batch 1024 --epochs 30", "--batch 2048 --epochs 30", "--batch 4096 --epochs 30",
            "--batch 4096 --epochs 30 --lr 6e-3", "--align all"]
SAMPLE = 100000  # cells on which mixing is measured
PURITY_SAMPLE = 20000  # and purity
PURITY_K = 15
PROBE = 5000  # cells of which changes are predicted
COLUMNS = ["kBET", "m-kBET", "purity", "r of changes", "r of cells"]


def comp(*arguments):
    done = subprocess.run([COMP, *arguments, "-q"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def column(file, name):
    return file[f"obs/{name}/categories"].asstr()[:][file[f"obs/{name}/codes"][:]]


def missing_types(file):
    """The types that a condition lacks."""
    labels, conditions = column(file, "label"), column(file, "condition")
    return [t for t in np.unique(labels) if len(np.unique(conditions[labels == t])) < len(np.unique(conditions))]


def mixing(data, alpha):
    """kBET and m-kBET, on the same cells for all embeddings."""
    text = comp("score", "-i", data, "-u", "X_comp", "-c", "condition", "-l", "label", "-m", "kbet,m_kbet", "--max-samples", str(SAMPLE), "--alpha", str(alpha),
                "--json", "-")
    scores = json.loads(text)["embeddings"][0]["scores"]
    return [scores[name]["value"] for name in ("kbet", "m_kbet")]


def purity(data):
    """The share of the nearest neighbours that have the cell's type, over cells of types that a condition lacks."""
    with h5py.File(data) as file:
        absent, labels, points = missing_types(file), column(file, "label"), file["obsm/X_comp"][:]
    if not absent:
        return float("nan")
    rows = np.sort(np.random.default_rng(0).permutation(len(labels))[:PURITY_SAMPLE])
    labels, points = labels[rows], points[rows].astype(np.float32)
    asked = np.where(np.isin(labels, absent))[0]
    squares, values = (points ** 2).sum(1), []
    for part in np.array_split(asked, max(1, len(asked) // 1000)):
        distance = squares[None, :] - 2 * points[part] @ points.T
        distance[np.arange(len(part)), part] = np.inf
        near = np.argpartition(distance, PURITY_K, axis=1)[:, :PURITY_K]
        values.append((labels[near] == labels[part][:, None]).mean(1))
    return float(np.concatenate(values).mean())


def make_probe(counts, ready, target):
    """Some cells of control, of types that are under both conditions, as a file of their own, and their true change under treatment."""
    with h5py.File(ready) as file, h5py.File(target, "w") as out:
        labels = column(file, "label")
        rows = np.where((column(file, "condition") == "control") & ~np.isin(labels, missing_types(file)))[0]
        rows = np.sort(np.random.default_rng(1).permutation(rows)[:PROBE])
        for name in file.attrs:
            out.attrs[name] = file.attrs[name]
        for name in ("uns", "var"):
            file.copy(name, out)
        obs = out.create_group("obs")
        for name in file["obs"].attrs:
            obs.attrs[name] = file["obs"].attrs[name]
        for name, item in file["obs"].items():
            if isinstance(item, h5py.Group):
                file.copy(item, obs)
                codes = obs[name]["codes"]
                held, attributes = codes[:][rows], dict(codes.attrs)
                del obs[name]["codes"]
                obs[name].create_dataset("codes", data=held).attrs.update(attributes)
            else:
                obs.create_dataset(name, data=item[:][rows], dtype=item.dtype).attrs.update(dict(item.attrs))
        x, start = out.create_group("X"), file["X/indptr"][:]
        for name in file["X"].attrs:
            x.attrs[name] = file["X"].attrs[name]
        x.attrs["shape"] = np.array([len(rows), file["X"].attrs["shape"][1]])
        x.create_dataset("indptr", data=np.concatenate([[0], np.cumsum(start[rows + 1] - start[rows])]).astype(start.dtype))
        for name in ("data", "indices"):
            values = file["X"][name][:]
            x.create_dataset(name, data=np.concatenate([values[start[r]:start[r + 1]] for r in rows]))
    with h5py.File(counts, "r+") as file:
        truth = [np.log1p(np.stack([file[f"layers/truth_{c}"][int(r)] for r in rows])) for c in ("control", "treated")]
        del file["layers/truth_control"], file["layers/truth_treated"]
    return labels[rows], truth[1] - truth[0]


def pearson(a, b):
    """Row by row."""
    a, b = a - a.mean(-1, keepdims=True), b - b.mean(-1, keepdims=True)
    return (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))


def changes(probe, model, scratch, truth):
    """The correlation of predicted and true changes, gene by gene: of the mean of each type (mean over types), and of single cells (mean over cells)."""
    labels, true = truth
    comp("counterfactual", "-i", probe, "-m", model, "-o", scratch, "--to", "treated", "--key", "predicted")
    comp("counterfactual", "-i", scratch, "-m", model, "-o", scratch, "--to", "control", "--key", "own")
    with h5py.File(scratch) as file:
        predicted = file["layers/predicted"][:] - file["layers/own"][:]
    types = np.unique(labels)
    return [float(np.mean([pearson(predicted[labels == t].mean(0), true[labels == t].mean(0)) for t in types])), float(pearson(predicted, true).mean())]


def permute(source, target):
    """The same embedding with the conditions of each label exchanged at random: perfectly mixed."""
    shutil.copy(source, target)
    rng = np.random.default_rng(0)
    with h5py.File(target, "r+") as file:
        labels, conditions = file["obs/label/codes"][:], file["obs/condition/codes"][:]
        for label in np.unique(labels):
            rows = np.where(labels == label)[0]
            conditions[rows] = conditions[rng.permutation(rows)]
        file["obs/condition/codes"][:] = conditions


def show(name, steps, seconds, values):
    print(f"| {name} | {steps} | {seconds} | " + " | ".join("" if np.isnan(value) else f"{value:.3f}" for value in values) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description="mixing in large data, by options of training")
    parser.add_argument("--cells", type=int, default=100000)
    parser.add_argument("--genes", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1, help="of the simulated cells")
    parser.add_argument("--simulate", default="", help="further options of comp simulate")
    parser.add_argument("--settings", action="append", help="options of comp train; may be repeated [default: those of docs/experiments.md]")
    parser.add_argument("--alpha", type=float, default=0.1, help="of kBET and m-kBET")
    parser.add_argument("--without-changes", action="store_true", help="no truth, and no predicted changes: the truth takes 8 bytes a cell and gene")
    parser.add_argument("--without-chance", action="store_true", help="do not score permuted conditions")
    parser.add_argument("--out", default="large-out", help="a folder for the files; data that is there is taken")
    o = parser.parse_args()
    os.makedirs(o.out, exist_ok=True)
    place = lambda name: os.path.join(o.out, name)
    if not os.path.exists(place("ready.h5ad" if o.without_changes else "truth.npz")):
        comp("simulate", "-o", place("counts.h5ad"), "--cells", str(o.cells), "--genes", str(o.genes), "--seed", str(o.seed), "--no-truth" if o.without_changes else "--truth",
             "--compression", "0", *o.simulate.split())
        comp("prep", "-i", place("counts.h5ad"), "-o", place("ready.h5ad"), "--normalize-total", "median", "--log1p", "--compression", "0")
        if not o.without_changes:
            labels, true = make_probe(place("counts.h5ad"), place("ready.h5ad"), place("probe.h5ad"))
            np.savez(place("truth.npz"), labels=labels.astype(str), true=true)
        os.remove(place("counts.h5ad"))
    if not o.without_changes:
        with np.load(place("truth.npz")) as file:
            truth = file["labels"], file["true"]
    print("| training | steps | CPU s | " + " | ".join(COLUMNS) + " |\n" + "|---" * (3 + len(COLUMNS)) + "|")
    for number, setting in enumerate(o.settings or SETTINGS):
        before = cpu_seconds()
        comp("train", "-i", place("ready.h5ad"), "-o", place("model.comp"), "-c", "condition", "--log", place("log.jsonl"), *setting.split())
        seconds = f"{cpu_seconds() - before:.0f}"
        comp("embed", "-i", place("ready.h5ad"), "-m", place("model.comp"), "-o", place("embedded.h5ad"))
        with open(place("log.jsonl")) as log:
            steps = json.loads(log.readlines()[-1])["steps"]
        if number == 0 and not o.without_chance:
            permute(place("embedded.h5ad"), place("permuted.h5ad"))
            show("chance: conditions permuted within types", "", "", mixing(place("permuted.h5ad"), o.alpha))
        values = [*mixing(place("embedded.h5ad"), o.alpha), purity(place("embedded.h5ad"))]
        if not o.without_changes:
            values += changes(place("probe.h5ad"), place("model.comp"), place("predicted.h5ad"), truth)
        show(f"`{setting}`" if setting else "default", steps, seconds, values)


main()
