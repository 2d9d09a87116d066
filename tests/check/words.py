"""words.py [ROOT]: prose is plain English. Finds the words of words.txt in comments, strings and documents, as file:line: word. Speaks TAP.

Looked at: the documents at the top of the tree and in docs/, and bindings/, include/, src/, web/src/, examples/, experiments/, bench/ and tests/. Of programs
only comments and strings count, of Markdown all but code: a name in code may be any word. A phrase is found across the end of a line, too.
"""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = ("docs", "bindings", "include", "src", "web/src", "examples", "experiments", "bench", "tests", "cross", ".ci")
LEFT_OUT = ("tests/check/words.txt", "tests/check/words_selftest.py")

C = r'(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<char>\'(?:\\.|[^\'\\\n])\')|(?P<string>"(?:\\.|[^"\\\n])*")'
JS = r'(?P<comment>/\*.*?\*/|(?<!:)//[^\n]*)|(?P<string>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`)'
PYTHON = r'(?P<string>"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|(?P<comment>#[^\n]*)'
HASH = r"(?P<comment>(?<!\S)#[^\n]*)|(?P<string>'(?:\\.|[^'\\\n])*')"  # meson
MARKDOWN_CODE = r"^```.*?^```|`[^`\n]*`|\]\([^)\n]*\)"
EVERYTHING = r"(?P<string>.+)"
BY_ENDING = {".c": C, ".h": C, ".def": C, ".in": C, ".map": C, ".js": JS, ".mjs": JS, ".py": PYTHON, ".pyi": PYTHON, ".build": HASH, ".options": HASH,
             ".sh": EVERYTHING, ".html": EVERYTHING, ".css": C, ".R": PYTHON, ".Rd": EVERYTHING, ".md": None}


def read_words(path):
    """The table as [(regular expression, what to write)]. Spaces of a phrase stand for any white space."""
    words = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            phrase, arrow, instead = line.partition(" -> ")
            if not arrow or not instead.strip():
                raise SystemExit(f"{path}:{number}: 'PHRASE -> WHAT TO WRITE' was expected")
            words.append((re.compile(r"\b(?<!-)(?:" + phrase.strip().replace(" ", r"\s+") + r")\b(?!-)"), instead.strip()))
    return words


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def prose(text, ending):
    """The text with all that is no prose blanked, so that places stay as they are."""
    pattern = BY_ENDING[ending]
    if pattern is None:
        return re.sub(MARKDOWN_CODE, lambda m: blank(m.group()), text, flags=re.S | re.M)
    out, at = [], 0
    for match in re.finditer(pattern, text, re.S):
        out.append(blank(text[at:match.start()]))
        piece = match.group()
        if match.lastgroup == "comment":  # marks at the start of a line, and code
            piece = re.sub(r"(?m)^([ \t]*)[*/#]+", lambda m: " " * len(m.group()), piece)
            piece = re.sub(r"`[^`\n]*`", lambda m: blank(m.group()), piece)
        elif match.lastgroup == "string":
            piece = piece.replace("\\n", "  ")
            if pattern in (C, JS, PYTHON):
                piece = re.sub(r"^(\"\"\"|'''|[\"'`])|(\"\"\"|'''|[\"'`])$", lambda m: " " * len(m.group()), piece)
        else:
            piece = blank(piece)
        out.append(piece)
        at = match.end()
    out.append(blank(text[at:]))
    return "".join(out)


def files(root):
    for name in sorted(os.listdir(root)):
        if name.endswith(".md") or name in ("dev", "meson.build"):
            yield name
    for folder in FOLDERS:
        for path, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = sorted(f for f in folders if f not in ("node_modules", "samples", "corpus", "data", "__pycache__", "images"))
            for name in sorted(names):
                yield os.path.relpath(os.path.join(path, name), root)


def check(root, words):
    """Yields (file, line, what was found, what to write)."""
    any_word = re.compile("|".join(pattern.pattern for pattern, _ in words))
    for path in files(root):
        ending = ".sh" if path in ("dev", ".ci/run") else os.path.splitext(path)[1]
        if ending not in BY_ENDING or path.replace(os.sep, "/") in LEFT_OUT:
            continue
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            text = prose(file.read(), ending).lower()
        if not any_word.search(text):
            continue
        for pattern, instead in words:
            for match in pattern.finditer(text):
                found = re.sub(r"\s+", " ", match.group())
                yield path, text.count("\n", 0, match.start()) + 1, found, instead


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    found = sorted(check(root, read_words(os.path.join(HERE, "words.txt"))))
    print("1..1")
    for path, line, word, instead in found:
        print(f"# {path}:{line}: '{word}': write {instead}")
    print("not ok 1 - plain English" if found else "ok 1 - plain English")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
