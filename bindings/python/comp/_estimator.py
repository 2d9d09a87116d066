"""A transformer in the style of scikit-learn, for arrays, sparse matrices and DataFrames of numbers."""
import inspect
from typing import Any, Optional

import numpy as np
import pandas as pd
from scipy import sparse

from ._context import Context
from ._data import Dataset, add_column
from ._lib import hint
from ._model import NOT_TRAIN, CoMP, Handle, embed_dataset, fit_dataset
from ._options import option_text, parameter, rows

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError:  # it works without scikit-learn, outside of its pipelines

    class TransformerMixin:  # type: ignore[no-redef]
        pass

    class BaseEstimator:  # type: ignore[no-redef]
        def get_params(self, deep=True):
            return {name: getattr(self, name) for name in PARAMETERS}

        def set_params(self, **params):
            for name, value in params.items():
                if name not in PARAMETERS:
                    raise ValueError(f"there is no parameter '{name}'")
                setattr(self, name, value)
            return self

    def check_is_fitted(estimator):
        if not hasattr(estimator, "model_"):
            raise ValueError("this ConditionInvariant is not fitted yet: call fit() first")


CONDITION = "condition"
# Of training without what is for long runs in files, or needs a column; encoder-without-condition has another default here.
TABLE = rows("train", without=(*NOT_TRAIN, "log", "checkpoint", "resume", "checkpoint-epochs", "checkpoint-minutes", "encoder-without-condition",
                               "target", "target-weight", "target-hold", "unseen"))


class ConditionInvariant(TransformerMixin, BaseEstimator):
    """An embedding of rows from which their condition (a batch, a group of people) cannot be predicted.

        z = ConditionInvariant(preset="protect").fit(X, condition=sex).transform(X)

    In pipelines `y` is the condition: fit(X, y). Options that are None have the value of the preset.

    Parameters
    ----------
    encoder_sees_condition : bool
        Whether the encoder reads the condition, as in the paper. Then transform() needs it too: transform(X, condition=...).
    n_jobs : int, optional
        Number of threads; None: comp.settings.threads, -1: all. Results do not depend on it.
    {options}

    Attributes
    ----------
    model_ : comp.CoMP
        The model.
    conditions_ : array
        The conditions that it knows.
    n_features_in_ : int
    feature_names_in_ : array, where X was a DataFrame
    """

    def __init__(self, **params: Any):
        unknown = [name for name in params if name not in PARAMETERS]
        if unknown:
            raise TypeError(f"ConditionInvariant has no parameter '{unknown[0]}'{hint(unknown[0], PARAMETERS)}")
        for name, value in PARAMETERS.items():
            setattr(self, name, params.get(name, value))

    def _more_tags(self):
        place = "the last bit of a row's result may depend on its place in a block of rows"
        return {"requires_y": True, "preserves_dtype": [np.float32],
                "_xfail_checks": {"check_methods_sample_order_invariance": place, "check_methods_subset_invariance": place}}

    # ---- input

    def _checked(self, X, reset):
        """X as numbers, and the names of its columns; the checks are scikit-learn's where it is there."""
        if hasattr(self, "_validate_data"):
            return self._validate_data(X, accept_sparse="csr", dtype=[np.float32, np.float64], reset=reset, ensure_min_samples=2 if reset else 1)
        if isinstance(X, pd.DataFrame):
            X = X.to_numpy()
        X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions, not 2")
        if reset:
            self.n_features_in_ = X.shape[1]
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but ConditionInvariant is expecting {self.n_features_in_} features as input")
        return X

    def _conditions(self, X, condition):
        if not isinstance(condition, (pd.Series, pd.Categorical)):
            condition = np.asarray(condition).ravel()
        values = pd.Series(condition).reset_index(drop=True)
        if len(values) != X.shape[0]:
            raise ValueError(f"there are {len(values)} conditions for the {X.shape[0]} rows of X")
        if isinstance(values.dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(values.dtype):
            return values
        if not np.isfinite(values.to_numpy(float)).all():
            raise ValueError("Input y contains NaN or infinity: every row needs a condition")
        return values

    def _dataset(self, context, X, condition):
        dataset = Dataset.new(context, X, None, [f"x{i}" for i in range(X.shape[1])])
        try:
            if condition is not None:
                add_column(dataset.obs, CONDITION, condition)
        except BaseException:
            dataset.free()
            raise
        return dataset

    @property
    def _threads(self):
        return None if self.n_jobs is None else max(int(self.n_jobs), 0)

    # ---- scikit-learn's interface

    def fit(self, X: Any, y: Any = None, *, condition: Any = None) -> "ConditionInvariant":
        """Fits the model. `condition` (or `y`) has one value a row: two or more different ones."""
        condition = y if condition is None else condition
        if condition is None:
            raise ValueError("requires y to be passed, but the target y is None: it is the condition of each row")
        X = self._checked(X, True)
        condition = self._conditions(X, condition)
        values = {name: getattr(self, name) for name in TABLE}
        values.update(condition=CONDITION, encoder_without_condition=not self.encoder_sees_condition)
        with Context(self._threads, None) as context, self._dataset(context, X, condition) as dataset:
            handle = fit_dataset(context, dataset, values)
        self.model_ = CoMP._of(handle)
        self.conditions_ = np.array(handle.conditions, object)
        self._n_features_out = self.model_.config["latent"]
        return self

    def transform(self, X: Any, condition: Any = None) -> np.ndarray:
        """The embedding of each row: [rows, latent]. `condition` is needed with encoder_sees_condition only."""
        check_is_fitted(self)
        X = self._checked(X, False)
        handle: Handle = self.model_._model()
        if self.model_.config["encoder_sees_condition"]:
            if condition is None:
                raise ValueError("the encoder sees the condition: transform(X, condition=...)")
            condition = self._conditions(X, condition)
        else:
            condition = pd.Series(np.full(X.shape[0], handle.conditions[0], object)) if condition is None else self._conditions(X, condition)
        with Context(self._threads, None) as context, self._dataset(context, X, condition) as dataset:
            return embed_dataset(context, handle, dataset, {})[0]

    def fit_transform(self, X: Any, y: Any = None, *, condition: Any = None) -> np.ndarray:
        """fit(), then transform() of the same rows."""
        condition = y if condition is None else condition
        return self.fit(X, condition=condition).transform(X, condition=condition)

    def get_feature_names_out(self, input_features: Optional[Any] = None) -> np.ndarray:
        """comp0, comp1, ..."""
        check_is_fitted(self)
        return np.array([f"comp{i}" for i in range(self._n_features_out)], object)


def make_signature():
    """The parameters of __init__, from the table of options; None: the preset decides."""
    P = inspect.Parameter
    own = [P("self", P.POSITIONAL_OR_KEYWORD), P("encoder_sees_condition", P.KEYWORD_ONLY, default=False, annotation=bool),
           P("n_jobs", P.KEYWORD_ONLY, default=None, annotation=Optional[int])]
    options = [parameter(name, option).replace(default=None, annotation=Optional[parameter(name, option).annotation]) for name, option in TABLE.items()]
    return inspect.Signature(own + options)


ConditionInvariant.__init__.__signature__ = make_signature()  # type: ignore[attr-defined]
PARAMETERS = {p.name: p.default for p in list(make_signature().parameters.values())[1:]}
ConditionInvariant.__doc__ = inspect.cleandoc(ConditionInvariant.__doc__ or "").replace("{options}", "\n".join(option_text(n, o) for n, o in TABLE.items()))
