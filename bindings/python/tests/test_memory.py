"""Memory: what is borrowed, the peak of embed on a large matrix, many cycles in one process."""
import contextlib
import os

import numpy as np
from scipy import sparse

import comp
from comp._context import Context
from comp._data import wrap
from comp._lib import lib


def borrowed(x):
    with Context(progress=False) as context:
        matrix, _kept = wrap(context, x)
        try:
            values = lib.comp_matrix_const_values(matrix)
            return bool(lib.comp_matrix_is_borrowed(matrix)), values == (x.data if sparse.issparse(x) else x).ctypes.data
        finally:
            lib.comp_matrix_free(matrix)


def test_what_is_borrowed():
    dense = np.random.default_rng(0).random((30, 7)).astype(np.float32)
    assert borrowed(dense) == (True, True) and borrowed(dense[5:20]) == (True, True)
    csr = sparse.random(50, 20, 0.2, "csr", np.float32, 0)
    assert borrowed(csr) == (True, True)
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    assert borrowed(csr) == (True, True)  # values and indptr are the user's, indices are converted
    for other in (dense.astype(np.float64), np.asfortranarray(dense)):
        assert not borrowed(other)[1]


PEAK = """
import sys, re
import numpy as np, pandas as pd, anndata
from scipy import sparse
import comp

def status(key):
    return int(re.search(key + r":\\s+(\\d+)", open("/proc/self/status").read()).group(1)) * 1024

n, genes, each = 100_000, 2_000, 200
rng = np.random.default_rng(0)
indices = (np.arange(0, genes, genes // each, dtype=np.int32) + rng.integers(0, genes // each, (n, each), dtype=np.int32)).ravel()
data = rng.random(n * each, dtype=np.float32)
if sys.argv[1] == "float64":
    data = data.astype(np.float64)
x = sparse.csr_matrix((data, indices, np.arange(n + 1, dtype=np.int64 if sys.argv[1] == "int64" else np.int32) * each), (n, genes))
if sys.argv[1] != "int64":
    x.indptr = x.indptr.astype(np.int32); x.indices = x.indices.astype(np.int32)
adata = anndata.AnnData(x, pd.DataFrame({"c": pd.Categorical(np.where(np.arange(n) % 2, "a", "b"))}, index=np.arange(n).astype(str)), dtype=x.dtype)
adata.var_names = [f"g{i}" for i in range(genes)]
size = adata.X.data.nbytes + adata.X.indices.nbytes + adata.X.indptr.nbytes
model = comp.CoMP(adata[:1000].copy(), "c", hidden=[64], latent=10, epochs=1).fit()
model.embed(adata[:100].copy())
adata.X.has_canonical_format
import gc; gc.collect()
open("/proc/self/clear_refs", "w").write("5")  # the peak is counted from here
before = status("VmRSS")
comp.tl.embed(adata, model)
print(size, adata.obsm["X_comp"].nbytes, status("VmHWM") - before, adata.X.data.nbytes)
"""


def peak(script, kind):
    process = script(PEAK, kind)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return map(int, out.split())


def test_peak_of_embed(script):
    """100,000 x 2,000 CSR: at most a tenth of the data more than data and results."""
    size, results, grown, _ = peak(script, "int32")
    print(f"data {size / 1e6:.0f} MB, results {results / 1e6:.0f} MB, peak above the data {grown / 1e6:.0f} MB")
    assert size > 150e6 and grown <= results + 0.1 * size


def test_peak_of_embed_float64(script):
    """Only the values are converted, to float32, without a second copy."""
    size, results, grown, values = peak(script, "float64")
    print(f"data {size / 1e6:.0f} MB, results {results / 1e6:.0f} MB, peak above the data {grown / 1e6:.0f} MB")
    assert grown <= values / 2 + results + 0.1 * size


CYCLES = """
import re, sys
import comp

def memory():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read()).group(1)) / 1024

adata = comp.pp.simulate(cells=200, genes=50, seed=1)
comp.pp.prepare(adata, normalize_total="median", log1p=True)
early, late = int(sys.argv[1]), int(sys.argv[2])
for i in range(1, late + 1):
    comp.tl.train(adata, "condition", hidden=[16], latent=3, epochs=1, threads=2)
    comp.tl.embed(adata, threads=2)
    comp.tl.counterfactual(adata, "treated", samples=2, threads=2)
    try:
        comp.tl.train(adata, "lost")
    except comp.DataError:
        pass
    if i in (early, late):
        print(memory())
"""


def test_cycles_do_not_grow(script, capsys):
    """./dev python --long: 1,000 cycles."""
    first, last = (50, 1000) if os.environ.get("COMP_LONG") else (20, 60)
    process = script(CYCLES, first, last)
    out, err = process.communicate(timeout=1800)
    assert process.returncode == 0, err
    early, late = map(float, out.split())
    with capsys.disabled() if last > 60 else contextlib.nullcontext():
        print(f"\n{early:.1f} MB after {first} cycles, {late:.1f} MB after {last}")
    assert late - early < 3


def test_results_are_freed(ready):
    import gc
    import weakref

    z = comp.model(ready).embed()
    owner = weakref.ref(z.base.base.obj.owner if hasattr(z.base.base, "obj") else find_owner(z))
    assert owner() is not None
    del z
    gc.collect()
    assert owner() is None


def find_owner(array):
    at = array
    while not hasattr(at, "owner"):
        at = at.obj if isinstance(at, memoryview) else at.base
    return at.owner
