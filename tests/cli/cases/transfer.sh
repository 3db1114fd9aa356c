#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: known beforehand. Five pictures of ants and five of dolphins, helped by classifiers of the other 18 classes: as a head, as a
# folder of heads and as a file of scores. All three are the same classifiers, so that the results must be the same.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.t*.npy "$DEMO"/labels.*.txt .
awk '{ print ($1 == "ant" || $1 == "dolphin") ? "" : $1 }' labels.train.txt >others.txt
awk '($1 == "ant" || $1 == "dolphin") && ++n[$1] <= 5 { print $1; next } { print "" }' labels.train.txt >few.txt
awk '{ print ($1 == "ant" || $1 == "dolphin") ? $1 : "" }' labels.test.txt >test.txt
mkdir library
"$TENON" fit darknet.train.npy --labels others.txt --method svm -o library/others.safetensors >/dev/null || exit
for set in train test; do
    "$TENON" predict library/others.safetensors darknet.$set.npy --scores scores.$set.npy >/dev/null || exit
done
transfer() { "$TENON" transfer --target darknet.train.npy --labels few.txt --json -o h.safetensors "$@" || exit; }
picks() { grep -o '"kind":"[a-z]*","index":[0-9]*' | tr '\n' ' '; }

for method in auto greedytl none average rls forward l1-logistic elastic-net multikt-l2 multikt-l1 dam; do
    for source in library/others.safetensors library scores.train.npy; do
        transfer --method $method --source $source | picks >"$method.$(basename "${source%%.*}").picks"
        "$TENON" eval h.safetensors darknet.test.npy --labels test.txt --json --source "${source/train/test}" >e.json || exit
        number accuracy <e.json
    done >accuracies
    [ "$(sort -u accuracies | wc -l)" = 1 ] || echo "$method: $(tr '\n' ' ' <accuracies)"
    cmp -s "$method.others.picks" "$method.library.picks" && cmp -s "$method.others.picks" "$method.scores.picks" || echo "$method: other picks"
    # Two classes, half of the rows each: 0.5 is guessing; the average of foreign classes knows nothing of the threshold.
    [ $method = average ] || between "$(head -n 1 accuracies)" 0.8 1 || echo "$method: accuracy $(head -n 1 accuracies)"
done
transfer --method greedytl --source library --k 3 | grep -o '"kind":' | wc -l
transfer --method greedytl --source library --features no | grep -c '"kind":"feature"'
"$TENON" info h.safetensors | grep -c "^  source: '.*' of others .* for 'dolphin'$"
transfer --method greedytl --source library --k 7 --delta 0 >fit.json
"$TENON" info h.safetensors | grep -cE "^  (source: '.*' of others|feature: 'darknet'\[[0-9]+\]) .* for 'dolphin'$"
"$TENON" info h.safetensors --json | grep -o '"features":.*' | grep -o '"column":[0-9]*' | grep -o '[0-9]*' | sort -n >info.columns
grep -o '"kind":"feature","index":[0-9]*' fit.json | grep -o '[0-9]*$' | sort -n | cmp - info.columns
echo "--- one class by its name"
awk '{ print ($1 == "ant") ? $1 : ($1 == "") ? "" : "not ant" }' few.txt >ant.txt
transfer --method greedytl --source library --class ant | sed 's/,"seconds":.*//' >named.json
cp h.safetensors named.safetensors
"$TENON" transfer --target darknet.train.npy --labels ant.txt --method greedytl --source library --json -o h.safetensors | sed 's/,"seconds":.*//' >written.json
picks <named.json | grep -c kind
[ "$(picks <named.json)" = "$(picks <written.json)" ] || echo "other picks"
"$TENON" eval named.safetensors darknet.test.npy --labels test.txt --class ant --source library --json | number accuracy >a
awk '{ print ($1 == "ant") ? $1 : ($1 == "") ? "" : "not ant" }' test.txt >ant.test.txt
"$TENON" eval h.safetensors darknet.test.npy --labels ant.test.txt --source library --json | number accuracy | cmp - a
try transfer --target darknet.train.npy --labels few.txt --source library --class aunt -o h.safetensors
echo "--- more classes: one against the rest"
awk '($1 ~ /^(ant|dolphin|lobster)$/) && ++n[$1] <= 5 { print $1; next } { print "" }' labels.train.txt >few.txt
transfer --source scores.train.npy | grep -o '"class":"[a-z]*"'
"$TENON" predict h.safetensors darknet.test.npy --source scores.test.npy | sort -u | tr '\n' ' '
echo
transfer --source scores.train.npy | grep -cE '^[{]"command":"transfer","method":"[a-z]+","loo_error":[0-9.e-]+,"loo_se":[0-9.e-]+,"loo_rows":15,"candidates":.*,"per_class":'
awk '$1 != "" && ++n[$1] <= 1 { print; next } { print "" }' few.txt >single.txt
"$TENON" transfer --target darknet.train.npy --labels single.txt --source scores.train.npy -o one.safetensors | grep "^all "
"$TENON" eval one.safetensors darknet.test.npy --source scores.test.npy --labels test.txt --json | number accuracy >a
between "$(cat a)" 0.8 1 || echo "one row of every class: accuracy $(cat a)"
echo "--- through a map: what a file of mapped rows gives"
for set in train test; do
    "$TENON" kernel apply chi2 darknet.$set.npy -o mapped.$set.npy --normalize none >/dev/null || exit
