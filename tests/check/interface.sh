#!/bin/sh
# interface.sh [ROOT]: the conventions of the public headers (include/comp), as far as their text shows them. Speaks TAP.
set -u
cd "${1:-.}" || exit 1

# Functions, one a line: the header and the text behind COMP_API, without comments. Then the enums, by name.
declarations() {
  for header in include/comp/*.h; do
    tr '\n' ' ' <"$header" | sed 's,/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/,,g; s,;,;\n,g' | sed -nE "s,^.*COMP_API +,${header##*/} COMP_API ,p" | tr -s ' '
  done
  sed -nE 's,^typedef enum (comp_[a-z0-9_]+).*,enum \1,p' include/comp/*.h
}

declarations | awk '
  $2 == "COMP_API" {
    text = $0
    sub(/^[^ ]+ COMP_API /, "", text)
    if (!match(text, /comp_[a-z0-9_]+\(/)) next
    name = substr(text, RSTART, RLENGTH - 1)
    type = substr(text, 1, RSTART - 1)
    arguments = substr(text, RSTART + RLENGTH)
    sub(/\);.*$/, "", arguments)
    functions[name] = 1
    count++
    check_count($1, name, type)
    check_order($1, name, arguments)
    check_free($1, name, arguments)
  }
  # a number of things ends in _count; what is left are shapes of matrices, places and bytes
  function check_count(file, name, type) {
    if (type ~ /^size_t $/ && name !~ /_(count|rows|cols|nnz|dims|k|find|find_var|memory|rank)$/)
      problem(3, file ": " name "() returns a number, but its name does not end in _count")
  }
  # out-parameters, which are pointers to what is not const, come first; then the context
  function check_order(file, name, arguments,   list, n, i, before) {
    n = split(arguments, list, ",")
    for (i = 1; i <= n; i++) {
      sub(/^ /, "", list[i])
      if (list[i] ~ /[* ]out(\[.*\])?$/ && i > 1) problem(4, file ": " name "(): `out` is not the first parameter")
      if (list[i] !~ /^comp_context \*context$/) continue
      for (before = 1; before < i; before++)
        if (list[before] ~ /^const / && list[before] !~ /\*\*/ && list[before] !~ /out$/ || list[before] !~ /\*/)
          problem(4, file ": " name "(): `context` comes after " list[before])
    }
  }
  # comp_X_free() is for a comp_X; everything else is freed by comp_free()
  function check_free(file, name, arguments,   kind) {
    if (name !~ /_free$/ || name == "comp_free") return
    kind = name
    sub(/_free$/, "", kind)
    if (index(arguments, kind " *") != 1) problem(5, file ": " name "() does not free a " kind)
  }
  $1 == "enum" { enums[$2] = 1 }
  function problem(check, text) { problems[check] = problems[check] "# " text "\n" }
  function report(check, name) {
    bad = problems[check] != ""
    printf "%s %d - %s\n%s", bad ? "not ok" : "ok", check, name, problems[check]
    failed = failed || bad
  }
  END {
    print "1..6"
    for (e in enums) {
      n_enums++
      if (!((e "_name") in functions)) problem(1, e " has no " e "_name()")
      # a status is only ever given out
      if (e != "comp_status" && !((e "_parse") in functions)) problem(1, e " has no " e "_parse()")
    }
    while (("grep -nE \"_INIT\\\\b|struct comp_[a-z_]+_options\" include/comp/*.h" | getline line) > 0) problem(2, line)
    while (("grep -nE \"via free\\\\(\" include/comp/*.h" | getline line) > 0) problem(5, line)
    if (count < 100 || n_enums < 5) problem(6, count + 0 " functions and " n_enums + 0 " enums were found")
    report(1, "every public enum has names and parses them")
    report(2, "options are tables: no struct of options, no _INIT")
    report(3, "functions that count end in _count")
    report(4, "out-parameters come first, then the context")
    report(5, "comp_X_free() frees a comp_X, comp_free() the rest")
    report(6, "the headers were read")
    exit failed
  }'
