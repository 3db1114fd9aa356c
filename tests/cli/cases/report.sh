#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Pages: what report and --report take and refuse. What is on the pages is looked at by tests/report/.
. "$HERE/lib.sh"
L=$DEMO/labels.train.txt
"$TENON" rank "$DEMO"/darknet.train.npy "$DEMO"/doodle.train.npy --labels "$L" --json >rank.json || exit
"$TENON" rank "$DEMO"/darknet.train.npy --labels "$L" --report page.html --json >r.json || exit
# Where a result comes from, with the hash that sha256sum gives.
grep -o '"seed":[0-9]*,"machine":' r.json
[ "$(grep -o '"sha256":"[0-9a-f]*"' r.json | tail -n 1 | cut -d'"' -f4)" = "$(sha256sum "$L" | cut -d' ' -f1)" ] && echo "hash agrees"
head -n 1 page.html
grep -c 'Content-Security-Policy' page.html
try report rank.json r.json -o both.html
try report rank.json r.json -o both.html --json
grep -o '<h2 id="runs">[^<]*' both.html
"$TENON" report rank.json r.json -o again.html --quiet && cmp both.html again.html && echo "the same again"
# Rows that are pictures.
P=$HERE/../fuzz/corpus/picture
mkdir -p photos/a photos/b
cp "$P/rgb.png" photos/a/1.png
cp "$P/rgb.jpg" photos/a/2.jpg
cp "$P/cmyk.jpg" photos/b/3.jpg
cp "$P/grey.jpg" photos/b/4.jpg
printf '0.9,0.1\n0.2,0.8\n0.6,0.4\n0.1,0.9\n' >s.csv
printf 'a\na\nb\nb\n' >y.txt
"$TENON" eval --scores s.csv --labels y.txt --images photos --report p.html >/dev/null || exit
grep -o '<img alt="" src="data:image/jpeg;base64,/9j/' p.html | wc -l
# Heads come as they are; other files are no results.
"$TENON" fit "$DEMO/darknet.train.npy" --labels "$L" --method evidence --loo 0 -o h.safetensors >/dev/null
try report rank.json h.safetensors -o both.html
cp "$DEMO/darknet.train.npy" x.npy
try report x.npy -o x.html
echo '{"rows":3}' >odd.json
try report odd.json -o x.html
echo '{"command":"rank"' >cut.json
try report cut.json -o x.html
try report missing.json -o x.html
try report rank.json
try report rank.json -o rank.json
try rank x.npy --labels y.txt --report missing/x.html
try rank x.npy --labels y.txt --report y.txt
ls x.html 2>&1
