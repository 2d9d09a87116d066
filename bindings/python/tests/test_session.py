"""What concerns a session: Ctrl-C, fork, threads, messages, progress."""
import io
import logging
import multiprocessing
import os
import re
import signal
import threading

import numpy as np
import pytest

import comp
from conftest import SMALL

INTERRUPT = """
import sys, threading, signal, os, time
import comp
adata = comp.pp.simulate(cells=2000, genes=200, seed=1)
comp.pp.prepare(adata, normalize_total="median", log1p=True)
options = dict(hidden=[32], latent=3, epochs=60)
whole = comp.CoMP(adata, "condition", **options).fit().to_bytes()
model = comp.CoMP(adata, "condition", **options)
def tell(e):
    if e.epoch == 3:
        print("ready", flush=True)
    if e.epoch >= 3:
        time.sleep(0.1)  # until the signal is there
try:
    model.fit(on_epoch=tell)
    print("not interrupted")
except KeyboardInterrupt as error:
    print(type(error).__name__, error, flush=True)
print("usable", comp.tl.train(adata, "condition", hidden=[8], latent=2, epochs=1, copy=True).obsm["X_comp"].shape)
print("resumed", model.fit(resume=True).to_bytes() == whole)
print("handler", signal.getsignal(signal.SIGINT) is signal.default_int_handler, flush=True)
# A call without any callback: nothing but the signal wakes Python up.
adata.obsm["wide"] = adata.layers["comp"].toarray()
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
begin = time.time()
try:
    comp.tl.umap(adata, "wide", epochs=100000, progress=False)
    print("not interrupted")
except KeyboardInterrupt as error:
    print(type(error).__name__, "umap" if time.time() - begin < 60 else "late", "X_umap" in adata.obsm)
"""


def test_ctrl_c(script):
    process = script(INTERRUPT)
    assert process.stdout.readline() == "ready\n", process.communicate()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert out.splitlines() == ["Interrupted training was interrupted; fit(resume=True) goes on from there", "usable (2000, 2)", "resumed True", "handler True",
                                "Interrupted umap False"], out + err
    assert process.returncode == 0 and "Exception ignored" not in err and "Traceback" not in err


SIGNAL_ELSEWHERE = """
import os, signal, sys, threading, time
import comp
comp.settings.progress = False
adata = comp.pp.simulate(cells=300, genes=60, seed=1)
comp.pp.prepare(adata, normalize_total="median", log1p=True)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # the main thread is never woken by the signal: another one gets it
def other():
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    time.sleep(1)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=other, daemon=True).start()
model = comp.CoMP(adata, "condition", hidden=[16], latent=3)
try:
    model.fit(epochs=1000000)
    print("not interrupted")
except comp.Interrupted as error:
    print(type(error).__name__, error.done, error.model.fitted, flush=True)
"""


def test_ctrl_c_that_another_thread_gets(script):
    """Without callbacks nothing else wakes the main thread up; the training would last for hours."""
    process = script(SIGNAL_ELSEWHERE)
    try:
        out, err = process.communicate(timeout=600)
    finally:
        process.kill()
    assert out.split() == ["Interrupted", "False", "True"], out + err


def test_ctrl_c_when_training_is_done(ready, monkeypatch):
    """The model stays."""
    whole = comp.CoMP(ready, "condition", **SMALL).fit().to_bytes()
    run = comp._context.Context._run

    def late(self, function, arguments):
        found = run(self, function, arguments)
        self.stopped = self.stopped or function is comp._lib.lib.comp_train
        return found

    monkeypatch.setattr(comp._context.Context, "_run", late)
    model = comp.CoMP(ready, "condition", **SMALL)
    with pytest.raises(KeyboardInterrupt, match="the model is fitted"):
        model.fit()
    assert model.fitted and model.finished and model.to_bytes() == whole
    with pytest.raises(comp.Interrupted) as raised:
        comp.tl.train(ready, "condition", **SMALL)
    assert raised.value.done and raised.value.model.to_bytes() == whole


