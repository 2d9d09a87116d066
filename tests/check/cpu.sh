#!/bin/sh
# cpu.sh FILE COMMAND...: runs the command and adds a line to FILE: the CPU seconds it took, with all that it started and waited for, and the command.
file=$1
shift
"$@"
code=$?
# In no pipe: the times of a subshell are its own. The second line is of the children: user and system time, such as 0m1.20s 0m0.31s.
times >"$file.$$"
awk -v command="$*" 'NR == 2 { split($1, u, /[ms]/); split($2, s, /[ms]/); printf "%.1f\t%s\n", u[1] * 60 + u[2] + s[1] * 60 + s[2], command }' "$file.$$" >>"$file"
rm -f "$file.$$"
exit $code
