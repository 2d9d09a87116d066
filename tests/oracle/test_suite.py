#!/usr/bin/python3
"""The suite (experiments/suite): its measures against plain loops, scikit-learn and `comp score`; its designs; its verdicts; and that its
short way to an embedding gives the bytes that `comp run` gives."""
import json
import os
import subprocess
import sys
import tempfile

import tap
from tap import ok

sys.path.insert(0, os.path.join(tap.ROOT, "experiments", "suite"))
try:
    import anndata
    import numpy as np
    import pandas as pd
    from sklearn.neighbors import KNeighborsClassifier

    import designs
    import measures
    import runner
    import table
except ImportError as error:
    tap.skip_all(f"python module missing: {error.name}")

RNG = np.random.default_rng(1)


def close(a, b, tolerance=1e-12):
    return abs(a - b) <= tolerance


def made(n, types, conditions, apart, rng=RNG):
    """Points of types at random places; the condition moves each by `apart` in a direction of its own."""
    label, condition = rng.integers(0, types, n), rng.integers(0, conditions, n)
    centre, shift = rng.normal(0, 4, (types, 5)), rng.normal(0, apart, (conditions, 5))
    points = (centre[label] + shift[condition] + rng.normal(0, 1, (n, 5))).astype(np.float32)
    return points, np.char.add("type", label.astype(str)), np.char.add("c", condition.astype(str))


# ------------------------------------------------------------------------------------------------------ measures


def check_purity():
    points, label, condition = made(300, 4, 2, 1)
    label[(label == "type1") & (condition == "c0")] = "type2"
    by_cell = []
    for i in range(len(points)):
        distance = ((points.astype(float) - points[i]) ** 2).sum(1)
        distance[i] = np.inf
        by_cell.append(np.mean([label[j] == label[i] for j in np.argsort(distance)[:15]]))
    by_cell, alone = np.array(by_cell), label == "type1"
    found = measures.measure(points, label, condition)
    ok(measures.split_types(label, condition) == (["type0", "type2", "type3"], ["type1"]), "a type that one condition lacks is unshared")
    ok(close(found["purity_unshared"], by_cell[alone].mean()), "purity of unshared types as a plain loop has it")
    ok(close(found["purity_shared"], by_cell[~alone].mean()), "purity of shared types as a plain loop has it")


def check_against_score():
    """The program's own kBET, s and m-kBET: another implementation of the same definitions."""
    for conditions, apart in ((2, 0.5), (2, 3), (5, 0.7)):
        points, label, condition = made(1400, 5, conditions, apart)
        names = [f"cell{i}" for i in range(len(points))]
        data = anndata.AnnData(points, obs=pd.DataFrame({"label": label, "condition": condition}, index=names), dtype=np.float32)
        data.obsm["X_z"] = points
        with tempfile.TemporaryDirectory() as folder:
            data.write_h5ad(os.path.join(folder, "in.h5ad"))
            subprocess.run([tap.COMP, "score", "-i", "in.h5ad", "-u", "X_z", "-c", "condition", "-l", "label", "-k", "100", "-a", "0.05", "-q",
                            "--small-labels", "shrink", "--min-label", "40", "--search", "exact", "--json", "out.json"], cwd=folder, check=True,
                           stdout=subprocess.DEVNULL)
            with open(os.path.join(folder, "out.json")) as file:
                theirs = json.load(file)["embeddings"][0]["scores"]
        ours = measures.measure(points, label, condition)
        what = f"{conditions} conditions {apart} apart"
        # One cell whose hundredth neighbour is another in single precision may fall on the other side.
        ok(close(ours["kbet"], theirs["kbet"]["value"], 2 / 1400), f"kBET is that of comp score, {what}")
        ok(close(ours["s"], theirs["s"]["value"], 1e-4), f"s is that of comp score, {what}")
        ok(close(ours["m_kbet"], theirs["m_kbet"]["value"], 2 / 200), f"m-kBET is that of comp score, {what}")


def check_transfer():
    points, label, condition = made(600, 2, 2, 1.5)
    points += RNG.normal(0, 3, points.shape).astype(np.float32)
    plain = []
    for source in ("c0", "c1"):
        of = condition == source
        fit = KNeighborsClassifier(15, algorithm="brute").fit(points[of].astype(float), label[of])
        plain.append((fit.predict(points[~of].astype(float)) == label[~of]).mean())
    found = measures.transfer(points.astype(float), label, condition)[0]
    ok(0.5 < found < 0.99 and close(found, np.mean(plain)), "label transfer is that of scikit-learn (15 votes, two types: no ties)")
    far = np.where(label == "type0", 0.0, 100.0)[:, None] + RNG.normal(0, 1, (600, 3))
    ok(measures.transfer(far, label, condition) == (1, 1), "label transfer of separate types is 1")
    swapped = np.where((label == "type0") == (condition == "c0"), 0.0, 100.0)[:, None] + RNG.normal(0, 1, (600, 3))
    ok(measures.transfer(swapped, label, condition) == (0, 0), "label transfer is 0 where each type lies on the other one")


