"""Compares reading and writing of .h5ad and 10x .h5 with AnnData and h5py. Speaks TAP.

COMP_BUILD is the build directory (default: build beside the repository's root).
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback
import warnings

import anndata
import h5py
import numpy as np
import pandas as pd
import scipy.sparse as sp

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("COMP_BUILD", ROOT / "build"))
DUMP = BUILD / "tests" / "h5_dump"
DATA = pathlib.Path(os.environ.get("COMP_DATA", os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared", "data")))
TMP = pathlib.Path(tempfile.mkdtemp(prefix="comp-h5ad-"))
RNG = np.random.default_rng(7)


class Read:
    """What h5_dump printed, as Python objects."""

    def __init__(self, text):
        self.obs, self.var, self.matrices, self.columns, self.record = [], [], {}, {}, None
        lines = text.split("\n")
        at = 0
        while at < len(lines) and lines[at]:
            kind, _, rest = lines[at].partition(" ")
            at += 1
            if kind == "shape":
                self.shape = tuple(int(v) for v in rest.split())
            elif kind in ("obs", "var"):
                getattr(self, kind).append(rest[1:])
            elif kind == "matrix":
                name, rows, cols, form = rest.rsplit(" ", 3)
                rows, cols = int(rows), int(cols)
                m = np.zeros((rows, cols), np.float32)
                entries = 0
                for i in range(rows):
                    fields = lines[at + i].split(" ")[1:]
                    entries += len(fields)
                    for j, field in enumerate(fields):
                        if form == "csr":
                            col, _, value = field.partition(":")
                            m[i, int(col)] = np.float32(value)
                        else:
                            m[i, j] = np.float32(field)
                at += rows
                if name in self.matrices:  # the next block of rows
                    old, form_, n = self.matrices[name]
                    self.matrices[name] = (np.vstack([old, m]), form, n + entries)
                else:
                    self.matrices[name] = (m, form, entries)
            elif kind == "column":
                table, form, name = rest.split(" ", 2)
                levels = []
                while lines[at].startswith("level ="):
                    levels.append(lines[at][7:])
                    at += 1
                n = self.shape[0 if table == "obs" else 1]
                values = [None if v == "NULL" else v for v in lines[at : at + n]]
                values = [v[1:] if v and v[0] == "=" else v for v in values]
                at += n
                self.columns[table, name] = (form, levels, values)
            elif kind == "record":
                self.record = rest
            else:
                raise AssertionError("dump: " + lines[at - 1])


def run(*args, ok=True):
    p = subprocess.run([str(DUMP), *map(str, args)], capture_output=True, text=True)
    if ok and p.returncode:
        raise AssertionError(p.stderr)
    return p


def read(path, *args):
    return Read(run(*args, path).stdout)


def dense(x):
    return np.asarray(x.todense() if sp.issparse(x) else x, dtype=np.float32)


def same_matrix(got, x, form=None):
    m, kind, entries = got
    np.testing.assert_array_equal(m, dense(x))
    assert kind == (form or ("csr" if sp.issparse(x) else "dense")), kind
    if sp.issparse(x):
        assert entries == x.nnz, (entries, x.nnz)


def text(v):
    """A category as text: whole numbers without a point."""
    if isinstance(v, (bool, np.bool_)):
        return str(bool(v))
    if isinstance(v, (float, np.floating)) and float(v).is_integer():
        return str(int(v))
    return str(v)


def same_column(got, series):
    form, levels, values = got
    if isinstance(series.dtype, pd.CategoricalDtype):
        assert form == "categorical", form
        assert levels == [text(c) for c in series.cat.categories], levels
        assert values == [None if pd.isna(v) else text(v) for v in series], (values, list(series))
    elif pd.api.types.is_bool_dtype(series.dtype):
        assert form == "bool", form
        assert values == ["-1" if pd.isna(v) else str(int(v)) for v in series]
    elif pd.api.types.is_numeric_dtype(series.dtype):
        whole = pd.api.types.is_integer_dtype(series.dtype)
        assert form == ("number-integer" if whole else "number"), form
        want = np.array([np.nan if pd.isna(v) else float(v) for v in series])
        np.testing.assert_array_equal(np.array([float(v) for v in values]), want)
    else:
        assert form == "string", form
        assert values == list(series), (values, list(series))


def same(got, a, raw=False, layers=True):
    var, x = (a.raw.var, a.raw.X) if raw else (a.var, a.X)
    assert got.shape == x.shape, got.shape
    assert got.obs == [str(v) for v in a.obs_names]
    assert got.var == [str(v) for v in var.index]
    same_matrix(got.matrices["X"], x)
    for k, v in a.layers.items() if layers and not raw else []:
        same_matrix(got.matrices["layers/" + k], v)
    for k, v in a.obsm.items():
        if isinstance(v, np.ndarray):
            same_matrix(got.matrices["obsm/" + k], v if v.ndim == 2 else v[:, None])
    for table, frame in (("obs", a.obs), ("var", var)):
        assert [n for t, n in got.columns if t == table] == list(frame.columns)
        for c in frame.columns:
            try:
                same_column(got.columns[table, c], frame[c])
            except AssertionError as e:
                raise AssertionError(f"{table}/{c}: {e}")


def quiet_read(path):
    """AnnData's reading with every warning an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return anndata.read_h5ad(path)


