#!/bin/sh
# build.sh [OUTPUT]: a wheel of the Python package that carries libcomp and its modules, in OUTPUT (default: build/wheel). Needs a release build (./dev build), and
# setuptools and wheel for the Python that is named by PYTHON (default: python3). Other libraries are not in it yet: that is what `auditwheel repair` adds.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
output=${1:-$root/build/wheel}
stage=$(mktemp -d "${TMPDIR:-/tmp}/comp-wheel.XXXXXX")
trap 'rm -rf "$stage"' EXIT
library=$root/build/libcomp.so.0.2
[ -f "$library" ] || { echo "build.sh: there is no $library: run ./dev build" >&2; exit 1; }

cp -r "$root/bindings/python/comp" "$root/bindings/python/pyproject.toml" "$root/bindings/python/README.md" "$root/packaging/wheel/setup.py" "$stage/"
find "$stage" -name __pycache__ -exec rm -rf {} +
# The package looks for the library beside itself, the library for modules in the folder comp beside itself. Leiden clusters (igraph, GPL) are left out.
cp -L "$library" "$stage/comp/libcomp.so.0.2"
mkdir "$stage/comp/comp"
for module in figures boosted; do
  if [ -f "$root/build/src/modules/$module.so" ]; then cp "$root/build/src/modules/$module.so" "$stage/comp/comp/"; fi
done
sed -i 's,"libcomp.so\*",&\, "comp/*.so",' "$stage/pyproject.toml"
mkdir -p "$output"
(cd "$stage" && "${PYTHON:-python3}" -m pip wheel --no-deps --no-build-isolation --no-index -w "$output" .)
