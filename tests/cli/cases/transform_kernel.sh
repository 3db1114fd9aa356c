#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: known beforehand. A kernel file as a transform. Its map is made by hand: of the 39 functions the first, x itself, so
# that rows keep their direction, and evidence and classes are those without it.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.t*.npy "$DEMO"/labels.*.txt .
identity() {
    local header='{"__metadata__":{"format":"tenon-kernel","version":"1","basis":"scaled-fourier","signed":"odd","scale":"1","power":"0.5","tasks":"1","rows":"1"},"weight":{"dtype":"F64","shape":[39,1],"data_offsets":[0,312]}}'
    local n=${#header}
    printf "\\x$(printf %02x $((n % 256)))\\x$(printf %02x $((n / 256)))\0\0\0\0\0\0%s\0\0\0\0\0\0\xf0\x3f" "$header"
    head -c 304 /dev/zero
}
mkdir other
for file in same.kernel other/same.other js.kernel; do identity >$file; done

"$TENON" rank darknet.train.npy --labels labels.train.txt --transform none,same.kernel,chi2 --json >r.json || exit
grep -o '"name":"[^"]*","transform":"[^"]*","dim":[0-9]*' r.json | sort
grep -o '"name":"darknet\(+same\)*".*' r.json | tr '{' '\n' | grep -v chi2 | grep -o '"log_evidence":[^,]*' | cut -d: -f2 |
    awk 'NR == 1 { first = $1 } END { print NR, ($1 - first) ^ 2 < 1e-4 ? "the same evidence" : first " " $1 }'
"$TENON" fit --method evidence darknet.train.npy --labels labels.train.txt --transform same.kernel -o same.safetensors >/dev/null || exit
"$TENON" fit --method evidence darknet.train.npy --labels labels.train.txt -o plain.safetensors >/dev/null || exit
rm same.kernel
"$TENON" info same.safetensors | grep representations
for head in same plain; do "$TENON" predict $head.safetensors darknet.test.npy >$head.txt || exit; done
cmp same.txt plain.txt && echo "the same classes"
accuracy() { "$TENON" eval $1.safetensors darknet.test.npy --labels labels.test.txt --json | number accuracy; }
[ "$(accuracy same)" = "$(accuracy plain)" ] && echo "the same accuracy"

try rank darknet.train.npy --labels labels.train.txt --transform same.kernel
try rank darknet.train.npy --labels labels.train.txt --transform js.kernel
try rank darknet.train.npy --labels labels.train.txt --transform js,labels.test.txt
identity >same.kernel
try rank darknet.train.npy --labels labels.train.txt --transform same.kernel,other/same.other
identity | head -c 500 >cut.kernel
try rank darknet.train.npy --labels labels.train.txt --transform cut.kernel
try rank darknet.train.npy --labels labels.train.txt --transform plain.safetensors
