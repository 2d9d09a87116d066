"""table.py: one table of all designs and methods, and what it must show (issue 19): verdicts on the lines that can be checked."""
import math

from measures import MEASURES

NAMES = [name for name, _, _, _ in MEASURES]
OTHERS = ["harmony", "mnn", "seurat-cca"]
# The verdicts' margins.
PURITY_BELOW_PCA = 0.04
MIXING_ABOVE = 0.05
TRANSFER_BELOW = 0.01
TRANSFER_SPREAD = 0.1
LEAST_SPREAD = 0.01  # three seeds may agree by chance


def mean(values):
    values = [v for v in values if v is not None and not math.isnan(v)]
    return sum(values) / len(values) if values else math.nan


def spread(values):
    values = [v for v in values if v is not None and not math.isnan(v)]
    return max(values) - min(values) if values else math.nan


def number(value):
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"


def cell(values):
    """The mean, and the spread (largest less smallest) over seeds."""
    text = number(mean(values))
    return f"{text} ({number(spread(values))})" if len(values) > 1 and text != "-" else text


def of_seeds(entry, name):
    """The values of a measure over the seeds of a design."""
    return [run["measures"].get(name, math.nan) for run in entry["seeds"].values() if "measures" in run]


def row(title, runs):
    seconds = mean([run["seconds"] for run in runs])
    cells = [cell([run["measures"].get(name, math.nan) for run in runs]) for name in NAMES]
    return f"| {title} | " + " | ".join(cells) + f" | {'-' if math.isnan(seconds) else round(seconds)} |"


def good(runs):
    return [run for run in runs if "measures" in run]


def design_rows(entry, reference, title):
    lines = []
    for method, run in entry["baselines"].items():
        lines.append(row(method, [run]) if "measures" in run else f"| {method} | failed: {run['error'][-100:]} |")
    if reference and good(reference["seeds"].values()):
        lines.append(row("reference", good(reference["seeds"].values())))
    done = good(entry["seeds"].values())
    if done:
        lines.append(row(f"**{title}**", done))
    lines += [f"| **{title}** seed {seed} | failed: {run['error'][-200:]} |" for seed, run in entry["seeds"].items() if "error" in run]
    return lines


# --------------------------------------------------------------------------------------------------------- verdicts


def check_unshared(entry, reference):
    if "unshared" not in entry["kinds"]:
        return []
    have, least = mean(of_seeds(entry, "purity_unshared")), entry["baselines"]["pca"]["measures"]["purity_unshared"] - PURITY_BELOW_PCA
    out = [("purity of unshared types", have >= least, f"{number(have)}, at least {number(least)}")]
    if reference:
        mixed, most = mean(of_seeds(entry, "m_kbet")), mean(of_seeds(reference, "m_kbet")) + MIXING_ABOVE
        out.append(("m-kBET of shared types", mixed <= most, f"{number(mixed)}, at most {number(most)}"))
    return out


def check_balanced(entry, reference):
    """No measure worse than the reference by more than the reference's spread over seeds."""
    if "balanced" not in entry["kinds"] or not reference:
        return []
    out = []
    for name, heading, better, _ in MEASURES:
        old, new = of_seeds(reference, name), of_seeds(entry, name)
        if math.isnan(mean(old)) or math.isnan(mean(new)):
            continue
        loss = abs(mean(new)) - abs(mean(old)) if better == 0 else better * (mean(old) - mean(new))
        room = max(spread(old), LEAST_SPREAD)
        out.append((f"{heading} not worse", loss <= room, f"{number(mean(new))}, reference {number(mean(old))}, room {number(room)}"))
    return out


