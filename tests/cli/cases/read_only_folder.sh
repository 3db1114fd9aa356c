#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
[ "$(id -u)" != 0 ] || { echo "root may write everywhere" >&2; exit 77; }
. "$HERE/lib.sh"
mkdir folder && chmod 555 folder
try fit nothing.npy --labels nothing.txt -o folder/head.safetensors
