"""Compares writing and updating of .h5ad with AnnData and h5py: what we write is read there, what we leave alone stays. Speaks TAP."""
import os
import subprocess
import sys

import anndata
import h5py
import numpy as np
import pandas as pd
import scipy.sparse as sp

sys.path.insert(0, os.path.dirname(__file__))
from h5ad_common import BUILD, DATA, TMP, dense, each, main, quiet_read, read, read_old, run, same, sample, sample_07, test, text, write_07  # noqa: E402


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
    b = read_old(q)
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
    assert list(read_old(q).uns["colors"]) == ["#fff"]


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
    old, new = read_old(p), quiet_read(q)
    assert (old.X != new.X).nnz == 0 and list(old.obs_names) == list(new.obs_names)
    assert (old.obsp["distances"] != new.obsp["distances"]).nnz == 0
    assert list(old.uns["cell_type_colors"]) == list(new.uns["cell_type_colors"])
    return None


if __name__ == "__main__":
    sys.exit(main())
