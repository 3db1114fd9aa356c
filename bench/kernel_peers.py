# SPDX-License-Identifier: BSD-3-Clause
"""Peers of learned additive kernels and of explicit maps, timed in their own process. Prints one JSON object.

Usage: kernel_peers.py liblinear X.npy Y.npy SCALE OBJECTIVE CLASS...
       kernel_peers.py sampler X.npy SECONDS THREADS

  liblinear  LIBLINEAR's train() with -s 3 (dual coordinate descent, hinge), C = 1, bias 1, on the 39 functions of every
             entry: x, x cos and x sin, of rows of unit L1 norm times SCALE, at most 1. All rows and columns are there as
             LIBLINEAR's own sparse rows, which are made here and not timed; of the classes only these are trained, one against
             the rest, with the loosest of EPSILONS that brings the sum of their objectives within CLOSE of OBJECTIVE, what
             tenon reached for the same classes.
  sampler    scikit-learn AdditiveChi2Sampler with 7 values an entry, on rows of unit L1 norm, in blocks of some rows: the
             best of several heights and of as many rounds as begin within SECONDS. With several THREADS each has a part of
             the rows.
"""
import concurrent.futures
import json
import sys
import time

import numpy as np
from sklearn.kernel_approximation import AdditiveChi2Sampler

import linear_peers
from peers import surroundings

FREQUENCIES = np.concatenate([np.arange(1, 10) / 10, np.arange(1, 11)])
FUNCTIONS = 1 + 2 * len(FREQUENCIES)
EPSILONS, CLOSE = [0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6], 1e-2  # 0.1 is the default of LIBLINEAR's own program
HEIGHTS, STEPS, INTERVAL = (2, 16, 128, 1024), 4, 0.35
HINGE = 3


def on_axis(path, scale):
    """Rows of unit L1 norm times scale, at most 1, as double."""
    x = np.load(path).astype(np.float64)
    sums = np.abs(x).sum(axis=1, keepdims=True)
    return np.minimum(np.divide(x, sums, out=x, where=sums > 0) * scale, 1)


def functions(x):
    """(n, 39) of n entries."""
    angle = 2 * np.pi * x[:, None] * FREQUENCIES
    return np.hstack([x[:, None], x[:, None] * np.cos(angle), x[:, None] * np.sin(angle)])


class Explicit(linear_peers.Liblinear):
    """Sparse rows of the functions of every entry that is not zero."""

    def make_nodes(self, x):
        self.dim = FUNCTIONS * x.shape[1]
        self.starts = np.concatenate([[0], np.cumsum(FUNCTIONS * np.count_nonzero(x, axis=1) + 2)])
        self.nodes = np.zeros(self.starts[-1], linear_peers.NODE)
        for i in range(self.rows):
            row, used = self.row(i), np.flatnonzero(x[i])
            row["index"][:-2] = (used[:, None] * FUNCTIONS + np.arange(1, FUNCTIONS + 1)).ravel()
            row["value"][:-2] = functions(x[i, used]).ravel()
            row[-2], row[-1] = (self.dim + 1, 1.0), (-1, 0.0)
        self.pointers = self.nodes.ctypes.data + self.starts[:-1].astype(np.uint64) * linear_peers.NODE.itemsize

    def row(self, i):
        return self.nodes[self.starts[i]:self.starts[i + 1]]

    def objective(self, weights, signs):
        """1/2 |w|^2 + sum of the hinge losses, w with the bias."""
        scores = np.array([self.row(i)["value"][:-1] @ weights[self.row(i)["index"][:-1] - 1] for i in range(self.rows)])
        return float(weights @ weights / 2 + np.maximum(0, 1 - signs * scores).sum())


def liblinear(features, labels, scale, target, *classes):
    x, y = on_axis(features, float(scale)), np.load(labels)
    start = time.perf_counter()
    library = Explicit(x)
    made = time.perf_counter() - start
    for eps in EPSILONS:
        seconds, objective = 0.0, 0.0
        for k in map(int, classes):
            signs = np.where(y == k, 1.0, -1.0)
            spent, weights = library.train(signs, HINGE, eps)
            seconds, objective = seconds + spent, objective + library.objective(weights, signs)
        above = objective / float(target) - 1
        if above <= CLOSE:
            break
    return {"seconds": seconds, "classes": len(classes), "eps": eps, "above": above, "objective": objective,
            "columns": library.dim, "gb": library.nodes.nbytes / 1e9, "making": made,
            "liblinear": f"{library.version / 100:.2f}"}


def transform(sampler, x, height):
    for start in range(0, len(x), height):
        sampler.transform(x[start:start + height])


def sampler(features, limit, threads):
    x = np.load(features)
    x /= x.sum(axis=1, keepdims=True)
    found = AdditiveChi2Sampler(sample_steps=STEPS, sample_interval=INTERVAL).fit(x[:1])
    parts, best, rounds, start = np.array_split(x, int(threads)), (np.inf, 0), 0, time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(int(threads)) as pool:
        while rounds == 0 or time.perf_counter() - start < float(limit):
            for height in HEIGHTS:
                begin = time.perf_counter()
                list(pool.map(lambda part: transform(found, part, height), parts))
                best = min(best, (time.perf_counter() - begin, height))
            rounds += 1
    return {"seconds": best[0], "height": best[1], "runs": rounds, "values": x.size * (2 * STEPS - 1)}


def main(name, *words):
    print(json.dumps({"liblinear": liblinear, "sampler": sampler}[name](*words) | surroundings()))


if __name__ == "__main__":
    main(*sys.argv[1:])
