#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compiles and links every complete C program (a ```c block with main) in README.md, CONTRIBUTING.md and docs/.
# Usage: check_snippets.sh CC LIBRARY_FOLDER WORK_FOLDER
set -eu
cc=$1 library=$2 work=$3
cd "$(dirname "$0")/.."
rm -rf "$work"
mkdir -p "$work"
for page in README.md CONTRIBUTING.md $(find docs -name '*.md' | sort); do
    awk -v stem="$work/$(echo "$page" | tr '/.' '__')" '
        /^```c$/ { inside = 1; text = ""; start = NR; next }
        /^```/ && inside {
            inside = 0
            if (text ~ /int main\(/) {
                file = stem "_" start ".c"
                printf "#line %d \"%s\"\n%s", start + 1, FILENAME, text > file
                close(file)
            }
        }
        inside { text = text $0 "\n" }' "$page"
done
count=0
for source in "$work"/*.c; do
    [ -f "$source" ] || continue
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -Iinclude "$source" -o "${source%.c}" -L"$library" -ltenon \
        "-Wl,-rpath,$library"
    count=$((count + 1))
done
echo "$count snippets compiled"
[ "$count" -gt 0 ]
