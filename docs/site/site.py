#!/usr/bin/env python3
"""site.py BUILD: makes the documentation site of docs/ in BUILD/site; called by ./dev docs.

The pages of docs/ are copied to BUILD/site-src, with tabs and links as the site needs them; the reference is generated; mkdocs does the rest, with warnings as errors.
"""
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import pages as pages_of_site
import reference
from pages import DOCS, OTHERS, ROOT

HERE = pathlib.Path(__file__).resolve().parent


def main(build):
    program, library = build / "comp", build / "libcomp.so"
    source = build / "site-src"
    shutil.rmtree(source, ignore_errors=True)

    commands, made, table = reference.command_pages(str(program))
    headers, c_pages = reference.header_pages(build / "include/comp/version.h")
    made.update(c_pages)
    made["reference/options.md"] = reference.options_page(library)
    made["reference/python.md"] = reference.python_page(library)
    made["reference/r.md"] = reference.r_page()
    made["reference/index.md"] = (
        "# Reference\n\nThese pages are made from the program, its tables of options, the public headers and the packages when the site is built.\n\n"
        "- [Options](options.md) of all kinds\n- [C: the public headers](c/comp.md)\n- [Python](python.md) and [R](r.md)\n\n## Commands\n\n| command | what it does |\n|---|---|\n" + table)

    written = {str(p.relative_to(ROOT)): str(p.relative_to(DOCS)) for p in pages_of_site.sources()}
    written.update({name: page for name, page in OTHERS.items() if page != "index.md"})
    existing = set(made) | set(written.values()) | {f"images/{p.name}" for p in (DOCS / "images").iterdir()}
    for path, page in written.items():
        text = pages_of_site.relinked((ROOT / path).read_text(), path, page, existing.__contains__)
        made[page] = pages_of_site.tabbed(text)
    made["changelog.md"] = "---\nsearch:\n  boost: 0.2\n---\n" + made["changelog.md"]  # other pages come first in search
    for page, text in made.items():
        (source / page).parent.mkdir(parents=True, exist_ok=True)
        (source / page).write_text(text)
    shutil.copytree(DOCS / "images", source / "images")
    (source / "assets").mkdir()
    shutil.copy(HERE / "comp.css", source / "assets")

    config = (HERE / "mkdocs.yml").read_text()
    config = config.replace("          - COMMANDS\n", "".join(f"          - {n}: reference/commands/{n}.md\n" for n in commands))
    config = config.replace("          - HEADERS\n", "".join(f"          - {n}: reference/c/{n[:-2]}.md\n" for n in headers))
    config = config.replace("../../build/", f"{build}/").replace("custom_dir: theme", f"custom_dir: {HERE / 'theme'}")
    (build / "site.yml").write_text(config)
    status = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--clean", "-f", str(build / "site.yml")]).returncode
    if status:
        sys.exit(status)
    index = (build / "site/search/search_index.json").read_text()
    (build / "site/search/search_index.js").write_text(f"var __search = {{ index: Promise.resolve({index}) }}\n")
    # lunr, which searches, takes two nodes of its automaton for one when a digit in a word and the number of a node run together ("arm64" becomes
    # "arm66", which is no word, and every search for "c" fails). A comma keeps them apart.
    for worker in (build / "site/assets/javascripts/workers").glob("search.*.js"):
        worker.write_text(re.sub(r"\b(\w+)=\1\+(\w+)\+(\w+)\.id\}return \1\}", r'\1=\1+\2+\3.id+","}return \1}', worker.read_text()))
    print(f"{len(made)} pages: {build / 'site/index.html'}")


main(pathlib.Path(sys.argv[1]).resolve())
