#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A folder of pictures and nothing else: encoders are learned, compete, and stay in the head.
# By svm: of 36 rows and 16384 columns one shared lambda is at times none, as rounding has it, and such a head tells nothing.
. "$HERE/lib.sh"
python=$(command -v /usr/bin/python3 || command -v python3) || { echo "python3 is not installed" >&2; exit 77; }
"$python" -B "$HERE/../../tools/draw_pictures.py" . --train 6 --test 3
rm ./*.onnx ./*.json
names() { grep -oE '"name":"[a-z0-9-]*"' | sort -u | tr '\n' ' '; echo; }
"$TENON" rank train --json --loo 0 | names
"$TENON" fit train -o head.safetensors --method svm --select all --seed 3 --quiet && "$TENON" info head.safetensors --json | names
"$TENON" predict head.safetensors test --scores scores.npy --quiet >classes.txt && wc -l <classes.txt
"$TENON" eval head.safetensors test --json | grep -oE '"accuracy":[0-9.]+' | head -n 1 | awk -F: '{print ($2 > 0.5 ? "better than luck" : "luck: " $2)}'
same() { "$TENON" predict "$1" test --scores again.npy --quiet "${@:2}" >/dev/null && cmp scores.npy again.npy && echo "$1: the same scores"; }
# The same encoders, trained by hand.
for descriptor in rootsift csift; do
    "$TENON" encoder train train --descriptor $descriptor --pictures 500 --seed 3 -o $descriptor-fisher.safetensors --quiet
done
"$TENON" fit train --encoder rootsift-fisher.safetensors csift-fisher.safetensors -o by_hand.safetensors --method svm --select all --seed 3 --quiet
same by_hand.safetensors
same head.safetensors --encoder rootsift-fisher.safetensors
# From a cache, and again from it; from a list.
for pass in 1 2; do
    "$TENON" fit train -o cached.safetensors --cache kept --method svm --select all --seed 3 --quiet
    same cached.safetensors --cache kept
done
ls kept | wc -l
find train -name '*.png' | sort | sed -E 's/train\/([a-z]*)\/.*/&\t\1/' >list.txt
"$TENON" fit list.txt -o listed.safetensors --method svm --select all --seed 3 --quiet
same listed.safetensors
# Pictures to validate by; without a label file.
"$TENON" fit train --valid test --method logistic-cv --grid 1,10 -o valid.safetensors --seed 3 --json --quiet | grep -oE '"(selected)":\["[a-z-]*"' | cut -d'"' -f2
mv rootsift-fisher.safetensors moved.safetensors
try predict head.safetensors test/ring/00.png --encoder csift-fisher=moved.safetensors
try predict head.safetensors test/ring/00.png --encoder csift-fisher=moved.safetensors --other-net --quiet | tail -n 1
try extract train --encoder default -o x.npy
mkdir shards && cp scores.npy shards/0.npy && cp train/ring/00.png shards/plot.png
try rank shards --labels list.txt
mkdir empty none none/deep
try fit empty -o x.safetensors
try fit none -o x.safetensors
