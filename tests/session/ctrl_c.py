"""ctrl_c.py python|r: Ctrl-C, as a key on a terminal, during a training in an interactive session. The session stays usable, and the training goes on to the same bytes. Speaks TAP."""
import contextlib
import os
import pty
import re
import select
import signal
import sys
import time

# command: the session. setup: until a training is there that nothing interrupted. train: prints "epoch three", then waits for the key. after: what is printed, and what was typed for it.
# Texts are typed in parts, so that the echo of the terminal is not taken for the answer.
SESSIONS = {
    "python": {
        "command": [sys.executable, "-q", "-i"],
        "environment": {"PYTHON_BASIC_REPL": "1"},
        "setup": [
            "import comp, time",
            "adata = comp.pp.simulate(cells=2000, genes=200, seed=1)",
            'comp.pp.prepare(adata, normalize_total="median", log1p=True)',
            'new = lambda: comp.CoMP(adata, "condition", hidden=[16], latent=3, epochs=40)',
            "whole = new().fit(threads=1).to_bytes()",
            "model = new()",
            'tell = lambda e: (e.epoch == 3 and print("epoch", "three"), e.epoch >= 3 and time.sleep(0.1)) and None',
            'print("set", "up")',
        ],
        "train": "model.fit(on_epoch=tell, threads=1)",
        "interrupted": r"Interrupted: training was interrupted",
        "after": [
            (r"^usable \(2000, 200\)", 'print("usable", adata.shape)'),
            (r"^trained \(2000, 2\)", 'print("trained", comp.tl.train(adata, "condition", hidden=[8], latent=2, epochs=1, copy=True).obsm["X_comp"].shape)'),
            (r"^same True", 'print("same", model.fit(resume=True, threads=1).to_bytes() == whole)'),
        ],
        "leave": "exit()",
    },
    "r": {
        "command": ["R", "--vanilla", "--quiet"],
        "environment": {},
        "setup": [
            "library(comp)",
            "options(comp.threads = 1)",
            'cells <- prepareComp(simulateComp(cells = 2000, genes = 200, seed = 1), normalize_total = "median", log1p = TRUE)',
            'train <- function(...) fitComp(cells, "condition", hidden = 16, latent = 3, epochs = 40, ...)',
            "whole <- train()$bytes",
            "state <- tempfile()",
            'tell <- function(e) { if (e$epoch == 3) cat("epoch", "three\\n"); if (e$epoch >= 3) Sys.sleep(0.1) }',
            'cat("set", "up\\n")',
        ],
        "train": "model <- train(checkpoint = state, checkpoint_minutes = 0, on_epoch = tell)",
        "interrupted": r"> $",  # R says nothing: it is at its prompt again
        "after": [
            (r"^usable 200 2000 FALSE", 'cat("usable", dim(cells$x), exists("model"), "\\n")'),
            (r"^trained 2000 2", 'cat("trained", dim(embedComp(cells$x, fitComp(cells, "condition", hidden = 8, latent = 2, epochs = 1), condition = cells$obs$condition)), "\\n")'),
            (r"^same TRUE", 'cat("same", identical(train(checkpoint = state, resume = TRUE)$bytes, whole), "\\n")'),
        ],
        "leave": 'quit("no")',
    },
}


class Terminal:
    """A program on a terminal of its own, so that the key Ctrl-C is a signal to it."""

    def __init__(self, command, environment):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a script in the background ignores it, and so would the session
            os.execvpe(command[0], command, {**os.environ, **environment, "TERM": "dumb", "COLUMNS": "400"})

    def type(self, line):
        os.write(self.fd, line.encode() + b"\n")

    def wait_for(self, pattern, seconds=180):
        """Reads until the pattern is in what was printed since the last time; what was printed is returned, or None when it does not come."""
        until = time.monotonic() + seconds
        while not (found := re.search(pattern, self.text.replace("\r", "\n"), re.M)):
            ready, _, _ = select.select([self.fd], [], [], max(until - time.monotonic(), 0))
            try:
                more = os.read(self.fd, 65536) if ready else b""
            except OSError:  # it has ended
                more = b""
            if not more:
                return None
            self.text += more.decode("utf-8", "replace")
        seen = self.text.replace("\r", "\n")
        self.text = seen[found.end():]
        return seen[:found.end()]

    def end(self):
        """The exit status; None: it does not end."""
        for _ in range(600):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.1)
        return None

    def kill(self):
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def main(kind):
    session = SESSIONS[kind]
    print("1..7")
    terminal, number = Terminal(session["command"], session["environment"]), 0

    def result(good, name):
        nonlocal number
        number += 1
        print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)
        if not good:
            print("".join(f"# {line}\n" for line in terminal.text.splitlines()[-30:]), end="")
            terminal.kill()
            sys.exit(1)

    for line in session["setup"]:
        terminal.type(line)
    result(terminal.wait_for(r"^set up$") is not None, f"a session of {kind}")
    terminal.type(session["train"])
    result(terminal.wait_for("epoch three") is not None, "training")
    os.write(terminal.fd, b"\x03")
    result(terminal.wait_for(session["interrupted"]) is not None, "Ctrl-C stops it")
    for pattern, line in session["after"]:
        terminal.type(line)
        result(terminal.wait_for(pattern) is not None, {"u": "the session is usable", "t": "another training", "s": "the training goes on, to the same bytes"}[pattern[1]])
    terminal.type(session["leave"])
    result(terminal.end() == 0, "the session ends as usual")


main(sys.argv[1])
