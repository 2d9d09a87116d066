"""bench/products.py: comp's matrix products against plain oneDNN, and the machine's other rates.

The best of 3 rounds counts. bench/onednn_peak.c calls oneDNN. These rates are the limit of a training step: docs/speed.md says how near it comes.
"""
import json
import re

import bench_common as bench

SECONDS = 0.2 if bench.QUICK else 0.5


def onednn():
    """The best rates in GFLOP/s, by precision; 0 or no entry: oneDNN has no such product here."""
    return {name: float(rate) for name, rate in re.findall(r"^best (\w+) ([\d.]+)$", bench.ours("bench/onednn_peak", SECONDS), re.M)}


def products():
    mine, theirs = [], []
    for _ in range(bench.repeats(3)):
        mine.append(json.loads(bench.ours("comp", "bench", "-q", "--seconds", 1, "--json", "-")))
        theirs.append(onednn())
    for precision in ("f32", "bf16"):
        case = f"matrix product, {precision}"
        if None in [m[f"{precision}_flops"] for m in mine]:
            bench.absent(case, f"this CPU has no {precision} kernel")
        else:
            bench.report(case, [m[f"{precision}_flops"] / 1e9 for m in mine], "oneDNN", [t[precision] for t in theirs if t.get(precision)], of=max,
                         unit="GFLOP/s")
    for case, key, unit in (("memory, read", "read_bytes", "GB/s"), ("memory, copy (read + written)", "copy_bytes", "GB/s"),
                            ("vector exp", "exp_elements", "G elements/s")):
        bench.report(case, [m[key] / 1e9 for m in mine], of=max, unit=unit)


bench.main({"products": products})
