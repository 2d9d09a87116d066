#!/usr/bin/env python3
"""torture.py oom|io|kill|fuzz [--seconds N] [--build DIR] [--only NAME] [--seed N] [--restart] [--short]: the campaign.

oom   every allocation of every command fails in turn: first those of the program itself, then all of the process
io    every open, read, write, sync, rename, stat, truncate, mmap and close of every command that writes fails in turn, once or from
      then on
kill  SIGKILL at every such call and at random times, then the same command again
fuzz  damaged files of every format through comp info and comp convert, models through embed, checkpoints through train

The rule is one: exit code 0 and the right files; or another one, one message, and every file as it was or complete. Cases are taken in an
order that is the same every time and even over all commands. DIR/torture/NAME.json keeps how far it came: the next run goes on from there.
Comparing .h5ad files object by object and damaging the layouts of anndata needs anndata; the rest needs only Python."""
import argparse
import collections
import hashlib
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import mutate  # noqa: E402

CALLS = ("open", "read", "write", "sync", "rename", "stat", "truncate", "map", "close")
ERRORS = {"open": ("EACCES", "EIO"), "write": ("ENOSPC",), "rename": ("EACCES",), "truncate": ("ENOSPC",), "map": ("ENOMEM",)}
STICKY = ("read", "write", "open", "map")  # also: fails from then on
LIMITS = {"memory": 500, "seconds": 10}

# Libraries of others that end the process when an allocation of their own fails (docs/reliability.md). Such an end is counted under their
# names when every file is sound; from any other call it is a failure.
NOT_SURVIVED = {"libhdf5_serial", "libhdf5", "libdnnl", "libfontconfig"}
LOADING = {"ld-linux-x86-64", "libxgboost", "libdmlc", "libpixman-1"}  # while a module is loaded
BATCH = 100  # fuzz: files that are made, and read, at a time
PER_STACK = 5  # oom, second mode: how often each stack of calls is failed

TRAIN = "train -i ready.h5ad -o model.comp --condition condition --hidden 8 --latent 2"


class Command:
    """A row of the table. again: this line continues or repeats a run that failed. keeps: what a failed run may leave."""

    def __init__(self, name, line, needs="", again=None, keeps="$^"):
        self.name, self.words, self.needs = name, line.split() + ["-q", "--threads", "1"], needs.split()
        self.again, self.keeps = again and again.split() + ["-q", "--threads", "1"], re.compile(keeps)
        self.writes = bool(re.search(r" -o | --json (?!-)", line))


COMMANDS = [
    Command("version", "version"),
    Command("help", "help --man train"),
    Command("bench", "bench -s 0.01"),
    Command("info", "info data.h5ad --json out.json", "data.h5ad"),
    Command("info model", "info old.comp", "old.comp"),
    Command("convert", "convert -i data.h5ad -o out.h5ad", "data.h5ad"),
    Command("convert in place", "convert -i data.h5ad -o data.h5ad", "data.h5ad"),
    Command("convert to csv", "convert -i cells.h5ad -o out.csv.gz", "cells.h5ad"),
    Command("convert from csv", "convert -i cells.csv -o out.h5ad", "cells.csv"),
    Command("convert from 10x", "convert -i tenx3.h5 -o out.h5ad", "tenx3.h5"),
    Command("convert from mex", "convert -i mex -o out.npy", "mex"),
    Command("prep", "prep -i cells.h5ad -o out.h5ad --min-cell-genes 1 --normalize-total 100 --log1p --hvg seurat:10", "cells.h5ad"),
    Command("prep in place", "prep -i data.h5ad -o data.h5ad --drop-empty-genes", "data.h5ad"),
    Command("de", "de -i ready.h5ad -g condition -t treated --json out.json", "ready.h5ad"),
    Command("pca in place", "pca -i data.h5ad -o data.h5ad -n 3 --json out.json", "data.h5ad"),
    Command("umap", "umap -i ready.h5ad -o out.h5ad -u X --epochs 5 -k 5", "ready.h5ad"),
    Command("simulate", "simulate -o out.h5ad --cells 40 --genes 20"),
    Command("train", TRAIN + " --epochs 3 --checkpoint-epochs 1 --log log.jsonl", "ready.h5ad",
            TRAIN + " --epochs 3 --checkpoint-epochs 1 --log log.jsonl --resume", r"model\.comp\.checkpoint|log\.jsonl"),
    Command("embed in place", "embed -i data.h5ad -m old.comp -o data.h5ad --scales", "data.h5ad old.comp"),
    Command("counterfactual", "counterfactual -i data.h5ad -m old.comp -o out.h5ad --to treated --samples 3", "data.h5ad old.comp"),
    Command("correct", "correct -i data.h5ad -m old.comp -o out.h5ad --to control", "data.h5ad old.comp"),
    Command("combat", "baseline combat -i ready.h5ad -o out.h5ad -c condition --components 5", "ready.h5ad"),
    Command("harmony in place", "baseline harmony -i data.h5ad -o data.h5ad -c condition --components 5", "data.h5ad"),
    Command("diagnose", "diagnose -i ready.h5ad -m old.comp --label label --permutations 19 --json out.json", "ready.h5ad old.comp"),
    Command("map", "map -i ready.h5ad -m old.comp -r done.h5ad -o out.h5ad -l label --as new --steps 2 --json out.json --save-model new.comp",
            "ready.h5ad done.h5ad old.comp"),
    Command("audit", "audit -i done.h5ad -c condition --attackers logistic --json out.json", "done.h5ad"),
    Command("score", "score -i done.h5ad -u X_comp -c condition -l label -k 2 --json out.json", "done.h5ad"),
    Command("figure", "figure umap -i done.h5ad --use X_comp -c condition -o out.svg", "done.h5ad"),
    Command("figure of training", "figure history -m old.comp -o out.pdf", "old.comp"),
    Command("report", "report -i done.h5ad -m old.comp -c condition -l label -o out.html", "done.h5ad old.comp"),
    Command("run", "run -i cells.h5ad -o results -c condition -l label --hidden 8 --latent 2 --epochs 2", "cells.h5ad",
            "run -i cells.h5ad -o results -c condition -l label --hidden 8 --latent 2 --epochs 2", "results/.*"),
    Command("experiment", "experiment tumour -d tumours -o out --models comp --seeds 0 --epochs 1", "tumours",
            "experiment tumour -d tumours -o out --models comp --seeds 0 --epochs 1", "out/.*"),
]
IN_KILL = ("train", "run", "embed in place", "convert", "convert in place")

