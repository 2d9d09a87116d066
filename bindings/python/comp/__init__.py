"""Contrastive Mixture of Posteriors: embeddings that keep the biology and remove the condition.

    import comp

    result = comp.run(adata, condition="stim", label="cell_type")      everything at once

    comp.pp.prepare(adata, normalize_total="median", log1p=True)       step by step, as in scanpy
    comp.tl.train(adata, condition_key="stim")                         obsm["X_comp"]
    comp.tl.umap(adata)
    comp.tl.score(adata, condition_key="stim", label_key="cell_type")
    comp.pl.maps(adata, color=["stim", "cell_type"])

    model = comp.CoMP(adata, condition_key="stim").fit()               objects
    comp.ConditionInvariant().fit(X, condition=sex).transform(X)       scikit-learn

Options have the names of the program comp, with _ for -, and the same defaults. docs/python.md is a tour.
"""
from typing import TYPE_CHECKING

from . import pl, pp, tl
from ._context import EpochNumbers, settings
from ._errors import (ArgumentError, CompError, DataError, FileError, FormatError, Interrupted, LibraryError, NoMemoryError, NumericError,
                      UnavailableError)
from ._lib import decode as _decode
from ._lib import lib as _lib_handle
from ._lib import library_path
from ._model import CoMP, Mapped, Predicted, load
from ._results import Audit, Diagnosis, Finding, Findings, Report, Scores
from ._run import RunResult, model, report, run
from ._version import __version__

if TYPE_CHECKING:
    from ._estimator import ConditionInvariant

library_version = _decode(_lib_handle.comp_version())

__all__ = ["ArgumentError", "Audit", "CoMP", "CompError", "ConditionInvariant", "DataError", "Diagnosis", "EpochNumbers", "FileError", "Finding", "Findings",
           "FormatError", "Interrupted", "LibraryError", "Mapped", "NoMemoryError", "NumericError", "Predicted", "Report", "RunResult", "Scores", "UnavailableError",
           "__version__", "library_path", "library_version", "load", "model", "pl", "pp", "report", "run", "settings", "tl"]


def __getattr__(name):
    """ConditionInvariant comes when it is asked for: scikit-learn takes a second to import."""
    if name == "ConditionInvariant":
        from ._estimator import ConditionInvariant

        globals()[name] = ConditionInvariant
        return ConditionInvariant
    raise AttributeError(f"module 'comp' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *__all__})
