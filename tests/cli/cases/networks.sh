#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Pictures through networks: extract, the cache, bags, and a head that remembers what it was trained with.
. "$HERE/lib.sh"
python=$(command -v /usr/bin/python3 || command -v python3) || { echo "python3 is not installed" >&2; exit 77; }
"$TENON" doctor --json | grep -q '"onnxruntime":"1' || { echo "ONNX Runtime is not installed" >&2; exit 77; }
"$python" -B "$HERE/../../tools/draw_pictures.py" . --train 10 --test 3
try info texture.onnx
try info colour.onnx --json
try extract train --net texture.onnx colour.onnx -o both --labels-out labels.txt
sort labels.txt | uniq -c
try extract train --net texture.onnx -o alone/ && cmp alone/texture.npy both/texture.npy
grep -oE '"layer":"[a-z]*"|"bag":[0-9]*|"rows":[0-9]+|"shorter":[0-9]+|"mean":[^]]*.' both/colour.json
for threads in 1 3; do
    "$TENON" extract train --net texture.onnx -o again.npy --threads $threads --quiet && cmp both/texture.npy again.npy && echo "$threads: same"
done
for pass in 1 2; do
    "$TENON" extract train --net texture.onnx -o again.npy --cache kept --quiet && cmp both/texture.npy again.npy && echo "cache, pass $pass: same"
done
ls kept | wc -l
try extract train --net colour.onnx --layer above --as bag -o bags.npy --json
try encoder train --bags bags.npy -o vlad.safetensors --kind vlad --words 4 --pca 0 --sample 2000 --quiet
try extract --bags bags.npy --encoder vlad.safetensors -o vlad.npy
# Bags through an encoder, without files between; it remembers the network.
try encoder train train --net colour.onnx:above --kind vlad --words 4 --pca 0 --sample 2000 --seed 0 -o direct.safetensors --quiet
"$TENON" encoder info direct.safetensors
"$TENON" extract train --encoder direct.safetensors -o direct.npy --quiet && cmp direct.npy vlad.npy && echo "the same vectors"
"$TENON" fit train --net colour.onnx:above --as bag -o bags.safetensors --method evidence --quiet && "$TENON" predict bags.safetensors test >bags.txt
"$TENON" fit train --encoder direct.safetensors --net texture.onnx -o mixed.safetensors --method evidence --select all --quiet
# The mixture learned further, from the pictures and from the bags alone: the same Gaussians.
"$TENON" encoder train train --net colour.onnx:above --words 2 --pca 3 --sample 2000 --seed 0 -o fisher.safetensors --quiet
try encoder refine fisher.safetensors train -o refined.safetensors --learn both --rounds 1 --C 100 --holdout 0 --twice no --quiet
try encoder refine fisher.safetensors --bags bags.npy --labels labels.txt -o again.safetensors --learn both --rounds 1 --C 100 --holdout 0 --twice no --quiet
tail -c 250 refined.safetensors | cmp - <(tail -c 250 again.safetensors) && ! tail -c 250 fisher.safetensors | cmp -s - <(tail -c 250 again.safetensors) && echo "the same mixture, and another than before"
rm fisher.safetensors refined.safetensors again.safetensors
mv colour.onnx elsewhere.onnx
try predict bags.safetensors test/ring/00.png
"$TENON" predict bags.safetensors test --net colour=elsewhere.onnx | cmp - bags.txt && echo "the same from elsewhere"
"$TENON" predict mixed.safetensors test --net direct=elsewhere.onnx texture=texture.onnx | wc -l
mv elsewhere.onnx colour.onnx
# A head from pictures, which finds its networks by itself.
"$TENON" fit train --net texture.onnx colour.onnx -o head.safetensors --method evidence --select all --quiet
"$TENON" fit both/texture.npy both/colour.npy --labels labels.txt -o other.safetensors --method evidence --select all --quiet
cmp <(tail -c 400 head.safetensors) <(tail -c 400 other.safetensors) && echo "the same weights"
"$TENON" extract test --net texture.onnx colour.onnx -o seen --labels-out seen.txt --quiet
"$TENON" predict head.safetensors test --top 6 >by_pictures.txt
"$TENON" predict head.safetensors seen/texture.npy seen/colour.npy --top 6 | cmp - by_pictures.txt && echo "the same scores"
# Figures, without the lists whose rows have the pictures' names in the one and numbers in the other.
figures() { grep -oE '"[a-z_0-9]+":[-0-9.e]+' | head -n 12; }
"$TENON" eval head.safetensors test --json | figures >by_pictures.json
[ "$(wc -l <by_pictures.json)" = 12 ] || echo "no figures"
"$TENON" eval head.safetensors seen/texture.npy seen/colour.npy --labels seen.txt --json | figures | cmp - by_pictures.json && echo "the same figures"
try predict head.safetensors test --net texture=colour.onnx
mv texture.onnx moved.onnx
try predict head.safetensors test/ring/00.png
"$TENON" predict head.safetensors test --net texture=moved.onnx --top 6 | cmp - by_pictures.txt && echo "the same from elsewhere"
# What is refused, and what is left of it.
mv moved.onnx texture.onnx
try extract train --net texture.onnx --layer strenght -o x.npy
try extract train --net texture.onnx --layer last_hidden_state -o x.npy
try extract train --net texture.onnx --size 32 -o x.npy
try extract train --net colour.onnx:above --as token -o x.npy
try extract train --net texture.onnx a/texture.onnx -o x.npy
try extract train --net labels.txt -o x.npy
head -c 300 texture.onnx >cut.onnx
try extract train --net cut.onnx -o x.npy
cp train/ring/00.png train/ring/99.png && truncate -s 200 train/ring/99.png
try extract train --net texture.onnx -o x.npy
ls
