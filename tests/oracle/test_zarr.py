"""Compares reading of zarr stores with zarr-python and AnnData (version 2) and with a writer made from the specification (version 3). Speaks TAP."""
import itertools
import json
import os
import shutil
import subprocess
import sys
import warnings
import zipfile

import anndata
import h5py
import numcodecs
import numpy as np
import pandas as pd
import scipy.sparse as sp
import zarr

sys.path.insert(0, os.path.dirname(__file__))
import zarr3  # noqa: E402
from h5ad_common import BUILD, DATA, TMP, Read, dense, each, main, read, run, same, same_matrix, sample, test  # noqa: E402


def write_v2(p, a, **options):
    shutil.rmtree(p, ignore_errors=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a.write_zarr(p, **options)
        return anndata.read_zarr(p)


# ---- version 2, by zarr-python

DTYPES = ["b1", "i1", "u1", "<i2", ">i2", "<u2", "<i4", ">i4", "<u4", "<i8", "<u8", ">u8", "<f2", "<f4", ">f4", "<f8", ">f8"]
COMPRESSORS = {"none": None, "zlib": numcodecs.Zlib(3), "gzip": numcodecs.GZip(5), "zstd": numcodecs.Zstd(1),
               **{f"blosc {c} {s}": numcodecs.Blosc(c, 5, s) for c in ("lz4", "zstd", "blosclz", "zlib", "lz4hc") for s in (0, 1, 2)}}
CHUNKS = [((37, 23), "C", "."), ((10, 7), "C", "."), ((5, 23), "F", "."), ((64, 64), "C", "/"), ((1, 23), "C", "/"), ((8, 5), "F", "/")]


def values_of(dtype):
    x = dense(sample(rich=False).X)
    return (x > 0) if dtype == "b1" else (x % 100).astype(dtype)


@each("compressor", COMPRESSORS)
def numbers_of_version_2(name):
    """Every dtype by every chunking: 102 layers in one store; with 19 compressors, 1938 combinations."""
    p = TMP / "n.zarr"
    write_v2(p, sample(form="dense", rich=False))
    layers = zarr.open(str(p), mode="r+")["layers"]
    want = {}
    for dtype, (chunks, order, separator) in itertools.product(DTYPES, CHUNKS):
        key = f"{dtype.strip('<>')}{'be' if dtype[0] == '>' else ''}-{chunks[0]}x{chunks[1]}{order}{'n' if separator == '/' else ''}"
        want[key] = values_of(dtype)
        layers.create_dataset(key, data=want[key], dtype=dtype, chunks=chunks, order=order, compressor=COMPRESSORS[name],
                              dimension_separator=separator, overwrite=True)
    got = read(p).matrices
    assert len(got) == len(want) + 1
    for key, x in want.items():
        same_matrix(got["layers/" + key], x)


@each("fill", [0, 3, 2.5, np.nan])
def chunks_that_were_never_written(fill):
    p = TMP / "f.zarr"
    write_v2(p, sample(form="dense", rich=False))
    z = zarr.open(str(p), mode="r+")["obsm"].create_dataset("E", shape=(37, 11), chunks=(10, 4), dtype="f4", fill_value=fill)
    z[12:18, 5:7] = 1
    same_matrix(read(p).matrices["obsm/E"], z[:])


@each("form", ["csr", "csc", "dense"])
def everything_that_anndata_writes(form):
    a = sample(form=form)
    a.raw = a[:, :9].copy()
    b = write_v2(TMP / "a.zarr", a, chunks=(11, 23) if form == "dense" else None)
    got = read(TMP / "a.zarr")
    same(got, b)
    same(read(TMP / "a.zarr", "--raw"), b, raw=True)
    same_matrix(read(TMP / "a.zarr", "--layer", "scaled").matrices["X"], b.layers["scaled"])
    for threads in (1, 3):
        assert run("--threads", threads, TMP / "a.zarr").stdout == run(TMP / "a.zarr").stdout
    if form != "csc":
        for step in (1, 10, 1000):
            same_matrix(read(TMP / "a.zarr", "--rows", step).matrices["X"], b.X)


@each("index", ["u1", "i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", ">i4", ">u2"])
def index_types(dtype):
    for form in ("csr", "csc"):
        a = sample(form=form, rich=False)
        p = TMP / "i.zarr"
        write_v2(p, a)
        x = zarr.open(str(p), mode="r+")["X"]
        for part in ("indices", "indptr"):
            v = x[part][:]
            wide = dtype if v.max() <= np.iinfo(np.dtype(dtype)).max else "<u2"
            x.create_dataset(part, data=v.astype(wide), chunks=(17,), overwrite=True)
        same_matrix(read(p).matrices["X"], a.X.tocsr())


@test
def kinds_of_text():
    p = TMP / "t.zarr"
    a = sample(rich=False)
    write_v2(p, a)
    obs = zarr.open(str(p), mode="r+")["obs"]
    texts = ["", "ä", "日本", "a b"] + [f"row {i}" for i in range(33)]
    obs.create_dataset("fixed", data=np.array(texts), chunks=(10,))
    obs.create_dataset("big", data=np.array(texts).astype(">U9"), chunks=(10,), dtype=">U9")
    obs.create_dataset("ascii", data=np.array([f"r{i}" for i in range(37)], "S5"))
    obs.create_dataset("vlen", data=np.array(texts, object), dtype=str, chunks=(9,), compressor=numcodecs.GZip(1))
    obs.create_dataset("zlib", data=np.array(texts, object), dtype=str, chunks=(37,), compressor=numcodecs.Zlib(1))
    obs.create_dataset("empty", shape=(37,), dtype=str, chunks=(9,))
    obs.attrs["column-order"] = ["fixed", "big", "ascii", "vlen", "zlib", "empty"]
    columns = read(p).columns
    for name in ("fixed", "big", "vlen", "zlib"):
        assert columns["obs", name] == ("string", [], texts), columns["obs", name]
    assert columns["obs", "ascii"][2] == [f"r{i}" for i in range(37)]
    assert columns["obs", "empty"][2] == [""] * 37


@test
def zip_files():
    a = sample()
    b = write_v2(TMP / "z.zarr", a)
    text = run(TMP / "z.zarr").stdout
    for method in (0, 8):
        import zipfile
        store = zarr.ZipStore(str(TMP / f"z{method}.zip"), mode="w", compression=zipfile.ZIP_DEFLATED if method else zipfile.ZIP_STORED)
        zarr.copy_store(zarr.DirectoryStore(str(TMP / "z.zarr")), store)
        store.close()
        same(read(TMP / f"z{method}.zip"), b)
        assert run(TMP / f"z{method}.zip").stdout == text
    subprocess.run([sys.executable, "-m", "zipfile", "-c", str(TMP / "folder.zip"), "z.zarr"], cwd=TMP, check=True)
    assert run(TMP / "folder.zip").stdout == text


@test
def consolidated_metadata_alone():
    p = TMP / "c.zarr"
    b = write_v2(p, sample())
    zarr.consolidate_metadata(str(p))
    same(read(p), b)
    for name in (".zgroup", ".zarray", ".zattrs"):
        for f in list(p.rglob(name)):
            f.unlink()
    same(read(p), b)


@test
def old_consolidated_metadata_does_not_bring_back_what_was_deleted():
    p = TMP / "c.zarr"
    write_v2(p, sample())
    zarr.consolidate_metadata(str(p))
    shutil.rmtree(p / "layers" / "scaled")
    assert "layers/scaled" not in read(p).matrices


# ---- version 3, by the specification

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


LAYOUTS = {
    "plain": {},
    "zstd": {"codecs": ["zstd"], "chunks": (10,)},
    "gzip, checksum": {"codecs": ["gzip", "crc32c"], "chunks": (16,)},
    "checksum, zstd": {"codecs": ["crc32c", "zstd"], "chunks": (16,)},
    "zlib": {"codecs": ["zlib"], "chunks": (100,)},
    "two compressors": {"codecs": ["gzip", "zstd"], "chunks": (12,)},
    "big endian": {"endian": "big", "codecs": ["zstd"], "chunks": (9,)},
    "keys of version 2": {"keys": ("v2", "."), "chunks": (10,)},
    "keys of version 2, nested": {"keys": ("v2", "/"), "chunks": (10,)},
    "keys with points": {"keys": ("default", "."), "chunks": (10,)},
    "keys by default": {"keys": ("default", None), "chunks": (10,)},
    "shards": {"chunks": (5,), "shards": (20,), "codecs": ["zstd"]},
    "shards, index first": {"chunks": (5,), "shards": (20,), "codecs": ["zstd"], "index_location": "start"},
    "shards, no checksum": {"chunks": (8,), "shards": (64,), "index_crc": False},
    "shards, big endian": {"chunks": (8,), "shards": (64,), "endian": "big", "codecs": ["gzip", "crc32c"]},
    "one shard": {"chunks": (7,), "shards": (7000,), "codecs": ["blosc-zstd-shuffle"]},
    **{name: {"codecs": [name], "chunks": (20,)} for name in zarr3.CODECS if name.startswith("blosc")},
}


@each("layout", LAYOUTS)
def everything_in_version_3(layout):
    for form in ("csr", "csc", "dense"):
        a = sample(form=form)
        write_v3(TMP / "v3.zarr", a, **LAYOUTS[layout])
        got = read(TMP / "v3.zarr")
        same(got, a)
        if form != "csc":
            for step in (7, 1000):
                same_matrix(read(TMP / "v3.zarr", "--rows", step).matrices["X"], a.X)


@each("order", [(0, 1), (1, 0)])
def transposed_chunks(order):
    for shards in (None, (20, 14)):
        for dtype in ("f4", "i2", "f8", "u1"):
            a = sample(form="dense", rich=False)
            root = write_v3(TMP / "v3.zarr", a)
            x = a.X.astype(dtype)
            zarr3.Group(root.folder / "layers").array("t", x, (10, 7), order=order, shards=shards, endian="big", codecs=["gzip"])
            got = read(TMP / "v3.zarr")
            same_matrix(got.matrices["layers/t"], x)
            same_matrix(read(TMP / "v3.zarr", "--layer", "t", "--rows", 9).matrices["X"], x)


@each("dtype", [d for d in zarr3.NAMES])
def types_of_version_3(dtype):
    a = sample(form="dense", rich=False)
    root = write_v3(TMP / "v3.zarr", a)
    layers = zarr3.Group(root.folder / "layers")
    x = a.X > 0 if dtype == "b1" else (a.X % 100).astype(dtype)
    for endian, shards in itertools.product(("little", "big"), (None, (40, 40))):
        layers.array("t", x, (10, 20), endian=endian, codecs=["zstd"], shards=shards, fill=None if dtype != "f4" else np.float32("nan"))
        same_matrix(read(root.folder).matrices["layers/t"], x)
        shutil.rmtree(root.folder / "layers" / "t")


@test
def text_of_one_length_in_version_3():
    a = sample(rich=False)
    root = write_v3(TMP / "v3.zarr", a)
    texts = [f"é{i}" for i in range(37)]
    obs = zarr3.Group(root.folder / "obs", {"encoding-type": "dataframe", "_index": "_index", "column-order": ["u", "ub", "s"]})
    obs.array("u", np.array(texts), (10,), codecs=["zstd"])
    obs.array("ub", np.array(texts), (10,), endian="big", shards=(20,))
    obs.array("s", np.array([t.encode() for t in texts]), (10,))
    columns = read(root.folder).columns
    for name in ("u", "ub", "s"):
        assert columns["obs", name] == ("string", [], texts), columns["obs", name]


@test
def text_with_missing_values():
    a = sample(rich=False)
    root = write_v3(TMP / "v3.zarr", a)
    obs = zarr3.Group(root.folder / "obs", {"encoding-type": "dataframe", "_index": "_index", "column-order": ["m"]})
    g = obs.group("m", {"encoding-type": "nullable-string-array", "encoding-version": "0.1.0", "na-value": "NA"})
    g.array("values", np.array(["" if i % 3 == 0 else f"v{i}" for i in range(37)], object))
    g.array("mask", np.arange(37) % 3 == 0)
    h = root.folder / "obs" / "_index"  # AnnData 0.12 may write the index so, too
    names = [f"zelle-{i}" for i in range(37)]
    shutil.rmtree(h)
    g = obs.group("_index", {"encoding-type": "nullable-string-array", "encoding-version": "0.1.0"})
    g.array("values", np.array(names, object))
    g.array("mask", np.zeros(37, bool))
    got = read(root.folder)
    assert got.columns["obs", "m"][2] == [None if i % 3 == 0 else f"v{i}" for i in range(37)]
    assert got.obs == names


@test
def consolidated_version_3():
    a = sample()
    root = write_v3(TMP / "v3.zarr", a, codecs=["zstd"])
    zarr3.consolidate(root.folder)
    same(read(root.folder), a)
    for f in root.folder.rglob("zarr.json"):
        if f.parent != root.folder:
            f.unlink()
    same(read(root.folder), a)


@test
def zip_file_of_version_3():
    a = sample()
    root = write_v3(TMP / "v3.zarr", a, chunks=(5,), shards=(20,), codecs=["zstd"])
    shutil.make_archive(str(TMP / "v3"), "zip", root.folder)
    same(read(TMP / "v3.zip"), a)


# ---- written

def written(*args):
    """Writes a sample of everything as zarr, and gives what was written from."""
    a = sample(n=211, g=29)
    a.write_h5ad(TMP / "w.h5ad")
    shutil.rmtree(TMP / "w.zarr", ignore_errors=True)
    run("--write", TMP / "w.zarr", *args, TMP / "w.h5ad")
    return a


@each("level", [0, 1, 9])
def written_as_version_2(level):
    a = written("--zarr", 2, "--level", level)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        b = anndata.read_zarr(TMP / "w.zarr")
    np.testing.assert_array_equal(dense(a.X), dense(b.X))
    assert list(a.obs_names) == list(b.obs_names) and list(a.var_names) == list(b.var_names)
    assert list(a.obs.columns) == list(b.obs.columns)
    for c in a.obs.columns:
        x, y = a.obs[c], b.obs[c]
        if isinstance(x.dtype, pd.CategoricalDtype):
            assert x.cat.ordered == y.cat.ordered and list(x.cat.codes) == list(y.cat.codes)
        elif x.dtype == object:
            assert list(x) == list(y)
        else:
            np.testing.assert_array_equal(x.astype(float).to_numpy(), y.astype(float).to_numpy())
    for k in ("counts", "scaled"):
        np.testing.assert_array_equal(dense(a.layers[k]), dense(b.layers[k]))
    np.testing.assert_array_equal(a.obsm["X_pca"].astype("f4"), b.obsm["X_pca"])
    assert run(TMP / "w.zarr").stdout == run(TMP / "w.h5ad").stdout


@each("shards", [False, True])
def written_as_version_3(shards):
    a = written("--zarr", 3, *(["--shards"] if shards else []))
    p = TMP / "w.zarr"
    assert run(p).stdout == run(TMP / "w.h5ad").stdout
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(zarr3.read_array(p / "X" / part)[0], getattr(a.X, part))
    values, attributes = zarr3.read_array(p / "layers" / "scaled")
    np.testing.assert_array_equal(values, a.layers["scaled"])
    assert attributes == {"encoding-type": "array", "encoding-version": "0.2.0"}
    assert list(zarr3.read_array(p / "obs" / "_index")[0]) == list(a.obs_names)
    assert list(zarr3.read_array(p / "obs" / "text")[0]) == list(a.obs["text"])
    np.testing.assert_array_equal(zarr3.read_array(p / "obs" / "cat" / "codes")[0], a.obs["cat"].cat.codes)
    np.testing.assert_array_equal(zarr3.read_array(p / "obs" / "nullint" / "mask")[0], a.obs["nullint"].isna())
    np.testing.assert_array_equal(zarr3.read_array(p / "obs" / "f64")[0], a.obs["f64"])
    group = json.loads((p / "obs" / "zarr.json").read_text())
    assert group["node_type"] == "group" and group["attributes"]["column-order"] == list(a.obs.columns)
    used = json.loads((p / "X" / "data" / "zarr.json").read_text())["codecs"][0]["name"]
    assert used == ("sharding_indexed" if shards else "bytes")


@test
def many_chunks_and_shards():
    x = sp.random(30000, 300, 0.1, format="csr", random_state=1, dtype=np.float32)
    anndata.AnnData(x, dtype="f4").write_h5ad(TMP / "m.h5ad")
    for options in (["--zarr", 2], ["--zarr", 3], ["--shards"]):
        shutil.rmtree(TMP / "m.zarr", ignore_errors=True)
        run("--write", TMP / "m.zarr", *options, TMP / "m.h5ad")
        files = sorted((p.relative_to(TMP / "m.zarr"), p.read_bytes()) for p in (TMP / "m.zarr").rglob("*") if p.is_file())
        shutil.rmtree(TMP / "m.zarr")
        run("--write", TMP / "m.zarr", *options, "--threads", 1, TMP / "m.h5ad")
        assert files == sorted((p.relative_to(TMP / "m.zarr"), p.read_bytes()) for p in (TMP / "m.zarr").rglob("*") if p.is_file())
        if options[-1] == 2:
            np.testing.assert_array_equal(zarr.open(str(TMP / "m.zarr"))["X/data"][:], x.data)
        else:
            np.testing.assert_array_equal(zarr3.read_array(TMP / "m.zarr" / "X" / "data")[0], x.data)
        stats = run("--stats", TMP / "m.zarr").stdout
        assert "read" in stats
    run("--write", TMP / "back.h5ad", TMP / "m.zarr")
    b = anndata.read_h5ad(TMP / "back.h5ad")
    assert (b.X != x).nnz == 0


@test
def the_record_is_a_text_of_zarr_python():
    a = sample()
    a.uns["comp"] = {"record": '{"did": "ü"}'}
    a.write_h5ad(TMP / "r.h5ad")
    shutil.rmtree(TMP / "r.zarr", ignore_errors=True)
    run("--write", TMP / "r.zarr", TMP / "r.h5ad")
    assert str(anndata.read_zarr(TMP / "r.zarr").uns["comp"]["record"]) == '{"did": "ü"}'
    assert read(TMP / "r.zarr").record == '{"did": "ü"}'


# ---- what a data set does not hold goes along

def everything():
    """A sample with all kinds of things in uns, obsp, varm, varp and raw."""
    a = sample(n=41, g=13)
    del a.obs["f16"]  # halves become single precision
    a.raw = a[:, :9].copy()
    a.varp["cor"] = np.corrcoef(np.arange(13 * 13).reshape(13, 13) ** 2 % 17)
    a.obsp["distances"] = sp.random(41, 41, 0.2, format="csc", random_state=2)
    a.uns["deep"] = {"a": {"b": {"c": 1.5, "text": "ünï", "none": {}}}, "list": np.array(["x", "", "é"], object)}
    a.uns["numbers"] = {f"{t}{d}": np.arange(np.prod(d)).astype(t).reshape(d) for t in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "?")
                        for d in ((6,), (2, 3), (2, 1, 3), (0,), (0, 3))}
    a.uns["scalars"] = {"int": 7, "negative": -(2**40), "float": 0.1, "bool": True, "nan": np.nan, "np": np.float32(2.5)}
    a.uns["frame"] = pd.DataFrame({"f": [1.5, 2], "i": [1, 2], "t": ["a", "b"], "c": pd.Categorical(["u", "v"]), "b": [True, False],
                                   "n": pd.array([1, None], dtype="Int64")}, index=["r1", "r2"])
    a.uns["sparse"] = sp.random(5, 4, 0.5, format="csr", random_state=1)
    a.uns["big"] = np.arange(300000) % 1000
    return a


