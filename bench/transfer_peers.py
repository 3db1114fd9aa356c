# SPDX-License-Identifier: BSD-3-Clause
"""Other ways to pick K columns of a small matrix, timed in their own process.

Usage: transfer_peers.py PEER TARGET.npy SOURCE.npy Y.npy K SECONDS       Prints one JSON object: seconds, runs, picks.

Time counts from the matrix in memory as doubles to the weights, with the standardisation that all of them need; loading and
imports do not count. The best of as many runs as begin within SECONDS, at least one.

  numpy-direct   the criterion as the paper writes it: for every candidate of every step b_S'(C_S + I)^-1 b_S, solved anew
  numpy-update   the same picks by the updates that tenon makes, O(rows columns) a step: a careful NumPy user
  sklearn-omp    OrthogonalMatchingPursuit with K columns: no regularisation
  sklearn-lasso  Lasso, its alpha a tenth of the least that keeps all weights zero; it has no K
"""
import json
import sys
import time
import warnings

import numpy as np
from sklearn.linear_model import Lasso, OrthogonalMatchingPursuit

from peers import surroundings


def standardise(x):
    """Columns of length 1 and mean 0; constant ones are zero."""
    z = x - x.mean(axis=0)
    length = np.linalg.norm(z, axis=0)
    return z / np.where(length > 0, length, 1)


def direct(z, y, count):
    b, picks = z.T @ y, []
    for _ in range(count):
        best, at = -1.0, 0
        for i in range(z.shape[1]):
            if i in picks:
                continue
            s = [*picks, i]
            zs = z[:, s]
            value = b[s] @ np.linalg.solve(zs.T @ zs + np.eye(len(s)), b[s])
            if value > best:
                best, at = value, i
        picks.append(at)
    return picks


def update(z, y, count):
    g, c = z.T @ y, np.sum(z * z, axis=0)
    p, picks = np.eye(len(y)), []
    for _ in range(count):
        gain = g * g / (1 + c)
        gain[picks] = -1
        i = int(np.argmax(gain))
        q = p @ z[:, i]
        den, t = 1 + c[i], z.T @ q
        g, c = g - t * (g[i] / den), c - t * t / den
        p -= np.outer(q, q) / den
        picks.append(i)
    return picks


def omp(z, y, count):
    return np.flatnonzero(OrthogonalMatchingPursuit(n_nonzero_coefs=count).fit(z, y).coef_).tolist()


def lasso(z, y, count):
    del count
    return np.flatnonzero(Lasso(alpha=0.1 * np.max(np.abs(z.T @ y)) / len(y)).fit(z, y).coef_).tolist()


PEERS = {"numpy-direct": direct, "numpy-update": update, "sklearn-omp": omp, "sklearn-lasso": lasso}


def main(name, target, source, labels, count, limit):
    warnings.simplefilter("ignore")  # omp says that it ends before K: the rows are explained by then
    x = np.hstack([np.load(target), np.load(source)]).astype(np.float64)
    y = standardise(2.0 * np.load(labels)[:, None] - 1)[:, 0]
    start, best, runs, picks = time.perf_counter(), float("inf"), 0, []
    while runs == 0 or time.perf_counter() - start < limit:
        begin = time.perf_counter()
        picks = PEERS[name](standardise(x), y, count)
        best, runs = min(best, time.perf_counter() - begin), runs + 1
    print(json.dumps({"seconds": best, "runs": runs, "picks": picks} | surroundings()))


if __name__ == "__main__":
    main(*sys.argv[1:5], int(sys.argv[5]), float(sys.argv[6]))
