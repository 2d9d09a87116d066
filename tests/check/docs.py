"""docs.py ROOT: what ARCHITECTURE.md, docs/developer.md and the README of each folder of src/ say of files is true. Speaks TAP."""
import fnmatch
import pathlib
import re
import sys

ENDINGS = "c|h|def|py|sh|md|js|map|build|in"
PLACEHOLDER = re.compile(r"\b(X|NAME|ROOM|TARGET|THING)\b|_(X|NAME|THING)\b")


def named(text):
    """Files that are named in backticks; what stands for any name is left out."""
    for name in re.findall(rf"`([\w./*-]+\.(?:{ENDINGS}))`", text):
        if not PLACEHOLDER.search(name):
            yield name


def exists(root, files, folder, name):
    """Seen from the root, from src/ and include/, or from the document's own folder; a plain name may be anywhere unless a folder is given."""
    bases = [root, root / "src", root / "include", folder] if folder else [root, root / "src", root / "include"]
    if any(any(base.glob(name)) for base in bases):
        return True
    return not folder and any(fnmatch.fnmatch(file, "*/" + name) for file in files)


def is_made(name):
    return name.endswith("version.h")  # made from version.h.in


def main(root):
    root = pathlib.Path(root)
    tops = ("src", "include", "tests", "docs", "bench", "web", "cross", "experiments", "examples", "bindings")
    files = [str(p.relative_to(root)) for top in tops for p in (root / top).rglob("*") if "node_modules" not in p.parts]
    rooms = sorted(p.parent for p in (root / "src").rglob("README.md"))
    absent, unnamed, long = [], [], []
    for document in (root / "ARCHITECTURE.md", root / "docs/developer.md"):
        absent += [f"{document.name}: {n}" for n in named(document.read_text()) if not is_made(n) and not exists(root, files, None, n)]
    for room in rooms:
        where, text = room.relative_to(root), (room / "README.md").read_text()
        absent += [f"{where}: {n}" for n in named(text) if not exists(root, files, room, n)]
        words = re.findall(r"`([^`\s]+)`", text)
        for source in sorted(room.glob("*.c")):
            known = (source.name, source.stem, source.stem + ".h")
            patterns = [w.replace("NAME", "*") for w in words]
            if source.name != "options.c" and not any(fnmatch.fnmatch(k, p) for k in known for p in patterns):
                unnamed.append(f"{where}: {source.name}")
        if len(text.rstrip().split("\n")) > 10:
            long.append(str(where))
    folders = {p.parent for p in (root / "src").rglob("*.c")} - set(rooms)
    unnamed += [f"{f.relative_to(root)} has no README" for f in sorted(folders)]
    checks = (("documents name files that exist", absent), ("a README names each source file of its folder", unnamed), ("a README has at most ten lines", long))
    print(f"1..{len(checks)}")
    for number, (name, problems) in enumerate(checks, 1):
        print(f"{'not ok' if problems else 'ok'} {number} - {name}")
        for problem in problems:
            print(f"# {problem}")
    sys.exit(any(problems for _, problems in checks))


main(sys.argv[1])
