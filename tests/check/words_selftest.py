"""words_selftest.py: words.py finds every phrase of its list, names it with file and line, and passes over code. Speaks TAP."""

import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "oracle")]
import words  # noqa: E402
from tap import finish, ok  # noqa: E402

TABLE = words.read_words(os.path.join(words.HERE, "words.txt"))


def found(path, text):
    """What is found in a tree of this one file, as [(file, line, word)]."""
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(text)
        return [finding[:3] for finding in words.check(root, TABLE)]


CASES = [
    ("a comment in C", "src/a/a.c", "int a;\n/* x\n * lest it fails */\n", 3, "lest"),
    ("a comment of one line", "src/a/a.c", "int a; // is Told here\n", 1, "told"),
    ("a string in C", "src/a/a.c", '\n\nprint("can be told from z");\n', 3, "told"),
    ("a phrase over two strings", "src/a/a.c", 'help = "by methods "\n       "of others"\n', 1, "methods of others"),
    ("a phrase over two lines of a comment", "include/comp/a.h", "/* all methods\n * of others */\n", 1, "methods of others"),
    ("a document", "docs/a.md", "# A\n\nmade anew\n", 3, "anew"),
    ("the change log", "CHANGELOG.md", "- made anew\n", 1, "anew"),
    ("a docstring", "bindings/python/comp/a.py", 'def a():\n    """Not\n    told."""\n', 3, "told"),
    ("a comment in Python", "bindings/python/comp/a.py", "a = 1  # anew\n", 1, "anew"),
    ("the page's words", "web/src/a.js", "h(`${n} kinds of cells`)\n", 1, "kinds of cells"),
    ("the page's HTML", "web/src/index.html", "<p>\nmade anew</p>\n", 2, "anew"),
    ("dev", "dev", "say 'made anew'\n", 1, "anew"),
]
CODE = [
    ("an identifier in C", "src/a/a.c", "int told = lest(meet);\n"),
    ("an identifier in Python", "bindings/python/comp/a.py", "told = 'x'\nprint(told)\n"),
    ("code in a document", "docs/a.md", "`told`\n\n```\nanew\n```\n"),
    ("code in a comment", "src/a/a.c", "/* `told` is a name */\n"),
    ("part of a word", "docs/a.md", "the oldest toldness, meeting-room\n"),
    ("a word in an allowed sense", "src/a/a.c", "/* values that are all the same */\n"),
    ("a folder that is not ours", "web/node_modules/a.js", "// anew\n"),
]
# Each row of the table is tried with the first phrase that it stands for, so that a mistyped row is found.
plain = []
for pattern, _ in TABLE:
    phrase = pattern.pattern[len(r"\b(?<!-)(?:"):-len(r")\b(?!-)")].replace(r"\s+", " ")
    phrase = re.sub(r"\(\?<?[!=][^)]*\)", "", phrase)
    while re.search(r"\([^()]*\)\??", phrase):
        phrase = re.sub(r"\((?:\?:)?([^()|]*)[^()]*\)(\??)", lambda m: "" if m.group(2) else m.group(1), phrase, count=1)
    plain.append(re.sub(r"\w\?", "", phrase.split("|")[0]))

for what, path, text, line, word in CASES:
    got = found(path, text)
    ok(got == [(path, line, word)], f"{what}: {path}:{line}: '{word}'" + ("" if got == [(path, line, word)] else f", not {got}"))
for what, path, text in CODE:
    got = found(path, text)
    ok(not got, f"passed over: {what}" + (f", not {got}" if got else ""))
for phrase in plain:
    ok(any(line == 2 for _, line, _ in found("docs/a.md", f"x\n{phrase}\n")), f"the list's '{phrase}' is found")
finish()
