"""packaging.py ROOT BUILD MESON PREFIX LIBDIR LIBRARY PROGRAM: debian/ and the other recipes agree with the build, with the table of ./dev and with each other. Speaks TAP."""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Of Debian's package build-essential, which a package build always has.
ESSENTIAL = {"gcc", "g++", "make", "libc6-dev", "dpkg-dev"}

# What `comp version` calls the libraries that libcomp is linked with; None: of the C library and the compiler.
NAMES = {
    "blas": "BLAS", "openblas": "OpenBLAS", "blosc": "blosc", "c": None, "deflate": "libdeflate", "dnnl": "oneDNN", "gomp": "OpenMP", "hdf5": "HDF5",
    "hdf5_serial": "HDF5", "isal": "ISA-L", "jansson": "jansson", "lapacke": "LAPACKE", "linear": "liblinear", "lzf": "liblzf", "m": None, "omp": "OpenMP",
    "z": "zlib", "zstd": "zstd", "pthread": None, "dl": None, "ld-linux-x86-64": None, "ld-linux-aarch64": None,
}  # fmt: skip


def paragraphs(text):
    """The fields of each paragraph of a control file."""
    for part in re.split(r"\n\n+", text.strip()):
        yield {name: re.sub(r"\s+", " ", value).strip() for name, value in re.findall(r"^(\S+?):((?:.*)(?:\n[ \t].*)*)", part, re.M)}


def items(field):
    return [i.strip() for i in field.split(",") if i.strip()]


def build_depends(control, table):
    """What a package build needs is what ./dev installs for it."""
    wanted = set()
    for group, package in re.findall(r"^(\S+) +(\S+) +\S+ +.*$", table, re.M):
        if group in ("build", "deb") and package not in ESSENTIAL:
            wanted.add(" | ".join(package.split("/")))
    there = {re.sub(r"^debhelper-compat .*", "debhelper", i) for i in items(control[0]["Build-Depends"])}
    for missing in sorted(wanted - there):
        yield f"./dev has {missing}, debian/control has not"
    for more in sorted(there - wanted):
        yield f"debian/control has {more}, ./dev has not"


def versions(root, control):
    """One version everywhere; the library's package is named by the soname."""
    meson = (root / "meson.build").read_text()
    version = re.search(r"^  version: '(.*)'", meson, re.M).group(1)
    soversion = re.search(r"^  soversion: '(.*?)'", meson, re.M).group(1)
    places = {
        "debian/changelog": r"^comp \(([^)]*)\)",
        "bindings/python/comp/_version.py": r"__version__ = \"(.*)\"",
        "bindings/r/DESCRIPTION": r"^Version: (.*)",
        "packaging/conda/meta.yaml": r"set version = \"(.*)\"",
        "web/package.json": r"\"version\": \"(.*)\"",
    }
    for place, pattern in places.items():
        found = re.search(pattern, (root / place).read_text(), re.M)
        if not found or found.group(1) != version:
            yield f"{place}: {found.group(1) if found else 'no version'} in place of {version}"
    if not any(p.get("Package") == "libcomp" + soversion for p in control):
        yield f"the soname ends in {soversion}, and debian/control has no package libcomp{soversion}"
    python = (root / "bindings/python/comp/_lib.py").read_text()
    if f'SONAME = "libcomp.so.{soversion}"' not in python:
        yield f"bindings/python/comp/_lib.py looks for another library than libcomp.so.{soversion}"


