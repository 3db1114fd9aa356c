#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: RFC 8259. A file may be called anything; what --json prints is valid JSON in UTF-8 all the same.
name=$(printf 'a\xff"\xc3\xa9\xed\xa0\x80\001.txt')
printf 'cat\ndog\n' >"$name"
"$TENON" info --json "$name" | grep -o '"path":"[^,]*",'
