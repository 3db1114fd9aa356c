#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# --classes names the classes of integer labels; labels and rows come in the forms that other programs write.
. "$HERE/lib.sh"
cp "$DEMO/darknet.train.npy" x.npy
cp "$DEMO/labels.train.txt" y.txt
sort -u y.txt >names.txt
awk 'NR == FNR { at[$1] = NR - 1; next } { print at[$1] }' names.txt y.txt >n.txt
# The same head whether the names are in the labels or beside them.
"$TENON" fit --method evidence x.npy --labels y.txt --loo 0 -o a.safetensors >/dev/null
"$TENON" fit --method evidence x.npy --labels n.txt --classes names.txt --loo 0 -o b.safetensors >/dev/null
"$TENON" predict a.safetensors x.npy >a.txt
"$TENON" predict b.safetensors x.npy | cmp - a.txt && echo "the same classes"
"$TENON" eval a.safetensors x.npy --labels n.txt --classes names.txt | grep accuracy >e.txt
"$TENON" eval a.safetensors x.npy --labels y.txt | grep accuracy | cmp - e.txt && echo "the same accuracy"
"$TENON" rank x.npy --labels n.txt --classes names.txt --loo 0 --json | number classes
"$TENON" transfer --target x.npy --labels n.txt --classes names.txt --class "$(head -n 1 names.txt)" --source s=x.npy --method rls \
    -o t.safetensors --json | grep -o '"class":"[a-z_]*"'
# Scores have a column for every name, also for classes that no row has.
"$TENON" predict a.safetensors x.npy --scores s.npy >/dev/null
awk '{ print $1 == 3 ? 4 : $1 }' n.txt >without3.txt
try eval --scores s.npy --labels without3.txt | tail -n 2
"$TENON" eval --scores s.npy --labels without3.txt --classes names.txt | grep -c accuracy
# What the names may not be.
rank() { try rank x.npy --labels "$@" --loo 0; }
head -n 5 names.txt >few.txt
rank n.txt --classes few.txt
awk '{ print $1 + 1 }' n.txt >from1.txt
rank from1.txt --classes names.txt
rank y.txt --classes names.txt
{ cat names.txt; head -n 1 names.txt; } >twice.txt
rank n.txt --classes twice.txt
sed '3s/.*//' names.txt >gap.txt
rank n.txt --classes gap.txt
rank n.txt --classes none.txt
: >empty.txt
rank n.txt --classes empty.txt
try rank x.npy --labels n.txt --task regression --classes names.txt
# Floats, texts of both kinds, a column; an archive's keys; dimensions of 1; tabs.
bytes() { while read -r v; do printf "\\x$(printf %02x "$v")\0\0\0"; done; } # little-endian int32
{ npy_header '<i4' 300 1; bytes <n.txt; } >column.npy
{ npy_header '<U1' 300 1; awk '{ printf "%c\n", 97 + $1 % 26 }' n.txt | while read -r c; do printf '%s\0\0\0' "$c"; done; } >u.npy
{ npy_header '|S1' 300 1; awk '{ printf "%c", 97 + $1 % 26 }' n.txt; } >s1.npy
for file in column.npy u.npy s1.npy; do "$TENON" rank x.npy --labels $file --loo 0 --json | number log_evidence; done | uniq -c | awk '{ print $1 }'
{ npy_header '<f4' 2 1; printf '\0\0\x80\x3f\0\0\0\x40'; } >f.npy
for file in u.npy f.npy column.npy; do "$TENON" info --task multiclass $file | head -n 3; done
printf 'a\tcat\nb\tdog\n' >l.tsv
"$TENON" info l.tsv
printf '1\t2\n3\t4\n' >r.tsv
"$TENON" info r.tsv | head -n 3
