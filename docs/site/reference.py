"""reference.py: the generated reference: commands (from the man pages that the program makes of its tables), options (comp_options_describe()), the public headers, and the
packages for Python and R (from docstrings and help pages, which come from the same tables)."""
import ctypes
import inspect
import json
import os
import re
import subprocess
import sys

from pages import ROOT


def escaped(text):
    """Plain text as Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", text)


def in_line(text):
    """Text of a table or comment: names of files, options and functions become code."""
    parts = re.split(r"(`[^`]+`|(?<![\w-])--?[a-z][\w-]*|\bcomp_\w+(?:\(\))?|\b\w+\.(?:h5ad|h|json|md)\b)", text)
    return "".join("`" + p.strip("`") + "`" if i % 2 else escaped(p) for i, p in enumerate(parts))


# ---- commands

def unroff(text):
    text = re.sub(r"\\f[BIR]", "", text)
    return text.replace("\\-", "-").replace("\\(aq", "'").replace("\\(ha", "^").replace("\\(ti", "~").replace("\\&", "").replace("\\e", "\\").replace("\\\\", "\\")


def command_pages(program):
    names = subprocess.run([program, "help", "--list"], capture_output=True, text=True, check=True).stdout.split()
    summaries, pages = {}, {}
    for name in names:
        man = subprocess.run([program, "help", "--man", name], capture_output=True, text=True, check=True).stdout
        out, section, lines = [f"# comp {name}\n"], None, man.split("\n")
        i = 0
        while i < len(lines):
            line = lines[i]
            if line.startswith(".SH"):
                section = line[4:].strip('"').capitalize()
                if section not in ("Name", "Description", "See also"):
                    out.append(f"\n## {section}\n")
            elif line == ".TP":
                term = unroff(lines[i + 1])
                i += 2
                body = []
                while i < len(lines) and not lines[i].startswith("."):
                    body.append(unroff(lines[i]))
                    i += 1
                out.append(f"\n`{term}`\n:   " + in_line(" ".join(body).strip()) + "\n")
                continue
            elif line.startswith("."):
                pass
            elif section == "Name" and line:
                summaries[name] = unroff(line).split(" - ", 1)[1]
                out.append(summaries[name][0].upper() + summaries[name][1:] + ".\n")
            elif section == "Synopsis" and line:
                out.append(f"```text\n{unroff(line)}\n```\n")
            elif section == "See also":
                pass
            elif line:
                out.append(in_line(unroff(line)) + "\n")
            i += 1
        pages[f"reference/commands/{name}.md"] = "\n".join(out)
    table = "".join(f"| [`comp {n}`](commands/{n}.md) | {escaped(summaries[n])} |\n" for n in names)
    return names, pages, table


# ---- options

def described(library):
    lib = ctypes.CDLL(str(library))
    text = ctypes.c_char_p()
    if lib.comp_options_describe(ctypes.byref(text)) != 0:
        raise SystemExit("comp_options_describe() failed")
    return json.loads(text.value)


def options_page(library):
    out = ["# Options\n", "All options of the library, by kind, as `comp_options_describe()` lists them. The program, Python (with `_` for `-`), R (with `_` for `-`) and C all take these names and defaults.\n"]
    for kind in described(library)["kinds"]:
        out.append(f"\n## {kind['name']}\n\n{escaped(kind['summary'])[0].upper() + escaped(kind['summary'])[1:]}.\n\n| option | type | default | what it does |\n|---|---|---|---|")
        for o in kind["options"]:
            default = "required" if o["required"] else o["default"] if o["default"] is not None else o["unset"]
            limits = ", ".join(f"`{c}`" for c in o["choices"]) if o["choices"] else o["type"]
            if o["min"] is not None and o["max"] is not None:
                limits += f", {o['min']:g} to {o['max']:g}"
            text = in_line(o["help"]) + (f" ({escaped(o['varies'])})" if o["varies"] else "")
            out.append(f"| `{o['name']}` | {limits} | {escaped(str(default)) if default is not None else ''} | {text} |")
    return "\n".join(out) + "\n"


# ---- headers

def prose(comment):
    """A comment as Markdown: paragraphs; what is indented stays as it is."""
    text = re.sub(r"^/\*+|\*/$", "", comment.strip())
    lines = [re.sub(r"^ ?\* ?", "", line).rstrip() for line in text.split("\n")]
    out, plain, fixed = [], [], []

    def close():
        if plain:
            out.append(in_line(" ".join(p.strip() for p in plain)) + "\n")
        if fixed:
            cut = min(len(f) - len(f.lstrip()) for f in fixed if f)
            out.append("```text\n" + "\n".join(f[cut:] for f in fixed).rstrip() + "\n```\n")
        plain.clear(), fixed.clear()

    for line in lines:
        if line.startswith("  ") or (fixed and not line):
            if plain:
                close()
            fixed.append(line)
        elif line:
            if fixed:
                close()
            plain.append(line)
        else:
            close()
    close()
    return "\n".join(out)


def chunks(text):
    """Parts of a header between blank lines, outside of comments and braces."""
    part, depth, comment = [], 0, False
    for line in text.split("\n"):
        if not line.strip() and depth == 0 and not comment:
            if part:
                yield "\n".join(part)
            part = []
            continue
        part.append(line)
        comment = (comment or "/*" in line) and line.rfind("*/") <= line.rfind("/*")
        depth += line.count("{") - line.count("}")
    if part:
        yield "\n".join(part)


def header_page(path):
    text = path.read_text()
    name = path.name
    top = re.match(r"/\*.*?\*/", text, re.S).group(0)
    out = [f"# {name}\n", prose(top)]
    for chunk in chunks(text[len(top):]):
        lines = [line for line in chunk.split("\n") if not re.match(r"#(ifndef|ifdef|endif|include|if |else)|#define COMP_\w+_H$|#(el)?if", line)]
        if not lines or re.match(r'extern "C"|}', lines[0]):
            continue
        section = re.match(r"/\* -+ (.+?) -+ \*/$", lines[0])
        if section:
            out.append(f"\n## {section.group(1)}\n")
            lines = lines[1:]
        chunk = "\n".join(lines)
        comment = re.match(r"/\*.*?\*/", chunk, re.S) if chunk.startswith("/*") else None
        code = chunk[comment.end():].strip("\n") if comment else chunk
        if code.strip():
            names = re.findall(r"\b(comp_\w+)\(", re.sub(r"/\*.*?\*/", "", code, flags=re.S)) or re.findall(r"^#define (COMP_\w+)", code, re.M) or re.findall(r"\b(comp_\w+);|typedef (?:struct|enum) (comp_\w+)", code)
            names = [n if isinstance(n, str) else n[0] or n[1] for n in names]
            kept = list(dict.fromkeys(names))
            if kept:
                out.append("\n### " + ", ".join(kept[:4]) + (", ..." if len(kept) > 4 else "") + "\n")
            code = re.sub(r"^COMP_API (.*(?:\n {9,}.*)*)", lambda m: m.group(1).replace("\n" + 9 * " ", "\n"), code, flags=re.M)
            out.append(f"```c\n{code}\n```\n")
        if comment:
            out.append(prose(comment.group(0)))
    return "\n".join(out)


def header_pages(version):
    order = re.findall(r"^ \*   (\w+\.h) ", (ROOT / "include/comp/comp.h").read_text(), re.M)
    pages = {"reference/c/comp.md": header_page(ROOT / "include/comp/comp.h")}
    for name in order:
        path = ROOT / "include/comp" / name
        path = path if path.exists() else version
        pages[f"reference/c/{name[:-2]}.md"] = header_page(path)
    return ["comp.h"] + order, pages


# ---- packages

def docstring(text):
    """A docstring as Markdown: its sections become headings, parameters a list."""
    text = inspect.cleandoc(text or "")
    body, _, rest = text.partition("\nParameters\n----------\n")
    out = [prose("/*\n" + "\n".join(" * " + line for line in body.split("\n")) + "\n*/")]
    for line in rest.split("\n"):
        if not line or re.fullmatch("-+", line):
            continue
        if line.startswith("    "):
            out.append((":   " if out[-1].startswith("\n`") else "    ") + in_line(line.strip()))
        elif " : " in line:
            name, kind = line.split(" : ", 1)
            out.append(f"\n`{name}` ({escaped(kind)})")
        elif re.fullmatch("Returns|Raises|Attributes|Notes|Examples", line):
            out.append(f"\n**{line}**\n")
        else:
            out.append(f"\n`{line}`")
    return "\n".join(out) + "\n"


def python_page(library):
    os.environ["COMP_LIBRARY"] = str(library)
    sys.path.insert(0, str(ROOT / "bindings/python"))
    import comp

    out = ["# Python\n", "Signatures and texts are those of the package, which makes them from the tables of the library. [comp in Python](../python.md) is a tour.\n"]
    for title, module in (("Everything at once", comp), ("comp.pp: preparation", comp.pp), ("comp.tl: tools", comp.tl), ("comp.pl: figures", comp.pl)):
        out.append(f"\n## {title}\n")
        names = ["run", "report", "load", "model", "CoMP", "ConditionInvariant", "RunResult", "Scores", "Findings", "Predicted"] if module is comp else \
            [n for n, f in vars(module).items() if inspect.isfunction(f) and not n.startswith("_") and f.__module__ == module.__name__]
        for name in names:
            thing = getattr(module, name)
            place = "comp" if module is comp else module.__name__
            out.append(f"\n### {place}.{name}\n")
            out.append(docstring(thing.__doc__))
            if inspect.isclass(thing):
                for method, function in vars(thing).items():
                    if inspect.isfunction(function) and not method.startswith("_") and function.__doc__:
                        out.append(f"\n`{name}.{method}`\n:   " + in_line(inspect.cleandoc(function.__doc__).split("\n\n")[0].replace("\n", " ")) + "\n")
    return "\n".join(out)


def r_page():
    files = sorted((ROOT / "bindings/r/man").glob("*.Rd"), key=lambda p: (p.stem != "comp-package", p.stem))
    script = 'for (f in commandArgs(TRUE)) { cat("\\f\\n"); tools::Rd2txt(f, options = list(underline_titles = FALSE), fragment = FALSE) }'
    text = subprocess.run(["Rscript", "--vanilla", "-e", script, *map(str, files)], capture_output=True, text=True, check=True).stdout
    out = ["# R\n", "The help pages of the package, which are made from the tables of the library. [comp in R](../r.md) is a tour.\n"]
    for path, page in zip(files, text.split("\f\n")[1:]):
        page = re.sub(r"_\x08(.)", r"\1", page)
        out.append(f"\n## {path.stem}\n\n```text\n{page.strip()}\n```\n")
    return "\n".join(out)
