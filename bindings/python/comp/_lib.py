"""The library: where it is, the functions that are used of it, and how their failures become exceptions.

It is looked for in this order: the file that the environment variable COMP_LIBRARY names; beside this package; where the
system's loader looks; where ./dev install put it, beside the program comp that PATH finds.
"""
import ctypes
import glob
import os
import shutil
from ctypes import POINTER, c_bool, c_char, c_char_p, c_double, c_int, c_int8, c_int32, c_int64, c_size_t, c_uint64, c_void_p

from ._errors import BY_STATUS, CompError, LibraryError
from ._version import __version__
from ._words import in_python

SONAME = "libcomp.so.0.2"
OLDEST = 200  # comp_version_number() of the first library with this interface
TOO_NEW = 300  # and of the first with another one

handle = c_void_p  # of every opaque struct
out = POINTER(c_void_p)
size = c_size_t
text = c_char_p
texts = POINTER(c_char_p)

LOG_FN = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
PROGRESS_FN = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)
EPOCH_FN = ctypes.CFUNCTYPE(c_bool, c_void_p, c_void_p)


class Progress(ctypes.Structure):
    _fields_ = [("task", c_char_p), ("unit", c_char_p), ("done", c_uint64), ("total", c_uint64), ("note", c_char_p), ("finished", c_bool)]


class Losses(ctypes.Structure):
    _fields_ = [("total", c_double), ("likelihood", c_double), ("kl", c_double), ("penalty", c_double)]


class Epoch(ctypes.Structure):
    _fields_ = [("epoch", c_uint64), ("epochs", c_uint64), ("steps", c_uint64), ("total_steps", c_uint64), ("train", Losses), ("validation", Losses),
                ("best", c_bool), ("gamma", c_double), ("rate", c_double), ("blur", c_double), ("seconds", c_double)]


class Prediction(ctypes.Structure):
    _fields_ = [("values", c_void_p), ("sd", c_void_p), ("lower", c_void_p), ("upper", c_void_p), ("predicted", POINTER(c_int8)), ("n_predicted", c_size_t)]


class Mapping(ctypes.Structure):
    _fields_ = [("model", c_void_p), ("z", c_void_p), ("obs", c_void_p), ("report", c_void_p)]


class UmapInfo(ctypes.Structure):
    _fields_ = [("a", c_double), ("b", c_double), ("epochs", c_size_t), ("edges", c_size_t), ("components", c_size_t), ("recall", c_double)]


class BaselineMethod(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("summary", c_char_p), ("takes", c_char_p), ("embedding", c_char_p), ("layer", c_char_p), ("counterfactual", c_char_p),
                ("components", c_size_t), ("no_condition", c_bool)]


class ScoreMetric(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("title", c_char_p), ("brief", c_char_p), ("family", c_char_p), ("summary", c_char_p), ("help", c_char_p),
                ("better", c_int), ("min", c_double), ("max", c_double), ("needs_label", c_bool)]


class Suggest(ctypes.Structure):
    _fields_ = [("word", c_char_p), ("best", c_char_p), ("distance", c_size_t)]


class Status(c_int):
    """What a function that can fail returns; check() reads it."""


