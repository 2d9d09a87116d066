"""comp run on real data as .h5ad and as zarr of every kind: the same model, byte by byte. Commands that add results, on a .zarr. Speaks TAP."""
import os
import pathlib
import shutil
import subprocess
import sys
import warnings

import anndata
import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
from h5ad_common import BUILD, DATA, TMP, main, test  # noqa: E402

KANG = pathlib.Path(DATA) / "kang" / "kang_ifnb.h5ad"
COMP = BUILD / "comp"
STORES = {"v2.zarr": [], "v3.zarr": ["--zarr", "3"], "shards.zarr": ["--shards"], "v2.zarr.zip": [], "shards.zarr.zip": ["--shards"]}


def comp(*args):
    r = subprocess.run([str(COMP), *map(str, args), "-q", "--threads", "2"], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    return r


def model_of(name):
    out = TMP / (name + ".run")
    comp("run", "-i", TMP / name, "-o", out, "--condition", "stim", "--label", "cell_type", "--hidden", "16", "--latent", "4", "--epochs", "2", "--no-umap",
         "--no-diagnose", "--no-counterfactual", "--no-correct")
    return (out / "model.safetensors").read_bytes()


@test
def the_same_model():
    if not KANG.exists():
        return "SKIP no data"
    a = anndata.read_h5ad(KANG)
    a[np.random.default_rng(1).permutation(a.n_obs)[:600]].copy().write_h5ad(TMP / "kang.h5ad")
    want = model_of("kang.h5ad")
    for name, options in STORES.items():
        comp("convert", "-i", TMP / "kang.h5ad", "-o", TMP / name, *options)
        assert model_of(name) == want, name
    return None


@test
def commands_add_to_a_store():
    if not KANG.exists():
        return "SKIP no data"
    model = TMP / "kang.h5ad.run" / "model.safetensors"
    for name in ("v2.zarr", "shards.zarr"):
        for p in ("kang.h5ad", name):
            q = TMP / ("work-" + p)
            data = (TMP / (p + ".run")) / "data.h5ad"
            shutil.rmtree(q, ignore_errors=True)
            comp("convert", "-i", data, "-o", q, *STORES.get(p, []))
            comp("embed", "-i", q, "-m", model, "-o", q)
            comp("counterfactual", "-i", q, "-m", model, "-o", q, "--to", "STIM")
            comp("umap", "-i", q, "-o", q, "--epochs", "5")
            comp("baseline", "combat", "-i", q, "-o", q, "-c", "stim")
        dump = [subprocess.run([str(BUILD / "tests" / "h5_dump"), str(TMP / ("work-" + p))], capture_output=True, text=True, check=True).stdout for p in ("kang.h5ad", name)]
        assert "matrix obsm/X_umap" in dump[0] and "matrix layers/counterfactual_STIM" in dump[0], [x for x in dump[0].splitlines() if x.startswith("matrix")]
        assert dump[0] == dump[1], name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        b = anndata.read_zarr(TMP / "work-v2.zarr")
    assert "X_comp" in b.obsm and "X_umap" in b.obsm and b.layers["counterfactual_STIM"].shape == b.shape
    assert not list(TMP.glob("*.tmp-*"))
    return None


if __name__ == "__main__":
    sys.exit(main())
