"""Input that is wrong or unusual: an error that names it, or the same result."""
import subprocess

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import comp
from conftest import SMALL

TINY = dict(hidden=[8], latent=2, epochs=1)


def small(n=60, genes=12, condition=None, dtype=np.float32):
    rng = np.random.default_rng(0)
    condition = np.where(np.arange(n) % 2, "b", "a") if condition is None else condition
    return anndata.AnnData(rng.random((n, genes)).astype(dtype), pd.DataFrame({"c": condition}, index=[f"s{i}" for i in range(n)]), dtype=dtype)


# ---- Errors


def test_wrong_key(ready):
    for call in (lambda: comp.tl.train(ready, "conditoin"), lambda: comp.tl.score(ready, "conditoin"), lambda: comp.run(ready, "conditoin"),
                 lambda: comp.CoMP(ready, "conditoin").fit(), lambda: comp.tl.baseline(ready, "harmony", "conditoin")):
        with pytest.raises(comp.DataError, match="no column 'conditoin'; did you mean 'condition'"):
            call()
    with pytest.raises(comp.DataError, match="did you mean 'label'"):
        comp.tl.score(ready, "condition", "labl")
    with pytest.raises(comp.DataError, match="no layer 'lost'"):
        comp.tl.train(ready, "condition", layer="lost")
    with pytest.raises(comp.DataError, match="obsm has no 'X_lost'"):
        comp.tl.umap(ready, "X_lost")
    with pytest.raises(comp.ArgumentError, match="harmony"):
        comp.tl.baseline(ready, "harmny", "condition")
    with pytest.raises(comp.CompError, match="treatd"):
        comp.tl.counterfactual(ready, "treatd")
    with pytest.raises(TypeError, match="condition_key"):
        comp.CoMP(ready).fit()
    with pytest.raises(TypeError, match=r"not str; read the file first, with anndata.read_h5ad\(\) or anndata.read_zarr\(\)"):
        comp.tl.train("cells.h5ad", "c")
    with pytest.raises(TypeError, match="AnnData"):
        comp.tl.train(ready.X, "condition")


def test_damaged_sparse_matrix():
    for damage in (lambda m: m.indptr.__setitem__(3, 10**6), lambda m: setattr(m, "data", m.data[:5]), lambda m: setattr(m, "indices", m.indices[:5])):
        adata = small()
        x = sparse.csr_matrix(np.asarray(adata.X))
        adata.X = x
        damage(adata.X)
        with pytest.raises(comp.DataError, match="the sparse matrix is damaged"):
            comp.tl.train(adata, "c", **TINY)


def test_wrong_kinds_of_values():
    for name in ("seed", "epochs"):
        with pytest.raises(comp.ArgumentError, match=f"{name}: 18446744073709551623 is too large"):
            comp.tl.train(small(), "c", **{**TINY, name: 2**64 + 7})
    with pytest.raises(TypeError, match="condition is the name of one column of adata.obs, not a list"):
        comp.run(small(), ["c"])
    with pytest.raises(TypeError, match="path is required"):
        comp.load(None)


def test_run_with_missing_conditions(cells, caplog):
    cells.obs["condition"] = cells.obs["condition"].astype(object).where(np.arange(cells.n_obs) != 3)
    comp.run(cells, "condition", no_umap=True, no_diagnose=True, no_counterfactual=True, **SMALL)
    assert np.isnan(cells.obsm["X_comp"][3]).all() and np.isfinite(np.delete(cells.obsm["X_comp"], 3, 0)).all()
    assert "1 of 500 samples were left out: their embeddings are NaN" in caplog.text


