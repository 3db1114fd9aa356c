#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Writes what is made from the program's option tables: docs/cli.md, the manual, the completions.
# With --check compares instead: exit 1 when a file differs.
# Usage: make_docs.sh PROGRAM [--check]
set -eu
tenon=$1 mode=${2:-write}
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/docs" "$work/completions"
"$tenon" help --format markdown >"$work/docs/cli.md"
"$tenon" help --format man >"$work/docs/tenon.1"
"$tenon" completion bash >"$work/completions/tenon.bash"
"$tenon" completion zsh >"$work/completions/_tenon"

cd "$work"
for file in docs/* completions/*; do
    [ -s "$file" ] || { echo "$file came out empty"; exit 1; }
    if [ "$mode" != --check ]; then
        mkdir -p "$top/$(dirname "$file")"
        cp "$file" "$top/$file"
    elif ! diff -u "$top/$file" "$file"; then
        echo "$file does not fit the program: run make docs"
        exit 1
    fi
done
