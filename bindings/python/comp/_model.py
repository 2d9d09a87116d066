"""A model as an object: fitted to an AnnData, used on it or on other data, kept in files and pickles."""
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

# Options of training that are made from other arguments, or are for files.
NOT_TRAIN = ("condition", "memory", "stream", "stream-layer")


class Handle:
    """A comp_model, which never changes: objects can share one."""

    def __init__(self, pointer):
        self.pointer = pointer
        weakref.finalize(self, lib.comp_model_free, pointer).atexit = False

    @classmethod
    def from_bytes(cls, data):
        data = np.frombuffer(data, np.uint8)
        pointer = ctypes.c_void_p()
        check(lib.comp_model_from_memory(ctypes.byref(pointer), data.ctypes.data, data.size))
        return cls(pointer)

    @classmethod
    def from_file(cls, path):
        pointer = ctypes.c_void_p()
        check(lib.comp_model_load(ctypes.byref(pointer), encode(path)))
        return cls(pointer)

    def to_bytes(self):
        pointer, size = ctypes.c_void_p(), ctypes.c_size_t()
        check(lib.comp_model_to_memory(ctypes.byref(pointer), ctypes.byref(size), self.pointer))
        try:
            return ctypes.string_at(pointer, size.value)
        finally:
            lib.comp_free(pointer)

    @property
    def features(self):
        return [decode(lib.comp_model_feature_name(self.pointer, i)) for i in range(lib.comp_model_feature_count(self.pointer))]

    @property
    def conditions(self):
        return [decode(lib.comp_model_level_name(self.pointer, i)) for i in range(lib.comp_model_level_count(self.pointer))]

    @property
    def condition(self):
        return decode(lib.comp_model_condition(self.pointer))

    def json(self, function):
        text = decode(function(self.pointer))
        return None if text is None else json.loads(text)


# ---- On data sets of the library; the functions of tl and the objects share these


def fit_dataset(context, dataset, values):
    """Trains; with Interrupted and NumericError the model so far is in the error."""
    pointer = ctypes.c_void_p()
    with Options("train", values) as options:
        try:
            context.call(lib.comp_train, ctypes.byref(pointer), context.pointer, dataset.pointer, options.pointer)
        except (Interrupted, NumericError) as error:
            if pointer:
                error.model = CoMP._of(Handle(pointer))
            raise
        except BaseException:  # of a callback
            lib.comp_model_free(pointer)
            raise
    return Handle(pointer)


def embed_dataset(context, model, dataset, values, scales=False):
    z, scale = ctypes.c_void_p(), ctypes.c_void_p()
    with Options("embed", values) as options:
        context.call(lib.comp_embed, ctypes.byref(z), ctypes.byref(scale) if scales else None, context.pointer, model.pointer, dataset.pointer,
                     options.pointer)
    return take_matrix(z), take_matrix(scale)


class Predicted:
    """Predictions under another condition: arrays [samples, features of the model]; sd, lower and upper are None without draws."""

    def __init__(self, values, sd, lower, upper, predicted, features):
        self.values, self.sd, self.lower, self.upper, self.predicted, self.features = values, sd, lower, upper, predicted, features

    def in_order(self, names):
        """With the columns in the order of these names, which are those of the model."""
        if list(names) == self.features:
            return self
        place = {name: i for i, name in enumerate(self.features)}
        columns = [place[name] for name in names]
        parts = [None if part is None else part[:, columns] for part in (self.values, self.sd, self.lower, self.upper)]
        return Predicted(*parts, self.predicted, list(names))

    def to_frame(self, index=None):
        """The predicted values as a DataFrame."""
        return pd.DataFrame(self.values, index, self.features)

    def __repr__(self):
        draws = "" if self.sd is None else ", with sd, lower and upper"
        return f"Predicted: {self.values.shape[0]} samples x {self.values.shape[1]} features, {int(self.predicted.sum())} samples predicted{draws}"


def predict_dataset(context, model, dataset, values):
    found = _lib.Prediction()
    with Options("counterfactual", values) as options:
        options.check()
        context.call(lib.comp_counterfactual, ctypes.byref(found), context.pointer, model.pointer, dataset.pointer, options.pointer)
    parts = [take_matrix(ctypes.c_void_p(p)) if p else None for p in (found.values, found.sd, found.lower, found.upper)]
    predicted = np.ctypeslib.as_array(found.predicted, (parts[0].shape[0],)).astype(bool) if len(parts[0]) else np.zeros(0, bool)
    found.values = found.sd = found.lower = found.upper = None  # the arrays own them now
    lib.comp_prediction_release(ctypes.byref(found))
    return Predicted(*parts, predicted, model.features)


