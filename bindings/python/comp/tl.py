"""Tools: train, embed, predict, correct, lay out, score, check, compare. Results go to the AnnData; X is never overwritten."""
import ctypes
import json
from typing import Any, Callable, Optional, Sequence, Union

import numpy as np

from . import _anndata
from ._anndata import dataset_of, remember, require_column, start
from ._context import Context, EpochNumbers
from ._data import LAYERS, OBSM, copy_matrix, take_matrix, wrap
from ._errors import DataError, Interrupted
from ._lib import BaselineMethod, UmapInfo, check, decode, encode, lib
from ._model import NOT_TRAIN, CoMP, check_features, embed_dataset, layer_name, map_dataset, model_of, predict_dataset
from ._options import Options, PathLike, check_names, with_options
from ._results import Audit, Diagnosis, Scores

Model = Union[CoMP, PathLike, bytes, None]


@with_options("train", without=NOT_TRAIN)
def train(adata: Any, condition_key: str, *, key_added: str = "X_comp", layer: Optional[str] = None, copy: bool = False,
          on_epoch: Optional[Callable[[EpochNumbers], Optional[bool]]] = None, threads: Optional[int] = None, progress: Optional[bool] = None,
          **options: Any) -> Any:
    """Fits a model and embeds the samples.

    Adds obsm[key_added], the embedding, and uns["comp"]["model"], the bytes of the model file, which the other functions use.
    comp.model(adata) makes an object of it. Samples without a condition are left out of training; where the encoder reads the
    condition their embeddings are NaN.

    Ctrl-C raises comp.Interrupted, whose `model` is the model so far. With checkpoint=FILE the same call with resume=True goes on
    from there, to the same bytes.

    Parameters
    ----------
    adata : AnnData
        The data, prepared: see comp.pp.prepare().
    condition_key : str
        The column of adata.obs that holds the condition: a batch, a treatment, a group.
    key_added : str
        The name of the embedding in obsm.
    layer : str, optional
        The layer to read; "X" is X. Default: the layer that comp.pp.prepare() made, else X.
    copy : bool
        Return a copy; adata stays as it is.
    on_epoch : function, optional
        Called after each epoch with its numbers (comp.EpochNumbers). When it returns False training ends.
    threads : int, optional
        Number of threads; default: comp.settings.threads. Results do not depend on it.
    progress : bool, optional
        Show a progress bar; default: comp.settings.progress.
    {options}

    Returns
    -------
    None, or an AnnData with copy=True.
    """
    check_names(train, options)
    _anndata.check_type(adata)
    _anndata.check_key(key_added, "key_added")
    require_column(adata, condition_key, "condition_key")
    target = start(adata, copy)
    model = CoMP(target, condition_key, layer=layer, **options)
    try:
        model.fit(on_epoch=on_epoch, threads=threads, progress=progress)
    except Interrupted as error:
        if error.done:
            error.args = ("interrupted when training was done: the model is that of the error (comp.Interrupted.model)",)
        elif options.get("checkpoint") is None:
            error.args = ("training was interrupted; with checkpoint=FILE its state is kept, and resume=True goes on from there",)
        raise
    remember(target, model=np.frombuffer(model.to_bytes(), np.uint8))  # first: it is there whatever happens to the embedding
    known = target.obs[condition_key].notna().to_numpy()
    if known.all() or not model.config["encoder_sees_condition"]:
        z = model.embed(threads=threads, progress=progress)
    else:
        _anndata.tell_left_out(target, int((~known).sum()))
        z = _anndata.with_gaps(target, known, model.embed(target[known], threads=threads, progress=progress))
    target.obsm[key_added] = z
    return target if copy else None


