#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compares what the shared library exports with tools/exported_symbols.txt; --update rewrites the list.
# Usage: check_symbols.sh LIBRARY [--update]
set -eu
list=$(dirname "$0")/exported_symbols.txt
now=$(mktemp)
trap 'rm -f "$now"' EXIT
nm -D --defined-only "$1" | awk '$2 ~ /^[A-Z]$/ { print $3 }' | LC_ALL=C sort >"$now"
if [ "${2:-}" = --update ]; then
    cp "$now" "$list"
elif ! diff -u "$list" "$now"; then
    echo "the exported symbols changed: if meant, run tools/check_symbols.sh $1 --update and review the list"
    exit 1
fi
if grep -v '^tn_' "$now"; then
    echo "exported without the prefix tn_"
    exit 1
fi
