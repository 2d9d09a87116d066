"""packaging_selftest.py PACKAGING ROOT BUILD MESON PREFIX LIBDIR LIBRARY PROGRAM: packaging.py finds what it is there to find. Speaks TAP."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

# In a copy: the file, what is replaced there, and the finding that must follow.
FAULTS = (
    ("debian/control", " libzstd-dev,\n", "", "./dev has libzstd-dev, debian/control has not"),
    ("dev", "build     libblosc-dev ", "other     libblosc-dev ", "debian/control has libblosc-dev, ./dev has not"),
    ("bindings/r/DESCRIPTION", "Version: ", "Version: 9.", "bindings/r/DESCRIPTION: 9."),
    ("meson.build", "soversion: '0.", "soversion: '9.", "debian/control has no package libcomp9."),
    ("debian/comp.install", "usr/bin/comp\n", "usr/lib/*/libcomp.a\n", "libcomp.a is in comp and libcomp-dev"),
    ("debian/comp.install", "usr/share/man/man1/*.1", "usr/share/man/man8/*.8", "nothing is usr/share/man/man8/*.8"),
    ("debian/control", "Package: libcomp-leiden", "Package: libcomp-other", "debian/control has no package libcomp-leiden"),
    ("debian/control", "libcomp-figures (= ${binary:Version})", "libcomp-figures", "comp neither recommends nor suggests libcomp-figures"),
    ("debian/rules", "-Dboosted=enabled", "", "debian/rules does not insist on -Dboosted=enabled"),
)
COPIED = ("debian", "bindings/python/comp/_version.py", "bindings/python/comp/_lib.py", "bindings/r/DESCRIPTION", "packaging/conda/meta.yaml", "web/package.json",
          "src/core/module.c", "dev", "meson.build")  # fmt: skip


def main(packaging, root, build, meson, prefix, libdir, library, program):
    with tempfile.TemporaryDirectory(prefix="comp-packaging.") as folder:
        copy = pathlib.Path(folder)
        for name in COPIED:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if name == "debian" else shutil.copy)(pathlib.Path(root) / name, copy / name)
        missing = []
        for name, old, new, _ in FAULTS:
            text = (copy / name).read_text()
            if old not in text:
                missing.append(f"{name} has no {old!r}: change FAULTS")
            (copy / name).write_text(text.replace(old, new))
        silent = copy / "silent"
        silent.write_text("#!/bin/sh\necho comp\n")
        silent.chmod(0o755)
        run = subprocess.run([sys.executable, packaging, copy, build, meson, prefix, libdir, library, silent], capture_output=True, text=True)
    results = [("every fault could be made", missing)]
    for finding in [f[-1] for f in FAULTS] + ["`comp version` does not list HDF5"]:
        results.append((f"finds: {finding}", [] if finding in run.stdout else run.stdout.splitlines() + run.stderr.splitlines()))
    results.append(("its exit status says so", [] if run.returncode == 1 else [str(run.returncode)]))
    print(f"1..{len(results)}")
    for number, (name, problems) in enumerate(results, 1):
        print(f"{'not ok' if problems else 'ok'} {number} - {name}")
        for problem in problems:
            print(f"# {problem}")
    sys.exit(any(problems for _, problems in results))


main(*sys.argv[1:])
