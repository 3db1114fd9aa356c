#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs tests/metrics/run by a Python that has what it needs. Usage: run.sh TENON
python=$("$(dirname "$0")/../../tools/find_python.sh" numpy scipy sklearn) || {
    echo "no python3 with numpy, scipy and scikit-learn"
    exit 77
}
exec "$python" -B "$(dirname "$0")/run" "$1"
