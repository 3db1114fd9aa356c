#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: vectors of pictures that have no space in --mem are made again whenever they are asked for, so that the most
# memory of a run does not grow with the number of pictures.
python=$(command -v /usr/bin/python3 || command -v python3) || { echo "python3 is not installed" >&2; exit 77; }
if nm "$TENON" 2>/dev/null | grep -qE '__(asan|tsan)_init'; then echo "a sanitizer's memory would be measured" >&2; exit 77; fi
"$python" -B "$HERE/../../tools/draw_pictures.py" . --train 2 --test 1
"$TENON" encoder train train --words 32 --pca 32 --sides 16 --step 16 -o fisher.safetensors --quiet
exec "$python" -B "$HERE/picture_memory.py" encoder
