#!/usr/bin/env python3
"""Writes the stubs (.pyi) of the modules whose signatures come from the option tables, for editors and type checkers.

    python3 stubs.py            writes them
    python3 stubs.py --check    fails when they are not current (a test does this)
"""
import ast
import importlib
import inspect
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
MODULES = ["tl", "pp", "_run", "_model", "_estimator"]


def hint(annotation):
    text = inspect.formatannotation(annotation)
    for long, short in (("typing.", ""), ("ForwardRef('os.PathLike[str]')", "os.PathLike[str]"), ("NoneType", "None")):
        text = text.replace(long, short)
    return text


def options_of(function):
    """The parameters that stand for **options."""
    signature = inspect.signature(function)
    made = []
    for p in signature.parameters.values():
        if p.kind is inspect.Parameter.KEYWORD_ONLY:
            made.append((ast.arg(p.name, ast.parse(hint(p.annotation), mode="eval").body), ast.Constant(p.default)))
    return made


def plain(node, function):
    """A function without its body, with all of its options."""
    if node.args.kwarg is not None:
        own = {a.arg for a in node.args.kwonlyargs}
        for argument, default in options_of(function):
            if argument.arg not in own:
                node.args.kwonlyargs.append(argument)
                node.args.kw_defaults.append(default)
        node.args.kwarg = None
    if node.name == "__init__" or node.returns is None and node.name in ("__setstate__",):
        node.returns = ast.Constant(None)
    node.body = [ast.Expr(ast.Constant(...))]
    node.decorator_list = [d for d in node.decorator_list if isinstance(d, ast.Name)]  # property, classmethod
    return node


def public(name):
    return not name.startswith("_") or name in ("__init__", "_of", "_model")


def reduce_class(node, made):
    body = [plain(n, getattr(made, n.name, None)) for n in node.body if isinstance(n, ast.FunctionDef) and public(n.name)]
    attributes = [ast.parse(f"{name}: {kind}").body[0] for name, kind in ATTRIBUTES.get(node.name, {}).items()]
    node.body = attributes + body or [ast.Expr(ast.Constant(...))]
    return node


ATTRIBUTES = {
    "CoMP": {"adata": "Any", "condition_key": "Optional[str]", "layer": "Optional[str]", "options": "dict"},
    "Mapped": {"model": "CoMP", "embedding": "np.ndarray", "obs": "pd.DataFrame", "report": "dict"},
    "Predicted": {"values": "np.ndarray", "sd": "Optional[np.ndarray]", "lower": "Optional[np.ndarray]", "upper": "Optional[np.ndarray]",
                  "predicted": "np.ndarray", "features": "list"},
    "RunResult": {"folder": "str", "report": "Report", "record": "dict", "scores": "Scores", "findings": "Findings"},
    "Handle": {"pointer": "Any"},
    "ConditionInvariant": {"model_": "CoMP", "conditions_": "np.ndarray", "n_features_in_": "int"},
}


def stub(name):
    module = importlib.import_module(f"comp.{name}")
    with open(os.path.join(HERE, "comp", name + ".py"), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    lines = ["# Made by stubs.py from the option tables of the library.", "import os", "from typing import Literal, Sequence, Union"]
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            lines.append(ast.unparse(node))
        elif isinstance(node, ast.Try):
            lines.append(ast.unparse(ast.Module([n for n in node.body if isinstance(n, ast.ImportFrom)], [])))
        elif isinstance(node, ast.ClassDef):
            lines.append("\n" + ast.unparse(reduce_class(node, getattr(module, node.name))))
        elif isinstance(node, ast.FunctionDef):
            lines.append(ast.unparse(plain(node, getattr(module, node.name))))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in ("Model",):
            lines.append(ast.unparse(node))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            lines.append(f"{node.targets[0].id}: Any")
    return "\n".join(lines) + "\n"


def main():
    stale = []
    for name in MODULES:
        path, text = os.path.join(HERE, "comp", name + ".pyi"), stub(name)
        there = open(path, encoding="utf-8").read() if os.path.exists(path) else None
        if there == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    if stale and "--check" in sys.argv:
        sys.exit(f"stubs that are not current: {', '.join(stale)}; run bindings/python/stubs.py")


if __name__ == "__main__":
    main()
