"""Adding results to zarr stores, checked with zarr-python and AnnData (version 2) and with a reader made from the specification (version 3). Speaks TAP."""
import json
import os
import random
import shutil
import subprocess
import sys
import warnings

import anndata
import numpy as np
import pandas as pd
import zarr

sys.path.insert(0, os.path.dirname(__file__))
import zarr3  # noqa: E402
from h5ad_common import BUILD, DUMP, TMP, each, main, read, run, same_matrix, sample, test  # noqa: E402

INJECT = BUILD / "tests" / "torture" / "inject.so"
NEW = ("obs/score", "obs/cluster", "layers/made", "obsm/X_comp", "uns/comp")


def quiet(f, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*args)


def make(p, kind, a=None):
    """A store of everything: by AnnData (version 2), or by comp convert (version 3), with consolidated metadata or not."""
    a = a or sample()
    shutil.rmtree(p, ignore_errors=True)
    if kind.startswith("2"):
        quiet(a.write_zarr, p)
        if "consolidated" in kind:
            zarr.consolidate_metadata(str(p))
    else:
        a.write_h5ad(TMP / "make.h5ad")
        run("--write", p, *(["--shards"] if "shards" in kind else ["--zarr", 3]), "--carry", TMP / "make.h5ad", TMP / "make.h5ad")
        if "consolidated" in kind:
            zarr3.consolidate(p)
    (p / "notes").mkdir()  # what no program knows of
    (p / "notes" / "mine.txt").write_text("mine")
    (p / "notes" / "near").symlink_to("mine.txt")
    (p / "notes").chmod(0o750)
    return a


def content(f):
    if f.is_symlink():
        return os.readlink(f)
    return json.loads(f.read_bytes()) if f.name == ".zmetadata" else f.read_bytes()  # the order of its keys may change


def files(p):
    return {str(f.relative_to(p)): content(f) for f in sorted(p.rglob("*")) if f.is_symlink() or f.is_file()}


def check_results(p, a, version):
    n = a.n_obs
    got = read(p)
    assert got.record == '{"did": "update"}'
    same_matrix(got.matrices["obsm/X_comp"], np.column_stack([np.zeros(n), np.arange(n)]).astype("f4"))
    np.testing.assert_array_equal(got.matrices["layers/made"][0][:, 0], np.arange(n))
    assert [float(v) for v in got.columns["obs", "score"][2]] == [i / 2 for i in range(n)]
    assert got.columns["obs", "cluster"][2] == [[None, "a", "b"][i % 3] for i in range(n)]
    if version == 2:
        b = quiet(anndata.read_zarr, p)
        assert list(b.obs.columns) == list(a.obs.columns) + ["score"]
        assert list(b.obs["score"]) == [i / 2 for i in range(n)]
        assert [None if pd.isna(v) else v for v in b.obs["cluster"]] == [[None, "a", "b"][i % 3] for i in range(n)]
        np.testing.assert_array_equal(b.layers["made"][:, 0], np.arange(n))
        np.testing.assert_array_equal(b.obsm["X_pca"], a.obsm["X_pca"])
        assert str(b.uns["comp"]["record"]) == '{"did": "update"}' and b.uns["neighbors"]["params"]["k"] == 15
    else:
        np.testing.assert_array_equal(zarr3.read_array(p / "obs" / "score")[0], np.arange(n) / 2)
        np.testing.assert_array_equal(zarr3.read_array(p / "obsm" / "X_comp")[0][:, 1], np.arange(n))
        order = json.loads((p / "obs" / "zarr.json").read_text())["attributes"]["column-order"]
        assert order == list(a.obs.columns) + ["score"], order


def check_consolidated(p, version):
    """The list says of every node what the node says itself, and of no other."""
    if version == 2:
        assert not (p / ".zmetadata").exists() or json.loads((p / ".zmetadata").read_text())["metadata"] == {
            str(f.relative_to(p)): json.loads(f.read_text()) for f in p.rglob(".z*") if f.name != ".zmetadata"}
        return
    root = json.loads((p / "zarr.json").read_text()).get("consolidated_metadata")
    assert not root or root["metadata"] == {str(f.parent.relative_to(p)): json.loads(f.read_text()) for f in p.rglob("zarr.json") if f.parent != p}