class Mapped:
    """New samples in the embedding of a model: `embedding` [samples, latent], `obs` (a DataFrame of distances, novelty and labels), `model`
    (which knows their conditions, too) and `report` (conditions, features, labels)."""

    def __init__(self, model, embedding, obs, report):
        self.model, self.embedding, self.obs, self.report = model, embedding, obs, report

    def __repr__(self):
        new = [c["name"] for c in self.report["conditions"] if c["new"]]
        return f"Mapped: {len(self.embedding):,} samples, new conditions {new}, {self.report['unknown']:,} samples seem not to be in the reference"


def map_dataset(context, model, reference, query, values, index=None):
    found = _lib.Mapping()
    with Options("map", values) as options:
        options.check()
        context.call(lib.comp_map, ctypes.byref(found), context.pointer, model.pointer, reference.pointer, query.pointer, options.pointer)
    try:
        handle, found.model = Handle(ctypes.c_void_p(found.model)), None  # it owns the model now
        z, found.z = take_matrix(ctypes.c_void_p(found.z)), None
        return Mapped(CoMP._of(handle), z, frame_of(found.obs, index), json.loads(ctypes.string_at(found.report).decode()))
    finally:
        lib.comp_mapping_release(ctypes.byref(found))


def check_features(model, adata):
    """A layer has the shape of X, so the data must have the features of the model, in any order."""
    known, names = set(model.features), list(adata.var_names)
    if len(names) == len(known) and set(names) == known:
        return
    raise DataError(f"the data has {len(names):,} features, the model {len(known):,}: a layer of predictions needs the same features in both. "
                    "Take those of the model: adata[:, model.features].copy(); or use CoMP.counterfactual(), which returns the values alone")


def check_unique(adata):
    """A model finds features by their names."""
    if not adata.var_names.is_unique:
        first = adata.var_names[adata.var_names.duplicated()][0]
        raise DataError(f"names of features repeat, such as '{first}', but a model finds features by name; adata.var_names_make_unique() changes them")


def layer_name(to):
    buffer = ctypes.create_string_buffer(256)
    lib.comp_counterfactual_layer_name(buffer, encode(to))
    return buffer.value.decode()


# ---- The object


