#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# eval --per-class and --compare as people see them, and rows that keep their names through predict.
. "$HERE/lib.sh"
printf 'id,a,b\n"x,1",5,1\ny,4,1\nz,1,5\nw,1,4\nv,4,4\n' >f.csv
printf 'x,1\tcat\ny\tcat\nz\tdog\nw\tdog\nv\tdog\n' >y.txt
"$TENON" fit f.csv --labels y.txt --method evidence --lambda 0.1 --calibrate no --loo 0 -o h.safetensors 2>/dev/null >/dev/null || exit
"$TENON" fit f.csv --labels y.txt --method evidence --lambda 1000 --calibrate no --loo 0 -o weak.safetensors 2>/dev/null >/dev/null || exit
printf 'x,1\tcat\ny\tcat\nz\tdog\nw\tdog\nv\tcat\n' >wrong.txt
try eval h.safetensors f.csv --labels wrong.txt --per-class --resamples 0
try eval h.safetensors f.csv --labels y.txt --compare weak.safetensors --resamples 0 | tail -n 4
"$TENON" eval h.safetensors f.csv --labels wrong.txt --json | grep -o '"mistakes":\[{"row":4,"id":"v","true":"cat","predicted":"dog"'
# Heads of other classes are refused.
printf 'a\na\nb\nb\nb\n' >ab.txt
"$TENON" fit f.csv --labels ab.txt --method evidence --lambda 1 --loo 0 -o ab.safetensors >/dev/null 2>&1 || exit
try eval h.safetensors f.csv --labels y.txt --compare ab.safetensors
# Ids of a CSV file, of a label file, and numbers where there are none.
"$TENON" predict h.safetensors f.csv --csv p.csv --quiet
sed 's/,[0-9.]*$/,#/' p.csv
"$TENON" predict h.safetensors f.csv --json | grep -o '"ids":.*'
printf '5,1\n4,1\n1,5\n1,4\n4,4\n' >f2.csv
"$TENON" predict h.safetensors f=f2.csv --top 2 --csv p.csv --quiet
head -n 2 p.csv | cut -d, -f1,2,4
"$TENON" predict h.safetensors f=f2.csv --ids y.txt --csv p.csv --quiet
cut -d, -f1 p.csv | tail -n 2
printf 'cat\ncat\ndog\ndog\ndog\n' >plain.txt
try predict h.safetensors f=f2.csv --ids plain.txt --csv p.csv
try predict h.safetensors f.csv --csv missing/p.csv
