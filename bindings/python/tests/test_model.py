"""Objects: fitting, files, pickles, copies, callbacks."""
import copy
import pickle

import numpy as np
import pytest

import comp
from conftest import SMALL


def test_fit_and_use(ready):
    model = comp.CoMP(ready, condition_key="condition", **SMALL)
    assert "not fitted" in repr(model)
    for call in (model.embed, lambda: model.save("x"), lambda: model.history):
        with pytest.raises(ValueError, match="not fitted"):
            call()
    assert model.fit() is model and model.fitted and model.finished
    z, scale = model.embed(scales=True)
    assert z.shape == scale.shape == (500, 3) and z.dtype == np.float32 and z.tobytes() == ready.obsm["X_comp"].tobytes()
    assert list(model.history.index) == [1, 2, 3, 4] and {"train_total", "validation_kl"} <= set(model.history)
    assert model.config["latent"] == 3 and model.conditions == ["control", "treated"] and model.features == list(ready.var_names)
    found = model.counterfactual("treated", from_="control", samples=3)
    assert found.values.shape == (500, 60) and found.sd.shape == (500, 60) and found.predicted.sum() == 250
    assert found.to_frame(ready.obs_names).shape == (500, 60) and "250 samples predicted" in repr(found)
    decoded = model.decode(z, "treated")
    plain = model.counterfactual("treated")
    assert np.allclose(decoded, plain.values, atol=1e-5)
    with pytest.raises(comp.CompError, match="lost"):
        model.decode(z, "lost")
    assert "avx" in model.kernel or "f32" in model.kernel or "bf16" in model.kernel


def test_options_of_fit_come_last(ready):
    model = comp.CoMP(ready, "condition", **SMALL).fit(latent=2)
    assert model.config["latent"] == 2 and model.config["training"]["epochs"] == 4


def test_files_pickles_and_copies(ready, tmp_path):
    model = comp.CoMP(ready, "condition", **SMALL).fit()
    expected = model.embed().tobytes()
    model.save(tmp_path / "model.comp")
    assert (tmp_path / "model.comp").read_bytes() == model.to_bytes()
    others = [comp.load(tmp_path / "model.comp"), pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)]
    for other in others:
        assert other.embed(ready).tobytes() == expected and other.to_bytes() == model.to_bytes() and other.condition_key == "condition"
    assert others[2].adata is ready and others[1].adata is None
    assert len(pickle.dumps(model)) < 2 * len(model.to_bytes())  # the data is not in it
    unfitted = pickle.loads(pickle.dumps(comp.CoMP(ready, "condition", latent=7)))
    assert unfitted.options == {"latent": 7} and not unfitted.fitted
    with pytest.raises(ValueError, match="no data"):
        others[0].embed()
    with pytest.raises(comp.FileError, match="lost.comp"):
        comp.load(tmp_path / "lost.comp")
    (tmp_path / "bad.comp").write_bytes(b"x" * 100)
    with pytest.raises(comp.FormatError, match="bad.comp"):
        comp.load(tmp_path / "bad.comp")
    damaged = bytearray(model.to_bytes())
    damaged[-5] ^= 1
    with pytest.raises(comp.FormatError):
        comp.tl.embed(ready, bytes(damaged))


def test_arrays_outlive_what_made_them(ready):
    z = comp.CoMP(ready, "condition", **SMALL).fit().embed()
    first = z[:3].copy()
    z = z[:3]
    for _ in range(5):
        comp.model(ready).embed()
    assert np.array_equal(z, first) and z.flags.writeable


def test_on_epoch(ready):
    seen = []
    model = comp.CoMP(ready, "condition", **SMALL).fit(on_epoch=lambda e: seen.append(e) or e.epoch < 3)
    assert [e.epoch for e in seen] == [1, 2, 3] and seen[0].epochs == 4 and not model.finished
    assert seen[0].train["total"] == pytest.approx(model.history["train_total"][1], rel=1e-6)

    class Oops(Exception):
        pass

    def fail(_):
        raise Oops("in the callback")

    with pytest.raises(Oops, match="in the callback"):
        comp.CoMP(ready, "condition", **SMALL).fit(on_epoch=fail)
    with pytest.raises(Oops):
        comp.tl.train(ready, "condition", on_epoch=fail, copy=True, **SMALL)
    assert comp.CoMP(ready, "condition", **SMALL).fit().fitted


