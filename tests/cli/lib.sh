#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Helpers of the cases; sourced by them.

# try ARGUMENTS...: runs the program, both streams on standard output, then its exit status.
try() {
    local status
    echo "\$ tenon $*"
    "$TENON" "$@" 2>&1
    status=$?
    echo "exit $status"
}

# number KEY: the first number of that key in the JSON on standard input.
number() { grep -o "\"$1\":[-+0-9.eE]*" | head -n 1 | cut -d: -f2; }

# between VALUE LOW HIGH: true when the value is a number in that range.
between() { awk -v x="$1" -v lo="$2" -v hi="$3" 'BEGIN { exit !(x != "" && x + 0 >= lo && x + 0 <= hi) }'; }

# npy_header DESCR ROWS COLS: the first 128 bytes of a .npy file.
npy_header() {
    local dict="{'descr': '$1', 'fortran_order': False, 'shape': ($2, $3), }"
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$dict"
}
