"""Compares reading of .h5ad and 10x .h5 with AnnData and h5py. Speaks TAP."""
import os
import sys
import warnings

import anndata
import h5py
import numpy as np
import pandas as pd
import scipy.sparse as sp

sys.path.insert(0, os.path.dirname(__file__))
from h5ad_common import DATA, Read, TMP, dense, each, main, quiet_read, read, read_old, run, same, same_matrix, sample, sample_07, test, text, write_07  # noqa: E402


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


@test
def layout_of_07():
    a = sample_07()
    write_07(TMP / "o.h5ad", a)
    back = read_old(TMP / "o.h5ad")
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
    u = read_old(TMP / "u.h5ad")
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
    a = read_old(p)
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


if __name__ == "__main__":
    sys.exit(main())