# Every function that is used: what it returns and takes. tests/test_interface.py compares them with the headers.
FUNCTIONS = {
    "comp_error_message": (text, []),
    "comp_free": (None, [c_void_p]),
    "comp_status_name": (text, [c_int]),
    "comp_version": (text, []),
    "comp_version_number": (c_int, []),
    "comp_cpu_count": (c_int, []),
    "comp_cpu_kind": (text, []),
    "comp_build_libraries": (texts, []),
    # context.h
    "comp_context_new": (Status, [out, handle]),
    "comp_context_free": (None, [handle]),
    "comp_context_thread_count": (c_int, [handle]),
    "comp_context_interrupt": (None, [handle]),
    "comp_context_on_log": (None, [handle, LOG_FN, c_void_p]),
    "comp_context_on_progress": (None, [handle, PROGRESS_FN, c_void_p]),
    "comp_context_on_epoch": (None, [handle, EPOCH_FN, c_void_p]),
    # suggest.h
    "comp_suggest_offer": (None, [POINTER(Suggest), text]),
    # options.h
    "comp_options_new": (Status, [out, text]),
    "comp_options_free": (None, [handle]),
    "comp_options_set": (Status, [handle, text, text]),
    "comp_options_set_int": (Status, [handle, text, c_int64]),
    "comp_options_set_real": (Status, [handle, text, c_double]),
    "comp_options_set_bool": (Status, [handle, text, c_bool]),
    "comp_options_set_list": (Status, [handle, text, texts, size]),
    "comp_options_check": (Status, [handle]),
    "comp_options_describe": (Status, [out]),
    "comp_format_real": (c_void_p, [POINTER(c_char), size, c_double, c_bool]),
    # matrix.h
    "comp_matrix_wrap_dense": (Status, [out, handle, c_void_p, c_int, size, size, size, c_void_p, c_void_p]),
    "comp_matrix_wrap_csr": (Status, [out, handle, c_void_p, c_int, c_void_p, c_int, c_void_p, c_int, size, size, size, c_void_p, c_void_p]),
    "comp_matrix_is_borrowed": (c_bool, [handle]),
    "comp_matrix_free": (None, [handle]),
    "comp_matrix_get_kind": (c_int, [handle]),
    "comp_matrix_rows": (size, [handle]),
    "comp_matrix_cols": (size, [handle]),
    "comp_matrix_nnz": (size, [handle]),
    "comp_matrix_const_values": (c_void_p, [handle]),
    "comp_matrix_const_indptr": (c_void_p, [handle]),
    "comp_matrix_const_indices": (c_void_p, [handle]),
    "comp_matrix_select": (Status, [out, handle, handle, POINTER(size), size, POINTER(size), size]),
    "comp_matrix_to_dense": (Status, [out, handle, handle]),
    # table.h
    "comp_table_row_count": (size, [handle]),
    "comp_table_column_count": (size, [handle]),
    "comp_table_column_name": (text, [handle, size]),
    "comp_table_column_kind": (c_int, [handle, size]),
    "comp_table_level_count": (size, [handle, size]),
    "comp_table_numbers": (Status, [out, handle, size]),
    "comp_table_codes": (Status, [out, handle, size]),
    "comp_table_bools": (Status, [out, handle, size]),
    "comp_table_strings": (Status, [texts, handle, size]),
    "comp_table_level_names": (Status, [texts, handle, size]),
    "comp_table_is_integer": (c_bool, [handle, size]),
    "comp_table_add_strings": (Status, [handle, text, texts]),
    "comp_table_add_categorical": (Status, [handle, text, POINTER(c_int32), texts, size]),
    "comp_table_add_numbers": (Status, [handle, text, POINTER(c_double), c_bool]),
    "comp_table_add_bools": (Status, [handle, text, POINTER(c_int8)]),
    # dataset.h
    "comp_dataset_new": (Status, [out, handle, texts, texts]),
    "comp_dataset_new_without_x": (Status, [out, size, size, texts, texts]),
    "comp_dataset_free": (None, [handle]),
    "comp_dataset_sample_count": (size, [handle]),
    "comp_dataset_feature_count": (size, [handle]),
    "comp_dataset_x": (handle, [handle]),
    "comp_dataset_obs": (handle, [handle]),
    "comp_dataset_var": (handle, [handle]),
    "comp_dataset_obs_names": (None, [texts, handle]),
    "comp_dataset_var_names": (None, [texts, handle]),
    "comp_dataset_matrix_count": (size, [handle, c_int]),
    "comp_dataset_matrix_name": (text, [handle, c_int, size]),
    "comp_dataset_matrix": (handle, [handle, c_int, text]),
    "comp_dataset_set_matrix": (Status, [handle, c_int, text, handle]),
    "comp_dataset_record": (text, [handle]),
    "comp_dataset_set_record": (Status, [handle, text]),
    # simulate.h, prep.h
    "comp_simulate": (Status, [out, handle, handle]),
    "comp_prep": (Status, [out, handle, handle]),
    # model.h, train.h, task.h
    "comp_model_free": (None, [handle]),
    "comp_model_save": (Status, [handle, text]),
    "comp_model_load": (Status, [out, text]),
    "comp_model_to_memory": (Status, [out, POINTER(size), handle]),
    "comp_model_from_memory": (Status, [out, c_void_p, size]),
    "comp_model_feature_count": (size, [handle]),
    "comp_model_feature_name": (text, [handle, size]),
    "comp_model_condition": (text, [handle]),
    "comp_model_level_count": (size, [handle]),
    "comp_model_level_name": (text, [handle, size]),
    "comp_model_finished": (c_bool, [handle]),
    "comp_model_history": (text, [handle]),
    "comp_model_config": (text, [handle]),
    "comp_model_record": (text, [handle]),
    "comp_model_kernel": (text, [handle]),
    "comp_train": (Status, [out, handle, handle, handle]),
    "comp_embed": (Status, [out, out, handle, handle, handle, handle]),
    "comp_decode": (Status, [out, handle, handle, handle, text]),
    "comp_counterfactual": (Status, [POINTER(Prediction), handle, handle, handle, handle]),
    "comp_map": (Status, [POINTER(Mapping), handle, handle, handle, handle, handle]),
    "comp_mapping_release": (None, [POINTER(Mapping)]),
    "comp_prediction_release": (None, [POINTER(Prediction)]),
    "comp_counterfactual_layer_name": (None, [POINTER(c_char), text]),
    # umap.h, baseline.h
    "comp_umap_run": (Status, [out, POINTER(UmapInfo), handle, handle, handle]),
    "comp_baseline_count": (size, []),
    "comp_baseline_at": (POINTER(BaselineMethod), [size]),
    "comp_baseline_find": (Status, [POINTER(POINTER(BaselineMethod)), text]),
    "comp_baseline_check": (Status, [POINTER(BaselineMethod), handle]),
    "comp_baseline_run": (Status, [out, handle, handle, text, handle, handle]),
    # score.h, diagnose.h, audit.h, verdict.h, pipeline.h, report.h
    "comp_score_known_find": (POINTER(ScoreMetric), [text]),
    "comp_score_family_title": (text, [text]),
    "comp_classifier_kind_parse": (Status, [POINTER(c_int), text]),
    "comp_classifier_kind_title": (text, [c_int]),
    "comp_embedding_title": (text, [text, text]),
    "comp_scores_run": (Status, [out, handle, handle, handle]),
    "comp_scores_free": (None, [handle]),
    "comp_scores_json": (text, [handle]),
    "comp_scores_needs_x": (Status, [POINTER(c_bool), handle]),
    "comp_diagnose": (Status, [out, handle, handle, out, size, handle, handle]),
    "comp_diagnosis_free": (None, [handle]),
    "comp_diagnosis_json": (text, [handle]),
    "comp_audit_run": (Status, [out, handle, handle, handle]),
    "comp_audit_model": (Status, [out, handle, handle, handle, handle]),
    "comp_audit_frontier": (Status, [out, handle, handle, handle]),
    "comp_audit_free": (None, [handle]),
    "comp_audit_json": (text, [handle]),
    "comp_verdict_json": (text, [handle]),
    "comp_run_dataset": (Status, [out, handle, handle, handle]),
    "comp_run_result_free": (None, [handle]),
    "comp_run_result_folder": (text, [handle]),
    "comp_run_result_page": (text, [handle]),
    "comp_run_result_record": (text, [handle]),
    "comp_run_result_scores": (text, [handle]),
    "comp_run_result_verdict": (handle, [handle]),
    "comp_report_write": (Status, [handle, handle, handle, text, handle]),
}


