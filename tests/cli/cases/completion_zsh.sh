#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
command -v zsh >/dev/null || { echo "zsh is not installed" >&2; exit 77; }
"$TENON" completion zsh >_tenon && zsh -n _tenon && echo "zsh reads it"