def sample(n=37, g=23, dtype=np.float32, form="csr", rich=True):
    x = sp.random(n, g, 0.2, format="csr", random_state=3, dtype=np.float64)
    x.data = np.round(x.data * 50)
    x = x.astype(dtype)
    x = {"csr": lambda: x, "csc": x.tocsc, "dense": lambda: np.asarray(x.todense())}[form]()
    obs = pd.DataFrame(index=[f"zelle-{i}" for i in range(n)])
    var = pd.DataFrame(index=[f"gène{j}" for j in range(g)])
    if rich:
        cat = RNG.choice(["B", "T é", "NK"], n).astype(object)
        cat[3] = np.nan
        obs["cat"] = pd.Categorical(cat)
        obs["ordered"] = pd.Categorical(RNG.choice(["lo", "hi"], n), categories=["lo", "hi"], ordered=True)
        obs["cluster"] = pd.Categorical(RNG.choice([10, 2, 33], n))
        obs["dose"] = pd.Categorical(RNG.choice([0.5, 1.0, 2.25], n))
        obs["many"] = pd.Categorical([f"level {i}" for i in range(n)])
        obs["flagged"] = pd.Categorical(RNG.choice([True, False], n))
        obs["text"] = [f"Zeile {i} ü" for i in range(n)]
        obs["empty text"] = ["" if i % 3 else "x" for i in range(n)]
        obs["f64"] = RNG.normal(size=n)
        obs["f32"] = RNG.normal(size=n).astype(np.float32)
        obs["f16"] = RNG.normal(size=n).astype(np.float16)
        obs["missing"] = np.where(np.arange(n) % 4 == 0, np.nan, 1.5)
        for t in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
            obs[t] = RNG.integers(0, 100, n).astype(t)
        obs["bool"] = RNG.random(n) > 0.5
        obs["nullint"] = pd.array([None if i % 5 == 0 else i for i in range(n)], dtype="Int64")
        obs["nullbool"] = pd.array([None if i % 5 == 0 else i % 2 == 0 for i in range(n)], dtype="boolean")
        var["id"] = [f"ENSG{j:05}" for j in range(g)]
        var["mean"] = RNG.random(g)
    a = anndata.AnnData(x, obs=obs, var=var, dtype=dtype)
    if rich:
        a.layers["counts"] = x.copy()
        a.layers["scaled"] = dense(x) * 2
        a.obsm["X_pca"] = RNG.normal(size=(n, 5))
        a.obsm["X_umap"] = RNG.normal(size=(n, 2)).astype(np.float32)
        a.obsm["frame"] = pd.DataFrame({"a": np.arange(n)}, index=a.obs_names)
        a.obsm["sparse"] = sp.csr_matrix(np.eye(n, 3))
        a.varm["PCs"] = RNG.normal(size=(g, 5))
        a.obsp["connectivities"] = sp.random(n, n, 0.1, format="csr", random_state=1)
        a.uns["neighbors"] = {"params": {"k": 15, "method": "umap"}, "array": np.arange(4)}
        a.uns["cat_colors"] = np.array(["#ff0000", "#00ff00"])
        a.uns["text"] = "hello"
    return a


TESTS = []


def test(f):
    TESTS.append((f.__name__.replace("_", " "), f))
    return f


def each(name, values):
    def wrap(f):
        for v in values:
            TESTS.append((f"{f.__name__.replace('_', ' ')}: {v}", lambda v=v: f(v)))
        return f

    return wrap


COMPRESSIONS = [None, "gzip", "lzf"]


@each("form", [(f, c) for f in ("csr", "csc", "dense") for c in COMPRESSIONS])
def everything_that_anndata_writes(case):
    form, compression = case
    a = sample(form=form)
    a.raw = a[:, :9].copy() if form != "csc" else a
    p = TMP / "a.h5ad"
    a.write_h5ad(p, compression=compression)
    a = anndata.read_h5ad(p)
    got = read(p)
    for k in ("X", "layers/counts"):  # csc becomes csr
        assert got.matrices[k][1] == ("dense" if form == "dense" else "csr")
    same(got, a)
    same(read(p, "--raw"), a, raw=True)
    layer = read(p, "--layer", "scaled")
    same_matrix(layer.matrices["X"], a.layers["scaled"])
    assert "layers/scaled" not in layer.matrices


