#!/bin/bash
# build.sh: what conda-build runs for the package comp. Leiden clusters (igraph, GPL) are left out.
set -euo pipefail
export CFLAGS="$CFLAGS -I$SRC_DIR/random123/include"
meson setup build --prefix="$PREFIX" --libdir=lib -Dbuildtype=release -Dtests=disabled -Dfigures=enabled -Dboosted=enabled -Dleiden=disabled -Dmpi=disabled
ninja -C build
meson install -C build --no-rebuild