@with_options("embed")
def embed(adata: Any, model: Model = None, *, key_added: str = "X_comp", layer: Optional[str] = None, scales: bool = False, copy: bool = False,
          threads: Optional[int] = None, progress: Optional[bool] = None, **options: Any) -> Any:
    """The embedding of every sample: obsm[key_added]. The data need not be what the model was trained on.

    Features are found by name, and preparation is repeated where the data's record does not say that it is done.

    Parameters
    ----------
    adata : AnnData
        The data.
    model : CoMP, file or bytes, optional
        The model; default: that of comp.tl.train().
    key_added : str
        The name of the embedding in obsm.
    scales : bool
        Also add the standard deviations of the posteriors, as obsm[key_added + "_scale"].
    layer, copy, threads, progress
        As in train().
    {options}

    Returns
    -------
    None, or an AnnData with copy=True.
    """
    check_names(embed, options)
    _anndata.check_type(adata)
    _anndata.check_key(key_added, "key_added")
    handle = model_of(model, adata)
    target = start(adata, copy)
    with Context(threads, progress) as context, dataset_of(context, target, layer, [handle.condition], names=False) as dataset:
        z, scale = embed_dataset(context, handle, dataset, options, scales)
    target.obsm[key_added] = z
    if scales:
        target.obsm[f"{key_added}_scale"] = scale
    return target if copy else None


@with_options("map")
def map(adata: Any, reference: Any, model: Model = None, *, key_added: str = "X_comp", layer: Optional[str] = None,
        reference_layer: Optional[str] = None, copy: bool = False, threads: Optional[int] = None, progress: Optional[bool] = None, **options: Any) -> Any:
    """Places new samples in the embedding of a trained model, also of conditions that it does not know, and transfers labels to them.

    Adds to adata: obsm[key_added]; the obs columns comp_distance, comp_novelty and comp_unknown and, with label, LABEL_predicted,
    LABEL_probability and LABEL_unknown; uns["comp"]["model"], the bytes of the model that knows the new conditions, too; and
    uns["comp"]["map"], a report as JSON text. The reference and its model stay as they are.

    Parameters
    ----------
    adata : AnnData
        The new samples (the query).
    reference : AnnData
        Samples that the model was trained on, with labels.
    model : CoMP, file or bytes, optional
        The model; default: that of comp.tl.train() in the reference.
    key_added : str
        The name of the embedding in obsm.
    layer, reference_layer : str, optional
        The layers to read of both; "X" is X. Default: the layer that comp.pp.prepare() made, else X.
    copy, threads, progress
        As in train().
    {options}

    Returns
    -------
    None, or an AnnData with copy=True.
    """
    check_names(map, options)
    _anndata.check_type(adata)
    _anndata.check_key(key_added, "key_added")
    _anndata.check_type(reference)
    handle = model_of(model, reference)
    if options.get("label") is not None:
        require_column(reference, options["label"], "label", "reference")
    target = start(adata, copy)
    with Context(threads, progress) as context, dataset_of(context, target, layer, [handle.condition], names=False) as query, \
            dataset_of(context, reference, reference_layer, [handle.condition, options.get("label")], names=False) as known:
        found = map_dataset(context, handle, known, query, options, target.obs_names)
    target.obsm[key_added] = found.embedding
    for name in found.obs:
        target.obs[name] = found.obs[name]
    remember(target, model=np.frombuffer(found.model.to_bytes(), np.uint8), map=json.dumps(found.report))
    return target if copy else None


def add_predictions(adata, model, layer, layer_added, copy, threads, progress, values):
    """What counterfactual() and correct() share."""
    _anndata.check_type(adata)
    _anndata.check_key(layer_added, "layer_added")
    for ending in ("", "_sd", "_lower", "_upper") if values.get("samples") else ("",):
        _anndata.check_layer_added(adata, layer, layer_added + ending)
    handle = model_of(model, adata)
    check_features(handle, adata)
    target = start(adata, copy)
    with Context(threads, progress) as context, dataset_of(context, target, layer, [handle.condition], names=False) as dataset:
        found = predict_dataset(context, handle, dataset, values).in_order(target.var_names)
    target.layers[layer_added] = found.values
    for part in ("sd", "lower", "upper"):
        if getattr(found, part) is not None:
            target.layers[f"{layer_added}_{part}"] = getattr(found, part)
    if values.get("from_") is not None:
        target.obs[f"{layer_added}_predicted"] = found.predicted
    return target if copy else None


