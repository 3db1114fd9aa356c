#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: known beforehand. 9 MB of header with three million empty objects, which a parser makes 700 MB of: refused within --mem,
# and without --mem within the limits of docs/formats.md, whichever command meets it.
. "$HERE/lib.sh"
{
    printf '{"x":['
    yes '{},' | tr -d '\n' | head -c 9000000
    printf '{}]}'
} >header
size=$(wc -c <header)
{
    for i in 0 8 16 24 32 40 48 56; do printf "\\x$(printf %02x $((size >> i & 255)))"; done
    cat header
} >many.safetensors
# A sanitizer reserves terabytes of addresses: there the budget alone is asked for.
if bash -c 'ulimit -v 700000; "$TENON" --version; exit' >/dev/null 2>&1; then ulimit -v 700000; fi
try info --mem 50M many.safetensors | sed 's/needs [0-9.]* MB/needs N MB/'
try predict --mem 50M many.safetensors nothing.npy | sed 's/needs [0-9.]* MB/needs N MB/'
{
    printf '\x00\x01\x00\x00\x00\x00\x00\x00'
    printf '[%.0s' {1..256}
} >deep.safetensors
try info deep.safetensors
