#!/usr/bin/python3
"""mapping.py: new samples in a trained model. A condition is left out of the training and mapped (`comp map`), and one cell type of it
is in no reference. Prints one table. README.md beside it says how to use it."""
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import filecmp
import json
import shutil
import sys

import anndata
import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "suite"))

import designs
import measures
import runner

PREP = ["--normalize-total", "10000", "--log1p"]
MOST_GENES = 2000


class Split:
    """Cells, the condition that is the query, and the type that the reference lacks."""

    def __init__(self, name, make, query, held, what):
        self.name, self.make, self.query, self.held, self.what = name, make, query, held, what


def simulated(seed):
    return lambda comp, folder: designs.simulated(comp, folder, cells=2400, genes=600, labels=6, conditions=3, composition=0.5, seed=seed)


def kang(comp, folder):
    """Control cells as two batches, so that the model has something to learn; all cells of the paper's set."""
    rng = np.random.default_rng(0)
    cells = designs.kang(rng, cap=10**9)
    cells.condition = np.where(cells.condition == "CTRL", np.where(rng.random(len(cells.condition)) < 0.5, "CTRL1", "CTRL2"), cells.condition)
    return cells


def kang_donor(comp, folder):
    """The file names no donors. Three parts of the control cells whose counts are thinned by factors of each gene are in their place."""
    rng = np.random.default_rng(1)
    cells = designs.kang(rng, cap=10**9)
    return designs.pseudo_batches(cells.rows(cells.condition == "CTRL"), rng, 3, 0.5)


def symphony(comp, folder):
    return designs.symphony()


SPLITS = [
    Split("sim1", simulated(1), "treated2", "type2", "simulated, 3 conditions, compositions that differ"),
    Split("sim2", simulated(2), "treated2", "type3", "the same, another seed"),
    Split("sim3", simulated(3), "treated1", "type5", "the same, another seed, the middle condition"),
    Split("kang_stim", kang, "STIM", "B", "Kang: stimulated cells, onto control cells"),
    Split("kang_part", kang_donor, "batch3", "CD14 Mono", "Kang: the third part of the control cells"),
    Split("pbmc_3pv1", symphony, "3pv1", "B", "PBMC: 3pv1 onto 3pv2 and 5p"),
    Split("pbmc_5p", symphony, "5p", "Mono_CD14", "PBMC: 5p onto 3pv1 and 3pv2"),
]


def write(cells, path):
    data = anndata.AnnData(cells.x.astype(np.float32))
    data.obs_names = [f"cell{i}" for i in range(len(cells.label))]
    data.var_names = cells.genes
    data.obs["condition"], data.obs["label"] = cells.condition, cells.label
    data.write_h5ad(path)


def by_neighbors(points, label, others):
    return KNeighborsClassifier(measures.PURITY_K, algorithm="brute").fit(points, label).predict(others)


