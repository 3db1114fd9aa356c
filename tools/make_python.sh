#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Installs the Python package into BUILD/venv, an environment that sees the NumPy and scikit-learn of the system.
# Usage: make_python.sh BUILD
set -eu
build=$(mkdir -p "$1" && cd "$1" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
python=$("$top/tools/find_python.sh" numpy venv pip) || {
    echo "make_python.sh: no python3 with NumPy, venv and pip; Debian: python3-numpy python3-sklearn python3-venv python3-pip" >&2
    exit 1
}
[ -x "$build/venv/bin/python" ] || "$python" -m venv --system-site-packages --without-pip "$build/venv"
cd "$top"
TENON_BUILD=$build PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
    "$build/venv/bin/python" -m pip install --no-deps --quiet --force-reinstall .
cd "$build" && venv/bin/python -c "import tenon; print('tenon', tenon.__version__, 'in', tenon.__path__[0])"
