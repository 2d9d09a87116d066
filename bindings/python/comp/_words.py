"""Messages of the library as users of Python read them: arguments and functions in place of the program's options and commands.

    --min-dist 0.1                     min_dist=0.1
    Leave them out (--keep)            Leave them out (keep)
    comp train --model vae --log1p     comp.tl.train(model="vae", log1p=True)

Every text of the library that users see goes through in_python(): errors, messages, findings, docstrings. What is not in the tables of options,
such as `comp score --json`, is of the program only and stays as it is.
"""
import functools
import re

FUNCTIONS = {
    **{name: f"comp.tl.{name}" for name in ("train", "embed", "map", "counterfactual", "correct", "umap", "score", "diagnose", "baseline", "audit")},
    "prep": "comp.pp.prepare",
    "simulate": "comp.pp.simulate",
    "run": "comp.run",
    "report": "comp.report",
}
NAME = r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*"
START = re.compile(rf"(?<![\w/.-])(?:comp ({'|'.join(FUNCTIONS)})\b(?!-)|--{NAME}|-m(?= |[.,;)]|$))")
OPTION = re.compile(rf" ?--({NAME})")
VALUE = re.compile(r" ('[^']*'|[A-Za-z0-9](?:[\w.,:=-]*[A-Za-z0-9])?)")
LEADING = re.compile(rf"({NAME}): ")
NUMBERS = ("int", "real", "bytes", "ints", "reals")


@functools.lru_cache(None)
def table():
    """Every option by its name; of several kinds with the same name the first, with the choices of all."""
    from ._options import KINDS

    # What is no option of the library, but an argument here: of comp.tl.diagnose() (a file for the program) and of comp.tl.embed().
    known: dict = {"against": {"type": "file", "words": set()}, "scales": {"type": "bool", "words": set()}}
    for kind in KINDS.values():
        for name, option in kind.items():
            entry = known.setdefault(name, {"type": option["type"], "words": set()})
            entry["words"].update(option["choices"] or (), (option["metavar"] or "").split("|"))
    return known


def is_value(option, word):
    """Whether the word behind an option is its value; else it is the next word of the sentence."""
    if option["type"] == "bool":
        return False
    if option["type"] in NUMBERS and re.fullmatch(r"[0-9.,]+", word):
        return True
    return word in option["words"] or word[0] == "'" or "," in word or re.fullmatch(r"[A-Z][A-Z0-9_]+(=[A-Z,]+)?", word) is not None


def read_option(text, at):
    """An option at this place: its name as Python has it, its value or None, and where it ends. None: there is none, or it is of the program only."""
    from ._options import python_name

    found = OPTION.match(text, at)
    option = table().get(found.group(1)) if found else None
    if not found or not option:
        return None
    name, value, end = python_name(found.group(1)), None, found.end()
    word = VALUE.match(text, end)
    if option["type"] == "bool":
        value = "True"
    elif word and is_value(option, word.group(1)):
        value, end = word.group(1), word.end()
        value = value if option["type"] in NUMBERS or value[0] == "'" else f'"{value}"'
    return name, value, end


def read_call(text, command, at):
    """A command and its options at this place, and where they end."""
    arguments = []
    while OPTION.match(text, at):
        option = read_option(text, at)
        if not option:
            return None
        name, value, at = option
        arguments.append(f"{name}={value or '...'}")
    return f"{FUNCTIONS[command]}({', '.join(arguments)})", at


def in_python(text):
    """The text with arguments and functions of Python. One that begins with "$ " is a command for a shell and stays."""
    if not text or text.startswith("$ "):
        return text
    from ._options import python_name

    out, at = [], 0
    leading = LEADING.match(text)
    if leading and leading.group(1) in table():  # "hvg-batch: it needs hvg"
        out, at = [python_name(leading.group(1))], leading.end(1)
    while found := START.search(text, at):
        out.append(text[at:found.start()])
        if found.group() == "-m":
            read = "model", found.end()
        elif found.group(1):
            read = read_call(text, found.group(1), found.end())
        else:
            option = read_option(text, found.start())
            read = option and ("=".join(filter(None, option[:2])), option[2])
        word, at = read or (found.group(), found.end())
        out.append(word)
    return "".join(out) + text[at:]
