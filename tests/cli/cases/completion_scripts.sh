#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The scripts are sound for their shell, and bash offers what the tables hold.
"$TENON" completion bash >tenon.bash
bash -n tenon.bash && echo "bash reads it"
. ./tenon.bash
offer() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _tenon; echo "${COMPREPLY[@]}"; }
offer tenon pr
offer tenon rank --opt
offer tenon rank --optimizer ''
offer tenon fit x.npy --select gr
offer tenon help 'do'
offer tenon completion ''
offer tenon predict --
