#!/usr/bin/python3
"""suite.py: runs the suite of designs and prints one table. README.md beside it says how to use it."""
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import concurrent.futures
import fnmatch
import json
import sys
import threading
import time

import designs
import measures
import runner
import table


def arguments():
    parser = argparse.ArgumentParser(prog="./dev suite", description="trains on designs whose truth is known, beside other methods")
    parser.add_argument("--comp", default=os.path.join(designs.ROOT, "build", "comp"), help="the program to try (build/comp)")
    parser.add_argument("--train", default="", metavar="OPTIONS", help="further options of comp train, as one word: \"--gamma 3\"")
    parser.add_argument("--name", default="suite", help="the results are DIR/NAME.md and DIR/NAME.json (suite)")
    parser.add_argument("--against", metavar="JSON", help="results of an earlier suite, the reference of the verdicts")
    parser.add_argument("--half", default="all", choices=["A", "B", "C", "all"], help="A: designs for choosing; B: for looking once; C: made after B was looked at (all)")
    parser.add_argument("--designs", default="*", metavar="PATTERNS", help="only designs with these names or kinds, as in 'kang_*,unshared'")
    parser.add_argument("--seeds", default="0,1,2", help="seeds, with commas (0,1,2); '': other methods only")
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time, of one thread each (2)")
    parser.add_argument("--baselines", default=",".join(runner.BASELINES), help="other methods, with commas; pca is always one")
    parser.add_argument("--large", action="store_true", help="also the designs of 50,000 cells")
    parser.add_argument("--dir", default=os.path.join(designs.ROOT, "build", "suite"), help="designs, cache and results (build/suite)")
    parser.add_argument("--list", action="store_true", help="only list the designs")
    parser.add_argument("--strict", action="store_true", help="exit code 1 when a check of the verdict fails")
    return parser.parse_args()


def chosen(options):
    patterns = options.designs.split(",")
    hit = lambda d: any(fnmatch.fnmatchcase(d.name, p) or p in d.kinds for p in patterns)
    found = [d for d in designs.DESIGNS if options.half in ("all", d.half) and hit(d) and (options.large or not d.large)]
    if not found:
        sys.exit(f"suite: no design of half {options.half} is called '{options.designs}'; --list lists them")
    return found


def listing():
    for d in designs.DESIGNS:
        print(f"{d.half}  {d.name:20} {' '.join(d.kinds):20} {d.what}{' (--large)' if d.large else ''}")


class Results:
    """What is known so far; the table is written again after each run, so that it can be read while others go on."""

    def __init__(self, suite, options, picked, seeds, methods, planned):
        self.lock, self.options, self.suite = threading.Lock(), options, suite
        self.against = None
        if options.against:
            with open(options.against) as file:
                self.against = json.load(file)
        self.all = {"name": options.name, "comp": suite.comp, "program": suite.program, "train": options.train, "seeds": seeds,
                    "done": 0, "planned": planned, "designs": {}}
        for d in picked:
            _, known = suite.design(d)
            unshared = [t for t, counts in zip(known["types"], known["counts"]) if min(counts) < measures.MISSING]
            if bool(unshared) != ("unshared" in d.kinds):
                sys.exit(f"suite: {d.name}: unshared types are {unshared or 'none'}, and its kinds say otherwise")
            self.all["designs"][d.name] = {"half": d.half, "kinds": d.kinds, "what": d.what, "cells": known["cells"], "digest": known["digest"],
                                           "conditions": known["conditions"], "unshared": unshared,
                                           "baselines": dict.fromkeys(methods, {}), "seeds": {}}

    def add(self, design, kind, key, run):
        with self.lock:
            self.all["designs"][design.name][kind][key] = run
            self.all["done"] += 1
            self.write()

    def write(self):
        shown = dict(self.all, designs={n: dict(e, baselines={m: r for m, r in e["baselines"].items() if r}) for n, e in self.all["designs"].items()})
        for name, text in ((".json", json.dumps(shown, indent=1)), (".md", table.page(shown, self.against))):
            path = os.path.join(self.options.dir, self.options.name + name)
            with open(f"{path}.part", "w") as file:
                file.write(text)
            os.replace(f"{path}.part", path)
        return shown


def main():
    options = arguments()
    if options.list:
        return listing()
    if not os.path.exists(options.comp):
        sys.exit(f"suite: {options.comp} is not there: build it (./dev build --release), or name another one with --comp")
    if not os.path.isdir(designs.DATA):
        sys.exit(f"suite: {designs.DATA} is not there: set COMP_DATA to the folder of shared data")
    os.makedirs(options.dir, exist_ok=True)
    if os.nice(0) == 0:
        os.nice(5)
    picked, seeds = chosen(options), [int(seed) for seed in options.seeds.split(",") if seed]
    methods = ["pca", *(m for m in options.baselines.split(",") if m and m != "pca")]
    suite = runner.Suite(options.comp, options.dir, options.train)
    jobs = [(d, "seeds", str(seed)) for d in picked for seed in seeds[:1]] + [(d, "baselines", m) for d in picked for m in methods]
    jobs = sorted(jobs, key=lambda job: picked.index(job[0])) + [(d, "seeds", str(seed)) for seed in seeds[1:] for d in picked]
    results = Results(suite, options, picked, seeds, methods, len(jobs))

    def work(job):
        design, kind, key = job
        started = time.time()
        try:
            run = suite.trained(design, int(key)) if kind == "seeds" else suite.baseline(design, key)
        except (runner.Failed, ValueError, OSError, KeyError) as error:
            run = {"error": f"{type(error).__name__}: {error}".replace("\n", " ").replace("|", "/")}
        results.add(design, kind, key, run)
        state = f"failed: {run['error']}" if "error" in run else f"transfer {table.number(run['measures']['transfer'])}, " \
            f"m-kBET {table.number(run['measures']['m_kbet'])}, purity unshared {table.number(run['measures']['purity_unshared'])}"
        print(f"{design.name} {key if kind == 'baselines' else 'seed ' + key}: {state} ({time.time() - started:.0f} s)", file=sys.stderr, flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for _ in pool.map(work, jobs):
            pass
    shown = results.write()
    print(table.page(shown, results.against))
    failed = any("error" in run for e in shown["designs"].values() for run in e["seeds"].values())
    broken = options.strict and not all(ok for _, _, ok, _ in table.verdicts(shown, results.against))
    sys.exit(1 if failed or broken else 0)


if __name__ == "__main__":
    main()