# What a damaged file goes through: the kind of file, its name in the folder, the commands.
FUZZ = {
    ".h5ad": ("x.h5ad", ("info x.h5ad", "convert -i x.h5ad -o y.h5ad")),
    ".h5": ("x.h5", ("info x.h5", "convert -i x.h5 -o y.h5ad")),
    ".csv": ("x.csv", ("info x.csv", "convert -i x.csv -o y.h5ad")),
    ".tsv": ("x.tsv", ("info x.tsv", "convert -i x.tsv -o y.h5ad")),
    ".gz": ("x.csv.gz", ("info x.csv.gz", "convert -i x.csv.gz -o y.h5ad")),
    ".npy": ("x.npy", ("info x.npy",)),  # only written: refused
    ".mex": ("mex", ("info mex", "convert -i mex -o y.h5ad")),
    ".zarr": ("x.zarr", ("info x.zarr", "convert -i x.zarr -o y.h5ad")),
    ".zip": ("x.zarr.zip", ("info x.zarr.zip", "convert -i x.zarr.zip -o y.h5ad")),
    ".json": ("x.json", ("figure metrics --scores x.json -o y.svg", "report -i done.h5ad --scores x.json -c condition -l label -o y.html")),
    ".comp": ("x.comp", ("info x.comp", "embed -i ready.h5ad -m x.comp -o y.h5ad")),
    ".checkpoint": ("model.comp.checkpoint", (TRAIN + " --epochs 200 --resume",)),
}


# ---- Files ----


