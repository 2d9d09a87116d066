"""pp and tl: where results go, what stays as it is, and the same bytes as the program's."""
import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import comp
from conftest import SMALL, read


def same_matrix(a, b):
    a, b = (m.toarray() if sparse.issparse(m) else np.asarray(m) for m in (a, b))
    return a.shape == b.shape and a.tobytes() == b.tobytes()


# ---- The program's bytes


def test_prepare_as_the_program(cells, ready_file):
    made = read(ready_file / "ready.h5ad")
    before = cells.X.copy()
    assert comp.pp.prepare(cells, normalize_total="median", log1p=True) is None
    assert same_matrix(cells.layers["comp"], made.X)
    assert same_matrix(cells.X, before) and cells.X.dtype == before.dtype
    assert np.array_equal(cells.obs["comp_library_size"], made.obs["comp_library_size"])
    assert json.loads(cells.uns["comp"]["layer_record"])["prep"] == json.loads(made.uns["comp"]["record"])["prep"]


def test_train_and_embed_as_the_program(ready_file):
    made = read(ready_file / "ready.h5ad")
    program_z = made.obsm.pop("X_comp")
    comp.tl.train(made, "condition", **SMALL)
    assert made.obsm["X_comp"].tobytes() == program_z.tobytes()
    assert made.uns["comp"]["model"].tobytes() == (ready_file / "model.comp").read_bytes()
    other = read(ready_file / "ready.h5ad")
    del other.obsm["X_comp"]
    comp.tl.embed(other, ready_file / "model.comp", scales=True)
    assert other.obsm["X_comp"].tobytes() == program_z.tobytes() and other.obsm["X_comp_scale"].shape == program_z.shape


def test_embed_prepares_as_the_model_was(ready_file, program):
    """Raw counts: the model's file says what to do."""
    program("embed", "-i", ready_file / "cells.h5ad", "-m", ready_file / "model.comp", "-o", ready_file / "embedded.h5ad")
    cells = read(ready_file / "cells.h5ad")
    comp.tl.embed(cells, ready_file / "model.comp")
    assert cells.obsm["X_comp"].tobytes() == read(ready_file / "embedded.h5ad").obsm["X_comp"].tobytes()


def test_embed_of_a_zarr_store(ready_file, program):
    anndata = pytest.importorskip("anndata")
    pytest.importorskip("zarr")
    store = ready_file / "cells.zarr"
    program("convert", "-i", ready_file / "cells.h5ad", "-o", store)
    cells = anndata.read_zarr(store)
    comp.tl.embed(cells, ready_file / "model.comp")
    program("embed", "-i", store, "-m", ready_file / "model.comp", "-o", store)
    assert cells.obsm["X_comp"].tobytes() == anndata.read_zarr(store).obsm["X_comp"].tobytes()


def test_counterfactual_and_correct_as_the_program(ready_file, program):
    out = ready_file / "predicted.h5ad"
    program("counterfactual", "-i", ready_file / "ready.h5ad", "-m", ready_file / "model.comp", "-o", out, "--to", "treated", "--from", "control",
            "--samples", 5, "--seed", 2)
    program("correct", "-i", out, "-m", ready_file / "model.comp", "-o", out, "--to", "control", "--residual")
    made, adata = read(out), read(ready_file / "ready.h5ad")
    comp.tl.counterfactual(adata, "treated", ready_file / "model.comp", from_="control", samples=5, seed=2)
    comp.tl.correct(adata, to="control", model=comp.load(ready_file / "model.comp"), residual=True)
    for name in ("counterfactual_treated", "counterfactual_treated_sd", "counterfactual_treated_lower", "counterfactual_treated_upper", "corrected"):
        assert same_matrix(adata.layers[name], made.layers[name]), name
    assert (adata.obs["counterfactual_treated_predicted"] == made.obs["counterfactual_treated_predicted"]).all()
    assert adata.layers["corrected"].dtype == np.float32


def test_umap_and_baseline_as_the_program(ready_file, program):
    out = ready_file / "maps.h5ad"
    program("umap", "-i", ready_file / "ready.h5ad", "-o", out, "--epochs", 20)
    program("baseline", "combat", "-i", out, "-o", out, "-c", "condition", "--covariates", "label")
    made, adata = read(out), read(ready_file / "ready.h5ad")
    comp.tl.umap(adata, epochs=20)
    comp.tl.baseline("combat", adata, condition_key="condition", covariates="label")
    assert adata.obsm["X_umap"].tobytes() == made.obsm["X_umap"].tobytes()
    assert same_matrix(adata.layers["combat"], made.layers["combat"]) and adata.obsm["X_combat"].tobytes() == made.obsm["X_combat"].tobytes()


