#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The whole way on data/demo: rank five networks for a new task, choose and train, measure on pictures not seen.
# Usage: demo.sh PROGRAM WORK_FOLDER
#
# The verdict compares the chosen ensemble with the single network of the highest evidence, both trained and
# measured by the program; test labels choose nothing.
set -eu
tenon=$1 work=$2
demo=$(dirname "$0")/../data/demo
mkdir -p "$work"

set -- # the training files, then $tests the test files
tests=
for name in squeezenet mobilenetv1 mobilenetv2 darknet doodle; do
    set -- "$@" "$demo/$name.train.npy"
    tests="$tests $demo/$name.test.npy"
done

say() { printf '\n%s\n\n' "$1"; }
# The first value of a key in a JSON file: a number, or the first text of a list.
value() {
    awk -v key="\"$1\": *\\\\[?\"?" '{ text = text $0 }
        END { if (match(text, key)) { text = substr(text, RSTART + RLENGTH); sub(/[",}\]].*/, "", text); print text } }' "$2"
}

say '1. Which network suits the task? (tenon rank)'
"$tenon" rank "$@" --labels "$demo/labels.train.txt"
say '2. Which of them together? Networks and normalisations compete; choose, train, save. (tenon fit)'
"$tenon" fit "$@" --labels "$demo/labels.train.txt" --normalize l2,root -o "$work/chosen.safetensors"
say '3. How good is it on the test pictures? (tenon eval)'
# shellcheck disable=SC2086
"$tenon" eval "$work/chosen.safetensors" $tests --labels "$demo/labels.test.txt"

"$tenon" fit "$@" --labels "$demo/labels.train.txt" --normalize l2,root --select best -o "$work/single.safetensors" \
    --json >"$work/single.fit.json"
for head in chosen single; do
    # shellcheck disable=SC2086
    "$tenon" eval "$work/$head.safetensors" $tests --labels "$demo/labels.test.txt" --json >"$work/$head.eval.json"
done
best=$(value selected "$work/single.fit.json")
awk -v chosen="$(value accuracy "$work/chosen.eval.json")" -v single="$(value accuracy "$work/single.eval.json")" \
    -v best="$best" 'BEGIN {
        if (chosen == "" || single == "" || best == "") {
            print "demo.sh: a result is missing"
            exit 1
        }
        printf "\nVerdict: the head that was chosen classifies %.1f %% of the test pictures correctly, ", 100 * chosen
        printf "one on the network of the highest evidence alone (%s) %.1f %%.\n", best, 100 * single
    }'
