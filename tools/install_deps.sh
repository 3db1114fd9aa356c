#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Looks whether what a level needs is there; only if something is missing, installs it with apt-get.
# Usage: install_deps.sh build|test|full|bench|python|net|browser [BUILD]
#   full is for make test-all, python for the tests of the package, browser for those of pages: chromium, and from npm
#   puppeteer-core and axe-core into BUILD/browser (build/browser)
#   bench: peers; of npm sharp too, into build/net, which decodes pictures for the peer of networks
#   net: ONNX Runtime, of npm's package onnxruntime-node, into build/net, where tests and the demo of networks look for it;
#   prints where it is
#
# Packages are those of Debian 12. Each is paired with the cheapest question that shows it is there.
set -eu
level=${1:-build}

has_program() { command -v "$1" >/dev/null 2>&1; }
has_library() { has_program pkg-config && pkg-config --exists "$1"; }
has_mpi() { has_program mpicc && has_program mpirun; }
has_python() { has_program /usr/bin/python3 && /usr/bin/python3 -c "import $1" 2>/dev/null; }
# libFuzzer and the sanitizers come apart from clang itself.
has_clang_runtime() { has_program clang && [ -f "$(clang -print-file-name=libclang_rt.fuzzer-x86_64.a)" ]; }

missing=
need() { # need PACKAGES QUESTION...
    packages=$1
    shift
    "$@" || missing="$missing $packages"
}

net_folder=$(dirname "$0")/../build/net
find_engine() { find "$net_folder" -path "*/linux/$1/libonnxruntime.so*" 2>/dev/null | sort | head -n 1; }
if [ "$level" = net ]; then
    case $(uname -m) in aarch64) machine=arm64 ;; *) machine=x64 ;; esac
    if [ -z "$(find_engine $machine)" ]; then
        has_program npm || { echo "install_deps.sh: npm is not installed; see docs/networks.md for other ways" >&2; exit 1; }
        mkdir -p "$net_folder"
        npm install --prefix "$net_folder" --ignore-scripts --no-audit --no-fund --loglevel=error onnxruntime-node >&2
        # Libraries of other systems and machines are most of it.
        find "$net_folder" -path '*/bin/napi-v*' -type f ! -path "*/linux/$machine/*" -delete
    fi
    engine=$(find_engine $machine)
    [ -n "$engine" ] || { echo "install_deps.sh: onnxruntime-node brought no library for this machine" >&2; exit 1; }
    (cd "$(dirname "$engine")" && pwd)
    exit 0
fi

need "gcc libc6-dev" has_program gcc
need cmake has_program cmake
need make has_program make
need pkg-config has_program pkg-config
need "libopenblas-dev libopenblas-pthread-dev" has_library openblas
need zlib1g-dev has_library zlib
need libjansson-dev has_library jansson
need libjpeg62-turbo-dev has_library libjpeg
need libpng-dev has_library libpng
case $level in
build) ;;
test | full | bench | python | browser)
    need libcmocka-dev has_library cmocka
    need liblinear-dev test -f /usr/include/linear.h
    need libvlfeat-dev test -f /usr/include/vl/homkermap.h
    need python3 has_program python3
    need binutils has_program nm
    need abigail-tools has_program abidiff
    need "libopenmpi-dev openmpi-bin" has_mpi # the plug-in of teams, and its tests
    ;;
*)
    echo "install_deps.sh: unknown level '$level', expected build, test, full, bench, python, net or browser" >&2
    exit 2
    ;;
esac
if [ "$level" = full ]; then
    need clang has_program clang
    [ "$(uname -m)" != x86_64 ] || need libclang-rt-dev has_clang_runtime
    need clang-format has_program clang-format
    need valgrind has_program valgrind
fi
if [ "$level" = bench ]; then
    need python3-numpy has_python numpy
    need python3-scipy has_python scipy
    need python3-sklearn has_python sklearn
    need python3-matplotlib has_python matplotlib # pictures of experiments/
    need python3-faiss has_python faiss
fi
if [ "$level" = python ]; then
    need python3-numpy has_python numpy
    need python3-sklearn has_python sklearn
    need python3-pandas has_python pandas
    need python3-matplotlib has_python matplotlib
    need python3-tqdm has_python tqdm
    need python3-dask has_python dask
    need python3-distributed has_python distributed
    need python3-pytest has_python pytest
    need mypy has_python mypy
    need python3-pip has_python pip
    need python3-venv has_python ensurepip
fi

if [ "$level" = browser ]; then
    need chromium has_program chromium
    has_program node || need nodejs has_program node
    has_program npm || need npm has_program npm
fi

from_npm() { # from_npm FOLDER PACKAGES...
    folder=$1
    shift
    mkdir -p "$folder"
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" "$@" >&2
}

# What the tests of pages drive the browser with, and a peer of the benchmarks; nothing of it is part of the project.
get_modules() {
    browser=${1:-build}/browser
    if [ "$level" = browser ] && { [ ! -d "$browser/node_modules/puppeteer-core" ] || [ ! -d "$browser/node_modules/axe-core" ]; }; then
        from_npm "$browser" puppeteer-core@24 axe-core@4
    elif [ "$level" = bench ] && [ ! -d "$net_folder/node_modules/sharp" ] && has_program npm; then
        from_npm "$net_folder" sharp@0.35
    fi
}

[ -n "$missing" ] || {
    get_modules "${2:-}"
    exit
}
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
if ! has_program apt-get || { [ -n "$as_root" ] && ! has_program sudo; }; then
    echo "install_deps.sh: please install, under the names of your system:$missing" >&2
    exit 1
fi
echo "installing:$missing" >&2
$as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2
get_modules "${2:-}"