def same_thing(x, y, path=""):
    if isinstance(x, dict):
        assert sorted(x) == sorted(y), (path, sorted(x), sorted(y))
        for k in x:
            same_thing(x[k], y[k], f"{path}/{k}")
    elif isinstance(x, pd.DataFrame):
        pd.testing.assert_frame_equal(x, y)
    elif sp.issparse(x):
        assert x.format == y.format and x.shape == y.shape and (x != y).nnz == 0, path
        assert x.indices.dtype == y.indices.dtype and x.dtype == y.dtype, path
    else:
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape and (x.dtype == y.dtype or x.dtype.kind in "OU"), (path, x.dtype, y.dtype)
        np.testing.assert_array_equal(x, y, err_msg=path)


def same_rest(a, b):
    for part in ("uns", "obsp", "varm", "varp"):
        same_thing(dict(getattr(a, part)), dict(getattr(b, part)), part)
    same_thing({k: v for k, v in a.obsm.items() if k in ("frame", "sparse")}, {k: v for k, v in b.obsm.items() if k in ("frame", "sparse")}, "obsm")
    same_thing(a.raw.X, b.raw.X, "raw.X")
    for x, y in ((a.raw.var, b.raw.var), (a.obs, b.obs), (a.var, b.var)):
        pd.testing.assert_frame_equal(x, y)  # with their types: categories that are numbers, integers of 2 bytes


