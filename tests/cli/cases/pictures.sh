#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Pictures to vectors to a head: encoder train, extract, and IMAGES in the place of representations.
. "$HERE/lib.sh"
P=$HERE/../fuzz/corpus/picture
mkdir -p photos/plain photos/ink
for i in 1 2 3; do cp "$P/rgb.png" "photos/plain/$i.png"; cp "$P/cmyk.jpg" "photos/ink/$i.jpg"; done
cp "$P/rgb.jpg" photos/plain/4.jpg
cp "$P/grey.jpg" photos/ink/4.jpg
small="--sides 8,10 --step 1 --pca 8 --words 3 --seed 1"
try encoder train photos -o fisher.safetensors $small | sed -E 's/in [0-9.]+ s, [0-9]+ iter.*/in T s/; s/kept .*/kept/'
try encoder train photos -o llc.safetensors $small --kind llc --descriptor csift --pyramid 1x1,2x2 --quiet
try encoder info fisher.safetensors llc.safetensors
try encoder info llc.safetensors --json
try extract photos --encoder fisher.safetensors -o fisher.npy --labels-out labels.txt
cat labels.txt
grep -oE '"ids":.*|"rows":[0-9]+|"kind":"[a-z]*"' fisher.json
try extract photos --encoder fisher.safetensors words=llc.safetensors -o both/
cmp fisher.npy both/fisher.npy && echo "together as alone"
for threads in 1 3; do
    "$TENON" extract photos --encoder fisher.safetensors -o again.npy --threads $threads --quiet && cmp fisher.npy again.npy && echo "$threads: same"
done
# A head from pictures is that from the vectors.
"$TENON" fit photos --encoder fisher.safetensors -o direct.safetensors --quiet --loo 0 --calibrate no
"$TENON" fit fisher.npy --labels labels.txt -o indirect.safetensors --quiet --loo 0 --calibrate no
"$TENON" predict direct.safetensors photos --scores direct.npy --quiet >classes.txt
"$TENON" predict indirect.safetensors fisher.npy --scores indirect.npy --quiet | cmp - classes.txt
cmp direct.npy indirect.npy && echo "the same scores"
"$TENON" eval direct.safetensors photos --encoder fisher.safetensors --json | grep -oE '"accuracy":[0-9.]+' | head -n 1
"$TENON" predict direct.safetensors photos/ink/1.jpg --encoder fisher.safetensors
# Halves; rows in parts give the same file, and the folder goes.
try extract photos --encoder fisher.safetensors -o half.npy --type f16
echo $(($(wc -c <half.npy) - 128)) of $(($(wc -c <fisher.npy) - 128)) bytes of values
"$TENON" extract photos --encoder fisher.safetensors -o parts.npy --resume --quiet && cmp fisher.npy parts.npy && ls -d parts.*
"$TENON" cv photos --encoder fisher.safetensors --method evidence --folds 2 --json --quiet | grep -oE '"rows":[0-9]+|"folds":[0-9]+' | head -n 2
