#!/usr/bin/env python3
"""fuzz.py COMP CORPUS [--seconds N] [--cases N] [--seed N] [--keep FOLDER] [--inside CASES]: damaged HDF5 files through comp info and comp convert.

Every case changes one file of CORPUS (see corpus.py): single bytes, fields of 2, 4 and 8 bytes, pieces cut, copied or exchanged, and
addresses of one structure put where another is expected. Headers of HDF5's newest layout get their checksums again. Judged: exit code
0 or 1, one line on stderr that names the file when it is 1, at most 500 MB and 10 s. Cases that fail are kept. Case N of a seed is always the same."""
import argparse
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

MARKS = (b"TREE", b"SNOD", b"HEAP", b"GCOL", b"OHDR", b"OCHK", b"FRHP", b"FHDB", b"BTHD", b"BTLF", b"FADB", b"FAHD")
NUMBERS = (0, 1, 2, 7, 8, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1, 2**63, 2**64 - 1, 2**64 - 8)


def lookup3(data):
    """HDF5's checksum of structures (Jenkins)."""
    mask = 0xFFFFFFFF
    rot = lambda x, k: ((x << k) | (x >> (32 - k))) & mask
    a = b = c = (0xDEADBEEF + len(data)) & mask
    while len(data) > 12:
        x, y, z = struct.unpack("<III", data[:12])
        a, b, c = (a + x) & mask, (b + y) & mask, (c + z) & mask
        for p, q, r, k in (("a", "c", "b", 4), ("b", "a", "c", 6), ("c", "b", "a", 8), ("a", "c", "b", 16), ("b", "a", "c", 19), ("c", "b", "a", 4)):
            v = {"a": a, "b": b, "c": c}
            v[p] = (v[p] - v[q]) & mask
            v[p] ^= rot(v[q], k)
            v[q] = (v[q] + v[r]) & mask
            a, b, c = v["a"], v["b"], v["c"]
        data = data[12:]
    if not data:
        return c
    x, y, z = struct.unpack("<III", data.ljust(12, b"\0"))
    a, b, c = (a + x) & mask, (b + y) & mask, (c + z) & mask
    for p, q, k in (("c", "b", 14), ("a", "c", 11), ("b", "a", 25), ("c", "b", 16), ("a", "c", 4), ("b", "a", 14), ("c", "b", 24)):
        v = {"a": a, "b": b, "c": c}
        v[p] = ((v[p] ^ v[q]) - rot(v[q], k)) & mask
        a, b, c = v["a"], v["b"], v["c"]
    return c


def reseal(data):
    """New checksums of all object headers of version 2."""
    at = data.find(b"OHDR\2")
    while at >= 0:
        flags = data[at + 5] if at + 6 < len(data) else 0
        start = at + 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
        width = 1 << (flags & 3)
        size = int.from_bytes(data[start : start + width], "little")
        end = start + width + size
        if size < 1 << 16 and end + 4 <= len(data):
            data[end : end + 4] = struct.pack("<I", lookup3(bytes(data[at:end])))
        at = data.find(b"OHDR\2", at + 4)


class Source:
    """A file of the corpus, and where its structure is."""

    def __init__(self, path):
        self.path, self.data = path, path.read_bytes()
        self.marks = [0]
        for mark in MARKS:
            at = self.data.find(mark)
            while at >= 0:
                self.marks.append(at)
                at = self.data.find(mark, at + 1)
        self.headers = self.find_headers()
        self.addresses = sorted(set(self.marks[1:] + self.headers))
        known = set(self.addresses)
        self.pointers = [i for i in range(0, len(self.data) - 8) if int.from_bytes(self.data[i : i + 8], "little") in known]
        self.places = self.marks + self.headers * 3

    def find_headers(self):
        """Object headers of version 1 that members of groups point to."""
        out = []
        for at in self.marks[1:]:
            if self.data[at : at + 4] != b"SNOD":
                continue
            for i in range(int.from_bytes(self.data[at + 6 : at + 8], "little")):
                out.append(int.from_bytes(self.data[at + 16 + 40 * i : at + 24 + 40 * i], "little"))
        return [a for a in out if a < len(self.data)]


def near(rng, source):
    """A place within structure, most of the time near its beginning."""
    if rng.random() < 0.1:
        return rng.randrange(len(source.data))
    return min(rng.choice(source.places) + int(rng.expovariate(1 / 90)), len(source.data) - 9)


