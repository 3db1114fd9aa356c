#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: maps of pictures are written as they come, so that the most memory of a run does not grow with the number of
# pictures.
python=$(command -v /usr/bin/python3 || command -v python3) || { echo "python3 is not installed" >&2; exit 77; }
if nm "$TENON" 2>/dev/null | grep -qE '__(asan|tsan)_init'; then echo "a sanitizer's memory would be measured" >&2; exit 77; fi
"$TENON" doctor --json | grep -q '"onnxruntime":"1' || { echo "ONNX Runtime is not installed" >&2; exit 77; }
"$python" -B "$HERE/../../tools/draw_pictures.py" . --train 2 --test 1
exec "$python" -B "$HERE/picture_memory.py" net