@with_options("counterfactual")
def counterfactual(adata: Any, to: str, model: Model = None, *, layer_added: Optional[str] = None, layer: Optional[str] = None, copy: bool = False,
                   threads: Optional[int] = None, progress: Optional[bool] = None, **options: Any) -> Any:
    """What every sample would be under another condition: layers[layer_added].

    With samples=N also layer_added_sd, _lower and _upper; with from_ the column layer_added_predicted of obs says which samples
    are predicted. The data must have the features of the model; CoMP.counterfactual() returns values for any data.

    Parameters
    ----------
    adata : AnnData
        The data.
    to : str
        The condition under which samples are decoded.
    model : CoMP, file or bytes, optional
        The model; default: that of comp.tl.train().
    layer_added : str, optional
        The name of the layer; default: "counterfactual_" and the condition.
    layer, copy, threads, progress
        As in train().
    {options}

    Returns
    -------
    None, or an AnnData with copy=True.
    """
    check_names(counterfactual, options)
    return add_predictions(adata, model, layer, layer_name(to) if layer_added is None else layer_added, copy, threads, progress, {**options, "to": to})


@with_options("counterfactual", only=("residual", "clip", "precision"))
def correct(adata: Any, to: str, model: Model = None, *, layer_added: str = "corrected", layer: Optional[str] = None, copy: bool = False,
            threads: Optional[int] = None, progress: Optional[bool] = None, **options: Any) -> Any:
    """All samples as if they were of one condition: layers[layer_added]. Removes the effect of a batch in the space of the features.

    Parameters
    ----------
    adata : AnnData
        The data.
    to : str
        The condition under which all samples are decoded.
    model : CoMP, file or bytes, optional
        The model; default: that of comp.tl.train().
    layer_added : str
        The name of the layer.
    layer, copy, threads, progress
        As in train().
    {options}

    Returns
    -------
    None, or an AnnData with copy=True.
    """
    check_names(correct, options)
    return add_predictions(adata, model, layer, layer_added, copy, threads, progress, {**options, "to": to})


@with_options("umap")
def umap(adata: Any, use: str = "X_comp", *, key_added: str = "X_umap", copy: bool = False, threads: Optional[int] = None,
         progress: Optional[bool] = None, **options: Any) -> Any:
    """A layout of the samples in two dimensions, as umap-learn makes it: obsm[key_added]. The same seed gives the same layout.

    Parameters
    ----------
    adata : AnnData
        The data.
    use : str
        The entry of obsm that is laid out.
    key_added : str
        The name of the layout in obsm.
    copy, threads, progress
        As in train().
    {options}

    Returns
    -------
    None, or an AnnData with copy=True.
    """
    check_names(umap, options)
    _anndata.check_type(adata)
    _anndata.check_key(key_added, "key_added")
    require_obsm(adata, use)
    target = start(adata, copy)
    found, info = ctypes.c_void_p(), UmapInfo()
    with Context(threads, progress) as context, Options("umap", options) as how:
        points, kept = wrap(context, target.obsm[use], f"obsm['{use}']")
        try:
            context.call(lib.comp_umap_run, ctypes.byref(found), ctypes.byref(info), context.pointer, points, how.pointer)
        finally:
            lib.comp_matrix_free(points)
            del kept
    target.obsm[key_added] = take_matrix(found)
    return target if copy else None


def require_obsm(adata, name):
    if name not in adata.obsm:
        raise DataError(f"adata.obsm has no '{name}'; there are: {', '.join(adata.obsm.keys()) or 'none'}")


def embeddings(adata):
    """The entries of obsm that are matrices of finite numbers."""

    def usable(m):
        return getattr(m, "ndim", 0) == 2 and np.dtype(getattr(m, "dtype", object)).kind in "biuf" and bool(np.isfinite(m.data if hasattr(m, "indptr") else m).all())

    return [name for name, m in adata.obsm.items() if usable(m)]


def scored(adata, options):
    """The entries of obsm that are scored, as the option `use` says it."""
    use, before = options.get("use"), options.get("before")
    if use is None:
        names = ["X_comp"] if "X_comp" in adata.obsm else embeddings(adata)
    else:
        names = use.split(",") if isinstance(use, str) else list(use)
    names = [n for n in dict.fromkeys([*names, before or "X"]) if n != "X"]
    for name in names:
        require_obsm(adata, name)
    return names


