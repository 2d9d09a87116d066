"""What the benchmarks share: where things are, how often to repeat, the best settings of the other programs, and how a row of results is reported.

A script measures comp and another program in turn and calls report() once a row. It prints the row; `./dev bench all` (bench/all.py) collects the rows
of all scripts in one table. Environment: COMP_BUILD (build), COMP_DATA (../shared/data), COMP_REPEATS, COMP_CELLS; the argument --quick means one round
and smaller data, to try a benchmark out.
"""
import json
import os
import subprocess
import sys
import sysconfig
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("COMP_BUILD", os.path.join(ROOT, "build")))
DATA = os.environ.get("COMP_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data"))
THREADS = len(os.sched_getaffinity(0))
QUICK = "--quick" in sys.argv
ARGUMENTS = [a for a in sys.argv[1:] if a != "--quick"]
CELLS = int(os.environ.get("COMP_CELLS", "10000" if QUICK else "100000"))
NAME = os.path.splitext(os.path.basename(sys.argv[0]))[0]
ROWS = os.environ.get("COMP_BENCH_ROWS")  # a file to which rows are appended, one JSON object a line; bench/all.py sets it
NO_DATA = "the data is not there (COMP_DATA)"
NO_BF16 = 3  # exit status of train_steps and embed_rows where the CPU has no bf16 kernel (bench/bench.h)


# ---------------------------------------------------------------------------------------------- the other programs

def cpu():
    """The CPU's name, and its vendor and flags as /proc/cpuinfo has them (arm64: no vendor, and flags are called features)."""
    fields = {}
    with open("/proc/cpuinfo") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            fields.setdefault(name.strip(), value.strip())
    if "model name" in fields:  # virtual machines may hide the rest of the name; family and model still tell the generation
        model = f"{fields['model name']} (family {fields.get('cpu family', '?')}, model {fields.get('model', '?')})"
    else:
        model = f"CPU implementer {fields.get('CPU implementer', '?')}, part {fields.get('CPU part', '?')}"
    return model, fields.get("vendor_id", ""), set((fields.get("flags") or fields.get("Features") or "").split())


def peer_settings():
    """Environment variables with which NumPy, PyTorch and R run fastest on this CPU. Left alone, Debian's OpenBLAS takes slow kernels on CPUs that
    are newer than itself; kernels that the CPU does not have would crash. What the user has set stays."""
    _, vendor, flags = cpu()
    settings = {}
    if flags >= {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}:
        settings = {"OPENBLAS_CORETYPE": "SkylakeX", "ATEN_CPU_CAPABILITY": "avx512"}
    elif flags >= {"avx2", "fma"}:
        settings = {"OPENBLAS_CORETYPE": "Zen" if vendor == "AuthenticAMD" else "Haswell", "ATEN_CPU_CAPABILITY": "avx2"}
    settings = {name: os.environ.get(name, value) for name, value in settings.items()}
    # PyTorch's threads are OpenMP's; an OpenBLAS with threads of another kind would compete with them.
    openblas = f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}/openblas-openmp"
    if os.path.isdir(openblas):
        settings["LD_LIBRARY_PATH"] = ":".join(filter(None, [openblas, os.environ.get("LD_LIBRARY_PATH")]))
    return settings


# OpenBLAS reads its settings when it is loaded, so NumPy is imported with them. comp's own programs run without, as a user runs them.
UNTUNED = dict(os.environ)
SETTINGS = peer_settings()
TUNED = {**UNTUNED, **SETTINGS}
os.environ.update(SETTINGS)
import numpy as np  # noqa: E402, F401
os.environ.clear()
os.environ.update(UNTUNED)


