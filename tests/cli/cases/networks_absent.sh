#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Without an engine: sentences that say how to get one, and what works without it.
. "$HERE/lib.sh"
P=$HERE/../fuzz/corpus
mkdir photos none
cp "$P/picture/rgb.png" photos/
export TENON_ONNXRUNTIME=none
try extract photos --net "$P/onnx/colour.onnx" -o x.npy 2>&1 | sed "s|$P|corpus|g"
"$TENON" doctor | grep networks
"$TENON" doctor --json | grep -o '"onnxruntime":"[^"]*"'
try info "$P/onnx/texture.onnx" 2>&1 | sed "s|$P|corpus|g"
try extract photos --net nowhere.onnx -o x.npy
try extract photos -o x.npy
try fit photos --net "$P/onnx/external.onnx" -o x.safetensors 2>&1 | sed "s|$P|corpus|g"
try rank none --net "$P/onnx/colour.onnx" 2>&1 | sed "s|$P|corpus|g"
ls
