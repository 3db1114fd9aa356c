#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Options stand anywhere, take their value with = or as the next word, and the last one counts; -- ends them.
"$TENON" rank "$DEMO/darknet.train.npy" --labels "$DEMO/labels.train.txt" --json --loo 0 --threads 1 >a
"$TENON" rank --json --loo=5 --labels nothing --threads 2 --threads=1 --labels="$DEMO/labels.train.txt" --loo 0 -- \
    "$DEMO/darknet.train.npy" >b
for f in a b; do sed -E 's/"seconds":[^,}]*//g' $f >$f.cut; done
cmp a.cut b.cut && echo same
# A value may begin with a dash: the number is read, and refused for its size.
"$TENON" rank x.npy --tolerance -1
# After -- even this is a file name.
"$TENON" rank --labels "$DEMO/labels.train.txt" -- --json
