"""What AnnData 0.9 to 0.13 write and Debian's 0.8 cannot, made by hand from AnnData's description of its files: read equal from .h5ad and zarr. Speaks TAP."""
import os
import shutil
import sys

import h5py
import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
import zarr3  # noqa: E402
from h5ad_common import TMP, each, main, read, run, test  # noqa: E402

N = 7
NAMES = [f"zelle-{i}" for i in range(N)]


class H5:
    """The same calls as zarr3.Group, over HDF5."""

    def __init__(self, group, attributes=None):
        self.g = group
        for k, v in (attributes or {}).items():
            group.attrs[k] = np.array(v, h5py.string_dtype()) if isinstance(v, list) and all(isinstance(x, str) for x in v) else v

    def group(self, name, attributes=None):
        return H5(self.g.create_group(name), attributes)

    def array(self, name, values, attributes=None):
        values = np.asarray(values)
        d = self.g.create_dataset(name, data=values, dtype=h5py.string_dtype() if values.dtype == object else None)
        d.attrs.update(attributes or {})

    def null(self, name):
        self.g.create_dataset(name, data=h5py.Empty("f")).attrs.update({"encoding-type": "null", "encoding-version": "0.1.0"})


class Z3(zarr3.Group):
    def group(self, name, attributes=None):
        return Z3(self.folder / name, attributes)

    def array(self, name, values, attributes=None):
        super().array(name, np.asarray(values), attributes=attributes)

    def null(self, name):
        self.array(name, np.array(False), {"encoding-type": "null", "encoding-version": "0.1.0"})


def texts(g, name, values):
    g.array(name, np.array(values, object), {"encoding-type": "string-array", "encoding-version": "0.2.0"})


def numbers(g, name, values):
    g.array(name, values, {"encoding-type": "array", "encoding-version": "0.2.0"})


def masked(g, name, kind, values, mask, **more):
    h = g.group(name, {"encoding-type": kind, "encoding-version": "0.1.0", **more})
    (texts if kind == "nullable-string-array" else numbers)(h, "values", values)
    numbers(h, "mask", np.array(mask))


