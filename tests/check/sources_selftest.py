"""sources_selftest.py ROOT: the digest of the sources changes with the library and the page, and not with the program. Speaks TAP."""

import os
import sys
import tempfile

sys.path[:0] = [os.path.join(sys.argv[1], *folder) for folder in (("src", "pipeline"), ("tests", "oracle"))]
import sources  # noqa: E402
from tap import finish, ok  # noqa: E402

FILES = {"include/comp/a.h": "a", "src/core/a.c": "b", "src/core/a.h": "c", "src/model/list.def": "d", "src/core/meson.build": "e", "src/core/README.md": "f",
         "src/cli/main.c": "g", "web/dist/report.html": "h", "meson.build": "i"}


def digest(change=None, new=None):
    with tempfile.TemporaryDirectory() as root:
        for name, text in {**FILES, **({new: "new"} if new else {})}.items():
            os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
            with open(os.path.join(root, name), "w") as file:
                file.write(text + ("!" if name == change else ""))
        return sources.digest(root, sources.sources(root)[0])


ok(digest() == digest(), "the same sources have the same digest, wherever they are")
for name in ("include/comp/a.h", "src/core/a.c", "src/core/a.h", "src/model/list.def", "web/dist/report.html"):
    ok(digest(name) != digest(), f"a change of {name} shows")
ok(digest(new="src/core/b.c") != digest(), "a new file shows")
ok(digest("src/cli/main.c") == digest(), "a change of the program does not")
ok(digest("src/core/README.md") == digest(), "a change of a document does not")
finish()
