"""designs.py: the designs of the suite. A design is a data file in which it is known which types are in which conditions. It is
made from shared data (COMP_DATA, else ../shared/data) or by `comp simulate`, from fixed seeds: the same file every time.

Half A is for choosing a recipe, half B for looking at the choice once, part C for a change that half B led to.
Each kind of design is in both halves."""
import hashlib
import json
import os
import subprocess
import threading
import zlib

import anndata
import numpy as np
import pandas as pd
import scipy.sparse as sp

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.environ.get("COMP_DATA", os.path.join(ROOT, "..", "shared", "data"))
KANG_CAP = 330  # cells of a type and a condition: keeps a design below 3,000 cells
KANG_FEW = 180  # most designs are smaller: the time of a training grows with the cells up to some 1,800

# ---------------------------------------------------------------------------------------------------------- cells


class Cells:
    """Values, label and condition of some cells."""

    def __init__(self, x, label, condition, genes):
        self.x, self.label, self.condition = x, np.asarray(label).astype(str), np.asarray(condition).astype(str)
        self.genes = np.asarray(genes).astype(str)

    def rows(self, keep):
        return Cells(self.x[keep], self.label[keep], self.condition[keep], self.genes)

    def without(self, *pairs):
        """All cells but those of these (label, condition) pairs."""
        gone = np.zeros(len(self.label), bool)
        for label, condition in pairs:
            hit = (self.label == label) & (self.condition == condition)
            if not hit.any():
                raise ValueError(f"no cells of {label} in {condition}: the design is not what its name says")
            gone |= hit
        return self.rows(~gone)

    def only(self, label, condition):
        """All cells but those of this label in other conditions."""
        return self.without(*((label, c) for c in np.unique(self.condition) if c != condition))

    def sample(self, rng, size):
        """size(label, condition, number) cells of each label in each condition, in the order of the file."""
        keep = []
        for c in np.unique(self.condition):
            for name in np.unique(self.label[self.condition == c]):
                rows = np.flatnonzero((self.label == name) & (self.condition == c))
                keep.append(rng.choice(rows, min(len(rows), int(round(size(name, c, len(rows))))), replace=False))
        return self.rows(np.sort(np.concatenate(keep)))

    def total(self, rng, n, least=5):
        """About n cells, each type and condition by its share, with at least `least` of each."""
        share = n / len(self.label)
        return self.sample(rng, lambda label, condition, number: max(least, share * number))


def read(path, label, condition, drop=()):
    data = anndata.read_h5ad(os.path.join(DATA, path))
    cells = Cells(sp.csr_matrix(data.X), data.obs[label], data.obs[condition], data.var_names)
    return cells.rows(~np.isin(cells.label, drop))


def kang(rng, cap=KANG_CAP):
    data = anndata.read_h5ad(os.path.join(DATA, "kang/kang_ifnb.h5ad"))
    data = data[data.obs["in_paper_set"].astype(bool).values]
    cells = Cells(sp.csr_matrix(data.X), data.obs["cell_type"], data.obs["stim"], data.var_names)
    return cells.sample(rng, lambda label, condition, number: min(cap, number))


def symphony(*batches):
    """Types with too few cells for anything (MK, HSC) are left out."""
    cells = read("pbmc_protocols/symphony_1500x1764.h5ad", "cell_type", "batch", ("MK", "HSC"))
    return cells.rows(np.isin(cells.condition, batches)) if batches else cells


def protocols():
    return read("pbmc_protocols/v2_vs_5p_6500.h5ad", "cell_type", "batch", ("NA", "mk"))


def tcga():
    samples = pd.read_csv(os.path.join(DATA, "tcga_paired/samples.tsv.gz"), sep="\t")
    values = pd.read_csv(os.path.join(DATA, "tcga_paired/expr.tsv.gz"), sep="\t").set_index("sample").loc[samples["sample"]]
    return Cells(values.values.astype(np.float32), samples["tissue"], samples["condition"], values.columns)


