#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
"$TENON" --version | grep -cE '^tenon [0-9]+\.[0-9]+\.[0-9]+$'
