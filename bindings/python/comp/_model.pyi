# Made by stubs.py from the option tables of the library.
import os
from typing import Literal, Sequence, Union
import ctypes
import json
import os
import shutil
import tempfile
import weakref
from typing import Any, Callable, Optional, Union
import numpy as np
import pandas as pd
from . import _lib
from ._anndata import check_type, dataset_of, require_column
from ._context import Context, EpochNumbers
from ._data import frame_of, take_matrix, wrap
from ._errors import CompError, DataError, Interrupted, NumericError
from ._lib import check, decode, encode, lib
from ._options import Options, PathLike, check_names, with_options
NOT_TRAIN: Any

class Handle:
    pointer: Any

    def __init__(self, pointer) -> None:
        ...

    @classmethod
    def from_bytes(cls, data):
        ...

    @classmethod
    def from_file(cls, path):
        ...

    def to_bytes(self):
        ...

    @property
    def features(self):
        ...

    @property
    def conditions(self):
        ...

    @property
    def condition(self):
        ...

    def json(self, function):
        ...
def fit_dataset(context, dataset, values):
    ...
def embed_dataset(context, model, dataset, values, scales=False):
    ...

class Predicted:
    values: np.ndarray
    sd: Optional[np.ndarray]
    lower: Optional[np.ndarray]
    upper: Optional[np.ndarray]
    predicted: np.ndarray
    features: list

    def __init__(self, values, sd, lower, upper, predicted, features) -> None:
        ...

    def in_order(self, names):
        ...

    def to_frame(self, index=None):
        ...
def predict_dataset(context, model, dataset, values):
    ...

class Mapped:
    model: CoMP
    embedding: np.ndarray
    obs: pd.DataFrame
    report: dict

    def __init__(self, model, embedding, obs, report) -> None:
        ...
def map_dataset(context, model, reference, query, values, index=None):
    ...
def check_features(model, adata):
    ...
def check_unique(adata):
    ...
def layer_name(to):
    ...

