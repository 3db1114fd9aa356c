# SPDX-License-Identifier: BSD-3-Clause
"""Estimators of the Python package and of scikit-learn on arrays in memory, each in a process of its own.

Usage: python_peers.py CONTESTANT X.npy Y.npy       Prints one JSON object: seconds, processor time, rows, ...

Time is that of fit, or partial_fit, from the array to the fitted estimator; imports, loading and, for scikit-learn, the
L2 normalisation that tenon does itself do not count. The best of up to three runs is taken, as many as begin within 10
seconds. Memory is the highest that is not backed by a file, less what was there before: asked every 5 ms by a thread.
"""
import json
import pathlib
import sys
import threading
import time
import warnings

import numpy as np

RUNS, ENOUGH_SECONDS = 3, 10
OURS_ROWS, PEER_ROWS = 4096, 256  # a chunk of partial_fit


def anonymous_mb():
    words = [line.split() for line in pathlib.Path("/proc/self/status").read_text().splitlines()]
    return next(int(w[1]) for w in words if w and w[0] == "RssAnon:") * 1024 / 1e6


class Watch:
    """Most memory while it is open."""

    def __enter__(self):
        self.before = self.most = anonymous_mb()
        self.end = threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def look(self):
        while not self.end.wait(0.005):
            self.most = max(self.most, anonymous_mb())

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()
        self.mb = max(self.most, anonymous_mb()) - self.before


def fit(make):
    """Work that fits a fresh estimator to all rows."""
    def work(x, y):
        make().fit(x, y)
        return len(x)
    return work


def chunk(make, rows):
    """Work that shows an estimator that knows its classes one chunk."""
    def work(x, y):
        part = slice(0, min(rows, len(x)))
        if not hasattr(work, "model"):
            work.model = make().partial_fit(x[:8], y[:8], classes=np.unique(y))
        start = time.perf_counter()
        work.model.partial_fit(x[part], y[part])
        work.seconds = time.perf_counter() - start
        return part.stop
    return work


def ours():
    import tenon
    return {"tenon-evidence": fit(tenon.EvidenceClassifier), "tenon-svm": fit(tenon.LinearSVMClassifier),
            "tenon-logistic-1": fit(lambda: tenon.LogisticClassifier(C=1)),
            "tenon-logistic-100": fit(lambda: tenon.LogisticClassifier(C=100)),
            "tenon-online": chunk(tenon.OnlineClassifier, OURS_ROWS)}


def theirs():
    from sklearn import linear_model, svm
    return {"ridge-cv": fit(lambda: linear_model.RidgeClassifierCV(2.0 ** np.arange(-10, 11))),
            "linear-svc": fit(svm.LinearSVC),
            "lbfgs-1": fit(lambda: linear_model.LogisticRegression(C=1, max_iter=1000)),
            "lbfgs-100": fit(lambda: linear_model.LogisticRegression(C=100, max_iter=1000)),
            "passive-aggressive": chunk(lambda: linear_model.PassiveAggressiveClassifier(n_jobs=-1), PEER_ROWS),
            "sgd": chunk(lambda: linear_model.SGDClassifier(n_jobs=-1), PEER_ROWS)}


def main(name, paths):
    x, y = np.load(paths[0]), np.load(paths[1])
    if not name.startswith("tenon"):
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    work = (ours() if name.startswith("tenon") else theirs())[name]
    best, used, runs, begin, rows = np.inf, np.inf, 0, time.perf_counter(), 0
    while runs < RUNS and time.perf_counter() - begin < ENOUGH_SECONDS:
        with Watch() as watch:
            start, before = time.perf_counter(), time.process_time()
            rows = work(x, y)
            used = min(used, time.process_time() - before)
            seconds = getattr(work, "seconds", time.perf_counter() - start)
        best, runs = min(best, seconds), runs + 1
    print(json.dumps({"seconds": best, "used": used, "rows": rows, "runs": runs, "anon_mb": watch.mb}))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], sys.argv[2:4])
