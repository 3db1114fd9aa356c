#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One test program under valgrind: memory and comparisons both count. Prints its name and what it skipped, which
# tests/skips.txt must name, or its log when it failed. tests/near.h says how comparisons allow for valgrind's long double.
# test_memory is left out by test_all.sh: it measures what valgrind's own memory would hide.
name=$(basename "$1")
log=build-dev/valgrind-$name.log
valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite "$1" >"$log" 2>&1
code=$?
[ $code = 0 ] || [ $code = 77 ] || { echo "valgrind $name: failed"; cat "$log"; exit 1; }
echo "valgrind $name"
for test in $(sed -n 's/^\[  SKIPPED \] \([a-z_0-9]*\)$/\1/p' "$log" | sort -u); do
    grep "^unit.$name:$test " tests/skips.txt || { echo "unit.$name:$test is skipped, but not in tests/skips.txt"; exit 1; }
done
