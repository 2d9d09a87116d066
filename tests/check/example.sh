#!/bin/sh
# example.sh PROGRAM: an example ends well and prints names with numbers. Speaks TAP. Meson names the emulator of a cross build.
echo 1..1
if output=$(${MESON_EXE_WRAPPER:-} "$1") && echo "$output" | grep -Eq '^[a-z_]+ -?[0-9]+[.][0-9]+$'; then
  echo "ok 1 - $(basename "$1")"
else
  echo "not ok 1 - $(basename "$1")"
fi
echo "$output" | sed 's,^,# ,'
