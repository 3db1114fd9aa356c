#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# From pictures to a verdict: draws pictures of six classes and two small networks, learns an encoder, lets all of them
# compete, trains and saves a head, measures it on pictures not seen.
# Usage: demo_pictures.sh PROGRAM WORK_FOLDER [PICTURES_PER_CLASS]
#
# Networks need ONNX Runtime (tools/install_deps.sh net); without it the encoder goes alone.
set -eu
tenon=$1 work=$2 count=${3:-30}
tools=$(dirname "$0")
python=$(command -v /usr/bin/python3 || command -v python3) || { echo "python3 is not installed" >&2; exit 77; }
mkdir -p "$work"
say() { printf '\n%s\n\n' "$1"; }

say '1. Draw pictures, and write two small networks. (tools/draw_pictures.py)'
"$python" -B "$tools/draw_pictures.py" "$work" --train "$count" --test "$((count / 2))"
ls "$work" "$work/train"
if [ -z "${TENON_ONNXRUNTIME-}" ] && [ -d "$tools/../build/net" ]; then
    TENON_ONNXRUNTIME=$("$tools/install_deps.sh" net) && export TENON_ONNXRUNTIME
fi
set -- # networks, where they can run
if "$tenon" doctor --json | grep -q '"onnxruntime":"1'; then
    set -- --net "$work/texture.onnx" "$work/colour.onnx" --cache "$work/cache"
else
    say 'ONNX Runtime is not installed: the encoder goes alone. (tools/install_deps.sh net gets it)'
fi

say '2. Learn what turns pictures into vectors. (tenon encoder train)'
"$tenon" encoder train "$work/train" -o "$work/fisher.safetensors" --words 16 --sides 8,12,16
say '3. Which representation suits the task? (tenon rank)'
"$tenon" rank "$work/train" --encoder "$work/fisher.safetensors" "$@"
say '4. Choose, train, save. (tenon fit)'
"$tenon" fit "$work/train" --encoder "$work/fisher.safetensors" "$@" --method evidence -o "$work/head.safetensors"
say '5. How good is it on pictures not seen? (tenon eval)'
"$tenon" eval "$work/head.safetensors" "$work/test" --encoder "$work/fisher.safetensors"
"$tenon" eval "$work/head.safetensors" "$work/test" --encoder "$work/fisher.safetensors" --json >"$work/eval.json"
accuracy=$(grep -o '"accuracy":[0-9.]*' "$work/eval.json" | head -n 1 | cut -d: -f2 | awk '{ printf "%.1f", 100 * $1 }')
say "Of the pictures not seen $accuracy % are told right; one in six would be luck."
