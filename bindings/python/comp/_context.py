"""Calls that compute: threads, messages (logging), progress (tqdm) and Ctrl-C.

Each call gets a context of its own, which lives as long as the call. So nothing is left that a fork() could break, and
calls from several Python threads do not know of each other.

On the main thread the library works on a second thread while the main one waits and runs the callbacks. Only so does
Python notice Ctrl-C at once: it then interrupts the library, which stops in good order, and raises `Interrupted`.
"""
import contextlib
import ctypes
import logging
import queue
import signal
import sys
import threading
import warnings
from dataclasses import dataclass
from typing import Optional

import numpy as np

from . import _lib
from ._errors import INTERRUPTED, Interrupted
from ._lib import check, decode, lib
from ._words import in_python

logger = logging.getLogger("comp")
LEVELS = {1: logging.WARNING, 2: logging.INFO, 3: logging.DEBUG}


@dataclass
class Settings:
    """What all functions start from."""

    threads: int = 0
    """Number of threads; 0: all CPUs that this process may use. Results do not depend on it."""
    progress: Optional[bool] = None
    """Show progress bars (with tqdm). None: on a terminal and in notebooks."""

    def __setattr__(self, name, value):
        if name not in self.__dataclass_fields__:
            raise AttributeError(f"comp.settings has no '{name}'{_lib.hint(name, self.__dataclass_fields__)}")
        if name == "progress" and value is not None:
            check_bool(value, "comp.settings.progress")
        super().__setattr__(name, value)


def check_bool(value, what):
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{what} is True or False, not {value!r}")


settings = Settings()


def log_level():
    """The level of messages that the library makes, by that of the logger "comp"."""
    level = logger.getEffectiveLevel()
    if level <= logging.DEBUG:
        return b"debug"
    if level <= logging.INFO:
        return b"info"
    return b"warning" if level <= logging.WARNING else b"none"


def in_notebook():
    shell = sys.modules.get("IPython")
    shell = shell.get_ipython() if shell else None
    return shell is not None and hasattr(shell, "kernel")


def wants_progress(progress):
    if progress is not None:
        check_bool(progress, "progress")
    progress = settings.progress if progress is None else progress
    if progress is None:
        return in_notebook() or bool(getattr(sys.stderr, "isatty", lambda: False)())
    return bool(progress)