def convert(to, source, *args, carry=True):
    shutil.rmtree(to, ignore_errors=True)
    return run("--write", to, *args, *(["--carry", source] if carry else []), source)


@each("version", ["2", "3", "shards"])
def the_rest_goes_along(version):
    a = everything()
    a.write_h5ad(TMP / "e.h5ad")
    a = anndata.read_h5ad(TMP / "e.h5ad")
    r = convert(TMP / "e.zarr", TMP / "e.h5ad", *(["--shards"] if version == "shards" else ["--zarr", version]))
    assert "left behind" not in r.stderr, r.stderr
    if version == "2":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same_rest(a, anndata.read_zarr(TMP / "e.zarr"))
    r = convert(TMP / "back.h5ad", TMP / "e.zarr")
    assert "left behind" not in r.stderr, r.stderr
    same_rest(a, anndata.read_h5ad(TMP / "back.h5ad"))
    convert(TMP / "again.zarr", TMP / "e.zarr", "--zarr", 2)
    convert(TMP / "back.h5ad", TMP / "again.zarr")
    same_rest(a, anndata.read_h5ad(TMP / "back.h5ad"))


@test
def the_rest_of_a_store_of_zarr_python_goes_along():
    a = b = write_v2(TMP / "a.zarr", everything())
    convert(TMP / "back.h5ad", TMP / "a.zarr")
    same_rest(b, anndata.read_h5ad(TMP / "back.h5ad"))
    same(read(TMP / "back.h5ad"), b)
    run("--update", TMP / "u.h5ad", TMP / "a.zarr")
    b = anndata.read_h5ad(TMP / "u.h5ad")
    assert list(b.obs["score"]) == [i / 2 for i in range(41)] and list(b.obs.columns) == list(a.obs.columns) + ["score"] and list(b.obs["cluster"].cat.categories) == ["a", "b"]
    assert b.obs["i2"].dtype == "i2" and list(b.obs["dose"].cat.categories) == [0.5, 1.0, 2.25]
    shutil.rmtree(TMP / "u.zarr", ignore_errors=True)
    run("--update", TMP / "u.zarr", TMP / "u.h5ad")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pd.testing.assert_frame_equal(anndata.read_zarr(TMP / "u.zarr").obs, b.obs)
    assert "X_comp" in b.obsm and "connectivities" in b.obsp and b.uns["deep"]["a"]["b"]["c"] == 1.5


