#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Alone, the program says what it can do, on standard error, and that this was wrong usage.
"$TENON"
