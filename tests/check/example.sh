#!/bin/sh
# example.sh PROGRAM PATTERN: an example ends well, and a line of what it prints matches. It runs in a folder of its own. Speaks TAP. Meson names the
# emulator of a cross build.
echo 1..1
program=$(realpath "$1")
folder=$(mktemp -d) || exit
cd "$folder" || exit
if output=$(${MESON_EXE_WRAPPER:-} "$program") && echo "$output" | grep -Eq "$2"; then
  echo "ok 1 - $(basename "$1")"
else
  echo "not ok 1 - $(basename "$1")"
fi
echo "$output" | sed 's,^,# ,'
cd / && rm -rf "$folder"
