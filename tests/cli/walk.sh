#!/bin/sh
# walk.sh COMP COMMANDS.DEF: walks the table of commands: each has help that names all its options, a man page that renders, and
# completion. A new command is covered by its row alone. Reports as TAP.
set -u
comp=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
count=0

# report RESULT NAME
report() {
  count=$((count + 1))
  if [ "$1" -eq 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; fi
}

# options_of FILE: the long options in help text.
options_of() {
  sed -nE 's/^  (-.,|   ) (--[a-z0-9-]+).*/\2/p' "$1" | sort
}

# completed_by FILE: the long options in a line of the bash completion.
completed_by() {
  sed 's/;.*//' "$1" | tr ' "' '\n\n' | grep -e '^--' | sort
}

# has_words FILE WORD...: all of them, as whole words.
has_words() {
  file=$1
  shift
  for word in "$@"; do
    grep -qE -e "(^|[^a-z-])$word([^a-z-]|\$)" "$file" || { echo "# $word is missing"; return 1; }
  done
}

# renders FILE: a man page without complaints; without a formatter, at least one with all its parts.
renders() {
  for part in NAME SYNOPSIS DESCRIPTION "EXIT STATUS" "SEE ALSO"; do
    grep -qx ".SH \"$part\"" "$1" || { echo "# no $part"; return 1; }
  done
  if command -v groff >"$work/formatter"; then
    groff -man -Tutf8 -ww -P-c "$1" >"$1.text" 2>"$1.complaints" || return 1
  elif command -v mandoc >"$work/formatter"; then
    mandoc -T utf8 -W error "$1" >"$1.text" 2>"$1.complaints" || return 1
  else
    return 0
  fi
  sed 's/^/# /' "$1.complaints"
  [ -s "$1.text" ] && [ ! -s "$1.complaints" ]
}

# wraps FILE: no line beyond 80 columns, no trailing space.
wraps() {
  awk 'length > 80 || / $/ { print "# " $0; bad = 1 } END { exit bad }' "$1"
}

"$comp" help --list >"$work/commands"
sed -n 's/^COMMAND(\(.*\))$/\1/p' "$2" | cmp - "$work/commands"
report $? "the program's commands are the rows of commands.def"

for shell in bash zsh; do
  "$comp" help --completion $shell >"$work/completion.$shell"
  if command -v $shell >"$work/shell"; then
    $shell -n "$work/completion.$shell"
    report $? "the $shell completion can be read by $shell"
  fi
done

while read -r name; do
  help=$work/$name.help man=$work/comp-$name.1
  "$comp" "$name" --help >"$help"
  report $? "$name: help"
  grep -q "^Usage: comp $name" "$help" && grep -q '^Examples:' "$help"
  report $? "$name: help has usage and examples"
  wraps "$help"
  report $? "$name: help fits 80 columns"
  options=$(options_of "$help")
  has_words "$help" --threads --quiet --verbose --help
  report $? "$name: help has the common options"
  grep "^    $name) words=" "$work/completion.bash" >"$work/$name.bash"
  [ -n "$options" ] && [ "$options" = "$(completed_by "$work/$name.bash")" ]
  report $? "$name: help and bash completion have the same options"
  "$comp" help --man "$name" >"$man"
  report $? "$name: man page"
  renders "$man"
  report $? "$name: man page renders"
  sed 's/\\-/-/g; s/\\f[BIR]/ /g' "$man" >"$man.plain"
  # shellcheck disable=SC2086
  has_words "$man.plain" $options
  report $? "$name: man page has all options"
  sed -n "/^    $name)/,/;;/p" "$work/completion.zsh" >"$work/$name.zsh"
  # shellcheck disable=SC2086
  has_words "$work/$name.zsh" $options
  report $? "$name: zsh completion has all options"
  "$comp" "$name" --no-such-option >"$work/out" 2>"$work/err"
  [ $? -eq 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q "comp $name: .*no-such-option" "$work/err"
  report $? "$name: a wrong option is named in one line, exit 2"
done <"$work/commands"

"$comp" help --man >"$work/comp.1"
renders "$work/comp.1"
report $? "comp.1 renders"
echo "1..$count"