class CoMP:
    """A model of data whose samples are of two or more conditions.

        model = comp.CoMP(adata, condition_key="stim").fit()
        z = model.embed()
        model.save("model.comp")

    Options of training can be given here or to fit(). A fitted model never changes; pickle and copy work. A pickle holds
    the model and its options, not the data.

    Parameters
    ----------
    adata : AnnData
        The data, prepared: see comp.pp.prepare().
    condition_key : str
        The column of adata.obs that holds the condition: a batch, a treatment, a group.
    layer : str, optional
        The layer to read; "X" is X. Default: the layer that comp.pp.prepare() made, else X.
    {options}
    """

    def __init__(self, adata: Any = None, condition_key: Optional[str] = None, *, layer: Optional[str] = None, **options: Any):
        check_names(type(self).__init__, options)
        if adata is not None:
            check_type(adata)
            if condition_key is not None:
                require_column(adata, condition_key, "condition_key")
        self.adata, self.condition_key, self.layer, self.options = adata, condition_key, layer, options
        self._handle = None
        self._scratch = None  # the folder of the checkpoint, after an interruption
        self._stopped = {}  # the options of the fit() that was interrupted

    # ---- making

    @classmethod
    def _of(cls, handle, adata=None):
        if adata is not None:
            check_type(adata)
        made = cls(None, handle.condition)
        made.adata, made._handle = adata, handle  # which need not have the column
        return made

    @with_options("train", without=NOT_TRAIN)
    def fit(self, *, on_epoch: Optional[Callable[[EpochNumbers], Optional[bool]]] = None, threads: Optional[int] = None, progress: Optional[bool] = None,
            **options: Any) -> "CoMP":
        """Fits the model and returns it.

        Ctrl-C raises comp.Interrupted; fit(resume=True) then goes on where it stopped, with the options of the fit() that was
        interrupted, to the same bytes.

        Parameters
        ----------
        on_epoch : function, optional
            Called after each epoch with its numbers (comp.EpochNumbers). When it returns False training ends.
        threads : int, optional
            Number of threads; default: comp.settings.threads. Results do not depend on it.
        progress : bool, optional
            Show a progress bar; default: comp.settings.progress.
        {options}
        """
        check_names(CoMP.fit, options)
        given = {**self.options, **options}
        if given.get("resume") and options.get("checkpoint") in (None, self._stopped.get("checkpoint")):
            given = {**self.options, **self._stopped, **options}
        values = given
        if self.adata is None:
            raise ValueError("there is no data to fit to: CoMP(adata, condition_key=...)")
        require_column(self.adata, self.condition_key, "condition_key")
        check_unique(self.adata)
        own_checkpoint = values.get("checkpoint") is None
        if own_checkpoint:
            if values.get("resume") and self._scratch is None:
                raise ValueError("there is nothing to resume: fit() of this object was not interrupted, and no checkpoint is named")
            self._scratch = self._scratch or Scratch()
            values = {"checkpoint_minutes": 0, **values, "checkpoint": os.path.join(self._scratch.path, "checkpoint")}
        with Context(threads, progress, on_epoch) as context, \
                dataset_of(context, self.adata, self.layer, [self.condition_key]) as dataset:
            try:
                handle = fit_dataset(context, dataset, {**values, "condition": self.condition_key})
            except Interrupted as error:
                if error.done:
                    self._finish(error.model._handle, None if own_checkpoint else values["checkpoint"])
                    error.args = ("interrupted when training was done: the model is fitted",)
                else:
                    error.args = ("training was interrupted; " + ("fit(resume=True) goes on from there" if own_checkpoint else
                                                                  "resume=True with the same checkpoint goes on from there"),)
                    self._stopped = given
                raise
            except CompError:
                raise
            except BaseException:  # of a callback
                self._stopped = given
                raise
        self._finish(handle, None if own_checkpoint else values["checkpoint"])
        return self

    def _finish(self, handle, checkpoint):
        """Takes a fitted model; a checkpoint that the user named goes when training came to its end."""
        self._handle, self._scratch, self._stopped = handle, None, {}
        if checkpoint is not None and lib.comp_model_finished(handle.pointer) and os.path.exists(checkpoint):
            os.unlink(checkpoint)

    # ---- what is known of it

    @property
    def fitted(self) -> bool:
        """Whether there is a model."""
        return self._handle is not None

    def _model(self):
        if self._handle is None:
            raise ValueError("the model is not fitted: call fit() first")
        return self._handle

    @property
    def features(self) -> list:
        """The names of the features, in the order of the model."""
        return self._model().features

    @property
    def conditions(self) -> list:
        """The conditions that the model knows."""
        return self._model().conditions

    @property
    def config(self) -> dict:
        """Everything that was chosen, also what the preset chose."""
        return self._model().json(lib.comp_model_config)

    @property
    def record(self) -> Optional[dict]:
        """What was done to the data that it was trained on; None: not known."""
        return self._model().json(lib.comp_model_record)

    @property
    def history(self) -> pd.DataFrame:
        """The losses of each epoch: a row an epoch, columns such as train_total and validation_kl."""
        return pd.json_normalize(self._model().json(lib.comp_model_history), sep="_").set_index("epoch")

    @property
    def kernel(self) -> Optional[str]:
        """The precision and the kernel of the training, such as "bf16 amx"."""
        return decode(lib.comp_model_kernel(self._model().pointer))

    @property
    def finished(self) -> bool:
        """Whether training came to its end; only the object that was fitted knows."""
        return bool(lib.comp_model_finished(self._model().pointer))

    # ---- using it

    def _data(self, adata):
        adata = self.adata if adata is None else adata
        if adata is None:
            raise ValueError("there is no data: give an AnnData")
        return adata

    def _dataset(self, context, adata, layer):
        adata = self._data(adata)
        return dataset_of(context, adata, self.layer if layer is None else layer, [self._model().condition], names=False)

    @with_options("embed")
    def embed(self, adata: Any = None, *, layer: Optional[str] = None, scales: bool = False, threads: Optional[int] = None, progress: Optional[bool] = None,
              **options: Any) -> Any:
        """The embedding: an array [samples, latent]. With `scales` also the standard deviations of the posteriors, as a second array.

        Parameters
        ----------
        adata : AnnData, optional
            The data; default: what the model was fitted to. Features are found by name, and preparation is repeated where it is needed.
        layer, threads, progress
            As in fit().
        {options}
        """
        check_names(CoMP.embed, options)
        model = self._model()
        with Context(threads, progress) as context, self._dataset(context, adata, layer) as dataset:
            z, scale = embed_dataset(context, model, dataset, options, scales)
        return (z, scale) if scales else z

    @with_options("map")
    def map(self, adata: Any, reference: Any = None, *, layer: Optional[str] = None, reference_layer: Optional[str] = None, threads: Optional[int] = None,
            progress: Optional[bool] = None, **options: Any) -> Mapped:
        """Places new samples, of conditions that the model need not know, and transfers labels to them: comp.Mapped. This model stays as it is.

        Parameters
        ----------
        adata : AnnData
            The new samples (the query).
        reference : AnnData, optional
            Samples that the model was fitted to, with labels; default: what it was fitted to.
        layer, reference_layer : str, optional
            The layers to read of both.
        threads, progress
            As in fit().
        {options}
        """
        check_names(CoMP.map, options)
        model, reference = self._model(), self._data(reference)
        columns = [model.condition, options.get("label")]
        with Context(threads, progress) as context, dataset_of(context, adata, layer, [model.condition], names=False) as query, \
                dataset_of(context, reference, self.layer if reference_layer is None else reference_layer, columns, names=False) as known:
            return map_dataset(context, model, known, query, options, adata.obs_names)

    @with_options("counterfactual")
    def counterfactual(self, to: str, adata: Any = None, *, layer: Optional[str] = None, threads: Optional[int] = None, progress: Optional[bool] = None,
                       **options: Any) -> Predicted:
        """What the samples would be under another condition, as comp.Predicted: values [samples, features of the model] and, with draws, their spread.

        Parameters
        ----------
        to : str
            The condition under which samples are decoded.
        adata, layer, threads, progress
            As in embed().
        {options}
        """
        check_names(CoMP.counterfactual, options)
        model = self._model()
        with Context(threads, progress) as context, self._dataset(context, adata, layer) as dataset:
            return predict_dataset(context, model, dataset, {**options, "to": to})

    def decode(self, z: Any, condition: Optional[str] = None, *, threads: Optional[int] = None) -> np.ndarray:
        """What the decoder expects of embeddings [rows, latent] under a condition: [rows, features]."""
        model, found = self._model(), ctypes.c_void_p()
        with Context(threads, False) as context:
            matrix, kept = wrap(context, np.asarray(z), "z")
            try:
                context.call(lib.comp_decode, ctypes.byref(found), context.pointer, model.pointer, matrix, encode(condition))
            finally:
                lib.comp_matrix_free(matrix)
                del kept
        return take_matrix(found)

    # ---- keeping it

    def save(self, path: PathLike) -> None:
        """Writes the model file, which the program comp reads too. It appears complete or not at all."""
        check(lib.comp_model_save(self._model().pointer, encode(path)))

    def to_bytes(self) -> bytes:
        """The bytes of the model file."""
        return self._model().to_bytes()

    def __getstate__(self):
        return {"condition_key": self.condition_key, "layer": self.layer, "options": self.options,
                "model": self._handle.to_bytes() if self._handle else None}

    def __setstate__(self, state):
        self.adata, self._scratch, self._stopped = None, None, {}
        self.condition_key, self.layer, self.options = state["condition_key"], state["layer"], state["options"]
        self._handle = Handle.from_bytes(state["model"]) if state["model"] is not None else None

    def __copy__(self):
        made = type(self)(None, self.condition_key, layer=self.layer, **self.options)
        made.adata, made._handle = self.adata, self._handle
        return made

    def __repr__(self):
        if not self.fitted:
            return f"CoMP(condition_key={self.condition_key!r}), not fitted"
        c = self.config
        return (f"CoMP({c['model']}, preset {c['preset']}): {len(self.features):,} features, {c['latent']} dimensions, "
                f"condition '{self._handle.condition}' ({', '.join(self.conditions)})")


