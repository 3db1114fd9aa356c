#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
"$TENON" help pq
"$TENON" pq --help | cmp - <("$TENON" pq learn --help) && echo "help before the argument is looked at"