@with_options("score", without=("condition", "label"))
def score(adata: Any, condition_key: str, label_key: Optional[str] = None, *, layer: Optional[str] = None, threads: Optional[int] = None,
          progress: Optional[bool] = None, **options: Any) -> Scores:
    """How well embeddings mix conditions and keep labels, what classifiers predict from them, and how good predictions are.

    Parameters
    ----------
    adata : AnnData
        The data, with embeddings in obsm.
    condition_key : str
        The column that holds the condition or batch.
    label_key : str, optional
        The column of labels that should stay separate, such as cell types.
    layer, threads, progress
        As in train().
    {options}

    Returns
    -------
    comp.Scores: the numbers and what they mean (findings). The document is also kept in uns["comp"]["scores"].
    """
    check_names(score, options)
    _anndata.check_type(adata)
    require_column(adata, condition_key, "condition_key")
    if label_key is not None:
        require_column(adata, label_key, "label_key")
    values = {**options, "condition": condition_key, "label": label_key}
    found, needs_x = ctypes.c_void_p(), ctypes.c_bool()
    with Context(threads, progress) as context, Options("score", values) as how:
        check(lib.comp_scores_needs_x(ctypes.byref(needs_x), how.pointer))
        named = options.get("counterfactual") or []
        named = [named] if isinstance(named, str) else list(named)
        layers = [n for n in adata.layers if n in named or n == options.get("truth") or (named and n.startswith("truth_"))]
        with dataset_of(context, adata, layer, None, scored(adata, options), layers, needs_x.value) as dataset:
            context.call(lib.comp_scores_run, ctypes.byref(found), context.pointer, dataset.pointer, how.pointer)
    try:
        scores = Scores(decode(lib.comp_scores_json(found)))
    finally:
        lib.comp_scores_free(found)
    remember(_anndata.own(adata), scores=scores.json)
    return scores


@with_options("diagnose", without=("label", "names", "against-name"))
def diagnose(adata: Any, model: Union[Model, Sequence[Model]] = None, *, against: Model = None, label_key: Optional[str] = None, layer: Optional[str] = None,
             threads: Optional[int] = None, progress: Optional[bool] = None, **options: Any) -> Diagnosis:
    """Whether a model can be trusted: the paper's theory as checks, each with a level, a reason and advice.

    Parameters
    ----------
    adata : AnnData
        The data.
    model : CoMP, file or bytes, or a list of them, optional
        The model; default: that of comp.tl.train(). Of a list the first is judged; the others, trained with other seeds, show
        whether it is stable.
    against : CoMP, file or bytes, optional
        A model of the same data trained with gamma=0, to compare reconstructions with.
    label_key : str, optional
        The column of what must not be lost, such as the cell type.
    layer, threads, progress
        As in train().
    {options}

    Returns
    -------
    comp.Diagnosis: findings and numbers. The document is also kept in uns["comp"]["diagnosis"].
    """
    check_names(diagnose, options)
    _anndata.check_type(adata)
    if label_key is not None:
        require_column(adata, label_key, "label_key")
    models = [model_of(m, adata) for m in (model if isinstance(model, (list, tuple)) else [model])]
    other = None if against is None else model_of(against, adata)
    found = ctypes.c_void_p()
    pointers = (ctypes.c_void_p * len(models))(*[m.pointer for m in models])
    with Context(threads, progress) as context, Options("diagnose", {**options, "label": label_key}) as how, \
            dataset_of(context, adata, layer, [models[0].condition, label_key]) as dataset:
        context.call(lib.comp_diagnose, ctypes.byref(found), context.pointer, dataset.pointer, pointers, len(models), other.pointer if other else None,
                     how.pointer)
    try:
        diagnosis = Diagnosis(decode(lib.comp_diagnosis_json(found)))
    finally:
        lib.comp_diagnosis_free(found)
    remember(_anndata.own(adata), diagnosis=diagnosis.json)
    return diagnosis