def records(groups=3):
    """As scanpy writes uns/rank_genes_groups: texts, numbers of several types, bools; one field a group."""
    n = 7
    names = np.rec.fromarrays([np.array([f"gene {g} ü{i}" if i else "" for i in range(n)], object) for g in range(groups)], names=[f"gröup {g}" for g in range(groups)])
    types = ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
    mixed = np.array([tuple(i * 3 % 5 - (t[0] in "if") for t in types) for i in range(n)], dtype=[(t, t) for t in types])
    return {"names": names, "scores": mixed, "one": np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]),
            "none": np.zeros(0, dtype=[("a", "i4"), ("b", "f8")])}


def same_records(x, y):
    assert sorted(x) == sorted(y), (sorted(x), sorted(y))
    for k in x:
        assert x[k].dtype.names == y[k].dtype.names and len(x[k]) == len(y[k]), (k, x[k].dtype, y[k].dtype)
        for f in x[k].dtype.names:
            assert x[k].dtype[f].kind in "OU" or x[k].dtype[f] == y[k].dtype[f], (k, f, y[k].dtype[f])
            assert x[k][f].tolist() == y[k][f].tolist(), (k, f, x[k][f], y[k][f])


@test
def names_that_are_not_ascii():
    a = sample(n=41, g=13)
    a.obs["größe µ"] = np.arange(41.0)
    a.obsm["µ"] = np.ones((41, 2))
    a.uns["ключ"] = {"é": 1}
    a.write_h5ad(TMP / "e.h5ad")
    convert(TMP / "e.zarr", TMP / "e.h5ad")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        b = anndata.read_zarr(TMP / "e.zarr")
    assert list(b.obs["größe µ"]) == list(range(41)) and "µ" in b.obsm and b.uns["ключ"]["é"] == 1


