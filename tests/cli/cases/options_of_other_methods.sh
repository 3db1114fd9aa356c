#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# An option that the method has no use for is refused with the methods that have, not ignored, also at its default value.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.train.npy "$DEMO"/squeezenet.train.npy "$DEMO"/labels.train.txt .
fit() { try fit darknet.train.npy --labels labels.train.txt -o h.safetensors "$@"; }
for option in '--C 5' '--C 1' '--loss hinge' '--mean-cost yes' '--penalise-bias no' '--gap 1e-3' '--max-passes 5' '--lambda 3' \
    '--grid 1,2' '--epochs 3' '--eta 0.8' '--multiclass mul' '--average' '--no-average' '--shuffle no' '--ratio 3' \
    '--patience 2' '--tune' '--checkpoint c.ckpt' '--valid darknet.train.npy' '--valid-labels labels.train.txt' \
    '--from h.safetensors'; do
    fit $option
done
fit --method evidence --folds 3
fit --method evidence --budget 3
fit --method svm --threshold f1
fit --threshold f1
fit --method ridge-cv --lambda 3
fit --method ridge-cv --C 3
for option in '--lambda 3' '--folds 3' '--grid 1' '--epochs 3' '--optimizer em' '--start 1' '--tolerance 1e-3' '--loo 100' '--signed split'; do
    fit --method svm $option
done
fit --method svm-cv --C 3
fit --method logistic --loss hinge
for option in '--lambda 3' '--folds 3' '--gap 1e-3' '--calibrate no' '--optimizer em' '--max-iterations 3' '--ratio 3' '--patience 2'; do
    fit --method pa $option
done
# Weights are of use to every method, and their file must be there.
for method in evidence ridge-cv svm pa; do fit --method $method --sample-weight none.npy; done
# Where the evidence chooses, its options are of use to every method.
"$TENON" fit darknet.train.npy --labels labels.train.txt --method pa --epochs 1 --normalize l2,root --optimizer em -o h.safetensors >/dev/null
echo "several candidates: exit $?"
"$TENON" fit darknet.train.npy --labels labels.train.txt --method pa --epochs 1 --loo 0 --transform chi2 --signed split -o h.safetensors >/dev/null
echo "a named map, no leave-one-out: exit $?"
# Folds to calibrate by are of use to svm.
"$TENON" fit darknet.train.npy --labels labels.train.txt --method svm --max-passes 500 --gap 1 --calibrate yes --folds 2 -o h.safetensors >/dev/null
echo "folds to calibrate by: exit $?"
# Tasks that leave no room for an option.
sed 's/$/|pet/' labels.train.txt >several.txt
try fit darknet.train.npy --labels several.txt --method pa --multiclass mul -o h.safetensors
{ npy_header '<f4' 300 1; for i in $(seq 150); do printf '\0\0\x80\x3f\0\0\0\x40'; done; } >y.npy
try fit darknet.train.npy --labels y.npy --task regression --calibrate yes -o h.safetensors
# Other commands.
transfer() { try transfer --target darknet.train.npy --labels labels.train.txt --source squeezenet.train.npy -o t.safetensors "$@"; }
transfer --method rls --k 3
transfer --method none --delta 0
transfer --method forward --lambda 1
try pq apply q.safetensors darknet.train.npy -o c.safetensors --sub 4
try kernel apply chi2 darknet.train.npy -o m.npy --rank 3
try kernel learn --data darknet.train.npy labels.train.txt -o k.safetensors --normalize l2
try kernel show chi2 -o k.safetensors
try kernel compare chi2 js --picture k.svg
try rank darknet.train.npy --labels labels.train.txt --signed split
try rank darknet.train.npy --labels labels.train.txt --signed split --transform none
try eval --scores darknet.train.npy --labels labels.train.txt --source squeezenet.train.npy
ls
