#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A shard that ends too early: refused, or its rows left out, and those of the shards behind it keep their labels.
. "$HERE/lib.sh"
mkdir f
cp "$DEMO/darknet.train.npy" f/a.npy
head -c -100 "$DEMO/darknet.train.npy" >f/b.npy
cp "$DEMO/darknet.test.npy" f/c.npy
cat "$DEMO/labels.train.txt" "$DEMO/labels.train.txt" "$DEMO/labels.test.txt" >y.txt
try rank f --labels y.txt
mkdir g
cp f/a.npy f/c.npy g
cat "$DEMO/labels.train.txt" "$DEMO/labels.test.txt" >gy.txt
"$TENON" rank f --labels y.txt --on-error skip --json --threads 1 >f.json 2>f.err
"$TENON" rank g --labels gy.txt --json --threads 1 >g.json
cat f.err
for key in rows log_evidence; do
    [ "$(number $key <f.json)" = "$(number $key <g.json)" ] || echo "$key: $(number $key <f.json), $(number $key <g.json)"
done
"$TENON" fit f --labels y.txt --on-error skip --method evidence -o h.safetensors --quiet --threads 1 2>/dev/null
"$TENON" predict h.safetensors f --on-error skip 2>/dev/null | grep -c '^$'
try rank f --labels y.txt --on-error skip --nan error --threads 1
