#!/usr/bin/env python3
"""corpus.py FOLDER [DATA.h5ad]: small files for the campaign, one of each encoding that anndata writes, and 10x .h5 of both versions. DATA gets
a raw part, layers, obsm, obsp and uns.

Needs anndata (0.8 or later) and h5py. The same call gives the same files."""
import sys
import warnings
from pathlib import Path

import anndata
import h5py
import numpy as np
import pandas as pd
import scipy.sparse as sp

warnings.filterwarnings("ignore")
CELLS, GENES = 24, 9


def tables(rng):
    obs = pd.DataFrame(index=[f"cell{i}" for i in range(CELLS)])
    obs["condition"] = pd.Categorical(rng.choice(["control", "treated"], CELLS))
    obs["grade"] = pd.Categorical(rng.choice(["low", "mid", "high"], CELLS), categories=["low", "mid", "high"], ordered=True)
    obs["depth"] = rng.integers(100, 200, CELLS)
    obs["score"] = rng.normal(size=CELLS).astype("f4")
    obs["passed"] = rng.random(CELLS) < 0.5
    obs["visits"] = pd.array([None if i % 5 == 0 else i for i in range(CELLS)], dtype="Int64")
    obs["seen"] = pd.array([None if i % 4 == 0 else i % 2 == 0 for i in range(CELLS)], dtype="boolean")
    obs["name"] = [f"text é {i}" for i in range(CELLS)]
    var = pd.DataFrame(index=[f"gene{i}" for i in range(GENES)])
    var["symbol"] = [f"S{i}" for i in range(GENES)]
    return obs, var


def data(rng, make):
    obs, var = tables(rng)
    counts = rng.poisson(0.7, (CELLS, GENES)).astype("f4")
    d = anndata.AnnData(make(counts), obs=obs, var=var)
    d.raw = d
    d.layers["counts"] = sp.csr_matrix(counts)
    d.layers["dense"] = counts * 2
    d.obsm["X_pca"] = rng.normal(size=(CELLS, 3))
    d.obsm["table"] = pd.DataFrame({"a": np.arange(CELLS)}, index=obs.index)
    d.varm["loadings"] = rng.normal(size=(GENES, 3))
    d.obsp["distances"] = sp.csr_matrix((CELLS, CELLS))
    d.uns["title"] = "a text"
    d.uns["colors"] = np.array(["#fff", "#000"], dtype=object)
    d.uns["number"] = 7
    d.uns["nested"] = {"deep": {"values": np.arange(5), "words": np.array(["x", "yy"], dtype=object)}}
    d.uns["ranks"] = np.array([("g1", 1.5), ("g2", 2.5)], dtype=[("names", "S8"), ("scores", "f4")])
    return d


def tiny(rng, make):
    """One of each structure and not more: read in a fifth of the time, so that more mutations of it can be tried."""
    obs = pd.DataFrame(index=[f"cell{i}" for i in range(6)])
    obs["condition"] = pd.Categorical(["control", "treated"] * 3)
    d = anndata.AnnData(make(rng.poisson(0.7, (6, 4)).astype("f4")), obs=obs, var=pd.DataFrame(index=[f"gene{i}" for i in range(4)]))
    d.uns["title"] = "a text"
    return d


def newest(path, of):
    """The same objects in HDF5's newest layout."""
    with h5py.File(of) as a, h5py.File(path, "w", libver="latest") as b:
        for key in a:
            a.copy(key, b)
        for key, value in a.attrs.items():
            b.attrs[key] = value


def tenx(path, version, rng):
    m = sp.csc_matrix(rng.poisson(0.7, (GENES, CELLS)).astype("i4"))
    names = np.array([f"S{i}".encode() for i in range(GENES)])
    with h5py.File(path, "w") as f:
        g = f.create_group("matrix" if version == 3 else "GRCh38")
        kw = {"compression": "gzip", "chunks": (64,), "maxshape": (None,)}
        g.create_dataset("barcodes", data=np.array([f"AC{i}-1".encode() for i in range(CELLS)]), **kw)
        for key in ("data", "indices", "indptr"):
            g.create_dataset(key, data=getattr(m, key), **kw)
        g.create_dataset("shape", data=np.array(m.shape, dtype="i4"))
        if version == 2:
            g["genes"], g["gene_names"] = names, names
            return
        features = g.create_group("features")
        features["id"], features["name"] = names, names
        features["feature_type"] = np.array([b"Gene Expression"] * GENES)
        features["genome"] = np.array([b"GRCh38"] * GENES)
        f.attrs["filetype"] = "matrix"


