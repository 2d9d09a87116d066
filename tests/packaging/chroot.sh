#!/bin/sh
# chroot.sh ROOT [DATA.h5ad]: `./dev deb check`. Installs the packages of build/deb with apt in an empty Debian 12, and there trains in three ways on the same data:
# the program, Python with an AnnData object, R with a Seurat object. The three embeddings must be the same bytes. Speaks TAP.
#
# chroot.sh ROOT --demo: `./dev demo` on a fresh clone in an empty Debian 12, which shows that the group build of the table of packages in ./dev is complete.
#
# chroot.sh ROOT --dev: the same, then a few tests each of `./dev test`, `./dev python`, `./dev r` and `./dev oracle`, and `./dev docs`: so are the other groups.
#
# DATA.h5ad has counts, and the columns stim and cell_type; default: kang/kang_ifnb.h5ad in COMP_DATA or ROOT/../shared/data, else simulated cells. Needs root and a mirror
# of Debian: apt's sources and proxy are those of this machine. CHROOT_BASE names a folder that debootstrap filled before; it is copied. Nothing is left behind.
set -u
root=$1
condition=stim label=cell_type
clone=no
case ${2:-} in
  --demo | --dev)
    clone=${2#--}
    shift
    ;;
esac
data=${2:-${COMP_DATA:-$root/../shared/data}/kang/kang_ifnb.h5ad}
[ "$(id -u)" = 0 ] || { echo "Bail out! making a chroot needs root"; exit 1; }
if [ ! -f "$data" ] && [ $# -gt 1 ]; then
  echo "Bail out! there is no file $data"
  exit 1
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/comp-chroot.XXXXXX") || exit 1
debian=$scratch/debian
trap 'umount "$debian/proc" 2>/dev/null; rm -rf --one-file-system "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
number=0
status=0

# result NAME: reports the exit status of the command before.
result() {
  if [ $? = 0 ]; then verdict=ok; else verdict='not ok' status=1; fi
  number=$((number + 1))
  echo "$verdict $number - $1"
  if [ "$verdict" != ok ]; then tail -n 30 "$scratch/output" | sed 's,^,# ,'; fi
}

inside() { chroot "$debian" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive MPLBACKEND=agg "$@"; }

case $clone in
  demo) echo 1..3 ;;
  dev) echo 1..8 ;;
  no) echo 1..8 ;;
esac
if [ -n "${CHROOT_BASE:-}" ]; then
  cp -a "$CHROOT_BASE" "$debian"
else
  debootstrap --variant=minbase bookworm "$debian" "${MIRROR:-http://deb.debian.org/debian}"
fi >"$scratch/output" 2>&1
result 'an empty Debian 12'
[ $status = 0 ] || exit 1
cp /etc/resolv.conf "$debian/etc/resolv.conf"
for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources /etc/apt/apt.conf.d/*proxy*; do
  if [ -f "$file" ]; then cp "$file" "$debian$file"; fi
done
mount -t proc proc "$debian/proc"
mkdir -p "$debian/check"
if [ $clone != no ]; then
  git clone -q "$root" "$debian/check/comp" >"$scratch/output" 2>&1
  result 'a fresh clone'
  inside TERM=dumb /check/comp/dev demo </dev/null >"$scratch/output" 2>&1 && [ -s "$debian/check/comp/build/demo/results/report.html" ]
  result './dev demo installs what it needs, builds, and writes a report'
  tail -n 1 "$scratch/output" | sed 's,^,# ,'
  [ $clone = dev ] || exit $status
  # The last line of tests is such as "5 passed, 0 failed".
  for command in 'test --release ranks' 'python pl' 'r options' 'oracle zarr_run'; do
    # shellcheck disable=SC2086  # a list of words
    inside TERM=dumb /check/comp/dev $command </dev/null >"$scratch/output" 2>&1 && tail -n 1 "$scratch/output" | grep -q '^[1-9][0-9]* passed, 0 failed'
    result "./dev $command"
    tail -n 1 "$scratch/output" | sed 's,^,# ,'
  done
  inside TERM=dumb /check/comp/dev docs </dev/null >"$scratch/output" 2>&1 && [ -s "$debian/check/comp/build/site/index.html" ]
  result './dev docs'
  exit $status
fi
cp "$root"/build/deb/*.deb "$root"/tests/packaging/check.* "$debian/check/"

{ inside apt-get update && inside sh -c 'apt-get install -y --no-install-recommends /check/*.deb python3-matplotlib r-cran-seuratobject'; } >"$scratch/output" 2>&1
result 'apt installs all packages'
inside comp version >"$scratch/output" 2>&1 && ! grep -q 'is not installed\|cannot be loaded' "$scratch/output"
result 'the program runs, with all modules'
sed 's,^,# ,' "$scratch/output"

if [ -f "$data" ]; then
  cp "$data" "$debian/check/cells.h5ad"
else
  condition=condition label=label
  inside comp simulate -q -o /check/cells.h5ad --cells 1000 --genes 300
fi
inside comp run -i /check/cells.h5ad -o /check/cli --condition $condition --label $label --hidden 32 --latent 10 --epochs 2 --hvg seurat:500 \
  --no-umap --no-diagnose --no-counterfactual --no-correct >"$scratch/output" 2>&1
result 'comp run'
inside python3 /check/check.py $condition $label >"$scratch/output" 2>&1
result 'Python: anndata.read_h5ad, comp.run, a figure'
inside Rscript /check/check.R $condition $label >"$scratch/output" 2>&1
result 'R: a Seurat object, RunComp'
(cd "$debian/check" && sha256sum cli.bytes python.bytes r.bytes) >"$scratch/output" 2>&1 && [ -s "$debian/check/cli.bytes" ] && [ "$(cut -d ' ' -f 1 "$scratch/output" | sort -u | wc -l)" = 1 ]
result 'the three embeddings are the same bytes'
sed 's,^,# ,' "$scratch/output"
inside sh -c 'apt-get purge -y $(for file in /check/*.deb; do dpkg-deb -f "$file" Package; done) && ! find /usr /etc -name "*libcomp*" -o -path "*-packages/comp*" | grep .' >"$scratch/output" 2>&1
result 'apt removes them without a trace'
exit $status
