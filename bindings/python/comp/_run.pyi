# Made by stubs.py from the option tables of the library.
import os
from typing import Literal, Sequence, Union
import contextlib
import ctypes
import json
import os
import tempfile
import time
from typing import Any, Optional
import numpy as np
from . import _anndata
from ._anndata import dataset_of, remember, require_column, state, tell_left_out, with_gaps
from ._context import Context, logger
from ._lib import decode, encode, lib
from ._model import CoMP, Scratch, load, model_of
from ._options import Options, PathLike, check_names, with_options
from ._results import Finding, Findings, Report, Scores
from .tl import Model, embeddings
FILES: Any

class RunResult:
    folder: str
    report: Report
    record: dict
    scores: Scores
    findings: Findings

    def __init__(self, pointer, scratch) -> None:
        ...

    @property
    def adata(self) -> Any:
        ...

    @property
    def model(self) -> CoMP:
        ...
def run(adata: Any, condition: str, label: Optional[str]=None, output: Optional[PathLike]=None, *, layer: str='X', name: str='adata', threads: Optional[int]=None, progress: Optional[bool]=None, to: Optional[str]=None, from_: Optional[str]=None, reference: Optional[str]=None, protect: bool=False, target: Optional[str]=None, test_share: float=0.3, compare: Optional[str]=None, force: bool=False, fresh: bool=False, as_: Literal['auto', 'omics', 'table']='auto', values: Literal['auto', 'counts', 'log', 'normalized', 'centered']='auto', keep: Union[str, Sequence[str], None]=None, hvg: Optional[str]=None, no_hvg: bool=False, drop: Union[str, Sequence[str], None]=None, drop_missing: bool=False, preset: Optional[Literal['default', 'protect', 'paper-kang', 'paper-pbmc', 'paper-adult', 'paper-tumour']]=None, model: Literal['vae', 'cvae', 'vfae', 'trvae', 'comp']='comp', latent: Optional[int]=None, hidden: Union[int, Sequence[int], None]=None, scale: Optional[float]=None, learn_scale: bool=False, likelihood: Literal['gaussian', 'nb']='gaussian', encoder_without_condition: bool=False, centre: Optional[bool]=None, no_centre: bool=False, gamma: Optional[float]=None, beta: Optional[float]=None, bound: Optional[float]=None, target_weight: Optional[float]=None, penalty: Optional[Literal['none', 'comp', 'comp-p0', 'mmd']]=None, place: Optional[Literal['z', 'hidden']]=None, leave_self_out: bool=False, mmd_scale: Optional[float]=None, elbo_reduction: Optional[Literal['sum', 'mean']]=None, align: Optional[Literal['all', 'shared']]=None, kl_target: Optional[float]=None, blur: Union[float, Sequence[float], None]=None, seed: int=0, epochs: Optional[int]=None, batch: Optional[int]=None, lr: Optional[float]=None, schedule: Optional[Literal['constant', 'cosine', 'plateau']]=None, warmup: Optional[float]=None, weight_decay: float=0.0, clip: Optional[float]=None, patience: Optional[int]=None, max_time: Optional[float]=None, validation: float=0.1, select: Optional[Literal['best', 'last', 'average']]=None, precision: Literal['auto', 'f32', 'bf16']='auto', shards: Optional[int]=None, k: Optional[int]=None, alpha: float=0.1, predict: Literal['cells', 'residual', 'decoded']='cells', clip_values: Literal['auto', 'yes', 'no']='auto', no_counterfactual: bool=False, all_counterfactuals: bool=False, no_umap: bool=False, no_correct: bool=False, no_diagnose: bool=False, figures: Literal['svg', 'png', 'pdf']='svg') -> RunResult:
    ...
def bring_back(adata, result):
    ...
def report(adata: Any, path: PathLike, model: Model=None, *, layer: Optional[str]=None, threads: Optional[int]=None, progress: Optional[bool]=None, condition: Optional[str]=None, label: Optional[str]=None, before: Optional[str]=None, after: Optional[str]=None, source: Optional[str]=None, title: Optional[str]=None, max_samples: int=100000, gene_size: Union[int, str]='12M', top: int=50) -> Report:
    ...
def model(adata: Any) -> CoMP:
    ...
