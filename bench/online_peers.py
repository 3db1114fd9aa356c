# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's online learners, timed in their own process: partial_fit on the first rows of a file.

Usage: online_peers.py sklearn-pa|sklearn-sgd X.npy Y.npy ROWS THREADS        Prints one JSON object.

Both learn one class against the rest, averaged, C = 1 (PA) or all defaults (SGD), as many classes at once as there are
threads. Rows of length 1 and as double, which partial_fit would otherwise make of them; that, loading and imports are
not counted, nor is a first call with a few rows, which makes the weights.
"""
import json
import sys
import time

import numpy as np
from sklearn.linear_model import PassiveAggressiveClassifier, SGDClassifier

from peers import surroundings

FIRST_ROWS = 8


def make(name, threads):
    if name == "sklearn-pa":
        return PassiveAggressiveClassifier(C=1.0, loss="hinge", average=True, n_jobs=threads, random_state=0)
    return SGDClassifier(loss="hinge", average=True, n_jobs=threads, random_state=0)


def main(name, features, labels, rows, threads):
    y = np.load(labels)
    x = np.load(features, mmap_mode="r")[:FIRST_ROWS + rows].astype(np.float64)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    model = make(name, threads)
    model.partial_fit(x[:FIRST_ROWS], y[:FIRST_ROWS], classes=np.unique(y))
    start = time.perf_counter()
    model.partial_fit(x[FIRST_ROWS:], y[FIRST_ROWS:FIRST_ROWS + rows])
    print(json.dumps({"seconds": time.perf_counter() - start, "rows": rows} | surroundings()))


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:6]))
