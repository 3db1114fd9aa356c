#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One test program under valgrind; prints its name, and its log when valgrind found something. Only memory is judged: valgrind's
# long double has 53 bits, too few for many oracles, so that a program may end with 1 here and with 0 elsewhere.
# test_memory is left out by test_all.sh: it measures what valgrind's own memory would hide.
name=$(basename "$1")
log=build-dev/valgrind-$name.log
valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite "$1" >"$log" 2>&1
code=$?
case $code in
0 | 77) ;;
1) ! grep -q '^==[0-9]*==' "$log" || code=9 ;;
*) code=9 ;;
esac
[ $code != 9 ] || { echo "valgrind $name: failed"; cat "$log"; exit 1; }
echo "valgrind $name"
