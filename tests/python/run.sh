#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests of the Python package. Exits 77, saying why, where what a part needs is not there.
# Usage: run.sh PART BUILD      parts: library (NumPy, pytest), estimators (and scikit-learn), types (mypy),
#                               package (pip, venv: sdist, wheel and editable install into folders below BUILD)
set -eu
part=$1
build=$(cd "$2" && pwd)
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"

skip() {
    echo "$1"
    exit 77
}
python=$(tools/find_python.sh numpy) || skip "no python3 with NumPy"
has() { "$python" -c "import $1" 2>/dev/null; }

export PYTHONDONTWRITEBYTECODE=1
case $part in
library | estimators)
    has pytest || skip "no pytest for $python"
    files="tests/python/test_library.py"
    if [ "$part" = estimators ]; then
        has sklearn || skip "no scikit-learn for $python"
        files="$(ls tests/python/test_*.py | grep -v test_library.py)"
    fi
    said=$(mktemp)
    trap 'rm -f "$said"' EXIT
    code=0
    # shellcheck disable=SC2086
    PYTHONPATH=$top/python TENON_LIBRARY=$build/python/libtenon.so TENON_PROGRAM=$build/tenon \
        "$python" -m pytest -rs $files >"$said" 2>&1 || code=$?
    cat "$said"
    # In the words of the unit programs, so that tools/run_tests.sh sees a skip and asks for its reason.
    sed -n 's|^SKIPPED \[[0-9]*\] tests/python/\([a-z_]*\)\.py.*|[  SKIPPED ] \1|p' "$said" | sort -u
    exit "$code"
    ;;
types)
    has mypy || skip "no mypy for $python"
    exec "$python" -m mypy --cache-dir "$build/mypy"
    ;;
package)
    has pip && has venv || skip "no pip or venv for $python"
    exec tests/python/package.sh "$python" "$build"
    ;;
*)
    echo "run.sh: unknown part '$part'" >&2
    exit 2
    ;;
esac
