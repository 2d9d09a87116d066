[ -w /dev/full ] || { echo "no /dev/full"; exit 77; }
"$COMP" help >/dev/full
