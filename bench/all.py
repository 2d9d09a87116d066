"""bench/all.py [NAME...]: every benchmark, or those named, and one table of all their rows.

The table is build/bench/bench.md, and with all single measurements build/bench/bench.json; both are written again after each benchmark. A benchmark that
fails, or whose data or other program is not there, is a row that says so; the exit status is 1 when one failed.

    python3 bench/all.py --beside ONE.json OTHER.json...    prints the ratios of several machines side by side, in Markdown
"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

import bench_common as bench

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = sorted(name for name in (os.path.splitext(os.path.basename(path))[0] for path in glob.glob(os.path.join(HERE, "*.py")))
                 if name != "all" and not name.endswith("_common"))
COLUMNS = ["benchmark", "case", "comp", "other program", "its value", "ratio", "memory, comp : other", "note"]

# Versions of the other programs' libraries, in Python and R; each asks in a process of its own, with the settings of the benchmarks.
PYTHON_VERSIONS = """
import importlib.metadata, json, platform
found = {"Python": platform.python_version()}
for name in "numpy scipy pandas scikit-learn anndata scanpy numba umap-learn harmonypy".split():
    try: found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError: pass
try:
    import torch
    used = [line for line in torch.__config__.show().splitlines() if "CPU capability usage" in line]
    found["torch"] = torch.__version__ + (f" ({used[0].split()[-1]})" if used else "")
except ImportError: pass
try:
    import numpy, threadpoolctl
    for library in threadpoolctl.threadpool_info():
        if library["internal_api"] == "openblas":
            found["OpenBLAS"] = f"{library['version']} ({library['architecture']}, {library['threading_layer']})"
except ImportError: pass
print(json.dumps(found))
"""
R_VERSIONS = 'cat("R", as.character(getRversion()), "\\n"); for (p in c("Seurat", "sva")) if (nzchar(system.file(package = p))) cat(p, as.character(packageVersion(p)), "\\n")'


def versions():
    found = json.loads(bench.peer_python(PYTHON_VERSIONS))
    try:
        found.update(line.split() for line in bench.run(["Rscript", "-e", R_VERSIONS], bench.TUNED)[1].splitlines())
    except OSError:
        pass  # no R here
    return found


def commit():
    """The commit that was measured; + when files were changed since. "" outside of git."""
    try:
        return bench.run(["git", "-C", bench.ROOT, "describe", "--always", "--dirty=+", "--exclude=*"])[1].strip()
    except (OSError, RuntimeError):
        return ""


def machine():
    """What a table must say about where it was made."""
    load = os.getloadavg()[0]
    said = {"CPU": bench.cpu()[0], "cores used": str(bench.THREADS), "load before": f"{load:.1f}{' (the machine was busy)' if load > 0.5 else ''}",
            "date": time.strftime("%Y-%m-%d"), **bench.comp_version(), "commit": commit(),
            "other programs": ", ".join(f"{name} {version}" for name, version in versions().items()),
            "settings of other programs": ", ".join(f"{name}={value}" for name, value in bench.SETTINGS.items()) or "none"}
    if bench.QUICK:
        said["quick"] = "one round, less data: these numbers only show that the benchmarks run"
    return said


def measure(name):
    """The rows of one benchmark. It prints by itself."""
    print(f"\n== {name}", flush=True)
    with tempfile.NamedTemporaryFile("r", prefix="comp-bench-") as file:
        status = subprocess.run([sys.executable, os.path.join(HERE, f"{name}.py")] + ["--quick"] * bench.QUICK,
                                env={**bench.UNTUNED, "COMP_BENCH_ROWS": file.name}).returncode
        rows = [json.loads(line) for line in file]
    if not rows or (status != 0 and all(row["status"] != "failed" for row in rows)):
        rows.append({"benchmark": name, "case": name, "status": "failed", "note": f"exit status {status}, rows: {len(rows)}"})
    return rows


def line(cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def write(folder, about, rows):
    """Writes both files and returns their paths."""
    paths = os.path.join(folder, "bench.md"), os.path.join(folder, "bench.json")
    with open(paths[0], "w") as file:
        file.writelines([line(["machine", ""]), "|---|---|\n"] + [line(pair) for pair in about.items() if pair[1]] + ["\n"])
        file.writelines([line(COLUMNS), "|---" * len(COLUMNS) + "|\n"] + [line([row["benchmark"], *bench.row_cells(row)]) for row in rows])
    with open(paths[1], "w") as file:
        json.dump({"machine": about, "rows": rows}, file, indent=1)
        file.write("\n")
    return paths


def beside(paths):
    """The ratios of several tables, a column each; a row for each case that one of them has."""
    tables = []
    for path in paths:
        with open(path) as file:
            tables.append(json.load(file))
    ratios = [{(row["case"], row["peer"]): f"{row['ratio']:.1f}x" for row in table["rows"] if row.get("ratio")} for table in tables]
    heads = [f"{table['machine']['CPU']}, {table['machine']['cores used']} cores" for table in tables]
    sys.stdout.writelines([line(["case", "other program", *heads]), "|---" * (2 + len(tables)) + "|\n"])
    for key in dict.fromkeys(key for column in ratios for key in column):
        sys.stdout.write(line([*key, *(column.get(key, "") for column in ratios)]))


def main():
    names = bench.ARGUMENTS or SCRIPTS
    for name in names:
        if name not in SCRIPTS:
            sys.exit(f"all: there is no benchmark '{name}' (there are: {' '.join(SCRIPTS)})")
    about, rows = machine(), []
    for name in names:
        rows += measure(name)
        paths = write(os.path.join(bench.BUILD, "bench"), about, rows)
    print(f"\nthe table: {paths[0]}\nas JSON, with every measurement: {paths[1]}")
    broken = [row for row in rows if row["status"] == "failed"]
    for row in broken:
        print(f"failed: {row['benchmark']}, {row['case']}: {row['note']}")
    return 1 if broken else 0


if __name__ == "__main__":
    if bench.ARGUMENTS[:1] == ["--beside"]:
        beside(bench.ARGUMENTS[1:])
    else:
        sys.exit(main())
