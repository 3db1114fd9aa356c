#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes docs/report.png, the picture of a report in the README: the first screen of the page of the demonstration.
# Usage: make_screenshot.sh TENON            needs chromium
set -eu
tenon=$(readlink -f "$1")
top=$(cd "$(dirname "$0")/.." && pwd)
demo=$top/data/demo
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$tenon" rank "$demo"/*.train.npy --labels "$demo/labels.train.txt" --json >rank.json
"$tenon" fit "$demo"/*.train.npy --labels "$demo/labels.train.txt" -o head.safetensors --json >fit.json
"$tenon" eval head.safetensors "$demo"/*.test.npy --labels "$demo/labels.test.txt" --json >eval.json
"$tenon" report rank.json fit.json eval.json -o report.html --quiet
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,900 --screenshot="$work/report.png" \
    "file://$work/report.html" >/dev/null 2>&1
cp report.png "$top/docs/report.png"
