#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# encoder refine: the mixture of an encoder learned further, for all classes, for one, for each; caches, checkpoints, bags.
. "$HERE/lib.sh"
P=$HERE/../fuzz/corpus/picture
mkdir -p photos/plain photos/ink
for i in 1 2 3; do cp "$P/rgb.png" "photos/plain/$i.png"; cp "$P/cmyk.jpg" "photos/ink/$i.jpg"; done
cp "$P/rgb.jpg" photos/plain/4.jpg
cp "$P/grey.jpg" photos/ink/4.jpg
"$TENON" encoder train photos -o fisher.safetensors --sides 8,10 --step 1 --pca 8 --words 3 --seed 1 --quiet
numbers() { sed -E 's/[0-9]+\.[0-9]+(e[-+][0-9]+)?|e-[0-9]+/N/g; s/ +[0-9N.]+ +[0-9N.]+ +[-0-9N.]+ +[-0-9N.]+( +kept)?$/ .../; s/round [0-9]+/round R/; s/ +/ /g'; }
try encoder refine fisher.safetensors photos -o refined.safetensors --rounds 2 --C 100 --holdout 0.5 | numbers | grep -v '^ [0-9]' | grep -v '^advice'
try encoder refine fisher.safetensors photos -o again.safetensors --rounds 2 --C 100 --holdout 0.5 --json |
    grep -oE '"[a-zA-Z_0-9]+":' | sort -u | tr -d '\n'
echo
tensors() { tail -c 300 "$1" | cksum; }
[ "$(tensors again.safetensors)" = "$(tensors refined.safetensors)" ] && echo "the same mixture"
try encoder info refined.safetensors
"$TENON" extract photos --encoder refined.safetensors -o rows.npy --quiet && echo "an encoder like any other"
# Descriptors are made once: a picture that is gone afterwards is not missed.
for f in photos/*/*; do printf '%s\t%s\n' "$f" "$(basename "$(dirname "$f")")"; done >list.txt
try encoder refine fisher.safetensors list.txt -o kept.safetensors --rounds 2 --C 100 --holdout 0.5 --cache cache --quiet
rm photos/ink/2.jpg
try encoder refine fisher.safetensors list.txt -o gone.safetensors --rounds 2 --C 100 --holdout 0.5 --cache cache --quiet
[ "$(tensors kept.safetensors)" = "$(tensors gone.safetensors)" ] && echo "the same mixture"
try encoder refine fisher.safetensors list.txt -o lost.safetensors --rounds 2 --quiet 2>&1 | grep -oE 'photos/ink/2.jpg|exit .*'
cp "$P/cmyk.jpg" photos/ink/2.jpg
# Two rounds, then on to three; the checkpoint goes with the last.
"$TENON" encoder refine fisher.safetensors photos -o three.safetensors --rounds 3 --C 100 --holdout 0 --twice no --quiet
try encoder refine fisher.safetensors photos -o two.safetensors --rounds 3 --C 100 --holdout 0 --twice no --quiet --checkpoint state
[ "$(tensors two.safetensors)" = "$(tensors three.safetensors)" ] && ls state 2>&1 | sed 's/.*: //'
try encoder refine fisher.safetensors photos -o each --task each --rounds 1 --C 100 --holdout 0 --quiet && ls each
try encoder refine fisher.safetensors photos -o one.safetensors --task ink --rounds 1 --C 100 --holdout 0 --quiet
# Slips.
try encoder refine fisher.safetensors photos
try encoder refine fisher.safetensors -o x.safetensors
try encoder refine fisher.safetensors photos -o x.safetensors --task cat
try encoder refine fisher.safetensors photos -o x.safetensors --words 4
try encoder train photos -o x.safetensors --rounds 4
try encoder refine fisher.safetensors --bags none.npy -o x.safetensors
try encoder refine fisher.safetensors photos -o fisher.safetensors
try encoder refine refined.safetensors photos -o x.safetensors --rounds 1 --cache cache --quiet
