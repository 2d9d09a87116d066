"""Zarr stores that comp writes, and conversions from and to .h5ad: read by zarr-python and AnnData (version 2) and from the specification (version 3). Speaks TAP."""
import json
import os
import shutil
import subprocess
import sys
import warnings
import zipfile

import anndata
import h5py
import numpy as np
import pandas as pd
import scipy.sparse as sp
import zarr

sys.path.insert(0, os.path.dirname(__file__))
import zarr3  # noqa: E402
from h5ad_common import TMP, dense, each, main, read, run, same, sample, test  # noqa: E402
from zarr_common import COMP, bad, comp, edit, write_v2, write_v3  # noqa: E402

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


# ---- all values keep their type

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


CIRCLES = {
    "a soft link": lambda f: f.__setitem__("uns/a", h5py.SoftLink("/uns")),
    "two soft links": lambda f: (f.__setitem__("uns/a", h5py.SoftLink("/uns")), f.__setitem__("uns/b", h5py.SoftLink("/uns"))),
    "a hard link": lambda f: f.__setitem__("uns/neighbors/a", f["uns"]),
    "a link to the root": lambda f: f.__setitem__("uns/a", f["/"]),
    "a link in obsm": lambda f: f.__setitem__("obsm/frame/b", f["obsm"]),
    "a link in obs": lambda f: f.__setitem__("obs/cat/a", f["obs"]),
}


@each("circle", CIRCLES)
def links_round_in_circles_in_h5ad(name):
    """AnnData reads such a file without end."""
    sample(form="csr").write_h5ad(TMP / "bad.h5ad")
    with h5py.File(TMP / "bad.h5ad", "r+") as f:
        CIRCLES[name](f)
    for to in ("no.h5ad", "no.zarr"):
        r = comp("convert", "-i", TMP / "bad.h5ad", "-o", TMP / to, ok=False)
        assert r.returncode == 1 and " is a link that leads round in a circle" in r.stderr, r.stderr
        assert not (TMP / to).exists()


@test
def links_to_one_group_are_fine():
    a = sample(form="csr")
    a.write_h5ad(TMP / "good.h5ad")
    with h5py.File(TMP / "good.h5ad", "r+") as f:
        f["uns/soft"] = h5py.SoftLink("/uns/neighbors")
        f["uns/hard"] = f["uns/neighbors"]
        f["uns/nowhere"] = h5py.SoftLink("/uns/nothing")
    for to, load in (("yes.h5ad", anndata.read_h5ad), ("yes.zarr", anndata.read_zarr)):
        r = converted(TMP / "good.h5ad", TMP / to)
        assert "uns/nowhere is a link to something that is not in the file" in r.stderr, r.stderr
        uns = load(TMP / to).uns
        assert uns["soft"]["params"]["k"] == uns["hard"]["params"]["k"] == 15 and "nowhere" not in uns


def store_of(form):
    """A sample as one of the two, and how to change an array of texts in it."""
    a = sample(form="csr")
    del a.obs["f16"]  # halves become single precision
    a.obsm["frame"]["kind"] = pd.Categorical(np.arange(37) % 3 * 10 + 10).rename_categories(["x", "y", "z"])
    a.var["kind"] = pd.Categorical(np.array(["u", "v", "w"])[np.arange(23) % 3])
    a.uns["table"] = pd.DataFrame({"kind": pd.Categorical(["p", "q"])}, index=["1", "2"])
    p = TMP / ("rep." + form)
    if form == "zarr":
        write_v2(p, a)
    else:
        a.write_h5ad(p)
    return p, anndata.read_zarr(p) if form == "zarr" else anndata.read_h5ad(p)


def set_texts(p, path, texts):
    if p.suffix == ".zarr":
        zarr.open(str(p), mode="r+")[path][:] = np.array(texts, object)
    else:
        with h5py.File(p, "r+") as f:
            f[path][:] = texts


