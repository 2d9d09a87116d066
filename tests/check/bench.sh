#!/bin/sh
# bench.sh [ROOT]: every bench/NAME.py can run from a fresh clone: a build without tests has a target bench-NAME with all programs that the script, or a
# module that it imports, names. Speaks TAP.
set -u
cd "${1:-.}" || exit 1
lists=$(mktemp -d "${TMPDIR:-/tmp}/comp-bench.XXXXXX") || exit 1
trap 'rm -rf "$lists"' EXIT
LC_ALL=C
export LC_ALL
status=0

# report NUMBER NAME FILE: passes when the file, a list of findings, is empty.
report() {
  if [ -s "$3" ]; then
    echo "not ok $1 - $2"
    sed 's,^,# ,' "$3"
    status=1
  else
    echo "ok $1 - $2"
  fi
}

# files NAME: a script and the modules of bench and tests/oracle that it imports, directly or not.
files() {
  echo "bench/$1.py" >"$lists/files"
  : >"$lists/before"
  while ! cmp -s "$lists/files" "$lists/before"; do
    cp "$lists/files" "$lists/before"
    # shellcheck disable=SC2046  # file names here have no spaces
    sed -nE 's,^[[:space:]]*(import|from) ([a-z_0-9]+).*,\2,p' $(cat "$lists/before") | sort -u | while read -r module; do
      [ ! -f "tests/oracle/$module.py" ] || echo "tests/oracle/$module.py"
      # `import umap` means the library, not bench/umap.py: what scripts of bench import is named *_common.
      case $module in *_common) [ ! -f "bench/$module.py" ] || echo "bench/$module.py" ;; esac
    done | sort -u - "$lists/before" >"$lists/files"
  done
  cat "$lists/files"
}

echo 1..4
if meson setup "$lists/build" . -Dtests=disabled >"$lists/log" 2>&1; then : >"$lists/setup"; else tail -n 5 "$lists/log" >"$lists/setup"; fi
report 1 'a build without tests can be configured' "$lists/setup"

ninja -C "$lists/build" -t targets all 2>/dev/null | sed -n 's,^bench-\(.*\): phony$,\1,p' | sort >"$lists/targets"
./dev bench --list | cut -d ' ' -f 1 | sort >"$lists/names"
comm -3 "$lists/names" "$lists/targets" >"$lists/differ"
[ -s "$lists/names" ] || echo "./dev bench --list names no benchmark" >>"$lists/differ"
report 2 'every benchmark has a target bench-NAME, and every target a script' "$lists/differ"

# The programs: all that bench and tests can make besides tests themselves.
ninja -C "$lists/build" -t targets all 2>/dev/null | sed -nE 's,^((bench|tests)/[a-z0-9_]+): .*LINKER.*,\1,p' | sort >"$lists/programs"
: >"$lists/lacking"
for name in $(grep -vx all "$lists/names"); do
  ninja -C "$lists/build" -t query "bench-$name" 2>/dev/null | sed -nE 's,^ +\|* *,,p' >"$lists/inputs"
  files "$name" >"$lists/sources"
  while read -r program; do
    # shellcheck disable=SC2046  # file names here have no spaces
    if grep -q -e "[\"/]$(basename "$program")\"" $(cat "$lists/sources") && ! grep -qx -e "$program" "$lists/inputs"; then
      echo "bench/$name.py names $program, which bench-$name does not build (bench/meson.build)" >>"$lists/lacking"
    fi
  done <"$lists/programs"
done
[ -s "$lists/programs" ] || echo "no programs were found in build.ninja" >>"$lists/lacking"
report 3 'a target bench-NAME builds every program that the script names' "$lists/lacking"

grep -noE '(ours|ours_json|program)\("[^"]+"' bench/*.py | sed -E 's,^([^:]+:[0-9]+):.*"([^"]+)",\1 \2,' | while read -r place program; do
  [ "$program" = comp ] || grep -qx -e "$program" "$lists/programs" || echo "$place: the build makes no program $program"
done >"$lists/paths"
report 4 'every program that a script runs is one that the build makes' "$lists/paths"
exit $status
