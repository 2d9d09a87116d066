"""zarr version 3 as its specification has it, for the tests: writes and reads arrays and groups in a folder. It shares no code with the library.

    root = Group(folder, {"encoding-type": "anndata"})
    root.array("X", values, chunks=(10, 5), codecs=["zstd"], shards=(20, 10))
    values, attributes = read_array(folder / "X")
"""
import gzip
import itertools
import json
import math
import pathlib
import struct
import zlib

import numcodecs
import numpy as np

# ---- codecs from bytes to bytes


def crc32c(data):
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    crc = 0xFFFFFFFF
    for b in data:
        crc = crc >> 8 ^ table[(crc ^ b) & 0xFF]
    return crc ^ 0xFFFFFFFF


def uncrc(data):
    assert struct.unpack("<I", data[-4:])[0] == crc32c(data[:-4]), "checksum"
    return data[:-4]


CODECS = {  # name: (metadata, encode, decode)
    "gzip": ({"name": "gzip", "configuration": {"level": 5}}, lambda b: gzip.compress(b, 5), gzip.decompress),
    "zlib": ({"name": "numcodecs.zlib", "configuration": {"level": 3}}, zlib.compress, zlib.decompress),
    "zstd": ({"name": "zstd", "configuration": {"level": 3, "checksum": False}}, lambda b: numcodecs.Zstd(3).encode(b),
             lambda b: numcodecs.Zstd().decode(b)),
    "crc32c": ({"name": "crc32c"}, lambda b: bytes(b) + struct.pack("<I", crc32c(bytes(b))), lambda b: uncrc(bytes(b))),
}
for cname, shuffle in itertools.product(("lz4", "zstd", "blosclz", "zlib", "lz4hc"), (0, 1, 2)):
    def encode(b, cname=cname, shuffle=shuffle):
        return numcodecs.Blosc(cname, 5, shuffle).encode(np.frombuffer(b, "u1"))
    words = ("noshuffle", "shuffle", "bitshuffle")
    CODECS[f"blosc-{cname}-{words[shuffle]}"] = (
        {"name": "blosc", "configuration": {"cname": cname, "clevel": 5, "shuffle": words[shuffle], "typesize": 4, "blocksize": 0}},
        encode, lambda b: numcodecs.Blosc().decode(b))


def pack(data, codecs):
    for c in codecs:
        data = bytes(CODECS[c][1](data))
    return data


# ---- values to bytes

NAMES = {"b1": "bool", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64",
         "f2": "float16", "f4": "float32", "f8": "float64"}


def data_type(values):
    if values.dtype == object:
        return "string"
    if values.dtype.kind == "U":
        return {"name": "fixed_length_utf32", "configuration": {"length_bytes": values.dtype.itemsize}}
    if values.dtype.kind == "S":
        return {"name": "null_terminated_bytes", "configuration": {"length_bytes": values.dtype.itemsize}}
    return NAMES[values.dtype.str[1:]]


def to_bytes(chunk, endian, order):
    if chunk.dtype == object:
        texts = [t.encode() for t in chunk.ravel()]
        return struct.pack("<I", len(texts)) + b"".join(struct.pack("<I", len(t)) + t for t in texts)
    chunk = chunk.transpose(order) if order else chunk
    return np.ascontiguousarray(chunk).astype(chunk.dtype.newbyteorder(">" if endian == "big" else "<")).tobytes()


def array_codecs(values, endian, order, codecs):
    out = [{"name": "transpose", "configuration": {"order": list(order)}}] if order else []
    if values.dtype == object:
        out.append({"name": "vlen-utf8"})
    elif values.dtype.itemsize == 1:
        out.append({"name": "bytes"})
    else:
        out.append({"name": "bytes", "configuration": {"endian": endian}})
    return out + [CODECS[c][0] for c in codecs]


def cut(values, place, shape, fill):
    """A chunk of that shape, filled up at the edges."""
    out = np.full(shape, fill, values.dtype)
    part = values[tuple(slice(p * s, (p + 1) * s) for p, s in zip(place, shape))]
    out[tuple(slice(0, n) for n in part.shape)] = part
    return out


def is_fill(chunk, fill):
    if isinstance(fill, float) and math.isnan(fill):
        return bool(np.isnan(chunk).all())
    return bool((chunk == fill).all())