def check_extremes():
    points, label, condition = made(800, 3, 2, 0)
    mixed = measures.measure(points, label, condition)
    ok(mixed["m_kbet"] < 0.1 and abs(mixed["s"]) < 0.05, "conditions that do not differ are mixed")
    ok(np.isnan(mixed["purity_unshared"]), "without unshared types there is no purity of them")
    points[condition == "c1"] += 1000
    apart = measures.measure(points, label, condition)
    ok(apart["m_kbet"] == 1 and apart["kbet"] == 1 and apart["s"] == 1, "conditions far apart are not mixed at all")
    points[3, 2] = np.nan
    try:
        measures.measure(points, label, condition)
        ok(False, "an embedding with NaN is refused")
    except ValueError:
        ok(True, "an embedding with NaN is refused")


# ------------------------------------------------------------------------------------------------------- designs


def check_designs():
    small = [d for d in designs.DESIGNS if not d.large]
    names = [d.name for d in designs.DESIGNS]
    ok(len(small) >= 20 and len(set(names)) == len(names), f"{len(small)} designs, each with a name of its own")
    halves = {half: {kind for d in small if d.half == half for kind in d.kinds} for half in "AB"}
    kinds = {"balanced", "unshared", "skewed", "small", "many"}
    ok(halves["A"] == kinds and halves["B"] == kinds, "each kind is in both halves")
    cells = designs.Cells(designs.sp.csr_matrix(RNG.poisson(20, (400, 30))), np.repeat(["a", "b"], 200), np.tile(["x", "y"], 200), np.arange(30))
    skew = designs.skewed(cells, RNG, 5)
    counts = [[np.sum((skew.label == t) & (skew.condition == c)) for c in "xy"] for t in "ab"]
    ok(counts == [[100, 20], [20, 100]], "a skew of 5:1 goes to the other side in every second type")
    ok(len(cells.only("a", "x").label) == 300 and len(cells.total(RNG, 40).label) == 40, "types are dropped and cells drawn as asked for")
    batches = designs.pseudo_batches(cells, RNG, 4, 0.5)
    before, after = cells.x.toarray(), batches.x.toarray()
    ok((after <= before).all() and (after == after.astype(int)).all() and (batches.label == cells.label).all(),
       "pseudo-batches are the same cells with fewer counts")
    means = np.stack([after[batches.condition == b].mean(0) for b in np.unique(batches.condition)])
    ok(len(means) == 4 and np.log(means).std(0).mean() > 0.2, "pseudo-batches differ by gene")


def check_files(folder):
    design = [d for d in designs.DESIGNS if d.name == "sim_absent"][0]
    notes = [designs.write(design, tap.COMP, os.path.join(folder, name))[1] for name in "ab"]
    ok(notes[0]["digest"] == notes[1]["digest"], "a design is the same every time")
    missing = [t for t, row in zip(notes[0]["types"], notes[0]["counts"]) if min(row) < measures.MISSING]
    ok(missing == ["type2"], "sim_absent lacks what its description says")
    if not os.path.isdir(designs.DATA):
        return
    design = [d for d in designs.DESIGNS if d.name == "kang_two_out"][0]
    path, note = designs.write(design, tap.COMP, os.path.join(folder, "a"))
    obs = anndata.read_h5ad(path).obs
    counts = pd.crosstab(obs["label"], obs["condition"])
    ok(counts.loc["CD14 Mono", "STIM"] == 0 and counts.loc["NK", "CTRL"] == 0 and (counts == 0).values.sum() == 2 and note["cells"] <= 3000,
       "kang_two_out lacks two groups and no others")


# -------------------------------------------------------------------------------------------------------- runner