@each("dtype", ["f2", "f4", "f8", ">f4", ">f8", "i1", "u1", "i2", "u2", ">i2", "i4", "u4", "i8", "u8", ">i8"])
def value_types(dtype):
    a = sample(form="csr", rich=False)
    p = TMP / "t.h5ad"
    for form in ("csr", "dense"):
        for options in ({}, {"compression": "gzip", "chunks": True}, {"compression": "lzf", "shuffle": True, "chunks": True}):
            x = a.X if form == "csr" else dense(a.X)
            anndata.AnnData(x, obs=a.obs, var=a.var, dtype="float32").write_h5ad(p)
            with h5py.File(p, "r+") as f:
                where = "X/data" if form == "csr" else "X"
                v, attrs = f[where][()], dict(f[where].attrs)
                del f[where]
                f.create_dataset(where, data=v.astype(dtype), **options)
                for k, w in attrs.items():
                    f[where].attrs[k] = w
            same_matrix(read(p).matrices["X"], x)


@each("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", ">i4", ">u8"])
def index_types(dtype):
    a = sample(form="csr", rich=False)
    p = TMP / "t.h5ad"
    for form in ("csr", "csc"):
        a2 = anndata.AnnData(a.X.asformat(form), obs=a.obs, var=a.var, dtype="float32")
        a2.write_h5ad(p)
        with h5py.File(p, "r+") as f:
            for k in ("indices", "indptr"):
                v = f["X/" + k][()]
                del f["X/" + k]
                wide = dtype if v.max() <= np.iinfo(np.dtype(dtype)).max else "u2"
                f.create_dataset("X/" + k, data=v.astype(wide), compression="gzip", shuffle=True)
        same_matrix(read(p).matrices["X"], a.X)


LAYOUTS = {
    "contiguous": {},
    "tiny chunks": {"chunks": (7,), "compression": "gzip"},
    "one chunk": {"chunks": (100000,), "maxshape": (None,), "compression": "gzip"},
    "shuffle": {"chunks": (64,), "compression": "gzip", "shuffle": True},
    "fletcher32": {"chunks": (64,), "fletcher32": True},
    "all": {"chunks": (50,), "compression": "gzip", "compression_opts": 9, "shuffle": True, "fletcher32": True},
    "lzf": {"chunks": (64,), "compression": "lzf"},
    "lzf all": {"chunks": (33,), "compression": "lzf", "shuffle": True, "fletcher32": True},
    "scaleoffset (left to HDF5)": {"chunks": (64,), "scaleoffset": 0},
    "no filter": {"chunks": (64,)},
}


@each("layout", LAYOUTS)
def layouts_of_lists(layout):
    a = sample(n=211, form="csr", rich=False)
    p = TMP / "t.h5ad"
    a.write_h5ad(p)
    with h5py.File(p, "r+") as f:
        for k in ("data", "indices"):
            v = f["X/" + k][()]
            del f["X/" + k]
            f.create_dataset("X/" + k, data=v.astype("i4") if "scale" in layout else v, **LAYOUTS[layout])
    same_matrix(read(p).matrices["X"], a.X)
    same_matrix(read(p, "--threads", 1).matrices["X"], a.X)
    for step in (1, 10, 1000):
        same_matrix(read(p, "--rows", step).matrices["X"], a.X)


@each("chunks", [None, (1, 23), (10, 10), (50, 23), (37, 1), (64, 64)])
def layouts_of_dense(chunks):
    a = sample(form="dense", rich=False)
    p = TMP / "t.h5ad"
    for compression in COMPRESSIONS:
        a.write_h5ad(p)
        with h5py.File(p, "r+") as f:
            v, attrs = f["X"][()], dict(f["X"].attrs)
            del f["X"]
            options = {} if chunks is None else {"chunks": chunks, "maxshape": (None, None), "compression": compression}
            f.create_dataset("X", data=v, **options)
            f["X"].attrs.update(attrs)
        same(read(p), a)
        for step in (1, 7, 100):
            same_matrix(read(p, "--rows", step).matrices["X"], a.X)


@test
def chunks_that_were_never_written():
    a = sample(form="dense", rich=False)
    p = TMP / "t.h5ad"
    a.write_h5ad(p)
    with h5py.File(p, "r+") as f:
        attrs = dict(f["X"].attrs)
        del f["X"]
        d = f.create_dataset("X", shape=a.shape, dtype="f4", chunks=(5, 23), compression="gzip", fillvalue=2.5)
        d[10:15] = 1
        d.attrs.update(attrs)
        want = d[()]
    same_matrix(read(p).matrices["X"], want)


