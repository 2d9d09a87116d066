"""bench/train.py [kang adult tumour batches]: seconds a training step against PyTorch, at the shapes of the paper's experiments.

Medians of 3 rounds. PyTorch (tests/oracle/reference_torch.py) runs with its best settings and all threads, and once as it comes ("untuned"). Its penalty
has two forms: the authors' broadcast (B x B x D) and one matrix product (B x B). `batches`: peak memory by the batch; the penalty's is O(B D).
"""
import json
import os
import statistics

import bench_common as bench

# name: features, width, layers, latent, batch, filled, steps of comp a round, steps of torch a round, form that the bar refers to
SHAPES = {
    "kang": (2000, 512, 3, 40, 512, 0.05, 30, 10, "broadcast"),
    "adult": (82, 64, 2, 16, 4096, 1.0, 20, 3, "product"),
    "tumour": (9468, 512, 3, 16, 5500, 1.0, 3, 2, "product"),
}
PRECISIONS = {"kang": ("f32", "bf16"), "adult": ("f32",), "tumour": ("f32", "bf16")}

# How many times faster comp should be, in f32 and by the kind of bf16 kernel (bench_common.bf16_kernel).
BARS = {
    "kang": {"f32": 6.7, "avx512_bf16": 10.2, "amx": 18},
    "adult": {"f32": 23},
    "tumour": {"f32": 2.5, "avx512_bf16": 4.3, "amx": 10},
}

BATCHES = (10_000, 20_000) if bench.QUICK else (10_000, 20_000, 40_000, 80_000, 100_000)

PEER = r"""
import json, resource, sys, time
import torch
sys.path.insert(0, sys.argv[1])
import reference_torch as reference
features, width, layers, latent, batch, filled, steps, form, threads = json.loads(sys.argv[2])
if threads: torch.set_num_threads(threads)
torch.manual_seed(0)
config = dict(hidden=[width] * layers, encoder_sees_condition=True, decoder_sees_condition=True, scale=0.1, learn_scale=False,
              likelihood="gaussian", reduction="sum", beta=0.1, gamma=10.0, penalty="comp", include_self=True, training=dict(blur=[0, 0]))
p = {}
def add(name, rows, cols, bias=True, norm=False):
    bound = rows ** -0.5
    p[name + ".weight"] = ((torch.rand(rows, cols) * 2 - 1) * bound).requires_grad_()
    if bias: p[name + ".bias"] = ((torch.rand(1, cols) * 2 - 1) * bound).requires_grad_()
    if norm:
        p[name + ".norm.weight"] = torch.ones(1, cols, requires_grad=True)
        p[name + ".norm.bias"] = torch.zeros(1, cols, requires_grad=True)
for part, first in (("encoder", features), ("decoder", latent)):
    for layer in range(layers): add(f"{part}.{layer}", (first if layer == 0 else width) + (2 if layer == 0 else 0), width, False, True)
add("mean", width, latent); add("output", width, features); add("output_scale", width, 1)
x = torch.randn(batch, features)
if filled < 1: x = (1 + 0.3 * x) * (torch.rand(batch, features) < filled)
c = (torch.arange(batch) >= batch // 2).long()
optimiser = torch.optim.Adam(p.values(), lr=1e-4)
log_q = reference.log_q_broadcast if form == "broadcast" else reference.log_q_product
times = []
for step in range(steps + 1):
    start = time.perf_counter()
    optimiser.zero_grad()
    loss = reference.loss(p, config, x, c, torch.randn(batch, latent), None, 2, log_q)
    loss.backward()
    optimiser.step()
    if step: times.append(time.perf_counter() - start)
print(json.dumps(dict(steps=times, peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)))
"""


def peer(shape, form, tuned=True):
    features, width, layers, latent, batch, filled, _, steps, _ = SHAPES[shape]
    args = [features, width, layers, latent, batch, filled, 1 if bench.QUICK else steps, form, bench.THREADS if tuned else 0]
    folder = os.path.join(bench.ROOT, "tests", "oracle")
    return json.loads(bench.peer_python(PEER, folder, json.dumps(args), env=bench.TUNED if tuned else bench.UNTUNED))


def ours(shape, precision):
    """None where the CPU has no bf16 kernel."""
    return bench.ours_json("bench/train_steps", shape, precision, 2 if bench.QUICK else SHAPES[shape][6], bench.THREADS)


def peers(shape):
    """The forms and settings of PyTorch to run, by name; in a quick run only what the bar refers to."""
    form = SHAPES[shape][8]
    if bench.QUICK:
        return {form: lambda: peer(shape, form)}
    return {"broadcast": lambda: peer(shape, "broadcast"), "product": lambda: peer(shape, "product"), f"{form}, untuned": lambda: peer(shape, form, False)}


def measure(shape):
    mine, theirs = {precision: [] for precision in PRECISIONS[shape]}, {name: [] for name in peers(shape)}
    rates = []
    for turn in range(bench.repeats(3)):
        rates.append(json.loads(bench.ours("comp", "bench", "-q", "--seconds", 1, "--json", "-")))
        for precision, runs in mine.items():
            runs.append(ours(shape, precision))
        for name, run in peers(shape).items():
            if turn == 0 or "untuned" not in name:
                theirs[name].append(run())
    for precision, runs in mine.items():
        if None in runs:
            bench.absent(f"training step, {shape}, {precision}", "this CPU has no bf16 kernel")
        else:
            report(shape, precision, runs, theirs, max(rate[f"{precision}_flops"] or 0 for rate in rates))


def report(shape, precision, runs, theirs, peak):
    """A row for each form of PyTorch; `peak` is the machine's product rate."""
    steps, run = [t for run in runs for t in run["steps"]], runs[-1]
    bar = BARS[shape].get("f32" if precision == "f32" else bench.bf16_kernel())
    medians = {name: statistics.median(t for other in others for t in other["steps"]) for name, others in theirs.items()}
    for name, others in theirs.items():
        # On a busy machine threads that wait for each other can make PyTorch slower than it is untuned, with fewer threads.
        unfair = medians.get(f"{name}, untuned", medians[name]) < medians[name]
        bench.report(f"training step, {shape}, {precision}", steps, f"PyTorch, {name}", [t for other in others for t in other["steps"]],
                     of=statistics.median, bar=bar if name == SHAPES[shape][8] else None, comp_mb=run["peak_mb"], peer_mb=others[0]["peak_mb"],
                     note="not a fair ratio: PyTorch was faster untuned" if unfair else "")
    rate, total = run["flops"] / statistics.median(steps), sum(run["phases"].values())
    bench.say(f"{rate / 1e9:.0f} GFLOP/s" + (f" = {100 * rate / peak:.0f} % of the machine's products" if peak else ""))
    bench.say(", ".join(f"{name} {100 * value / total:.0f} %" for name, value in run["phases"].items()))


def batches():
    """One step on the whole data of the Adult network, for larger and larger batches. A matrix of B x B in f32 would take 4 B^2 bytes."""
    for batch in BATCHES:
        run = bench.ours_json("bench/train_steps", "adult", "f32", 1, bench.THREADS, batch)
        bench.report(f"training step, adult, f32, batch {batch:,}", run["steps"], comp_mb=run["peak_mb"],
                     note=f"penalty {run['phases']['penalty']:.2f} s; one matrix of B x B: {4e-6 * batch * batch:,.0f} MB")


bench.main({**{shape: lambda shape=shape: measure(shape) for shape in SHAPES}, "batches": batches})
