"""Figures: that they show what they say."""
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest

import comp


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_maps(ready):
    comp.tl.umap(ready, epochs=10)
    ready.obsm["X_umap_before"] = ready.obsm["X_umap"][::-1].copy()
    figure = comp.pl.maps(ready, ["condition", "label", "library_size", ready.var_names[0]])
    panels = [a for a in figure.axes if a.get_title()]
    assert len(panels) == 8 and panels[0].get_title() == "condition, X_umap_before"
    points = panels[1].collections[0].get_offsets()
    assert np.allclose(np.sort(points[:, 0]), np.sort(ready.obsm["X_umap"][:, 0]))
    assert [t.get_text() for t in panels[0].get_legend().get_texts()] == ["control", "treated"]
    axis = plt.figure().gca()
    comp.pl.maps(ready, "label", "X_comp", axes=axis)
    assert axis.get_title() == "label"
    with pytest.raises(comp.DataError, match="did you mean 'label'"):
        comp.pl.maps(ready, "labl")
    with pytest.raises(comp.DataError, match="X_lost"):
        comp.pl.maps(ready, "label", "X_lost")


def test_training(ready):
    figure = comp.pl.training(ready)
    assert [a.get_title() for a in figure.axes] == ["total", "likelihood", "kl", "penalty"]
    line = figure.axes[0].lines[0]
    assert np.allclose(line.get_ydata(), comp.model(ready).history["train_total"])


def test_counterfactual(ready):
    comp.tl.counterfactual(ready, "treated", from_="control")
    figure = comp.pl.counterfactual(ready, "treated", "control", "condition", "label")
    panels = [a for a in figure.axes if a.get_visible()]
    assert len(panels) == 5 and all("r = " in a.get_title() for a in panels)
    rows = (ready.obs["label"] == "type1") & (ready.obs["condition"] == "control")
    expected = ready.layers["counterfactual_treated"][rows.to_numpy()].mean(axis=0)
    panel = next(a for a in panels if a.get_title().startswith("type1"))
    assert np.allclose(panel.collections[1].get_offsets()[:, 0], expected, atol=1e-4)
    with pytest.raises(comp.DataError, match="comp.tl.counterfactual"):
        comp.pl.counterfactual(ready, "control", "treated", "condition")


def test_scores(ready):
    with pytest.raises(comp.DataError, match="comp.tl.score"):
        comp.pl.scores(ready)
    found = comp.tl.score(ready, "condition", k=20, use=["X_comp"])
    for figure in (comp.pl.scores(ready), comp.pl.scores(found)):
        labels = [t.get_text() for t in figure.axes[0].get_yticklabels()]
        assert any("lower is better" in label for label in labels)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a layout that does not fit
            figure.canvas.draw()
        assert figure.axes[0].get_position().width > 0.4
