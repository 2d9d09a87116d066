# Made by stubs.py from the option tables of the library.
import os
from typing import Literal, Sequence, Union
import ctypes
from typing import Any, Callable, Optional, Sequence, Union
import numpy as np
from . import _anndata
from ._anndata import dataset_of, remember, require_column, start
from ._context import Context, EpochNumbers
from ._data import LAYERS, OBSM, copy_matrix, take_matrix, wrap
from ._errors import DataError, Interrupted
from ._lib import BaselineMethod, UmapInfo, check, decode, encode, lib
from ._model import NOT_TRAIN, CoMP, check_features, embed_dataset, layer_name, model_of, predict_dataset
from ._options import Options, PathLike, check_names, with_options
from ._results import Diagnosis, Scores
Model = Union[CoMP, PathLike, bytes, None]
def train(adata: Any, condition_key: str, *, key_added: str='X_comp', layer: Optional[str]=None, copy: bool=False, on_epoch: Optional[Callable[[EpochNumbers], Optional[bool]]]=None, threads: Optional[int]=None, progress: Optional[bool]=None, log: Union[str, os.PathLike[str], None]=None, model: Literal['vae', 'cvae', 'vfae', 'trvae', 'comp']='comp', preset: Literal['default', 'protect', 'paper-kang', 'paper-pbmc', 'paper-adult', 'paper-tumour']='default', latent: Optional[int]=None, hidden: Union[int, Sequence[int], None]=None, scale: Optional[float]=None, learn_scale: bool=False, likelihood: Literal['gaussian', 'nb']='gaussian', encoder_without_condition: bool=False, centre: bool=False, gamma: Optional[float]=None, beta: Optional[float]=None, bound: Optional[float]=None, penalty: Optional[Literal['none', 'comp', 'comp-p0', 'mmd']]=None, place: Optional[Literal['z', 'hidden']]=None, leave_self_out: bool=False, mmd_scale: Optional[float]=None, elbo_reduction: Literal['sum', 'mean']='sum', align: Optional[Literal['all', 'shared']]=None, kl_target: Optional[float]=None, blur: Union[float, Sequence[float], None]=None, seed: int=0, epochs: Optional[int]=None, batch: Optional[int]=None, lr: Optional[float]=None, schedule: Optional[Literal['constant', 'cosine', 'plateau']]=None, warmup: Optional[float]=None, weight_decay: float=0.0, clip: float=0.0, patience: Optional[int]=None, max_time: Optional[float]=None, validation: float=0.1, select: Optional[Literal['best', 'last', 'average']]=None, precision: Literal['auto', 'f32', 'bf16']='auto', checkpoint: Union[str, os.PathLike[str], None]=None, resume: bool=False, checkpoint_epochs: int=0, checkpoint_minutes: float=5.0) -> Any:
    ...
def embed(adata: Any, model: Model=None, *, key_added: str='X_comp', layer: Optional[str]=None, scales: bool=False, copy: bool=False, threads: Optional[int]=None, progress: Optional[bool]=None, sample: bool=False, seed: int=0, precision: Literal['auto', 'f32', 'bf16']='f32') -> Any:
    ...
def add_predictions(adata, model, layer, layer_added, copy, threads, progress, values):
    ...
def counterfactual(adata: Any, to: str, model: Model=None, *, layer_added: Optional[str]=None, layer: Optional[str]=None, copy: bool=False, threads: Optional[int]=None, progress: Optional[bool]=None, from_: Optional[str]=None, samples: int=0, interval: float=0.95, seed: int=0, borrow: bool=False, cells: bool=False, residual: bool=False, clip: bool=False, precision: Literal['auto', 'f32', 'bf16']='f32') -> Any:
    ...
def correct(adata: Any, to: str, model: Model=None, *, layer_added: str='corrected', layer: Optional[str]=None, copy: bool=False, threads: Optional[int]=None, progress: Optional[bool]=None, residual: bool=False, clip: bool=False, precision: Literal['auto', 'f32', 'bf16']='f32') -> Any:
    ...
def umap(adata: Any, use: str='X_comp', *, key_added: str='X_umap', copy: bool=False, threads: Optional[int]=None, progress: Optional[bool]=None, neighbors: int=15, min_dist: float=0.1, spread: float=1.0, a: Optional[float]=None, b: Optional[float]=None, metric: Literal['euclidean', 'cosine']='euclidean', search: Literal['auto', 'exact', 'approximate']='auto', init: Literal['spectral', 'pca', 'random']='spectral', epochs: Optional[int]=None, negative: int=5, lr: float=1.0, seed: int=0, fast: bool=False, dimensions: int=2) -> Any:
    ...
def require_obsm(adata, name):
    ...
def embeddings(adata):
    ...
def score(adata: Any, condition_key: str, label_key: Optional[str]=None, *, layer: Optional[str]=None, threads: Optional[int]=None, progress: Optional[bool]=None, use: Union[str, Sequence[str], None]=None, metrics: Union[str, Sequence[str], None]=None, k: int=100, alpha: float=0.1, neighbors: Literal['label', 'global']='label', small_labels: Literal['leave-out', 'shrink']='leave-out', min_label: Optional[int]=None, before: str='X', search: Literal['auto', 'exact', 'approximate']='auto', seed: int=0, predict: Union[str, Sequence[str], None]=None, classifiers: Union[str, Sequence[str], None]=None, folds: int=5, permutations: int=0, classifier: Literal['logistic', 'forest', 'boosted']='forest', test_share: float=0.3, fairness: bool=False, train_on: Optional[str]=None, test_on: Optional[str]=None, counterfactual: Union[str, Sequence[str], None]=None, from_: Union[str, Sequence[str], None]=None, to: Union[str, Sequence[str], None]=None, pair: Optional[str]=None, truth: Optional[str]=None, n_de: int=50, n_top: int=100, min_samples: int=2, max_cells: int=1000) -> Scores:
    ...
def diagnose(adata: Any, model: Union[Model, Sequence[Model]]=None, *, against: Model=None, label_key: Optional[str]=None, layer: Optional[str]=None, threads: Optional[int]=None, progress: Optional[bool]=None, alpha: float=0.05, max_samples: int=5000, permutations: int=99, draws: int=2, seed: int=0) -> Diagnosis:
    ...
def baseline(adata: Any, method: str, condition_key: Optional[str]=None, *, label_key: Optional[str]=None, model: Model=None, layer: Optional[str]=None, copy: bool=False, threads: Optional[int]=None, progress: Optional[bool]=None, components: Optional[int]=None, seed: int=0, covariates: Union[str, Sequence[str], None]=None, rep: Optional[str]=None, k: Optional[int]=None, order: Union[str, Sequence[str], None]=None, reference: Optional[str]=None, to: Optional[str]=None, nonparametric: bool=False, mean_only: bool=False, theta: float=2.0, sigma: float=0.1, lambda_: float=1.0, alpha: float=0.2, prune: float=1e-05, tau: float=0.0, block: float=0.05, clusters: Optional[int]=None, max_iter: int=10, max_cluster: Optional[int]=None) -> Any:
    ...
def describe_methods():
    ...