KINDS = ["2", "2 consolidated", "3", "3 consolidated", "3 shards", "3 shards consolidated"]


@each("kind", KINDS)
def adding_in_place_and_again(kind):
    p, version = TMP / "u.zarr", int(kind[0])
    a = make(p, kind)
    p.chmod(0o755)
    before = files(p)
    inode = os.stat(p / "notes" / "mine.txt").st_ino
    for _ in range(3):
        run("--update", p, p)
        after = files(p)
        for k, v in before.items():
            changed = k.startswith(NEW) or k in (".zmetadata", "obs/.zattrs", "obs/zarr.json") or (k == "zarr.json" and "consolidated" in kind)
            assert changed or after[k] == v, k
        for k in after:
            assert k in before or k.startswith(NEW), k
        check_results(p, a, version)
        check_consolidated(p, version)
    assert not list(TMP.glob("u.zarr.*"))
    assert os.stat(p / "notes" / "mine.txt").st_ino == inode  # linked, not copied
    assert os.stat(p / "notes").st_mode & 0o777 == 0o750 and os.stat(p).st_mode & 0o777 == 0o755
    if "consolidated" in kind and version == 2:
        assert list(zarr.open_consolidated(str(p))["obs/score"][:3]) == [0, 0.5, 1]
    sharded = "shard" in (p / "obsm" / "X_comp" / "zarr.json").read_text() if version == 3 else False
    assert sharded == ("shards" in kind)


@each("kind", ["2 consolidated", "3 shards consolidated"])
def adding_to_a_copy(kind):
    p, q = TMP / "u.zarr", TMP / "copy.zarr"
    a = make(p, kind)
    before = files(p)
    shutil.rmtree(q, ignore_errors=True)
    run("--update", q, p)
    assert files(p) == before
    check_results(q, a, int(kind[0]))
    check_consolidated(q, int(kind[0]))
    for k, v in files(q).items():
        assert k.startswith(NEW) or v == before[k] or "zarr.json" in k or ".z" in k, k
        assert os.path.islink(q / k) or os.stat(q / k).st_nlink == 1, k  # nothing is shared
    r = run("--update", q, p, ok=False)
    assert r.returncode and "exists already" in r.stderr, r.stderr


@test
def only_consolidated_metadata():
    p = TMP / "u.zarr"
    a = make(p, "2 consolidated")
    for name in (".zgroup", ".zarray", ".zattrs"):
        for f in list(p.rglob(name)):
            f.unlink()
    run("--update", p, p)
    got = read(p)
    assert [n for t, n in got.columns if t == "obs"] == list(a.obs.columns) + ["score"]
    assert zarr.open_consolidated(str(p))["obs"].attrs["column-order"][-1] == "score"


@test
def a_column_of_07_loses_its_old_categories():
    p = TMP / "u.zarr"
    make(p, "2", sample(rich=False))
    obs = zarr.open(str(p), mode="r+")["obs"]
    obs.create_dataset("cluster", data=np.zeros(37, "i1")).attrs["categories"] = "__categories/cluster"
    obs.create_dataset("__categories/cluster", data=np.array(["x"], object), dtype=str)
    obs.attrs["column-order"] = ["cluster"]
    assert read(p).columns["obs", "cluster"][2] == ["x"] * 37
    run("--update", p, p)
    assert read(p).columns["obs", "cluster"][2][:3] == [None, "a", "b"]
    assert not (p / "obs" / "__categories" / "cluster").exists()


@test
def links_and_names():
    p = TMP / "u.zarr"
    make(p, "2")
    os.symlink(p, TMP / "link.zarr")
    run("--update", TMP / "link.zarr", TMP / "link.zarr")
    assert (TMP / "link.zarr").is_symlink() and (p / "obsm" / "X_comp").is_dir()
    shutil.move(p / "obsm", TMP / "elsewhere")
    (p / "obsm").symlink_to("../elsewhere")
    before = files(TMP / "elsewhere")
    r = run("--update", p, p, ok=False)
    assert r.returncode and "symbolic link" in r.stderr, r.stderr
    assert files(TMP / "elsewhere") == before and not list(TMP.glob("u.zarr.*"))