def test_train_with_missing_conditions(ready, caplog, tmp_path):
    for kind in (object, "category"):
        condition = ready.obs["condition"].astype(object).where(~np.isin(np.arange(ready.n_obs), [3, 9]))
        ready.obs["condition"] = condition.astype(kind)
        del ready.uns["comp"]["model"], ready.obsm["X_comp"]
        caplog.clear()
        comp.tl.train(ready, "condition", **SMALL)
        z = ready.obsm["X_comp"]
        assert np.isnan(z[[3, 9]]).all() and np.isfinite(np.delete(z, [3, 9], 0)).all()
        assert "2 of 500 samples were left out: their embeddings are NaN" in caplog.text
        part = ready[ready.obs["condition"].notna()].copy()
        assert comp.model(ready).embed(part).tobytes() == np.delete(z, [3, 9], 0).tobytes()
    comp.tl.train(ready, "condition", encoder_without_condition=True, **SMALL)
    assert np.isfinite(ready.obsm["X_comp"]).all()  # such an encoder needs no condition
    ready.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    comp.tl.train(backed, "condition", **SMALL)
    assert backed.obsm["X_comp"].tobytes() == z.tobytes()


def test_names_of_results():
    adata = small()
    comp.tl.train(adata, "c", **TINY)
    calls = {"key_added": [lambda k: comp.tl.train(adata, "c", key_added=k, **TINY), lambda k: comp.tl.embed(adata, key_added=k),
                           lambda k: comp.tl.umap(adata, key_added=k), lambda k: comp.tl.map(adata, adata, key_added=k)],
             "layer_added": [lambda k: comp.tl.correct(adata, "a", layer_added=k), lambda k: comp.pp.prepare(adata, layer_added=k, log1p=True),
                             lambda k: comp.tl.counterfactual(adata, "a", layer_added=0 if k is None else k)]}
    before = (dict(adata.obsm), dict(adata.layers))
    for what, functions in calls.items():
        for call in functions:
            for wrong in (None, 3, ("a", "b"), b"x"):
                with pytest.raises(TypeError, match=f"{what} is a name"):
                    call(wrong)
            with pytest.raises(ValueError, match=f"{what} is empty"):
                call("")
    assert (list(adata.obsm), list(adata.layers)) == (list(before[0]), list(before[1]))


def test_predictions_overwrite_no_input(ready):
    ready.layers["counts"], ready.layers["other"], ready.layers["p_sd"] = ready.X.copy(), ready.layers["comp"].copy(), ready.layers["comp"].copy()
    before = {name: values.copy() for name, values in ready.layers.items()}
    for predict in (comp.tl.correct, comp.tl.counterfactual):
        for name, layer in (("comp", None), ("comp", "other"), ("other", "other"), ("counts", None), ("X", None)):
            for copy in (False, True):
                with pytest.raises(comp.ArgumentError, match=f"layer_added='{name}'"):
                    predict(ready, "control", layer_added=name, layer=layer, copy=copy)
    with pytest.raises(comp.ArgumentError, match="layer_added='p_sd' would overwrite the layer that is read"):
        comp.tl.counterfactual(ready, "control", layer_added="p", layer="p_sd", samples=2)
    with pytest.raises(comp.ArgumentError, match="layer_added='counts' would overwrite the layer that is read"):
        comp.pp.prepare(ready, layer="counts", layer_added="counts", log1p=True)
    assert list(ready.layers) == list(before) and all((ready.layers[n] != v).sum() == 0 for n, v in before.items())
    for _ in range(2):  # a result may be made again
        comp.tl.correct(ready, "control", layer_added="p")
    comp.pp.prepare(ready, layer="comp", normalize_total="median", force=True)  # what is prepared can be prepared further


def test_view_of_a_backed_file(ready, tmp_path):
    ready.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    expected = ready[:300].copy()
    comp.tl.train(expected, "condition", **SMALL)
    calls = [lambda a: comp.tl.train(a, "condition", **SMALL), lambda a: comp.tl.embed(a), lambda a: comp.tl.correct(a, "control"),
             lambda a: comp.tl.umap(a, epochs=2), lambda a: comp.tl.score(a, "condition", use="X_comp", k=5), lambda a: comp.pp.prepare(a, log1p=True)]
    for call in calls:
        view = backed[:300]
        call(view)
        assert not view.is_view and not view.isbacked and view.n_obs == 300 and (view.X != ready[:300].X).sum() == 0
    view = backed[:300]
    assert comp.tl.train(view, "condition", copy=True, **SMALL).obsm["X_comp"].tobytes() == expected.obsm["X_comp"].tobytes()
    assert view.is_view and backed.isbacked and backed.n_obs == 500