@each("version", ["2", "3", "shards"])
def records_go_along(version):
    a = sample(n=41, g=13)
    a.uns["rank"] = records(groups=100)
    a.write_h5ad(TMP / "e.h5ad")
    want = anndata.read_h5ad(TMP / "e.h5ad").uns["rank"]
    r = convert(TMP / "e.zarr", TMP / "e.h5ad", *(["--shards"] if version == "shards" else ["--zarr", version]))
    assert "left behind" not in r.stderr, r.stderr
    if version == "2":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same_records(want, anndata.read_zarr(TMP / "e.zarr").uns["rank"])
    elif version == "3":
        got, attributes = zarr3.read_array(TMP / "e.zarr" / "uns" / "rank" / "names")
        assert attributes["encoding-type"] == "rec-array"
        same_records({"names": want["names"]}, {"names": got})
    r = convert(TMP / "back.h5ad", TMP / "e.zarr")
    assert "left behind" not in r.stderr, r.stderr
    same_records(want, anndata.read_h5ad(TMP / "back.h5ad").uns["rank"])


@test
def records_of_others_go_along():
    """What zarr-python writes in version 2: other byte orders, bytes; and version 3 by the tests' own writer, in both spellings."""
    odd = np.array([("äb", b"xy", -3, 2.5), ("", b"", 300, -1.0)], dtype=[("u", ">U3"), ("s", "S4"), ("i", ">i2"), ("f", ">f8")])
    write_v2(TMP / "a.zarr", sample(n=41, g=13))
    g = zarr.open_group(str(TMP / "a.zarr" / "uns"))
    g.create_dataset("odd", data=odd, chunks=(1,)).attrs["encoding-type"] = "rec-array"
    g["odd"].attrs["encoding-version"] = "0.2.0"
    g.create_dataset("nested", data=np.zeros(2, dtype=[("a", [("b", "i4")])]))
    g.create_dataset("filled", data=np.zeros(3, dtype=[("a", "i4")]))
    p = TMP / "a.zarr" / "uns" / "filled" / ".zarray"
    p.write_text(json.dumps({**json.loads(p.read_text()), "fill_value": "BQAAAA=="}))
    r = convert(TMP / "back.h5ad", TMP / "a.zarr")
    assert "left behind, since it cannot be written as .h5ad: uns/filled, uns/nested" in r.stderr, r.stderr
    got = anndata.read_h5ad(TMP / "back.h5ad").uns["odd"]
    assert got["u"].tolist() == ["äb", ""] and got["i"].tolist() == [-3, 300] and got["f"].tolist() == [2.5, -1.0]
    assert [t.decode() if isinstance(t, bytes) else t for t in got["s"]] == ["xy", ""]
    for spelling, endian in (("struct", "little"), ("structured", "big")):
        write_v3(TMP / "b.zarr", sample(n=41, g=13), chunks=(10,))
        zarr3.Group(TMP / "b.zarr" / "uns", {"encoding-type": "dict", "encoding-version": "0.1.0"})
        zarr3.write_records(TMP / "b.zarr" / "uns" / "rec", odd, spelling, endian)
        r = convert(TMP / "back.h5ad", TMP / "b.zarr")
        assert "left behind" not in r.stderr, r.stderr
        with h5py.File(TMP / "back.h5ad") as f:
            got = f["uns/rec"][()]
        assert [t.decode() for t in got["u"]] == ["äb", ""] and got["i"].tolist() == [-3, 300] and got["f"].tolist() == [2.5, -1.0], spelling


@test
def what_is_left_behind_is_named():
    written()
    a = everything()
    a.write_h5ad(TMP / "e.h5ad")
    with h5py.File(TMP / "e.h5ad", "a") as f:
        f["uns/nested"] = np.zeros(2, dtype=[("a", [("b", "i4")])])
    r = convert(TMP / "w2.zarr", TMP / "e.h5ad")
    assert "left behind, since it cannot be written as .zarr: uns/nested" in r.stderr, r.stderr
    r = run("--write", TMP / "w3.zarr", "--carry", TMP / "e.h5ad", TMP / "w.h5ad")  # other samples
    assert "left behind, since samples or features have changed" in r.stderr and "obsp/connectivities" in r.stderr and "raw" in r.stderr, r.stderr
    assert (TMP / "w3.zarr" / "uns" / "deep").exists() and not (TMP / "w3.zarr" / "raw").exists()


@each("version", ["2", "3", "shards"])
def zip_files_are_written(version):
    options = ["--shards"] if version == "shards" else ["--zarr", version]
    a = everything()
    a.write_h5ad(TMP / "e.h5ad")
    convert(TMP / "e.zarr", TMP / "e.h5ad", *options)
    p = TMP / "e.zarr.zip"
    p.write_text("older")
    run("--write", p, *options, "--carry", TMP / "e.h5ad", TMP / "e.h5ad")
    with zipfile.ZipFile(p) as z:
        assert z.testzip() is None
        assert {n: z.read(n) for n in z.namelist()} == {str(f.relative_to(TMP / "e.zarr")): f.read_bytes() for f in (TMP / "e.zarr").rglob("*") if f.is_file()}
        assert all(i.compress_type == zipfile.ZIP_STORED for i in z.infolist())
    assert run(p).stdout == run(TMP / "e.zarr").stdout
    bytes_ = p.read_bytes()
    run("--write", p, *options, "--threads", 1, "--carry", TMP / "e.h5ad", TMP / "e.h5ad")
    assert p.read_bytes() == bytes_
    if version == "2":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same_rest(anndata.read_h5ad(TMP / "e.h5ad"), anndata.read_zarr(zarr.ZipStore(str(p), mode="r")))
    convert(TMP / "back.h5ad", p)
    same_rest(anndata.read_h5ad(TMP / "e.h5ad"), anndata.read_h5ad(TMP / "back.h5ad"))
    assert not [f for f in TMP.iterdir() if "tmp-comp" in f.name]
    r = run("--update", p, p, ok=False)
    assert r.returncode and "in place" in r.stderr and p.read_bytes() == bytes_, r.stderr


@test
def what_is_there_is_not_overwritten():
    written()
    before = run(TMP / "w.zarr").stdout
    r = run("--write", TMP / "w.zarr", TMP / "w.h5ad", ok=False)
    assert r.returncode == 1 and "exists already" in r.stderr, r.stderr
    assert run(TMP / "w.zarr").stdout == before
    assert not [p for p in TMP.iterdir() if "tmp-comp" in p.name]


# ---- what is wrong

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


