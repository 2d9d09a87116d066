#!/usr/bin/env python3
"""blocks.py BUILD [PAGE...]: runs the code of the documentation: the blocks of docs/**/*.md in shell, Python, R and C, page by page, in order, in a temporary folder. Speaks TAP, a test a page.

    ```sh, ```python, ```r, ```c    run; a C block is a whole program. All blocks of a page in one language share their variables
    ```console                      lines that start with "$ " are run; what they print is only shown
    ```output                       what the block before prints (stdout): numbers may differ by 10 % or 0.05, and ... stands for anything
    <!-- not run: REASON -->        before a block that cannot run here; blocks.py --list lists them

Trainings on most pages are cut to a few epochs (comp in PATH, comp.run, RunComp and so on are wrapped), as only the code is tested there. Pages of docs/tutorials run as they are.
setup/PAGE.sh makes the files that a page takes for granted. docs/python.md and docs/r.md are run by ./dev python and ./dev r.
"""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "docs/site"))
from pages import DOCS, TITLES, blocks, sources  # noqa: E402

ELSEWHERE = {"python.md": {"python": "./dev python"}, "r.md": {"r": "./dev r"}}  # language of a page, and what runs it
NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")


class Failed(Exception):
    pass


def close(a, b):
    a, b = float(a.replace(",", "")), float(b.replace(",", ""))
    return abs(a - b) <= max(0.05, 0.1 * abs(b))


def line_matches(expected, line):
    """The same words in the same order, whatever the space between; numbers are close; ... at the end stands for the rest."""
    if expected.rstrip().endswith("...") and expected.strip() != "...":
        expected = expected.rstrip()[:-3].rstrip()
        line = " ".join(line.split()[:len(expected.split())])
    e, got = " ".join(expected.split()), " ".join(line.split())
    numbers, found = NUMBER.findall(e), NUMBER.findall(got)
    return NUMBER.sub("#", e) == NUMBER.sub("#", got) and all(close(a, b) for a, b in zip(found, numbers))


def compare(expected, text):
    """None, or the expected line that was not found."""
    lines, at, anywhere = [line for line in text.split("\n") if line.strip()], 0, False
    for line in (line for line in expected if line.strip()):
        if line.strip() == "...":
            anywhere = True
            continue
        while at < len(lines) and anywhere and not line_matches(line, lines[at]):
            at += 1
        if at == len(lines) or not line_matches(line, lines[at]):
            return f"expected: {line}\n{'found:    ' + lines[at] if at < len(lines) else 'but nothing more was printed'}"
        at, anywhere = at + 1, False
    return None if anywhere or at == len(lines) else f"also printed: {lines[at]}"


