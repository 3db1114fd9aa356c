#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Line coverage of src/ from a coverage build whose tests have run: one line a file, the total last.
# Usage: coverage.sh BUILD
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
find "$build/CMakeFiles/tenon_objects.dir" -name '*.gcda' -exec gcov -n {} + 2>/dev/null |
    awk -v top="$PWD/" '
        /^File / { file = $2; gsub(/\047/, "", file); sub(top, "", file); next }
        /^Lines executed:/ && file ~ /^src\/.*\.c$/ {
            split($2, share, /[:%]/)
            lines = $NF
            printf "%6.1f %%  %5d  %s\n", share[2], lines, file
            all += lines
            hit += lines * share[2] / 100
            file = ""
        }
        END { if (all == 0) exit 1; printf "%6.1f %%  %5d  total\n", 100 * hit / all, all }'
