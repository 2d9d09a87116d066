#!/usr/bin/env python3
"""selftest.py BUILD: tests blocks.py: what it must find wrong, it finds, with page and line. Speaks TAP."""
import pathlib
import sys
import tempfile

import blocks

CASES = [
    # name, page, what the message must say (None: nothing is wrong)
    ("a shell command that fails", "Text.\n\n```sh\ntrue\nfalse\ntrue\n```\n", "docs/PAGE:4:"),
    ("a command that comp refuses", "```console\n$ comp train --no-such-option\n```\n", "docs/PAGE:2: comp train"),
    ("an error in Python", "```python\nx = 1\n```\n\nText.\n\n```python\nx.nothing\n```\n", "line 8"),
    ("an error in Python has its line", "```python\nx = 1\n```\n\nText.\n\n```python\nx.nothing\n```\n", "docs/PAGE:8:"),
    ("a C program that does not compile", "```c\nint main(void) { return unknown; }\n```\n", "docs/PAGE:2:"),
    ("a C program that fails", "```c\nint main(void) { return 1; }\n```\n", "docs/PAGE:2:"),
    ("another number in an output", "```sh\necho kbet 0.80\n```\n\n```output\nkbet 0.40\n```\n", "docs/PAGE:6: expected: kbet 0.40"),
    ("a word that is missing in an output", "```sh\necho kbet 0.80\n```\n\n```output\nkbet 0.80 low\n```\n", "docs/PAGE:6:"),
    ("a line that an output does not show", "```sh\necho a; echo b\n```\n\n```output\na\n```\n", "also printed: b"),
    ("an output without a block", "```output\na\n```\n", "no block that is run"),
    ("close numbers, space and ...", "```sh\necho x; echo 'kbet   0.81'; echo y\n```\n\n```output\n...\nkbet 0.80\n...\n```\n", None),
    ("variables and files stay on a page", "```python\nx = 1\nopen('file', 'w').write('a')\n```\n\n```sh\ntest -f file\n```\n\n```python\nassert x == 1\n```\n", None),
    ("a block that is marked is not run", "<!-- not run: it fails -->\n```sh\nfalse\n```\n", None),
    ("a mark holds for one block only", "<!-- not run: it fails -->\n```sh\nfalse\n```\n\n```sh\nfalse\n```\n", "docs/PAGE:7:"),
    ("blocks without a language are not run", "```\nfalse\n```\n\n```json\n{\n```\n", None),
]
R_CASES = [("an error in R", "```r\nx <- 1\nstop('no')\n```\n", "Error: no"), ("variables of R stay on a page", "```r\nx <- 1\n```\n\n```r\nx + 1\n```\n\n```output\n[1] 2\n```\n", None)]


def main(build):
    cases = CASES + R_CASES
    print(f"1..{len(cases)}", flush=True)
    runner, failed = blocks.Runner(build), 0
    with tempfile.TemporaryDirectory() as folder:
        docs = pathlib.Path(folder)
        for number, (name, text, expected) in enumerate(cases, 1):
            page = docs / f"page{number}.md"
            page.write_text(text)
            try:
                runner.page(page, docs)
                said = None
            except blocks.Failed as failure:
                said = str(failure)
            ok = said is None if expected is None else said is not None and expected.replace("PAGE", page.name) in said
            failed += not ok
            print(f"{'ok' if ok else 'not ok'} {number} - {name}")
            if not ok:
                print("\n".join("# " + line for line in str(said).split("\n")), flush=True)
    runner.close()
    return 1 if failed else 0


sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