class CoMP:
    adata: Any
    condition_key: Optional[str]
    layer: Optional[str]
    options: dict

    def __init__(self, adata: Any=None, condition_key: Optional[str]=None, *, layer: Optional[str]=None, log: Union[str, os.PathLike[str], None]=None, target: Optional[str]=None, target_hold: float=0.0, unseen: Optional[str]=None, model: Literal['vae', 'cvae', 'vfae', 'trvae', 'comp']='comp', preset: Literal['default', 'protect', 'paper-kang', 'paper-pbmc', 'paper-adult', 'paper-tumour']='default', latent: Optional[int]=None, hidden: Union[int, Sequence[int], None]=None, scale: Optional[float]=None, learn_scale: bool=False, likelihood: Literal['gaussian', 'nb']='gaussian', encoder_without_condition: bool=False, centre: Optional[bool]=None, no_centre: bool=False, gamma: Optional[float]=None, beta: Optional[float]=None, bound: Optional[float]=None, target_weight: Optional[float]=None, penalty: Optional[Literal['none', 'comp', 'comp-p0', 'mmd']]=None, place: Optional[Literal['z', 'hidden']]=None, leave_self_out: bool=False, mmd_scale: Optional[float]=None, elbo_reduction: Optional[Literal['sum', 'mean']]=None, align: Optional[Literal['all', 'shared']]=None, kl_target: Optional[float]=None, blur: Union[float, Sequence[float], None]=None, seed: int=0, epochs: Optional[int]=None, batch: Optional[int]=None, lr: Optional[float]=None, schedule: Optional[Literal['constant', 'cosine', 'plateau']]=None, warmup: Optional[float]=None, weight_decay: float=0.0, clip: Optional[float]=None, patience: Optional[int]=None, max_time: Optional[float]=None, validation: float=0.1, select: Optional[Literal['best', 'last', 'average']]=None, precision: Literal['auto', 'f32', 'bf16']='auto', shards: Optional[int]=None, over_ranks: bool=False, checkpoint: Union[str, os.PathLike[str], None]=None, resume: bool=False, checkpoint_epochs: int=0, checkpoint_minutes: float=5.0) -> None:
        ...

    @classmethod
    def _of(cls, handle, adata=None):
        ...

    def fit(self, *, on_epoch: Optional[Callable[[EpochNumbers], Optional[bool]]]=None, threads: Optional[int]=None, progress: Optional[bool]=None, log: Union[str, os.PathLike[str], None]=None, target: Optional[str]=None, target_hold: float=0.0, unseen: Optional[str]=None, model: Literal['vae', 'cvae', 'vfae', 'trvae', 'comp']='comp', preset: Literal['default', 'protect', 'paper-kang', 'paper-pbmc', 'paper-adult', 'paper-tumour']='default', latent: Optional[int]=None, hidden: Union[int, Sequence[int], None]=None, scale: Optional[float]=None, learn_scale: bool=False, likelihood: Literal['gaussian', 'nb']='gaussian', encoder_without_condition: bool=False, centre: Optional[bool]=None, no_centre: bool=False, gamma: Optional[float]=None, beta: Optional[float]=None, bound: Optional[float]=None, target_weight: Optional[float]=None, penalty: Optional[Literal['none', 'comp', 'comp-p0', 'mmd']]=None, place: Optional[Literal['z', 'hidden']]=None, leave_self_out: bool=False, mmd_scale: Optional[float]=None, elbo_reduction: Optional[Literal['sum', 'mean']]=None, align: Optional[Literal['all', 'shared']]=None, kl_target: Optional[float]=None, blur: Union[float, Sequence[float], None]=None, seed: int=0, epochs: Optional[int]=None, batch: Optional[int]=None, lr: Optional[float]=None, schedule: Optional[Literal['constant', 'cosine', 'plateau']]=None, warmup: Optional[float]=None, weight_decay: float=0.0, clip: Optional[float]=None, patience: Optional[int]=None, max_time: Optional[float]=None, validation: float=0.1, select: Optional[Literal['best', 'last', 'average']]=None, precision: Literal['auto', 'f32', 'bf16']='auto', shards: Optional[int]=None, over_ranks: bool=False, checkpoint: Union[str, os.PathLike[str], None]=None, resume: bool=False, checkpoint_epochs: int=0, checkpoint_minutes: float=5.0) -> 'CoMP':
        ...

    @property
    def fitted(self) -> bool:
        ...

    def _model(self):
        ...

    @property
    def features(self) -> list:
        ...

    @property
    def conditions(self) -> list:
        ...

    @property
    def config(self) -> dict:
        ...

    @property
    def record(self) -> Optional[dict]:
        ...

    @property
    def history(self) -> pd.DataFrame:
        ...

    @property
    def kernel(self) -> Optional[str]:
        ...

    @property
    def finished(self) -> bool:
        ...

    def embed(self, adata: Any=None, *, layer: Optional[str]=None, scales: bool=False, threads: Optional[int]=None, progress: Optional[bool]=None, sample: bool=False, seed: int=0, precision: Literal['auto', 'f32', 'bf16']='f32') -> Any:
        ...

    def map(self, adata: Any, reference: Any=None, *, layer: Optional[str]=None, reference_layer: Optional[str]=None, threads: Optional[int]=None, progress: Optional[bool]=None, label: Optional[str]=None, as_: Optional[str]=None, method: Literal['fit', 'shift', 'nearest']='fit', neighbors: int=15, unknown: float=0.95, steps: int=200, seed: int=0, together: Union[str, os.PathLike[str], None]=None) -> Mapped:
        ...

    def counterfactual(self, to: str, adata: Any=None, *, layer: Optional[str]=None, threads: Optional[int]=None, progress: Optional[bool]=None, from_: Optional[str]=None, samples: int=0, interval: float=0.95, seed: int=0, borrow: bool=False, rarer: float=2.0, cells: bool=False, residual: bool=False, clip: bool=False, precision: Literal['auto', 'f32', 'bf16']='f32') -> Predicted:
        ...

    def decode(self, z: Any, condition: Optional[str]=None, *, threads: Optional[int]=None) -> np.ndarray:
        ...

    def save(self, path: PathLike) -> None:
        ...

    def to_bytes(self) -> bytes:
        ...

class Scratch:

    def __init__(self) -> None:
        ...
def remove_folder(path, pid):
    ...
def load(path: PathLike, adata: Any=None) -> CoMP:
    ...
def model_of(model: Union[CoMP, PathLike, bytes, None], adata: Any) -> Handle:
    ...
