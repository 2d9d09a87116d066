"""mutate.py: damaged files for the campaign (torture.py fuzz): bytes, and structure that fits its checksums.

HDF5: single bytes, fields of 2, 4 and 8 bytes, pieces cut, copied or exchanged, addresses of one structure put where another is expected; headers
of HDF5's newest layout get their checksums again. Text: words, separators, lines. Models and checkpoints: without their digest, which would
refuse them all; their JSON header and its length. What a generator of random numbers gives is always the same."""
import copy
import gzip
import io
import json
import random
import shutil
import struct
import zipfile

MARKS = (b"TREE", b"SNOD", b"HEAP", b"GCOL", b"OHDR", b"OCHK", b"FRHP", b"FHDB", b"BTHD", b"BTLF", b"FADB", b"FAHD")
NUMBERS = (0, 1, 2, 7, 8, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1, 2**63, 2**64 - 1, 2**64 - 8)


def lookup3(data):
    """HDF5's checksum of structures (Jenkins)."""
    mask, size = 0xFFFFFFFF, len(data)
    a = b = c = (0xDEADBEEF + size) & mask
    words = struct.unpack(f"<{-(-size // 12) * 3}I", data.ljust(-(-size // 12) * 12, b"\0"))
    for i in range(0, len(words) - 3, 3):
        a, b, c = a + words[i] & mask, b + words[i + 1] & mask, c + words[i + 2] & mask
        a = (a - c & mask) ^ (c << 4 & mask | c >> 28)
        c = c + b & mask
        b = (b - a & mask) ^ (a << 6 & mask | a >> 26)
        a = a + c & mask
        c = (c - b & mask) ^ (b << 8 & mask | b >> 24)
        b = b + a & mask
        a = (a - c & mask) ^ (c << 16 & mask | c >> 16)
        c = c + b & mask
        b = (b - a & mask) ^ (a << 19 & mask | a >> 13)
        a = a + c & mask
        c = (c - b & mask) ^ (b << 4 & mask | b >> 28)
        b = b + a & mask
    if not words:
        return c
    a, b, c = a + words[-3] & mask, b + words[-2] & mask, c + words[-1] & mask
    c = (c ^ b) - (b << 14 & mask | b >> 18) & mask
    a = (a ^ c) - (c << 11 & mask | c >> 21) & mask
    b = (b ^ a) - (a << 25 & mask | a >> 7) & mask
    c = (c ^ b) - (b << 16 & mask | b >> 16) & mask
    a = (a ^ c) - (c << 4 & mask | c >> 28) & mask
    b = (b ^ a) - (a << 14 & mask | a >> 18) & mask
    return (c ^ b) - (b << 24 & mask | b >> 8) & mask


def reseal(data, original):
    """New checksums of all object headers of version 2 that are not those of the original."""
    at = data.find(b"OHDR\2")
    while at >= 0:
        flags = data[at + 5] if at + 6 < len(data) else 0
        start = at + 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
        width = 1 << (flags & 3)
        size = int.from_bytes(data[start : start + width], "little")
        end = start + width + size
        if size < 1 << 16 and end + 4 <= len(data) and data[at : end + 4] != original[at : end + 4]:
            data[end : end + 4] = struct.pack("<I", lookup3(bytes(data[at:end])))
        at = data.find(b"OHDR\2", at + 4)


class Hdf5:
    """A file of the corpus, and where its structure is."""

    def __init__(self, path):
        self.name, self.kind, self.data = path.name, path.suffix, path.read_bytes()
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

    def write(self, path, rng):
        path.write_bytes(damage_hdf5(rng, self))
        return path


def near(rng, source):
    """A place within structure, most of the time near its beginning."""
    if rng.random() < 0.1:
        return rng.randrange(len(source.data))
    return min(rng.choice(source.places) + int(rng.expovariate(1 / 90)), len(source.data) - 9)


def damage_hdf5(rng, source):
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
    reseal(data, source.data)
    return data


# ---- Text, MEX ----

WORDS = (b"", b"0", b"-1", b"1e999", b"-1e-999", b"nan", b"inf", b"0x10", b"1e5", b"4294967296", b"18446744073709551616", b"-9223372036854775809", b"1.5", b"abc",
         b"\xff\xfe", b"\0", b'"', b'""', b'"a', b"a\tb", b"\xc3\xa9", b"9" * 400, b"x" * 5000, b"%s%n", b"#", b"%%MatrixMarket")


def damage_text(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        kind, at = rng.random(), rng.randrange(len(data) + 1)
        if kind < 0.25 and data:
            data[min(at, len(data) - 1)] = rng.randrange(256)
        elif kind < 0.55:  # a word is replaced
            end = at
            while at > 0 and data[at - 1] not in b",\t \n":
                at -= 1
            while end < len(data) and data[end] not in b",\t \n":
                end += 1
            data[at:end] = rng.choice(WORDS)
        elif kind < 0.65:
            data[at:at] = rng.choice((b",", b"\t", b"\n", b"\r", b"\r\n", b" ", b'"', b"\0", b"\xef\xbb\xbf"))
        elif kind < 0.9:  # lines: gone, twice, cut
            lines = data.split(b"\n")
            i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
            if kind < 0.73:
                del lines[i]
            elif kind < 0.81:
                lines[i:i] = [lines[j]] * rng.choice((1, 1, 40))
            else:
                lines[i] = lines[i][: rng.randrange(len(lines[i]) + 1)]
            data = bytearray(b"\n".join(lines))
        else:
            del data[at : at + rng.choice((1, 10, 100, len(data)))]
    return bytes(data)


class Text:
    def __init__(self, name, kind, data, packed=False):
        self.name, self.kind, self.data, self.packed = name, kind, data, packed

    def write(self, path, rng):
        data = damage_text(rng, self.data)
        if self.packed:
            data = gzip.compress(self.data if rng.random() < 0.5 else data, 1, mtime=0)
            if rng.random() < 0.6:
                data = damage_bytes(rng, data)
        path.write_bytes(data)
        return path


def mex():
    """The files of a small folder as Cell Ranger writes it, unpacked."""
    entries = [(i % 5 + 1, i % 7 + 1, i + 1) for i in range(20)]
    matrix = f"%%MatrixMarket matrix coordinate integer general\n%made by hand\n5 7 {len(entries)}\n" + "".join(f"{r} {c} {v}\n" for r, c, v in entries)
    return {"matrix.mtx": matrix, "barcodes.tsv": "".join(f"AC{i}-1\n" for i in range(7)), "features.tsv": "".join(f"G{i}\tS{i}\tGene Expression\n" for i in range(5))}


def celligner():
    """Made-up tumours and cell lines in the layout of Celligner, for comp experiment."""
    rng, genes, tissues = random.Random(7), 30, ("lung", "skin", "bone")
    value = lambda i, g, line: f"{3 + 2 * ((g + i % 3) % 3) + 2 * rng.random() + 1.5 * (line and g % 2):.4f}"
    tumours, lines = range(60), range(45)
    table = ["\t".join(["Gene"] + [f"T{i}" for i in tumours])] + ["\t".join([f"G{g}"] + [value(i, g, 0) for i in tumours]) for g in range(genes)]
    expression = ["," + ",".join(f"G{g} ({100 + g})" for g in range(genes))] + [",".join([f"ACH-{i}"] + [value(i, g, 1) for g in range(genes)]) for i in lines]
    info = ["sampleID,lineage,type"] + [f"T{i},{tissues[i % 3]},tumor" for i in tumours] + [f"ACH-{i},{tissues[i % 3]},CL" for i in lines]
    files = {"TCGA_mat.tsv": table, "CCLE_expression.csv": expression, "Celligner_info.csv": info}
    return {name: "\n".join(rows) + "\n" for name, rows in files.items()}


class Bytes:
    """Anything: single bytes and numbers."""

    def __init__(self, path):
        self.name, self.kind, self.data = path.name, path.suffix, path.read_bytes()

    def write(self, path, rng):
        path.write_bytes(damage_bytes(rng, self.data))
        return path


class Mex:
    name, kind = "mex", ".mex"

    def write(self, path, rng):
        files = mex()
        damaged = rng.choice(("matrix.mtx",) * 3 + tuple(files))
        path.mkdir(exist_ok=True)
        for name, text in files.items():
            (path / name).write_bytes(damage_text(rng, text.encode()) if name == damaged else text.encode())
        return path / damaged


# ---- JSON, zarr, models and checkpoints ----


def damage_bytes(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(data))
        if rng.random() < 0.7:
            data[at] = rng.randrange(256)
        else:
            width = rng.choice((2, 4, 8))
            data[at : at + width] = (rng.choice(NUMBERS) % (1 << 8 * width)).to_bytes(width, "little")
    if rng.random() < 0.1:
        del data[rng.randrange(len(data)) :]
    return bytes(data)


VALUES = (None, True, -1, 0, 1, 2**31, 2**53, 2**63, 1e308, -0.5, "", "x", "[]", "{}", "nan", "[" * 3000, [], {}, [0, 2**62], [[0]], {"a": {}}, "\ud7ff\0")


def places(tree):
    """Every (container, key) of a JSON document."""
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
        yield tree, key
        if isinstance(tree[key], (dict, list)):
            yield from places(tree[key])


def damage_json(rng, tree):
    where, key = rng.choice(list(places(tree)))
    kind, value = rng.random(), where[key]
    if kind < 0.15:
        del where[key]
    elif kind < 0.45 and isinstance(value, str):  # a document within a text: config, features, history, numbers
        try:
            inner = json.loads(value)
            damage_json(rng, inner)
            where[key] = json.dumps(inner)
        except (ValueError, TypeError, IndexError, RecursionError):
            where[key] = damage_text(rng, value.encode()).decode("utf-8", "replace")
    elif kind < 0.6 and isinstance(value, (int, float)):
        where[key] = value + rng.choice((-1, 1, 4, 2**32, -(2**33), 0.5))
    elif kind < 0.7 and isinstance(where, dict):
        where[rng.choice(list(where))] = value
    else:
        where[key] = copy.deepcopy(rng.choice(VALUES))  # later damage may be within it


def damage_document(rng, data):
    """The bytes of a JSON document: its values, or its text."""
    if rng.random() < 0.3:
        return damage_text(rng, data)
    tree = [json.loads(data)]
    for _ in range(rng.choice((1, 1, 2, 4))):
        if list(places(tree)):
            damage_json(rng, tree)
    return json.dumps(tree[0] if tree else None).encode()


class Json:
    def __init__(self, path):
        self.name, self.kind, self.data = path.name, ".json", path.read_bytes()

    def write(self, path, rng):
        path.write_bytes(damage_document(rng, self.data))
        return path


class Zarr:
    """A store, as a folder (.zarr) or a zip file (.zip): a value or two are damaged; of a zip file, half of the time, its own bytes."""

    def __init__(self, path, kind):
        self.name, self.kind = path.name + ("" if kind == ".zarr" else kind), kind
        self.files = {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}

    def write(self, path, rng):
        files = dict(self.files)
        whole = self.kind == ".zip" and rng.random() < 0.5
        for _ in range(0 if whole else rng.choice((1, 1, 2))):
            key = rng.choice(list(files))
            if rng.random() < 0.05:
                del files[key]
            elif key.endswith((".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json")):
                files[key] = damage_document(rng, self.files[key])
            else:
                files[key] = damage_bytes(rng, files[key]) if files[key] else b"x"
        if self.kind == ".zarr":
            shutil.rmtree(path, ignore_errors=True)
            for key, data in files.items():
                (path / key).parent.mkdir(parents=True, exist_ok=True)
                (path / key).write_bytes(data)
            return next((path / key for key in files if files[key] != self.files[key]), path / next(iter(files)))
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as packed:
            for key, data in files.items():
                packed.writestr(zipfile.ZipInfo(key), data)
        path.write_bytes(damage_bytes(rng, out.getvalue()) if whole else out.getvalue())
        return path


class Safetensors:
    """Without its digest: files of the first version had none, and are read as they are."""

    def __init__(self, path, kind):
        data = path.read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        self.name, self.kind, self.arrays = path.name, kind, data[8 + size :]
        self.whole, self.header = data, json.loads(data[8 : 8 + size])
        notes = self.header["__metadata__"]
        notes.pop("digest", None)
        if kind == ".comp":
            notes["format_version"] = "1"
        else:
            notes["format"] = "comp-checkpoint-2"

    def write(self, path, rng):
        header = json.loads(json.dumps(self.header))
        kind, arrays = rng.random(), self.arrays
        if kind < 0.6:
            for _ in range(rng.choice((1, 1, 2, 4))):
                damage_json(rng, header)
        text = json.dumps(header).encode()
        if 0.5 < kind < 0.75:
            text = damage_text(rng, text)
        elif kind > 0.75:
            arrays = damage_bytes(rng, arrays)
        size = len(text) if rng.random() < 0.95 else rng.choice(NUMBERS)
        data = struct.pack("<Q", size) + text + arrays
        path.write_bytes(damage_bytes(rng, self.whole) if rng.random() < 0.05 else data)
        return path


def sources(corpus, inputs, rich):
    """All files that are damaged, as often as they are in a round. HDF5 takes most of the turns, small files of it most of these."""
    names = sorted(p for p in corpus.iterdir() if p.suffix in (".h5ad", ".h5")) if rich else [inputs / "cells.h5ad", inputs / "ready.h5ad"]
    names += 4 * [p for p in names if p.name.startswith("tiny-")]
    hdf5 = {p: Hdf5(p) for p in names}
    csv = b"\n".join((inputs / "cells.csv").read_bytes().split(b"\n")[:9])
    return [hdf5[p] for p in names] + [
        Text("csv", ".csv", csv), Text("tsv", ".tsv", csv.replace(b",", b"\t")), Text("csv.gz", ".gz", csv, packed=True), Mex(), Bytes(inputs / "cells.npy"),
        Safetensors(inputs / "old.comp", ".comp"), Safetensors(inputs / "old.checkpoint", ".checkpoint"),
        Zarr(inputs / "cells.zarr", ".zarr"), Zarr(inputs / "cells.zarr", ".zip"), Zarr(inputs / "cells3.zarr", ".zarr"), Json(inputs / "scores.json")]
