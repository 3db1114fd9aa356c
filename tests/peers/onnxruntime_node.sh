#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Rows of networks against onnxruntime-node on the same pixels: small graphs, and the networks of ../shared where that is.
# Usage: onnxruntime_node.sh NETWORK_TENSORS
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
module=$root/build/net/node_modules/onnxruntime-node
command -v node >/dev/null || { echo "node is not installed"; exit 77; }
[ -d "$module" ] || { echo "onnxruntime-node is not installed: tools/install_deps.sh net"; exit 77; }
TENON_ONNXRUNTIME=$("$root/tools/install_deps.sh" net)
export TENON_ONNXRUNTIME
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" "$work" made >"$work/lines"
node "$here/onnxruntime_node.cjs" "$module" "$work" <"$work/lines"
data=$root/../shared/data
if [ -d "$data/networks" ] && [ -d "$data/images/flowers12/test" ]; then
    "$1" "$work" "$data/images/flowers12/test" "$data"/networks/*.onnx >"$work/lines"
    node "$here/onnxruntime_node.cjs" "$module" "$work" <"$work/lines"
else
    echo "without the networks of ../shared, which is not there"
fi
