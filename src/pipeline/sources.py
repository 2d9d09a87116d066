"""sources.py ROOT OUT.h DEPFILE: a digest of all that decides on the results of a run, for the build: the sources of libcomp and the report's page.

The program and the paper's experiments (src/cli, src/experiment) are left out: a run does not depend on them."""
import hashlib
import os
import sys

LEFT_OUT = ("src/cli", "src/experiment")
ENDINGS = (".c", ".h", ".def", ".in")


def sources(root):
    """The files, sorted by name, and the folders' meson.build, which change when a file comes or goes."""
    found, lists = ["web/dist/report.html"], ["meson.build"]
    for top in ("include", "src"):
        for path, folders, names in os.walk(os.path.join(root, top)):
            folder = os.path.relpath(path, root).replace(os.sep, "/")
            folders[:] = [f for f in folders if f"{folder}/{f}" not in LEFT_OUT]
            found += [f"{folder}/{name}" for name in names if name.endswith(ENDINGS)]
            lists += [f"{folder}/{name}" for name in names if name == "meson.build"]
    return sorted(found), sorted(lists)


def digest(root, found):
    whole = hashlib.sha256()
    for name in found:
        with open(os.path.join(root, name), "rb") as file:
            whole.update(name.encode() + b"\0" + hashlib.sha256(file.read()).digest())
    return whole.hexdigest()[:16]


def main():
    root, out, depfile = sys.argv[1:]
    found, lists = sources(root)
    with open(out, "w") as file:
        file.write(f'/* Made by src/pipeline/sources.py. */\n#define COMP__SOURCES "{digest(root, found)}"\n')
    with open(depfile, "w") as file:
        file.write(f"{os.path.relpath(out)}: " + " ".join(os.path.join(root, name).replace(" ", "\\ ") for name in found + lists) + "\n")


if __name__ == "__main__":
    main()
