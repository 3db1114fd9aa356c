#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The first Python 3 that has some modules: that of PATH, or the system's. Prints its path; exit 1 when there is none.
# Usage: find_python.sh MODULE...
for python in ${PYTHON:-} python3 /usr/bin/python3; do
    found=$(command -v "$python") || continue
    for module in "$@"; do
        "$found" -c "import $module" 2>/dev/null || continue 2
    done
    echo "$found"
    exit 0
done
exit 1
