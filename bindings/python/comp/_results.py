"""Results: findings and scores as the library words them, for terminals (repr) and notebooks (_repr_html_)."""
import ctypes
import html
import json
import math
import shutil
import textwrap

import pandas as pd

from ._lib import decode, encode, lib
from ._words import in_python

CHECK_WORDS = {"ok": "pass", "note": "not checked", "caution": "caution", "problem": "fail"}  # as comp diagnose prints them
COLOURS = {"ok": "#1a7f4b", "note": "#5b6570", "caution": "#9a6200", "problem": "#b3261e"}
STYLE = "text-align:left;vertical-align:top;padding:2px 8px"


def terminal_width():
    return max(80, min(shutil.get_terminal_size((120, 24)).columns, 160))


def flow(head, text, indent, width):
    """Text that goes on under itself, behind a head of its first line."""
    lines = textwrap.wrap(text, max(width - indent, 20), break_long_words=False, break_on_hyphens=False) or [""]
    if len(head) > indent:  # a long name pushes its first line to the right
        lines = textwrap.wrap("\0" * (len(head) - indent) + text, max(width - indent, 20), break_long_words=False, break_on_hyphens=False)
        lines[0] = lines[0].lstrip("\0")
    return "\n".join([head.ljust(indent) + lines[0]] + [" " * indent + line for line in lines[1:]])


class Finding:
    """One finding: id, level ("ok", "note", "caution", "problem"), question, text, advice, numbers and labels."""

    def __init__(self, item):
        self.id, self.level, self.question = item["id"], item["level"], item["question"]
        self.text, self.advice = in_python(item["text"]), in_python(item["advice"])
        self.numbers, self.labels = dict(item["numbers"]), list(item["labels"])

    def __repr__(self):
        text = self.text + (" -> " + self.advice if self.advice else "")
        return flow(f"{self.level:8} {self.id:<18} ", text, 32, terminal_width())


class Findings(list):
    """A list of findings. Levels and words are the library's; it prints as the program comp prints it."""

    checks = False  # whether they are checks of a model, which pass or fail

    @property
    def worst(self) -> str:
        """The highest level of all findings, notes aside."""
        order = ["ok", "caution", "problem"]
        return max((f.level for f in self if f.level in order), key=order.index, default="ok")

    def __getitem__(self, key):
        """By number, or by id; a name that is no finding is a KeyError."""
        if isinstance(key, str):
            for finding in self:
                if finding.id == key:
                    return finding
            raise KeyError(key)
        return super().__getitem__(key)

    def to_frame(self) -> pd.DataFrame:
        """A row a finding."""
        return pd.DataFrame([(f.id, f.level, f.question, f.text, f.advice) for f in self], columns=["id", "level", "question", "text", "advice"])

    def __repr__(self):
        lines = [repr(f) for f in self if f.level != "note"]
        notes = sum(f.level == "note" for f in self)
        if notes:
            lines.append(f"{notes} note{'s' if notes > 1 else ''}: see .to_frame()")
        return "\n".join(lines)

    def _repr_html_(self):
        rows = []
        for f in self:
            advice = f"<br>&rarr; {html.escape(f.advice)}" if f.advice else ""
            word = CHECK_WORDS[f.level] if self.checks else f.level
            rows.append(f'<tr><td style="{STYLE};color:{COLOURS[f.level]};font-weight:600;white-space:nowrap">{html.escape(word)}</td>'
                        f'<td style="{STYLE};white-space:nowrap">{html.escape(f.id)}</td><td style="{STYLE}">{html.escape(f.text)}{advice}</td></tr>')
        return f'<table>{"".join(rows)}</table>'


class Checks(Findings):
    """Checks of a model: pass, caution, fail or not checked."""

    checks = True

    def __repr__(self):
        lines, question, width = [], None, terminal_width()
        for f in self:
            if f.question != question:
                lines += ([""] if lines else []) + [f.question]
                question = f.question
            value = next(iter(f.numbers.values()), None)
            value = "" if value is None or not math.isfinite(value) else f"{value:.3g}"
            lines.append(flow(f"  {CHECK_WORDS[f.level]:<12} {f.id:<16} {value:>9} ", f.text, 42, width))
            if f.advice:
                lines.append(flow("", "-> " + f.advice, 42, width))
        count = {level: sum(f.level == level for f in self) for level in CHECK_WORDS}
        lines += ["", f"{count['ok']} passed, {count['caution']} need caution, {count['problem']} failed, {count['note']} not checked"]
        return "\n".join(lines)