def matches(path, pattern):
    """As dh_install does: a pattern that matches a folder takes all that is in it; * does not match a slash."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) >= len(wanted) and all(fnmatch.fnmatchcase(p, w) for p, w in zip(parts, wanted))


def installed_files(build, meson, prefix, libdir):
    """What is installed, with the names that a package build gives: usr/, usr/lib/TRIPLET."""
    with tempfile.TemporaryDirectory(prefix="comp-packaging.") as stage:
        subprocess.run([meson, "install", "-C", build, "--no-rebuild", "--destdir", stage], check=True, stdout=subprocess.DEVNULL)
        top = stage + prefix.rstrip("/")
        for folder, _, names in os.walk(stage):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), top)
                if path.startswith(libdir + "/"):
                    path = "lib/triplet" + path[len(libdir) :]
                yield "usr/" + path


def belonging(root, control, files):
    """Each installed file is in one package; each line of debian/*.install has files, but for modules, which may be left out of a build."""
    patterns = []
    for file in sorted((root / "debian").glob("*.install")):
        if file.stem not in {p.get("Package") for p in control}:
            yield f"{file.name}: debian/control has no such package"
        patterns += [(file.stem, line.split()[0]) for line in file.read_text().splitlines() if line.strip()]
    for path in files:
        owners = [package for package, pattern in patterns if matches(path, pattern)]
        if len(owners) != 1:
            yield f"{path} is in {' and '.join(owners) if owners else 'no package'}"
    for package, pattern in patterns:
        if not pattern.startswith("usr/lib/*/comp/") and not any(matches(path, pattern) for path in files):
            yield f"debian/{package}.install: nothing is {pattern}"


def modules(root, control):
    """A message of the library names the package libcomp-NAME of a module: there is one, and what uses modules recommends it, in the same version."""
    names = re.findall(r"^    \{\"(\w+)\", \".*\", \".*\"\},$", (root / "src/core/module.c").read_text(), re.M)
    packages = {p["Package"]: p for p in control if "Package" in p}
    if not names:
        yield "src/core/module.c: no modules found"
    for name in names:
        package = "libcomp-" + name
        if package not in packages:
            yield f"debian/control has no package {package}"
        if f"-D{name}=enabled" not in (root / "debian/rules").read_text():
            yield f"debian/rules does not insist on -D{name}=enabled"
        for user, fields in packages.items():
            if re.match(r"comp$|libcomp\d", user) and package + " (= ${binary:Version})" not in items(fields.get("Recommends", "")) + items(fields.get("Suggests", "")):
                yield f"{user} neither recommends nor suggests {package} (= ${{binary:Version}})"


def libraries(library, program):
    """`comp version` names each library that libcomp is linked with."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout)
    shown = subprocess.run([program, "version"], check=True, capture_output=True, text=True).stdout
    if not needed:
        yield f"{library} needs nothing?"
    for soname in needed:
        stem = re.sub(r"^lib|\.so.*$", "", soname)
        if stem not in NAMES:
            yield f"{soname}: NAMES in tests/check/packaging.py does not say what `comp version` calls it"
        elif NAMES[stem] and not re.search(r"(^libraries|^) +\S*" + re.escape(NAMES[stem]) + r"( |$)", shown, re.M):
            yield f"{soname}: `comp version` does not list {NAMES[stem]}"


def main(root, build, meson, prefix, libdir, library, program):
    root = pathlib.Path(root)
    control = list(paragraphs((root / "debian/control").read_text()))
    table = re.search(r"^packages\(\) \{\n  cat <<'END'\n(.*?)^END$", (root / "dev").read_text(), re.M | re.S).group(1)
    files = sorted(installed_files(build, meson, prefix, libdir))
    checks = (
        ("Build-Depends of debian/control are what ./dev installs for it", build_depends(control, table)),
        ("one version everywhere", versions(root, control)),
        ("each installed file is in one package", belonging(root, control, files)),
        ("each module has a package", modules(root, control)),
        ("comp version lists every library", libraries(library, program)),
    )
    status = 0
    print(f"1..{len(checks)}")
    for number, (name, problems) in enumerate(checks, 1):
        problems = list(problems)
        status |= bool(problems)
        print(f"{'not ok' if problems else 'ok'} {number} - {name}")
        for problem in problems:
            print(f"# {problem}")
    sys.exit(status)


main(*sys.argv[1:])