def test_columns_that_are_lacking_or_twice(ready):
    with pytest.raises(comp.DataError, match="did you mean 'condition'"):
        comp.CoMP(ready, condition_key="conditoin")
    model = comp.model(ready)
    blind = comp.CoMP(ready, "condition", encoder_without_condition=True, **SMALL).fit()
    other = ready.copy()
    del other.obs["condition"]
    for call in (lambda: model.embed(other), lambda: comp.tl.embed(other), lambda: comp.tl.correct(other, "control")):
        with pytest.raises(comp.DataError, match="'condition'.*label") as raised:
            call()
        assert "none at all" not in str(raised.value)
    assert blind.embed(other).tobytes() == blind.embed(ready).tobytes()
    loaded = comp._model.CoMP._of(model._handle, other)  # data that is embedded by a model need not be what it was fitted to
    assert loaded.__copy__().adata is other
    twice = ready.copy()
    twice.obs = pd.concat([twice.obs, twice.obs[["condition"]]], axis=1)
    for call in (lambda: comp.tl.train(twice, "condition", **SMALL), lambda: comp.tl.embed(twice), lambda: comp.CoMP(twice, "condition"),
                 lambda: comp.tl.score(twice, "label", use="X_comp"), lambda: comp.run(twice, "condition", **SMALL)):
        with pytest.raises(comp.DataError, match="adata.obs has more than one column 'condition'"):
            call()


def test_switches(ready):
    for call in (comp.tl.embed, comp.tl.umap, lambda a, **more: comp.tl.correct(a, "control", **more), lambda a, **more: comp.pp.prepare(a, layer="X", **more)):
        for name, value in (("copy", "no"), ("copy", None), ("copy", 1), ("progress", "no"), ("progress", 2)):
            with pytest.raises(TypeError, match=f"{name} is True or False, not {value!r}"):
                call(ready, **{name: value})
    with pytest.raises(AttributeError, match="comp.settings has no 'thread'; did you mean 'threads'"):
        comp.settings.thread = 2
    with pytest.raises(TypeError, match="comp.settings.progress is True or False"):
        comp.settings.progress = "no"


def test_nan_is_named():
    for make in (lambda x: x, sparse.csr_matrix):
        adata = small()
        x = np.asarray(adata.X)
        x[7, 3] = np.nan
        adata.X = make(x)
        with pytest.raises(comp.DataError, match="X: row 7, column 3: the value is not a finite number"):
            comp.tl.train(adata, "c", **TINY)
    adata = small(dtype=np.float64)
    adata.X[5, 2] = 1e300
    with pytest.raises(comp.DataError, match="row 5, column 2.*32-bit"):
        comp.tl.train(adata, "c", **TINY)


def test_nan_in_a_layer_is_named(program, tmp_path):
    adata = small()
    adata.layers["scaled"] = np.array(adata.X)
    adata.layers["scaled"][7, 3] = np.nan
    for call in (lambda: comp.tl.train(adata, "c", layer="scaled", **TINY), lambda: comp.pp.prepare(adata, layer="scaled", log1p=True)):
        with pytest.raises(comp.DataError, match=r"^layers\['scaled'\]: row 7, column 3: the value is not a finite number"):
            call()
    comp.tl.train(adata, "c", **TINY)
    path = tmp_path / "cells.h5ad"
    adata.write_h5ad(path)
    for more in ([], ["--memory", "16M"]):  # the same block by block
        with pytest.raises(subprocess.CalledProcessError) as failed:
            program("train", "-i", path, "--layer", "scaled", "--condition", "c", "-o", tmp_path / "model.safetensors", *more)
        assert "cells.h5ad: layers/scaled holds a value that is not a finite 32-bit number" in failed.value.stderr


