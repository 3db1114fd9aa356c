#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
"$TENON" help moments
