"""Results: the words of the library, as the terminal and the page show them."""
import re

import pytest

import comp
from comp._words import in_python
from conftest import read


def lines(text):
    return [line.rstrip() for line in text.splitlines()]


@pytest.fixture(autouse=True)
def width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")  # what the program takes where there is no terminal


def test_checks_as_the_terminal_shows_them(ready_file, program):
    out = lines(program("diagnose", "-i", ready_file / "ready.h5ad", "-m", ready_file / "model.comp", "-l", "label"))
    found = comp.tl.diagnose(read(ready_file / "ready.h5ad"), ready_file / "model.comp", label_key="label")
    assert repr(found).split() == in_python(" ".join(" ".join(out[3:]).split())).split()  # without the sentence on how to read it
    assert lines(repr(found))[:2] == out[3:5]
    html = found._repr_html_()
    for finding in found.findings:
        assert finding.id in html
    assert "not checked" in html and found.findings.worst == found.worst


def test_findings_as_the_terminal_shows_them(ready_file, program, tmp_path):
    options = ["--hidden", 16, "--latent", 3, "--epochs", 4, "--k", 20, "--no-diagnose", "--no-umap", "--no-correct"]
    out = program("run", "-i", ready_file / "cells.h5ad", "-o", tmp_path / "a", "-c", "condition", "-l", "label", *options)
    result = comp.run(read(ready_file / "cells.h5ad"), "condition", "label", hidden=[16], latent=3, epochs=4, k=20, no_diagnose=True, no_umap=True,
                      no_correct=True)
    shown = [line for line in lines(repr(result.findings)) if "see .to_frame()" not in line]
    theirs = lines(out)
    begin = next(i for i, line in enumerate(theirs) if line.startswith(shown[0][:27]))
    theirs = [line for line in theirs[begin:] if not re.match(r"\d+ notes?: see|report: ", line)]
    # Options are arguments here, and the program counts the bytes of an arrow: lines may end elsewhere.
    assert " ".join(shown).split() == in_python(" ".join(" ".join(theirs).split())).split()
    frame = result.scores._table()
    for metric, row in (("kBET", "kBET: badly mixed neighbourhoods"), ("s, local silhouette", "s: local silhouette of the condition")):
        values = [float(v) for v in re.search(re.escape(row) + r".*?((?: +-?[0-9.]+)+)$", out, re.M).group(1).split()]
        assert [round(v, 3) + 0 for v in frame.loc[metric]] == pytest.approx(values, abs=6e-4)
    text = repr(result)
    assert "report: " in text and "kBET" in text
    html = result._repr_html_()
    assert "mixing" in html and "<table" in html and "kBET" in html


def test_findings(ready):
    scores = comp.tl.score(ready, "condition", "label", predict="condition", k=20)
    found = scores.findings
    assert found["mixing"].question and found["mixing"].numbers["kbet"] == pytest.approx(scores.to_frame().loc["kbet", "X_comp"])
    assert found["mixing"].numbers["chance"] == pytest.approx(scores.chance.loc["kbet", "X_comp"])
    assert set(scores.chance.index) <= {"kbet", "m_kbet"} and "kBET, perfect mixing" in repr(scores)
    with pytest.raises(KeyError):
        found["no such finding"]
    assert found[0] is not None and found.worst in ("ok", "caution", "problem")
    assert list(found.to_frame().columns) == ["id", "level", "question", "text", "advice"] and len(found.to_frame()) == len(found)
    assert scores.better["kbet"] == "lower" and scores["samples"] == 500
    assert found["mixing"].text in scores._repr_html_().replace("&#x27;", "'")
    for finding in found:
        if finding.level != "note":
            assert finding.text.split()[0] in repr(scores)


def test_html_is_escaped():
    from comp._results import Finding, Findings

    item = {"id": "x", "level": "caution", "question": "q", "text": "<script>alert(1)</script>", "advice": "a & b", "numbers": {}, "labels": []}
    html = Findings([Finding(item)])._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html and "a &amp; b" in html


def test_predictions(ready):
    comp.tl.counterfactual(ready, "treated", from_="control")
    scores = comp.tl.score(ready, "condition", "label", counterfactual="counterfactual_treated", from_="control", to="treated")
    table = scores.predictions()
    assert set(table["predictor"]) == {"prediction", "no_change", "mean_shift", "ceiling"} and "mean" in set(table["label"])
    assert table["rmse_truth"].notna().any()  # the truth is in the layers
    assert "no_change" in repr(scores) and "mean_shift" in scores._repr_html_()
