"""runner.py: trains and measures one design with one seed, or runs one of the other methods on it. Everything is kept in a cache,
by what it depends on: the program, the training options, the content of the design, the seed, and how it is measured."""
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import tempfile
import threading

import h5py
import numpy as np

import designs
import measures

BASELINES = ["pca", "harmony", "mnn", "seurat-cca"]
# What comp run does after the embedding is not needed here.
SHORT = ["--no-umap", "--no-correct", "--no-diagnose", "--epochs", "1"]


class Failed(Exception):
    pass


def file_digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:12]


MEASURED_BY = file_digest(measures.__file__)


def program(words, cwd):
    """Runs a command. Gives its CPU seconds, as the wall clock of a busy machine says little, and what it said."""
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(words, stdout=said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=cwd)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    if child.returncode:
        raise Failed(f"{shlex.join(words)}: exit code {child.returncode}: {text.strip()[-500:]}")
    return usage.ru_utime + usage.ru_stime, text


def read_embedding(path, name):
    with h5py.File(path, "r") as file:
        return file["obsm"][name][:]


def read_column(path, name):
    with h5py.File(path, "r") as file:
        column = file["obs"][name]
        return column["categories"].asstr()[:][column["codes"][:]]


class Suite:
    def __init__(self, comp, folder, train=""):
        self.comp, self.folder = os.path.abspath(comp), os.path.abspath(folder)
        self.program, self.train = file_digest(self.comp), shlex.split(train)
        self.locks, self.lock = {}, threading.Lock()
        self.sweep()

    def sweep(self):
        """Removes what runs that were stopped have left; the name of a temporary folder starts with the process."""
        self.scratch = os.path.join(self.folder, "scratch")
        os.makedirs(self.scratch, exist_ok=True)
        for name in os.listdir(self.scratch):
            if not os.path.exists(f"/proc/{name.split('-')[0]}"):
                shutil.rmtree(os.path.join(self.scratch, name), ignore_errors=True)

    def temporary(self):
        return tempfile.TemporaryDirectory(prefix=f"{os.getpid()}-", dir=self.scratch)

    def locked(self, key):
        """One thread a design prepares it; the others wait."""
        with self.lock:
            return self.locks.setdefault(key, threading.Lock())

    def design(self, design):
        with self.locked(("design", design.name)):
            return designs.write(design, self.comp, os.path.join(self.folder, "designs"))

    def place(self, design, *parts):
        _, known = self.design(design)
        return os.path.join(self.folder, "cache", f"{design.name}-{known['digest']}", *parts)

    # ------------------------------------------------------------------------------------------- preparation

    def prepared(self, design):
        """A folder with data.h5ad as comp run prepares it, and run.json, which has the commands of its steps."""
        path, known = self.design(design)
        target = self.place(design, f"prepared-{self.program}")
        with self.locked(("prepared", design.name)):
            if not os.path.exists(target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with self.temporary() as work:
                    self.prepare(path, known, target, work)
        return target

    def prepare(self, path, known, target, work):
        program([self.comp, "run", "-i", path, "-c", "condition", "-o", "out", "--to", known["conditions"][0], "--threads", "1", "-q", *SHORT],
                work)
        os.mkdir(os.path.join(work, "kept"))
        for name in ("data.h5ad", "run.json"):
            os.rename(os.path.join(work, "out", name), os.path.join(work, "kept", name))
        try:
            os.rename(os.path.join(work, "kept"), target)
        except OSError:  # another process was faster
            if not os.path.exists(target):
                raise

    def step(self, folder, name):
        """The words of a step of comp run after the file names, without what SHORT adds and without the seed."""
        with open(os.path.join(folder, "run.json")) as file:
            steps = {step["name"]: step["command"] for step in json.load(file)["steps"]}
        words, out = shlex.split(steps[name])[2:], []
        while words:
            word = words.pop(0)
            if word in ("-i", "-o", "-m", "--epochs", "--seed"):
                words.pop(0)
            else:
                out.append(word)
        return out

    # --------------------------------------------------------------------------------------------- measuring

    def measured(self, design, path, make):
        """The result at `path`, a folder with embedding.npy and result.json: made by `make` when it is not there, measured again
        when the measures have changed."""
        result = os.path.join(path, "result.json")
        found = {}
        if os.path.exists(result):
            with open(result) as file:
                found = json.load(file)
            if found["measured_by"] == MEASURED_BY:
                return found
        if not found:
            with self.temporary() as work:
                points, found = make(work)
            os.makedirs(path, exist_ok=True)
            np.save(os.path.join(path, "embedding.npy"), points)
        points = np.load(os.path.join(path, "embedding.npy"))
        data, _ = self.design(design)
        values = measures.measure(points, read_column(data, "label"), read_column(data, "condition"))
        found["measures"] = {name: None if np.isnan(value) else value for name, value in values.items()}
        found["measured_by"] = MEASURED_BY
        temporary = f"{result}.{os.getpid()}.{threading.get_ident()}"
        with open(temporary, "w") as file:
            json.dump(found, file, indent=1)
        os.replace(temporary, result)
        return found

    def baseline(self, design, method):
        """Once a design, by the program that was there first: the data that it starts from is part of the key."""
        folder = self.prepared(design)
        data = os.path.join(folder, "data.h5ad")
        with h5py.File(data, "r") as file:
            x = file["X"]
            parts = [x["data"], x["indices"], x["indptr"]] if isinstance(x, h5py.Group) else [x]
            key = hashlib.sha256(b"".join(part[:].tobytes() for part in parts)).hexdigest()[:12]

        def make(work):
            condition = [] if method == "pca" else ["-c", "condition"]
            seconds, _ = program([self.comp, "baseline", method, "-i", data, "-o", "out.h5ad", "--threads", "1", "-q", *condition], work)
            points = read_embedding(os.path.join(work, "out.h5ad"), "X_" + method.replace("-", "_"))
            return points, {"seconds": seconds, "program": self.program}

        with self.locked(("baseline", design.name, method)):
            return self.measured(design, self.place(design, f"{method}-{key}"), make)

    def trained(self, design, seed):
        """The program's own recipe, with further options of comp train in self.train."""
        key = hashlib.sha256(json.dumps([self.program, self.train, seed]).encode()).hexdigest()[:12]

        def make(work):
            folder = self.prepared(design)
            data = os.path.join(folder, "data.h5ad")
            train = ["train", "-i", data, "-o", "model.safetensors", "--threads", "1", *self.step(folder, "train"), *self.train, "--seed", str(seed)]
            seconds, said = program([self.comp, *train], work)
            program([self.comp, "embed", "-i", data, "-m", "model.safetensors", "-o", "out.h5ad", "--threads", "1", "-q",
                     *self.step(folder, "embed")], work)
            return read_embedding(os.path.join(work, "out.h5ad"), "X_comp"), {
                "seconds": seconds, "program": self.program, "train": shlex.join(train[5:]), "seed": seed, "said": said.strip()[-1000:]}

        return self.measured(design, self.place(design, f"comp-{key}"), make)
