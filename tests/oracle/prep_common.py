"""What the oracles of the preparation share: TAP, the data, and files for prep_dump (see tests/prep/prep_dump.c)."""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("COMP_BUILD", os.path.join(ROOT, "build"))
DATA = os.environ.get("COMP_DATA", os.path.join(ROOT, "..", "shared", "data"))
DUMP = os.path.join(BUILD, "tests", "prep_dump")

_count = 0
_failed = 0


def ok(condition, what):
    global _count, _failed
    _count += 1
    _failed += not condition
    print(f"{'ok' if condition else 'not ok'} {_count} - {what}", flush=True)


def skip(what, why):
    global _count
    _count += 1
    print(f"ok {_count} - {what} # SKIP {why}", flush=True)


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def done():
    print(f"1..{_count}")
    sys.exit(1 if _failed else 0)


try:
    import numpy as np
    import pandas as pd
    import scipy.sparse as sp
except ImportError as error:
    skip_all(f"python module missing: {error.name}")

if not os.path.exists(DUMP):
    skip_all(f"{DUMP} is not built")


def near(a, b, tolerance=1e-6):
    """The largest |a - b| / max(1, |b|); equal places of NaN count as equal."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.shape != b.shape or (np.isnan(a) != np.isnan(b)).any():
        return False
    keep = ~np.isnan(a)
    same = a[keep] == b[keep]
    error = np.abs(a[keep] - b[keep])[~same] / np.maximum(1, np.abs(b[keep][~same]))
    return bool(error.size == 0 or error.max() <= tolerance)


def worst(a, b):
    a, b = np.asarray(a, float), np.asarray(b, float)
    return float(np.nanmax(np.abs(a - b) / np.maximum(1, np.abs(b)))) if a.size else 0.0


def data_file(*parts):
    path = os.path.join(DATA, *parts)
    return path if os.path.exists(path) else None


def folder():
    """A new folder, removed at the end."""
    path = tempfile.mkdtemp(prefix="comp-prep-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def write_matrix(path, x):
    with open(path, "wb") as f:
        if sp.issparse(x):
            x = sp.csr_matrix(x)
            x.sort_indices()
            np.array([*x.shape, x.nnz], np.int64).tofile(f)
            x.indptr.astype(np.int64).tofile(f)
            x.indices.astype(np.int32).tofile(f)
            x.data.astype(np.float32).tofile(f)
        else:
            np.array([*x.shape, -1], np.int64).tofile(f)
            np.ascontiguousarray(x, np.float32).tofile(f)


def read_matrix(path):
    with open(path, "rb") as f:
        rows, cols, nnz = (int(v) for v in np.fromfile(f, np.int64, 3))
        if nnz < 0:
            return np.fromfile(f, np.float32).reshape(rows, cols)
        indptr = np.fromfile(f, np.int64, rows + 1)
        indices = np.fromfile(f, np.int32, nnz)
        return sp.csr_matrix((np.fromfile(f, np.float32, nnz), indices, indptr), shape=(rows, cols))


def write_table(path, df):
    kinds = ["b" if d == bool else "n" if np.issubdtype(d, np.number) else "s"
             for d in (df[c].dtype if not isinstance(df[c].dtype, pd.CategoricalDtype) else np.dtype(object)
                       for c in df.columns)]
    with open(path, "w") as f:
        f.write("\t".join(df.columns) + "\n" + "\t".join(kinds) + "\n")
        for row in df.astype(object).where(df.notna(), "").itertuples(index=False):
            f.write("\t".join(str(v) for v in row) + "\n")


def write_dataset(where, x, var_names, obs, prefix=""):
    write_matrix(os.path.join(where, prefix + "x.bin"), x)
    with open(os.path.join(where, prefix + "var.txt"), "w") as f:
        f.write("".join(f"{name}\n" for name in var_names))
    write_table(os.path.join(where, prefix + "obs.tsv"), obs)


def run(where, command, *arguments):
    """Runs prep_dump; the message of a failure is returned, "" on success."""
    result = subprocess.run([DUMP, where, command, *arguments], capture_output=True, text=True)
    return "" if result.returncode == 0 else result.stderr or f"exit {result.returncode}"


def read_out(where, name="out_var.tsv"):
    return pd.read_csv(os.path.join(where, name), sep="\t", keep_default_na=False, na_values=[""],
                       dtype={"name": str, "names": str, "label": str})


def bytes_of(where, *names):
    return [open(os.path.join(where, name), "rb").read() for name in names]


def kang():
    """The paper's cells of Kang, raw counts; None when the data is not here."""
    path = data_file("kang", "kang_ifnb.h5ad")
    if not path:
        return None
    import anndata
    adata = anndata.read_h5ad(path)
    adata.X = sp.csr_matrix(adata.X, dtype=np.float32)
    adata.obs["in_paper_set"] = adata.obs["in_paper_set"].astype(bool)
    return adata
