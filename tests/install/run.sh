#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Installs the build under a DESTDIR, then builds and runs a stranger's program against that tree.
# Usage: run.sh tree|find_package|pkg_config|uninstall BUILD WORK CC
set -eu
step=$1 build=$2 work=$3 cc=$4
here=$(cd "$(dirname "$0")" && pwd)
demo=$here/../../data/demo
prefix=/opt/tenon
root=$work/stage$prefix

case $step in
tree)
    rm -rf "$work"
    mkdir -p "$work"
    DESTDIR=$work/stage cmake --install "$build" --prefix "$prefix" >"$work/install.log"
    cp "$build/install_manifest.txt" "$work/installed.txt"
    for file in bin/tenon include/tenon/tenon.h share/doc/tenon/README.md; do
        [ -f "$root/$file" ] || { echo "not installed: $file"; exit 1; }
    done
    for pair in docs/tenon.1:share/man/man1/tenon.1 completions/_tenon:share/zsh/site-functions/_tenon \
        completions/tenon.bash:share/bash-completion/completions/tenon; do
        [ ! -f "$here/../../${pair%%:*}" ] || [ -f "$root/${pair#*:}" ] || { echo "not installed: ${pair#*:}"; exit 1; }
    done
    # Links and pictures of the installed pages lead somewhere.
    find "$root/share/doc" -name '*.md' | while read -r page; do
        grep -oE '\]\([^)#]+' "$page" | cut -c3- | grep -v '^[a-z]*://' | while read -r link; do
            [ -e "$(dirname "$page")/$link" ] || echo "${page#"$root"/}: $link is not installed"
        done
    done >"$work/links.log"
    if [ -s "$work/links.log" ]; then
        cat "$work/links.log"
        exit 1
    fi
    # The program must run from the installed tree alone, and nothing installed may name the staging folder.
    "$root/bin/tenon" --version
    if grep -rIl "$work/stage" "$root"; then
        echo "the files above name the staging folder"
        exit 1
    fi
    ;;
find_package)
    cmake -S "$here" -B "$work/consumer" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$root" >"$work/consumer.log"
    cmake --build "$work/consumer" >>"$work/consumer.log" || { cat "$work/consumer.log"; exit 1; }
    "$work/consumer/consumer" "$demo"
    ;;
pkg_config)
    PKG_CONFIG_PATH=$(dirname "$(find "$root" -name tenon.pc)")
    export PKG_CONFIG_PATH
    libdir=$(pkg-config --variable=libdir tenon)
    # shellcheck disable=SC2046
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror "$here/consumer.c" -o "$work/consumer-pc" \
        $(pkg-config --cflags --libs tenon) "-Wl,-rpath,$libdir"
    [ "$(pkg-config --modversion tenon)" = "$("$work/consumer-pc")" ] || { echo "tenon.pc has another version"; exit 1; }
    "$work/consumer-pc" "$demo"
    ;;
uninstall)
    touch "$root/bin/not-ours"
    DESTDIR=$work/stage "$here/../../tools/uninstall.sh" "$work/installed.txt"
    left=$(find "$root" -type f -o -type l; find "$root" -path '*tenon/*' -name '*tenon*')
    [ "$left" = "$root/bin/not-ours" ] || { echo "left behind: $left"; exit 1; }
    ;;
*)
    echo "unknown step $step"
    exit 1
    ;;
esac