def fill(root):
    obs = root.group("obs", {"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index",
                             "column-order": ["na", "nan", "none", "plain", "cat", "intcat", "u1", "i4", "bool", "empty"]})
    masked(obs, "_index", "nullable-string-array", NAMES, [False] * N, **{"na-value": "NaN"})
    masked(obs, "na", "nullable-string-array", ["", "a", "ü", "", "b", "", "c"], [True, False, False, False, False, True, False], **{"na-value": "NA"})
    masked(obs, "nan", "nullable-string-array", ["x"] * N, [False, True] * 3 + [False], **{"na-value": "NaN"})
    masked(obs, "none", "nullable-string-array", [""] * N, [True] * N)  # before na-value was written
    texts(obs, "plain", [f"t{i}" for i in range(N)])
    cat = obs.group("cat", {"encoding-type": "categorical", "encoding-version": "0.2.0", "ordered": True})
    masked(cat, "categories", "nullable-string-array", ["lo", "hi"], [False, False], **{"na-value": "NaN"})
    numbers(cat, "codes", np.array([0, 1, -1, 0, 1, 1, 0], "i1"))
    cat = obs.group("intcat", {"encoding-type": "categorical", "encoding-version": "0.2.0", "ordered": False})
    masked(cat, "categories", "nullable-integer", np.array([10, 20], "i8"), [False, False])
    numbers(cat, "codes", np.array([1, 1, 0, 0, -1, 1, 0], "i1"))
    masked(obs, "u1", "nullable-integer", np.arange(N).astype("u1"), [False] * 6 + [True])
    masked(obs, "i4", "nullable-integer", -np.arange(N).astype("i4"), [True] + [False] * 6)
    masked(obs, "bool", "nullable-boolean", np.arange(N) % 2 == 0, [False, False, True] + [False] * 4)
    masked(obs, "empty", "nullable-integer", np.zeros(N, "i8"), [True] * N)
    var = root.group("var", {"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "gene", "column-order": []})
    texts(var, "gene", ["A", "B", "C"])
    numbers(root, "X", np.arange(N * 3, dtype="f4").reshape(N, 3))
    obsm = root.group("obsm", {"encoding-type": "dict", "encoding-version": "0.1.0"})
    awkward = obsm.group("ragged", {"encoding-type": "awkward-array", "encoding-version": "0.1.0", "form": "{}", "length": N})
    numbers(awkward, "node0-offsets", np.arange(N + 1))
    numbers(obsm, "X_pca", np.ones((N, 2), "f4"))
    uns = root.group("uns", {"encoding-type": "dict", "encoding-version": "0.1.0"})
    uns.null("nothing")
    uns.array("flag", np.array(True), {"encoding-type": "numeric-scalar", "encoding-version": "0.2.0"})
    masked(uns, "words", "nullable-string-array", ["a", ""], [False, True], **{"na-value": "NA"})
    for part in ("layers", "obsp", "varm", "varp"):
        root.group(part, {"encoding-type": "dict", "encoding-version": "0.1.0"})


def check(got):
    assert got.obs == NAMES and got.var == ["A", "B", "C"]
    columns = {name: value for (table, name), value in got.columns.items() if table == "obs"}
    assert columns["na"] == ("string", [], [None, "a", "ü", "", "b", None, "c"]), columns["na"]
    assert columns["nan"][2] == ["x", None] * 3 + ["x"]
    assert columns["none"][2] == [None] * N
    assert columns["plain"][2] == [f"t{i}" for i in range(N)]
    assert columns["cat"] == ("categorical", ["lo", "hi"], ["lo", "hi", None, "lo", "hi", "hi", "lo"]), columns["cat"]
    assert columns["intcat"] == ("categorical", ["10", "20"], ["20", "20", "10", "10", None, "20", "10"]), columns["intcat"]
    assert [float(v) for v in columns["u1"][2][:6]] == [0, 1, 2, 3, 4, 5] and np.isnan(float(columns["u1"][2][6]))
    assert [float(v) for v in columns["i4"][2][1:]] == [-1, -2, -3, -4, -5, -6] and columns["i4"][0] == "number-integer"
    assert columns["bool"][2] == ["1", "0", "-1", "0", "1", "0", "1"]
    assert all(np.isnan(float(v)) for v in columns["empty"][2])
    assert list(got.matrices) == ["X", "obsm/X_pca"]


def make(kind):
    if kind == "h5ad":
        with h5py.File(TMP / "new.h5ad", "w") as f:
            fill(H5(f, {"encoding-type": "anndata", "encoding-version": "0.1.0"}))
        return TMP / "new.h5ad"
    shutil.rmtree(TMP / "new.zarr", ignore_errors=True)
    fill(Z3(TMP / "new.zarr", {"encoding-type": "anndata", "encoding-version": "0.1.0"}))
    return TMP / "new.zarr"


@each("as", ["h5ad", "zarr"])
def all_encodings(kind):
    p = make(kind)
    check(read(p))
    assert "obsm/ragged is not used" in run(p).stderr


@each("from", ["h5ad", "zarr"])
def they_go_along(kind):
    p = make(kind)
    shutil.rmtree(TMP / "out.zarr", ignore_errors=True)
    for out in (TMP / "out.zarr", TMP / "out.h5ad"):
        r = run("--write", out, "--zarr", 3, "--carry", p, p)
        check(read(out))
        if kind == "h5ad" and out.suffix == ".h5ad":
            continue  # copied by HDF5, whatever it is
        assert "left behind, since it cannot be written as" in r.stderr and "obsm/ragged" in r.stderr, r.stderr
    with h5py.File(TMP / "out.h5ad") as f:
        assert f["uns/nothing"].shape is None and f["uns/nothing"].attrs["encoding-type"] == "null"
        assert f["uns/flag"][()] and f["uns/flag"].dtype == bool
        assert [v.decode() for v in f["uns/words/values"]] == ["a", ""] and f["uns/words"].attrs["na-value"] == "NA"
    value, attributes = zarr3.read_array(TMP / "out.zarr" / "uns" / "nothing")
    assert value.shape == () and attributes["encoding-type"] == "null"


@test
def no_X():
    for kind in ("h5ad", "zarr"):
        p = make(kind)
        if kind == "h5ad":
            with h5py.File(p, "r+") as f:
                del f["X"]
                H5(f).null("X")
        else:
            shutil.rmtree(p / "X")
            Z3(p, {"encoding-type": "anndata"}).null("X")
        r = run(p, ok=False)
        assert r.returncode and "there is no X in it" in r.stderr, r.stderr


# ---- other files

@test
def other_files_of_hdf5_and_of_R():
    files = {"a.loom": ["matrix", "row_attrs/Gene", "col_attrs/CellID", "layers/x"], "a.h5Seurat": ["assays/RNA/counts", "cell.names", "meta.data/x"],
             "a.h5mu": ["mod/rna/X", "obs/_index", "var/_index"]}
    for name, paths in files.items():
        with h5py.File(TMP / name, "w") as f:
            for p in paths:
                f[p] = np.arange(3)
        r = run(TMP / name, ok=False)
        word = {"a.loom": "read_loom", "a.h5Seurat": "SeuratDisk::Convert", "a.h5mu": "mudata.read"}[name]
        assert r.returncode and word in r.stderr, r.stderr
    for name, data in (("a.rds", b"\x1f\x8b"), ("b.rds", b"X\n\0\0\0\3\0\4\2\0"), ("c.qs", b"\x0b\x0e\x0a\x0c\0\0\0"), ("d.RData", b"RDX3\nX\n\0\0\0\3"), ("e.rds", b"BZh9\0\0")):
        if data == b"\x1f\x8b":
            import gzip
            data = gzip.compress(b"X\n\0\0\0\3\0\4\2\0" + b"x" * 50)
        (TMP / name).write_bytes(data)
        r = run(TMP / name, ok=False)
        assert r.returncode and "RunComp" in r.stderr and "zellkonverter::writeH5AD" in r.stderr, (name, r.stderr)


if __name__ == "__main__":
    sys.exit(main())
