"""Figures with matplotlib: maps, training, predictions, scores. Each returns the Figure; `axes` draws into axes that are there."""
from typing import Any, Optional, Sequence, Union

import numpy as np
import pandas as pd

from ._anndata import in_memory, require_column, source
from ._errors import DataError
from ._model import CoMP, layer_name, model_of
from ._results import Scores, embedding_title, metric_title

# Okabe and Ito: red-blind and green-blind readers can distinguish them.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000"]


def pyplot():
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("comp.pl needs matplotlib (on Debian: python3-matplotlib)") from error
    return plt


def make_axes(axes, rows, cols, size=4.0):
    """A grid of axes; `size` of each in inches: a number, or (width, height)."""
    plt = pyplot()
    if axes is None:
        width, height = size if isinstance(size, tuple) else (size, size)
        figure, axes = plt.subplots(rows, cols, figsize=(width * cols, height * rows), squeeze=False, constrained_layout=True)
        return figure, axes
    axes = np.atleast_1d(np.asarray(axes, object)).reshape(rows, cols)
    return axes.flat[0].figure, axes


def palette(n):
    if n <= len(COLOURS):
        return COLOURS[:n]
    return [pyplot().get_cmap("turbo")((i + 0.5) / n) for i in range(n)]


def draw_categories(axis, points, column, size):
    values = column.astype("category") if not isinstance(column.dtype, pd.CategoricalDtype) else column.cat.remove_unused_categories()
    codes, names = values.cat.codes.to_numpy(), values.cat.categories
    order = np.random.default_rng(0).permutation(len(codes))  # so that no category covers the others
    colours = np.array([(0.8, 0.8, 0.8, 1.0)] + [to_rgba(c) for c in palette(len(names))])
    axis.scatter(points[order, 0], points[order, 1], s=size, c=colours[codes[order] + 1], linewidths=0, rasterized=True)
    handles = [axis.scatter([], [], c=[colours[i + 1]], s=20, label=str(name)) for i, name in enumerate(names)]
    if len(handles) <= 30:
        axis.legend(handles=handles, frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))


def to_rgba(colour):
    from matplotlib.colors import to_rgba as convert

    return convert(colour)


def values_of(adata, name):
    """A column of obs, or the values of a gene."""
    if name in adata.obs:
        return adata.obs[name]
    if name in adata.var_names:
        x = adata[:, name].X
        return pd.Series(np.asarray(x.toarray() if hasattr(x, "toarray") else x).ravel(), adata.obs_names)
    require_column(adata, name, "column")
    return None


def maps(adata: Any, color: Union[str, Sequence[str]], basis: Union[str, Sequence[str], None] = None, *, size: Optional[float] = None, axes: Any = None) -> Any:
    """Maps of the samples: a row for each of `color` (columns of obs, genes), a column for each of `basis` (entries of obsm).

    basis : default: "X_umap_before" and "X_umap", those that are there; of other entries the first two dimensions are drawn.
    """
    color = [color] if isinstance(color, str) else list(color)
    basis = [basis] if isinstance(basis, str) else list(basis or [b for b in ("X_umap_before", "X_umap") if b in adata.obsm])
    if not basis:
        raise DataError("adata.obsm has no X_umap: run comp.tl.umap() first, or name a basis")
    for b in basis:
        if b not in adata.obsm:
            raise DataError(f"adata.obsm has no '{b}'; there are: {', '.join(adata.obsm.keys()) or 'none'}")
    figure, grid = make_axes(axes, len(color), len(basis))
    size = size or float(np.clip(60000 / max(adata.n_obs, 1), 1, 12))
    for row, name in zip(grid, color):
        column = values_of(adata, name)
        for axis, b in zip(row, basis):
            points = np.asarray(adata.obsm[b])[:, :2]
            if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
                dots = axis.scatter(points[:, 0], points[:, 1], s=size, c=column.to_numpy(float), cmap="viridis", linewidths=0, rasterized=True)
                figure.colorbar(dots, ax=axis, shrink=0.6)
            else:
                draw_categories(axis, points, column, size)
            axis.set(title=f"{name}, {b}" if len(basis) > 1 else name, xticks=[], yticks=[], xlabel=f"{b} 1", ylabel=f"{b} 2")
    return figure