def candidates():
    """The names to try, best first; a name without a folder is left to the loader."""
    named = os.environ.get("COMP_LIBRARY")
    if named:
        return [named]
    here = os.path.dirname(os.path.abspath(__file__))
    beside = [os.path.join(here, name) for name in (SONAME, "libcomp.so")]
    return [path for path in beside if os.path.exists(path)] + [SONAME, "libcomp.so"] + with_program()


def with_program():
    """PREFIX/lib/libcomp.so.0.2 or PREFIX/lib/TRIPLET/libcomp.so.0.2 of a program PREFIX/bin/comp: the loader does not look below a prefix such as ~/.local."""
    program = shutil.which("comp")
    if program is None:
        return []
    prefix = glob.escape(os.path.dirname(os.path.dirname(os.path.realpath(program))))
    return sorted(glob.glob(os.path.join(prefix, "lib*", SONAME)) + glob.glob(os.path.join(prefix, "lib", "*", SONAME)))


def load():
    tried = []
    for name in candidates():
        try:
            return ctypes.CDLL(name), name
        except OSError as error:
            tried.append(str(error))
    raise LibraryError(
        "libcomp, the library that the Python package comp calls, could not be loaded:\n  " + "\n  ".join(tried) +
        "\nInstall it (on Debian: libcomp0.2; from the sources: ./dev install), or let the environment variable COMP_LIBRARY name the file libcomp.so.")


def declare(library, path):
    try:
        library.comp_version.restype = text
        number = library.comp_version_number()
        if not OLDEST <= number < TOO_NEW:
            raise LibraryError(f"{path} is libcomp {library.comp_version().decode()}, but the Python package comp {__version__} needs 0.2")
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(library, name)
            function.restype = c_int if result is Status else result
            function.argtypes = arguments
    except AttributeError as error:
        raise LibraryError(f"{path} is not a libcomp that the Python package comp {__version__} can use: {error}") from None


lib, library_path = load()
declare(lib, library_path)


def decode(value):
    """Text of the library, None for NULL."""
    return None if value is None else value.decode("utf-8", "replace")


def encode(value):
    """Text for the library, which ends at the first NUL: text with one in it is refused."""
    if value is None:
        return None
    value = os.fspath(value) if hasattr(value, "__fspath__") else str(value)
    data = value.encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise ValueError(f"text with a NUL character: {value!r}")
    return data


def hint(word, known):
    """The end of a message about a name that is not known: the nearest of the known ones, or nothing."""
    search, names = Suggest(encode(str(word))), [encode(str(name)) for name in known]
    for name in names:
        lib.comp_suggest_offer(ctypes.byref(search), name)
    return f"; did you mean '{decode(search.best)}'?" if search.best else ""


def text_array(values):
    """An array of texts; None becomes NULL."""
    return (c_char_p * max(len(values), 1))(*[encode(v) for v in values])


def error(status, message=None):
    """The exception of a status; the message is that of the calling thread."""
    kind = BY_STATUS.get(status, CompError)
    message = decode(lib.comp_error_message()) if message is None else message
    made = kind(in_python(message))
    made.status = decode(lib.comp_status_name(status))
    return made


def check(status):
    """Raises when a call that needs no context has failed."""
    if status:
        raise error(status)


def take_text(pointer):
    """Text that the library hands over: copied, then freed."""
    value = ctypes.string_at(pointer).decode("utf-8", "replace")
    lib.comp_free(pointer)
    return value
