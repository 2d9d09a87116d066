"""ConditionInvariant as scikit-learn's estimators are."""
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import comp

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

# These do not apply: which kernel multiplies a row depends on its place in a block, so that its last bit may too.
NOT_APPLICABLE = {"check_methods_sample_order_invariance", "check_methods_subset_invariance"}


def test_check_estimator():
    from unittest import SkipTest

    skipped, run = set(), 0
    for estimator, check in check_estimator(comp.ConditionInvariant(hidden=[8], latent=2, epochs=2, n_jobs=1), generate_only=True):
        try:
            check(estimator)
            run += 1
        except SkipTest:
            skipped.add(check.func.__name__)
    assert skipped == NOT_APPLICABLE, skipped
    assert run > 30, run


def people(n=600, seed=0):
    """A group that shifts half of the features, and a target that the group does not change."""
    rng = np.random.default_rng(seed)
    group, target = rng.integers(0, 2, n), rng.integers(0, 2, n)
    x = rng.normal(size=(n, 24)).astype(np.float32)
    x[:, :12] += 1.5 * group[:, None]
    x[:, 6:18] += 1.2 * target[:, None] * np.where(np.arange(12) % 2, 1, -1)
    return x, np.where(group, "f", "m"), target


def accuracy(z, y):
    return cross_val_score(LogisticRegression(max_iter=500), z, y, cv=5).mean()


@pytest.mark.parametrize("sees", [False, True])
def test_hides_the_condition_and_keeps_the_rest(sees):
    x, group, target = people()
    model = comp.ConditionInvariant(encoder_sees_condition=sees, hidden=[64], latent=8, epochs=150)
    z = model.fit_transform(x, condition=group)
    assert accuracy(x, group) > 0.9 and accuracy(z, group) < 0.62, accuracy(z, group)
    assert accuracy(z, target) > 0.75, accuracy(z, target)
    if sees:
        with pytest.raises(ValueError, match="condition"):
            model.transform(x)
        assert np.array_equal(model.transform(x, condition=group), z)
    else:
        assert np.array_equal(model.transform(x), z)


def test_kinds_of_input():
    x, group, _ = people(100)
    small = comp.ConditionInvariant(hidden=[8], latent=2, epochs=2)
    names = [f"column {i}" for i in range(24)]
    frame = pd.DataFrame(x, columns=names)
    expected = clone(small).fit(x, group).transform(x)
    model = clone(small).fit(frame, condition=pd.Series(group))
    assert np.array_equal(model.transform(frame), expected) and list(model.feature_names_in_) == names
    assert np.allclose(clone(small).fit(sparse.csr_matrix(x), pd.Categorical(group)).transform(sparse.csr_matrix(x)), expected, atol=1e-4)
    assert list(model.get_feature_names_out()) == ["comp0", "comp1"] and list(model.conditions_) == ["f", "m"]
    assert model.model_.config["latent"] == 2 and model.n_features_in_ == 24
    assert np.array_equal(pickle.loads(pickle.dumps(model)).transform(frame), expected)
    with pytest.raises(ValueError, match="features"):
        model.transform(x[:, :5])
    with pytest.raises(ValueError, match="rows of X"):
        clone(small).fit(x, condition=group[:50])
    with pytest.raises(comp.DataError):
        clone(small).fit(x, condition=["same"] * 100)


def test_in_a_pipeline():
    x, group, _ = people(100)
    pipeline = make_pipeline(StandardScaler(), comp.ConditionInvariant(hidden=[8], latent=2, epochs=2))
    assert pipeline.fit(x, group).transform(x).shape == (100, 2)
    params = comp.ConditionInvariant(gamma=3).get_params()
    assert params["gamma"] == 3 and params["latent"] is None and comp.ConditionInvariant().set_params(latent=5).latent == 5
    assert "gamma=3" in repr(comp.ConditionInvariant(gamma=3))