@test
def compact_layout():
    a = sample(n=5, g=4, form="dense", rich=False)
    p = TMP / "t.h5ad"
    a.write_h5ad(p)
    with h5py.File(p, "r+") as f:
        v = f["X"][()]
        del f["X"]
        dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        dcpl.set_layout(h5py.h5d.COMPACT)
        d = h5py.h5d.create(f.id, b"X", h5py.h5t.NATIVE_FLOAT, h5py.h5s.create_simple(v.shape), dcpl)
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, v)
    same_matrix(read(p).matrices["X"], a.X)


@test
def fixed_length_and_ascii_text():
    a = sample(rich=False)
    p = TMP / "t.h5ad"
    a.write_h5ad(p)
    names = [f"c{i}" for i in range(a.n_obs)]
    with h5py.File(p, "r+") as f:
        del f["obs/_index"]
        f["obs"].create_dataset("_index", data=np.array(names, dtype="S9"))
        f["obs"].create_dataset("ascii", data=names, dtype=h5py.string_dtype("ascii"))
        f["obs"].create_dataset("utf8", data=np.array([n.encode() for n in names], dtype=h5py.string_dtype("utf-8", 7)))
        f["obs"].attrs["column-order"] = np.array(["ascii", "utf8"], dtype=h5py.string_dtype())
    got = read(p)
    assert got.obs == names
    assert got.columns["obs", "ascii"] == ("string", [], names)
    assert got.columns["obs", "utf8"] == ("string", [], names)


def write_07(p, a):
    """The layout of AnnData 0.7: see its _io/h5ad.py of that time."""
    string = h5py.string_dtype()

    def frame(f, k, df):
        g = f.create_group(k)
        g.attrs["encoding-type"] = "dataframe"
        g.attrs["encoding-version"] = "0.1.0"
        g.attrs["column-order"] = np.array(list(df.columns), dtype=string)
        g.attrs["_index"] = "_index"
        g.create_dataset("_index", data=np.array(df.index, dtype=object), dtype=string)
        for c in df.columns:
            s = df[c]
            if isinstance(s.dtype, pd.CategoricalDtype):
                cats = g.require_group("__categories")
                values = s.cat.categories
                cats.create_dataset(c, data=np.array(values, dtype=object) if values.dtype == object else values.to_numpy(),
                                    dtype=string if values.dtype == object else None)
                cats[c].attrs["ordered"] = s.cat.ordered
                g.create_dataset(c, data=s.cat.codes.to_numpy())
                g[c].attrs["categories"] = cats[c].ref
            elif s.dtype == object:
                g.create_dataset(c, data=np.array(s, dtype=object), dtype=string)
            else:
                g.create_dataset(c, data=s.to_numpy())

    def sparse(f, k, x):
        g = f.create_group(k)
        g.attrs["encoding-type"] = x.format + "_matrix"
        g.attrs["encoding-version"] = "0.1.0"
        g.attrs["shape"] = x.shape
        for part in ("data", "indices", "indptr"):
            g.create_dataset(part, data=getattr(x, part))

    with h5py.File(p, "w") as f:
        sparse(f, "X", a.X)
        frame(f, "obs", a.obs)
        frame(f, "var", a.var)
        for k, v in a.obsm.items():
            if isinstance(v, np.ndarray):
                f.create_dataset("obsm/" + k, data=v)
        for k, v in a.layers.items():
            (sparse if sp.issparse(v) else lambda f, k, v: f.create_dataset(k, data=v))(f, "layers/" + k, v)
        f.create_dataset("uns/colors", data=np.array(["#fff"], dtype=object), dtype=string)


def sample_07():
    a = sample()
    a.obs = a.obs.drop(columns=["nullint", "nullbool"])
    return a


@test
def layout_of_07():
    a = sample_07()
    write_07(TMP / "o.h5ad", a)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        back = anndata.read_h5ad(TMP / "o.h5ad")
    same(read(TMP / "o.h5ad"), back)
    same(read(TMP / "o.h5ad"), a)


