"""bench/stream.py [default small]: training that reads its data from disk, against the same training with the data in memory: cells a second.

COMP_CELLS simulated cells x 2,000 genes, CSR in an .h5ad. From disk: --memory 64M, so that the data is many windows. The first epoch does not count: it
has the start, and no window that was read ahead. Every epoch passes each training cell once, in steps of at most 512 (from disk they are a few more and smaller);
validation is part of both. `default` is the default network, `small` one of 2 x 128.
"""
import json
import os
import tempfile

import bench_common as bench

GENES = 200 if bench.QUICK else 2000
BATCH = 512
folder = tempfile.TemporaryDirectory(prefix="comp-bench-")


def path(name):
    return os.path.join(folder.name, name)


def data():
    """The cells, made once: counts that are normalised and logged."""
    if not os.path.exists(path("cells.h5ad")):
        bench.ours("comp", "simulate", "-q", "-o", path("counts.h5ad"), "--cells", bench.CELLS, "--genes", GENES, "--no-truth")
        bench.ours("comp", "prep", "-q", "-i", path("counts.h5ad"), "-o", path("cells.h5ad"), "--normalize-total", "median", "--log1p")
    return path("cells.h5ad")


def cells_per_second(options):
    """Of a training, without its first epoch."""
    log = path("training.jsonl")
    bench.ours("comp", "train", "-q", "-i", data(), "-o", path("model.comp"), "--condition", "condition", "--epochs", 4, "--patience", 0, "--log", log, *options)
    with open(log) as lines:
        epochs = [json.loads(line) for line in lines]
    for name in ("training.jsonl", "model.comp"):
        os.remove(path(name))
    trained = bench.CELLS - min(bench.CELLS // 10, 20000)  # the others are held out
    return trained * (len(epochs) - 1) / (epochs[-1]["seconds"] - epochs[0]["seconds"])


def compare(name, network, bar):
    memory, disk = [], []
    for _ in range(bench.repeats(3)):
        memory.append(cells_per_second(network))
        disk.append(cells_per_second([*network, "--memory", "64M"]))
    bench.report(f"training from disk, {name}", disk, "comp, data in memory", memory, of=max, unit="cells/s", bar=bar)


bench.main({"default": lambda: compare("default network", ["--batch", BATCH], 0.9),
            "small": lambda: compare("2 x 128", ["--batch", BATCH, "--hidden", "128,128"], None)})
