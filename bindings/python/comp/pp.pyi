# Made by stubs.py from the option tables of the library.
import os
from typing import Literal, Sequence, Union
import ctypes
from typing import Any, Optional
import numpy as np
from . import _anndata
from ._anndata import dataset_of, remember, start
from ._context import Context
from ._data import copy_matrix, frame_of, take_matrix
from ._lib import check, decode, lib
from ._options import Options, check_names, with_options
PLACE: Any
def add_places(table, n):
    ...
def take_x(context, dataset):
    ...
def prepare(adata: Any, *, condition_key: Optional[str]=None, label_key: Optional[str]=None, layer: str='X', layer_added: str='comp', copy: bool=False, threads: Optional[int]=None, progress: Optional[bool]=None, force: bool=False, keep: Union[str, Sequence[str], None]=None, drop_genes: Union[str, Sequence[str], None]=None, drop_empty_genes: bool=False, min_gene_counts: float=0.0, min_gene_cells: int=0, min_cell_counts: float=0.0, min_cell_genes: int=0, to_counts: bool=False, normalize_total: Optional[str]=None, log1p: bool=False, hvg: Optional[str]=None, hvg_batch: Optional[str]=None, hvg_bins: int=20, hvg_span: float=0.3, all_genes: bool=False) -> Any:
    ...
def keep(adata, rows, columns):
    ...
def simulate(*, threads: Optional[int]=None, progress: Optional[bool]=None, seed: int=0, truth: bool=False, no_truth: bool=False, cells: int=5000, genes: int=1000, conditions: int=2, labels: int=5, imbalance: float=0.0, composition: float=0.0, absent: Optional[str]=None, programs: int=5, separation: float=1.5, effect: float=1.0, effect_genes: float=0.1, specific: float=0.5, heterogeneity: float=0.75, library: float=0.0, library_sd: float=0.35, dispersion: float=0.2) -> Any:
    ...
def to_anndata(context, dataset):
    ...