def write_legacy(p, a, vlen):
    """The layout from before 0.7: compound tables, h5sparse, categories in uns."""
    def records(df):
        fields, values = [], []
        for name, s in [("index", df.index.to_series())] + [(c, df[c]) for c in df.columns]:
            if isinstance(s.dtype, pd.CategoricalDtype):
                values.append(s.cat.codes.to_numpy())
                fields.append((name, "i1"))
            elif s.dtype == object:
                values.append(np.array(s, dtype=object) if vlen else np.array([v.encode() for v in s], dtype="S"))
                fields.append((name, h5py.string_dtype() if vlen else values[-1].dtype))
            else:
                values.append(s.to_numpy())
                fields.append((name, s.dtype))
        out = np.empty(len(df), dtype=fields)
        for (name, _), v in zip(fields, values):
            out[name] = v
        return out

    with h5py.File(p, "w") as f:
        for k, x in (("X", a.X), ("raw.X", a.X)):
            g = f.create_group(k)
            g.attrs["h5sparse_format"] = "csr"
            g.attrs["h5sparse_shape"] = x.shape
            for part in ("data", "indices", "indptr"):
                g.create_dataset(part, data=getattr(x, part), compression="gzip")
        f.create_dataset("obs", data=records(a.obs))
        f.create_dataset("var", data=records(a.var))
        f.create_dataset("raw.var", data=records(a.var))
        obsm = np.empty(a.n_obs, dtype=[("X_pca", "f8", (5,)), ("X_umap", "f4", (2,))])
        for k in obsm.dtype.names:
            obsm[k] = a.obsm[k]
        f.create_dataset("obsm", data=obsm)
        for c in a.obs.columns:
            if isinstance(a.obs[c].dtype, pd.CategoricalDtype):
                v = a.obs[c].cat.categories
                f.create_dataset(f"uns/{c}_categories", data=np.array([x.encode() for x in v]) if v.dtype == object else v.to_numpy())
        f.create_dataset("uns/kept", data=np.arange(3))


def sample_legacy():
    a = sample_07()
    a.obs = a.obs.drop(columns=["flagged", "bool"])
    for k in list(a.layers):
        del a.layers[k]
    return a


@each("vlen", [False, True])
def layout_before_07(vlen):
    a = sample_legacy()
    if not vlen:  # AnnData 0.8 itself reads fixed-size text of ASCII only
        a.var_names = [f"gene{j}" for j in range(a.n_vars)]
        a.obs["text"] = [f"row {i}" for i in range(a.n_obs)]
        a.obs["cat"] = a.obs["cat"].cat.rename_categories({"T é": "T"})
    p = TMP / "l.h5ad"
    write_legacy(p, a, vlen)
    same(read(p), a)
    same_matrix(read(p, "--raw").matrices["X"], a.X)
    run("--update", TMP / "u.h5ad", p)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        u = anndata.read_h5ad(TMP / "u.h5ad")
    for c in a.obs.columns:
        b = a.obs[c]
        if isinstance(b.dtype, pd.CategoricalDtype) and c != "cluster":  # category numbers become text
            assert [None if pd.isna(v) else text(v) for v in b] == [None if pd.isna(v) else v for v in u.obs[c]]
    assert list(u.uns["kept"]) == [0, 1, 2] and "cat_categories" not in u.uns
    np.testing.assert_array_equal(dense(u.X), dense(a.X))
    assert "X_comp" in u.obsm and "X_pca" in u.obsm and u.raw is not None


@test
def the_real_legacy_file():
    p = DATA / "kang" / "scgen_valid_legacy.h5ad"
    if not p.exists():
        return "SKIP no " + str(p)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a = anndata.read_h5ad(p)
    a.X.sort_indices()
    got = read(p)
    a.var.index.name = a.obs.index.name = None
    same(got, a)


@each("file", ["kang/kang_ifnb.h5ad", "pbmc_protocols/symphony_1500x1764.h5ad", "pbmc_protocols/v2_vs_5p_6500.h5ad"])
def real_files(file):
    p = DATA / file
    if not p.exists():
        return "SKIP no " + str(p)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # repeated barcodes
        a = anndata.read_h5ad(p)
    same(read(p), a)


def tenx_features(f, g):
    f["matrix/features/id"] = np.array([f"ENSG{j:011}" for j in range(g)], dtype="S15")
    f["matrix/features/name"] = np.array([f"G{j}" for j in range(g)], dtype="S17")
    f["matrix/features/feature_type"] = np.array(["Gene Expression"] * g, dtype="S15")
    f["matrix/features/genome"] = np.array(["GRCh38"] * g, dtype="S6")
    f["matrix/features/_all_tag_keys"] = np.array(["genome"], dtype="S6")