def test_scores_and_checks_as_the_program(ready_file, program):
    adata = read(ready_file / "ready.h5ad")
    program("score", "-i", ready_file / "ready.h5ad", "-c", "condition", "-l", "label", "--predict", "condition", "--json", ready_file / "s.json")
    scores = comp.tl.score(adata, "condition", "label", predict="condition")
    assert scores.json == (ready_file / "s.json").read_text() == adata.uns["comp"]["scores"]
    program("diagnose", "-i", ready_file / "ready.h5ad", "-m", ready_file / "model.comp", "-l", "label", "--json", ready_file / "d.json")
    diagnosis = comp.tl.diagnose(adata, ready_file / "model.comp", label_key="label")
    theirs = json.loads((ready_file / "d.json").read_text())
    assert diagnosis.data["findings"] == theirs["findings"] and diagnosis.worst == theirs["worst"]


# ---- Places of results


def test_copy(cells):
    before = cells.copy()
    made = comp.pp.prepare(cells, normalize_total="median", log1p=True, copy=True)
    trained = comp.tl.train(made, "condition", copy=True, **SMALL)
    assert "comp" in made.layers and "X_comp" in trained.obsm
    assert "X_comp" not in made.obsm and "model" not in made.uns["comp"]
    assert "comp" not in cells.layers and list(cells.obs.columns) == list(before.obs.columns) and cells.uns["comp"] == before.uns["comp"]
    assert comp.tl.umap(trained, copy=True, epochs=5).obsm["X_umap"].shape == (500, 2) and "X_umap" not in trained.obsm
    assert "X_pca" in comp.tl.baseline(trained, "pca", components=3, copy=True).obsm and "X_pca" not in trained.obsm


def test_prepare_leaves_out_what_it_is_told_to(cells):
    x = cells.X.toarray()
    cells.obs_names = ["same"] * cells.n_obs  # names need not be unique
    comp.pp.prepare(cells, normalize_total="median", log1p=True, hvg="seurat:20", keep="label=type1,type2")
    assert cells.n_vars == 20 and set(cells.obs["label"]) == {"type1", "type2"} and cells.layers["comp"].shape == cells.shape
    places = [int(n[4:]) - 1 for n in cells.var_names]  # gene1, gene2, ...
    kept = np.isin(np.arange(500), np.flatnonzero(np.isin(comp.pp.simulate(cells=500, genes=60, seed=3).obs["label"], ["type1", "type2"])))
    assert np.array_equal(cells.X.toarray(), x[kept][:, places])
    assert cells.var["highly_variable"].all() and "dispersions_norm" in cells.var


def test_prepared_layer_is_read_by_default(ready):
    ready.obsm.clear()
    comp.tl.embed(ready)
    default = ready.obsm["X_comp"].copy()
    comp.tl.embed(ready, layer="comp")
    assert default.tobytes() == ready.obsm["X_comp"].tobytes()
    comp.tl.embed(ready, layer="X")  # counts: prepared again, to the same
    assert np.allclose(default, ready.obsm["X_comp"], atol=1e-5)


def test_survives_a_file(ready, tmp_path):
    ready.write_h5ad(tmp_path / "a.h5ad")
    again = read(tmp_path / "a.h5ad")
    z = again.obsm.pop("X_comp")
    comp.tl.embed(again)
    assert again.obsm["X_comp"].tobytes() == z.tobytes()
    assert repr(comp.model(again)) == repr(comp.model(ready))


def test_features_in_another_order(ready):
    model = comp.model(ready)
    comp.tl.counterfactual(ready, "treated")
    turned = ready[:, ::-1].copy()
    turned.obsm.clear()
    comp.tl.embed(turned)
    comp.tl.counterfactual(turned, to="treated", layer_added="again")
    assert np.allclose(turned.obsm["X_comp"], ready.obsm["X_comp"], atol=1e-5)
    assert np.allclose(turned.layers["again"][:, ::-1], ready.layers["counterfactual_treated"], atol=1e-4)
    some = ready[:, :40].copy()
    with pytest.raises(comp.DataError, match="model.features"):
        comp.tl.counterfactual(some, "treated", model)
    assert model.counterfactual("treated", some).values.shape == (500, 60)