def test_the_beginning_of_a_name_is_nearest():
    adata = small()
    for call in (lambda: comp.tl.train(adata, "c", epo=1), lambda: comp.run(adata, "c", epo=1), lambda: comp.ConditionInvariant(epo=1)):
        with pytest.raises(TypeError, match="'epo'; did you mean 'epochs'"):
            call()
    adata.obs["cell_type"] = "a"
    with pytest.raises(comp.DataError, match="no column 'Cell_typ'; did you mean 'cell_type'"):
        comp.tl.train(adata, "Cell_typ", **TINY)
    with pytest.raises(TypeError, match="no argument 'xyz'$"):
        comp.tl.train(adata, "c", xyz=1)


def test_nan_elsewhere_does_no_harm(ready, tmp_path):
    ready.obsm["spatial"] = np.full((500, 2), np.nan)
    assert list(comp.tl.score(ready, "condition", k=20).to_frame().columns) == ["X_comp"]
    comp.tl.umap(ready, epochs=5)
    comp.report(ready, tmp_path / "page.html")
    with pytest.raises(comp.DataError, match=r"obsm\['spatial'\]: row 0, column 0"):
        comp.tl.score(ready, "condition", use=["X_comp", "spatial"])
    with pytest.raises(comp.DataError, match="obsm has no 'X_lost'"):
        comp.tl.score(ready, "condition", use="X_comp,X_lost")


def test_one_condition():
    with pytest.raises(comp.DataError, match="c"):
        comp.tl.train(small(condition="a"), "c", **TINY)


def test_missing_conditions():
    condition = np.where(np.arange(60) % 2, "b", "a").astype(object)
    condition[4] = None
    condition[5] = np.nan
    for values in (condition, pd.Categorical(condition), pd.array(condition, "string")):
        adata = small(condition=values)
        comp.tl.train(adata, "c", **TINY)
        assert list(np.flatnonzero(np.isnan(adata.obsm["X_comp"]).any(1))) == [4, 5]
        with pytest.raises(comp.DataError, match="2 of 60 samples have no value in column 'c'"):
            comp.tl.embed(adata)


def test_unknown_condition_in_new_data(ready):
    other = ready.copy()
    other.obs["condition"] = other.obs["condition"].cat.rename_categories({"treated": "dosed"})
    with pytest.raises(comp.DataError, match="'dosed' is not a condition that the model knows"):
        comp.tl.embed(other)


def test_empty():
    empty = anndata.AnnData(np.zeros((0, 5), np.float32), pd.DataFrame({"c": np.zeros(0, object)}), dtype=np.float32)
    for call in (lambda: comp.tl.train(empty, "c", **TINY), lambda: comp.run(empty, "c"), lambda: comp.tl.score(empty, "c")):
        with pytest.raises(comp.CompError):
            call()
    bare = anndata.AnnData(np.zeros((6, 0), np.float32), pd.DataFrame({"c": list("ababab")}), dtype=np.float32)
    with pytest.raises(comp.CompError):
        comp.tl.train(bare, "c", **TINY)
    without = anndata.AnnData(obs=pd.DataFrame({"c": list("abab")}))
    with pytest.raises(comp.DataError):
        comp.tl.train(without, "c", **TINY)


def test_values_that_are_no_numbers():
    adata = small()
    adata.layers["text"] = np.full(adata.shape, "x", object)
    with pytest.raises(comp.DataError, match="not numbers"):
        comp.tl.train(adata, "c", layer="text", **TINY)
    adata.obs["when"] = pd.date_range("2020-01-01", periods=60)
    with pytest.raises(comp.DataError, match="datetime64"):
        comp.tl.train(adata, "when", **TINY)
    comp.tl.train(adata, "c", **TINY)  # such a column elsewhere does no harm


def test_prepare_twice(cells):
    comp.pp.prepare(cells, normalize_total="median", log1p=True)
    with pytest.raises(comp.CompError):
        comp.pp.prepare(cells, layer="comp", log1p=True)


# ---- The same result from other layouts


def embedding(x, obs):
    adata = anndata.AnnData(x, obs.copy(), dtype=x.dtype)
    comp.tl.train(adata, "condition", **SMALL)
    return adata.obsm["X_comp"].tobytes()


