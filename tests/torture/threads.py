#!/usr/bin/env python3
"""threads.py [--comp FILE] [--precision f32|bf16] [--only NAME] [--keep DIR]: every command that writes, on real data (Kang), at 1, 2 and 7 threads.

What it writes must be the same bytes. In JSON documents the values that tell of the run itself (times, memory, threads) are left out; a report is
compared by the data in it. The table is one pipeline: a row reads what rows above it wrote at 1 thread. Without the data nothing is tested: exit code 77."""
import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("COMP_DATA") or HERE.parent.parent.parent / "shared" / "data")
THREADS = (1, 2, 7)
OF_THE_RUN = re.compile(r"(^|_)(seconds|time|times|date|memory|threads|peak|rss|mb|per_second|path|output|command|started|ended|finished|modified)($|_)")

NET = "--condition stim --hidden 64 --latent 8"
TABLE = (  # name, line (OUT: what it writes), what it writes is called so in lines below
    ("prep", "prep -i kang.h5ad -o OUT --normalize-total 10000 --log1p --hvg seurat:400", "ready.h5ad"),
    ("convert", "convert -i ready.h5ad -o OUT", "copy.h5ad"),
    ("convert to csv", "convert -i ready.h5ad -o OUT", "ready.csv.gz"),
    ("convert from csv", "convert -i ready.csv.gz -o OUT", "again.h5ad"),
    ("convert from mex", "convert -i mex -o OUT", "mex.h5ad"),
    ("convert to npy", "convert -i ready.h5ad -o OUT", "ready.npy"),
    ("info", "info kang.h5ad --json OUT", "info.json"),
    ("simulate", "simulate -o OUT --cells 900 --genes 300", "made.h5ad"),
    ("de", "de -i ready.h5ad -g stim -t STIM --json OUT", "de.json"),
    ("pca", "pca -i ready.h5ad -o OUT -n 10", "pca.h5ad"),
    ("umap", "umap -i pca.h5ad -o OUT -u X_pca --epochs 10", "umap.h5ad"),
    ("train", f"train -i ready.h5ad -o OUT {NET} --epochs 3", "model.comp"),
    ("embed", "embed -i ready.h5ad -m model.comp -o OUT --scales", "embedded.h5ad"),
    ("counterfactual", "counterfactual -i ready.h5ad -m model.comp -o OUT --to STIM --samples 5", "changed.h5ad"),
    ("correct", "correct -i ready.h5ad -m model.comp -o OUT --to CTRL", "corrected.h5ad"),
    ("combat", "baseline combat -i ready.h5ad -o OUT -c stim --components 10", "combat.h5ad"),
    ("harmony", "baseline harmony -i ready.h5ad -o OUT -c stim --components 10", "harmony.h5ad"),
    ("diagnose", "diagnose -i ready.h5ad -m model.comp --label cell_type --permutations 19 --json OUT", "diagnosis.json"),
    ("map", "map -i ready.h5ad -m model.comp -r embedded.h5ad -o OUT -l cell_type --as new --steps 20", "mapped.h5ad"),
    ("audit", "audit -i embedded.h5ad -c stim -t cell_type --attackers logistic,forest --json OUT", "audit.json"),
    ("score", "score -i embedded.h5ad -u X_comp -c stim -l cell_type --json OUT", "scores.json"),
    ("figure", "figure umap -i umap.h5ad --use X_umap -c stim -o OUT", "umap.svg"),
    ("report", "report -i embedded.h5ad -m model.comp -c stim -l cell_type -o OUT", "report.html"),
    ("run", "run -i kang.h5ad -o OUT -c stim -l cell_type --hidden 64 --latent 8 --epochs 2 --hvg seurat:400", "results"),
)


def without_run(tree):
    """A JSON document without what differs between two runs of one command."""
    if isinstance(tree, dict):
        return {k: without_run(v) for k, v in tree.items() if not OF_THE_RUN.search(k)}
    return [without_run(v) for v in tree] if isinstance(tree, list) else tree


def content(path):
    """What is compared of a file."""
    data = path.read_bytes()
    if path.suffix in (".json", ".jsonl"):
        lines = [data] if path.suffix == ".json" else data.splitlines()
        data = json.dumps([without_run(json.loads(line)) for line in lines]).encode()
    if path.suffix == ".html":
        data = re.sub(rb'"(seconds|peak_mb|threads|memory_mb|time|date|command|started)": ?("[^"]*"|[^,}]*)', b"", data)
    return hashlib.sha256(data).hexdigest()


def contents(path):
    if path.is_dir():
        return {str(p.relative_to(path)): content(p) for p in sorted(path.rglob("*")) if p.is_file()}
    return {path.name: content(path)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comp", type=Path, default=HERE.parent.parent / "build" / "comp")
    parser.add_argument("--precision", default="f32", help="of train and run: f32 or bf16")
    parser.add_argument("--only", default=None, help="compare one row; those above it run at 1 thread")
    parser.add_argument("--keep", type=Path, default=None, help="a folder for what differs")
    o = parser.parse_args()
    if not (DATA / "kang" / "kang_ifnb.h5ad").exists():
        print(f"threads: skipped, no {DATA}/kang (COMP_DATA names another folder)")
        return 77
    work = Path(tempfile.mkdtemp(prefix="comp-threads-"))
    env = dict(os.environ, COMP_MODULES=str(o.comp.resolve().parent / "src/modules"), LC_ALL="C", SOURCE_DATE_EPOCH="1700000000")
    (work / "kang.h5ad").symlink_to((DATA / "kang" / "kang_ifnb.h5ad").resolve())
    (work / "mex").symlink_to((DATA / "kang" / "kang_ifnb_mex").resolve())
    different, begin = 0, time.monotonic()
    for name, line, out in TABLE:
        first = None
        for threads in THREADS if o.only in (None, name) else THREADS[:1]:
            place = work / f"{threads}" / out
            place.parent.mkdir(exist_ok=True)
            words = line.replace("OUT", str(place.relative_to(work))).split() + ["-q", "--threads", str(threads)]
            if words[0] in ("train", "run"):
                words += ["--precision", o.precision]
            p = subprocess.run([str(o.comp.resolve()), *words], cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if p.returncode:
                sys.exit(f"threads: comp {' '.join(words)}: {p.stderr.decode(errors='replace')}")
            made = contents(place)
            first = first or made
            wrong = sorted(f for f in set(first) | set(made) if first.get(f) != made.get(f))
            if wrong:
                different += 1
                print(f"{name}: at {threads} threads another {', '.join(wrong)} than at 1", flush=True)
                if o.keep:
                    shutil.copytree(work / f"{threads}", o.keep / f"{threads}", dirs_exist_ok=True)
                    shutil.copytree(work / "1", o.keep / "1", dirs_exist_ok=True)
        if not (work / out).exists():
            (work / out).symlink_to(work / "1" / out)
        print(f"# {name}: {len(first)} files, {time.monotonic() - begin:.0f} s", flush=True)
    shutil.rmtree(work, ignore_errors=True)
    print(f"threads: {len(TABLE) if not o.only else 1} commands at {', '.join(map(str, THREADS))} threads, {o.precision}: {different} differ")
    return 1 if different else 0


sys.exit(main())
