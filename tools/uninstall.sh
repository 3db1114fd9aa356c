#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Removes what an installation wrote, by the list that it left, and the folders of ours that are empty then.
# Usage: [DESTDIR=...] uninstall.sh MANIFEST
set -eu
[ -f "$1" ] || { echo "nothing to remove: $1 is not there"; exit 1; }
while read -r file || [ -n "$file" ]; do
    rm -f "${DESTDIR:-}$file"
    folder=$(dirname "$file")
    while case $folder in */tenon | */tenon/*) true ;; *) false ;; esac do
        rmdir "${DESTDIR:-}$folder" 2>/dev/null || break
        folder=$(dirname "$folder")
    done
done <"$1"