def test_layouts(ready):
    x = ready.layers["comp"].tocsr()
    obs = ready.obs
    expected = embedding(x, obs)
    wide = x.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert embedding(wide, obs) == expected
    assert embedding(x.astype(np.float64), obs) == expected
    assert embedding(x.tocsc(), obs) == expected
    dense = x.toarray()
    from_dense = embedding(dense, obs)
    for other in (np.asfortranarray(dense), dense.astype(np.float64), np.hstack([dense, dense])[:, :60], dense.astype(">f4")):
        adata = anndata.AnnData(np.zeros(dense.shape, np.float32), obs.copy(), dtype=np.float32)
        adata.layers["other"] = other
        comp.tl.train(adata, "condition", layer="other", **SMALL)
        assert adata.obsm["X_comp"].tobytes() == from_dense


def test_csr_that_is_not_canonical(ready):
    x = ready.layers["comp"].tocsr()
    expected = embedding(x, ready.obs)
    turned = x.copy()  # columns descend within each row
    for i in range(x.shape[0]):
        part = slice(x.indptr[i], x.indptr[i + 1])
        turned.indices[part], turned.data[part] = x.indices[part][::-1], x.data[part][::-1]
    turned.has_sorted_indices = False
    before = turned.indices.copy()
    assert embedding(turned, ready.obs) == expected
    assert np.array_equal(turned.indices, before)
    double = sparse.csr_matrix((np.repeat(x.data / 2, 2), np.repeat(x.indices, 2), x.indptr * 2), x.shape)  # each entry as two halves
    assert double.nnz == 2 * x.nnz and embedding(double, ready.obs) == expected and double.nnz == 2 * x.nnz


def test_small_types():
    counts = np.random.default_rng(1).poisson(3, (60, 12))
    found = set()
    for dtype in (np.uint8, np.int16, np.uint32, np.int32, np.int64, np.float32, np.float64):
        adata = small()
        adata.layers["counts"] = counts.astype(dtype)
        comp.tl.train(adata, "c", layer="counts", **TINY)
        found.add(adata.obsm["X_comp"].tobytes())
    assert len(found) == 1


def test_kinds_of_conditions():
    """Strings, categories, numbers and bools name the same groups."""
    codes = np.arange(60) % 2
    for values, names in ((codes, ["0", "1"]), (codes.astype(float), ["0", "1"]), (pd.Categorical(codes), ["0", "1"]), (codes.astype(bool), None),
                          (pd.array(codes, "Int64"), ["0", "1"]), (pd.Categorical(np.where(codes, "x", "ä"), ["x", "ä", "unused"]), ["x", "ä"])):
        adata = small(condition=values)
        model = comp.CoMP(adata, "c", **TINY).fit()
        assert names is None or model.conditions == names
        assert len(model.conditions) == 2 and model.embed().shape == (60, 2)


def test_views(ready):
    part = ready[ready.obs["label"] == "type1"]
    expected = comp.model(ready).embed(part.copy())
    assert part.is_view
    comp.tl.embed(part, key_added="again")
    assert not part.is_view and part.obsm["again"].tobytes() == expected.tobytes() and "again" not in ready.obsm
    view = ready[:300]
    assert comp.tl.embed(view, key_added="again", copy=True).n_obs == 300 and view.is_view


def test_backed(ready, tmp_path):
    ready.X = ready.layers["comp"].copy()
    del ready.layers["comp"]
    expected = comp.model(ready).embed()
    ready.obsm.clear()
    for name, x in (("sparse", ready.X), ("dense", ready.X.toarray())):
        ready.X = x
        ready.write_h5ad(tmp_path / f"{name}.h5ad")
        backed = anndata.read_h5ad(tmp_path / f"{name}.h5ad", backed="r")
        comp.tl.embed(backed)
        assert np.allclose(backed.obsm["X_comp"], expected, atol=1e-5) and backed.isbacked
        copied = comp.tl.embed(backed, copy=True)
        assert not copied.isbacked and "X_comp" in copied.obsm
        backed.file.close()


def test_names_that_repeat(ready):
    ready.var_names = ["twice", "twice", *ready.var_names[2:]]
    with pytest.raises(comp.DataError, match="'twice'.*var_names_make_unique"):
        comp.tl.train(ready, "condition", **TINY)