def embed_in_child(adata, queue):
    queue.put(comp.model(adata).embed().tobytes())


def test_after_fork(ready):
    expected = comp.model(ready).embed()  # the library has worked in this process before
    np.dot(np.ones((500, 500)), np.ones((500, 500)))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=embed_in_child, args=(ready, queue)) for _ in range(2)]
    for child in children:
        child.start()
    assert [queue.get(timeout=120) for _ in children] == [expected.tobytes()] * 2
    for child in children:
        child.join()
        assert child.exitcode == 0


def embed_part(args):
    model, adata = args
    return model.embed(adata, threads=1)


def test_multiprocessing(ready):
    """Models travel to other processes by pickle, also to new ones."""
    model = comp.CoMP(ready, "condition", **SMALL).fit()
    expected = model.embed()
    adata = ready.copy()
    adata.uns.clear()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        adata.X = adata.layers.pop("comp")
        assert np.array_equal(pool.map(embed_part, [(model, adata)])[0], expected)


def test_python_threads(ready):
    model = comp.model(ready)
    expected = model.embed().tobytes()
    found, errors = [], []

    def work():
        try:
            found.append(model.embed().tobytes())
            comp.tl.embed(ready, layer="lost", copy=True)
        except comp.DataError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4 and len(errors) == 4 and all("no layer 'lost'" in e for e in errors)


def test_logging(ready, caplog):
    part = ready[:, 5:].copy()  # some features are lacking
    with caplog.at_level(logging.WARNING, "comp"):
        comp.tl.embed(part)
    assert any("filled with their training mean" in r.message and r.levelno == logging.WARNING and r.name == "comp" for r in caplog.records)
    more = ready.copy()
    caplog.clear()
    with caplog.at_level(logging.INFO, "comp"):
        comp.tl.train(more, "condition", **SMALL)
    assert any(r.levelno == logging.INFO for r in caplog.records)
    caplog.clear()
    with caplog.at_level(logging.ERROR, "comp"):
        comp.tl.embed(part)
    assert not caplog.records


def test_commands_for_a_shell_are_said_to_be_so(cells, caplog):
    with caplog.at_level(logging.DEBUG, "comp"):
        comp.run(cells, "condition", no_umap=True, no_diagnose=True, no_counterfactual=True, no_correct=True, **SMALL)
    shell = [r for r in caplog.records if r.message.startswith("in a shell: comp train ")]
    assert shell and all(r.levelno == logging.DEBUG and "--condition condition" in r.message for r in shell)
    assert not any(re.match(r"\$ |comp(\.\w+)* .*-i ", r.message) for r in caplog.records)


def test_progress(ready, monkeypatch):
    tqdm = pytest.importorskip("tqdm")
    assert tqdm
    text = io.StringIO()
    monkeypatch.setattr("sys.stderr", text)
    comp.tl.train(ready, "condition", progress=True, **{**SMALL, "epochs": 30})
    assert "%" in text.getvalue() and "train" in text.getvalue().lower()
    text.truncate(0)
    comp.tl.train(ready, "condition", **SMALL)  # stderr is no terminal
    comp.tl.train(ready, "condition", progress=False, **SMALL)
    assert text.getvalue() == ""


def test_settings(ready, monkeypatch):
    monkeypatch.setattr(comp.settings, "threads", 1)
    z = comp.model(ready).embed()
    monkeypatch.setattr(comp.settings, "threads", 3)
    assert comp.model(ready).embed().tobytes() == z.tobytes()
    with pytest.raises(comp.ArgumentError, match="threads"):
        comp.model(ready).embed(threads=100000)


def test_no_files_are_left(ready, monkeypatch, tmp_path):
    import gc
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    comp.tl.train(ready, "condition", **SMALL)
    gc.collect()
    assert os.listdir(tmp_path) == []
