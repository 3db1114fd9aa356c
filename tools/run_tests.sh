#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs the tests of a build folder and ends with one line, "N passed, N failed, N skipped".
# Usage: run_tests.sh BUILD [ctest options]
#
# A skipped test (exit 77), or a skipped case inside a unit program, that tests/skips.txt does not name with a
# reason is a failure. So are no tests at all, and a ctest that did not come to its end.
set -u
build=$1
shift
top=$(cd "$(dirname "$0")/.." && pwd)
results=$(cd "$build" && pwd)/tests.xml
rm -f "$results"
ctest --test-dir "$build" --output-on-failure --output-junit "$results" --test-output-size-passed 1000000 "$@"
[ -f "$results" ] || { echo "run_tests.sh: ctest left no results"; exit 1; }

# ctest's own states are run, fail, notrun (skipped by exit 77, or its program is missing) and disabled.
awk -v known="$top/tests/skips.txt" '
    function attribute(line, name) {
        if (!match(line, " " name "=\"[^\"]*\""))
            return ""
        return substr(line, RSTART + length(name) + 3, RLENGTH - length(name) - 4)
    }
    function fail(name) {
        ++failed
        print "failed: " name
    }
    function skip(name) {
        if (!(name in reason)) {
            fail(name " (skipped, but not listed in tests/skips.txt)")
            return
        }
        ++skipped
        print "skipped: " name ": " reason[name]
    }
    BEGIN {
        while ((getline line < known) > 0)
            if (line !~ /^#/ && line ~ /[^ ]/) {
                name = line
                sub(/[ \t].*/, "", name)
                sub(/^[^ \t]+[ \t]+/, "", line)
                reason[name] = line
            }
    }
    /<testcase / {
        test = attribute($0, "name")
        state = attribute($0, "status")
        if (state == "run")
            ++passed
        else if (state == "fail")
            fail(test)
        else
            pending = test
    }
    /<skipped message="SKIP_RETURN_CODE=77"/ { if (pending != "") skip(pending); pending = "" }
    /<skipped / && pending != "" { fail(pending " (not run)"); pending = "" }
    /^\[  SKIPPED \] / && $0 !~ /test\(s\)/ { inner = $4; if (!(seen[test ":" inner]++)) skip(test ":" inner) }
    END {
        if (passed + failed == 0) {
            print "no test was run"
            ++failed
        }
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit failed > 0
    }' "$results"