@test
def absurd_shapes_are_refused_cheaply():
    for shape in ([10**15], [2**62], [10**9]):
        bad()
        edit("obs/_index/.zarray", shape=shape)
        refused("obs/_index", "claims" if shape[0] < 2**60 else "absurd")
    bad()
    edit("obs/_index/.zarray", shape=[200000], chunks=[1])  # not many bytes, but many chunks to look for
    refused("obs/_index", "claims")
    bad()
    edit("X/.zarray", shape=[37, 2**61])
    refused("X", "absurd")
    bad()
    edit("X/.zarray", chunks=[2**40, 2**18])
    refused("X", "chunk 0,0")
    bad(3)
    edit("X/zarr.json", chunk_grid={"name": "regular", "configuration": {"chunk_shape": [2**50, 2**8]}})
    refused("X", "chunk 0,0")
    bad(3, shards=(20,))
    m = json.loads((TMP / "bad.zarr/obs/f64/zarr.json").read_text())
    m["chunk_grid"]["configuration"]["chunk_shape"] = [10 * 2**40]
    (TMP / "bad.zarr/obs/f64/zarr.json").write_text(json.dumps(m))
    refused("obs/f64", "shard")


@test
def a_link_out_of_the_store_is_refused():
    p = bad()
    chunk = p / "obs" / "f64" / "0"
    shutil.copy(chunk, TMP / "outside")
    chunk.unlink()
    chunk.symlink_to("../../../outside")
    refused("obs/f64", "symbolic link")
    chunk.unlink()
    chunk.symlink_to(TMP / "outside")
    refused("obs/f64", "symbolic link")
    p = bad()
    shutil.move(str(p / "obs"), str(TMP / "obs-outside"))
    (p / "obs").symlink_to(TMP / "obs-outside")
    refused("obs", "symbolic link")
    shutil.rmtree(TMP / "obs-outside")


@each("name", ["../../x", "/abs", "a/../b", "a\\b", "a//b", "./a"])
def zip_entries_that_lead_out_are_refused(name):
    import zipfile
    p = bad()
    shutil.make_archive(str(TMP / "made"), "zip", p)
    shutil.rmtree(p)
    with zipfile.ZipFile(TMP / "made.zip", "a") as z:
        z.writestr(name, b"x")
    shutil.move(str(TMP / "made.zip"), str(p))
    refused("lead out of the store")
    p.unlink()


@test
def columns_that_lead_out_are_not_followed():
    p = bad()
    outside = TMP / "elsewhere"
    shutil.copytree(p / "obs" / "f64", outside, dirs_exist_ok=True)
    edit("obs/.zattrs", **{"column-order": ["f64", "../../elsewhere", "/etc/passwd"]})
    r = run(p)
    assert "elsewhere" not in r.stdout and "not in the file" in r.stderr, r.stderr


DAMAGES = {
    "a chunk that is cut off": (2, lambda p: (p / "X/0.0").write_bytes((p / "X/0.0").read_bytes()[:-9]), "X: chunk 0,0"),
    "a chunk of noise": (2, lambda p: (p / "X/0.0").write_bytes(bytes(range(256)) * 9), "X: chunk 0,0"),
    "an empty chunk": (2, lambda p: (p / "X/0.0").write_bytes(b""), "X: chunk 0,0"),
    "text that is cut off": (3, lambda p: (p / "obs/_index/c/1").write_bytes((p / "obs/_index/c/1").read_bytes()[:-2]), "obs/_index"),
    "metadata that is not JSON": (2, lambda p: (p / "obs/f64/.zarray").write_text("{"), "obs/f64/.zarray is not JSON"),
    "a codec that is not known": (2, lambda p: edit("obs/f64/.zarray", compressor={"id": "lzma"}), "obs/f64: its chunks are compressed by 'lzma'"),
    "a filter that is not known": (2, lambda p: edit("obs/f64/.zarray", filters=[{"id": "delta"}]), "obs/f64: its filter 'delta'"),
    "no X": (2, lambda p: shutil.rmtree(p / "X"), "there is no X in it"),
    "not AnnData": (2, lambda p: shutil.rmtree(p / "obs"), "not of AnnData"),
    "an index of a shard that is damaged": (3.5, lambda p: (p / "obs/f64/c/0").write_bytes((p / "obs/f64/c/0").read_bytes()[:-1] + b"!"),
                                            "obs/f64/c/0: its index: it fails its checksum"),
    "a shard that is cut off": (3.5, lambda p: (p / "obs/f64/c/0").write_bytes(b"abc"), "obs/f64/c/0: it is too short"),
    "a fill value of another type": (2, lambda p: edit("obs/i4/.zarray", fill_value="x"), "obs/i4: its fill value"),
    "floats as indices": (2, lambda p: edit("obs/cat/codes/.zarray", dtype="<f4", chunks=[9]), "obs, column 'cat'"),
}


@each("damage", DAMAGES)
def damaged_stores(name):
    version, damage, needle = DAMAGES[name]
    p = bad(int(version), **({"shards": (20,)} if version == 3.5 else {}))
    damage(p)
    refused(needle)


@test
def missing_chunks_of_a_sparse_matrix_are_named():
    write_v2(TMP / "bad.zarr", sample(form="csr"))
    r = run(TMP / "bad.zarr")
    assert "not in the store" not in r.stderr, r.stderr
    os.remove(TMP / "bad.zarr" / "X" / "data" / "0")
    r = run(TMP / "bad.zarr")
    assert "X/data: 1 of 1 chunks are not in the store" in r.stderr, r.stderr
    os.remove(TMP / "bad.zarr" / "X" / "indices" / "0")
    refused("X/indices: 1 of 1 chunks are not in the store", "twice")


@test
def an_offset_of_a_shard_outside_of_it():
    p = bad(3, shards=(20,), index_crc=False)
    f = p / "obs" / "f64" / "c" / "0"
    data = f.read_bytes()
    f.write_bytes(data[:-32] + (2**40).to_bytes(8, "little") + data[-24:])
    refused("obs/f64: chunk", "outside of it")


# ---- all values keep their type

COMP = BUILD / "comp"


def comp(*args, ok=True):
    r = subprocess.run([str(COMP), *map(str, args)], capture_output=True, text=True)
    if ok:
        assert r.returncode == 0, r.stderr
    return r


def converted(source, to, *args):
    shutil.rmtree(to, ignore_errors=True)
    if to.exists():
        to.unlink()
    return comp("convert", "-i", source, "-o", to, *args)