def simulated(comp, folder, **options):
    """Cells of `comp simulate`, which writes the columns label and condition."""
    path = os.path.join(folder, f"simulated-{os.getpid()}-{threading.get_ident()}.h5ad")
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    try:
        subprocess.run([comp, "simulate", "-o", path, "--no-truth", "-q", "--threads", "1", *words], check=True)
        data = anndata.read_h5ad(path)
    finally:
        if os.path.exists(path):
            os.remove(path)
    return Cells(sp.csr_matrix(data.X), data.obs["label"], data.obs["condition"], data.var_names)


def skewed(cells, rng, ratio):
    """Every second type has `ratio` times more cells in the first condition, the others in the second."""
    names, first = np.unique(cells.label), np.unique(cells.condition)[0]
    many = {name: (c == first) == (i % 2 == 0) for i, name in enumerate(names) for c in [first]}
    return cells.sample(rng, lambda label, condition, number: number if many[label] == (condition == first) else max(5, number / ratio))


def by_chance(cells, rng, deviation):
    """Of each type in each condition as large a part as chance has it."""
    keep = {(name, c): np.exp(-abs(rng.normal(0, deviation))) for name in np.unique(cells.label) for c in np.unique(cells.condition)}
    return cells.sample(rng, lambda label, condition, number: max(5, number * keep[label, condition]))


def pseudo_batches(cells, rng, number, strength):
    """One condition split at random into batches. Each batch sees a gene's counts by a factor of its own: counts are thinned
    binomially, so that they stay counts, and cells of a type are the same in all batches before."""
    batch = rng.permutation(np.arange(len(cells.label)) % number)
    x = cells.x.tocsr().astype(np.int64)
    parts = []
    for b in range(number):
        factor = np.exp(rng.normal(0, strength, x.shape[1]))
        chance = np.minimum(1, factor / np.quantile(factor, 0.9))
        part = x[batch == b]
        part.data = rng.binomial(part.data, chance[part.indices])
        part.eliminate_zeros()
        parts.append(part)
    order = np.concatenate([np.flatnonzero(batch == b) for b in range(number)])
    back = np.argsort(order)
    return Cells(sp.vstack(parts).tocsr()[back], cells.label, np.char.add("batch", (batch + 1).astype(str)), cells.genes)


# -------------------------------------------------------------------------------------------------------- designs


class Design:
    def __init__(self, name, half, kinds, what, make, large=False):
        self.name, self.half, self.kinds, self.what, self.make, self.large = name, half, kinds.split(), what, make, large


class Maker:
    """What a recipe gets: random numbers of its own, and the simulator."""

    def __init__(self, name, comp, folder):
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        self.simulate = lambda **options: simulated(comp, folder, **options)


def of_one(cells, condition):
    return cells.rows(cells.condition == condition)


