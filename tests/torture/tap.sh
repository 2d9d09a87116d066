# tap.sh: what the scripts of this folder begin with: absolute paths of COMP and INJECT, an empty folder, and lines of TAP. To be sourced.
COMP=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
INJECT=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export LC_ALL=C
number=0

# check NAME CODE: one line of TAP.
check() {
  number=$((number + 1))
  if [ "$2" -eq 0 ]; then echo "ok $number - $1"; else echo "not ok $number - $1"; fi
}
