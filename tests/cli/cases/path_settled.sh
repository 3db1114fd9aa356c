#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A path along C tries no larger value where none can be better: nothing was wrong, or one row of a thousand.
. "$HERE/lib.sh"
# rows COUNT WRONG: two classes far apart; the first WRONG rows have the other's label.
rows() {
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; ++i) printf "%g,%g\n", (i % 2 ? 1 : -1) + i % 7 / 100, i % 5 / 50 }' >x.csv
    awk -v n="$1" -v wrong="$2" 'BEGIN { for (i = 0; i < n; ++i) print ((i % 2 == 1) != (i < wrong) ? "b" : "a") }' >y.txt
}
for method in svm-cv logistic-cv; do
    for case in "60 0" "1200 1" "900 1" "1200 2"; do
        rows $case
        "$TENON" fit x.csv --labels y.txt --normalize none --method $method --grid 1,10,100,1000 -o h.safetensors --json >fit.json
        echo "$method, $case wrong: C $(number C <fit.json), $(number skipped <fit.json) skipped"
    done
done