def tenx(p, version, genomes=("GRCh38",), repeat=False):
    """As Cell Ranger lays it out: int32 counts, int64 indices and pointers, genes x cells by columns, gzip."""
    x = sp.random(31, 52, 0.2, format="csc", random_state=5)
    x.data = np.ceil(x.data * 20)
    with h5py.File(p, "w") as f:
        for genome in genomes if version == 2 else ["matrix"]:
            g = f.create_group(genome)
            packed = {"compression": "gzip", "chunks": (40,), "shuffle": True}
            g.create_dataset("data", data=x.data.astype("i4"), **packed)
            g.create_dataset("indices", data=x.indices.astype("i8"), **packed)
            g.create_dataset("indptr", data=x.indptr.astype("i8"))
            g.create_dataset("shape", data=np.array(x.shape, dtype="i4"))
            g["barcodes"] = np.array([f"ACGT{i:012}-1" for i in range(52)], dtype="S18")
            names = [f"G{j}" for j in range(31)]
            if repeat:
                names[4] = names[7] = names[2]
                names[9] = "G2-1"
            if version == 2:
                g["genes"] = np.array([f"ENSG{j:011}" for j in range(31)], dtype="S15")
                g["gene_names"] = np.array(names, dtype="S17")
        if version == 3:
            tenx_features(f, 31)
            f["matrix/features/name"][...] = np.array(names, dtype="S17")
            f.attrs["filetype"] = "matrix"
            f.attrs["version"] = 2
    return x.T.tocsr()


@each("version", [2, 3])
def tenx_files(version):
    p = TMP / "x.h5"
    x = tenx(p, version)
    got = read(p)
    same_matrix(got.matrices["X"], x)
    assert got.obs[3] == "ACGT000000000003-1" and got.var[:2] == ["G0", "G1"]
    assert got.columns["var", "gene_ids"][2][1] == "ENSG00000000001"
    if version == 3:
        assert got.columns["var", "feature_types"][2][0] == "Gene Expression"
        assert got.columns["var", "genome"][2][0] == "GRCh38"
    for step in (1, 9, 100):
        same_matrix(read(p, "--rows", step).matrices["X"], x)
    run("--update", TMP / "u.h5ad", p)
    u = quiet_read(TMP / "u.h5ad")
    np.testing.assert_array_equal(dense(u.X), dense(x))
    assert "X_comp" in u.obsm


@test
def tenx_repeated_gene_names_become_unique_as_in_anndata():
    p = TMP / "x.h5"
    tenx(p, 3, repeat=True)
    with h5py.File(p) as f:
        names = pd.Index([n.decode() for n in f["matrix/features/name"][()]])
    want = anndata.utils.make_index_unique(names)
    r = run(p)
    assert Read(r.stdout).var == list(want)
    assert "2 of the feature names repeat" in r.stderr, r.stderr


@test
def tenx_several_genomes():
    p = TMP / "x.h5"
    tenx(p, 2, genomes=("hg19", "mm10"))
    r = run(p, ok=False)
    assert r.returncode == 1 and "hg19, mm10" in r.stderr, r.stderr


@each("form", ["csr", "csc", "dense"])
def what_is_written_is_read_by_anndata(form):
    a = sample(form=form)
    p, q = TMP / "a.h5ad", TMP / "b.h5ad"
    a.write_h5ad(p)
    for args in ([], ["--level", 0], ["--level", 9], ["--threads", 1]):
        run("--write", q, *args, p)
        b = quiet_read(q)
        np.testing.assert_array_equal(dense(b.X), dense(a.X))
        assert sp.issparse(b.X) == (form != "dense")
        if form != "dense":
            assert b.X.indices.dtype == np.int32 and b.X.indptr.dtype == np.int32 and b.X.format == "csr"
        assert list(b.obs.columns) == list(a.obs.columns)
        for frame, other in ((a.obs, b.obs), (a.var, b.var)):
            assert list(frame.index) == list(other.index)
            for c in frame.columns:
                s, t = frame[c], other[c]
                if isinstance(s.dtype, pd.CategoricalDtype):
                    assert isinstance(t.dtype, pd.CategoricalDtype)
                    assert [text(v) for v in s.cat.categories] == list(t.cat.categories)
                    assert list(s.cat.codes) == list(t.cat.codes)
                elif s.dtype == object:
                    assert list(s) == list(t)
                else:
                    pd.testing.assert_series_equal(s, t, check_dtype=c in ("bool", "nullint", "nullbool", "i8", "f64"))
        for k in a.layers:
            np.testing.assert_array_equal(dense(a.layers[k]), dense(b.layers[k]))
        for k in ("X_pca", "X_umap"):
            np.testing.assert_array_equal(dense(a.obsm[k]), b.obsm[k])
        same(read(q), b)


@test
def writing_is_the_same_at_any_thread_count():
    p = TMP / "a.h5ad"
    sample(n=3000, g=300).write_h5ad(p)
    run("--write", TMP / "1.h5ad", "--threads", 1, p)
    run("--write", TMP / "7.h5ad", "--threads", 7, p)
    assert (TMP / "1.h5ad").read_bytes() == (TMP / "7.h5ad").read_bytes()


