# tap.awk: judges and counts tests that speak TAP. Stricter than meson: a program that crashes, times out, prints no plan or does not
# fulfil it is a failure, whatever its exit status; so is one that meson should have run and did not.
#
#   awk -v mode=meson -v expected=N -v status=S -v counts=FILE -f tap.awk BUILD/meson-logs/testlog-sh.json
#   awk -v mode=raw -v name=NAME -v status=S -v stderr=FILE -v counts=FILE -f tap.awk OUTPUT
#
# expected: how many programs should have run. status: exit status of meson, or of the program. The output of what failed is printed; FILE gets
# "passed failed skipped".

BEGIN {
  passed = failed = skipped = programs = tolerated = 0
}

mode == "raw" {
  output = output $0 "\n"
}

# One program a line, as JSON. Test output is escaped, so the quoted keys occur once.
mode == "meson" {
  programs++
  judge(text($0, "name"), text($0, "stdout"), text($0, "stderr"), number($0, "returncode"), text($0, "result"))
}

END {
  if (mode == "raw") {
    errors = ""
    while (stderr != "" && (getline line < stderr) > 0) errors = errors line "\n"
    judge(name, output, errors, status, "")
  } else {
    if (programs != expected) complain(programs " of " expected " test programs were run")
    if (status != 0 && failed == 0 && tolerated == 0) complain("meson test failed with status " status)
  }
  print passed, failed, skipped > counts
}

function complain(message) {
  print "not ok - " message
  failed++
}

function judge(name, out, err, status, verdict,    lines, n, i, line, plan, ran, bad, problem) {
  plan = -1
  ran = bad = 0
  problem = ""
  n = split(out, lines, "\n")
  for (i = 1; i <= n; i++) {
    line = lines[i]
    if (line ~ /^1\.\.[0-9]+/) {
      if (plan >= 0) problem = problem "; more than one plan"
      plan = substr(line, 4) + 0
      if (plan == 0) skipped++
    } else if (line ~ /^(not )?ok([ \t]|$)/) {
      ran++
      # cmocka prints a skipped test as "not ok N # SKIP".
      if (toupper(line) ~ /#[ \t]*(SKIP|TODO)/) skipped++
      else if (line ~ /^ok/) passed++
      else bad++
    } else if (line ~ /^Bail out!/) {
      problem = problem "; " line
    }
  }
  failed += bad
  if (verdict == "TIMEOUT") problem = problem "; timed out"
  else if (status < 0) problem = problem "; killed by signal " (-status)
  else if (status != 0 && bad == 0) problem = problem "; exit status " status
  if (plan < 0) problem = problem "; no TAP plan"
  else if (ran != plan) problem = problem "; " plan " tests planned, " ran " run"
  if (verdict == "FAIL" && bad == 0 && problem == "") tolerated++
  else if (verdict !~ /^(OK|SKIP|FAIL|)$/ && bad == 0 && problem == "") problem = "; meson says " verdict
  if (problem != "") failed++
  if (problem == "" && bad == 0) return

  print ""
  print "--- " name ": " (bad ? bad " failed" (problem != "" ? "; " : "") : "") substr(problem, 3)
  for (i = 1; i <= n; i++) if (lines[i] !~ /^ok/ && lines[i] != "") print lines[i]
  if (err != "") print err
}

# The value of a string, or of a number, in a line of JSON. Escaped backslashes and quotes are set aside first.
function text(line, key,    start) {
  gsub(/\\\\/, "\001", line)
  gsub(/\\"/, "\002", line)
  start = index(line, "\"" key "\": \"")
  if (!start) return ""
  line = substr(line, start + length(key) + 5)
  line = substr(line, 1, index(line, "\"") - 1)
  gsub(/\\n/, "\n", line)
  gsub(/\\t/, "\t", line)
  gsub(/\\u[0-9a-f][0-9a-f][0-9a-f][0-9a-f]/, "?", line)
  gsub(/\\[rbf]/, "", line)
  gsub(/\001/, "\\", line)
  gsub(/\002/, "\"", line)
  return line
}

function number(line, key,    start) {
  start = index(line, "\"" key "\": ")
  return start ? substr(line, start + length(key) + 4) + 0 : 0
}
