"""What the oracles of .h5ad share: what h5_dump prints, samples of every kind, comparison with AnnData, TAP.

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


def read_old(path):
    """AnnData's reading of a layout that it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
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


def main():
    """Of the tests, those whose name contains the argument, if there is one."""
    failed = 0
    if len(sys.argv) > 1:
        TESTS[:] = [t for t in TESTS if sys.argv[1] in t[0]]
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
