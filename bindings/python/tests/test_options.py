"""Signatures, docstrings and checks that come from the option tables."""
import inspect
import os
import subprocess
import sys

import pytest

import comp
from comp import _options
from conftest import SMALL


def test_signature_is_the_table():
    signature = inspect.signature(comp.tl.train)
    for name, option in _options.rows("train", without=comp._model.NOT_TRAIN).items():
        assert name in signature.parameters
        assert option["help"].split()[0].lower() in comp.tl.train.__doc__.lower()
    assert signature.parameters["seed"].default == 0
    assert signature.parameters["gamma"].default is None  # the preset decides
    assert "options" not in signature.parameters
    assert "from_" in inspect.signature(comp.tl.counterfactual).parameters and "lambda_" in inspect.signature(comp.tl.baseline).parameters


@pytest.mark.parametrize("function", [comp.pp.prepare, comp.pp.simulate, comp.tl.train, comp.tl.embed, comp.tl.counterfactual, comp.tl.correct, comp.tl.umap,
                                      comp.tl.score, comp.tl.diagnose, comp.tl.baseline, comp.run, comp.report, comp.CoMP, comp.CoMP.fit, comp.CoMP.embed,
                                      comp.CoMP.counterfactual, comp.ConditionInvariant])
def test_docstrings(function):
    assert "{options}" not in function.__doc__ and "{methods}" not in function.__doc__
    names = set(inspect.signature(function).parameters) - {"self"}
    for name in names:
        assert name in function.__doc__, name


def test_unknown_argument(cells):
    with pytest.raises(TypeError, match="did you mean 'gamma'"):
        comp.tl.train(cells, "condition", gama=3)
    with pytest.raises(TypeError, match="did you mean 'latent'"):
        comp.ConditionInvariant(latnet=3)
    with pytest.raises(TypeError, match="did you mean 'epochs'"):
        comp.CoMP(cells, "condition", epoch=3)


def test_bad_values_have_the_message_of_the_library(cells):
    with pytest.raises(comp.ArgumentError, match="latent"):
        comp.tl.train(cells, "condition", latent=0)
    with pytest.raises(ValueError, match="schedule.*'linear'"):
        comp.tl.train(cells, "condition", schedule="linear")
    with pytest.raises(ValueError, match="epochs"):
        comp.tl.train(cells, "condition", epochs="many")
    assert "X_comp" not in cells.obsm and "model" not in cells.uns["comp"]


def test_values_of_every_type():
    import numpy as np

    for kind, values in (("train", {"hidden": (8, 9), "blur": [1.5, 0.5], "latent": np.int32(4), "gamma": np.float32(2), "epochs": None, "learn_scale": True}),
                         ("prep", {"keep": ["a=b", "c=d"], "normalize_total": 10000, "log1p": np.bool_(True)}), ("score", {"use": "X_a,X_b", "from_": ["x"]}),
                         ("report", {"gene_size": "5M"})):
        with _options.Options(kind, values) as options:
            assert options.pointer


def test_stubs_are_current():
    """python3 bindings/python/stubs.py rewrites them."""
    path = os.path.join(os.path.dirname(__file__), "..", "stubs.py")
    found = subprocess.run([sys.executable, path, "--check"], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


def test_threads_do_not_change_results(ready):
    one = comp.tl.train(ready, "condition", copy=True, threads=1, **SMALL).obsm["X_comp"]
    seven = comp.tl.train(ready, "condition", copy=True, threads=7, **SMALL).obsm["X_comp"]
    assert one.tobytes() == seven.tobytes()
