#!/bin/sh
# installed.sh MESON BUILD PREFIX MODULES FIGURES: installs into a temporary folder, and uses what is there as a stranger would: a program by
# pkg-config, with no .pc file but ours, with the shared and with the static library; and the module of figures, if FIGURES is yes. Speaks TAP.
set -u
meson=$1 build=$2 prefix=$3 modules=$4 figures=$5
work=$(mktemp -d "${TMPDIR:-/tmp}/comp-installed.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
unset COMP_MODULES LD_LIBRARY_PATH PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
root=$work/root$prefix
number=0
status=0

# result NAME: reports the exit status of the command before.
result() {
  if [ $? = 0 ]; then verdict=ok; else verdict='not ok' status=1; fi
  number=$((number + 1))
  echo "$verdict $number - $1"
  if [ "$verdict" != ok ]; then sed 's,^,# ,' "$work/output"; fi
}

# pkg OPTION...: the flags of comp, with the prefix where it really is.
pkg() { PKG_CONFIG_LIBDIR=$folder pkg-config --define-variable=prefix="$root" "$@" comp; }

# loads: whether the output names the library of the module, if that was built.
loads() { [ "$figures" = no ] || grep -q 'cairo [0-9]' "$work/output"; }

echo 1..7
"$meson" install -C "$build" --no-rebuild --destdir "$work/root" >"$work/output" 2>&1
result 'it installs'
folder=$(dirname "$(find "$work/root" -name comp.pc)")
cat >"$work/program.c" <<'END'
#include <comp/comp.h>
#include <stdio.h>
int main(void) {
  const char *library;
  printf("comp %s: %s\n", comp_version(), comp_module_load(&library, "figures") == COMP_OK ? library : comp_error_message());
}
END
# shellcheck disable=SC2046,SC2086  # lists of words
${CC:-cc} "$work/program.c" -o "$work/program" $(pkg --cflags --libs) >"$work/output" 2>&1
result 'a program compiles with pkg-config --cflags --libs comp, with no other .pc file'
libdir=$(pkg --variable=libdir)
LD_LIBRARY_PATH=$libdir "$work/program" >"$work/output" 2>&1 && grep -q '^comp [0-9]' "$work/output" && loads
result 'it runs, and the shared library finds its modules in a tree that was moved'

"$root/bin/comp" version >"$work/output" 2>&1 && loads
result 'the installed program finds them, too'

rm -f "$libdir"/libcomp.so*
# shellcheck disable=SC2046,SC2086  # lists of words
${CC:-cc} "$work/program.c" -o "$work/program" $(pkg --static --cflags --libs) >"$work/output" 2>&1
result 'a program compiles with --static'
# shellcheck disable=SC2046,SC2086  # lists of words
${CC:-cc} "$work/program.c" -o "$work/whole" -L"$libdir" -Wl,--whole-archive -lcomp -Wl,--no-whole-archive $(pkg --static --cflags --libs) >"$work/output" 2>&1
result 'no symbol of the static library is missing'
COMP_MODULES=$root/$modules "$work/program" >"$work/output" 2>&1 && grep -q '^comp [0-9]' "$work/output" && loads
result 'it runs, with the modules of COMP_MODULES'
exit $status