def objects(f):
    """Every object of a file: type, attributes, content."""
    out = {}

    def add(name, o):
        attrs = {}
        for k, v in o.attrs.items():
            attrs[k] = f[v].name if isinstance(v, h5py.Reference) else np.asarray(v).tolist()
        if isinstance(o, h5py.Dataset):
            v = o[()]
            out[name] = (str(o.dtype), o.shape, o.chunks, o.compression, attrs, v.tobytes() if o.dtype != object else
                         np.asarray(v).tolist())
        else:
            out[name] = ("group", attrs)

    add("/", f)
    f.visititems(add)
    return out


def check_update(p, out, a):
    with h5py.File(p) as f:
        before = objects(f)
    run("--update", out, p)
    with h5py.File(out) as f:
        after = objects(f)
    new = ("obs/score", "obs/cluster", "layers/made", "obsm/X_comp", "uns/comp")
    for k, v in before.items():
        if k == "obs":  # its column-order has grown
            old, now = v[1].pop("column-order"), after[k][1].pop("column-order")
            assert now == old + [c for c in ("score", "cluster") if c not in old], (old, now)
        if not k.startswith(new):
            assert after[k] == v, (k, v, after[k])
    for k in after:
        assert k in before or k.startswith(new) or k in ("layers", "obsm", "uns"), k


def check_results(b, n):
    assert list(b.obs["score"]) == [i / 2 for i in range(n)]
    assert [None if pd.isna(v) else v for v in b.obs["cluster"]] == [[None, "a", "b"][i % 3] for i in range(n)]
    np.testing.assert_array_equal(b.obsm["X_comp"], np.column_stack([np.zeros(n), np.arange(n)]))
    np.testing.assert_array_equal(b.layers["made"][:, 0], np.arange(n))
    assert b.uns["comp"]["record"] == '{"did": "update"}'


@each("form", ["csr", "csc", "dense"])
def updating_leaves_all_else_as_it_was(form):
    a = sample(form=form)
    a.raw = a
    a.obs["cluster"] = a.obs["cluster"]  # of numbers: is replaced
    p, q = TMP / "a.h5ad", TMP / "b.h5ad"
    a.write_h5ad(p, compression="gzip" if form == "csr" else None)
    with h5py.File(p, "r+") as f:  # things that no AnnData knows of
        f.create_group("extra/deep").attrs["note"] = "mine"
        f["extra/deep/numbers"] = np.arange(10)
        f["extra/link"] = h5py.SoftLink("/extra/deep")
        f["uns/strange"] = np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")])
        f.attrs["mine"] = 3
    check_update(p, q, a)
    with h5py.File(q, "r+") as f:
        del f["extra"], f["uns/strange"]
    check_results(quiet_read(q), a.n_obs)


@test
def updating_in_place_and_again():
    a = sample()
    p = TMP / "a.h5ad"
    a.write_h5ad(p)
    for _ in range(3):
        check_update(p, p, a)
        b = quiet_read(p)
        check_results(b, a.n_obs)
        assert list(b.obs.columns) == list(a.obs.columns) + ["score"]
    assert not list(TMP.glob("*.tmp-*"))


@test
def updating_the_layout_of_07():
    a = sample_07()
    p, q = TMP / "o.h5ad", TMP / "u.h5ad"
    write_07(p, a)
    run("--update", q, p)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        b = anndata.read_h5ad(q)
    check_results(b, a.n_obs)
    for c in a.obs.columns:
        if c != "cluster":
            assert list(a.obs[c].astype(str)) == list(b.obs[c].astype(str)), c


@test
def carrying_over_what_a_new_file_does_not_hold():
    a = sample()
    a.raw = a
    p, q = TMP / "a.h5ad", TMP / "b.h5ad"
    a.write_h5ad(p)
    run("--write", q, "--carry", p, p)
    b = quiet_read(q)
    assert b.uns["neighbors"]["params"]["method"] == "umap" and list(b.uns["cat_colors"]) == list(a.uns["cat_colors"])
    np.testing.assert_array_equal(dense(b.obsp["connectivities"]), dense(a.obsp["connectivities"]))
    np.testing.assert_array_equal(b.varm["PCs"], a.varm["PCs"])
    np.testing.assert_array_equal(dense(b.obsm["sparse"]), dense(a.obsm["sparse"]))
    assert b.raw.shape == a.raw.shape
    # of other samples: what belongs to the old ones stays behind, and is named
    other = sample(n=20)
    other.write_h5ad(TMP / "c.h5ad")
    r = run("--write", q, "--carry", p, TMP / "c.h5ad")
    b = quiet_read(q)
    assert b.uns["text"] == "hello" and b.raw is None and len(b.obsp) == 0 and "PCs" in b.varm
    assert "left behind" in r.stderr and "obsp/connectivities" in r.stderr and "raw" in r.stderr, r.stderr


