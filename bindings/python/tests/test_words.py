"""Messages of the library name arguments and functions of Python."""
import pathlib
import re

import pytest

import comp
from comp._words import NAME, in_python, table
from conftest import ROOT


@pytest.mark.parametrize("text, expected", [
    ("Train longer (--epochs) or raise --gamma.", "Train longer (epochs) or raise gamma."),
    ("Use --align all: it mixes", 'Use align="all": it mixes'),
    ("Add it, or name the new condition with --as NAME", 'Add it, or name the new condition with as_="NAME"'),
    ("Train with --gamma 0 and give that model with --against.", "Train with gamma=0 and give that model with against."),
    ("raise --gamma only if samples are not mixed (comp score: m_kbet).", "raise gamma only if samples are not mixed (comp.tl.score(): m_kbet)."),
    ("Leave out --log1p, or do it anyway (--force)", "Leave out log1p=True, or do it anyway (force=True)"),
    ("X does not look logged: comp prep --normalize-total median --log1p makes it so",
     'X does not look logged: comp.pp.prepare(normalize_total="median", log1p=True) makes it so'),
    ("comp run --all-counterfactuals predicts all; comp counterfactual --to VALUE one.",
     'comp.run(all_counterfactuals=True) predicts all; comp.tl.counterfactual(to="VALUE") one.'),
    ("run comp counterfactual --to 'a b' first", "run comp.tl.counterfactual(to='a b') first"),
    ("Train with other seeds (comp train --seed) and give all models with -m.",
     "Train with other seeds (comp.tl.train(seed=...)) and give all models with model."),
    ("enough (comp prep --keep COL=A,B)", 'enough (comp.pp.prepare(keep="COL=A,B"))'),
    ("Run comp score with --label and --metrics paper,scib.", 'Run comp.tl.score() with label and metrics="paper,scib".'),
    ("name the model, or write them with comp embed --scales", "name the model, or write them with comp.tl.embed(scales=True)"),
    ("hvg-batch: it needs hvg", "hvg_batch: it needs hvg"),
    # What is not in the tables, and what only looks like an option, stays.
    ("as comp score --json writes", "as comp score --json writes"),
    ("comp convert makes an .h5ad of it", "comp convert makes an .h5ad of it"),
    ("my--gamma/x--seed.h5ad: no such file", "my--gamma/x--seed.h5ad: no such file"),
    ("/data/--gamma: it is there", "/data/--gamma: it is there"),
    ("$ comp train -i data.h5ad --condition stim --seed 0", "$ comp train -i data.h5ad --condition stim --seed 0"),
    ("a comp training of the year", "a comp training of the year"),
    ("", ""),
    (None, None),
])
def test_words(text, expected):
    assert in_python(text) == expected


def messages():
    """The texts of the library's sources that name options; the program's own are not shown in Python."""
    for path in sorted(pathlib.Path(ROOT, "src").rglob("*.[ch]")):
        if path.parts[-2] not in ("cli", "experiment"):
            for found in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', path.read_text()):
                text = re.sub(r'"\s*"', "", found.group()[1:-1])
                if re.search(rf"(?<![\w/.-])--{NAME}", text):
                    yield path, text


def test_no_message_names_an_option_of_the_program():
    found = 0
    for path, text in messages():
        found += 1
        left = set(re.findall(rf"(?<![\w/.-])--({NAME})", in_python(text))) & set(table())
        assert not left, f"{path}: {in_python(text)}"
    assert found > 50


def test_errors_messages_findings_and_docstrings(ready, caplog):
    query = ready[:50].copy()
    del query.obs["condition"]
    with pytest.raises(comp.DataError, match='with as_="NAME"'):
        comp.tl.map(query, ready)
    with pytest.raises(comp.ArgumentError, match="^hvg_batch: "):
        comp.pp.prepare(ready, hvg_batch="label")
    with caplog.at_level("INFO", "comp"):
        comp.tl.map(ready[:50].copy(), ready, steps=2)
    assert 'with as_="NAME"' in caplog.text and "--" not in caplog.text
    found = comp.tl.diagnose(ready, permutations=20).findings
    assert not re.search(r"(^| |\()--", repr(found) + found._repr_html_())
    for function in (comp.tl.train, comp.tl.score, comp.tl.audit, comp.run):
        assert not re.search(r"(^| |\()--[a-z]", function.__doc__)
