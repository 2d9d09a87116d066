"""A whole run, and the page."""
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

# Options about reading a file have no effect on data in memory.
FILES = ("input", "output", "metadata", "layer", "raw", "transpose", "no-header", "names", "missing", "comment")


class RunResult:
    """What comp.run() made: a folder with everything in it (docs/formats.md), and what the numbers mean.

    folder    the path; a temporary one is removed with this object
    adata     data.h5ad: the prepared data with embeddings, maps, predictions and corrected values
    model     the model, as comp.CoMP
    scores    comp.Scores
    findings  what the numbers mean
    report    the page, which a notebook shows
    record    every step with its options and versions
    """

    def __init__(self, pointer, scratch):
        self._scratch = scratch
        self.folder = decode(lib.comp_run_result_folder(pointer))
        self.report = Report(decode(lib.comp_run_result_page(pointer)))
        self.record = json.loads(decode(lib.comp_run_result_record(pointer)))
        self.scores = Scores(decode(lib.comp_run_result_scores(pointer)))
        verdict = lib.comp_run_result_verdict(pointer)
        self.findings = Findings(Finding(f) for f in json.loads(decode(lib.comp_verdict_json(verdict))))
        self._adata = None

    @property
    def adata(self) -> Any:
        """data.h5ad of the folder, read when it is first asked for."""
        import anndata

        if self._adata is None:
            self._adata = anndata.read_h5ad(os.path.join(self.folder, "data.h5ad"))
        return self._adata

    @property
    def model(self) -> CoMP:
        return load(os.path.join(self.folder, "model.safetensors"))

    def _table(self):
        return self.scores._table().to_string(float_format=lambda v: f"{v:.4f}", na_rep="-")

    def __repr__(self):
        return "\n\n".join([self._table(), repr(self.findings), repr(self.report)])

    def _repr_html_(self):
        import html

        table = self.scores._table().to_html(float_format=lambda v: f"{v:.4f}", na_rep="-", border=0)
        return table + self.findings._repr_html_() + f"<div>{html.escape(repr(self.report))}</div>"


@with_options("run", without=FILES)
def run(adata: Any, condition: str, label: Optional[str] = None, output: Optional[PathLike] = None, *, layer: str = "X", name: str = "adata",
        threads: Optional[int] = None, progress: Optional[bool] = None, **options: Any) -> RunResult:
    """Everything at once, as `comp run` does it: looks at the data, prepares, trains, embeds, draws maps, predicts each sample under each condition, scores.

        result = comp.run(adata, condition="stim", label="cell_type")
        result                # scores and what they mean
        result.report         # the page
        result.adata          # the prepared data with all results

    adata gets the embeddings and maps (obsm) and the model (uns["comp"]); its X stays as it is. Predictions are layers of
    result.adata, which has the genes that were chosen. Steps whose results are in the folder already are not done again: after
    Ctrl-C the same call with the same `output` goes on where it stopped.

    Parameters
    ----------
    adata : AnnData
        The data: counts, logarithms or other measurements. Nothing needs to be prepared.
    condition : str
        The column of adata.obs that holds the condition: a batch, a treatment, a group.
    label : str, optional
        The column of labels that must stay separate, such as cell types.
    output : path, optional
        The folder for all results; default: a temporary one, which goes with the result.
    layer : str
        The layer to read; "X" is X.
    name : str
        What messages and the page call the data.
    threads, progress
        As in comp.CoMP.fit().
    {options}
    """
    check_names(run, options)
    _anndata.check_type(adata)
    require_column(adata, condition, "condition")
    if label is not None:
        require_column(adata, label, "label")
    scratch = Scratch() if output is None else None
    values = {**options, "condition": condition, "label": label, "output": output if scratch is None else os.path.join(scratch.path, "run"), "input": name}
    pointer = ctypes.c_void_p()
    with Context(threads, progress) as context, Options("run", values) as how, dataset_of(context, adata, layer) as dataset:
        context.call(lib.comp_run_dataset, ctypes.byref(pointer), context.pointer, dataset.pointer, how.pointer)
    try:
        result = RunResult(pointer, scratch)
    finally:
        lib.comp_run_result_free(pointer)
    bring_back(_anndata.own(adata), result)
    return result


def bring_back(adata, result):
    """Puts embeddings and maps into the user's data; NaN for samples that were left out."""
    made = result.adata
    same = made.n_obs == adata.n_obs and (made.obs_names == adata.obs_names).all()
    places = np.arange(adata.n_obs) if same else adata.obs_names.get_indexer(made.obs_names) if adata.obs_names.is_unique else np.array([-1])
    if (places < 0).any():
        logger.warning("samples were left out, and names of samples are not unique: embeddings are in result.adata only")
        places = np.empty(0, int)
    elif not same:
        tell_left_out(adata, adata.n_obs - made.n_obs)
    for key in made.obsm if len(places) else ():
        if key in ("X_comp", "X_umap", "X_umap_before") or (key.startswith("X_") and key not in adata.obsm):  # the user's X_pca stays
            values = np.asarray(made.obsm[key])
            adata.obsm[key] = values if same else with_gaps(adata, places, values)
    remember(adata, model=np.frombuffer(result.model.to_bytes(), np.uint8), scores=result.scores.json)


@with_options("report", without=("scores", "diagnose", "created", "command"))
def report(adata: Any, path: PathLike, model: Model = None, *, layer: Optional[str] = None, threads: Optional[int] = None,
           progress: Optional[bool] = None, **options: Any) -> Report:
    """Writes one HTML page that shows the results in an AnnData: findings with advice, linked maps, scores, genes, predictions, training.

    Shows what is there: maps (obsm), counterfactuals (layers counterfactual_VALUE), the model, scores and checks of comp.tl.

    Parameters
    ----------
    adata : AnnData
        The data with results.
    path : path
        The page to write.
    model : CoMP, file or bytes, optional
        The model; default: that of comp.tl.train(), if there is one.
    layer, threads, progress
        As in comp.tl.train().
    {options}

    Returns
    -------
    comp.Report, which a notebook shows.
    """
    check_names(report, options)
    _anndata.check_type(adata)
    handle = model_of(model, adata) if model is not None or state(adata).get("model") is not None else None
    values = {"source": "AnnData", **options, "created": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())}
    layers = [n for n in adata.layers if n.startswith(("counterfactual_", "truth_"))]
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="comp-"))
        for option, key in (("scores", "scores"), ("diagnose", "diagnosis")):
            if state(adata).get(key) is not None:
                values[option] = os.path.join(folder, key + ".json")
                with open(values[option], "w", encoding="utf-8") as file:
                    file.write(str(state(adata)[key]))
        context = stack.enter_context(Context(threads, progress))
        how = stack.enter_context(Options("report", values))
        dataset = stack.enter_context(dataset_of(context, adata, layer, None, embeddings(adata), layers))
        context.call(lib.comp_report_write, context.pointer, dataset.pointer, handle.pointer if handle else None, encode(path), how.pointer)
    return Report(os.fspath(path))


def model(adata: Any) -> CoMP:
    """The model that comp.tl.train() or comp.run() left in an AnnData, as an object."""
    _anndata.check_type(adata)
    return CoMP._of(model_of(None, adata), adata)