@test
def categories_after_a_reference_were_carried():
    a = sample_07()
    p, q = TMP / "o.h5ad", TMP / "b.h5ad"
    write_07(p, a)
    run("--write", q, "--carry", p, p)
    assert list(quiet_read_07(q).uns["colors"]) == ["#fff"]


def comp(*args):
    return subprocess.run([str(BUILD / "comp"), *map(str, args)], capture_output=True, text=True)


def rich_sample():
    """What a comp_table cannot hold: numbers beyond 2^53, ordered categories, categories that are numbers, 64-bit matrices."""
    rng = np.random.default_rng(0)
    n = 200
    a = anndata.AnnData(rng.poisson(1.0, (n, 30)).astype("f4"))
    a.obs["id"] = np.arange(n) + 2**60 + 1
    a.obs["order"] = pd.Categorical(rng.choice(list("abc"), n), categories=list("cab"), ordered=True)
    a.obs["day"] = pd.Categorical(rng.choice([0, 7.5, 15], n))
    a.layers["wide"] = rng.normal(size=(n, 30))
    a.obsm["X_pca"] = rng.normal(size=(n, 4))
    a.uns["words"] = np.array(["a", "b", "c"], dtype=object)
    a.raw = a
    return a


@test
def prep_in_place_keeps_what_it_does_not_touch():
    a, p = rich_sample(), TMP / "rich.h5ad"
    for compression in ("gzip", "lzf", None):
        a.write_h5ad(p, compression=compression)
        r = comp("prep", "-i", p, "-o", p, "--normalize-total", "median", "--log1p")
        assert r.returncode == 0, r.stderr
        b = quiet_read(p)
        assert (b.obs["id"].values == a.obs["id"].values).all()
        assert b.obs["order"].cat.ordered and b.obs["day"].cat.categories.dtype == a.obs["day"].cat.categories.dtype
        assert b.layers["wide"].dtype == np.float64 and (b.layers["wide"] == a.layers["wide"]).all()
        assert (b.obsm["X_pca"] == a.obsm["X_pca"]).all() and list(b.uns["words"]) == ["a", "b", "c"]
        assert "comp_library_size" in b.obs and b.raw is not None


@test
def a_choice_of_samples_keeps_the_order_of_categories():
    a, p, q = rich_sample(), TMP / "rich.h5ad", TMP / "some.h5ad"
    a.write_h5ad(p)
    r = comp("prep", "-i", p, "-o", q, "--keep", "order=a,b", "--normalize-total", "median", "--log1p")
    assert r.returncode == 0, r.stderr
    b = quiet_read(q)
    assert b.obs["order"].cat.ordered and list(b.obs["order"].cat.categories) == ["c", "a", "b"]
    assert b.n_obs == a.obs["order"].isin(["a", "b"]).sum()


@test
def lzf_text_is_carried():
    for n in (1, 2, 1000):
        a, p, q = anndata.AnnData(np.ones((11, 3), "f4")), TMP / "m.h5ad", TMP / "mo.h5ad"
        a.uns["x"] = np.array([f"word{i}" for i in range(n)], dtype=object)
        a.write_h5ad(p, compression="lzf")
        r = comp("convert", "-i", p, "-o", q)
        assert r.returncode == 0, r.stderr
        assert list(quiet_read(q).uns["x"]) == list(a.uns["x"])


@test
def a_legacy_file_becomes_one_that_is_read_without_a_warning():
    p, q = DATA / "kang" / "scgen_valid_legacy.h5ad", TMP / "new.h5ad"
    if not p.exists():
        return "SKIP the real data is not here (COMP_DATA)"
    r = comp("convert", "-i", p, "-o", q)
    assert r.returncode == 0, r.stderr
    old, new = quiet_read_07(p), quiet_read(q)
    assert (old.X != new.X).nnz == 0 and list(old.obs_names) == list(new.obs_names)
    assert (old.obsp["distances"] != new.obsp["distances"]).nnz == 0
    assert list(old.uns["cell_type_colors"]) == list(new.uns["cell_type_colors"])
    return None


def quiet_read_07(p):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return anndata.read_h5ad(p)


def main():
    failed = 0
    print(f"1..{len(TESTS)}")
    for number, (name, f) in enumerate(TESTS, 1):
        try:
            skip = f()
            print(f"ok {number} - {name}" + (f" # {skip}" if skip else ""))
        except Exception:
            failed += 1
            print(f"not ok {number} - {name}")
            for line in traceback.format_exc().splitlines()[-12:]:
                print("# " + line)
        sys.stdout.flush()
    subprocess.run(["rm", "-rf", str(TMP)])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