@with_options("audit", without=("condition",))
def audit(adata: Any, condition_key: str, *, model: Model = None, layer: Optional[str] = None, threads: Optional[int] = None, progress: Optional[bool] = None,
          **options: Any) -> Audit:
    """How well a representation hides an attribute: tuned attackers, and a bound on what any attacker can find.

        comp.tl.audit(adata, "sex", target="income", release="draws,cells:64", unseen="test")

    Draws need the standard deviations of the posteriors: obsm["X_comp_scale"], as tl.embed(scales=True) makes them, or a model.

    Parameters
    ----------
    adata : AnnData
        The data, with the representation in obsm. It stays as it is.
    condition_key : str
        The column with the attribute that must be hidden.
    model : CoMP, file or bytes, optional
        Embed the data with this model first.
    layer, threads, progress
        As in train().
    {options}

    Returns
    -------
    comp.Audit: findings, and the tables attacks, certificates and utility. With gammas: of each model.
    """
    check_names(audit, options)
    _anndata.check_type(adata)
    require_column(adata, condition_key, "condition_key")
    use, before = options.get("use") or "X_comp", options.get("before")
    frontier = bool(options.get("gammas"))
    chosen = None if model is None else model_of(model, adata)
    if frontier and chosen is not None:
        raise ValueError("gammas trains models itself: model does not go with it")
    if chosen is not None and options.get("use") is not None:
        raise ValueError("use: the model makes the embedding that is audited")
    names = [] if frontier or use == "X" or chosen is not None else [use] + [n for n in [use + "_scale"] if n in adata.obsm]
    names += [n for n in [before or "X_pca"] if n != "X" and n not in names and (before or n in adata.obsm)]
    for name in names:
        require_obsm(adata, name)
    found = ctypes.c_void_p()
    with Context(threads, progress) as context, Options("audit", {**options, "condition": condition_key}) as how, \
            dataset_of(context, adata, layer, None, names) as dataset:
        if chosen is not None:
            context.call(lib.comp_audit_model, ctypes.byref(found), context.pointer, chosen.pointer, dataset.pointer, how.pointer)
        else:
            context.call(lib.comp_audit_frontier if frontier else lib.comp_audit_run, ctypes.byref(found), context.pointer, dataset.pointer, how.pointer)
    try:
        return Audit(decode(lib.comp_audit_json(found)))
    finally:
        lib.comp_audit_free(found)


@with_options("baseline", without=("condition", "label"))
def baseline(adata: Any, method: str, condition_key: Optional[str] = None, *, label_key: Optional[str] = None, model: Model = None,
             layer: Optional[str] = None, copy: bool = False, threads: Optional[int] = None, progress: Optional[bool] = None, **options: Any) -> Any:
    """Another integration method, to compare with: obsm["X_NAME"] and, where the method corrects values, layers["NAME"].

        comp.tl.baseline(adata, "harmony", condition_key="batch")

    The first two arguments may stand in either order.

    Parameters
    ----------
    adata : AnnData
        The data, logged or standardised.
    method : str
        {methods}
    condition_key : str
        The column whose effect is removed; pca alone needs none.
    label_key : str, optional
        scgen: a column, such as a cell type, whose values count the same for the shift between conditions.
    model : CoMP, file or bytes, optional
        scgen: a vae that was fitted to the same features; default: one is fitted.
    layer, copy, threads, progress
        As in train().
    {options}

    Returns
    -------
    None, or an AnnData with copy=True.
    """
    check_names(baseline, options)
    if isinstance(adata, str):
        adata, method = method, adata
    _anndata.check_type(adata)
    row = ctypes.POINTER(BaselineMethod)()
    check(lib.comp_baseline_find(ctypes.byref(row), encode(method)))
    if not row.contents.no_condition:
        require_column(adata, condition_key, "condition_key")
    handle = None if model is None else model_of(model, adata)
    target = start(adata, copy)
    found = ctypes.c_void_p()
    values = {**options, "condition": condition_key, "label": label_key}
    representation = options.get("rep")
    if representation is not None:
        require_obsm(target, representation)
    with Context(threads, progress) as context, Options("baseline", values) as how:
        check(lib.comp_baseline_check(row, how.pointer))
        with dataset_of(context, target, layer, None, [representation] if representation else []) as dataset:
            context.call(lib.comp_baseline_run, ctypes.byref(found), context.pointer, dataset.pointer, encode(method), handle.pointer if handle else None,
                         how.pointer)
    try:
        for slot, into in ((OBSM, target.obsm), (LAYERS, target.layers)):
            for i in range(lib.comp_dataset_matrix_count(found, slot)):
                name = lib.comp_dataset_matrix_name(found, slot, i)
                into[decode(name)] = copy_matrix(lib.comp_dataset_matrix(found, slot, name))
    finally:
        lib.comp_dataset_free(found)
    return target if copy else None


def describe_methods():
    rows = [lib.comp_baseline_at(i).contents for i in range(lib.comp_baseline_count())]
    return "\n        ".join(f"{decode(r.name)}: {decode(r.summary)}." for r in rows)


baseline.__doc__ = baseline.__doc__.replace("{methods}", "One of\n        " + describe_methods())
