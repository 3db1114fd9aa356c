#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: the contract. A run that is killed leaves its checkpoint and no head; the same command goes on, and ends with the bytes of
# a run that was never killed. A full disk leaves the last checkpoint, a checkpoint of other options or data is refused.
. "$HERE/lib.sh"
cp "$DEMO"/mobilenetv2.t*.npy "$DEMO"/labels.*.txt .
fit() { "$TENON" fit mobilenetv2.train.npy --labels labels.train.txt --method arow --epochs 250 --checkpoint c.ckpt -o h.safetensors "$@"; }
# kill_one SIGNAL OPTIONS...: kills the run as soon as there is a checkpoint, or a newer one.
kill_one() {
    local signal=$1 before=none pid how
    shift
    [ ! -e c.ckpt ] || before=$(md5sum <c.ckpt)
    "$TENON" fit mobilenetv2.train.npy --labels labels.train.txt --method arow --epochs 250 --checkpoint c.ckpt -o h.safetensors "$@" >/dev/null 2>&1 &
    pid=$!
    until [ -e c.ckpt ] && [ "$(md5sum <c.ckpt)" != "$before" ]; do
        kill -0 $pid 2>/dev/null || { echo "ended before it could be killed"; break; }
        sleep 0.01
    done
    kill -s "$signal" $pid
    { wait $pid; } 2>/dev/null
    how=$?
    echo "SIG$signal: exit $how"
    [ -e c.ckpt ] || echo "no checkpoint"
    [ ! -e h.safetensors ] || echo "a head"
}
try_both() { # options...
    rm -f c.ckpt h.safetensors
    fit "$@" >/dev/null || exit
    mv h.safetensors whole.safetensors
    kill_one KILL "$@"
    kill_one TERM "$@"
    kill_one KILL "$@"
    fit "$@" >/dev/null || exit
    cmp h.safetensors whole.safetensors && echo "the same bytes"
    ls c.ckpt* 2>/dev/null
}
try_both
try_both --tune --valid mobilenetv2.test.npy --valid-labels labels.test.txt --patience 0 --epochs 40
# A full disk.
rm -f h.safetensors
kill_one KILL
md5sum <c.ckpt >before
(
    trap '' XFSZ
    ulimit -f 8
    fit >/dev/null
) 2>err.txt
echo "full disk: exit $?"
grep -c '^tenon fit: c.ckpt: ' err.txt
md5sum <c.ckpt | cmp - before && echo "the last checkpoint is whole"
# Another run, and a file that is cut.
try fit mobilenetv2.train.npy --labels labels.train.txt --method arow --epochs 251 --checkpoint c.ckpt -o h.safetensors
sed 's/^ant$/emu/' labels.train.txt >other.txt
try fit mobilenetv2.train.npy --labels other.txt --method arow --epochs 250 --checkpoint c.ckpt -o h.safetensors
head -c 5000 c.ckpt >cut.ckpt
"$TENON" fit mobilenetv2.train.npy --labels labels.train.txt --method arow --epochs 250 --checkpoint cut.ckpt -o h.safetensors 2>err.txt
echo "cut: exit $?, $(grep -c '^tenon fit: cut.ckpt: ' err.txt) line"
try fit mobilenetv2.train.npy --labels labels.train.txt --method arow --checkpoint none/c.ckpt -o h.safetensors
ls ./*.safetensors
