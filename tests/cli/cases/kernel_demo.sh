#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A kernel learned, shown, compared, applied. Figures that depend on the kernels of the machine are compared with bounds, not
# printed.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.t*.npy "$DEMO"/mobilenetv2.train.npy "$DEMO"/labels.t*.txt .
try kernel learn --data darknet.train.npy labels.train.txt -o k.safetensors |
    sed -E 's/[0-9.]+%/R%/g; s/objective [0-9.e-]+, certainly within [0-9.e-]+ /objective F, certainly within G /; s/[0-9]+\.[0-9]+/X/g'
# The keys that scripts rely on.
"$TENON" kernel learn --data darknet.train.npy labels.train.txt --data mobilenetv2.train.npy labels.train.txt --rate 0.9 \
    --power 1 --json -o two.safetensors >two.json || exit
for key in command rank contributing_rate scale tasks seconds svm svd; do grep -q "\"$key\":" two.json && echo "has $key"; done
grep -oE '"(tasks|rows|sets)":[0-9]+|"(basis|signed|kernel)":"[^"]*"' two.json
between "$(grep -oE '"contributing_rate":\[[^]]*' two.json | tr ',' '\n' | wc -l)" 39 39 && echo "39 rates"
# The list comes again, joined with a sign, in any order: the same kernel.
"$TENON" kernel learn -o again.safetensors --data mobilenetv2.train.npy labels.train.txt --power=1 --rate 0.9 --data darknet.train.npy labels.train.txt --json >again.json || exit
[ "$(number scale <two.json)" = "$(number scale <again.json)" ] && [ "$(number rank <two.json)" = "$(number rank <again.json)" ] && echo "any order"
try info k.safetensors | sed -E 's/[0-9]+\.[0-9]+/X/g'
"$TENON" info k.safetensors --json | grep -oE '"(kind|basis|signed)":"[^"]*"|"(rank|tasks|rows)":[0-9]+'
try kernel show chi2
"$TENON" kernel show k.safetensors --csv t.csv --picture k.svg | sed -E 's/-?[0-9]+(\.[0-9]+)?%?/N/g; s/#+/#/; s/ +/ /g'
[ "$(wc -l <t.csv)" = 257 ] && [ "$(head -n 2 t.csv | tail -n 1 | tr ',' '\n' | wc -l)" = 257 ] && echo "257 x 257 cells"
[ "$(grep -c '<rect' k.svg)" = $((64 * 64 + 256 + 2)) ] && grep -q '</svg>' k.svg && echo "a picture"
"$TENON" kernel show hellinger --json | cut -c1-120
try kernel compare chi2 chi2 intersection js hellinger
"$TENON" kernel learn --data mobilenetv2.train.npy labels.train.txt -o m.safetensors >/dev/null || exit
"$TENON" kernel compare k.safetensors m.safetensors --json >c.json || exit
grep -oE '"command":"[^"]*"|"kernels":\[[^]]*\]' c.json
between "$(grep -oE '"cosine":[^]]*' c.json | cut -d, -f2)" 0.9 1 && echo "kernels of two networks are alike"
try kernel apply k.safetensors darknet.test.npy -o m.npy
"$TENON" kernel apply chi2 darknet.test.npy -o c.npy --normalize none --json
"$TENON" kernel apply hellinger darknet.test.npy -o h.npy --signed split --json
"$TENON" info m.npy --json >m.json || exit
between "$(number norm_min <m.json)" 0.999999 1.000001 && between "$(number norm_max <m.json)" 0.999999 1.000001 && echo "rows of unit length"
[ "$(wc -c <m.npy)" = $((128 + 405 * 128 * 6 * 4)) ] && echo "six values an entry"
"$TENON" kernel apply k.safetensors darknet.test.npy -o t.npy --threads 1 >/dev/null && cmp m.npy t.npy && echo "any number of threads"
ls .*.npy* .*.safetensors* 2>/dev/null || echo "nothing left behind"