# The docstring of a class is its own, so the options of __init__ go there.
CoMP.__init__.__doc__ = CoMP.__doc__
with_options("train", without=NOT_TRAIN)(CoMP.__init__)
CoMP.__doc__ = CoMP.__init__.__doc__


class Scratch:
    """A folder that goes with the object."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="comp-")
        weakref.finalize(self, remove_folder, self.path, os.getpid())


def remove_folder(path, pid):
    if os.getpid() == pid:  # a forked child leaves it to its parent
        shutil.rmtree(path, ignore_errors=True)


def load(path: PathLike, adata: Any = None) -> CoMP:
    """Reads a model file, of this package or of the program comp."""
    if path is None:
        raise TypeError("path is required: the model file")
    return CoMP._of(Handle.from_file(path), adata)


def model_of(model: Union[CoMP, PathLike, bytes, None], adata: Any) -> Handle:
    """A model by an object, a file or bytes; None: what tl.train() left in the AnnData."""
    from ._anndata import state

    if model is None:
        kept = state(adata).get("model")
        if kept is None:
            raise ValueError("adata has no model: run comp.tl.train() first, or give model=")
        return Handle.from_bytes(np.asarray(kept, np.uint8))
    if isinstance(model, CoMP):
        return model._model()
    if isinstance(model, (bytes, bytearray)):
        return Handle.from_bytes(model)
    return Handle.from_file(model)
