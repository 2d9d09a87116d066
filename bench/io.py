"""bench/io.py [kang simulated zarr mex]: reading speed: .h5ad and zarr against anndata, MEX against scipy.

The best of 7 rounds counts, of zarr their median. Only the call that reads is timed, not the start of a program. Files: Kang's data (COMP_DATA) and a larger simulated file. Memory is the peak above what the process had before it read.
"""
import os
import re
import statistics
import tempfile

import bench_common as bench

PEER = """
import sys, time, resource
{imports}
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, start = peak(), time.perf_counter()
x = {read}
print(time.perf_counter() - start, peak() - before)
"""
ANNDATA = PEER.format(imports="import anndata", read="anndata.read_h5ad(sys.argv[1]).X")
ANNDATA_ZARR = PEER.format(imports="import anndata", read="anndata.read_zarr(sys.argv[1]).X")
TO_ZARR = """
import sys, anndata, numcodecs, zarr
zarr.storage.default_compressor = {compressor}
anndata.read_h5ad(sys.argv[1]).write_zarr(sys.argv[2])
"""
# What decompression alone takes on one thread, of the chunks of a sparse X into memory that is there: no reader on N threads takes less than 1 / N.
DECODE = """
import sys, time, zarr
group, seconds = zarr.open_group(sys.argv[1], mode="r")["X"], 0
for name in ("data", "indices", "indptr"):
    array = group[name]
    for key in array.chunk_store.listdir(array.path):
        if not key.startswith("."):
            stored = array.chunk_store[array.path + "/" + key]
            out = bytearray(array.chunks[0] * array.dtype.itemsize)
            start = time.perf_counter()
            array.compressor.decode(stored, out)
            seconds += time.perf_counter() - start
print(seconds)
"""
# The compressor and the chunks that anndata chooses by itself; zstd first: the bar is for it.
ZARR = {"zstd": ("numcodecs.Zstd(3)", 3), "blosc lz4": ("numcodecs.Blosc()", None), "blosc zstd": ("numcodecs.Blosc('zstd', 3)", None)}
SCIPY = PEER.format(imports="import scipy.io, scipy.sparse", read="scipy.io.mmread(sys.argv[1]).T.tocsr()")


def ours(path):
    """Seconds, peak memory above the start, size of X; memory in MB."""
    out = bench.ours("tests/h5_dump", "--stats", "--threads", bench.THREADS, path)
    found = re.search(r"read ([\d.]+) s.*peak ([\d.]+) MB above ([\d.]+), X of ([\d.]+) MB", out)
    return float(found[1]), float(found[2]), float(found[4])


def compare(case, path, peer, code, peer_path, bar, of=min, more=""):
    mine, theirs = [], []
    for _ in range(bench.repeats(7)):
        mine.append(ours(path))
        theirs.append([float(word) for word in bench.peer_python(code, peer_path).split()])
    memory, size = max(m[1] for m in mine), mine[0][2]
    bench.report(case, [m[0] for m in mine], peer, [t[0] for t in theirs], of=of, bar=bar, comp_mb=memory, peer_mb=max(t[1] for t in theirs),
                 note=f"peak is {memory / size:.2f} x the matrix ({size:.1f} MB){more}")


def kang():
    path = os.path.join(bench.DATA, "kang", "kang_ifnb.h5ad")
    if not os.path.exists(path):
        return bench.absent("reading .h5ad, Kang", bench.NO_DATA)
    compare("reading .h5ad, Kang (gzip)", path, "anndata", ANNDATA, path, 3)


def simulated():
    cells = bench.CELLS // 2
    with tempfile.TemporaryDirectory(prefix="comp-bench-") as folder:
        path = os.path.join(folder, "simulated.h5ad")
        bench.ours("comp", "simulate", "-q", "-o", path, "--cells", cells, "--genes", 2000, "--no-truth")
        compare(f"reading .h5ad, simulated {cells:,} x 2,000", path, "anndata", ANNDATA, path, 3)


def zarr():
    with tempfile.TemporaryDirectory(prefix="comp-bench-") as folder:
        made = os.path.join(folder, "simulated.h5ad")
        bench.ours("comp", "simulate", "-q", "-o", made, "--cells", bench.CELLS, "--genes", 2000, "--no-truth")
        for name, (compressor, bar) in ZARR.items():
            path = os.path.join(folder, name.replace(" ", "-") + ".zarr")
            bench.peer_python(TO_ZARR.format(compressor=compressor), made, path)
            decode = min(float(bench.peer_python(DECODE, path)) for _ in range(bench.repeats(3)))
            compare(f"reading zarr ({name}), simulated {bench.CELLS:,} x 2,000", path, "anndata", ANNDATA_ZARR, path, bar, statistics.median,
                    f"; decompression alone {decode:.3f} s by numcodecs" + (f", on {bench.THREADS} threads at least {decode / bench.THREADS:.3f} s" if bar else ""))


def mex():
    path = os.path.join(bench.DATA, "kang", "kang_ifnb_mex")
    if not os.path.exists(path):
        return bench.absent("reading MEX, Kang", bench.NO_DATA)
    compare("reading MEX, Kang", path, "scipy.io.mmread", SCIPY, os.path.join(path, "matrix.mtx.gz"), 20)


bench.main({"kang": kang, "simulated": simulated, "zarr": zarr, "mex": mex})
