#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the commands of pictures refuse, in one line each, and that nothing is left behind.
. "$HERE/lib.sh"
P=$HERE/../fuzz/corpus/picture
mkdir photos none
for i in 1 2 3; do cp "$P/rgb.png" "photos/$i.png"; done
small="--sides 8 --step 1 --pca 4 --words 2"
try encoder
try encoder train
try encoder train photos
try encoder learn photos -o e.safetensors
try encoder train nowhere -o e.safetensors
try encoder train none -o e.safetensors
try encoder train photos -o e.safetensors --pyramid 2
try encoder train photos -o e.safetensors --kind vlaad
try encoder train photos -o e.safetensors
"$TENON" encoder train photos -o e.safetensors $small --quiet || exit
try extract photos -o x.npy
try extract photos --encoder e.safetensors
try extract photos --encoder photos/1.png -o x.npy
try extract photos --encoder e.safetensors -o x.npy --labels-out l.txt
try rank photos --encoder e.safetensors
try rank e.safetensors --labels l.txt
cp "$P/cut.png" photos/4.png
cp "$P/large.png" photos/5.png
try extract photos --encoder e.safetensors -o x.npy
try extract photos --encoder e.safetensors -o x.npy --on-error skip
try encoder train photos -o f.safetensors $small --on-error skip --quiet
{ npy_header '<f4' 4 2; printf '\0%.0s' {1..32}; } >rows.npy
try encoder train --bags rows.npy -o b.safetensors
try encoder train photos --bags rows.npy -o b.safetensors
ls
