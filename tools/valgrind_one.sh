#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One test program under valgrind; prints its name, and its log when valgrind or the program found something.
# test_memory is left out by test_all.sh: it measures what valgrind's own memory would hide.
name=$(basename "$1")
log=build-dev/valgrind-$name.log
valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite "$1" >"$log" 2>&1
code=$?
[ $code = 0 ] || [ $code = 77 ] || { echo "valgrind $name: failed with $code"; cat "$log"; exit 1; }
echo "valgrind $name"
