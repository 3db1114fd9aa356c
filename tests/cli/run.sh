#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the program as a user does: tests/cli/run.sh [--update] PROGRAM [CASE...]
#
# A case is cases/NAME.sh with what it must print: NAME.out and NAME.err, and its exit status NAME.exit; a file that
# is not there means empty, or 0. A case runs in an empty folder with TENON (the program), DEMO (data/demo) and
# HERE (this folder) set. Exit status 77 with a line on standard error skips it, and run.sh exits 77 when no case did
# anything else: ctest runs each case by itself, and what may be skipped is in tests/skips.txt. --update rewrites what is expected, except in cases that say "# Reference": what
# they expect comes from elsewhere, never from the program.
set -u
update=no
if [ "${1-}" = --update ]; then
    update=yes
    shift
fi
[ $# -ge 1 ] || { echo "usage: $0 [--update] PROGRAM [CASE...]" >&2; exit 2; }
TENON=$(readlink -f "$1")
shift
HERE=$(dirname "$(readlink -f "$0")")
DEMO=$(readlink -f "$HERE/../../data/demo")
export TENON HERE DEMO LC_ALL=C
unset NO_COLOR TENON_REEXEC TN_SIMD
[ -x "$TENON" ] || { echo "$0: $TENON is not a program" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

# Makes file $1 hold what file $2 holds; none when that is empty or says 0.
keep() {
    if [ -s "$2" ] && [ "$(cat "$2")" != 0 ]; then cp "$2" "$1"; else rm -f "$1"; fi
}

differs() { # expected, got, default
    if [ -f "$1" ]; then diff -u "$1" "$2"; else diff -u <(printf %s "$3") "$2"; fi
}

run_case() {
    local name=$1 expect=$HERE/cases/$1 got=$work/got.$1
    [ -f "$expect.sh" ] || { echo "$0: there is no case $name" >&2; exit 2; }
    mkdir -p "$work/$name"
    (cd "$work/$name" && bash "$expect.sh") >"$got.out" 2>"$got.err" </dev/null
    echo $? >"$got.exit"
    if [ "$(cat "$got.exit")" = 77 ]; then
        echo "skipped $name: $(cat "$got.err")"
        skipped=$((skipped + 1))
    elif [ $update = yes ] && ! grep -q '^# Reference' "$expect.sh"; then
        for part in out err exit; do keep "$expect.$part" "$got.$part"; done
        passed=$((passed + 1))
    elif differs "$expect.out" "$got.out" '' && differs "$expect.err" "$got.err" '' &&
        differs "$expect.exit" "$got.exit" $'0\n'; then
        passed=$((passed + 1))
    else
        echo "FAILED $name"
        failed=$((failed + 1))
    fi
    rm -rf "${work:?}/$name"
}

if [ $# -eq 0 ]; then
    for script in "$HERE"/cases/*.sh; do set -- "$@" "$(basename "$script" .sh)"; done
fi
for name in "$@"; do run_case "$name"; done
echo "$passed passed, $failed failed$([ $skipped = 0 ] || echo ", $skipped skipped")"
[ $failed = 0 ] || exit 1
[ $passed != 0 ] || [ $skipped = 0 ] || exit 77
