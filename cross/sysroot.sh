#!/bin/sh
# sysroot.sh FOLDER PACKAGE...: makes FOLDER a root directory with the arm64 libraries and headers of Debian's packages and of all that they
# depend on. a/b means a, or b where there is no a. FOLDER/sysroot.ini tells meson where it is.
#
# The files are only unpacked: nothing is installed, so that the machine's own packages cannot conflict with them. apt gets a state of its
# own, in which no package is installed and the architecture is arm64. It takes the machine's package sources and needs no root.
set -eu

architecture=arm64
triplet=aarch64-linux-gnu
case $1 in /*) root=$1 ;; *) root=$PWD/$1 ;; esac
shift

# A FOLDER of the same packages is kept; a new one takes its place only when it is complete.
stamp="$architecture $*"
if [ -f "$root/.packages" ] && [ "$(cat "$root/.packages")" = "$stamp" ]; then exit 0; fi
mkdir -p "$(dirname "$root")"
work=$(mktemp -d "$root.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/debs" "$work/sysroot/usr/lib"
: >"$work/apt/status"
cat >"$work/apt/apt.conf" <<END
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Sandbox::User "";
Dir::State "$work/apt";
Dir::State::status "$work/apt/status";
Dir::Cache "$work/apt/cache";
END
APT_CONFIG=$work/apt/apt.conf
export APT_CONFIG

apt-get -q update
packages=''
for choice in "$@"; do
  found=''
  for candidate in $(echo "$choice" | tr / ' '); do
    if [ -z "$found" ] && apt-cache show "$candidate" >/dev/null 2>&1; then found=$candidate; fi
  done
  packages="$packages ${found:-${choice%%/*}}"
done
# Programs that the libraries' packages depend on are left out: nothing runs them.
# shellcheck disable=SC2086  # a list of words
apt-get -q -s install --no-install-recommends $packages >"$work/plan"
awk '$1 == "Inst" && ($2 ~ /^lib/ || $2 ~ /^zlib/ || $2 ~ /-dev$/) { print $2 }' "$work/plan" >"$work/names"
(cd "$work/debs" && xargs apt-get -q download <"$work/names")

ln -s usr/lib "$work/sysroot/lib"
for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$work/sysroot"; done

# An absolute link would lead out of the new root.
find "$work/sysroot" -type l -lname '/*' | while read -r link; do ln -sfnr "$work/sysroot$(readlink "$link")" "$link"; done

# OpenBLAS is the BLAS and the LAPACK, a choice that installing its package would make.
blas=$(cd "$work/sysroot/usr/lib/$triplet" && echo openblas-*)
for file in "$work/sysroot/usr/lib/$triplet/$blas"/lib*; do ln -sfr "$file" "$work/sysroot/usr/lib/$triplet"; done
for file in "$work/sysroot/usr/include/$triplet/$blas"/*; do ln -sfr "$file" "$work/sysroot/usr/include/$triplet"; done
for name in blas lapack; do
  ln -sfr "$work/sysroot/usr/lib/$triplet/$blas/pkgconfig/$name-openblas.pc" "$work/sysroot/usr/lib/$triplet/pkgconfig/$name.pc"
done

printf "[constants]\nsysroot = '%s'\n" "$root" >"$work/sysroot/sysroot.ini"
echo "$stamp" >"$work/sysroot/.packages"
rm -rf "$root"
mv "$work/sysroot" "$root"
