"""The functions and structs that the package declares, against the headers; finding the library."""
import ctypes
import glob
import os
import re

import pytest

import comp
from comp import _lib
from conftest import ROOT


def headers():
    text = "\n".join(open(path, encoding="utf-8").read() for path in sorted(glob.glob(os.path.join(ROOT, "include", "comp", "*.h"))))
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def kind_of(text):
    """The size of a C type in a call, and whether it is a number with a fraction."""
    text = text.strip()
    if "*" in text or "[" in text or re.match(r"comp_\w+_fn\b", text):
        return "pointer"
    word = re.sub(r"\b(const|struct)\b", "", text).split()[0]
    return {"size_t": "size", "double": "double", "bool": "bool", "int64_t": "int64", "void": None}.get(word, "int")


def declared(c_type):
    if c_type is None:
        return None
    named = {ctypes.c_size_t: "size", ctypes.c_double: "double", ctypes.c_bool: "bool", ctypes.c_int: "int", _lib.Status: "int", ctypes.c_int64: "int64"}
    if c_type is ctypes.c_int64:
        return "int64"
    return named.get(c_type, "pointer")


def test_functions_are_those_of_the_headers():
    text = headers()
    for name, (result, arguments) in _lib.FUNCTIONS.items():
        found = re.search(r"COMP_API\s+([^;{}()]*?)\b" + name + r"\(([^;]*?)\)\s*;", text)
        assert found, f"{name} is in no header"
        returned = found.group(1).strip()
        if result is _lib.Status:
            assert returned == "comp_status", name
        else:
            assert kind_of(returned) == declared(result), name
        parts = [] if found.group(2).strip() == "void" else found.group(2).split(",")
        assert [kind_of(p) for p in parts] == [declared(a) for a in arguments], name


def test_dir_lists_all_names():
    assert set(comp.__all__) <= set(dir(comp))
    assert "ConditionInvariant" in dir(comp)


def test_structs_are_those_of_the_headers():
    text = headers()
    for struct, name in ((_lib.Progress, "comp_progress"), (_lib.Losses, "comp_losses"), (_lib.Epoch, "comp_epoch"), (_lib.Prediction, "comp_prediction"),
                         (_lib.Mapping, "comp_mapping"), (_lib.UmapInfo, "comp_umap_info"), (_lib.BaselineMethod, "comp_baseline_method"), (_lib.ScoreMetric, "comp_score_metric"),
                         (_lib.Suggest, "comp_suggest")):
        body = re.search(r"typedef struct " + name + r" \{(.*?)\}", text, re.S).group(1)
        fields = []
        for line in body.split(";"):
            if line.strip():
                kind, names = re.match(r"\s*(.*?[\s*])(\w+(?:\s*,\s*\w+)*)\s*$", line, re.S).groups()
                fields += [(n.strip(), kind) for n in names.split(",")]
        assert [n for n, _ in fields] == [n for n, _ in struct._fields_], name
        for (field, kind), (_, declared_type) in zip(fields, struct._fields_):
            if "*" in kind:
                assert ctypes.sizeof(declared_type) == 8, (name, field)
            else:
                size = {"double": 8, "uint64_t": 8, "size_t": 8, "bool": 1, "comp_losses": 32, "comp_better": 4}[kind.strip()]
                assert ctypes.sizeof(declared_type) == size, (name, field)


def test_statuses_are_those_of_the_header():
    from comp import _errors

    names = re.findall(r"COMP_ERR_(\w+)", re.search(r"typedef enum comp_status \{(.*?)\}", headers(), re.S).group(1))
    assert names == ["ARGUMENT", "MEMORY", "IO", "FORMAT", "DATA", "NUMERIC", "INTERRUPTED", "UNAVAILABLE"]
    assert len(_errors.BY_STATUS) == len(names) and _errors.INTERRUPTED == 1 + names.index("INTERRUPTED")


def test_one_version():
    meson = open(os.path.join(ROOT, "meson.build"), encoding="utf-8").read()
    version = re.search(r"version: '([0-9.]+)'", meson).group(1)
    assert comp.__version__ == version == comp.library_version


def test_missing_library_is_a_clear_error(tmp_path, monkeypatch):
    monkeypatch.setenv("COMP_LIBRARY", str(tmp_path / "libcomp.so"))
    with pytest.raises(comp.LibraryError, match="(?s)could not be loaded.*libcomp.so.*COMP_LIBRARY"):
        _lib.load()


def test_another_library_is_a_clear_error():
    with pytest.raises(comp.LibraryError, match="is not a libcomp"):
        _lib.declare(ctypes.CDLL("libm.so.6"), "libm.so.6")


def test_order_of_the_search(tmp_path, monkeypatch):
    """As in a wheel that carries the library; the variable comes first, the loader after it; then what ./dev install put beside the program."""
    monkeypatch.delenv("COMP_LIBRARY", raising=False)
    monkeypatch.setattr(_lib, "__file__", str(tmp_path / "_lib.py"))
    monkeypatch.setenv("PATH", str(tmp_path / "prefix" / "bin"))
    assert _lib.candidates() == ["libcomp.so.0.2", "libcomp.so"]
    for folder, name in (("bin", "comp"), ("lib/triplet", "libcomp.so.0.2")):
        (tmp_path / "prefix" / folder).mkdir(parents=True)
        (tmp_path / "prefix" / folder / name).touch(0o755)
    assert _lib.candidates() == ["libcomp.so.0.2", "libcomp.so", str(tmp_path / "prefix/lib/triplet/libcomp.so.0.2")]
    os.symlink(os.path.realpath(comp.library_path), tmp_path / "libcomp.so.0.2")
    assert _lib.load()[1] == str(tmp_path / "libcomp.so.0.2")
    monkeypatch.setenv("COMP_LIBRARY", comp.library_path)
    assert _lib.load()[1] == comp.library_path
