#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Names and metadata from files with control characters, marks of direction and bytes that are no UTF-8: shown, never obeyed,
# and one line stays one line.
. "$HERE/lib.sh"
# Nothing but printable ASCII and line ends is expected.
clean() { [ "$(tr -d '\n -~' | wc -c)" = 0 ] && echo clean || echo "raw bytes"; }
cp "$DEMO/darknet.train.npy" x.npy
# A class that colours the terminal, one with a C1 control.
awk '{ print NR % 3 == 0 ? "\033[31mred" : NR % 3 == 1 ? "\302\233c1" : "abcde" }' "$DEMO/labels.train.txt" >y.txt
"$TENON" fit --method evidence x.npy --labels y.txt --lambda 1 -o h.safetensors --loo 0 >/dev/null || exit
# abcde becomes b, a line end, b: the same number of bytes in the file.
LC_ALL=C sed 's/abcde/b\\\\nb/' h.safetensors >odd.safetensors
"$TENON" predict odd.safetensors x.npy >lines
wc -l <lines
sort -u lines
clean <lines
"$TENON" predict odd.safetensors x.npy --top 3 | head -n 1 | tr '\t' '\n' | cut -d: -f1 | sort
"$TENON" predict odd.safetensors x.npy --json | grep -ao '"classes":\[[^]]*\]'
"$TENON" info odd.safetensors >i.txt
grep classes i.txt
clean <i.txt
"$TENON" info odd.safetensors --json | clean
"$TENON" info odd.safetensors --json | wc -l
# Labels that go into tables and messages.
"$TENON" info y.txt
"$TENON" eval odd.safetensors x.npy --labels y.txt 2>&1
"$TENON" eval h.safetensors x.npy --labels y.txt --per-class | grep -c -F '\x1b[31mred'
# Names of representations and files.
name=$'a\x1b[2J\xe2\x80\xae\xff\nb'
"$TENON" rank "$name=x.npy" --labels y.txt --loo 0 >odd.txt
awk 'NR == 2 { print $2 }' odd.txt
[ "$(wc -l <odd.txt)" = "$("$TENON" rank a=x.npy --labels y.txt --loo 0 | wc -l)" ] && echo "as many lines as ever"
"$TENON" rank "$name=x.npy" --labels y.txt --loo 0 | clean
try info "$name" | tail -n +3
cp x.npy "$name.npy"
"$TENON" info "$name.npy" | head -n 1
"$TENON" fit --method evidence "$name.npy" --labels y.txt --lambda 1 --loo 0 --progress -o "$name.safetensors" 2>&1 | tr '\r' '\n' | sed 's/\x1b\[K//g' | clean
# Metadata are UTF-8: what became of the byte that is not does not matter here.
"$TENON" info "$name.safetensors" | LC_ALL=C sed -n '/representations/ { s/\xef\xbf\xbd\|\\xff//; p }'