def run(command, env=UNTUNED, accepted=(0,)):
    """Exit status and standard output of a command; an error with its last words when the status is not an accepted one."""
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=env)
    if result.returncode not in accepted:
        how = f"exit status {result.returncode}" if result.returncode > 0 else f"signal {-result.returncode}; signal 9: not enough memory?"
        last = (result.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise RuntimeError(f"{os.path.basename(command[0])} failed ({how}): {last}")
    return result.returncode, result.stdout


def peer_python(code, *arguments, env=TUNED):
    """What Python prints when it runs `code`."""
    return run([sys.executable, "-W", "ignore", "-c", code, *arguments], env)[1]


# ------------------------------------------------------------------------------------------------------------ comp

def program(name):
    """The path of a program of the build."""
    return os.path.join(BUILD, name)


def ours(name, *arguments):
    """What a program of the build prints."""
    return run([program(name), *arguments])[1]


def ours_json(name, *arguments):
    """The JSON that a program of the build prints; None where it says that this CPU has no bf16 kernel."""
    status, out = run([program(name), *arguments], accepted=(0, NO_BF16))
    return json.loads(out) if status == 0 else None


def comp_version():
    """`comp version` as a dict; its first line, "comp 0.1.0", is a name and a value too."""
    said, name = {}, ""
    for line in ours("comp", "version").splitlines():
        if not line.startswith(" "):
            name, _, value = line.partition("  " if "  " in line else " ")
            said[name] = value.strip()
        else:
            said[name] += ", " + line.strip()
    return said


def bf16_kernel():
    """The kind of bf16 products that comp has here, by what `comp version` says: "amx", "avx512_bf16" or "other"."""
    said = comp_version()
    words = " ".join(value for name, value in said.items() if "bf16" in name) or said.get("CPU features", "")
    return next((kind for kind in ("amx", "avx512_bf16") if kind in words.lower()), "other")


# ------------------------------------------------------------------------------------------------------------ rows

def repeats(usual):
    """Rounds in which comp and the other program take turns."""
    return int(os.environ.get("COMP_REPEATS", 1 if QUICK else usual))


def keep(row):
    if ROWS:
        with open(ROWS, "a") as file:
            file.write(json.dumps({"benchmark": NAME, **row}) + "\n")


def number(value, unit):
    return f"{value:.4g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"


def row_cells(row):
    """The row as text: case, comp, the other program's name and value, ratio, memory, note. all.py makes Markdown of it."""
    unit = row.get("unit", "s")
    ratio = f"{row['ratio']:.1f}x" if row.get("ratio") else ""
    if ratio and row.get("bar"):
        ratio += f" (bar {row['bar']:g}x)"
    memory = " : ".join(number(row[name], "MB") for name in ("comp_mb", "peer_mb") if row.get(name) is not None)
    note = row.get("note", "") if row["status"] == "ok" else f"{row['status']}: {row['note']}"
    return [row["case"], number(row["comp"], unit) if row.get("comp") is not None else "", row.get("peer", ""),
            number(row["theirs"], unit) if row.get("theirs") is not None else "", ratio, memory, note]


def show(row):
    keep(row)
    case, comp, name, theirs, ratio, memory, note = row_cells(row)
    print(f"{case:44s} {comp:>14s}  {name:30s} {theirs:>14s} {ratio:>18s}  {memory:20s} {note}".rstrip(), flush=True)


def report(case, mine, peer=None, theirs=None, of=min, unit="s", bar=None, comp_mb=None, peer_mb=None, note=""):
    """One row: what was measured, all values of comp, the other program and all its values, of which `of` picks one (min: the best; a median). The ratio
    says how many times faster comp is. `unit` is s, or something a second, of which more is better. `bar`: the ratio that is wanted."""
    row = {"case": case, "status": "ok", "unit": unit, "comp": of(mine), "comp_all": list(mine), "of": of.__name__, "comp_mb": comp_mb, "note": note}
    if theirs:
        row.update(peer=peer, theirs=of(theirs), peer_all=list(theirs), peer_mb=peer_mb, bar=bar)
        row["ratio"] = row["comp"] / row["theirs"] if unit.endswith("/s") else row["theirs"] / row["comp"]
    show(row)


def absent(case, why):
    """A row that could not be measured, because data, the other program or a kernel is not there."""
    show({"case": case, "status": "absent", "note": why})


def failed(case, why):
    show({"case": case, "status": "failed", "note": why})


def say(text):
    """Something worth knowing about a row, for people only."""
    print(f"    {text}", flush=True)


def main(parts):
    """Runs the parts of a benchmark that were asked for, or all. A part that fails is a row that says so, and the others still run."""
    unknown = [name for name in ARGUMENTS if name not in parts]
    if unknown:
        sys.exit(f"{NAME}: there is no part '{unknown[0]}' (there are: {' '.join(parts)})")
    settings = ", ".join(f"{name}={value}" for name, value in SETTINGS.items()) or "none"
    print(f"{NAME}: {THREADS} threads; comp and the other program take turns; settings of the other program: {settings}")
    broken = False
    for name in ARGUMENTS or parts:
        try:
            parts[name]()
        except Exception as error:
            traceback.print_exc()
            failed(name, str(error)[:200] or type(error).__name__)
            broken = True
    sys.exit(1 if broken else 0)
