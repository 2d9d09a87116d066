#!/bin/sh
# place.sh: what `./dev install` and `./dev uninstall` do.
#   place.sh install BUILD PREFIX   installs the build directory BUILD, and writes the list PREFIX/share/comp/installed-files
#   place.sh remove PREFIX          removes what such a list names: files, then the folders that `install` made, where they are empty
# All is below DESTDIR, if that is set; paths in the list are as without it. Installing twice adds to the list, so that files of the first time are removed, too.
set -u

die() {
  echo "$*" >&2
  exit 1
}

root=${DESTDIR:-}
case $root in
  '' | /*) ;;
  *) root=$PWD/$root ;;
esac
scratch=$(mktemp -d "${TMPDIR:-/tmp}/comp-place.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT

# The list of what a build installs, by installing it to a folder of its own; folders end in a slash, and are in the list only when they are not there yet.
list_new() {
  DESTDIR='' meson install -C "$1" --no-rebuild --destdir "$scratch/stage" >"$scratch/output" 2>&1 || { cat "$scratch/output" >&2; return 1; }
  mkdir -p "$(dirname "$scratch/stage$list")"
  : >"$scratch/stage$list"
  (cd "$scratch/stage" && find . -mindepth 1 -type d | sed 's,^\.,,') | while read -r folder; do [ -d "$root$folder" ] || echo "$folder/"; done
  (cd "$scratch/stage" && find . -mindepth 1 ! -type d | sed 's,^\.,,')
}

case ${1:-} in
  install)
    [ $# = 3 ] || die "place.sh install BUILD PREFIX"
    list=${3%/}/share/comp/installed-files
    list_new "$2" >"$scratch/new" || exit 1
    if [ -f "$root$list" ]; then cat "$root$list" >>"$scratch/new"; fi
    DESTDIR=$root meson install -C "$2" --no-rebuild || exit 1
    mkdir -p "$(dirname "$root$list")" && sort -u "$scratch/new" >"$root$list" || exit 1
    ;;
  remove)
    [ $# = 2 ] || die "place.sh remove PREFIX"
    list=${2%/}/share/comp/installed-files
    [ -f "$root$list" ] || die "there is no $root$list: nothing was installed there by ./dev install"
    cp "$root$list" "$scratch/old" || exit 1
    # The list goes last: if a file cannot be removed, another try still finds it.
    grep -v '/$' "$scratch/old" | grep -vxF -e "$list" | while read -r file; do rm -f "$root$file" || exit 1; done || exit 1
    rm -f "$root$list" || exit 1
    grep '/$' "$scratch/old" | sort -r | while read -r folder; do
      if [ -d "$root$folder" ]; then rmdir --ignore-fail-on-non-empty "$root${folder%/}" || exit 1; fi
    done
    ;;
  *) die "place.sh install BUILD PREFIX, or place.sh remove PREFIX" ;;
esac
