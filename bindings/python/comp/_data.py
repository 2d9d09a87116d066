"""Data of Python for the library, borrowed where the layout allows, and results of the library as arrays that need no copy."""
import ctypes
import weakref

import numpy as np
import pandas as pd
from scipy import sparse

from . import _lib
from ._errors import DataError
from ._lib import check, decode, encode, lib, text_array

FLOAT32, FLOAT64, INT32, INT64 = 0, 1, 2, 3
NUMBER_TYPES = {np.dtype("float32"): FLOAT32, np.dtype("float64"): FLOAT64, np.dtype("int32"): INT32, np.dtype("int64"): INT64}
DENSE, CSR = 0, 1
LAYERS, OBSM = 0, 1
STRING, CATEGORICAL, NUMBER, BOOL = 0, 1, 2, 3


# ---- From Python to the library


def as_numbers(values, what):
    """An array whose type the library knows; others (bool, small and unsigned integers, float16) become float32."""
    if values.dtype in NUMBER_TYPES:
        return values
    if values.dtype.kind == "c":
        raise DataError(f"{what}: complex numbers cannot be used")
    if values.dtype == object or values.dtype.kind not in "biuf":
        raise DataError(f"{what}: values of type {values.dtype} are not numbers")
    return values.astype(np.float32)


def pointer_to(array):
    return ctypes.c_void_p(array.ctypes.data)


def wrap_csr(context, x, what):
    starts = x.indptr
    if len(starts) != x.shape[0] + 1 or starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] > min(len(x.indices), len(x.data)):
        raise DataError(f"{what}: the sparse matrix is damaged: its row pointers do not fit its values")  # scipy would read beyond them
    if not x.has_canonical_format:  # columns twice in a row are summed, as scipy does; the user's matrix stays as it is
        x = x.copy()
        x.sum_duplicates()
    nnz = int(x.indptr[-1]) if len(x.indptr) else 0
    data, indices, indptr = (np.ascontiguousarray(a) for a in (as_numbers(x.data[:nnz], what), x.indices[:nnz], x.indptr))
    matrix = ctypes.c_void_p()
    context.call(lib.comp_matrix_wrap_csr, ctypes.byref(matrix), context.pointer, pointer_to(data), NUMBER_TYPES[data.dtype], pointer_to(indices),
                 NUMBER_TYPES[indices.dtype], pointer_to(indptr), NUMBER_TYPES[indptr.dtype], x.shape[0], x.shape[1], nnz, None, None)
    return matrix, (data, indices, indptr)


def wrap_dense(context, x, what):
    x = as_numbers(x, what)
    size = x.itemsize
    rows, cols = x.shape
    regular = x.flags.aligned and (cols < 2 or x.strides[1] == size) and (rows < 2 or (x.strides[0] >= cols * size and x.strides[0] % size == 0))
    if not regular or x.dtype.byteorder == ">":
        x = np.ascontiguousarray(x)
    matrix = ctypes.c_void_p()
    context.call(lib.comp_matrix_wrap_dense, ctypes.byref(matrix), context.pointer, pointer_to(x), NUMBER_TYPES[x.dtype], rows, cols,
                 x.strides[0] // size if rows > 1 else cols, None, None)
    return matrix, (x,)


def wrap(context, x, what="X"):
    """A comp_matrix of an array or sparse matrix, and what must stay alive as long as it. Memory is borrowed where the library can compute with it."""
    try:
        if sparse.issparse(x):
            return wrap_csr(context, x if x.format == "csr" else x.tocsr(), what)
        if isinstance(x, pd.DataFrame):
            x = x.to_numpy()
        x = np.asarray(x)
        if x.ndim != 2:
            raise DataError(f"{what} has {x.ndim} dimensions, not 2")
        return wrap_dense(context, x, what)
    except _lib.CompError as error:
        if type(error) is DataError and not str(error).startswith(what):
            raise DataError(f"{what}: {error}") from None
        raise


def format_number(value):
    buffer = ctypes.create_string_buffer(64)
    lib.comp_format_real(buffer, 64, float(value), False)
    return buffer.value.decode()


def level_name(value):
    """A category as the library writes it: 1.0 is "1"."""
    if isinstance(value, (float, np.floating)):
        return format_number(value)
    return str(value)


def add_column(table, name, column):
    """Adds a column of a DataFrame to a comp_table. False: it is of a kind that the library does not have."""
    key, values = encode(name), column
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = np.ascontiguousarray(values.cat.codes, np.int32)
        levels = [level_name(v) for v in values.cat.categories]
        check(lib.comp_table_add_categorical(table, key, codes.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)), text_array(levels), len(levels)))
    elif pd.api.types.is_bool_dtype(dtype):
        missing = values.isna().to_numpy()
        codes = np.where(missing, -1, values.fillna(False).to_numpy(bool)).astype(np.int8)
        check(lib.comp_table_add_bools(table, key, codes.ctypes.data_as(ctypes.POINTER(ctypes.c_int8))))
    elif pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
        numbers = np.ascontiguousarray(values.to_numpy(np.float64, na_value=np.nan))
        whole = pd.api.types.is_integer_dtype(dtype)
        check(lib.comp_table_add_numbers(table, key, numbers.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), whole))
    elif pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype):
        missing = values.isna().to_numpy()
        check(lib.comp_table_add_strings(table, key, text_array([None if m else str(v) for v, m in zip(values, missing)])))
    else:
        return False
    return True