class Trial:
    """One split in a folder of its own: trainings, mappings, and what is measured."""

    def __init__(self, comp, folder, split, train):
        self.comp, self.folder, self.split, self.train = comp, folder, split, train
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        cells = split.make(comp, folder)
        new = cells.condition == split.query
        known = cells.rows(new | (cells.label != split.held))  # the held-out type is in the query only
        new = known.condition == split.query
        if not new.any() or new.all() or not (known.label[new] == split.held).any():
            sys.exit(f"mapping: {split.name}: the design is not what its name says")
        for name, part in (("reference", known.rows(~new)), ("query", known.rows(new)), ("joint", known)):
            write(part, self.path(f"{name}_counts.h5ad"))
        self.run("prep", "-i", "reference_counts.h5ad", "-o", "reference.h5ad", *PREP, *self.genes(known))
        for name in ("query", "joint"):
            self.run("prep", "-i", f"{name}_counts.h5ad", "-o", f"{name}.h5ad", *PREP)
        self.label, self.role = known.label[new], np.where(new, "query", "reference")
        self.known = self.label != split.held
        self.all_labels, self.reference_label = known.label, known.label[~new]

    @staticmethod
    def genes(cells):
        return ["--hvg", f"seurat:{MOST_GENES}"] if cells.x.shape[1] > MOST_GENES else []

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words):
        seconds, _ = runner.program([self.comp, *words, "--threads", "1", "-q"], self.folder)
        return seconds

    def values(self, name):
        data = anndata.read_h5ad(self.path(name))
        return data.X if isinstance(data.X, np.ndarray) else data.X.toarray()

    def mixing(self, reference, query):
        """m-kBET of query against reference over the types that both have."""
        points = np.empty((len(self.role), query.shape[1]))
        points[self.role == "reference"], points[self.role == "query"] = reference, query
        names = [n for n in np.unique(self.reference_label) if min(np.sum(self.reference_label == n), np.sum(self.label == n)) >= measures.MISSING]
        rows = np.isin(self.all_labels, names)
        return measures.mixing_within(points[rows], self.all_labels[rows], self.role[rows], names)

    def by_chance(self, reference, query, trials=100):
        """m-kBET that 95 % of random mixtures do not exceed: who is query is drawn at random within each type."""
        points = np.concatenate([reference, query])
        label = np.concatenate([self.reference_label, self.label])
        role = np.array(["reference"] * len(reference) + ["query"] * len(query))
        rng, parts = np.random.default_rng(0), []
        for name in np.unique(self.reference_label):
            rows = label == name
            if min(np.sum(self.reference_label == name), np.sum(self.label == name)) >= measures.MISSING and rows.sum() >= measures.MIN_LABEL:
                parts.append((measures.neighbors(points[rows], min(measures.MIXING_K, rows.sum() // 4))[1], role[rows]))
        return float(np.quantile([np.mean([measures.kbet(index, rng.permutation(own)) for index, own in parts]) for _ in range(trials)], 0.95))

    def judged(self, labels, novelty=None):
        found = {"labels": float((labels[self.known] == self.label[self.known]).mean())}
        if novelty is not None:
            found["unknown"] = float(roc_auc_score(~self.known, novelty))
        return found

    def mapped(self, method, reference):
        out = f"{method}.h5ad"
        seconds = self.run("map", "-i", "query.h5ad", "-m", "model.comp", "-r", "reference.h5ad", "-o", out, "--label", "label", "--method", method,
                           "--save-model", f"{method}.comp")
        data = anndata.read_h5ad(self.path(out))
        found = self.judged(data.obs["label_predicted"].astype(str).values, data.obs["comp_novelty"].values)
        found["m_kbet"] = self.mixing(reference, data.obsm["X_comp"])
        found["by_chance"] = self.by_chance(reference, data.obsm["X_comp"])
        found["seconds"] = seconds
        return found

    def pca(self):
        """Nearest neighbours on principal components of the reference."""
        genes = anndata.read_h5ad(self.path("reference.h5ad"), backed="r").var_names
        query = anndata.read_h5ad(self.path("query.h5ad"))[:, genes].X.toarray()
        reference = self.values("reference.h5ad")
        axes = PCA(30, random_state=0).fit(reference)
        points, others = axes.transform(reference), axes.transform(query)
        return dict(self.judged(by_neighbors(points, self.reference_label, others)), m_kbet=self.mixing(points, others))

    def joint(self):
        """A model that was trained on both, with the genes of the reference's."""
        genes = anndata.read_h5ad(self.path("reference.h5ad"), backed="r").var_names
        anndata.read_h5ad(self.path("joint.h5ad"))[:, genes].copy().write_h5ad(self.path("joint.h5ad"))
        seconds = self.run("train", "-i", "joint.h5ad", "-o", "joint.comp", "-c", "condition", *self.train)
        self.run("embed", "-i", "joint.h5ad", "-m", "joint.comp", "-o", "joint.h5ad")
        z = anndata.read_h5ad(self.path("joint.h5ad")).obsm["X_comp"]
        return {"m_kbet": self.mixing(z[self.role == "reference"], z[self.role == "query"]), "seconds": seconds}

    def embedded(self, model, name):
        self.run("embed", "-i", "reference.h5ad", "-m", model, "-o", name)
        return anndata.read_h5ad(self.path(name)).obsm["X_comp"]

    def measure(self):
        seconds = self.run("train", "-i", "reference.h5ad", "-o", "model.comp", "-c", "condition", *self.train)
        for name in ("model.comp", "reference.h5ad"):
            shutil.copy(self.path(name), self.path(f"{name}.before"))
        reference = self.embedded("model.comp", "z.h5ad")
        found = {"what": self.split.what, "held": self.split.held, "reference": int(np.sum(self.role == "reference")), "query": len(self.label),
                 "seconds": seconds, "pca": self.pca(), "joint": self.joint()}
        for method in ("fit", "shift"):
            found[method] = self.mapped(method, reference)
        same = all(filecmp.cmp(self.path(name), self.path(f"{name}.before"), shallow=False) for name in ("model.comp", "reference.h5ad"))
        found["unchanged"] = same and np.array_equal(reference, self.embedded("fit.comp", "again.h5ad"))
        return found


def row(name, r):
    number = lambda value: f"{value:.3f}".lstrip("0")
    cells = [f"{name}, {r['held']} held out", r["query"], r["reference"]]
    cells += [" / ".join(number(r[m]["labels"]) for m in ("fit", "shift", "pca")), " / ".join(number(r[m]["unknown"]) for m in ("fit", "shift"))]
    cells += [" / ".join(number(r[m]["m_kbet"]) for m in ("fit", "shift", "pca")), number(r["joint"]["m_kbet"]), number(r["fit"]["by_chance"])]
    cells += [f"{r['fit']['seconds']:.1f}", "yes" if r["unchanged"] else "NO"]
    return "| " + " | ".join(str(c) for c in cells) + " |"


def arguments():
    parser = argparse.ArgumentParser(description="maps a condition that the model was not trained on, with a type that the reference lacks")
    parser.add_argument("--comp", default=os.path.join(designs.ROOT, "build", "comp"), help="the program to try (build/comp)")
    parser.add_argument("--train", default="", metavar="OPTIONS", help="further options of comp train, as one word: \"--seed 1\"")
    parser.add_argument("--splits", default="all", help="names, with commas: " + ", ".join(s.name for s in SPLITS))
    parser.add_argument("--dir", default=os.path.join(designs.ROOT, "build", "mapping"), help="data, models and mapping.json (build/mapping)")
    return parser.parse_args()


def main():
    options = arguments()
    names = [s.name for s in SPLITS] if options.splits == "all" else options.splits.split(",")
    picked = [s for s in SPLITS if s.name in names]
    if len(picked) != len(names):
        sys.exit(f"mapping: --splits: there are {', '.join(s.name for s in SPLITS)}")
    if not os.path.exists(options.comp):
        sys.exit(f"mapping: {options.comp} is not there: build it (./dev build), or name another one with --comp")
    results = {}
    print("| | query | reference | labels right: fit / shift / PCA | AUROC of unknown: fit / shift | m-kBET: fit / shift / PCA | m-kBET: joint | m-kBET by chance, at most (95 %) | "
          "CPU s of fit | reference unchanged |\n|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for split in picked:
        trial = Trial(os.path.abspath(options.comp), os.path.join(os.path.abspath(options.dir), split.name), split, options.train.split())
        results[split.name] = trial.measure()
        print(row(split.name, results[split.name]), flush=True)
    with open(os.path.join(options.dir, "mapping.json"), "w") as file:
        json.dump(results, file, indent=1)
    sys.exit(0 if all(r["unchanged"] for r in results.values()) else 1)


if __name__ == "__main__":
    main()
