#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compares our C files with .clang-format; --fix rewrites them. Exit 77 without the one version whose taste is law.
set -eu
cd "$(dirname "$0")/.."
tool=
for name in clang-format-14 clang-format; do
    if command -v "$name" >/dev/null 2>&1 && "$name" --version | grep -q 'version 14\.'; then
        tool=$name
        break
    fi
done
[ -n "$tool" ] || { echo "clang-format 14 is not installed"; exit 77; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
files() { find src include cli tests examples bench -name '*.[ch]' -print0 2>/dev/null; }
if [ "${1:-}" = --fix ]; then
    files | xargs -0 -r "$tool" -i
elif ! files | xargs -0 -r "$tool" --dry-run -Werror 2>"$log"; then
    sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: error: code should be clang-formatted.*/\1/p' "$log" | sort -u
    echo "the files above are not formatted: run make format"
    exit 1
fi