def old_categories(path):
    """Categories in the layout of anndata 0.7: codes that refer to their categories."""
    with h5py.File(path, "r+") as f:
        for name in [key for key in f["obs"] if isinstance(f["obs"][key], h5py.Group) and "codes" in f["obs"][key]]:
            g = f["obs"][name]
            codes, categories = g["codes"][:], g["categories"][:]
            del f["obs"][name]
            f["obs"].require_group("__categories")[name] = categories
            f["obs"][name] = codes
            f["obs"][name].attrs["categories"] = f["obs/__categories"][name].ref


def records(path, rng, cells=CELLS, genes=GENES):
    """The layout before anndata 0.7: tables as arrays of records."""
    with h5py.File(path, "w") as f:
        f["X"] = rng.poisson(0.7, (cells, genes)).astype("f4")
        obs = [(f"cell{i}", i % 2, i * 0.5) for i in range(cells)]
        f["obs"] = np.array(obs, dtype=[("index", "S8"), ("condition", "i1"), ("score", "f4")])
        f["var"] = np.array([(f"gene{i}",) for i in range(genes)], dtype=[("index", "S8")])
        f["uns/condition_categories"] = np.array(["control", "treated"], dtype=h5py.string_dtype())
        f["obsm"] = np.zeros(cells, dtype=[("X_pca", "f4", (2,))])


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    make = {"csr": sp.csr_matrix, "csc": sp.csc_matrix, "dense": np.asarray}
    for name, f in make.items():
        data(np.random.default_rng(1), f).write_h5ad(folder / f"{name}.h5ad")
    for name in ("gzip", "lzf"):
        data(np.random.default_rng(2), sp.csr_matrix).write_h5ad(folder / f"{name}.h5ad", compression=name)
    old = folder / "categories07.h5ad"
    data(np.random.default_rng(3), np.asarray).write_h5ad(old)
    old_categories(old)
    records(folder / "records.h5ad", np.random.default_rng(4))
    tenx(folder / "tenx3.h5", 3, np.random.default_rng(5))
    tenx(folder / "tenx2.h5", 2, np.random.default_rng(6))
    newest(folder / "latest.h5ad", folder / "csr.h5ad")
    for name, f in make.items():
        tiny(np.random.default_rng(8), f).write_h5ad(folder / f"tiny-{name}.h5ad")
    for name in ("gzip", "lzf"):
        tiny(np.random.default_rng(9), sp.csr_matrix).write_h5ad(folder / f"tiny-{name}.h5ad", compression=name)
    tiny(np.random.default_rng(10), np.asarray).write_h5ad(folder / "tiny-categories07.h5ad")
    old_categories(folder / "tiny-categories07.h5ad")
    records(folder / "tiny-records.h5ad", np.random.default_rng(11), 6, 4)
    newest(folder / "tiny-latest.h5ad", folder / "tiny-csr.h5ad")


def enrich(path):
    """What a user's file holds beside what comp looks at, and must not lose."""
    d, rng = anndata.read_h5ad(path), np.random.default_rng(7)
    d.raw = d.copy()
    d.layers["twice"] = d.X * 2
    d.obsm["X_other"] = rng.normal(size=(d.n_obs, 3))
    d.obsp["distances"] = sp.csr_matrix(np.eye(d.n_obs))
    d.varm["loadings"] = rng.normal(size=(d.n_vars, 2))
    d.uns["colors"] = np.array(["#fff", "#000"], dtype=object)
    d.uns["nested"] = {"number": 7, "words": np.array(["x", "yy"], dtype=object)}
    d.write_h5ad(path)


main(Path(sys.argv[1]))
if len(sys.argv) > 2:
    enrich(Path(sys.argv[2]))
