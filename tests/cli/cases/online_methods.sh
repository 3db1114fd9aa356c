#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: known beforehand. Accuracy far above the 5 % of guessing among 20 classes, by every rule and every way to treat several
# classes; 300 rows a pass, so at most as many updates (one-vs-rest: 20 times as many), and mistakes among them.
. "$HERE/lib.sh"
cp "$DEMO"/mobilenetv2.t*.npy "$DEMO"/labels.*.txt .
check() { # updates at most, options...
    local most=$1
    shift
    "$TENON" fit mobilenetv2.train.npy --labels labels.train.txt "$@" -o h.safetensors --json >f.json || return
    [ "$(grep -o '"epoch":' f.json | wc -l)" = 10 ] || echo "$*: not ten passes"
    grep -o '"epoch":[0-9]*,"mistakes":[0-9]*,"updates":[0-9]*' f.json | tr ':,' '  ' |
        awk -v most="$most" '$2 != NR || $4 > $6 || $6 > most || (NR == 1 && $6 == 0) { print "an odd pass:", $0 }'
    "$TENON" eval h.safetensors mobilenetv2.test.npy --labels labels.test.txt --json >e.json || return
    between "$(number accuracy <e.json)" 0.75 1 || echo "$*: accuracy $(number accuracy <e.json)"
    echo "$*: $(grep -o '"method":"[a-z0-9]*"' f.json)"
}
for method in perceptron sgd pa pa2 cw arow nherd scw scw2; do check 300 --method $method; done
for way in u-ovr e-ovr w-ovr; do
    check 6000 --method arow --multiclass $way
    check 6000 --method pa --multiclass $way
done
check 300 --method pa --no-average
check 300 --method arow --average --intercept no
# The same command gives the same bytes, another seed does not, and one-vs-rest is not multi-class.
fit() { "$TENON" fit mobilenetv2.train.npy --labels labels.train.txt --method pa -o h.safetensors "$@" >/dev/null && md5sum <h.safetensors; }
[ "$(fit)" = "$(fit)" ] && echo "the same bytes"
[ "$(fit --seed 1)" = "$(fit --seed 2)" ] && echo "the seed does nothing"
weights() { fit "$@" >/dev/null && "$TENON" predict h.safetensors mobilenetv2.test.npy --scores s.npy >/dev/null && md5sum <s.npy; }
[ "$(weights --seed 1)" = "$(weights --seed 2)" ] && echo "the seed does not change the weights"
[ "$(weights --shuffle no --seed 1)" = "$(weights --shuffle no --seed 2)" ] && echo "file order has no seed"
[ "$(weights --multiclass u-ovr)" = "$(weights --multiclass mul)" ] && echo "--multiclass does nothing"
[ "$(weights --average)" = "$(weights)" ] && echo "averaging is the default"
[ "$(weights --no-average)" = "$(weights)" ] && echo "--no-average does nothing"
exit 0
