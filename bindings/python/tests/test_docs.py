"""The code of docs/python.md, run from top to bottom."""
import os
import re

import matplotlib.pyplot as plt

import comp
from conftest import ROOT


def test_tour(tmp_path, monkeypatch, capsys):
    text = open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8").read()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) >= 8
    monkeypatch.chdir(tmp_path)
    for name in ("threads", "progress"):
        monkeypatch.setattr(comp.settings, name, getattr(comp.settings, name))
    names = {}
    for i, block in enumerate(blocks):
        exec(compile(block, f"docs/python.md, block {i + 1}", "exec"), names)
    plt.close("all")
    import logging

    logging.getLogger("comp").setLevel(logging.NOTSET)
    out = capsys.readouterr().out
    assert "report: " in out and "did you mean 'condition'" in out
    assert {"X_comp", "X_umap", "X_harmony"} <= set(names["adata"].obsm) and {"counterfactual_treated", "corrected"} <= set(names["adata"].layers)
    assert os.path.exists("report.html") and os.path.exists("scores.png")
