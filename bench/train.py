"""bench/train.py: seconds a training step, comp against PyTorch, in one run, taking turns.

PyTorch runs at its fair settings (the environment below, all threads) and, once, at its defaults. Its penalty comes in two forms: the authors' broadcast
(B x B x D) and one matrix product (B x B). Then peak memory by the batch: the penalty's is of O(B D). Run through
`./dev bench train [kang adult tumour batches]`.
"""
import json
import os
import statistics
import subprocess
import sys

BUILD = os.environ.get("COMP_BUILD", "build")
THREADS = len(os.sched_getaffinity(0))
ROUNDS = int(os.environ.get("COMP_REPEATS", "3"))
FAIR = {"OPENBLAS_CORETYPE": "SkylakeX", "ATEN_CPU_CAPABILITY": "avx512",
        "LD_LIBRARY_PATH": "/usr/lib/x86_64-linux-gnu/openblas-openmp"}

# name: features, width, layers, latent, batch, filled, steps of comp a round, steps of torch a round, form compared with, bars f32 and bf16
SHAPES = {
    "kang": (2000, 512, 3, 40, 512, 0.05, 30, 10, "broadcast", 2.5, 5),
    "adult": (82, 64, 2, 16, 4096, 1.0, 20, 3, "product", 20, None),
    "tumour": (9468, 512, 3, 16, 5500, 1.0, 3, 2, "product", 2.3, 6),
}

BATCHES = (10_000, 20_000, 40_000, 80_000, 100_000)

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


def peer(shape, form, fair=True):
    features, width, layers, latent, batch, filled, _, steps = SHAPES[shape][:8]
    args = json.dumps([features, width, layers, latent, batch, filled, steps, form, THREADS if fair else 0])
    folder = os.path.join(os.path.dirname(__file__), "..", "tests", "oracle")
    out = subprocess.run([sys.executable, "-c", PEER, folder, args], check=True, capture_output=True, text=True,
                         env={**os.environ, **FAIR} if fair else {k: v for k, v in os.environ.items() if k not in FAIR})
    return json.loads(out.stdout)


def ours(shape, precision, steps=None, batch=None):
    args = [shape, precision, str(steps or SHAPES[shape][6]), str(THREADS)] + ([str(batch)] if batch else [])
    out = subprocess.run([os.path.join(BUILD, "bench", "train_steps"), *args], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def machine():
    out = subprocess.run([os.path.join(BUILD, "comp"), "bench", "-q", "--seconds", "1", "--json", "-"], check=True,
                         capture_output=True, text=True)
    return json.loads(out.stdout)


def middle(runs):
    return statistics.median(t for run in runs for t in run["steps"])


def measure(shape):
    precisions = ["f32", "bf16"] if shape != "adult" else ["f32"]
    mine = {precision: [] for precision in precisions}
    theirs = {form: [] for form in ("broadcast", "product")}
    rates = []
    for _ in range(ROUNDS):
        rates.append(machine())
        for precision in precisions:
            mine[precision].append(ours(shape, precision))
        for form in theirs:
            theirs[form].append(peer(shape, form))
    default = peer(shape, SHAPES[shape][8], fair=False)
    form, bars = SHAPES[shape][8], dict(zip(("f32", "bf16"), SHAPES[shape][9:]))
    print(f"\n{shape}: PyTorch broadcast {middle(theirs['broadcast']):.4f} s ({theirs['broadcast'][0]['peak_mb']:.0f} MB), "
          f"product {middle(theirs['product']):.4f} s ({theirs['product'][0]['peak_mb']:.0f} MB), "
          f"its default settings ({form}) {statistics.median(default['steps']):.4f} s")
    for precision in precisions:
        seconds, run = middle(mine[precision]), mine[precision][-1]
        peak = max(rate["f32_flops" if precision == "f32" else "bf16_flops"] or 0 for rate in rates)
        share = run["flops"] / seconds / peak if peak else 0
        print(f"  comp {precision}: {seconds:.4f} s, {middle(theirs[form]) / seconds:.1f}x the {form} form (bar {bars[precision]}x), "
              f"{run['flops'] / seconds / 1e9:.0f} GFLOP/s = {100 * share:.0f} % of the machine's products, {run['peak_mb']:.0f} MB")
        total = sum(run["phases"].values())
        print("    " + ", ".join(f"{name} {100 * value / total:.0f} %" for name, value in run["phases"].items()))


def batches():
    """One step on the whole data of the Adult network, for larger and larger batches. A matrix of B x B in f32 would take 4 B^2 bytes."""
    print("\nAdult network, the batch is the whole data:")
    print(f"  {'B':>7} {'s a step':>9} {'penalty s':>9} {'peak MB':>8} {'KB a sample':>11} {'one B x B, MB':>13}")
    for batch in BATCHES:
        run = ours("adult", "f32", 1, batch)
        print(f"  {batch:7d} {run['steps'][0]:9.2f} {run['phases']['penalty']:9.2f} {run['peak_mb']:8.0f} "
              f"{1e3 * run['peak_mb'] / batch:11.2f} {4e-6 * batch * batch:13.0f}", flush=True)


def main():
    print(f"threads: {THREADS}; medians of {ROUNDS} rounds, taking turns")
    for shape in sys.argv[1:] or [*SHAPES, "batches"]:
        batches() if shape == "batches" else measure(shape)


if __name__ == "__main__":
    main()