def metric_title(name):
    found = lib.comp_score_known_find(encode(name))
    return decode(found.contents.title) if found else name


def classifier_title(name):
    kind = ctypes.c_int()
    return decode(lib.comp_classifier_kind_title(kind)) if lib.comp_classifier_kind_parse(ctypes.byref(kind), encode(name)) == 0 else name


def embedding_title(name, model=None):
    return decode(lib.comp_embedding_title(encode(name), encode(model)))


class Document:
    """A result that is one JSON document of the library (docs/formats.md)."""

    def __init__(self, text):
        self.json = text
        self.data = json.loads(text)

    def __getitem__(self, key):
        return self.data[key]


class Scores(Document):
    """How well embeddings mix conditions and keep labels, what classifiers predict, how good predictions are; `findings` says what it means."""

    @property
    def findings(self) -> Findings:
        return Findings(Finding(f) for f in self.data.get("findings") or [])

    def to_frame(self) -> pd.DataFrame:
        """A row a metric, a column an embedding. NaN: it could not be computed."""
        rows: dict = {}
        for e in self.data.get("embeddings") or []:
            for name, score in e["scores"].items():
                rows.setdefault(name, {})[e["name"]] = float("nan") if score["value"] is None else score["value"]
        for p in self.data.get("predict") or []:
            for c in p["classifiers"]:
                rows.setdefault(f"{p['column']}, predicted by {classifier_title(c['classifier'])}", {})[p["embedding"]] = c["accuracy"]
            rows.setdefault(f"{p['column']}, always predicting the most common value", {})[p["embedding"]] = p["majority"]
        return self._frame(rows)

    @staticmethod
    def _frame(rows):
        """{metric: {embedding: value}} as a table."""
        columns = list(dict.fromkeys(name for row in rows.values() for name in row))
        values = [[row.get(name, float("nan")) for name in columns] for row in rows.values()]
        return pd.DataFrame(values, pd.Index(rows, name="metric", dtype=object), columns, dtype=float)

    @property
    def chance(self) -> pd.DataFrame:
        """What perfect mixing has, for the metrics where that is not the best value (kBET and m-kBET): a row a metric, a column an embedding."""
        rows: dict = {}
        for e in self.data.get("embeddings") or []:
            for name, score in e["scores"].items():
                if score.get("chance") is not None:
                    rows.setdefault(name, {})[e["name"]] = score["chance"]
        return self._frame(rows)

    @property
    def better(self) -> dict:
        """For each metric which values are better: "lower", "higher" or "zero"."""
        return {m["name"]: m["better"] for m in self.data.get("metrics") or []}

    def predictions(self) -> pd.DataFrame:
        """The scores of predictions of another condition: a row for each change, label and predictor."""
        first = self.data.get("counterfactual")
        rows = []
        for change in ([first] if first else []) + list(self.data.get("more_counterfactuals") or []):
            for part in list(change.get("labels") or []) + [{**change["mean"], "label": "mean"}]:
                for predictor, values in part.items():
                    if isinstance(values, dict):
                        rows.append({"from": change["from"], "to": change["to"], "label": part["label"], "predictor": predictor, **values})
        return pd.DataFrame(rows)

    def _table(self):
        frame, chance = self.to_frame(), self.chance
        rows = {}
        for name in frame.index:
            rows[metric_title(name)] = frame.loc[name]
            if name in chance.index:
                rows[metric_title(name) + ", perfect mixing"] = chance.loc[name]
        return pd.DataFrame(list(rows.values()), list(rows), frame.columns, dtype=float)

    def __repr__(self):
        parts = []
        frame = self._table()
        if len(frame):
            parts.append(frame.to_string(float_format=lambda v: f"{v:.4f}", na_rep="-"))
        mean = self.predictions()
        if len(mean):
            columns = [c for c in ("from", "to", "predictor", "r_all", "r_de", "r_change_de", "mse_de") if c in mean]
            parts.append(mean[mean["label"] == "mean"][columns].to_string(index=False, float_format=lambda v: f"{v:.4f}", na_rep="-"))
        parts.append(repr(self.findings))
        return "\n\n".join(parts)

    def _repr_html_(self):
        frame = self._table()
        table = frame.to_html(float_format=lambda v: f"{v:.4f}", na_rep="-", border=0) if len(frame) else ""
        mean = self.predictions()
        if len(mean):
            table += mean[mean["label"] == "mean"].drop(columns="label").to_html(index=False, float_format=lambda v: f"{v:.4f}", na_rep="-", border=0)
        return table + self.findings._repr_html_()