class Interpreter:
    """Python or R, started once for all pages: takes names of files to run, answers each with a line "done STATUS"."""

    def __init__(self, command, env):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)

    def run(self, *words):
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("done "):
                return line.split()[1] == "0"
        return False

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Runner:
    def __init__(self, build):
        self.build = build
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="comp-docs-"))
        self.env = dict(os.environ, COMP_LIBRARY=str(build / "libcomp.so"), COMP_MODULES=str(build / "src/modules"), COMP_REAL=str(build / "comp"), R_LIBS=str(build / "r/library"),
                        PYTHONPATH=str(ROOT / "bindings/python"), PYTHONDONTWRITEBYTECODE="1", MPLBACKEND="Agg", PATH=f"{HERE / 'bin'}:{os.environ['PATH']}",
                        LD_LIBRARY_PATH=str(build), OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        self.started = {}

    def interpreter(self, language):
        if language not in self.started:
            command = [sys.executable, HERE / "driver.py"] if language == "python" else ["Rscript", "--vanilla", HERE / "driver.R"]
            self.started[language] = Interpreter(command, self.env)
        return self.started[language]

    def shell(self, text, where, quick):
        done = subprocess.run(["sh", "-e", "-c", text], cwd=where, env=dict(self.env, COMP_QUICK="1" if quick else ""), stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done.returncode == 0, done.stdout, done.stderr

    def block(self, block, where, quick):
        """Runs a block; returns what it printed."""
        if block.language in ("sh", "console"):
            text = block.text if block.language == "sh" else "\n".join(line[2:] for line in block.lines if line.startswith("$ "))
            ok, out, errors = self.shell(text, where, quick)
        elif block.language == "c":
            (where / "block.c").write_text(block.text)
            ok, out, errors = self.shell(f"${{CC:-cc}} -std=c17 -Wall -Werror block.c -o block -I{ROOT / 'include'} -I{self.build / 'include'} -L{self.build} -lcomp && ./block", where, quick)
        else:
            file, printed = where / f".block.{block.language}", where / ".printed"
            file.write_text("\n" * (block.first - 1) + block.text)
            ok = self.interpreter(block.language).run(where, file, printed, int(quick))
            out = errors = printed.read_text() if printed.exists() else ""
        if not ok:
            raise Failed("\n".join((errors.strip() or out.strip()).split("\n")[-15:]))
        return out

    def page(self, path, docs=DOCS):
        """Runs a page; returns how many blocks were run, and how many outputs were compared."""
        name = str(path.relative_to(docs))
        where = self.folder / name.replace("/", "-")
        where.mkdir()
        quick = not name.startswith("tutorials/")
        setup = HERE / "setup" / (name.replace("/", "-")[:-3] + ".sh")
        if setup.exists():
            ok, _, errors = self.shell(setup.read_text(), where, True)
            if not ok:
                raise Failed(f"{setup.relative_to(ROOT)}: {errors}")
        counts, printed = [0, 0], None
        for block in blocks(path.read_text(), name):
            try:
                if block.language == "output":
                    if printed is None:
                        raise Failed("no block that is run comes before this output")
                    problem = compare(block.lines, printed)
                    if problem:
                        raise Failed(f"{problem}\nall that was printed:\n{printed}")
                    counts[1] += 1
                elif is_run(block, name):
                    printed = self.block(block, where, quick)
                    counts[0] += 1
                else:
                    printed = None
            except Failed as failure:
                raise Failed(f"docs/{name}:{block.first}: {failure}") from None
        shutil.rmtree(where)
        return counts

    def close(self):
        for interpreter in self.started.values():
            interpreter.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def is_code(block):
    return block.language in TITLES or block.language == "console"


def is_run(block, name):
    return is_code(block) and not block.reason and block.language not in ELSEWHERE.get(name, {})


def main(build, wanted):
    pages = [p for p in sources() if not wanted or str(p.relative_to(DOCS)) in wanted]
    found = {p: [b for b in blocks(p.read_text(), p.name) if is_code(b)] for p in pages}
    left = [(p, b) for p in pages for b in found[p] if b.reason]
    listing = [f"docs/{p.relative_to(DOCS)}:{b.first}: {b.language}: {b.reason}" for p, b in left]
    if build is None:
        print(f"{sum(map(len, found.values()))} blocks of code; {len(left)} are not run:")
        print("\n".join(listing))
        return 0
    todo = [p for p in pages if any(is_run(b, str(p.relative_to(DOCS))) for b in found[p])]
    print(f"1..{len(todo)}", flush=True)
    runner, failed, total = Runner(build), 0, [0, 0]
    for number, path in enumerate(todo, 1):
        before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        problem = None
        try:
            ran, compared = runner.page(path)
            total = [total[0] + ran, total[1] + compared]
        except Failed as failure:
            problem, failed = failure, failed + 1
        seconds = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before
        print(f"{'not ok' if problem else 'ok'} {number} - docs/{path.relative_to(DOCS)}")
        print(f"# {ran} blocks, {compared} outputs compared, {seconds:.1f} CPU s" if not problem else "\n".join("# " + line for line in str(problem).split("\n")), flush=True)
    runner.close()
    others = sum(len(found[p]) - sum(is_run(b, str(p.relative_to(DOCS))) or bool(b.reason) for b in found[p]) for p in pages)
    print(f"# {total[0]} blocks were run, {total[1]} outputs compared, {others} blocks are run by ./dev python and ./dev r, {len(left)} are not run:")
    print("\n".join("#   " + line for line in listing))
    print(f"# {sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]):.1f} CPU s altogether")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(None if sys.argv[1] == "--list" else pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]))