def wide(form):
    """A sample whose numbers do not fit 32-bit floats."""
    a = sample(n=37, g=23, form="dense", rich=False)
    big = np.arange(37 * 23, dtype="i8").reshape(37, 23) + 16777217
    x = np.where(np.arange(37 * 23).reshape(37, 23) % 3 == 0, big, 0)
    a.X = {"dense": big, "f8": np.arange(37 * 23).reshape(37, 23) / 7, "u1": (big % 251).astype("u1"), "bool": big % 2 == 0,
           "csr": sp.csr_matrix(x), "csc": sp.csc_matrix(x), "csr f8": sp.csr_matrix(x / 7), "csc f8": sp.csc_matrix(x / 7)}[form]
    a.layers["f8"] = np.full((37, 23), 1e300)
    a.layers["i8"] = big
    a.layers["csc"] = sp.csc_matrix(x * 3)
    a.layers["csr"] = sp.csr_matrix(x / 9)
    a.layers["f4"] = big.astype("f4")
    for t in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f8", "?"):
        a.obsm["d" + t] = big[:, :5].astype(t)
    a.obsm["list"] = np.arange(37) / 3
    a.varm["f8"] = np.arange(23 * 2).reshape(23, 2) / 11
    a.obs["i8"] = np.arange(37) + 2**53 + 1
    return a


def same_values(a, b, by_rows=False):
    x = a.X.tocsr() if by_rows and sp.issparse(a.X) else a.X
    same_thing(x, b.X, "X")
    for part in ("layers", "obsm", "varm"):
        same_thing(dict(getattr(a, part)), dict(getattr(b, part)), part)
    pd.testing.assert_frame_equal(a.obs, b.obs)


@each("X", ["dense", "f8", "u1", "bool", "csr", "csc", "csr f8", "csc f8"])
def values_keep_their_type(form):
    a = wide(form)
    a.write_h5ad(TMP / "w.h5ad")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a = anndata.read_h5ad(TMP / "w.h5ad")
        for options in ([], ["--zarr", 3], ["--shards"]):
            r = converted(TMP / "w.h5ad", TMP / "w.zarr", *options)
            assert "32-bit" not in r.stderr and "left behind" not in r.stderr, r.stderr
            if not options:
                same_values(a, anndata.read_zarr(TMP / "w.zarr"), True)
            converted(TMP / "w.zarr", TMP / "back.h5ad")
            same_values(a, anndata.read_h5ad(TMP / "back.h5ad"), True)
        converted(TMP / "w.h5ad", TMP / "copy.h5ad")
        same_values(a, anndata.read_h5ad(TMP / "copy.h5ad"), True)


@test
def whole_numbers_above_2_to_63():
    a = sample()
    a.obs["large"] = np.arange(37, dtype="u8") + np.uint64(2**64 - 100)
    a.obsm["large"] = np.full((37, 2), 2**64 - 3, "u8")
    a.uns["large"] = {"one": np.uint64(2**64 - 1), "cube": np.full((2, 2, 2), 2**64 - 1, "u8")}
    a.write_h5ad(TMP / "w.h5ad")
    converted(TMP / "w.h5ad", TMP / "w.zarr", "--zarr", 3)
    converted(TMP / "w.zarr", TMP / "v.zarr")
    converted(TMP / "v.zarr", TMP / "back.h5ad")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for b in (anndata.read_zarr(TMP / "v.zarr"), anndata.read_h5ad(TMP / "back.h5ad")):
            for part, key in ((b.obs, "large"), (b.obsm, "large"), (b.uns["large"], "one"), (b.uns["large"], "cube")):
                want = {id(b.obs): a.obs, id(b.obsm): a.obsm}.get(id(part), a.uns["large"])[key]
                same_thing(np.asarray(want), np.asarray(part[key]), key)