def training(model: Any, *, axes: Any = None) -> Any:
    """The losses of each epoch: training and validation. `model` is a comp.CoMP, or an AnnData that has one."""
    history = (model if isinstance(model, CoMP) else CoMP._of(model_of(None, model))).history
    parts = ["total", "likelihood", "kl", "penalty"]
    figure, grid = make_axes(axes, 1, len(parts), 3.0)
    for axis, part in zip(grid[0], parts):
        axis.plot(history.index, history[f"train_{part}"], color=COLOURS[0], label="training")
        if f"validation_{part}" in history:
            axis.plot(history.index, history[f"validation_{part}"], color=COLOURS[1], label="validation")
        axis.set(title=part, xlabel="epoch")
    grid[0][0].legend(frameon=False)
    return figure


def dense_mean(x, rows):
    return np.asarray(x[rows].mean(axis=0), float).ravel()


def counterfactual(adata: Any, to: str, from_: str, condition_key: str, label_key: Optional[str] = None, *, layer_added: Optional[str] = None,
                   layer: Optional[str] = None, axes: Any = None) -> Any:
    """Each gene's mean over the real samples of `to` against its mean over the predictions for the samples of `from_`: one panel a label, with Pearson's r.

    layer_added : the layer of comp.tl.counterfactual(); default: "counterfactual_" and the condition.
    """
    name = layer_name(to) if layer_added is None else layer_added
    if name not in adata.layers:
        raise DataError(f"there is no layer '{name}': run comp.tl.counterfactual() first")
    require_column(adata, condition_key, "condition_key")
    condition = adata.obs[condition_key].astype(str).to_numpy()
    if label_key is not None:
        require_column(adata, label_key, "label_key")
    label = adata.obs[label_key].astype(str).to_numpy() if label_key else np.full(adata.n_obs, "all samples")
    x, predicted = source(adata, layer)[0], in_memory(adata.layers[name])
    groups = [g for g in np.unique(label) if ((label == g) & (condition == to)).any() and ((label == g) & (condition == from_)).any()]
    if not groups:
        raise DataError(f"no label has samples of both '{from_}' and '{to}'")
    cols = min(len(groups), 4)
    rows = -(-len(groups) // cols)
    figure, grid = make_axes(axes, rows, cols, 3.0)
    for axis in grid.flat[len(groups):]:
        axis.set_visible(False)
    for axis, group in zip(grid.flat, groups):
        real = dense_mean(x, np.flatnonzero((label == group) & (condition == to)))
        told = dense_mean(predicted, np.flatnonzero((label == group) & (condition == from_)))
        own = dense_mean(x, np.flatnonzero((label == group) & (condition == from_)))
        axis.scatter(own, real, s=6, c="#bbbbbb", linewidths=0, label="no change", rasterized=True)
        axis.scatter(told, real, s=6, c=COLOURS[0], linewidths=0, label="predicted", rasterized=True)
        top = max(real.max(), told.max(), own.max())
        axis.plot([0, top], [0, top], color="black", linewidth=0.5)
        r = np.corrcoef(told, real)[0, 1] if told.std() > 0 and real.std() > 0 else float("nan")
        axis.set(title=f"{group}\nr = {r:.3f}", xlabel=f"predicted mean, {from_} to {to}", ylabel=f"real mean, {to}")
    grid.flat[0].legend(frameon=False, fontsize="small")
    return figure


def scores(scores: Any, *, axes: Any = None) -> Any:
    """Bars of each metric, one for each embedding. `scores` is a comp.Scores, or an AnnData after comp.tl.score()."""
    from ._anndata import state

    if not isinstance(scores, Scores):
        kept = state(scores).get("scores")
        if kept is None:
            raise DataError("adata has no scores: run comp.tl.score() first")
        scores = Scores(str(kept))
    frame = scores.to_frame()
    bars = max(len(frame.columns), 1)
    figure, grid = make_axes(axes, 1, 1, (9.0, 1.2 + 0.15 * (bars + 1) * max(len(frame), 1)))  # names of metrics are long
    axis = grid[0][0]
    height = 0.8 / bars
    places = np.arange(len(frame))[::-1]
    for i, name in enumerate(frame.columns):
        axis.barh(places - i * height, frame[name], height, color=COLOURS[i % len(COLOURS)], label=embedding_title(name))
    words = {"lower": "lower is better", "higher": "higher is better", "zero": "0 is best"}
    axis.set_yticks(places - height * (len(frame.columns) - 1) / 2)
    axis.set_yticklabels([f"{metric_title(m)} ({words[b]})" if (b := scores.better.get(m)) in words else m for m in frame.index])
    axis.axvline(0, color="black", linewidth=0.5)
    axis.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncol=min(bars, 5))
    return figure