@each("form", ["h5ad", "zarr"])
def categories_that_repeat_are_merged(form):
    """pandas, and so AnnData, cannot read them."""
    p, a = store_of(form)
    set_texts(p, "obs/cat/categories", ["B", "NK", "B"])
    set_texts(p, "obs/ordered/categories", ["lo", "lo"])
    set_texts(p, "var/kind/categories", ["u", "u", "w"])
    for command in (["info", p], ["convert", "-i", p, "-o", TMP / "yes.h5ad"], ["convert", "-i", p, "-o", TMP / "yes.zarr"]):
        shutil.rmtree(TMP / "yes.zarr", ignore_errors=True)
        r = comp(*command)
        for needle in ("obs, column 'cat': 1 of its 3 categories repeat an earlier one (the first is 'B')", "obs, column 'ordered': 1 of its 2", "var, column 'kind': 1 of its 3"):
            assert needle in r.stderr, r.stderr
    for b in (anndata.read_h5ad(TMP / "yes.h5ad"), anndata.read_zarr(TMP / "yes.zarr")):
        old = list(a.obs["cat"].cat.categories)
        want = [dict(zip(old, ["B", "NK", "B"])).get(v) for v in a.obs["cat"]]
        assert [v if isinstance(v, str) else None for v in b.obs["cat"]] == want and list(b.obs["cat"].cat.categories) == ["B", "NK"]
        assert list(b.obs["ordered"]) == ["lo"] * 37 and b.obs["ordered"].cat.ordered
        assert list(b.var["kind"]) == [{"v": "u"}.get(v, v) for v in a.var["kind"]]
        assert list(b.obs.columns) == list(a.obs.columns)
        pd.testing.assert_frame_equal(b.obs.drop(columns=["cat", "ordered"]), a.obs.drop(columns=["cat", "ordered"]))


@each("form", ["h5ad", "zarr"])
def categories_that_repeat_elsewhere_are_refused(form):
    for path, names in (("obsm/frame/kind", ["x", "y", "x"]), ("uns/table/kind", ["p", "p"])):
        p, _ = store_of(form)
        set_texts(p, path + "/categories", names)
        comp("info", p)
        for to in ("no.h5ad", "no.zarr"):
            r = comp("convert", "-i", p, "-o", TMP / to, ok=False)
            assert r.returncode == 1 and f"{path}/categories holds '{names[0]}' twice" in r.stderr and p.name in r.stderr, r.stderr
            assert not (TMP / to).exists()


@each("form", ["h5ad", "zarr"])
def tables_of_other_names_are_not_copied(form):
    """AnnData reads a table in obsm or varm only when its rows have the names of the samples or features."""
    p, a = store_of(form)
    set_texts(p, "obsm/frame/_index", ["other"] + [str(n) for n in a.obs_names[1:]])
    for to in ("no.h5ad", "no.zarr"):
        r = comp("convert", "-i", p, "-o", TMP / to, ok=False)
        assert r.returncode == 1 and "obsm/frame: row 0 is called 'other' in place of 'zelle-0'" in r.stderr, r.stderr
        assert not (TMP / to).exists()


@each("lost", ["obs/_index", "obsm/frame/_index"])
def a_lost_index_beside_a_table(lost):
    p = rich_store()
    (p / lost / "0").unlink()
    not_copied(f"{lost}: 1 of 1 chunks are not in the store", "obsm/frame: row 0 is called")


@test
def what_goes_along_is_not_said_to_be_left():
    """obsm/sparse and obsm/frame are not used by comp, but go along."""
    sample().write_h5ad(TMP / "e.h5ad")
    for source, to, load in (("e.h5ad", "yes.zarr", anndata.read_zarr), ("yes.zarr", "yes.h5ad", anndata.read_h5ad), ("e.h5ad", "copy.h5ad", anndata.read_h5ad)):
        r = converted(TMP / source, TMP / to)
        assert "obsm" not in r.stderr, r.stderr
        assert {"sparse", "frame"} <= set(load(TMP / to).obsm)
    assert "obsm/sparse is not used: it is sparse" in comp("info", TMP / "e.h5ad").stderr


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


if __name__ == "__main__":
    sys.exit(main())
