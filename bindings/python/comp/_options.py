"""Options by name. Signatures, docstrings and checks come from the library's tables (comp_options_describe())."""
import ctypes
import inspect
import json
import keyword
import numbers
import os
import textwrap
from typing import Literal, Optional, Sequence, Union

from . import _lib
from ._errors import ArgumentError
from ._lib import check, encode, hint, lib, text_array
from ._words import in_python

PathLike = Union[str, "os.PathLike[str]"]
TYPES = {
    "bool": bool,
    "int": int,
    "real": float,
    "bytes": Union[int, str],
    "text": str,
    "file": PathLike,
    "texts": Union[str, Sequence[str]],
    "names": Union[str, Sequence[str]],
    "ints": Union[int, Sequence[int]],
    "reals": Union[float, Sequence[float]],
}


def describe():
    pointer = ctypes.c_void_p()
    check(lib.comp_options_describe(ctypes.byref(pointer)))
    return json.loads(_lib.take_text(pointer))


KINDS = {kind["name"]: {o["name"]: o for o in kind["options"]} for kind in describe()["kinds"]}


def python_name(name):
    """As Python can write it: min-dist is min_dist, lambda is lambda_."""
    name = name.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def rows(kind, without=(), only=None):
    """The options of a kind by their Python names, in the order of the table."""
    return {python_name(n): o for n, o in KINDS[kind].items() if n not in without and (only is None or n in only)}


class Options:
    """A comp_options with values by their Python names; None leaves an option unset."""

    def __init__(self, kind, values):
        self.kind, self.pointer = kind, ctypes.c_void_p()
        check(lib.comp_options_new(ctypes.byref(self.pointer), kind.encode()))
        try:
            names = {python_name(n): n for n in KINDS[kind]}
            for name, value in values.items():
                if value is not None:
                    self.set(names.get(name, name.replace("_", "-")), value)
        except BaseException:
            self.free()
            raise

    def free(self):
        lib.comp_options_free(self.pointer)
        self.pointer = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.free()

    def set(self, name, value):
        key = name.encode()
        kind = KINDS[self.kind].get(name, {}).get("type")
        if hasattr(value, "item") and not isinstance(value, (list, tuple)) and getattr(value, "ndim", None) == 0:
            value = value.item()  # a number of numpy
        if kind in ("texts", "names", "ints", "reals") and not isinstance(value, (str, bytes, numbers.Number)):
            items = [str(v) for v in value]
            if kind in ("ints", "reals"):
                check(lib.comp_options_set(self.pointer, key, ",".join(items).encode()))
            else:
                check(lib.comp_options_set_list(self.pointer, key, text_array(items), len(items)))
        elif isinstance(value, bool) and kind == "bool":
            check(lib.comp_options_set_bool(self.pointer, key, value))
        elif isinstance(value, numbers.Integral) and not isinstance(value, bool) and kind in ("int", "real"):
            if not -(2**63) <= value < 2**63:
                raise ArgumentError(f"{python_name(name)}: {value} is too large")
            check(lib.comp_options_set_int(self.pointer, key, int(value)))
        elif isinstance(value, numbers.Real) and kind == "real":
            check(lib.comp_options_set_real(self.pointer, key, float(value)))
        else:
            check(lib.comp_options_set(self.pointer, key, encode(value)))

    def check(self):
        check(lib.comp_options_check(self.pointer))


# ---- Signatures and docstrings


def annotation(option):
    if option["type"] == "choice":
        return Literal[tuple(option["choices"])]
    return TYPES[option["type"]]


def default(option):
    """The value that the signature shows: None where the preset, the data or another option decides."""
    value = option["default"]
    if value is None or option["varies"] or option["unset"]:
        return None
    if option["type"] == "bool":
        return value == "true"
    if option["type"] == "int":
        return int(value)
    if option["type"] == "real":
        return float(value)
    return value


def parameter(name, option):
    value = default(option)
    hint = annotation(option)
    if value is None:
        hint = Optional[hint]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=hint)


def option_text(name, option):
    """The entry of a docstring."""
    known = [f"one of {', '.join(option['choices'])}"] if option["choices"] else [option["type"]]
    low, high = option["min"], option["max"]
    if low is not None or high is not None:
        known.append(f"{'' if low is None else f'{low:g}'} to {'' if high is None else f'{high:g}'}".strip())
    if option["unset"]:
        known.append(f"default: {option['unset']}")
    elif option["default"] is not None:
        known.append(f"default: {option['default']}" + (f" ({option['varies']})" if option["varies"] else ""))
    text = option["help"][:1].upper() + option["help"][1:] + "."
    helps = option["choice_helps"] or []
    told = [f"{c}: {h}" for c, h in zip(option["choices"] or [], helps) if h]
    if told:
        text += " " + "; ".join(told) + "."
    return f"{name} : {in_python(', '.join(known))}\n" + textwrap.indent(textwrap.fill(in_python(text), 116), "    ")


def with_options(kind, without=(), only=None):
    """Gives a function with **options the signature and docstring of a kind. A line `{options}` of the docstring is where they go."""

    def wrap(function):
        table = rows(kind, without, only)
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        taken = {p.name for p in own}
        own += [parameter(n, o) for n, o in table.items() if n not in taken]
        function.__signature__ = signature.replace(parameters=own)
        entries = "\n".join(option_text(n, o) for n, o in table.items() if n not in taken)
        function.__doc__ = inspect.cleandoc(function.__doc__).replace("{options}", entries)
        function.__comp_options__ = (kind, tuple(n for n in table if n not in taken))
        return function

    return wrap


def check_names(function, values):
    """A keyword that is no option is a TypeError, as Python has it, with the nearest name."""
    _, known = function.__comp_options__
    for name in values:
        if name not in known:
            raise TypeError(f"{function.__name__}() has no argument '{name}'{hint(name, [*known, *inspect.signature(function).parameters])}")


__all__ = ["KINDS", "Options", "check_names", "python_name", "rows", "with_options"]
