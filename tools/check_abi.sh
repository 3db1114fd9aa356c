#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compares the binary interface that the public headers declare with tools/abi/tenon.abi; --update rewrites that file.
# Usage: check_abi.sh [--update | --self-test]
#
# A list of symbols misses a struct with a member moved. The headers are compiled with every function as a stub, so that the
# debug information of all types is there in a second, whatever flags the library was built with; the library itself is compiled
# against the same headers, and tools/check_symbols.sh knows what it exports. Functions that were added are no change to those
# that are there: docs/abi.md has the rule. Compilers describe types differently: it is always gcc. Exit 77 without it or abidiff.
set -eu
cd "$(dirname "$0")/.."
baseline=tools/abi/tenon.abi update=no self=no
for word in "$@"; do
    case $word in
    --update) update=yes ;;
    --self-test) self=yes ;;
    *) echo "usage: $0 [--update | --self-test]" >&2; exit 2 ;;
    esac
done
for tool in abidiff abidw gcc; do
    command -v $tool >/dev/null 2>&1 || { echo "$tool is not installed"; exit 77; }
done
[ "$(uname -m)" = x86_64 ] || { echo "the baseline is that of x86_64"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# describe HEADERS OUT: the interface as XML. Declarations with default visibility become definitions.
describe() {
    echo '#include <tenon/tenon.h>' | gcc -std=c11 -E -P "-I$1" - |
        awk 'BEGIN { RS = ";"; ORS = "" } { print $0 (/visibility\("default"\)/ ? " { __builtin_unreachable(); }" : ";") }' |
        sed '$ s/;$//' >"$work/stubs.c"
    gcc -std=c11 -g -fvisibility=hidden -fPIC -shared -Wl,-soname,libtenon.so -o "$work/libtenon.so" "$work/stubs.c"
    abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed "$work/libtenon.so" --out-file "$2"
}

compare() { abidiff --no-added-syms "$1" "$2" >"$work/report" 2>&1; }

# changed MESSAGE SED-SCRIPT FILE fine|told: an edit of a header must be told, or must not.
changed() {
    rm -rf "$work/include"
    cp -r include "$work/include"
    sed -i "$2" "$work/include/tenon/$3"
    cmp -s "$work/include/tenon/$3" "include/tenon/$3" && { echo "$1: the edit changed nothing"; exit 1; }
    describe "$work/include" "$work/after.abi"
    got=told
    compare "$work/now.abi" "$work/after.abi" && got=fine
    [ "$got" = "$4" ] || { echo "$1: $got, expected $4"; cat "$work/report"; exit 1; }
}

if [ $self = yes ]; then
    describe include "$work/now.abi"
    changed "a reordered struct" 's/size_t rows, rows_left_out, classes/size_t classes, rows_left_out, rows/' select.h told
    changed "a member in the middle" 's/    double null_log_evidence;/    double extra, null_log_evidence;/' select.h told
    changed "another parameter type" 's/tn_head_save(tn_ctx \*ctx, const tn_head/tn_head_save(tn_ctx *ctx, int much, const tn_head/' store.h told
    changed "a function that is gone" 's/^TN_API size_t tn_head_dim.*//' learn.h told
    changed "another status number" 's/TN_ERR_SHAPE = 2/TN_ERR_SHAPE = 22/' base.h told
    changed "a new function" 's/^TN_API size_t tn_head_dim.*/&\nTN_API int tn_head_new_thing(const tn_head *head);/' learn.h fine
    exit 0
fi
describe include "$work/now.abi"
if [ $update = yes ]; then
    cp "$work/now.abi" "$baseline"
elif ! compare "$baseline" "$work/now.abi"; then
    head -60 "$work/report"
    echo "the binary interface changed: docs/abi.md says what may; if meant, run tools/check_abi.sh --update and review the change"
    exit 1
fi