DESIGNS = [
    # Half A: for choosing.
    Design("sim_absent", "A", "unshared", "simulated; 2 conditions, type2 only in control",
           lambda m: m.simulate(cells=1200, genes=600, labels=6, absent="type2:treated", seed=1)),
    Design("kang_b_ctrl", "A", "unshared", "Kang; B cells only in CTRL", lambda m: kang(m.rng).only("B", "CTRL")),
    Design("kang_two_out", "A", "unshared", "Kang; CD14 monocytes only in CTRL, NK only in STIM",
           lambda m: kang(m.rng, KANG_FEW).only("CD14 Mono", "CTRL").only("NK", "STIM")),
    Design("kang_500", "A", "balanced small", "Kang; 500 cells", lambda m: kang(m.rng, 10**6).total(m.rng, 500)),
    Design("symphony_two", "A", "balanced", "PBMC; 3' v2 and 5'", lambda m: symphony("3pv2", "5p")),
    Design("sim_balanced", "A", "balanced", "simulated; 2 conditions, 6 types", lambda m: m.simulate(cells=1200, genes=600, labels=6, seed=2)),
    Design("symphony_b_out", "A", "unshared many", "PBMC; 3 batches, B cells missing in 3' v1", lambda m: symphony().without(("B", "3pv1"))),
    Design("kang_all", "A", "balanced", "Kang; all eight types", lambda m: kang(m.rng)),
    Design("kang_skew5", "A", "skewed", "Kang; composition 5:1, to the other side in every second type",
           lambda m: skewed(kang(m.rng), m.rng, 5)),
    Design("tcga_all", "A", "balanced", "TCGA; tumour and matched normal tissue, logged", lambda m: tcga()),
    Design("kang_4_batches", "A", "balanced many", "Kang CTRL in 4 pseudo-batches (gene factors, sd 0.5)",
           lambda m: pseudo_batches(of_one(kang(m.rng, 250), "CTRL"), m.rng, 4, 0.5)),
    Design("symphony_small", "A", "skewed small many", "PBMC; 3 batches, 60 cells of 5'",
           lambda m: symphony().sample(m.rng, lambda label, c, number: max(3, number * 60 / 543) if c == "5p" else number)),
    Design("sim_12", "A", "balanced many", "simulated; 12 conditions, compositions differ a little",
           lambda m: m.simulate(cells=1440, genes=600, labels=5, conditions=12, composition=0.3, effect=0.7, seed=3)),
    # Half B: looked at once, at the end.
    Design("kang_nk_stim", "B", "unshared", "Kang; NK only in STIM", lambda m: kang(m.rng, KANG_FEW).only("NK", "STIM")),
    Design("kang_two_out_2", "B", "unshared", "Kang; CD4 T only in STIM, CD16 monocytes only in CTRL",
           lambda m: kang(m.rng, KANG_FEW).only("CD4 T", "STIM").only("CD16 Mono", "CTRL")),
    Design("kang_skew3", "B", "skewed", "Kang; composition 3:1, to the other side in every second type",
           lambda m: skewed(kang(m.rng), m.rng, 3)),
    Design("kang_300", "B", "balanced small", "Kang; 300 cells", lambda m: kang(m.rng, 10**6).total(m.rng, 300)),
    Design("kang_size10", "B", "skewed", "Kang; ten times more CTRL than STIM cells",
           lambda m: kang(m.rng).sample(m.rng, lambda label, c, number: max(5, number / 10) if c == "STIM" else number)),
    Design("kang_3_batches_out", "B", "unshared many", "Kang STIM in 3 pseudo-batches (sd 0.5), CD16 monocytes only in batch 1",
           lambda m: pseudo_batches(of_one(kang(m.rng, 250), "STIM"), m.rng, 3, 0.5).only("CD16 Mono", "batch1")),
    Design("symphony_all", "B", "balanced many", "PBMC; 3 batches", lambda m: symphony()),
    Design("symphony_t8_out", "B", "unshared", "PBMC; 3' v2 and 5', CD8 T cells only in 3' v2",
           lambda m: symphony("3pv2", "5p").only("T_CD8", "3pv2")),
    Design("protocols", "B", "balanced", "PBMC; 3' v2 and 5', 6,500 genes", lambda m: protocols()),
    Design("tcga_two_out", "B", "unshared", "TCGA; thyroid without tumours, liver without normal tissue",
           lambda m: tcga().without(("THCA", "tumor"), ("LIHC", "normal"))),
    Design("sim_5", "B", "balanced many", "simulated; 5 conditions, 6 types",
           lambda m: m.simulate(cells=1250, genes=600, labels=6, conditions=5, seed=4)),
    Design("sim_skew", "B", "skewed", "simulated; compositions differ (sd of log shares 1), 2:1 in size",
           lambda m: m.simulate(cells=1200, genes=600, labels=6, composition=1, imbalance=0.5, seed=5)),
    Design("sim_30", "B", "balanced many", "simulated; 30 conditions of 60 cells",
           lambda m: m.simulate(cells=1800, genes=600, labels=4, conditions=30, composition=0.2, effect=0.7, seed=6)),
    Design("sim_4_absent", "B", "unshared many", "simulated; 4 conditions, type3 only in control",
           lambda m: m.simulate(cells=1400, genes=600, labels=6, conditions=4, seed=7).only("type3", "control")),
    # Part C: made after half B had been looked at, for a change that half B led to. Looked at once.
    Design("kang_two_out_3", "C", "unshared", "Kang; dendritic cells only in STIM, CD4 T only in CTRL",
           lambda m: kang(m.rng, KANG_FEW).only("DC", "STIM").only("CD4 T", "CTRL")),
    Design("kang_random", "C", "skewed", "Kang; composition by chance (sd of log shares 1 in each condition)",
           lambda m: by_chance(kang(m.rng), m.rng, 1.0)),
    Design("symphony_random", "C", "skewed many", "PBMC; 3 batches, composition by chance (sd of log shares 0.7)",
           lambda m: by_chance(symphony(), m.rng, 0.7)),
    Design("tcga_skew4", "C", "skewed", "TCGA; composition 4:1, to the other side in every second tissue", lambda m: skewed(tcga(), m.rng, 4)),
    Design("sim_skew_3", "C", "skewed many", "simulated; 3 conditions, compositions differ (sd of log shares 1)",
           lambda m: m.simulate(cells=1500, genes=600, labels=6, conditions=3, composition=1, seed=12)),
    Design("sim_both_absent", "C", "unshared", "simulated; type1 only in control, type4 only in treated",
           lambda m: m.simulate(cells=1200, genes=600, labels=6, seed=13).only("type1", "control").only("type4", "treated")),
    # Only with --large.
    Design("sim_50000", "B", "unshared many", "simulated; 50,000 cells, 3 conditions, type2 only in control and treated1",
           lambda m: m.simulate(cells=50000, genes=1000, labels=8, conditions=3, absent="type2:treated2", seed=8), large=True),
]