class Diagnosis(Document):
    """Whether a model can be trusted: `findings`, one a check, and all numbers behind them."""

    @property
    def findings(self) -> Checks:
        return Checks(Finding(f) for f in self.data["findings"])

    @property
    def worst(self) -> str:
        """The worst level among the checks that were made: "ok", "caution" or "problem"."""
        return self.data["worst"]

    def __repr__(self):
        return repr(self.findings)

    def _repr_html_(self):
        return self.findings._repr_html_()


class Audit(Document):
    """How well an attribute is hidden: `findings`, `attacks` and `certificates` as tables, and all numbers behind them."""

    @property
    def findings(self) -> Findings:
        return Findings(Finding(f) for f in self.data["findings"])

    @property
    def worst(self) -> str:
        """The highest level of all findings, notes aside: "ok", "caution" or "problem"."""
        return self.data["worst"]

    @property
    def audits(self) -> list:
        """(gamma, document) of each model of a frontier; of a single audit one, with gamma None."""
        return [(p["gamma"], p["audit"]) for p in self.data["points"]] if "points" in self.data else [(None, self.data)]

    @property
    def attacks(self) -> pd.DataFrame:
        """A row an attacker and source: accuracy, balanced accuracy and AUROC with their intervals."""
        rows = []
        for gamma, audit in self.audits:
            for entry in audit["attacks"]:
                for a in entry["attackers"]:
                    row = {"gamma": gamma, "source": entry["source"], "of": entry["of"], "attacker": a["attacker"], "setting": a["setting"]}
                    for name in ("accuracy", "balanced_accuracy", "auroc"):
                        row.update({name: a[name]["value"], name + "_low": a[name]["low"], name + "_high": a[name]["high"]})
                    rows.append(row)
        return pd.DataFrame(rows)

    @property
    def certificates(self) -> pd.DataFrame:
        """A row a release: upper bounds that hold for any attacker with probability 1 - delta."""
        rows = []
        for gamma, audit in self.audits:
            for c in audit["certificates"]:
                row = {"gamma": gamma, "release": c["release"], "delta": c["delta"], "samples": c["samples"]}
                rows.append({**row, **{name: c[name]["upper"] for name in ("balanced_accuracy", "accuracy", "parity_gap")}})
        return pd.DataFrame(rows)

    @property
    def utility(self) -> pd.DataFrame:
        """A row a source: how well the target is predicted, and gaps between groups."""
        return pd.DataFrame([{"gamma": gamma, **u} for gamma, audit in self.audits for u in audit["utility"]])

    def __repr__(self):
        return repr(self.findings)

    def _repr_html_(self):
        return self.findings._repr_html_()


class Report:
    """A page of comp.report() or comp.run(): one HTML file that opens without a network."""

    def __init__(self, path):
        self.path = str(path)

    def __fspath__(self):
        return self.path

    def open(self) -> None:
        """Opens the page in the browser."""
        import pathlib
        import webbrowser

        webbrowser.open(pathlib.Path(self.path).resolve().as_uri())

    def __repr__(self):
        return f"report: {self.path}"

    def _repr_html_(self):
        with open(self.path, encoding="utf-8") as file:
            page = file.read()
        return (f'<iframe srcdoc="{html.escape(page, quote=True)}" style="width:100%;height:800px;border:1px solid #ccc" title="report of comp"></iframe>'
                f"<div>{html.escape(self.path)}</div>")
