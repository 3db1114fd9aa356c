#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What moments cannot be made of, merged with or used for is told, and no output is left.
. "$HERE/lib.sh"
awk 'BEGIN { print "u,v"; for (i = 0; i < 40; ++i) print (i * 7 % 11) / 3 "," (i * 5 % 13) / 7 }' >x.csv
awk 'BEGIN { for (i = 0; i < 40; ++i) print i % 2 ? "a" : "b" }' >y.txt
awk 'BEGIN { for (i = 0; i < 40; ++i) print i % 7 / 2 }' >r.txt
"$TENON" moments x.csv --labels y.txt --rows 0:20 -o low.safetensors --quiet
"$TENON" moments x.csv --labels y.txt --rows 20:40 -o high.safetensors --quiet
"$TENON" moments x.csv --labels y.txt -o whole.safetensors --quiet
"$TENON" moments other=x.csv --labels y.txt --rows 20:40 -o other.safetensors --quiet
"$TENON" moments x.csv --labels y.txt --rows 20:40 --normalize none -o plain.safetensors --quiet
"$TENON" moments x.csv --labels r.txt --task regression --rows 20:40 -o values.safetensors --quiet
"$TENON" fit x.csv --labels y.txt --method svm -o head.safetensors --quiet
head -c 300 low.safetensors >cut.safetensors
try moments
try moments x.csv --labels y.txt
try moments x.csv -o z.safetensors
try moments x.csv --labels y.txt --normalize zscore -o z.safetensors
try moments x.csv --labels y.txt --rows 30:50 -o z.safetensors
try moments x.csv --labels y.txt --rows 5 -o z.safetensors
try moments x.csv --labels y.txt --folds 0 -o z.safetensors
try moments x.csv --labels y.txt --loo 5 -o z.safetensors
try moments low.safetensors --labels y.txt -o z.safetensors
try moments merge -o z.safetensors
try moments merge low.safetensors high.safetensors --labels y.txt -o z.safetensors
try moments merge low.safetensors whole.safetensors -o z.safetensors
try moments merge low.safetensors low.safetensors -o z.safetensors
try moments merge low.safetensors other.safetensors -o z.safetensors
try moments merge low.safetensors plain.safetensors -o z.safetensors
try moments merge low.safetensors values.safetensors -o z.safetensors
try moments merge low.safetensors head.safetensors -o z.safetensors
try moments merge low.safetensors cut.safetensors -o z.safetensors
try moments merge low.safetensors gone.safetensors -o z.safetensors
try moments merge low.safetensors high.safetensors -o low.safetensors
try moments subtract whole.safetensors -o z.safetensors
try moments subtract low.safetensors high.safetensors -o z.safetensors
try moments merge low.safetensors high.safetensors -o gone/z.safetensors
try rank --moments
try rank x.csv --moments low.safetensors
try rank --moments low.safetensors --labels y.txt
try rank --moments low.safetensors --normalize none
try rank --moments low.safetensors --by knn
try rank --moments low.safetensors low.safetensors
try rank --moments head.safetensors
awk 'BEGIN { for (i = 0; i < 40; ++i) print i % 3 ? "a" : "c" }' >strange.txt
cut -d, -f1 x.csv >narrow.csv
try rank --moments low.safetensors --rows x.csv
try rank --moments low.safetensors --rows other=x.csv --labels y.txt
try rank --moments low.safetensors --rows x=narrow.csv --labels y.txt
try rank --moments low.safetensors --rows x.csv --labels strange.txt
try rank --moments low.safetensors --rows x.csv --labels y.txt --loo 5
try rank --moments values.safetensors --rows x.csv --labels y.txt
try rank x.csv --rows x.csv --labels y.txt
try fit x.csv --rows x.csv --labels y.txt -o z.safetensors
try rank
try fit --moments low.safetensors
try fit --moments low.safetensors --method svm -o z.safetensors
try fit --moments low.safetensors --method ridge-cv -o z.safetensors
try fit --moments low.safetensors --calibrate yes -o z.safetensors
try fit --moments low.safetensors --method evidence --lambda loo -o z.safetensors
ls z.safetensors 2>&1
# A full disk leaves what was there.
before=$(cksum <low.safetensors)
(ulimit -f 0; "$TENON" moments merge low.safetensors high.safetensors -o low.safetensors --force) 2>/dev/null && echo written
[ "$before" = "$(cksum <low.safetensors)" ] && echo kept
ls -A | grep -v '^[a-z]*\.\(csv\|txt\|safetensors\)$'
exit 0