class Bar:
    """Progress as tqdm shows it: one bar a task."""

    def __init__(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # in a notebook without ipywidgets: the bar is text there
            from tqdm.auto import tqdm

        self.tqdm, self.bar, self.task = tqdm, None, None
        self.file = sys.stdout if in_notebook() else None  # text on stderr leaves red boxes in a notebook

    def update(self, task, unit, done, total, note, finished):
        if task != self.task:
            self.close()
            self.task = task
            self.bar = self.tqdm(total=total or None, desc=task, unit=f" {unit}", leave=False, mininterval=0, file=self.file)
        if self.bar is not None:
            self.bar.set_postfix_str(note or "", refresh=False)
            self.bar.update(done - self.bar.n)
            if finished:
                self.close()

    def close(self):
        if self.bar is not None:
            self.bar.close()
        self.bar = self.task = None


def make_bar(progress):
    if not wants_progress(progress):
        return None
    try:
        return Bar()
    except ImportError:
        return None


@dataclass(frozen=True)
class EpochNumbers:
    """The numbers of an epoch that has ended (comp/context.h). `train` and `validation` are dicts with total, likelihood, kl and penalty."""

    epoch: int
    epochs: int
    steps: int
    total_steps: int
    train: dict
    validation: dict
    best: bool
    gamma: float
    rate: float
    blur: float
    seconds: float


def epoch_numbers(pointer):
    e = ctypes.cast(pointer, ctypes.POINTER(_lib.Epoch)).contents
    losses = [{name: getattr(part, name) for name, _ in _lib.Losses._fields_} for part in (e.train, e.validation)]
    return EpochNumbers(e.epoch, e.epochs, e.steps, e.total_steps, *losses, bool(e.best), e.gamma, e.rate, e.blur, e.seconds)


class Relay:
    """Runs callbacks on the thread that waits for the library, and keeps what they raise."""

    def __init__(self, context):
        self.context, self.raised, self.jobs = context, None, None

    def now(self, job):
        """Runs one callback; after one that raised none is run any more, and the library is stopped."""
        if self.raised is not None:
            return False
        try:
            return job()
        except BaseException as error:  # it is raised again when the library has returned
            self.raised = error
            lib.comp_context_interrupt(self.context)
            return False

    def __call__(self, job):
        if self.jobs is None:
            return self.now(job)
        done = threading.Event()
        box = [False]
        self.jobs.put((job, box, done))
        done.wait()
        return box[0]

    def wait(self, thread):
        """Serves callbacks until the thread has ended."""
        while True:
            try:
                item = self.jobs.get(timeout=0.1)  # a signal that another thread got wakes nobody, but is noticed between two waits
            except queue.Empty:
                continue
            if item is None:
                break
            job, box, done = item
            box[0] = self.now(job)
            done.set()
        thread.join()


class Context:
    """A comp_context for one call after the other, in a `with` statement."""

    def __init__(self, threads=None, progress=None, on_epoch=None):
        self.pointer = ctypes.c_void_p()
        self.threads = settings.threads if threads is None else threads
        self.bar = make_bar(progress)
        self.on_epoch = on_epoch
        self.stopped = False  # by SIGINT

    def __enter__(self):
        from ._options import Options

        with Options("context", {"threads": self.threads}) as options:
            check(lib.comp_options_set(options.pointer, b"log-level", log_level()))
            check(lib.comp_context_new(ctypes.byref(self.pointer), options.pointer))
        self.relay = Relay(self.pointer)
        self._log = _lib.LOG_FN(self._on_log)
        lib.comp_context_on_log(self.pointer, self._log, None)
        if self.bar:
            self._progress = _lib.PROGRESS_FN(self._on_progress)
            lib.comp_context_on_progress(self.pointer, self._progress, None)
        if self.on_epoch:
            self._epoch = _lib.EPOCH_FN(self._on_epoch)
            lib.comp_context_on_epoch(self.pointer, self._epoch, None)
        return self

    def __exit__(self, *_):
        if self.bar:
            self.bar.close()
        lib.comp_context_free(self.pointer)
        self.pointer = None
        self._log = self._progress = self._epoch = self.relay = None  # they refer to this object

    # ---- what the library calls

    def _on_log(self, _user, level, message):
        message, level = in_python(decode(message)), LEVELS.get(level, logging.INFO)
        if message.startswith("$ "):  # a step of comp.run() as a command for a shell, on files that it removes
            message, level = f"in a shell: {message[2:]}", logging.DEBUG
        self.relay(lambda: logger.log(level, "%s", message))

    def _on_progress(self, _user, pointer):
        p = ctypes.cast(pointer, ctypes.POINTER(_lib.Progress)).contents
        state = (decode(p.task), decode(p.unit), p.done, p.total, decode(p.note), bool(p.finished))
        self.relay(lambda: self.bar.update(*state))

    def _on_epoch(self, _user, pointer):
        numbers = epoch_numbers(pointer)
        return self.relay(lambda: self.on_epoch(numbers) is not False) is not False

    # ---- calls

    def call(self, function, *arguments):
        """Calls a function of the library, which takes this context among its arguments, and raises what went wrong."""
        status, message = self._run(function, arguments)
        raised, self.relay.raised = self.relay.raised, None
        stopped, self.stopped = self.stopped, False
        if raised is not None:
            raise raised
        if status:
            raise _lib.error(status, "interrupted; the data is as it was" if status == INTERRUPTED else message)
        if stopped:
            error = Interrupted("interrupted when the work was done")
            error.done = True
            raise error

    def _run(self, function, arguments):
        if threading.current_thread() is not threading.main_thread():
            status = function(*arguments)
            return status, decode(lib.comp_error_message()) if status else None
        box = []

        def work():
            try:
                status = function(*arguments)
                box.append((status, decode(lib.comp_error_message()) if status else None))
            except BaseException as error:  # arguments of a wrong type
                box.append(error)
            finally:
                self.relay.jobs.put(None)

        self.relay.jobs = queue.SimpleQueue()
        thread = threading.Thread(target=work, name="comp", daemon=True)
        with self._stop_on_sigint():
            thread.start()
            self.relay.wait(thread)
        self.relay.jobs = None
        if isinstance(box[0], BaseException):
            raise box[0]
        return box[0]

    @contextlib.contextmanager
    def _stop_on_sigint(self):
        """While the library works, SIGINT stops it in place of raising at any line of Python."""
        before = signal.getsignal(signal.SIGINT)
        if not callable(before):  # ignored, or of another program that embeds Python
            yield
            return

        def stop(_number, _frame):
            self.stopped = True
            lib.comp_context_interrupt(self.pointer)

        signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