def snapshot(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def digest_of(files):
    """The same for the same files, apart from when they were written (run.json)."""
    whole = hashlib.sha256()
    for name in sorted(files):
        data = re.sub(rb'"modified": \d+', b"", files[name]) if name.endswith(".json") else files[name]
        whole.update(repr((name, len(data))).encode() + data)
    return whole.digest()


def restore(folder, wanted, now):
    """Makes the folder what it was."""
    if now == wanted:
        return
    for name in now:
        if wanted.get(name) != now[name]:
            (folder / name).unlink()
    for name, data in wanted.items():
        if now.get(name) != data:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
    for p in sorted((p for p in folder.rglob("*") if p.is_dir()), reverse=True):
        if not any(p.iterdir()):
            p.rmdir()


def same_values(a, b):
    """Whether two things that anndata read are the same."""
    import numpy as np
    import pandas as pd
    import scipy.sparse as sp

    if isinstance(a, pd.DataFrame):
        return isinstance(b, pd.DataFrame) and a.equals(b) and all(a.dtypes == b.dtypes)
    if sp.issparse(a) or sp.issparse(b):
        parts = ("data", "indices", "indptr")  # not a != b: scipy believes indices, and crashes
        return type(a) is type(b) and a.shape == b.shape and a.dtype == b.dtype and all(np.array_equal(getattr(a, k), getattr(b, k)) for k in parts)
    if hasattr(a, "items"):
        return hasattr(b, "items") and set(a) == set(b) and all(same_values(a[k], b[k]) for k in a)
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes() if a.dtype.kind in "fiub" else np.array_equal(a, b)


def same_h5ad(a, b):
    """The same objects: X, obs, var, uns, raw, layers, obsm, varm, obsp, varp. None: anndata is missing."""
    try:
        import anndata
    except ImportError:
        return None
    parts = ("X", "obs", "var", "uns", "layers", "obsm", "varm", "obsp", "varp")
    with tempfile.TemporaryDirectory() as folder:
        read = []
        for name, data in (("a.h5ad", a), ("b.h5ad", b)):
            path = Path(folder) / name
            path.write_bytes(data)
            try:
                read.append(anndata.read_h5ad(path))
            except Exception as error:  # whatever h5py and anndata say of a broken file
                return f"anndata cannot read it: {error}"
    x, y = read
    for part in parts:
        if not same_values(getattr(x, part), getattr(y, part)):
            return f"{part} differs"
    if (x.raw is None) != (y.raw is None) or (x.raw is not None and not (same_values(x.raw.X, y.raw.X) and same_values(x.raw.var, y.raw.var))):
        return "raw differs"
    return ""


def same_json(a, b, depth=0):
    """The same keys, as far as they go: for documents that hold times."""
    if isinstance(a, dict) and isinstance(b, dict):
        return set(a) == set(b) and all(same_json(a[k], b[k], depth + 1) for k in a)
    return type(a) is type(b)


def without_date(pdf):
    """A PDF without the second in which it was made."""
    return re.sub(rb"/CreationDate \([^)]*\)", b"", pdf)


class Expected:
    """What a command makes when nothing fails. Files that two such runs do not make alike hold times: of those the structure counts."""

    def __init__(self, before, first, second):
        self.before, self.after = before, first
        self.loose = {name for name in first if first[name] != second.get(name)}

    def differs(self, name, data):
        """Why a file is not the complete new one; "": it is."""
        good = self.after.get(name)
        if good is None:
            return "should not be there"
        if data == good:
            return ""
        if name.endswith(".pdf") and without_date(data) == without_date(good):
            return ""
        if name.endswith(".h5ad"):
            return same_h5ad(good, data) or ("" if same_h5ad(good, data) == "" else "other bytes")
        if name in self.loose and name.endswith(".json"):
            try:
                return "" if same_json(json.loads(good), json.loads(data)) else "other keys"
            except ValueError:
                return "no JSON"
        if name in self.loose and abs(len(data) - len(good)) < len(good) / 10 + 100:
            return ""
        return "other bytes"


def judge(expected, command, code, text, now):
    """What is wrong with how a run ended; None: nothing."""
    if code < 0:
        return "took too long" if code in (-14, -24) else f"signal {-code}"
    if any(".tmp-" in name for name in now):
        return "left " + ", ".join(name for name in now if ".tmp-" in name)
    if code == 0:
        missing = [name for name in expected.after if name not in now]
        wrong = [f"{name}: {why}" for name in now if (why := expected.differs(name, now[name]))]
        return f"exit code 0, but no {missing[0]}" if missing else f"exit code 0, but {wrong[0]}" if wrong else None
    if code != 1 and not (code == 2 and "memory" in text):
        return f"exit code {code}"
    if not text.startswith("comp"):
        return "no message"
    if text.count("\n") > 1:
        return "more than one message: " + text.replace("\n", " | ")
    return judge_files(expected, command, now)


def has_other_font(expected, code, now):
    """Whether a run differs only in figures, which are complete: fontconfig could not read a file and took another font."""
    ends = {".svg": b"</svg>", ".pdf": b"%%EOF"}
    differ = [name for name in set(now) | set(expected.after) if name not in now or expected.differs(name, now[name])]
    return code == 0 and all(now.get(name, b"").rstrip().endswith(ends.get(Path(name).suffix, b"\0")) for name in differ)


def judge_files(expected, command, now):
    """What is wrong with the files after a run that failed; None: each is the old one or complete. Temporary files do not count."""
    for name in set(now) | set(expected.before):
        if now.get(name) == expected.before.get(name) or command.keeps.fullmatch(name) or ".tmp-" in name:
            continue
        if name not in now:
            return f"{name} is lost"
        why = expected.differs(name, now[name])
        if why:
            return f"{name}: neither the old one nor complete: {why}"
    return None


# ---- Running ----

Result = collections.namedtuple("Result", "code memory seconds text where")  # MB, CPU time, what it said on stderr, the stack of the failed call
NOT_AN_OWNER = re.compile(r"inject\.so|libc\.so|libstdc\+\+|libgcc_s|libm\.so|\?")


def owner(where):
    """The object that made the call that failed: "comp", a module or a library; "" if none did."""
    objects = [line.split()[0] for line in where]
    return next((re.sub(r"\.so.*", "", o) for o in objects if not NOT_AN_OWNER.match(o)), "")


class Server:
    """One command, loaded once and run many times (inject.c), each time in a new process, or `repeat` times in one."""

    started = 0

    def __init__(self, run, words, folder, extra=None, space=None, repeat=0):
        Server.started += 1
        self.prefix = run.work / f"said{Server.started}"  # its own: a new child empties these files
        env = dict(os.environ, **run.env, LD_PRELOAD=str(run.inject), COMP_INJECT_SERVER=str(self.prefix),
                   COMP_INJECT_COUNT=str(run.work / "count"), **(extra or {}), **({"COMP_INJECT_REPEAT": str(repeat)} if repeat else {}))
        limit = (lambda: resource.setrlimit(resource.RLIMIT_AS, (space, space))) if space else None
        self.pipe = subprocess.Popen([str(run.comp), *words], cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=limit)

    def ask(self, line):
        self.pipe.stdin.write(f"{line}\n".encode())
        self.pipe.stdin.flush()
        return self.pipe.stdout.readline().decode()

    def result(self, answer):
        code, kb, ms = (int(x) for x in answer.split()[:3])
        text, where = Path(f"{self.prefix}.err").read_text(errors="replace"), Path(f"{self.prefix}.where")
        return Result(code, kb / 1024, ms / 1000, text, where.read_text().splitlines() if where.exists() else [])

    def run(self, rules=""):
        Path(f"{self.prefix}.where").unlink(missing_ok=True)
        return self.result(self.ask(rules))

    def run_each(self, first, end):
        """One run in each of the folders FIRST to END - 1, all asked for at once: (code, MB, seconds, whether there was a message)."""
        out = []
        while len(out) < end - first:
            answer = self.ask(f"each {first + len(out)} {end}")
            while answer:
                code, kb, ms, *told = (int(x) for x in answer.split())
                out.append((code, kb / 1024, ms / 1000, told == [1]))
                answer = self.pipe.stdout.readline().decode() if told and len(out) < end - first else ""
        return out

    def close(self):
        self.pipe.stdin.close()
        self.pipe.wait()
        for left in self.prefix.parent.glob(f"{self.prefix.name}.*"):
            left.unlink()


class Walker(Server):
    """One run of a command for many rules, whose numbers grow (COMP_INJECT_WALK): at the call that is to fail, the rest of the run goes on in
    a copy of process and folder. The copy is at the place of the folder until the next rule."""

    def __init__(self, run, words, folder, extra=None):
        super().__init__(run, words, folder, {**(extra or {}), "COMP_INJECT_WALK": str(folder)})
        self.folder, self.aside, self.copy = folder, Path(f"{folder}.walk"), Path(f"{folder}.copy")
        self.before, self.alone = snapshot(folder), None
        self.start = lambda: Server(run, words, folder, extra)
        self.copy.mkdir()

    def mirror(self):
        """Makes the copy what the folder is, with folders that are empty."""
        restore(self.copy, snapshot(self.folder), snapshot(self.copy))
        here, there = ({str(p.relative_to(top)) for p in top.rglob("*") if p.is_dir()} for top in (self.folder, self.copy))
        for name in sorted(there - here, reverse=True):
            (self.copy / name).rmdir()
        for name in sorted(here - there):
            (self.copy / name).mkdir()
        for p in self.folder.rglob("*"):  # comp run notes when its results were written
            times = p.stat()
            os.utime(self.copy / p.relative_to(self.folder), ns=(times.st_atime_ns, times.st_mtime_ns))

    def swap(self):
        self.folder.rename(self.aside)
        self.copy.rename(self.folder)

    def home(self):
        if self.aside.exists():
            self.folder.rename(self.copy)
            self.aside.rename(self.folder)

    def run(self, rules=""):
        self.home()
        Path(f"{self.prefix}.where").unlink(missing_ok=True)
        answer = self.ask(rules)
        if answer == "no\n":  # a run of its own
            restore(self.copy, self.before, snapshot(self.copy))
            self.swap()
            self.alone = self.alone or self.start()
            return self.alone.run(rules)
        if answer == "at\n":
            self.mirror()
            self.swap()
            answer = self.ask("go")
        return self.result(answer)

    def close(self):
        self.home()
        super().close()
        if self.alone:
            self.alone.close()
        shutil.rmtree(self.copy)
        restore(self.folder, self.before, snapshot(self.folder))


def spread(numbers, most):
    """The first, the second, the last, and some evenly in between."""
    if len(numbers) <= most:
        return numbers
    inner = most - 3
    return {numbers[0], numbers[1], numbers[-1], *(numbers[1 + (i + 1) * (len(numbers) - 2) // (inner + 1)] for i in range(inner))}


class Campaign:
    def __init__(self, o):
        self.o, self.build = o, o.build.resolve()
        self.work = Path(tempfile.mkdtemp(prefix="comp-torture-"))
        self.comp, self.inject = self.work / "comp", self.work / "inject.so"  # copies: the build may go on
        shutil.copy(self.build / "comp", self.comp)
        shutil.copy(o.inject or self.build / "tests/torture/inject.so", self.inject)
        self.env = {"COMP_MODULES": str(self.build / "src/modules"), "LC_ALL": "C", "SOURCE_DATE_EPOCH": "1700000000",
                    "ASAN_OPTIONS": "verify_asan_link_order=0:allocator_may_return_null=1:detect_leaks=0:exitcode=86", "UBSAN_OPTIONS": "halt_on_error=1:exitcode=86"}
        self.sanitized = b"__asan_init" in (self.build / "comp").read_bytes()  # takes address space without end
        if not self.sanitized:
            self.env["COMP_INJECT_FILL"] = "1"
        self.note, self.begin = {"seed": o.seed, "only": o.only}, time.monotonic()
        self.end = None  # --seconds after the first case
        self.cases, self.failures, self.expected, self.stacks = 0, [], {}, 0
        self.went_on = set()  # (command, digest of what a failed run left): the same files need not be tried again
        self.state_path = None if o.short else self.build / "torture" / f"{o.mode}.json"
        self.state = {"cases": 0, "failures": 0, "done": {}}
        if self.state_path and self.state_path.exists() and not o.restart:
            self.state = json.loads(self.state_path.read_text())

    def late(self):
        self.end = self.end or time.monotonic() + self.o.seconds
        return time.monotonic() > self.end

    def plain(self, words, folder):
        p = subprocess.run([str(self.comp), *words], cwd=folder, env=dict(os.environ, **self.env), stdin=subprocess.DEVNULL, capture_output=True)
        return p.returncode, p.stderr.decode(errors="replace")

    def make(self, line, folder):
        code, text = self.plain(line.split() + ["-q", "--threads", "1"], folder)
        if code != 0:
            sys.exit(f"torture: comp {line}: {text}")

    def prepare(self):
        """The inputs of all commands and the files to damage: made once for a build."""
        self.inputs, self.corpus = self.work / "made" / "inputs", self.work / "made" / "corpus"
        stamp = hashlib.sha256(repr((self.comp.stat().st_size, (self.build / "comp").stat().st_mtime_ns)).encode())
        for script in HERE.glob("*.py"):
            stamp.update(script.read_bytes())
        kept = self.build / "torture" / f"made-{stamp.hexdigest()[:16]}"
        if not kept.exists():
            self.make_inputs()
            for old in kept.parent.glob("made-*"):
                shutil.rmtree(old, ignore_errors=True)
            shutil.copytree(self.work / "made", f"{kept}.{os.getpid()}")
            try:
                os.rename(f"{kept}.{os.getpid()}", kept)
            except OSError:  # another one was faster
                shutil.rmtree(f"{kept}.{os.getpid()}")
        else:
            shutil.copytree(kept, self.work / "made")
        self.rich = (self.corpus / "csr.h5ad").exists()
        if not self.rich:
            print("# no anndata: .h5ad files are compared byte by byte, and only files that comp made are damaged")

    def make_inputs(self):
        f = self.inputs
        f.mkdir(parents=True)
        self.corpus.mkdir()
        self.make("simulate -o cells.h5ad --cells 40 --genes 20 --no-truth", f)
        self.make("prep -i cells.h5ad -o ready.h5ad --normalize-total 100 --log1p", f)
        self.make(TRAIN.replace("model.comp", "old.comp") + " --epochs 2", f)
        self.make(TRAIN + " --epochs 200 --max-time 0.001", f)
        (f / "model.comp.checkpoint").rename(f / "old.checkpoint")
        self.make("embed -i ready.h5ad -m old.comp -o done.h5ad", f)
        self.make("convert -i cells.h5ad -o cells.csv", f)
        self.make("convert -i cells.h5ad -o cells.npy", f)
        self.make("convert -i cells.h5ad -o cells.zarr", f)
        self.make("convert -i cells.h5ad -o cells3.zarr --shards", f)
        self.make("score -i done.h5ad -u X_comp -c condition -l label -k 2 --json scores.json", f)
        for folder, files in (("mex", mutate.mex()), ("tumours/celligner", mutate.celligner())):
            (f / folder).mkdir(parents=True)
            for name, text in files.items():
                (f / folder / name).write_text(text)
        shutil.copy(f / "ready.h5ad", f / "data.h5ad")
        subprocess.run([sys.executable, str(HERE / "corpus.py"), str(self.corpus), str(f / "data.h5ad")], capture_output=True)
        if (self.corpus / "tenx3.h5").exists():
            shutil.copy(self.corpus / "tenx3.h5", f)

    def setup(self, command):
        """A folder with what the command needs, and what it makes of it; None: it cannot be run here."""
        if any(not (self.inputs / need).exists() for need in command.needs):
            return None, None
        folder = self.work / command.name.replace(" ", "-")
        if folder.exists():
            return folder, self.expected[command.name]
        folder.mkdir()
        for need in command.needs:
            (shutil.copytree if (self.inputs / need).is_dir() else shutil.copy)(self.inputs / need, folder / need)
        before, made, counts = snapshot(folder), [], []
        for extra in (None, {"COMP_INJECT_ALL": "1"})[: 2 if self.o.mode == "oom" and not self.o.own and not self.o.short else 1]:
            server = Server(self, command.words, folder, extra)
            for _ in range(2 if not extra else 1):
                code, _, seconds, text, _ = server.run()
                if code != 0:
                    sys.exit(f"torture: {' '.join(command.words)}: exit code {code}, {text}")
                made.append(snapshot(folder))
                restore(folder, before, made[-1])
            server.close()
            words = (self.work / "count").read_text().split()
            counts.append(dict(zip(words[::2], (int(x) for x in words[1::2]))))
        self.expected[command.name] = Expected(before, made[0], made[1])
        self.expected[command.name].totals, self.expected[command.name].seconds = counts, seconds
        return folder, self.expected[command.name]

    def check(self, command, folder, expected, result, how):
        """Judges one run, tries a failed one again where that goes on from what is there, and cleans up."""
        code, text = result.code, result.text
        now = snapshot(folder)
        wrong = judge(expected, command, code, text, now)
        if wrong and result.where:
            library = owner(result.where)
            other_font = library == "libfontconfig" and has_other_font(expected, code, now)
            if other_font or (library in NOT_SURVIVED | LOADING and not judge_files(expected, command, now)):
                wrong = "a figure in another font" if other_font else wrong
                restore(folder, expected.before, now)
                return self.count_known(command.name, how, wrong, library, result.where)
            wrong += f" (the call was one of {library})" + self.stack(result.where)
        left = digest_of(now) if not wrong and code != 0 and command.again else None
        if left and (command.name, left) not in self.went_on:
            code, text = self.plain(command.again, folder)
            now = snapshot(folder)
            wrong = judge(expected, command, code, text, now) if code == 0 else f"again: exit code {code}, {text}"
            if wrong and code == 0:
                wrong = "again: " + wrong
            if not wrong:
                self.went_on.add((command.name, left))
        restore(folder, expected.before, now)
        self.count(command.name, how, wrong)

    def stack(self, where):
        return "".join(f"\n#     {line}" for line in where) if self.o.stacks else ""

    def count_known(self, name, how, wrong, library, where):
        """A library of others did not survive that its own allocation failed, and the files are sound."""
        self.cases += 1
        ending = re.sub(r":.*", "", re.sub(r"^left .*", "a temporary file is left", wrong))
        known = self.state.setdefault("known", {})
        known[f"{library}: {ending}"] = known.get(f"{library}: {ending}", 0) + 1
        if self.o.stacks:
            print(f"# known: {name}: {how}: {wrong} ({library}){self.stack(where)}", flush=True)

    def count(self, name, how, wrong, keep=None):
        self.cases += 1
        if not wrong:
            return
        self.failures.append((name, how, wrong))
        print(f"# {name}: {how}: {wrong}", flush=True)
        if keep and self.state_path:
            to = self.state_path.parent / "failed"
            to.mkdir(parents=True, exist_ok=True)
            shutil.copy(keep, to / f"{how.replace(' ', '-')}-{Path(keep).name}")

    def by_stack(self, command, extra, most):
        """Numbers of allocations: of those with the same stack the first, the second, the last, and some evenly in between; `most` in all."""
        folder, expected = self.setup(command)
        path = self.work / "stacks"
        server = Server(self, command.words, folder, {**(extra or {}), "COMP_INJECT_STACKS": str(path)})
        server.run()
        server.close()
        restore(folder, expected.before, snapshot(folder))
        groups = collections.defaultdict(list)
        for n, (stack,) in enumerate(struct.iter_unpack("=Q", path.read_bytes()), 1):
            groups[stack].append(n)
        self.stacks += len(groups)
        return sorted(n for all_of in groups.values() for n in spread(all_of, most))

    def take(self, key, total, most):
        """The next numbers of 1..total for this key, evenly spread."""
        at = self.state["done"].get(key, 0)
        step = max(1, int(total * 0.6180339887))
        while math.gcd(step, total) != 1:
            step += 1
        chosen = [i * step % total + 1 for i in range(at, min(at + most, total))]
        self.state["done"][key] = at + len(chosen)
        return chosen

    def inject_all(self, jobs, most):
        """jobs: (command, key, extra environment, function that gives the rules of call N, total of calls). In turns until time is up."""
        turn = max(1, most // 100)  # few of each at first, so that a short run sees all commands
        while jobs and not self.late():
            left = []
            for place, job in enumerate(jobs):
                command, key, extra, rule, total = job
                if self.late():
                    left += jobs[place:]
                    break
                folder, expected = self.setup(command)
                numbers = sorted(self.take(key, total, turn))
                server = (Server if self.o.whole else Walker)(self, command.words, folder, extra)
                for n in numbers:
                    self.check(command, folder, expected, server.run(rule(n)), f"{'all ' if extra else ''}{rule(n)}")
                server.close()
                if self.state["done"][key] < total:
                    left.append(job)
            jobs, turn = left, min(most, 10 * turn)
            self.save()
            if self.o.short:
                break
        return not jobs

    def totals(self, command, all_memory=False):
        """How often the command makes each call."""
        folder, expected = self.setup(command)
        if not folder:
            print(f"# {command.name}: left out, its input needs anndata")
            return None
        return expected.totals[all_memory]

    def save(self):
        if not self.state_path:
            return
        state = dict(self.state, cases=self.state["cases"] + self.cases, failures=self.state["failures"] + len(self.failures))
        self.state_path.parent.mkdir(parents=True, exist_ok=True)
        self.state_path.write_text(json.dumps(state))

    def log(self):
        """One line a run, with all that is needed to repeat it: DIR/torture/log.jsonl."""
        if not self.state_path:
            return
        times = os.times()
        line = {"when": time.strftime("%Y-%m-%dT%H:%M:%S"), "mode": self.o.mode, "comp": hashlib.sha256(self.comp.read_bytes()).hexdigest()[:16],
                "cases": self.cases, "failures": len(self.failures), "cpu_seconds": round(times.children_user + times.children_system + times.user + times.system, 1),
                "seconds": round(time.monotonic() - self.begin, 1), **self.note}
        with open(self.state_path.parent / "log.jsonl", "a") as file:
            file.write(json.dumps(line) + "\n")

    def commands(self):
        return [c for c in COMMANDS if not self.o.only or c.name in self.o.only.split(",")]


# ---- The four campaigns ----


def oom(run):
    jobs, calls = [], 0
    for extra in (None, {"COMP_INJECT_ALL": "1"}):
        for command in run.commands():
            if (run.o.own or run.o.short) if extra else run.o.libraries:
                break
            totals = run.totals(command, bool(extra))
            if not totals:
                continue
            calls += totals["memory"]
            most = run.o.per_stack or (PER_STACK if extra else 0)
            numbers = run.by_stack(command, extra, most) if most else range(1, totals["memory"] + 1)
            key = f"{command.name}{' all' if extra else ''}{f', {most} of a stack' if most else ''}"
            jobs.append((command, key, extra, lambda i, numbers=numbers: f"memory:{numbers[i - 1]}", len(numbers)))
    print(f"# {calls} allocations of {len(jobs)} runs{f', {run.stacks} different stacks' if run.stacks else ''}: {sum(job[4] for job in jobs)} cases")
    return run.inject_all(jobs, 1 if run.o.short else 10 if run.o.whole else 300)


def io(run):
    jobs = []
    for command in run.commands():
        totals = run.totals(command) if command.writes else None
        for call in CALLS if totals else ():
            for error in ERRORS.get(call, ("EIO",)):
                for on in ("", "-") if call in STICKY else ("",):
                    if totals[call]:
                        rule = lambda n, call=call, error=error, on=on: f"{call}:{n}{on}:{error}"
                        jobs.append((command, f"{command.name} {call}{on} {error}", None, rule, totals[call]))
    print(f"# {sum(job[4] for job in jobs)} failing calls of {len(jobs)} kinds")
    return run.inject_all(jobs[:: 3] if run.o.short else jobs, 1 if run.o.short else 20 if run.o.whole else 300)


def kill(run):
    rng = random.Random(run.o.seed + run.state["cases"])
    commands = [c for c in COMMANDS if c.name in IN_KILL and (not run.o.only or c.name in run.o.only.split(","))]
    calls = {}
    for command in commands:
        calls[command.name] = [(call, n) for call, total in run.totals(command).items() if call != "memory" for n in range(1, total + 1)]
    rounds = 0
    while not run.late() and not (run.o.short and rounds > 1):
        command = commands[rounds // 2 % len(commands)] if not run.o.short else commands[rng.randrange(len(commands))]
        folder, expected = run.setup(command)
        env = dict(os.environ, **run.env)
        if rounds % 2 == 0:
            call, n = rng.choice(calls[command.name])
            how, delay = f"{call}:{n}:KILL", 30
            env.update(LD_PRELOAD=str(run.inject), COMP_INJECT=how)
        else:
            delay = rng.random() * (expected.seconds + 0.1)  # which was without the time to load
            how = f"killed after {delay:.4f} s"
        p = subprocess.Popen([str(run.comp), *command.words], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            p.wait(delay)
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGKILL)
            p.wait()
        now, wrong = snapshot(folder), None
        for name, data in now.items():  # before the next run: what is there under its own name is whole
            if ".tmp-" in name or data == expected.before.get(name) or command.keeps.fullmatch(name) or not expected.differs(name, data):
                continue
            wrong = f"{name}: neither the old one nor complete"
        code, text = run.plain(command.again or command.words, folder)
        after = snapshot(folder)
        wrong = wrong or ("again: " + (judge(expected, command, code, text, after) or "") if code == 0 else f"again: exit code {code}, {text}")
        restore(folder, expected.before, after)
        run.count(command.name, how, None if wrong == "again: " else wrong)
        rounds += 1
    run.save()
    return False


class Reader:
    """One command line that reads damaged files. Many files go through one process, as in a program that uses the library; a file that
    fails there is read again by a process of its own."""

    def __init__(self, run, line, folder):
        self.words, self.space = line.split() + ["-q", "--threads", "1"], None if run.sanitized else 3 << 30
        self.run, self.folder, self.extra = run, folder, {"COMP_INJECT_NO_SYNC": "1"}
        self.many = Server(run, self.words, folder, self.extra, self.space, repeat=500)

    @staticmethod
    def judge(code, memory, seconds, told):
        if code not in (0, 1):
            return "took too long" if code in (-14, -24) else f"exit code {code}"
        if memory > LIMITS["memory"] or seconds > LIMITS["seconds"]:
            return f"{memory:.0f} MB, {seconds:.1f} s"
        return "no message" if code == 1 and not told else None

    def read_alone(self, number):
        server = Server(self.run, self.words, self.folder / str(number), self.extra, self.space)
        result = server.run()
        server.close()
        return self.judge(result.code, result.memory, result.seconds, result.text.startswith("comp "))

    def read(self, first, end, clean):
        """Of the files in the folders FIRST to END - 1: exit code, and what is wrong. clean(): removes what runs have made."""
        results = self.many.run_each(first, end)
        clean()
        out = []
        for number, result in enumerate(results, first):
            wrong = self.judge(*result)
            if wrong:
                wrong = self.read_alone(number) or f"after other files in one process: {wrong}"
            out.append((result[0], wrong))
        clean()
        return out


def fuzz_batch(run, cases, folder, readers, kinds):
    """One file of each case, all in folders of their own, through their commands. cases: (number, source), equal kinds one behind the other."""
    kept = []
    for place, (case, source) in enumerate(cases):
        kept.append(source.write(folder / str(place) / FUZZ[source.kind][0], random.Random(run.o.seed * 1000003 + case)))
    for kind in dict.fromkeys(source.kind for _, source in cases):
        places = [place for place, (_, source) in enumerate(cases) if source.kind == kind]
        name, lines = FUZZ[kind]

        def clean():
            for place in places:
                for left in (folder / str(place)).iterdir():
                    if left.name.startswith(("y.", "model.comp")) and left.name != name:
                        left.unlink()

        for line in lines:
            if line not in readers:
                readers[line] = Reader(run, line, folder)
            for place, (code, wrong) in zip(places, readers[line].read(places[0], places[-1] + 1, clean)):
                case, source = cases[place]
                told = f"{kind} {line.split()[0]} exit {code}"
                kinds[told] = kinds.get(told, 0) + 1
                run.count(f"{source.name}, {line.split()[0]}", f"seed {run.o.seed} case {case}", wrong, kept[place])
        for place in places:
            left = folder / str(place) / name
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)


def fuzz(run):
    sources = mutate.sources(run.corpus, run.inputs, run.rich)
    if run.o.only:
        wanted = set(run.o.only.split(","))
        sources = [s for s in sources if wanted & {s.name, s.kind, s.kind[1:]}]
        if not sources:
            sys.exit(f"torture: no file of the corpus is '{run.o.only}'")
    if run.o.even:
        sources = list(dict.fromkeys(sources))
    folder = run.work / "fuzz"
    for place in range(BATCH):
        (folder / str(place)).mkdir(parents=True)
        for name in ("ready.h5ad", "done.h5ad"):
            (folder / str(place) / name).symlink_to(run.inputs / name)
    readers, kinds = {}, run.state.setdefault("kinds", {})
    key = f"seed {run.o.seed} {run.o.only or ''}{' even' if run.o.even else ''}".strip()
    case = first = run.state["done"].get(key, 0)
    most = case + (2 * len(sources) if run.o.short else run.o.files)
    while not run.late() and case < most:
        batch = range(case, min(case + BATCH, most))
        fuzz_batch(run, sorted(((n, sources[n % len(sources)]) for n in batch), key=lambda c: c[1].kind), folder, readers, kinds)
        case = batch[-1] + 1
        run.state["done"][key] = case
        if case % 1000 < BATCH:
            run.save()
    for reader in readers.values():
        reader.many.close()
    print("# so far: " + ", ".join(f"{kind}: {n}" for kind, n in sorted(kinds.items())))
    run.note = {"seed": run.o.seed, "only": run.o.only, "files": [first, case]}
    run.save()
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("oom", "io", "kill", "fuzz"))
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--files", type=int, default=10**12, help="fuzz: end after so many files")
    parser.add_argument("--build", type=Path, default=HERE.parent.parent / "build")
    parser.add_argument("--inject", type=Path, default=None, help="inject.so, when it is not in --build")
    parser.add_argument("--only", default=None, help="rows of the table of commands, or files or kinds of the corpus (h5ad,h5), by commas")
    parser.add_argument("--even", action="store_true", help="fuzz: as many of each file of the corpus, not more of small ones")
    parser.add_argument("--own", action="store_true", help="oom: only the program's own allocations")
    parser.add_argument("--libraries", action="store_true", help="oom: only the second mode, all allocations of the process")
    parser.add_argument("--per-stack", type=int, default=0,
                        help=f"oom: fail so many of the allocations that have the same stack (at least 3) [every one; {PER_STACK} in the second mode]")
    parser.add_argument("--whole", action="store_true", help="oom, io: every case is a run of its own, from the start of the program on: slower")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stacks", action="store_true", help="print the stack of the call whose failure was not survived")
    parser.add_argument("--restart", action="store_true", help="forget how far the last run came")
    parser.add_argument("--short", action="store_true", help="a few cases of each kind, as one test of TAP")
    o = parser.parse_args()
    run = Campaign(o)
    try:
        if o.short:
            print("1..1")
        run.prepare()
        complete = {"oom": oom, "io": io, "kill": kill, "fuzz": fuzz}[o.mode](run)
        run.log()
    finally:
        shutil.rmtree(run.work, ignore_errors=True)
    failures = len(run.failures)
    if o.short:
        print(f"{'not ok' if failures or not run.cases else 'ok'} 1 - {o.mode}: {run.cases} cases")
        return 0
    for what, n in sorted(run.state.get("known", {}).items()):
        print(f"# not survived by a library of others so far: {what}: {n}")
    print(f"{o.mode}: {run.cases} cases, {failures} failures{', all there are' if complete else ''}")
    print(f"{o.mode}: {run.state['cases'] + run.cases} cases, {run.state['failures'] + failures} failures so far ({run.state_path})")
    return 1 if failures else 0


sys.exit(main())
