"""Compares reading of zarr stores with zarr-python and AnnData (version 2) and with a writer made from the specification (version 3). Speaks TAP."""
import itertools
import json
import os
import shutil
import subprocess
import sys
import warnings

import anndata
import h5py
import numcodecs
import numpy as np
import pandas as pd
import zarr

sys.path.insert(0, os.path.dirname(__file__))
import zarr3  # noqa: E402
from h5ad_common import DATA, TMP, Read, dense, each, main, read, run, same, same_matrix, sample, test  # noqa: E402
from zarr_common import bad, comp, edit, refused, write_v2, write_v3  # noqa: E402

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


# ---- what is wrong

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


@test
def what_is_not_read_is_told():
    p = bad()
    a = anndata.read_zarr(p)
    a.obsm["pca"] = np.ones((37, 3), "f4")
    write_v2(p, a)
    (p / "obsm/pca/.zarray").unlink()
    r = comp("info", p)
    assert "obsm/pca is not read: it has files, but no metadata" in r.stderr, r.stderr


LOOKED_AT = {
    "a chunk that is damaged": (lambda p: (p / "obsm/X_pca/0.0").write_bytes(b"abc"), "obsm/X_pca is not read: obsm/X_pca: chunk 0,0"),
    "other rows": (lambda p: edit("obsm/X_pca/.zarray", shape=[36, 5]), "obsm/X_pca is not read: obsm/X_pca is 36 x 5"),
    "metadata that is not JSON": (lambda p: (p / "obsm/X_pca/.zarray").write_text("{"), "obsm/X_pca/.zarray is not JSON"),
    "a codec that is not known": (lambda p: edit("obsm/X_pca/.zarray", compressor={"id": "lzma"}), "obsm/X_pca is not read: obsm/X_pca: its chunks are compressed by 'lzma'"),
    "a layer that is damaged": (lambda p: (p / "layers/scaled/0.0").write_bytes(b"abc"), "layers/scaled is not read: layers/scaled: chunk 0,0"),
}


@each("damage", LOOKED_AT)
def a_look_goes_on_without_what_is_damaged(name):
    damage, needle = LOOKED_AT[name]
    p = bad()
    assert "warning" not in comp("info", p).stderr
    damage(p)
    for options in ([], ["--all"]):
        r = comp("info", p, *options)
        assert needle in r.stderr and r.stderr.count("warning") == 1, r.stderr
        assert "37 samples x 23 features" in r.stdout and "X_umap" in r.stdout and "counts" in r.stdout, r.stdout
    refused(needle.split(" is not read: ")[-1])


@test
def a_look_at_a_damaged_h5ad():
    sample().write_h5ad(TMP / "bad.h5ad", compression="gzip")
    with h5py.File(TMP / "bad.h5ad", "r") as f:
        at = f["obsm/X_umap"].id.get_chunk_info(0)
    with open(TMP / "bad.h5ad", "r+b") as f:
        f.seek(at.byte_offset)
        f.write(b"?" * 20)
    r = comp("info", TMP / "bad.h5ad")
    assert "warning: obsm/X_umap is not read" in r.stderr and "X_pca" in r.stdout and "X_umap" not in r.stdout, r.stderr
    for name in ("no.h5ad", "no.zarr"):
        r = comp("convert", "-i", TMP / "bad.h5ad", "-o", TMP / name, ok=False)
        assert r.returncode == 1 and "obsm/X_umap" in r.stderr and not (TMP / name).exists(), r.stderr


@test
def stores_of_several_anndata():
    """MuData, as .h5mu and as zarr: one of them has to be named."""
    a = sample()
    a.write_h5ad(TMP / "one.h5ad")
    with h5py.File(TMP / "one.h5ad") as one, h5py.File(TMP / "many.h5mu", "w") as f, h5py.File(TMP / "named.h5ad", "w") as g:
        f.attrs["encoding-type"] = g.attrs["encoding-type"] = "MuData"
        for name in one:
            one.copy(name, f.require_group("mod/rna"))
            one.copy(name, g)
            if name != "X":
                one.copy(name, f)
    write_v2(TMP / "one.zarr", a)
    shutil.rmtree(TMP / "many.zarr", ignore_errors=True)
    shutil.copytree(TMP / "one.zarr", TMP / "many.zarr")
    shutil.rmtree(TMP / "many.zarr" / "X")
    zarr.open_group(str(TMP / "many.zarr" / "mod"))
    shutil.copytree(TMP / "one.zarr", TMP / "many.zarr" / "mod" / "rna")
    shutil.copytree(TMP / "one.zarr", TMP / "named.zarr", dirs_exist_ok=True)
    for name in ("many.h5mu", "named.h5ad", "many.zarr", "named.zarr"):
        if name.endswith(".zarr"):
            zarr.open_group(str(TMP / name)).attrs["encoding-type"] = "MuData"
        r = run(TMP / name, ok=False)
        assert r.returncode == 1 and "it is MuData" in r.stderr and 'mdata.mod["rna"].write_h5ad(' in r.stderr and name in r.stderr, r.stderr
        assert ("there are: rna" in r.stderr) == name.startswith("many"), r.stderr
    assert run(TMP / "many.zarr" / "mod" / "rna").stdout == run(TMP / "one.zarr").stdout


@test
def whole_numbers_as_categories_are_exact():
    """Beyond 2^53, where doubles are alike."""
    a = sample(rich=False)
    ids = np.array([2**60 + 1, 2**60 + 2, 2**53 + 1])
    a.obs["id"] = pd.Categorical(ids[np.arange(37) % 3])
    a.obs["u"] = pd.Categorical((ids.astype("u8") + np.uint64(2**63))[np.arange(37) % 3])
    a.write_h5ad(TMP / "ids.h5ad")
    write_v2(TMP / "ids.zarr", a)
    for name in ("ids.h5ad", "ids.zarr"):
        r = run(TMP / name)
        assert "repeat" not in r.stderr, r.stderr
        columns = Read(r.stdout).columns
        assert columns["obs", "id"][2] == [str(ids[i % 3]) for i in range(37)], columns["obs", "id"]
        assert columns["obs", "u"][2] == [str(int(ids[i % 3]) + 2**63) for i in range(37)], columns["obs", "u"]


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
def missing_chunks_are_told():
    p = bad()
    r = run(p)
    assert "not in the store" not in r.stderr, r.stderr
    shutil.rmtree(p / "obsm/frame")  # a table whose names would differ from those of obs
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