@test
def inside_of_a_larger_store():
    outer = TMP / "outer.zarr"
    shutil.rmtree(outer, ignore_errors=True)
    zarr.open_group(str(outer), mode="w")
    a = make(outer / "table", "2")
    zarr.consolidate_metadata(str(outer))
    r = run("--update", outer / "table", outer / "table")
    assert "part of a larger zarr store" in r.stderr, r.stderr
    check_results(outer / "table", a, 2)


@each("version", [2, 3])
def parts_of_a_larger_store_two_levels_up(version):
    outer = TMP / "outer.zarr"
    shutil.rmtree(outer, ignore_errors=True)
    part = outer / "mod" / "rna"
    make(TMP / "part.zarr", str(version))
    part.parent.mkdir(parents=True)
    (TMP / "part.zarr").rename(part)
    for folder in (outer, outer / "mod"):
        if version == 2:
            (folder / ".zgroup").write_text('{"zarr_format": 2}')
        else:
            (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    r = run("--update", part, part)
    assert "part of a larger" not in r.stderr, r.stderr
    if version == 2:
        zarr.consolidate_metadata(str(outer))
    else:
        zarr3.consolidate(outer)
    r = run("--update", part, part)
    assert r.stderr.count("part of a larger zarr store") == 1, r.stderr


@test
def zip_files_are_not_changed():
    p = TMP / "u.zarr"
    make(p, "2")
    shutil.rmtree(p / "notes")
    shutil.make_archive(str(TMP / "u"), "zip", p)
    before = (TMP / "u.zip").read_bytes()
    r = run("--update", TMP / "u.zip", TMP / "u.zip", ok=False)
    assert r.returncode and (TMP / "u.zip").read_bytes() == before, r.stderr
    shutil.rmtree(TMP / "fromzip.zarr", ignore_errors=True)
    run("--update", TMP / "fromzip.zarr", TMP / "u.zip")
    assert "X_comp" in quiet(anndata.read_zarr, TMP / "fromzip.zarr").obsm


# ---- calls that fail, and processes that are killed

def injected(rule, p):
    env = dict(os.environ, LD_PRELOAD=str(INJECT), COMP_INJECT=rule, COMP_INJECT_NO_SYNC="1", COMP_INJECT_COUNT=str(TMP / "count"))
    return subprocess.run([str(DUMP), "--threads", "1", "--update", str(p), str(p)], env=env, capture_output=True, text=True)


@each("end", ["KILL", "EIO", "ENOSPC"])
def whole_or_not_at_all(end):
    if not INJECT.exists():
        return
    p, old, new = TMP / "k.zarr", TMP / "old.zarr", TMP / "new.zarr"
    make(old, "2 consolidated", sample(n=11, g=5))
    shutil.rmtree(p, ignore_errors=True)
    shutil.copytree(old, p, symlinks=True)
    injected("open:1000000", p)
    counts = (TMP / "count").read_text().split()
    counts = {k: int(v) for k, v in zip(counts[::2], counts[1::2])}
    shutil.rmtree(new, ignore_errors=True)
    os.rename(p, new)
    was, want = files(old), files(new)
    points = [(call, i) for call in (["write"] if end == "ENOSPC" else ["open", "write", "rename", "stat"]) for i in range(1, counts[call] + 1)]
    left = 0
    for call, i in random.Random(1).sample(points, min(len(points), 25)) + [("rename", counts["rename"] - j) for j in range(0, 400, 80) if end == "KILL"]:
        shutil.copytree(old, p, symlinks=True)
        r = injected(f"{call}:{i}:{end}", p)
        now = files(p)
        assert now in (was, want), (call, i, end)
        assert end == "KILL" or r.returncode == 0 or now == was, (call, i, r.stderr)
        left += bool(list(TMP.glob("k.zarr.tmp-*")))
        run("--update", p, p)
        assert files(p) == want, (call, i)
        assert not list(TMP.glob("k.zarr.*")), (call, i)
        shutil.rmtree(p)
    assert end != "KILL" or left > 5, left


if __name__ == "__main__":
    sys.exit(main())
