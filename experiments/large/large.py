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
SETTINGS = ["", "--gamma 30", "--batch 2048 --epochs 12", "--batch 2048 --epochs 45", "--batch 2048 --epochs 12 --scale 0.25 --blur 2,0.1", "--align all",
            "--align all --batch 2048 --epochs 12", "--align all --epochs 57", "--align all --hidden 512,512", "--align all --select average"]


def comp(*arguments):
    done = subprocess.run([COMP, *arguments, "-q"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def mixing(data, alpha):
    """kBET and m-kBET, on at most 100,000 samples."""
    text = comp("score", "-i", data, "-u", "X_comp", "-c", "condition", "-l", "label", "-m", "kbet,m_kbet", "--max-samples", "100000", "--alpha", str(alpha),
                "--json", "-")
    scores = json.loads(text)["embeddings"][0]["scores"]
    return [scores[name]["value"] for name in ("kbet", "m_kbet")]


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


def show(name, steps, seconds, data, alphas):
    values = [value for alpha in alphas for value in mixing(data, alpha)]
    print(f"| {name} | {steps} | {seconds} | " + " | ".join(f"{value:.3f}" for value in values) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description="mixing in large data, by options of training")
    parser.add_argument("--cells", type=int, default=100000)
    parser.add_argument("--genes", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1, help="of the simulated cells")
    parser.add_argument("--settings", action="append", help="options of comp train; may be repeated [default: those of docs/experiments.md]")
    parser.add_argument("--out", default="large-out", help="a folder for the files")
    o = parser.parse_args()
    os.makedirs(o.out, exist_ok=True)
    place = lambda name: os.path.join(o.out, name)
    comp("simulate", "-o", place("counts.h5ad"), "--cells", str(o.cells), "--genes", str(o.genes), "--seed", str(o.seed), "--no-truth", "--compression", "1")
    comp("prep", "-i", place("counts.h5ad"), "-o", place("ready.h5ad"), "--normalize-total", "median", "--log1p", "--compression", "1")
    alphas = (0.1, 0.05)
    print("| training | steps | CPU s | " + " | ".join(f"{name}, alpha {alpha}" for alpha in alphas for name in ("kBET", "m-kBET")) + " |\n" + "|---" * 7 + "|")
    for number, setting in enumerate(o.settings or SETTINGS):
        before = cpu_seconds()
        comp("train", "-i", place("ready.h5ad"), "-o", place("model.comp"), "-c", "condition", "--log", place("log.jsonl"), *setting.split())
        seconds = f"{cpu_seconds() - before:.0f}"
        comp("embed", "-i", place("ready.h5ad"), "-m", place("model.comp"), "-o", place("embedded.h5ad"))
        with open(place("log.jsonl")) as log:
            steps = json.loads(log.readlines()[-1])["steps"]
        if number == 0:
            permute(place("embedded.h5ad"), place("permuted.h5ad"))
            show("chance: conditions permuted within types", "", "", place("permuted.h5ad"), alphas)
        show(f"`{setting}`" if setting else "default", steps, seconds, place("embedded.h5ad"), alphas)


main()