class Dataset:
    """A comp_dataset that borrows, with what it borrows from. To be used in a `with` statement."""

    def __init__(self, pointer, kept=()):
        self.pointer, self.kept = pointer, list(kept)

    def free(self):
        lib.comp_dataset_free(self.pointer)
        self.pointer, self.kept = None, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.free()

    @classmethod
    def new(cls, context, x, obs_names=None, var_names=None, shape=None, what="X"):
        pointer = ctypes.c_void_p()
        obs = None if obs_names is None else text_array(obs_names)
        var = None if var_names is None else text_array(var_names)
        if x is None:
            check(lib.comp_dataset_new_without_x(ctypes.byref(pointer), shape[0], shape[1], obs, var))
            return cls(pointer)
        matrix, kept = wrap(context, x, what)
        check(lib.comp_dataset_new(ctypes.byref(pointer), matrix, obs, var))
        return cls(pointer, kept)

    def add(self, context, slot, name, x):
        what = f"{'obsm' if slot == OBSM else 'layers'}['{name}']"
        matrix, kept = wrap(context, x, what)
        if slot == OBSM and lib.comp_matrix_get_kind(matrix) == CSR:
            dense = ctypes.c_void_p()
            try:
                context.call(lib.comp_matrix_to_dense, ctypes.byref(dense), context.pointer, matrix)
            finally:
                lib.comp_matrix_free(matrix)
            matrix, kept = dense, ()
        self.kept.extend(kept)
        check(lib.comp_dataset_set_matrix(self.pointer, slot, encode(name), matrix))

    def set_record(self, record):
        if record is not None:
            check(lib.comp_dataset_set_record(self.pointer, encode(record)))

    @property
    def obs(self):
        return lib.comp_dataset_obs(self.pointer)

    @property
    def var(self):
        return lib.comp_dataset_var(self.pointer)


# ---- From the library to Python


def view_of(address, dtype, count, owner):
    """An array over memory of the library, which keeps its owner alive."""
    if count == 0:
        return np.empty(0, dtype)
    buffer = (ctypes.c_char * (count * np.dtype(dtype).itemsize)).from_address(address)
    buffer.owner = owner
    return np.frombuffer(buffer, dtype)


class Owner:
    """Frees a matrix when no array needs it any more."""

    def __init__(self, matrix):
        weakref.finalize(self, lib.comp_matrix_free, matrix).atexit = False  # arrays may be used until the very end


def matrix_shape(matrix):
    return lib.comp_matrix_rows(matrix), lib.comp_matrix_cols(matrix)


def arrays_of(matrix, owner):
    rows, cols = matrix_shape(matrix)
    if lib.comp_matrix_get_kind(matrix) == DENSE:
        return view_of(lib.comp_matrix_const_values(matrix), np.float32, rows * cols, owner).reshape(rows, cols)
    nnz = lib.comp_matrix_nnz(matrix)
    values = view_of(lib.comp_matrix_const_values(matrix), np.float32, nnz, owner)
    indices = view_of(lib.comp_matrix_const_indices(matrix), np.int32, nnz, owner)
    indptr = view_of(lib.comp_matrix_const_indptr(matrix), np.int64, rows + 1, owner)
    made = sparse.csr_matrix((rows, cols), dtype=np.float32)
    made.data, made.indices = values, indices
    made.indptr = indptr.astype(np.int32) if nnz < 2**31 else indptr
    return made


def take_matrix(matrix):
    """The array or CSR matrix of a comp_matrix, which it takes over; nothing is copied."""
    if not matrix:
        return None
    return arrays_of(matrix, Owner(matrix))


def copy_matrix(matrix):
    """A copy of a matrix that something else owns."""
    return arrays_of(matrix, None).copy()


def column_of(table, i):
    """A column of a comp_table as an array or Categorical."""
    rows, kind = lib.comp_table_row_count(table), lib.comp_table_column_kind(table, i)
    pointer = ctypes.c_void_p()
    if kind == STRING:
        values = (ctypes.c_char_p * max(rows, 1))()
        check(lib.comp_table_strings(values, table, i))
        return np.array([decode(values[k]) for k in range(rows)], object)
    if kind == CATEGORICAL:
        n = lib.comp_table_level_count(table, i)
        names = (ctypes.c_char_p * max(n, 1))()
        check(lib.comp_table_level_names(names, table, i))
        check(lib.comp_table_codes(ctypes.byref(pointer), table, i))
        codes = view_of(pointer.value, np.int32, rows, None).copy()
        return pd.Categorical.from_codes(codes, [decode(names[k]) for k in range(n)])
    if kind == BOOL:
        check(lib.comp_table_bools(ctypes.byref(pointer), table, i))
        values = view_of(pointer.value, np.int8, rows, None)
        if (values < 0).any():
            return pd.array([None if v < 0 else bool(v) for v in values], "boolean")
        return values.astype(bool)
    check(lib.comp_table_numbers(ctypes.byref(pointer), table, i))
    values = view_of(pointer.value, np.float64, rows, None).copy()
    whole = lib.comp_table_is_integer(table, i) and np.isfinite(values).all() and (np.abs(values) < 2**53).all()
    return values.astype(np.int64) if whole else values


def frame_of(table, index=None):
    names = [decode(lib.comp_table_column_name(table, i)) for i in range(lib.comp_table_column_count(table))]
    return pd.DataFrame({name: column_of(table, i) for i, name in enumerate(names)}, index=index)


def names_of(function, dataset, count):
    values = (ctypes.c_char_p * max(count, 1))()
    function(values, dataset)
    return [decode(values[i]) for i in range(count)]
