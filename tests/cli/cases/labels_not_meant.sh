#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Labels that can hardly be meant: an error (65) where training would be nonsense, else one line of warning, which --json lists
# too; both say what was understood and what to give instead. --quiet hides no warning.
. "$HERE/lib.sh"
cp "$DEMO/darknet.train.npy" x.npy
cp "$DEMO/labels.train.txt" y.txt
fit() { # labels, options: everything but the result
    echo "\$ tenon fit x.npy --labels $* -o h.safetensors"
    "$TENON" fit --method evidence x.npy --labels "$@" -o h.safetensors --quiet --loo 0 >/dev/null
    echo "exit $?"
} 2>&1
exec 2>&1
# identifier,label; with a header; by semicolon; path and class by a blank
awk '{ print "img" NR ".jpg," $1 }' y.txt >ids.csv
sed '1s/.*/filename,label/' ids.csv >head.csv
sed 's/,/;/' ids.csv >semicolons.csv
sed 's/,/ /' ids.csv >blanks.txt
for file in ids.csv head.csv semicolons.csv blanks.txt; do fit $file; done
# values: text with fractions, also with a task that settles it; floats in a .npy
awk '{ print NR % 7 / 4 }' y.txt >values.txt
fit values.txt
fit values.txt --task multiclass
fit values.txt --task regression
{ npy_header '<f4' 300 1; for i in $(seq 150); do printf '\0\0\x80\x3f\0\0\0\x3f'; done; } >half.npy
fit half.npy
# a header above numbers, above names, in a file that is a row too long
awk '{ print NR == 1 ? "label" : NR % 3 }' y.txt >numbers.txt
fit numbers.txt
fit numbers.txt --task multiclass
sed '1s/.*/Label/' y.txt >words.txt
fit words.txt
{ echo class; cat y.txt; } >longer.txt
fit longer.txt
# as many classes as rows; nearly
seq 300 >rows.txt
fit rows.txt
{ seq 290; seq 10; } >nearly.txt
fit nearly.txt
# one row per class, uneven classes; what sees to them
awk '{ print NR == 5 ? "one" : NR < 280 ? "many" : "some" }' y.txt >uneven.txt
fit uneven.txt
fit uneven.txt --method svm --gap 1 --class-weight balanced
# one-hot
{ npy_header '|u1' 300 2; for i in $(seq 150); do printf '\1\0\0\1'; done; } >hot.npy
fit hot.npy
fit hot.npy --task multilabel
fit hot.npy --task multiclass
# no warning for what is ordinary, and the list of --json
fit y.txt
"$TENON" rank x.npy --labels uneven.txt --loo 0 --json 2>/dev/null | grep -o '"warnings":.*'
"$TENON" rank x.npy --labels y.txt --loo 0 --json | grep -c warnings
"$TENON" transfer --target x.npy --labels words.txt --class cat --source s=x.npy --method rls -o t.safetensors >/dev/null
"$TENON" kernel learn --data x.npy words.txt --gap 1 -o k.safetensors >/dev/null
exit 0
