# Made by stubs.py from the option tables of the library.
import os
from typing import Literal, Sequence, Union
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
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted
CONDITION: Any
TABLE: Any

class ConditionInvariant(TransformerMixin, BaseEstimator):
    model_: CoMP
    conditions_: np.ndarray
    n_features_in_: int

    def __init__(self, *, encoder_sees_condition: bool=False, n_jobs: Optional[int]=None, model: Optional[Literal['vae', 'cvae', 'vfae', 'trvae', 'comp']]=None, preset: Optional[Literal['default', 'protect', 'paper-kang', 'paper-pbmc', 'paper-adult', 'paper-tumour']]=None, latent: Optional[int]=None, hidden: Union[int, Sequence[int], None]=None, scale: Optional[float]=None, learn_scale: Optional[bool]=None, likelihood: Optional[Literal['gaussian', 'nb']]=None, centre: Optional[bool]=None, no_centre: Optional[bool]=None, gamma: Optional[float]=None, beta: Optional[float]=None, bound: Optional[float]=None, penalty: Optional[Literal['none', 'comp', 'comp-p0', 'mmd']]=None, place: Optional[Literal['z', 'hidden']]=None, leave_self_out: Optional[bool]=None, mmd_scale: Optional[float]=None, elbo_reduction: Optional[Literal['sum', 'mean']]=None, align: Optional[Literal['all', 'shared']]=None, kl_target: Optional[float]=None, blur: Union[float, Sequence[float], None]=None, seed: Optional[int]=None, epochs: Optional[int]=None, batch: Optional[int]=None, lr: Optional[float]=None, schedule: Optional[Literal['constant', 'cosine', 'plateau']]=None, warmup: Optional[float]=None, weight_decay: Optional[float]=None, clip: Optional[float]=None, patience: Optional[int]=None, max_time: Optional[float]=None, validation: Optional[float]=None, select: Optional[Literal['best', 'last', 'average']]=None, precision: Optional[Literal['auto', 'f32', 'bf16']]=None, shards: Optional[int]=None, over_ranks: Optional[bool]=None) -> None:
        ...

    def fit(self, X: Any, y: Any=None, *, condition: Any=None) -> 'ConditionInvariant':
        ...

    def transform(self, X: Any, condition: Any=None) -> np.ndarray:
        ...

    def fit_transform(self, X: Any, y: Any=None, *, condition: Any=None) -> np.ndarray:
        ...

    def get_feature_names_out(self, input_features: Optional[Any]=None) -> np.ndarray:
        ...
def make_signature():
    ...
PARAMETERS: Any