done
picks_of() { "$TENON" transfer --target $1.train.npy --labels few.txt --source scores.train.npy --json -o $1.safetensors "${@:2}" | picks; }
for method in greedytl rls; do
    picks_of mapped --method $method >mapped.picks
    picks_of darknet --method $method --transform chi2 | cmp - mapped.picks || echo "$method: other picks"
    for target in darknet mapped; do
        "$TENON" predict $target.safetensors $target.test.npy --source scores.test.npy >$target.classes || exit
    done
    cmp darknet.classes mapped.classes && echo "$method: the same classes"
done
"$TENON" info darknet.safetensors | grep -o "[0-9]* through chi2"
# At a given lambda: methods that choose it leave rows out, and a row of weight 3 is not one of three that are alike.
echo "--- weights: whole ones are repeated rows"
awk 'BEGIN {
    for (i = 0; i < 24; ++i) {
        row = source = ""
        for (j = 0; j < 4; ++j) row = row sprintf("%s%.6f", j ? "," : "", (i * (j + 3) * 7919 % 1009) / 1009 + (j == i % 2) * 0.6)
        for (j = 0; j < 3; ++j) source = source sprintf("%s%.6f", j ? "," : "", (i * (j + 5) * 104729 % 997) / 997 + (j == i % 2) * 0.8)
        for (r = 0; r <= i % 3; ++r) { print row >"rows.csv"; print source >"sources.csv"; print "c" i % 2 >"labels.txt" }
        print row >"row.csv"; print source >"source.csv"; print "c" i % 2 >"label.txt"; print i % 3 + 1 >"weight.csv"
    }
}'
top() { "$TENON" predict $1.safetensors f=row.csv --source g=source.csv --top 2 | tr '\t:' '\n\n' >$1.top; }
for method in greedytl none rls forward; do
    weighted() { "$TENON" transfer --target f=row$1.csv --labels label$1.txt --source g=source$1.csv --method $method --quiet -o $2.safetensors "${@:3}" || exit; }
    weighted "" weighted --sample-weight weight.csv
    weighted s repeated
    weighted "" plain
    for head in weighted repeated plain; do top $head; done
    paste weighted.top repeated.top | awk -v m=$method '$1 != $2 && ($1 - $2) ^ 2 > 1e-10 { print m ": " $0 }'
    cmp -s weighted.top plain.top && echo "$method: weights change nothing"
done
echo "--- refused"
try transfer --target f=row.csv --labels label.txt --source g=source.csv --sample-weight row.csv -o h.safetensors
try predict h.safetensors darknet.test.npy
try transfer --labels few.txt --source library -o h.safetensors
try transfer --target darknet.train.npy --labels few.txt -o h.safetensors
try transfer --target darknet.train.npy --labels few.txt --source scores.test.npy -o h.safetensors
try transfer --target darknet.train.npy --labels few.txt --source library --method none --features no -o h.safetensors
try transfer --target darknet.train.npy --labels few.txt --source nowhere -o h.safetensors
try transfer --target darknet.train.npy --labels few.txt --source library --transform none,chi2 -o h.safetensors
try transfer --target darknet.train.npy --labels few.txt --source library --transform chi3 -o h.safetensors
try transfer --target darknet.train.npy --labels few.txt --source library --signed split -o h.safetensors
awk '$1 != "ant" { $0 = "" } { print }' labels.train.txt >one.txt
try transfer --target darknet.train.npy --labels one.txt --source library -o h.safetensors
