# SPDX-License-Identifier: BSD-3-Clause
"""A fit by the Python package on arrays in memory: without the start of a process, reading and writing, as the time of
peers is that of train() alone. Prints one JSON object.

Usage: cost_fit.py svm|logistic X.npy Y.npy OPTIONS      OPTIONS: parameters of the estimator, as JSON

The first call also starts threads and loads kernels: what counts is the median of up to MOST later ones, as many as begin
within ENOUGH seconds, or the first alone where it takes longer than that.
"""
import json
import statistics
import sys
import time

import numpy as np
import tenon

MOST, ENOUGH = 25, 2.0
ESTIMATORS = {"svm": tenon.LinearSVMClassifier, "logistic": tenon.LogisticClassifier}


def main(method, features, labels, options):
    x, y, options, times = np.load(features), np.load(labels), json.loads(options), []
    while len(times) <= MOST and sum(times) < ENOUGH:
        start = time.perf_counter()
        model = ESTIMATORS[method](**options).fit(x, y)
        times.append(time.perf_counter() - start)
    print(json.dumps({"seconds": statistics.median(times[1:] or times), "calls": len(times),
                      "objective": model.fit_info_["objective"]}))


if __name__ == "__main__":
    main(*sys.argv[1:5])