def check_transfer(entry, reference):
    values = of_seeds(entry, "transfer")
    others = {m: entry["baselines"][m]["measures"]["transfer"] for m in OTHERS if "measures" in entry["baselines"].get(m, {})}
    out = []
    if others:
        best = max(others, key=others.get)
        least = others[best] - TRANSFER_BELOW
        out.append(("label transfer", mean(values) >= least, f"{number(mean(values))}, at least {number(least)} ({best} {number(others[best])})"))
    out.append(("spread of transfer", spread(values) <= TRANSFER_SPREAD, f"{number(spread(values))}, at most {number(TRANSFER_SPREAD)}"))
    return out


def verdicts(results, against):
    """Rows (design, what, holds, numbers)."""
    out = []
    for name, entry in results["designs"].items():
        if any("error" in run for run in entry["seeds"].values()):
            out.append((name, "runs end well", False, "see above"))
        if not good(entry["seeds"].values()) or "measures" not in entry["baselines"].get("pca", {}):
            continue
        reference = against["designs"].get(name) if against else None
        if reference and not good(reference["seeds"].values()):
            reference = None
        for check in (check_unshared, check_balanced, check_transfer):
            out += [(name, *line) for line in check(entry, reference)]
    return out


# ------------------------------------------------------------------------------------------------------------ pages


def averages(results, against, title):
    """Means over the designs that are trained already; purity of unshared types over those that have such types."""
    lines = ["| mean over designs | " + " | ".join(h for _, h, _, _ in MEASURES) + " |", "|---" * (len(MEASURES) + 1) + "|"]
    entries = {n: e for n, e in results["designs"].items() if good(e["seeds"].values()) or not results["seeds"]}
    rows = {method: [good([e["baselines"].get(method, {})]) for e in entries.values()] for method in ("pca", *OTHERS)}
    if against:
        rows["reference"] = [good(against["designs"].get(n, {"seeds": {}})["seeds"].values()) for n in entries]
    if results["seeds"]:
        rows[f"**{title}**"] = [good(e["seeds"].values()) for e in entries.values()]
    for method, runs in rows.items():
        missing = sum(not r for r in runs)
        cells = [number(mean([mean([x["measures"][name] for x in r]) for r in runs if r])) for name in NAMES]
        lines.append(f"| {method}{f' ({missing} missing)' if missing else ''} | " + " | ".join(cells) + " |")
    return lines


def page(results, against):
    title = results["name"]
    lines = [f"# Suite: {title}", "",
             f"Program {results['program']}; training options: `{results['train'] or 'none'}`; seeds {', '.join(map(str, results['seeds']))}."
             + (f" Reference: {against['name']} (program {against['program']}, options `{against['train'] or 'none'}`)." if against else ""),
             "An entry is the mean over seeds, with the spread (largest less smallest) in brackets. Seconds are CPU seconds of one training.", ""]
    lines += [f"- {heading}: {what}." for _, heading, _, what in MEASURES]
    lines += ["", f"{results['done']} of {results['planned']} runs are done.", ""]
    lines += averages(results, against, title)
    head = "| | " + " | ".join(h for _, h, _, _ in MEASURES) + " | CPU s |"
    for name, entry in results["designs"].items():
        lines += ["", f"## {name} ({entry['half']}; {', '.join(entry['kinds'])})", "",
                  f"{entry['what']}: {entry['cells']} cells, {len(entry['conditions'])} conditions"
                  + (f"; unshared: {', '.join(entry['unshared'])}" if entry["unshared"] else "") + ".", "",
                  head, "|---" * (len(MEASURES) + 2) + "|"]
        lines += design_rows(entry, against["designs"].get(name) if against else None, title)
    checks = verdicts(results, against)
    held = sum(ok for _, _, ok, _ in checks)
    lines += ["", "## Verdict", "", f"{held} of {len(checks)} checks pass." + ("" if against else " Without --against, checks with a reference are left out."),
              "", "| design | check | | numbers |", "|---|---|---|---|"]
    lines += [f"| {d} | {what} | {'pass' if ok else '**fail**'} | {numbers} |" for d, what, ok, numbers in sorted(checks, key=lambda c: c[2])]
    return "\n".join(lines) + "\n"
