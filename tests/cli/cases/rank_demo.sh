#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: order and evidence (one digit) of a NumPy program: svd of the centred, L2-normalised rows, a dense grid
# over lambda a class and a golden section.
"$TENON" rank "$DEMO"/*.train.npy --labels "$DEMO/labels.train.txt" --json >r.json || exit
grep -o '"name":"[^"]*"' r.json
grep -o '"log_evidence":[^,]*' r.json | cut -d: -f2 | while read -r x; do printf '%.1f\n' "$x"; done
for key in command rows classes task null_log_evidence candidates name dim log_evidence log_evidence_shared \
    gain_per_label loo_accuracy loo_se lambda_median iterations_max null_classes seconds; do
    grep -q "\"$key\":" r.json || echo "no $key"
done
"$TENON" rank "$DEMO"/*.train.npy --labels "$DEMO/labels.train.txt" | grep -o 'mobilenetv2 suits this task best'
