"""Preparation: filters, normalisation, logarithms, variable genes."""
import ctypes
from typing import Any, Optional

import numpy as np

from . import _anndata
from ._anndata import dataset_of, remember, start
from ._context import Context
from ._data import copy_matrix, frame_of, take_matrix
from ._lib import check, decode, lib
from ._options import Options, check_names, with_options

PLACE = "comp_place"  # where a row or column was before some were left out; names may repeat


def add_places(table, n):
    numbers = np.arange(n, dtype=np.float64)
    check(lib.comp_table_add_numbers(table, PLACE.encode(), numbers.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), True))


def take_x(context, dataset):
    """X of a data set, as memory of its own."""
    matrix = lib.comp_dataset_x(dataset.pointer)
    copy = ctypes.c_void_p()
    context.call(lib.comp_matrix_select, ctypes.byref(copy), context.pointer, matrix, None, 0, None, 0)
    return take_matrix(copy)


@with_options("prep", without=("condition", "label", "keep-counts", "keep-raw"))
def prepare(adata: Any, *, condition_key: Optional[str] = None, label_key: Optional[str] = None, layer: str = "X", layer_added: str = "comp",
            copy: bool = False, threads: Optional[int] = None, progress: Optional[bool] = None, **options: Any) -> Any:
    """Prepares counts for training, as `comp prep` does: filters, normalises, takes logarithms, chooses genes.

    X keeps its values; the prepared ones are a layer, which all functions of comp.tl read from then on. Samples and genes
    that the options leave out are left out of adata, as scanpy's filters do.

        comp.pp.prepare(adata, normalize_total="median", log1p=True, hvg="seurat:2000")

    Adds layers[layer_added], the column comp_library_size of obs, columns about variable genes to var (with scanpy's names),
    and a record in uns["comp"], so that the same can be done to other data.

    Parameters
    ----------
    adata : AnnData
        The data.
    condition_key : str, optional
        The column of the conditions: to_counts looks at each by itself, and hvg="auto" compares them.
    label_key : str, optional
        The column of cell types or the like: hvg="auto" also compares conditions within each of them.
    layer : str
        The layer to read; "X" is X.
    layer_added : str
        The name of the layer with the prepared values.
    copy : bool
        Return a copy; adata stays as it is.
    threads, progress
        As in comp.CoMP.fit().
    {options}

    Returns
    -------
    None, or an AnnData with copy=True.
    """
    check_names(prepare, options)
    _anndata.check_type(adata)
    _anndata.check_key(layer_added, "layer_added")
    if layer_added == "X" or (layer_added == layer and layer != _anndata.state(adata).get("layer")):
        _anndata.check_layer_added(adata, layer, layer_added)
    for key, what in ((condition_key, "condition_key"), (label_key, "label_key")):
        if key is not None:
            _anndata.require_column(adata, key, what)
    target = start(adata, copy)
    values = {**options, "condition": condition_key, "label": label_key}
    with Context(threads, progress) as context, Options("prep", values) as how:
        how.check()
        with dataset_of(context, target, layer, names=False) as dataset:
            add_places(dataset.obs, target.n_obs)
            add_places(dataset.var, target.n_vars)
            before = set(target.obs.columns)
            context.call(lib.comp_prep, ctypes.byref(dataset.pointer), context.pointer, how.pointer)
            obs, var = frame_of(dataset.obs), frame_of(dataset.var)
            x, record = take_x(context, dataset), decode(lib.comp_dataset_record(dataset.pointer))
    keep(target, obs.pop(PLACE).to_numpy(int), var.pop(PLACE).to_numpy(int))
    for name in obs.columns.difference(before, sort=False):
        target.obs[name] = obs[name].to_numpy()
    for name in var.columns:
        target.var[name] = var[name].to_numpy()
    target.layers[layer_added] = x
    remember(target, layer=layer_added, layer_record=record)
    return target if copy else None


def keep(adata, rows, columns):
    """Leaves these samples and genes in."""
    if len(rows) < adata.n_obs:
        adata._inplace_subset_obs(rows)
    if len(columns) < adata.n_vars:
        adata._inplace_subset_var(columns)


@with_options("simulate")
def simulate(*, threads: Optional[int] = None, progress: Optional[bool] = None, **options: Any) -> Any:
    """Simulated cells of several types under several conditions, as `comp simulate` makes them; what each cell would express under every condition is known.

    Parameters
    ----------
    threads, progress
        As in comp.CoMP.fit().
    {options}

    Returns
    -------
    An AnnData with counts in X, obs columns condition and label, and layers truth_CONDITION.
    """
    check_names(simulate, options)
    from ._data import Dataset

    pointer = ctypes.c_void_p()
    with Context(threads, progress) as context, Options("simulate", options) as how:
        context.call(lib.comp_simulate, ctypes.byref(pointer), context.pointer, how.pointer)
        with Dataset(pointer) as dataset:
            return to_anndata(context, dataset)


def to_anndata(context, dataset):
    """An AnnData of a comp_dataset, copied."""
    import anndata

    from ._data import LAYERS, OBSM, names_of

    samples, features = lib.comp_dataset_sample_count(dataset.pointer), lib.comp_dataset_feature_count(dataset.pointer)
    obs = frame_of(dataset.obs, names_of(lib.comp_dataset_obs_names, dataset.pointer, samples))
    var = frame_of(dataset.var, names_of(lib.comp_dataset_var_names, dataset.pointer, features))
    made = anndata.AnnData(take_x(context, dataset), obs, var)
    for slot, into in ((LAYERS, made.layers), (OBSM, made.obsm)):
        for i in range(lib.comp_dataset_matrix_count(dataset.pointer, slot)):
            name = lib.comp_dataset_matrix_name(dataset.pointer, slot, i)
            into[decode(name)] = copy_matrix(lib.comp_dataset_matrix(dataset.pointer, slot, name))
    record = decode(lib.comp_dataset_record(dataset.pointer))
    if record is not None:
        remember(made, record=record)
    return made
