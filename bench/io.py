"""bench/io.py: reading speed against the usual tools, in one run: .h5ad against anndata, MEX against scipy.

Peers and comp take turns, so that a busy machine slows both; the best of each counts. Files: the Kang data (COMP_DATA or ../shared/data)
when they are there, and a larger simulated file. Run through `./dev bench io`.
"""
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("COMP_BUILD", "build")
DATA = os.environ.get("COMP_DATA", os.path.join("..", "shared", "data"))
THREADS = str(len(os.sched_getaffinity(0)))
REPEATS = int(os.environ.get("COMP_REPEATS", "7"))

PEER_H5AD = """
import sys, time, resource, anndata
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
x = anndata.read_h5ad(sys.argv[1]).X
print(time.perf_counter() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""

PEER_MEX = """
import sys, time, resource, scipy.io, scipy.sparse
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
x = scipy.io.mmread(sys.argv[1]).T.tocsr()
print(time.perf_counter() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def peer(code, path):
    out = subprocess.run([sys.executable, "-W", "ignore", "-c", code, path], check=True, capture_output=True, text=True)
    seconds, memory = out.stdout.split()
    return float(seconds), float(memory)


def ours(path):
    command = [os.path.join(BUILD, "tests", "h5_dump"), "--stats", "--threads", THREADS, path]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"read ([\d.]+) s.*peak ([\d.]+) MB above ([\d.]+), X of ([\d.]+) MB", out)
    return float(found[1]), float(found[2]), float(found[4])


def compare(name, path, code, peer_path, bar):
    mine, theirs, memory, peer_memory, size = [], [], 0.0, 0.0, 0.0
    for _ in range(REPEATS):
        seconds, used, size = ours(path)
        mine.append(seconds)
        memory = max(memory, used)
        seconds, used = peer(code, peer_path)
        theirs.append(seconds)
        peer_memory = max(peer_memory, used)
    ratio = min(theirs) / min(mine)
    print(f"{name:34s} {min(mine):9.4f} s {min(theirs):9.4f} s {ratio:7.1f}x  (bar {bar}x)"
          f"   {memory:8.1f} MB {peer_memory:8.1f} MB   X {size:7.1f} MB, peak / X {memory / size:.2f}", flush=True)


def main():
    print(f"threads: {THREADS}; best of {REPEATS}, taking turns\n")
    print(f"{'':34s} {'comp':>11s} {'peer':>11s} {'ratio':>8s}  {'':11s} {'comp':>11s} {'peer':>11s}")
    kang = os.path.join(DATA, "kang", "kang_ifnb.h5ad")
    mex = os.path.join(DATA, "kang", "kang_ifnb_mex")
    with tempfile.TemporaryDirectory() as folder:
        if os.path.exists(kang):
            compare("kang .h5ad (gzip) / anndata", kang, PEER_H5AD, kang, 3)
        else:
            print(f"(the Kang files are not in {DATA}: set COMP_DATA)")
        large = os.path.join(folder, "simulated.h5ad")
        subprocess.run([os.path.join(BUILD, "comp"), "simulate", "-q", "-o", large, "--cells", "50000", "--genes", "2000",
                        "--no-truth"], check=True)
        compare("50,000 x 2,000 .h5ad / anndata", large, PEER_H5AD, large, 3)
        if os.path.exists(mex):
            compare("kang MEX .mtx.gz / scipy.io.mmread", mex, PEER_MEX, os.path.join(mex, "matrix.mtx.gz"), 20)


if __name__ == "__main__":
    main()
