"""Real data: PBMCs with and without IFN-beta, from the file to predictions; the same bytes as the program's."""
import anndata
import numpy as np

import comp
from conftest import read


def test_kang(kang, program, tmp_path):
    full = anndata.read_h5ad(kang)
    some = full[np.arange(0, full.n_obs, 4)].copy()
    some.write_h5ad(tmp_path / "cells.h5ad")
    x = some.X.copy()
    small = dict(hidden=[64], latent=10, epochs=10)
    comp.pp.prepare(some, normalize_total="median", log1p=True, hvg="seurat:500")
    assert some.n_vars == 500 and np.array_equal(some.X.toarray(), x[:, full.var_names.get_indexer(some.var_names)].toarray())
    comp.tl.train(some, "stim", **small)
    comp.tl.counterfactual(some, "STIM", from_="CTRL")
    program("prep", "-i", tmp_path / "cells.h5ad", "-o", tmp_path / "ready.h5ad", "--normalize-total", "median", "--log1p", "--hvg", "seurat:500")
    program("train", "-i", tmp_path / "ready.h5ad", "-o", tmp_path / "model.comp", "-c", "stim", "--hidden", 64, "--latent", 10, "--epochs", 10)
    program("embed", "-i", tmp_path / "ready.h5ad", "-m", tmp_path / "model.comp", "-o", tmp_path / "out.h5ad")
    made = read(tmp_path / "out.h5ad")
    assert list(made.var_names) == list(some.var_names)
    assert some.obsm["X_comp"].tobytes() == made.obsm["X_comp"].tobytes()
    assert some.uns["comp"]["model"].tobytes() == (tmp_path / "model.comp").read_bytes()
    scores = comp.tl.score(some, "stim", "cell_type", k=20, small_labels="shrink", use=["X_comp"], min_label=20)
    assert 0 <= scores.to_frame().loc["kbet", "X_comp"] <= 1
    # Other cells with all genes, as counts: prepared as the model's were.
    rest = full[np.arange(1, full.n_obs, 40)].copy()
    comp.tl.embed(rest, comp.model(some))
    assert rest.obsm["X_comp"].shape == (rest.n_obs, 10) and np.isfinite(rest.obsm["X_comp"]).all()