def test_simulate():
    made = comp.pp.simulate(cells=100, genes=20, conditions=3, labels=2)
    assert made.shape == (100, 20) and sparse.isspmatrix_csr(made.X)
    assert list(made.obs["condition"].cat.categories) == ["control", "treated1", "treated2"]
    assert isinstance(made.obs["label"].dtype, pd.CategoricalDtype) and "truth_treated2" in made.layers


def test_several_models_and_a_plain_one(ready):
    more = [comp.CoMP(ready, "condition", **{**SMALL, "seed": s}).fit() for s in (2, 3)]
    plain = comp.CoMP(ready, "condition", gamma=0, **SMALL).fit()
    found = comp.tl.diagnose(ready, [None, *more], against=plain, label_key="label")
    assert found.findings["latents"].level != "note" and found.data["models"] == 3


def test_run_and_report(cells, tmp_path):
    x = cells.X.copy()
    result = comp.run(cells, condition="condition", label="label", output=tmp_path / "run", hidden=[16], latent=3, epochs=4, no_diagnose=True, k=20)
    assert same_matrix(cells.X, x)
    assert {"X_comp", "X_umap"} <= set(cells.obsm) and cells.obsm["X_comp"].shape == (500, 3)
    assert result.adata.obsm["X_comp"].tobytes() == cells.obsm["X_comp"].tobytes()
    assert "counterfactual_treated" in result.adata.layers and result.model.conditions == ["control", "treated"]
    assert {f.id for f in result.findings} >= {"mixing", "hidden"}
    page = comp.report(cells, tmp_path / "page.html", label="label", layer="X")
    assert page._repr_html_().startswith("<iframe") and (tmp_path / "page.html").stat().st_size > 50000


def test_run_in_a_temporary_folder(cells):
    import os

    result = comp.run(cells, "condition", hidden=[8], latent=2, epochs=1, no_diagnose=True, no_umap=True, no_correct=True, k=20)
    folder = result.folder
    assert os.path.exists(result.report.path)
    del result
    assert not os.path.exists(folder)


def test_audit():
    import anndata

    rng = np.random.default_rng(0)
    n = 800
    sex = np.where(np.arange(n) % 2, "man", "woman")
    z = rng.normal(size=(n, 3)).astype(np.float32)
    z[:, 0] += np.where(sex == "man", 1, -1)
    data = anndata.AnnData(rng.normal(size=(n, 4)).astype(np.float32), obs=pd.DataFrame({"sex": sex, "income": np.where(z[:, 1] > 0, "high", "low")},
                                                                                         index=[str(i) for i in range(n)]))
    data.obsm["X_comp"], data.obsm["X_comp_scale"] = z, np.ones_like(z)
    audit = comp.tl.audit(data, "sex", target="income", attackers="logistic,knn", release="draws,cells:8", points=1000)
    assert audit.worst == "problem" and audit.findings["attack"].level == "problem"
    assert set(audit.attacks.source) == {"means", "draws", "data"}
    means = audit.attacks[(audit.attacks.source == "means") & (audit.attacks.attacker == "logistic")].iloc[0]
    assert abs(means.balanced_accuracy - 0.841) < 0.06  # the best threshold, Phi(1)
    draws = audit.certificates.set_index("release").loc["draws"]
    assert draws.balanced_accuracy >= 0.760  # the optimum of draws: Phi(1 / sqrt(2))
    assert list(audit.utility.source) == ["means", "draws", "data", "cells:8"]
    bare = anndata.AnnData(data.X, obs=data.obs, obsm={"X_comp": z})
    with pytest.raises(comp.CompError, match=r"comp\.tl\.embed\(scales=True\)"):
        comp.tl.audit(bare, "sex", release="draws")
    with pytest.raises(ValueError, match="use: the model makes the embedding"):
        comp.tl.audit(bare, "sex", use="X_comp", model=comp.CoMP(bare, "sex", **SMALL).fit())
    with pytest.raises(comp.CompError, match="nothing can be proved"):
        comp.tl.audit(data, "sex", release="means")
