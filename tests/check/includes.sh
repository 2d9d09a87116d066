#!/bin/sh
# includes.sh [ROOT]: dependencies point one way. Reads every #include of src/, include/ and tests/ and reports those that break a rule, as
# file:line. Speaks TAP.
set -u
root=${1:-.}

# room        rooms whose headers it may include, besides its own: those of src/ROOM and the public ones that belong to the room
rooms='
core
text
io            core
nn            core
dist          core
prep          core dist
simulate      core io
model         core io nn dist
train         core io nn dist model linalg neighbors
task          core io nn dist model prep neighbors cluster train
map           core io nn model linalg neighbors cluster classify train task
linalg        core nn
neighbors     core nn dist
cluster       core
umap          core nn linalg neighbors
classify      core
metrics       core nn prep neighbors cluster task
baseline      core nn prep linalg neighbors cluster model train task
diagnose      core nn linalg neighbors classify model train task
verdict       core classify model train metrics diagnose
score         core text classify metrics verdict
audit         core nn neighbors cluster classify train task verdict
report        core prep train task metrics verdict
pipeline      core text io prep linalg umap train task baseline score audit verdict report
options       core audit pipeline io prep simulate linalg neighbors umap classify train task map baseline diagnose score report
modules       core cluster classify report
experiment    core text io model prep umap classify train task metrics score baseline
cli           text experiment
'

# room        public headers that belong to it: include/comp/NAME.h. comp.h is all of them.
headers='
core          context dataset export file machine matrix options status suggest table version
io            io
prep          prep
dist          dist
simulate      simulate
model         model
train         train
task          task
map           map
linalg        pca
neighbors     neighbors
umap          umap
classify      classify
metrics       metrics counterfactual_score
score         score
baseline      baseline
verdict       diagnose verdict
audit         audit
report        report figure
pipeline      pipeline
'

# header (a regular expression)           files that may include it
libraries='
^(hdf5(_hl)?|H5[A-Za-z]*)[.]h$            src/io/h5/[^/]*[.][ch]
^(zstd|blosc)[.]h$                         src/io/zarr/[^/]*[.][ch]
^(dnnl[^/]*[.]h|oneapi/)                  src/nn/matmul[.]c
^mpi[.]h$                                 src/dist/comm_mpi[.]c
^cairo                                    src/modules/figures[.]c
^lapacke[.]h$                             src/linalg/[^/]*[.]c
^cblas[.]h$                               src/(linalg/[^/]*|nn/matmul)[.]c
^xgboost/                                 src/modules/boosted[.]c
^linear[.]h$                              src/classify/logistic[.]c
^igraph                                   src/modules/leiden[.]c
'

cd "$root" || exit 1
find src include tests -type f \( -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.def' \) 2>/dev/null | sort | awk -v rooms="$rooms" -v headers="$headers" -v libraries="$libraries" '
  BEGIN {
    n = split(rooms, lines, "\n")
    for (i = 1; i <= n; i++) {
      if (split(lines[i], words, " ") == 0) continue
      known[words[1]] = 1
      order[++count] = words[1]
      for (k = 2; k in words; k++) allowed[words[1], words[k]] = 1
      split("", words)
    }
    n = split(headers, lines, "\n")
    for (i = 1; i <= n; i++) {
      if (split(lines[i], words, " ") == 0) continue
      for (k = 2; k in words; k++) owner["comp/" words[k] ".h"] = words[1]
      split("", words)
    }
    n = split(libraries, lines, "\n")
    for (i = 1; i <= n; i++) if (split(lines[i], words, " ") == 2) {
      header[++n_libraries] = words[1]
      home[n_libraries] = "^" words[2] "$"
    }
  }
  {
    file = $0
    files++
    inside = part(file)
    used[inside] = 1
    if (inside == "") problem("rooms", file ":1: not in a room: sources live in src/ROOM/")
    else if (file ~ /^src\// && !(inside in known)) problem("rooms", file ":1: room \"" inside "\" is not in the table of tests/check/includes.sh")
    for (number = 1; (getline line < file) > 0; number++) if (line ~ /^[ \t]*#[ \t]*include[ \t]*["<]/) check(line)
    close(file)
  }
  END {
    if (files == 0) problem("rooms", "no source file found")
    for (i = 1; i <= count; i++) rooms_in_use += order[i] in used
    print "1.." rooms_in_use + 4
    report("rooms", "every source is in a known room")
    for (i = 1; i <= count; i++) if (order[i] in used) report(order[i], order[i] " includes only what it may")
    report("public", "public headers include only public headers")
    report("libraries", "foreign libraries stay in their files")
    report("paths", "includes are written ROOM/FILE, without ..")
    exit bad
  }

  # The room of a file: its folder under src/, or "public" or "tests".
  function part(file,    words) {
    if (file ~ /^include\//) return "public"
    if (file ~ /^tests\//) return "tests"
    return split(file, words, "/") > 2 ? words[2] : ""
  }

  function check(line,    quoted, target, room, where, i) {
    where = file ":" number ": "
    quoted = line ~ /include[ \t]*"/
    sub(/^[ \t]*#[ \t]*include[ \t]*["<]/, "", line)
    sub(/[">].*/, "", line)
    target = line
    if (target ~ /(^|\/)[.][.](\/|$)/) problem("paths", where target " uses ..")
    for (i = 1; i <= n_libraries; i++)
      if (target ~ header[i] && file !~ home[i] && inside != "tests") problem("libraries", where target " may only be included in " substr(home[i], 2, length(home[i]) - 2))
    if (inside == "tests") return

    room = target
    if (!sub(/\/.*/, "", room)) room = ""
    if (room == "comp") return check_public(target, where)
    if (inside == "public") {
      if (quoted || room in known) problem("public", where target " is not a public header")
    } else if (room in known) {
      if (room != inside && !((inside, room) in allowed)) problem(inside, where inside " may not include " target (inside == "cli" ? ": cli uses public headers only" : ""))
    } else if (quoted) {
      problem("paths", where "\"" target "\" does not name a room")
    }
  }

  # A public header is one of its room. The program may use all of them.
  function check_public(target, where,    from) {
    from = inside
    if (inside == "public") {
      if (file == "include/comp/comp.h") return
      from = substr(file, length("include/") + 1)
      if (!(from in owner)) return problem("public", file ": in no room: add it to the table of headers in tests/check/includes.sh")
      from = owner[from]
    }
    if (from == "cli" || from == owner[target]) return
    if (!(target in owner)) problem(inside, where target " is not for the library" )
    else if (!((from, owner[target]) in allowed)) problem(inside, where from " may not include " target ", which is " owner[target] "\047s")
  }

  function problem(rule, message) { found[rule] = found[rule] "# " message "\n" }

  function report(rule, name) {
    tests++
    print (rule in found ? "not ok " : "ok ") tests " - " name
    if (rule in found) { printf "%s", found[rule]; bad = 1 }
  }
'
