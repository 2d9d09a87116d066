"""AnnData as the library reads it, and what the functions keep in it.

`uns["comp"]` holds what is known beyond the matrices:

    record        what was done to X (JSON text); the program comp reads and writes the same
    layer         the layer that pp.prepare() made
    layer_record  what was done to it
    model         the model of tl.train(): the bytes of its file
    scores, diagnosis   the documents of tl.score() and tl.diagnose() (JSON text)
"""
import os

import numpy as np
from scipy import sparse

from ._context import check_bool, logger
from ._data import LAYERS, OBSM, Dataset, add_column
from ._errors import ArgumentError, DataError
from ._lib import hint

UNS = "comp"


def own(adata):
    """Makes an AnnData of its own of a view, as scanpy does before it writes to one; of a view of a file, in memory."""
    check_type(adata)
    if adata.is_view:
        adata._init_as_actual(adata.to_memory() if adata.isbacked else adata.copy())
    return adata


def start(adata, copy):
    """What is written to: the data itself, or a copy."""
    check_type(adata)
    check_bool(copy, "copy")
    if copy:
        return adata.to_memory() if adata.isbacked else adata.copy()
    return own(adata)


def check_key(value, what):
    """The name of an entry to add."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is a name, a str, not {value!r}")
    if not value:
        raise ArgumentError(f"{what} is empty: give a name")


def check_layer_added(adata, layer, name):
    """Predictions never take the place of what they are made from."""
    known = state(adata).get("layer")
    read = known if layer is None and known in adata.layers else layer
    if name == "X":
        why = "stands for adata.X"
    elif name == read:
        why = "would overwrite the layer that is read"
    elif name == known:
        why = "would overwrite the layer that comp.pp.prepare() made"
    elif name == "counts" and name in adata.layers:
        why = "would overwrite the counts"
    else:
        return
    raise ArgumentError(f"layer_added='{name}' {why}: give another name")


def check_type(adata):
    import anndata

    if not isinstance(adata, anndata.AnnData):
        read = "; read the file first, with anndata.read_h5ad() or anndata.read_zarr()" if isinstance(adata, (str, os.PathLike)) else ""
        raise TypeError(f"adata should be an AnnData, not {type(adata).__name__}{read}")


def state(adata):
    """uns["comp"], to read."""
    value = adata.uns.get(UNS, {})
    return value if hasattr(value, "get") else {}


def remember(adata, **values):
    """Writes to uns["comp"]; None removes an entry."""
    kept = dict(state(adata))
    for key, value in values.items():
        if value is None:
            kept.pop(key, None)
        else:
            kept[key] = value
    adata.uns[UNS] = kept


def source(adata, layer):
    """The values to read, what to call them in messages, and their record: a layer; X; or by None the layer of pp.prepare(), else X."""
    known = state(adata)
    if layer is None and known.get("layer") in adata.layers:
        layer = known["layer"]
    if layer is None or layer == "X":
        if adata.X is None:
            raise DataError("the AnnData has no X; name a layer")
        return in_memory(adata.X), "X", text_or_none(known.get("record"))
    if layer not in adata.layers:
        raise DataError(f"there is no layer '{layer}'; there are: {', '.join(adata.layers.keys()) or 'none'}")
    record = known.get("layer_record") if layer == known.get("layer") else None
    return adata.layers[layer], f"layers['{layer}']", text_or_none(record)


def text_or_none(value):
    return None if value is None else str(value)


def in_memory(x):
    """X of a backed AnnData is read; a view of anndata becomes what it is."""
    if isinstance(x, np.ndarray) or sparse.issparse(x):
        return x
    if hasattr(x, "to_memory"):  # sparse, in a file
        return x.to_memory()
    if type(x).__module__.startswith("h5py"):
        return x[()]
    return np.asarray(x)


def require_column(adata, key, what, whose="adata"):
    if key is None:
        raise TypeError(f"{what} is required: the column of {whose}.obs with the {what.split('_')[0]}")
    if isinstance(key, (list, tuple, set, dict)):
        raise TypeError(f"{what} is the name of one column of {whose}.obs, not a {type(key).__name__}")
    if key not in adata.obs:
        raise DataError(f"{whose}.obs has no column '{key}'{hint(key, adata.obs.columns)}")
    check_once(adata, [key], whose)


def check_once(adata, columns, whose="adata"):
    """A name that several columns have says nothing."""
    for name in adata.obs.columns[adata.obs.columns.duplicated()]:
        if name in columns:
            raise DataError(f"{whose}.obs has more than one column '{name}': remove or rename all but one")


def tell_left_out(adata, count):
    logger.warning("%d of %d samples were left out: their embeddings are NaN", count, adata.n_obs)


def with_gaps(adata, rows, values):
    """Values of these samples as values of all, NaN for the others."""
    whole = np.full((adata.n_obs, values.shape[1]), np.nan, values.dtype)
    whole[rows] = values
    return whole


def dataset_of(context, adata, layer=None, columns=None, obsm=(), layers=(), with_x=True, names=True):
    """A comp_dataset of an AnnData. `columns` of obs: None takes all. When one is lacking all are taken, too: the library's message lists them."""
    check_type(adata)
    x, what, record = source(adata, layer) if with_x else (None, "X", text_or_none(state(adata).get("record")))
    obs_names = adata.obs_names if names else None
    made = Dataset.new(context, x, obs_names, adata.var_names, adata.shape, what)
    try:
        made.set_record(record)
        if columns is not None:
            columns = [c for c in dict.fromkeys(columns) if c is not None]
            columns = columns if all(c in adata.obs for c in columns) else None
        wanted = adata.obs.columns if columns is None else columns
        check_once(adata, wanted)
        for name in wanted:
            if not add_column(made.obs, name, adata.obs[name]) and columns is not None:
                raise DataError(f"adata.obs['{name}'] is of type {adata.obs[name].dtype}, which comp cannot use")
        for name in obsm:
            made.add(context, OBSM, name, adata.obsm[name])
        for name in layers:
            made.add(context, LAYERS, name, adata.layers[name])
    except BaseException:
        made.free()
        raise
    return made