# ---------------------------------------------------------------------------------------------------------- files


def digest_of(cells):
    x = cells.x if sp.issparse(cells.x) else np.ascontiguousarray(cells.x)
    out = hashlib.sha256()
    for part in ((x.data, x.indices, x.indptr) if sp.issparse(x) else (x,)):
        out.update(np.ascontiguousarray(part))
    for names in (cells.label, cells.condition, cells.genes):
        out.update("\n".join(names).encode())
    return out.hexdigest()[:12]


def recipe():
    """Changes when a recipe may have changed: then files are made again."""
    with open(os.path.abspath(__file__), "rb") as file:
        return hashlib.sha256(file.read() + DATA.encode()).hexdigest()[:12]


RECIPE = recipe()


def write(design, comp, folder):
    """Makes the file of a design if it is not there. Gives its path and what is known of it."""
    os.makedirs(folder, exist_ok=True)
    path, note = os.path.join(folder, design.name + ".h5ad"), os.path.join(folder, design.name + ".json")
    if os.path.exists(path) and os.path.exists(note):
        with open(note) as file:
            known = json.load(file)
        if known["recipe"] == RECIPE:
            return path, known
    cells = design.make(Maker(design.name, comp, folder))
    if sp.issparse(cells.x):
        cells.x = cells.x.tocsr().astype(np.float32)
        cells.x.sort_indices()
    obs = pd.DataFrame({"condition": pd.Categorical(cells.condition), "label": pd.Categorical(cells.label)},
                       index=[f"cell{i}" for i in range(len(cells.label))])
    table = pd.crosstab(cells.label, cells.condition)
    known = {"recipe": RECIPE, "digest": digest_of(cells), "cells": len(obs), "genes": len(cells.genes),
             "conditions": list(table.columns), "types": list(table.index), "counts": table.values.tolist()}
    temporary = f"{path}.{os.getpid()}"
    anndata.AnnData(cells.x, obs=obs, var=pd.DataFrame(index=cells.genes), dtype=np.float32).write_h5ad(temporary, compression="gzip")
    os.replace(temporary, path)
    with open(f"{note}.{os.getpid()}", "w") as file:
        json.dump(known, file)
    os.replace(f"{note}.{os.getpid()}", note)
    return path, known
