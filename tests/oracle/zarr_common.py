"""What the oracles of zarr stores share: stores written by AnnData (version 2) and from the specification (version 3), and stores to damage."""
import json
import shutil
import subprocess
import warnings

import anndata
import numpy as np
import pandas as pd
import scipy.sparse as sp

import zarr3
from h5ad_common import BUILD, TMP, run, sample

COMP = BUILD / "comp"


def write_v2(p, a, **options):
    shutil.rmtree(p, ignore_errors=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a.write_zarr(p, **options)
        return anndata.read_zarr(p)


def frame_v3(root, name, df, **options):
    g = root.group(name, {"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index", "column-order": list(df.columns)})
    g.array("_index", np.array(df.index, object), attributes={"encoding-type": "string-array", "encoding-version": "0.2.0"}, **options)
    for c in df.columns:
        s = df[c]
        if isinstance(s.dtype, pd.CategoricalDtype):
            h = g.group(c, {"encoding-type": "categorical", "encoding-version": "0.2.0", "ordered": bool(s.cat.ordered)})
            values = s.cat.categories
            h.array("categories", np.array(values, object) if values.dtype == object else values.to_numpy())
            h.array("codes", s.cat.codes.to_numpy(), **options)
        elif str(s.dtype) in ("Int64", "boolean"):
            kind = "nullable-integer" if str(s.dtype) == "Int64" else "nullable-boolean"
            h = g.group(c, {"encoding-type": kind, "encoding-version": "0.1.0"})
            h.array("mask", s.isna().to_numpy(), **options)
            h.array("values", s.fillna(1 if kind[9] == "i" else True).to_numpy(dtype="i8" if kind[9] == "i" else bool), **options)
        else:
            g.array(c, np.array(s, object) if s.dtype == object else s.to_numpy(), attributes={"encoding-type": "array"}, **options)


def matrix_v3(root, name, x, **options):
    if not sp.issparse(x):
        chunks = options.pop("dense", (10, 7))
        shards = (chunks[0] * 2, chunks[1] * 3) if options.pop("shards", None) else None
        options.pop("chunks", None)
        root.array(name, x, chunks, shards=shards, attributes={"encoding-type": "array", "encoding-version": "0.2.0"}, **options)
        return
    options.pop("dense", None)
    g = root.group(name, {"encoding-type": x.format + "_matrix", "encoding-version": "0.1.0", "shape": list(x.shape)})
    for part in ("data", "indices", "indptr"):
        g.array(part, getattr(x, part), **options)


def write_v3(p, a, **options):
    shutil.rmtree(p, ignore_errors=True)
    root = zarr3.Group(p, {"encoding-type": "anndata", "encoding-version": "0.1.0"})
    matrix_v3(root, "X", a.X, **dict(options))
    frame_v3(root, "obs", a.obs, **options)
    frame_v3(root, "var", a.var, **options)
    for slot, entries in (("layers", a.layers), ("obsm", {k: v for k, v in a.obsm.items() if not isinstance(v, pd.DataFrame)})):
        root.group(slot, {"encoding-type": "dict", "encoding-version": "0.1.0"})
        for k, v in entries.items():
            matrix_v3(zarr3.Group(p / slot), k, v, **dict(options))
    return root


def refused(*needles):
    r = run(TMP / "bad.zarr", ok=False)
    assert r.returncode == 1, r.stdout[:200]
    for needle in needles:
        assert needle in r.stderr, r.stderr
    assert "bad.zarr" in r.stderr, r.stderr


def edit(path, **changes):
    p = TMP / "bad.zarr" / path
    m = json.loads(p.read_text())
    m.update(changes)
    p.write_text(json.dumps(m))


def bad(version=2, **options):
    a = sample(form="dense")
    if version == 2:
        write_v2(TMP / "bad.zarr", a)
    else:
        write_v3(TMP / "bad.zarr", a, **{"chunks": (10,), **options})
    return TMP / "bad.zarr"


def comp(*args, ok=True):
    r = subprocess.run([str(COMP), *map(str, args)], capture_output=True, text=True)
    if ok:
        assert r.returncode == 0, r.stderr
    return r