def test_checkpoints_resume_to_the_same_bytes(ready, tmp_path):
    whole = comp.CoMP(ready, "condition", **SMALL).fit().to_bytes()

    def stop(e):
        if e.epoch == 2:
            raise KeyboardInterrupt

    path = tmp_path / "state"
    with pytest.raises(KeyboardInterrupt):
        comp.tl.train(ready, "condition", checkpoint=path, on_epoch=stop, **SMALL)
    assert path.exists()
    comp.tl.train(ready, "condition", checkpoint=path, resume=True, **SMALL)
    assert ready.uns["comp"]["model"].tobytes() == whole and not path.exists()
    model = comp.CoMP(ready, "condition", **SMALL)
    with pytest.raises(ValueError, match="nothing to resume"):
        model.fit(resume=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(on_epoch=stop)
    assert model.fit(resume=True).to_bytes() == whole


def test_resume_has_the_options_of_the_fit_that_was_interrupted(ready, tmp_path):
    def stop(e):
        if e.epoch == 2:
            raise KeyboardInterrupt

    whole = comp.CoMP(ready, "condition", **SMALL).fit().to_bytes()
    for more in ({}, {"checkpoint": tmp_path / "state"}):
        model = comp.CoMP(ready, "condition", latent=5)
        with pytest.raises(KeyboardInterrupt):
            model.fit(on_epoch=stop, **SMALL, **more)
        with pytest.raises(comp.CompError, match="other data or options"):
            model.fit(resume=True, latent=4)
        with pytest.raises(comp.ArgumentError):
            model.fit(resume=True, epochs=-1)
        assert model.fit(resume=True).to_bytes() == whole and model.options == {"latent": 5}
    assert not (tmp_path / "state").exists()
    assert model.fit(epochs=1).config["latent"] == 5  # what was remembered is for resume=True only
    with pytest.raises(ValueError, match="nothing to resume"):
        model.fit(resume=True)


@pytest.fixture(scope="module")
def three():
    """Three conditions, of which the third is new to a model of the others."""
    adata = comp.pp.simulate(cells=400, genes=60, conditions=3, labels=3, library=200, separation=3, seed=4)
    comp.pp.prepare(adata, normalize_total="median", log1p=True)
    new = (adata.obs["condition"] == "treated2").to_numpy()
    return adata[~new].copy(), adata[new].copy()


def test_new_samples_are_mapped(three):
    reference, query = three
    reference, query = reference.copy(), query.copy()
    comp.tl.train(reference, "condition", hidden=[32], latent=5, epochs=60, seed=1)
    before = reference.uns["comp"]["model"].tobytes()
    comp.tl.map(query, reference, label="label", steps=40)
    assert query.obsm["X_comp"].shape == (query.n_obs, 5)
    assert (query.obs["label_predicted"].astype(str) == query.obs["label"].astype(str)).mean() > 0.8
    assert query.obs["label_probability"].between(0, 1).all() and query.obs["comp_unknown"].dtype == bool
    larger = comp.model(query)
    assert larger.conditions == ["control", "treated1", "treated2"] and reference.uns["comp"]["model"].tobytes() == before
    assert larger.embed(reference).tobytes() == reference.obsm["X_comp"].tobytes()
    assert larger.embed(query).tobytes() == query.obsm["X_comp"].tobytes()
    mapped = comp.model(reference).map(query, reference, label="label", steps=40)
    assert mapped.embedding.tobytes() == query.obsm["X_comp"].tobytes() and mapped.report["conditions"][0]["new"]
    assert "treated2" in repr(mapped) and list(mapped.obs.index) == list(query.obs_names)


def test_what_cannot_be_mapped(three):
    reference, query = three
    model = comp.CoMP(reference, "condition", **SMALL).fit()
    with pytest.raises(comp.ArgumentError, match="already"):
        model.map(query, as_="control")
    with pytest.raises(comp.DataError, match="reference.* no column 'nothing'"):
        model.map(query, label="nothing")
    unlabelled = reference.copy()
    del unlabelled.obs["label"]  # the query has the column, the reference has not
    with pytest.raises(comp.DataError, match="reference.obs has no column 'label'"):
        comp.tl.map(query.copy(), unlabelled, model, label="label")
    holes = query.copy()
    holes.X = np.asarray(holes.X.todense() if hasattr(holes.X, "todense") else holes.X, np.float32)
    holes.X[3, 4] = np.nan
    with pytest.raises(comp.DataError, match="row 3, column 4: the value is not a finite number"):
        model.map(holes, layer="X")
    other = query.copy()
    other.var_names = [f"x{i}" for i in range(other.n_vars)]
    with pytest.raises(comp.DataError, match="only 0 of the model's"):
        model.map(other)
    one = model.map(query[:1].copy(), method="fit")
    assert one.report["conditions"][0]["method"] == "nearest"
