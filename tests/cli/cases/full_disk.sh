#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A result that cannot be printed is a failure, not a success with half a table.
[ -w /dev/full ] || { echo "no /dev/full here" >&2; exit 77; }
"$TENON" help rank >/dev/full
