#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Installs the build under a DESTDIR, then builds and runs a stranger's program against that tree.
# Usage: run.sh tree|find_package|pkg_config BUILD WORK CC
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
    for file in bin/tenon include/tenon/tenon.h share/doc/tenon/README.md; do
        [ -f "$root/$file" ] || { echo "not installed: $file"; exit 1; }
    done
    for pair in docs/tenon.1:share/man/man1/tenon.1 completions/_tenon:share/zsh/site-functions/_tenon \
        completions/tenon.bash:share/bash-completion/completions/tenon; do
        [ ! -f "$here/../../${pair%%:*}" ] || [ -f "$root/${pair#*:}" ] || { echo "not installed: ${pair#*:}"; exit 1; }
    done
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
*)
    echo "unknown step $step"
    exit 1
    ;;
esac