@test
def values_keep_their_type_where_names_repeat():
    a = wide("dense")
    a.var_names = ["g"] * 2 + [f"g{i}" for i in range(21)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a.write_h5ad(TMP / "w.h5ad")
        for to, load in ((TMP / "w.zarr", anndata.read_zarr), (TMP / "copy.h5ad", anndata.read_h5ad)):
            r = converted(TMP / "w.h5ad", to)
            assert "left behind" not in r.stderr, r.stderr
            b = load(to)
            assert list(b.var_names[:2]) == ["g", "g-1"]
            same_values(a, b)


@test
def values_that_do_not_fit_are_told():
    wide("dense").write_h5ad(TMP / "w.h5ad")
    r = run(TMP / "w.h5ad")
    for what in ("X: 851 whole numbers are 16,777,216 or more", "layers/f8: 851 values are infinite, or too large"):
        assert what in r.stderr, r.stderr
    r = converted(TMP / "w.h5ad", TMP / "w.csv")
    assert "X: 851 whole numbers" in r.stderr, r.stderr
    assert "layers/f4" not in r.stderr


# ---- nothing damaged is copied or left out in silence

def rich_store(version=2):
    a = sample(form="csr")
    if version == 2:
        write_v2(TMP / "bad.zarr", a)
    else:
        write_v3(TMP / "bad.zarr", a, chunks=(10,))
    return TMP / "bad.zarr"


def not_copied(*needles, to="no.h5ad"):
    for name in (to, "no.zarr"):
        r = subprocess.run([str(COMP), "convert", "-i", str(TMP / "bad.zarr"), "-o", str(TMP / name)], capture_output=True, text=True)
        assert r.returncode == 1, (name, r.returncode, r.stderr)
        for needle in needles:
            assert needle in r.stderr, r.stderr
        assert not (TMP / name).exists()


def without(path, *keys):
    p = TMP / "bad.zarr" / path
    m = json.loads(p.read_text())
    p.write_text(json.dumps({k: v for k, v in m.items() if k not in keys}))


def set_first(path, value):
    zarr.open(str(path), mode="r+")[0] = value


HURT = {
    "a matrix without a shape": (lambda p: without("obsm/pca/.zarray", "shape"), "obsm/pca"),
    "a matrix of an unknown kind": (lambda p: edit("obsm/pca/.zarray", compressor={"id": "none of them"}, dtype="<M8[s]"), "obsm/pca"),
    "a matrix without metadata": (lambda p: (p / "obsm/pca/.zarray").unlink(), "obsm/pca cannot be copied"),
    "a matrix of other rows": (lambda p: edit("obsm/sparse/.zattrs", shape=[36, 4]), "obsm/sparse"),
    "a sparse matrix without its encoding": (lambda p: (p / "obsm/sparse/.zattrs").unlink(), "obsm/sparse is a group"),
    "a sparse matrix without indices": (lambda p: shutil.rmtree(p / "obsm/sparse/indices"), "obsm/sparse/indices"),
    "a table without a column": (lambda p: shutil.rmtree(p / "obsm/frame/a"), "obsm/frame/a is in the list of columns"),
    "obs without a column": (lambda p: shutil.rmtree(p / "obs/f64"), "obs/f64 is in the list of columns"),
    "a group without metadata": (lambda p: (p / "layers/.zgroup").unlink(), "layers cannot be copied"),
    "a column that does not say what it is": (lambda p: (p / "obs/cat/.zattrs").unlink(), "obs/cat is a group that does not say what it is"),
    "an index beyond the columns": (lambda p: set_first(p / "obsm/sparse/indices", 9999), "obsm/sparse/indices holds 9999 at 0"),
    "an index below 0": (lambda p: set_first(p / "obsp/graph/indices", -3), "obsp/graph/indices holds -3 at 0"),
    "a graph of other rows": (lambda p: edit("obsp/graph/.zattrs", shape=[36, 36]), "obsp/graph"),
}


@each("damage", HURT)
def what_is_damaged_is_not_copied(name):
    damage, needle = HURT[name]
    p = rich_store()
    a = anndata.read_zarr(p)
    a.obsm["pca"] = np.ones((37, 3), "f4")
    a.obsm["sparse"] = sp.random(37, 4, 0.5, format="csr", random_state=1)
    a.obsm["frame"] = pd.DataFrame({"a": np.arange(37), "b": "x"}, index=a.obs_names)
    a.obsp["graph"] = sp.random(37, 37, 0.1, format="csr", random_state=1)
    write_v2(p, a)
    converted(p, TMP / "yes.h5ad")
    damage(p)
    not_copied(needle)


@test
def links_round_in_circles_in_h5ad():
    """Two links to the group that they are in: 2^32 paths."""
    sample(form="csr").write_h5ad(TMP / "bad.h5ad")
    with h5py.File(TMP / "bad.h5ad", "r+") as f:
        f["uns/a"] = h5py.SoftLink("/uns")
        f["uns/b"] = h5py.SoftLink("/uns")
    r = subprocess.run([str(COMP), "convert", "-i", str(TMP / "bad.h5ad"), "-o", str(TMP / "no.zarr")], capture_output=True, text=True)
    assert r.returncode == 1 and "links that lead round in circles" in r.stderr, r.stderr
    assert not (TMP / "no.zarr").exists()


@test
def what_is_not_read_is_told():
    p = bad()
    a = anndata.read_zarr(p)
    a.obsm["pca"] = np.ones((37, 3), "f4")
    write_v2(p, a)
    (p / "obsm/pca/.zarray").unlink()
    r = comp("info", p)
    assert "obsm/pca is not read: it has files, but no metadata" in r.stderr, r.stderr


@test
def pointers_that_end_too_early():
    """An indptr of zeros beside values is not an empty matrix."""
    for form in ("csr", "csc"):
        write_v2(TMP / "bad.zarr", sample(form=form))
        z = zarr.open(str(TMP / "bad.zarr"), mode="r+")["X/indptr"]
        z[:] = 0
        refused("X: indptr ends at 0, but there are")
    sample(form="csr").write_h5ad(TMP / "bad.h5ad")
    with h5py.File(TMP / "bad.h5ad", "r+") as f:
        f["X/indptr"][:] = 0
    r = run(TMP / "bad.h5ad", ok=False)
    assert r.returncode == 1 and "X: indptr ends at 0" in r.stderr, r.stderr


@test
def damaged_attributes_are_named():
    p = bad()
    (p / "X/.zattrs").write_text("{")
    refused("X/.zattrs is not JSON")
    p = bad()
    (p / ".zattrs").write_text("[1")
    refused(".zattrs is not JSON")
    p = bad(3)
    edit("X/zarr.json", node_type="aray")
    refused("X: its node_type")


@test
def links_that_lead_round_in_circles_are_refused():
    for target in (".", "..", "../uns"):
        p = bad()
        (p / "uns" / "loop").symlink_to(target)
        not_copied("uns/loop is a symbolic link to a folder that it is in")
    p = bad()
    shutil.copytree(p / "obsm", p / "uns" / "one")
    (p / "uns" / "two").symlink_to("one")  # such a link is fine
    converted(p, TMP / "yes.h5ad")


@test
def missing_chunks_are_told():
    p = bad()
    r = run(p)
    assert "not in the store" not in r.stderr, r.stderr
    for path in ("obs/cat/codes/0", "obs/f64/0", "obs/_index/0", "X/0.0"):
        (p / path).unlink()
    for command in ("info", "convert"):
        (TMP / "yes.h5ad").unlink(missing_ok=True)
        r = comp(*(["info", p] if command == "info" else ["convert", "-i", p, "-o", TMP / "yes.h5ad"]))
        for needle in ("obs/cat/codes: 1 of 1 chunks are not in the store: their values are 0 (the first category)",
                       "obs/f64: 1 of 1 chunks are not in the store: their values are 0.", "X: 1 of ", "obs/_index: 1 of 1 chunks are not in the store: their values are empty text"):
            assert needle in r.stderr, (needle, r.stderr)
        assert r.stderr.count("obs/cat/codes:") == 1, r.stderr
    p = bad()
    edit("obs/cat/codes/.zarray", fill_value=-1)
    (p / "obs/cat/codes/0").unlink()
    r = run(p)
    assert "obs/cat/codes: 1 of 1 chunks are not in the store: their values are -1." in r.stderr, r.stderr
    assert Read(r.stdout).columns["obs", "cat"][2] == [None] * 37


@test
def files_of_r():
    import gzip
    for name, content in (("a.rds", gzip.compress(b"X\n\0\0\0\3" + bytes(50))), ("b.rds", b"\xfd7zXZ\0" + bytes(99)), ("c.RData", gzip.compress(b"RDX3\nX\n" + bytes(50)))):
        (TMP / name).write_bytes(content)
        r = run(TMP / name, ok=False)
        assert r.returncode == 1 and "readRDS" in r.stderr and "writeH5AD" in r.stderr, r.stderr


@each("file", ["kang/kang_ifnb.h5ad", "pbmc_protocols/symphony_1500x1764.h5ad"])
def real_data(file):
    if not (DATA / file).exists():
        return "SKIP no " + str(DATA / file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a = anndata.read_h5ad(DATA / file)
        write_v2(TMP / "real.zarr", a)
    want, got = run(DATA / file), run(TMP / "real.zarr")
    assert got.stdout == want.stdout


if __name__ == "__main__":
    sys.exit(main())
