#!/bin/sh
# needs.sh LIBRARY: libcomp.so does without the libraries of its modules and all that comes with them. Speaks TAP.
set -u
library=$1
lists=$(mktemp -d "${TMPDIR:-/tmp}/comp-needs.XXXXXX") || exit 1
trap 'rm -rf "$lists"' EXIT
status=0

# none NUMBER NAME PATTERN FILE: passes when no line of the file matches.
none() {
  if grep -E "$3" "$4" >"$lists/found"; then
    echo "not ok $1 - $2"
    sed 's,^,# ,' "$lists/found"
    status=1
  else
    echo "ok $1 - $2"
  fi
}

echo 1..4
readelf -d "$library" | sed -n 's,.*(NEEDED).*\[\(.*\)\].*,\1,p' | sort >"$lists/direct"
ldd "$library" | awk '{print $1}' | sort >"$lists/all"
if grep -q hdf5 "$lists/direct" && grep -q hdf5 "$lists/all"; then echo 'ok 1 - the lists are there'; else echo 'not ok 1 - the lists are there' status=1; fi
none 2 'it links with no library of a module, nor with X11, curl or krb5' '^lib(cairo|xgboost|igraph|mpi|X11|xcb|curl|krb5|gssapi)' "$lists/direct"
none 3 'nothing that it links with needs one of a module, or X11' '^lib(cairo|xgboost|igraph|mpi|X11|xcb)' "$lists/all"
# HDF5 of Debian reads files from the network, with curl. That is its own affair, and nobody else's here.
hdf5=$(ldd "$library" | awk '/libhdf5/ {print $3; exit}')
ldd "$hdf5" | awk '{print $1}' | sort | comm -23 "$lists/all" - >"$lists/others"
none 4 'curl and krb5 come with HDF5 only, if at all' '^lib(curl|krb5|gssapi)' "$lists/others"
exit $status
