"""messages.py COMP: the messages of messages.txt, each by the command that makes users see it. Speaks TAP."""
import os
import random
import re
import subprocess
import sys
import tempfile

COMP = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "check"))
import words  # noqa: E402

MESSAGES = 45  # a new one raises it
CODES = {"usage": 2, "error": 1, "warning": 0, "finding": 0}
GENES = [f"g{g}" for g in range(6)]


def comp(*arguments):
    return subprocess.run([COMP, *arguments, "--threads", "1"], cwd=folder.name, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def write(name, header, rows):
    with open(os.path.join(folder.name, name), "w") as file:
        for row in [header, *rows]:
            print(*row, sep=",", file=file)


def change(name, out, how):
    with open(os.path.join(folder.name, name), "rb") as file:
        data = bytearray(file.read())
    with open(os.path.join(folder.name, out), "wb") as file:
        file.write(how(data))


def make_inputs():
    rng = random.Random(1)

    def cells(columns, rows, first=None):
        values = lambda i: [first[1] if g == 0 and first and i == first[0] else round(abs(rng.gauss(2, 1)), 3) for g in range(len(GENES))]
        return ["", *columns, *GENES], [[f"c{i}", *row, *values(i)] for i, row in enumerate(rows)]

    write("one.csv", *cells(["group"], [["a"]] * 60))
    write("ids.csv", *cells(["group"], [[f"id{i}"] for i in range(60)]))
    write("confounded.csv", *cells(["condition", "label"], [["ab"[i % 2], "xy"[i % 2]] for i in range(120)]))
    write("partly.csv", *cells(["condition", "label"], [["ab"[i % 2], "z" if i % 4 < 2 else "xy"[i % 2]] for i in range(120)]))
    write("gap.csv", *cells(["condition"], [["ab"[i % 2]] for i in range(60)], (7, "")))
    write("inf.csv", *cells(["condition"], [["ab"[i % 2]] for i in range(60)], (7, "inf")))
    write("comma.csv", ["name", "condition", "x"], [[f"c{i}", "ab"[i % 2], '"1,5"'] for i in range(6)])
    write("ragged.csv", ["name", "a", "b"], [["r1", 1, 2], ["r2", 1]])
    write("people.csv", ["age", "sex", "income"], [[20 + i % 40, "mf"[i % 2], "high" if i % 3 == 0 else "low"] for i in range(60)])
    write("missing.csv", ["age", "sex"], [["" if i == 3 else 20 + i, "mf"[i % 2]] for i in range(20)])
    open(os.path.join(folder.name, "empty.csv"), "w").close()
    with open(os.path.join(folder.name, "latin.csv"), "wb") as file:
        file.write(b"name,x\ncaf\xe9,1\n")
    for step in (["simulate", "-o", "cells.h5ad", "--cells", "120", "--genes", "40"],
                 ["prep", "-i", "cells.h5ad", "-o", "ready.h5ad", "--normalize-total", "median", "--log1p"],
                 ["train", "-i", "ready.h5ad", "-o", "model.comp", "-c", "condition", "--epochs", "2", "--hidden", "8", "--latent", "2"],
                 ["embed", "-i", "ready.h5ad", "-m", "model.comp", "-o", "ready.h5ad"]):
        done = comp(*step)
        if done.returncode:
            raise SystemExit(f"comp {' '.join(step)}: {done.stderr}")
    change("cells.h5ad", "short.h5ad", lambda data: data[:3000])
    change("model.comp", "broken.comp", lambda data: data[:-50] + bytes([data[-50] ^ 1]) + data[-49:])


def read_messages():
    """[(what happened, arguments, level, text)]"""
    with open(os.path.join(HERE, "messages.txt"), encoding="utf-8") as file:
        blocks = [block.splitlines() for block in file.read().split("\n\n")[1:]]
    out = []
    for block in blocks:
        what, command, message = block
        level, text = message.split(": ", 1)
        out.append((what, command.removeprefix("$ ").split(), level, text))
    return out


def check(arguments, level, text):
    key = tuple(arguments)
    if key not in seen:
        seen[key] = comp(*arguments)
    done = seen[key]
    problems = []
    if done.returncode != CODES[level]:
        problems.append(f"exit code {done.returncode}, not {CODES[level]}")
    said = " ".join((done.stdout if level == "finding" else done.stderr).split())
    lead = {"usage": f"comp {arguments[0]}: ", "error": f"comp {arguments[0]}: ", "warning": "comp: warning: ", "finding": ""}[level]
    if not re.search(".*?".join(re.escape(part) for part in (lead + text).split("...")), said):
        problems.append(f"it says: {said[-600:]}")
    problems += [f"'{pattern.search(text.lower()).group()}': write {instead}" for pattern, instead in banned if pattern.search(text.lower())]
    return problems


folder = tempfile.TemporaryDirectory()
banned = words.read_words(os.path.join(words.HERE, "words.txt"))
seen = {}
messages = read_messages()
print(f"1..{MESSAGES + 1}")
failed = len(messages) != MESSAGES
print(f"{'not ok' if failed else 'ok'} 1 - the list has {MESSAGES} messages ({len(messages)} were found)")
make_inputs()
for number, (what, arguments, level, text) in enumerate(messages, 2):
    problems = check(arguments, level, text)
    failed = failed or bool(problems)
    print(f"{'not ok' if problems else 'ok'} {number} - {what}: comp {' '.join(arguments)}")
    for problem in problems:
        print(f"# {problem}")
sys.exit(1 if failed else 0)