def check_runner(folder):
    """The suite trains by comp train, after the steps that comp run wrote down: it must be the embedding of comp run."""
    design = designs.Design("tiny", "A", "unshared", "a test",
                            lambda m: m.simulate(cells=240, genes=80, labels=3, library=2000, absent="type2:treated", seed=9))
    options = "--hidden 16 --latent 4 --epochs 3 --gamma 2"
    suite = runner.Suite(tap.COMP, folder, options)
    first = suite.trained(design, 5)
    path, _ = suite.design(design)
    subprocess.run([tap.COMP, "run", "-i", path, "-c", "condition", "-o", os.path.join(folder, "whole"), "--no-umap", "--no-correct", "--no-diagnose",
                    "-q", "--threads", "1", "--seed", "5", *options.split()], check=True, capture_output=True)
    whole = runner.read_embedding(os.path.join(folder, "whole", "data.h5ad"), "X_comp")
    kept = [os.path.join(at, "embedding.npy") for at, _, names in os.walk(folder) if "embedding.npy" in names]
    ok(len(kept) == 1 and np.array_equal(np.load(kept[0]), whole), "the embedding has the bytes that comp run gives")
    again = measures.measure(whole, runner.read_column(path, "label"), runner.read_column(path, "condition"))
    ok(first["measures"] == again and first["seconds"] > 0, "measures are those of this embedding")
    run, runner.program = runner.program, None  # a call would fail
    try:
        ok(suite.trained(design, 5)["measures"] == first["measures"], "a second time it comes from the cache")
    finally:
        runner.program = run
    ok(suite.trained(design, 6)["measures"] != first["measures"], "another seed is another training")
    pca = suite.baseline(design, "pca")
    ok(pca["measures"]["purity_unshared"] > 0.5, "a baseline is run and measured")
    try:
        runner.Suite(tap.COMP, folder, "--gamma nonsense").trained(design, 5)
        ok(False, "a training that fails is an error, with what the program said")
    except runner.Failed as error:
        ok("nonsense" in str(error), "a training that fails is an error, with what the program said")
    ok(os.listdir(os.path.join(folder, "scratch")) == [], "nothing is left behind")


# -------------------------------------------------------------------------------------------------------- verdicts


def entry(kinds, values, pca=0.9, other=0.9):
    """A design with these values of all measures, one a seed."""
    run = lambda value: {"measures": dict.fromkeys(table.NAMES, value), "seconds": 1}
    return {"kinds": kinds.split(), "half": "A", "what": "made", "cells": 1, "conditions": ["a", "b"], "unshared": [],
            "baselines": {"pca": run(pca), "harmony": run(other), "mnn": {"error": "failed"}}, "seeds": {str(i): run(v) for i, v in enumerate(values)}}


def page_of(new, old):
    results = [{"name": n, "program": "p", "train": "", "seeds": [0], "done": 1, "planned": 1, "designs": {"d": e}} for n, e in (("new", new), ("old", old))]
    return {what: holds for _, what, holds, _ in table.verdicts(*results)}, table.page(*results)


def check_verdicts():
    new = entry("unshared", [0.88, 0.90])
    checks, text = page_of(new, entry("unshared", [0.88, 0.90]))
    ok(all(checks.values()) and "4 of 4 checks pass" in text, "a recipe like the reference passes on an unshared design")
    for run in new["seeds"].values():
        run["measures"]["purity_unshared"] = 0.85
        run["measures"]["m_kbet"] = 0.95
    checks, _ = page_of(new, entry("unshared", [0.88, 0.90]))
    ok(not checks["purity of unshared types"] and not checks["m-kBET of shared types"], "low purity and worse mixing fail")
    checks, _ = page_of(entry("many", [0.80, 0.95]), entry("many", [0.9]))
    ok(not checks["label transfer"] and not checks["spread of transfer"], "low transfer and a large spread fail")
    checks, _ = page_of(entry("balanced", [0.70]), entry("balanced", [0.74, 0.76]))
    ok(not checks["purity shared not worse"] and checks["m-kBET not worse"] and checks["s not worse"], "on balanced designs each measure counts, in its direction")
    checks, _ = page_of(entry("balanced", [0.74]), entry("balanced", [0.74, 0.76]))
    ok(checks["purity shared not worse"], "within the spread over seeds is not worse")
    broken = entry("unshared", [0.9])
    broken["seeds"]["1"] = {"error": "it failed"}
    checks, text = page_of(broken, entry("unshared", [0.9]))
    ok(not checks["runs end well"] and "it failed" in text, "a run that failed is shown and fails the verdict")


check_purity()
check_against_score()
check_transfer()
check_extremes()
check_designs()
with tempfile.TemporaryDirectory() as scratch:
    check_files(scratch)
with tempfile.TemporaryDirectory() as scratch:
    check_runner(scratch)
check_verdicts()
tap.finish()