def pack_shard(values, place, shape, inner, pack_chunk, fill, index_location, index_crc):
    """The chunks of a shard in a scrambled order, with their index."""
    shard = cut(values, place, shape, fill)
    counts = [s // i for s, i in zip(shape, inner)]
    places = list(itertools.product(*map(range, counts)))
    index = {p: (2**64 - 1, 2**64 - 1) for p in places}
    size = len(places) * 16 + (4 if index_crc else 0)
    body, at = b"", size if index_location == "start" else 0
    for p in reversed(places):
        chunk = cut(shard, p, inner, fill)
        if is_fill(chunk, fill):
            continue
        data = pack_chunk(chunk)
        index[p] = (at, len(data))
        body += data
        at += len(data)
    if not body:
        return None
    packed = b"".join(struct.pack("<QQ", *index[p]) for p in places)
    if index_crc:
        packed = pack(packed, ["crc32c"])
    return packed + body if index_location == "start" else body + packed


class Group:
    def __init__(self, folder, attributes=None, consolidated=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.write({"zarr_format": 3, "node_type": "group", "attributes": attributes or {}})

    def write(self, metadata, name="."):
        (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / name / "zarr.json").write_text(json.dumps(metadata, indent=2))

    def group(self, name, attributes=None):
        return Group(self.folder / name, attributes)

    def array(self, name, values, chunks=None, codecs=(), shards=None, endian="little", order=None, keys=("default", "/"), fill=None,
              attributes=None, index_location="end", index_crc=True, keep_fill=False):
        values = np.asarray(values)
        chunks = tuple(chunks or (max(1, n) for n in values.shape))
        if fill is None:
            fill = b"" if values.dtype.kind == "S" else "" if values.dtype.kind in "OU" else values.dtype.type(0)
        codec_list = array_codecs(values, endian, order, codecs)
        if shards:
            codec_list = [{"name": "sharding_indexed", "configuration": {
                "chunk_shape": list(chunks), "codecs": codec_list, "index_location": index_location,
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}] + ([{"name": "crc32c"}] if index_crc else [])}}]
        grid = tuple(shards or chunks)
        encoded = fill if isinstance(fill, str) else fill.item() if hasattr(fill, "item") else fill
        if isinstance(encoded, bytes):
            encoded = ""
        if isinstance(encoded, float) and not math.isfinite(encoded):
            encoded = "NaN" if math.isnan(encoded) else "Infinity" if encoded > 0 else "-Infinity"
        configuration = {} if keys[1] is None else {"configuration": {"separator": keys[1]}}
        self.write({"zarr_format": 3, "node_type": "array", "shape": list(values.shape), "data_type": data_type(values),
                    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(grid)}},
                    "chunk_key_encoding": {"name": keys[0], **configuration}, "fill_value": encoded, "codecs": codec_list,
                    "attributes": attributes or {}}, name)

        def pack_chunk(chunk):
            return pack(to_bytes(chunk, endian, order), codecs)
        separator = keys[1] or ("/" if keys[0] == "default" else ".")
        for place in itertools.product(*(range(-(-n // s)) for n, s in zip(values.shape, grid))):
            if shards:
                data = pack_shard(values, place, grid, chunks, pack_chunk, fill, index_location, index_crc)
            else:
                chunk = cut(values, place, grid, fill) if values.shape else values
                data = None if is_fill(chunk, fill) and not keep_fill else pack_chunk(chunk)
            if data is None:
                continue
            parts = [str(p) for p in place]
            key = separator.join((["c"] if keys[0] == "default" else []) + parts) or "0"
            file = self.folder / name / key
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)


def consolidate(folder):
    """Puts the metadata of all nodes into that of the root."""
    folder = pathlib.Path(folder)
    root = json.loads((folder / "zarr.json").read_text())
    nodes = {str(p.parent.relative_to(folder)): json.loads(p.read_text()) for p in sorted(folder.rglob("zarr.json")) if p.parent != folder}
    root["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": nodes}
    (folder / "zarr.json").write_text(json.dumps(root))


# ---- reading


def undo(data, codecs):
    decoders = {"gzip": gzip.decompress, "zstd": lambda b: bytes(numcodecs.Zstd().decode(b)), "crc32c": lambda b: uncrc(bytes(b)),
                "blosc": lambda b: bytes(numcodecs.Blosc().decode(b))}
    for c in reversed(codecs):
        data = decoders[c["name"]](data)
    return data


def from_bytes(data, codecs, dtype, shape):
    assert codecs[0]["name"] in ("bytes", "vlen-utf8"), codecs
    data = undo(data, codecs[1:])
    if codecs[0]["name"] == "vlen-utf8":
        count, at, out = struct.unpack("<I", data[:4])[0], 4, []
        for _ in range(count):
            n = struct.unpack("<I", data[at:at + 4])[0]
            out.append(data[at + 4:at + 4 + n].decode())
            at += 4 + n
        assert at == len(data)
        return np.array(out, dtype=object).reshape(shape)
    endian = codecs[0].get("configuration", {}).get("endian", "little")
    return np.frombuffer(data, np.dtype(dtype).newbyteorder(">" if endian == "big" else "<")).reshape(shape)


def dtype_of(data_type):
    """The NumPy dtype of a data_type: numbers, text of one length, and structs of these."""
    if isinstance(data_type, str):
        return object if data_type == "string" else {v: k for k, v in NAMES.items()}[data_type]
    name, configuration = data_type["name"], data_type["configuration"]
    if name == "fixed_length_utf32":
        return f"<U{configuration['length_bytes'] // 4}"
    assert name == "struct", name
    return np.dtype([(f["name"], dtype_of(f["data_type"])) for f in configuration["fields"]])


def write_records(folder, values, spelling, endian):
    """A structured array as one chunk; `spelling`: "struct", or "structured" as it was before."""
    folder = pathlib.Path(folder)
    (folder / "c").mkdir(parents=True)
    values = values.astype(values.dtype.newbyteorder(">" if endian == "big" else "<"))
    types = {n: data_type(values[n]) for n in values.dtype.names}
    fields = [{"name": n, "data_type": t} for n, t in types.items()] if spelling == "struct" else [[n, t] for n, t in types.items()]
    (folder / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": list(values.shape), "data_type": {"name": spelling, "configuration": {"fields": fields}},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(values.shape)}}, "chunk_key_encoding": {"name": "default"},
        "fill_value": {n: "" if values.dtype[n].kind in "US" else 0 for n in types}, "codecs": [{"name": "bytes", "configuration": {"endian": endian}}],
        "attributes": {"encoding-type": "rec-array", "encoding-version": "0.2.0"}}))
    (folder / "c" / "0").write_bytes(values.tobytes())


def read_array(folder):
    """The values and attributes of an array."""
    folder = pathlib.Path(folder)
    m = json.loads((folder / "zarr.json").read_text())
    assert m["zarr_format"] == 3 and m["node_type"] == "array"
    dtype = dtype_of(m["data_type"])
    shape, grid, codecs = tuple(m["shape"]), tuple(m["chunk_grid"]["configuration"]["chunk_shape"]), m["codecs"]
    fill = m["fill_value"]
    if isinstance(fill, dict):
        fill = np.array(tuple(fill[n] for n in dtype.names), dtype)
    elif dtype != object:
        fill = {"NaN": np.nan}.get(fill, fill)
    out = np.full(shape, fill, dtype)
    assert m["chunk_key_encoding"] == {"name": "default", "configuration": {"separator": "/"}}

    def place_chunk(start, chunk):
        part = tuple(slice(s, min(s + c, n)) for s, c, n in zip(start, chunk.shape, shape))
        out[part] = chunk[tuple(slice(0, p.stop - p.start) for p in part)]

    for place in itertools.product(*(range(-(-n // s)) for n, s in zip(shape, grid))):
        file = folder.joinpath("c", *map(str, place))
        if not file.exists():
            continue
        data = file.read_bytes()
        start = [p * s for p, s in zip(place, grid)]
        if codecs[0]["name"] != "sharding_indexed":
            place_chunk(start, from_bytes(data, codecs, dtype, grid))
            continue
        c = codecs[0]["configuration"]
        inner = tuple(c["chunk_shape"])
        counts = [s // i for s, i in zip(grid, inner)]
        size = math.prod(counts) * 16 + 4 * sum(x["name"] == "crc32c" for x in c["index_codecs"])
        stored = data[:size] if c.get("index_location") == "start" else data[-size:]
        index = np.frombuffer(undo(stored, c["index_codecs"][1:]), "<u8").reshape(counts + [2])
        for p in itertools.product(*map(range, counts)):
            offset, n = (int(v) for v in index[p])
            if offset == 2**64 - 1:
                continue
            inner_start = [s + q * i for s, q, i in zip(start, p, inner)]
            if any(s >= n_ for s, n_ in zip(inner_start, shape)):
                continue
            place_chunk(inner_start, from_bytes(data[offset:offset + n], c["codecs"], dtype, inner))
    return out, m["attributes"]
