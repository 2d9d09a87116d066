"""What the tests share: small simulated data, the program, real data where it is there."""
import os
import signal
import subprocess
import sys

import anndata
import matplotlib
import pytest

matplotlib.use("Agg")

import comp  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
SMALL = dict(hidden=[16], latent=3, epochs=4, seed=1)


@pytest.fixture(scope="session")
def program():
    """Runs the program comp, quietly; its stdout is returned."""
    path = os.environ.get("COMP", os.path.join(ROOT, "build", "comp"))
    if not os.path.exists(path):
        pytest.skip("there is no program comp")
    return lambda *arguments: subprocess.run([path, *map(str, arguments), "-q"], check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="session")
def kang():
    folder = os.environ.get("COMP_DATA", os.path.join(ROOT, "..", "shared", "data"))
    path = os.path.join(folder, "kang", "kang_ifnb.h5ad")
    if not os.path.exists(path):
        pytest.skip("the real data is not there")
    return path


@pytest.fixture(scope="session")
def raw_cells():
    return comp.pp.simulate(cells=500, genes=60, seed=3)


@pytest.fixture(scope="session")
def trained_cells(raw_cells):
    adata = raw_cells.copy()
    comp.pp.prepare(adata, normalize_total="median", log1p=True)
    comp.tl.train(adata, "condition", **SMALL)
    return adata


@pytest.fixture
def cells(raw_cells):
    """Counts."""
    return raw_cells.copy()


@pytest.fixture
def ready(trained_cells):
    """Prepared, with a small model and its embedding."""
    return trained_cells.copy()


@pytest.fixture(scope="session")
def ready_file(program, tmp_path_factory):
    """What the program makes of the same cells: a prepared file and a model."""
    folder = tmp_path_factory.mktemp("program")
    program("simulate", "-o", folder / "cells.h5ad", "--cells", 500, "--genes", 60, "--seed", 3)
    program("prep", "-i", folder / "cells.h5ad", "-o", folder / "ready.h5ad", "--normalize-total", "median", "--log1p")
    program("train", "-i", folder / "ready.h5ad", "-o", folder / "model.comp", "-c", "condition", "--hidden", 16, "--latent", 3, "--epochs", 4, "--seed", 1)
    program("embed", "-i", folder / "ready.h5ad", "-m", folder / "model.comp", "-o", folder / "ready.h5ad")
    return folder


def hear_ctrl_c():
    """A script in the background ignores SIGINT, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def script(tmp_path):
    """Starts Python with a script of its own, for what concerns a whole process."""

    def start(text, *arguments, **more):
        path = tmp_path / "script.py"
        path.write_text(text)
        return subprocess.Popen([sys.executable, str(path), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                cwd=tmp_path, preexec_fn=hear_ctrl_c, **more)

    return start


def read(path):
    return anndata.read_h5ad(path)
