#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The package as strangers install it, offline: an sdist, a wheel from the sdist, the wheel in an environment of its own,
# an editable install. The library is compiled without optimisation, which takes a third of the time.
# Usage: package.sh PYTHON BUILD
set -eu
python=$1
build=$2
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$build/python-package
rm -rf "$work"
mkdir -p "$work"
export CMAKE_BUILD_TYPE=Debug TENON_BUILD="$work/built"
export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
unset MAKEFLAGS MFLAGS MAKELEVEL PYTHONPATH TENON_LIBRARY 2>/dev/null || true

say() { echo "package.sh: $*"; }
environment() { "$python" -m venv --system-site-packages --without-pip "$1"; }
works() { # works PYTHON PLACE: the package is the one below PLACE, and fits
    (cd "$work" && "$1" -c "
import pathlib, sys
import numpy as np, tenon
assert pathlib.Path(sys.argv[1]) in pathlib.Path(tenon.__file__).resolve().parents, tenon.__file__
assert tenon.evidence(np.eye(6) + 1, [0, 1] * 3).json['rows'] == 6
" "$2")
}

say "sdist"
(cd "$top" && PYTHONPATH=python/backend "$python" -c "
import sys, tenon_backend
print(tenon_backend.build_sdist(sys.argv[1]))" "$work")
tar -xzf "$work"/tenon-*.tar.gz -C "$work"
source=$(ls -d "$work"/tenon-*/)
[ -f "$source/PKG-INFO" ] && [ -f "$source/python/tenon/py.typed" ]

say "wheel of the sdist"
(cd "$work" && "$python" -m pip wheel --no-deps --quiet -w "$work/wheels" "$source")
wheel=$(ls "$work"/wheels/tenon-*.whl)
case $wheel in
*-py3-none-linux_*.whl) ;;
*) say "$wheel: not for every Python 3"; exit 1 ;;
esac

say "the wheel installed"
environment "$work/venv"
"$work/venv/bin/python" -m pip install --no-deps --quiet "$wheel"
works "$work/venv/bin/python" "$work/venv"
"$work/venv/bin/python" -m pip check >/dev/null || "$work/venv/bin/python" -m pip check | grep -v tenon
library=$(ls "$work"/venv/lib/python3*/site-packages/tenon/_lib/libtenon.so)
if ldd "$library" | grep -E "blas|gfortran|jansson"; then
    say "the library needs another than the C library (no archives of OpenBLAS and jansson here?)"
fi

say "editable"
environment "$work/venv2"
(cd "$source" && "$work/venv2/bin/python" -m pip install --no-deps --quiet -e . 2>"$work/log") ||
    { cat "$work/log"; exit 1; }
works "$work/venv2/bin/python" "${source%/}"
say "fine: $(basename "$wheel"), $(du -k "$wheel" | cut -f1) KB"