def mutate(rng, source):
    data = bytearray(source.data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        kind, at = rng.random(), near(rng, source)
        if kind < 0.3:
            data[at] = rng.randrange(256)
        elif kind < 0.4:
            data[at] ^= 1 << rng.randrange(8)
        elif kind < 0.6:
            width = rng.choice((2, 4, 8))
            data[at : at + width] = (rng.choice(NUMBERS) % (1 << 8 * width)).to_bytes(width, "little")
        elif kind < 0.7:
            width = rng.choice((1, 2, 4, 8))
            value = int.from_bytes(data[at : at + width], "little") + rng.choice((-8, -1, 1, 8, 16))
            data[at : at + width] = (value % (1 << 8 * width)).to_bytes(width, "little")
        elif kind < 0.88 and source.pointers:
            at = rng.choice(source.pointers)
            data[at : at + 8] = struct.pack("<Q", rng.choice(source.addresses) + rng.choice((0, 0, 0, 8, -8)) & 2**64 - 1)
        elif kind < 0.94:
            size, other = rng.choice((4, 8, 16, 40, 200)), near(rng, source)
            data[at : at + size] = data[other : other + size]
        elif kind < 0.97:
            size = rng.choice((1, 8, 64, 512))
            data[at : at + size] = bytes(size)
        else:
            del data[rng.randrange(len(data)) :]
        if not data:
            data = bytearray(b"\x89HDF\r\n\x1a\n")
        if len(data) < len(source.data):
            data += bytes(len(source.data) - len(data)) if rng.random() < 0.5 else b""
            if len(data) < len(source.data):
                break
    reseal(data)
    return data


def run(arguments, stderr):
    """Exit code (negative: a signal), peak memory in MB."""
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (10, 11))
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        signal.alarm(60)
        os.execv(arguments[0], arguments)
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss / 1024


class Inside:
    """The same through the library, in one process that forks (cases.c)."""

    def __init__(self, program):
        self.pipe = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, path, out):
        self.pipe.stdin.write(f"{path} {out}\n".encode())
        self.pipe.stdin.flush()
        code, memory, *text = self.pipe.stdout.readline().decode(errors="replace").split(" ", 2)
        return int(code), int(memory) / 1024, "comp " + "".join(text)


def judge(code, memory, text):
    if code not in (0, 1):
        return f"exit code {code}"
    if memory > 500:
        return f"{memory:.0f} MB"
    if code == 1 and not text.startswith("comp "):
        return "no message"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("comp")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cases", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inside", default=None, help="the program made of cases.c: faster")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=None)
    o = parser.parse_args()
    sources = [Source(p) for p in sorted(o.corpus.iterdir()) if p.suffix in (".h5ad", ".h5")]
    counts, failures = Counter(), []
    inside = Inside(o.inside) if o.inside else None
    end = time.monotonic() + o.seconds
    with tempfile.TemporaryDirectory() as folder:
        path, out, err = (os.path.join(folder, n) for n in ("x.h5ad", "y.h5ad", "err"))
        case = o.first
        while case < o.first + o.cases and time.monotonic() < end:
            rng = random.Random(o.seed * 1000003 + case)
            source = sources[case % len(sources)]
            Path(path).write_bytes(mutate(rng, source))
            for words in (("inside",),) if inside else (("info", "-q", path), ("convert", "-q", "-i", path, "-o", out)):
                if inside:
                    code, memory, text = inside.run(path, out)
                else:
                    code, memory = run([o.comp, *words, "--threads", "1"], err)
                    text = Path(err).read_text(errors="replace")
                counts[words[0], code] += 1
                wrong = judge(code, memory, text)
                if not wrong:
                    continue
                failures.append((case, source.path.name, words[0], wrong))
                print("case", case, source.path.name, words[0], wrong, flush=True)
                if o.keep:
                    o.keep.mkdir(parents=True, exist_ok=True)
                    (o.keep / f"{o.seed}-{case}-{source.path.name}").write_bytes(Path(path).read_bytes())
            case += 1
    print(f"{case - o.first} files, {sum(counts.values())} runs:", ", ".join(f"{c} exit {e}: {n}" for (c, e), n in sorted(counts.items())))
    print(f"{len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
