# SPDX-License-Identifier: BSD-3-Clause
"""A step of faiss's k-means on one thread: what several iterations cost more than one, by processor time.

Usage: images_peers.py ROWS DIM WORDS RUNS      prints JSON; exit 77 where faiss is not installed
"""
import json
import sys
import time

import numpy as np

try:
    import faiss
except ImportError:
    sys.exit(77)

STEPS = 5


def seconds(x, words, steps):
    means = faiss.Kmeans(x.shape[1], words, niter=steps, seed=1, min_points_per_centroid=1,
                         max_points_per_centroid=len(x))
    start = time.process_time()
    means.train(x)
    return time.process_time() - start


def main(rows, dim, words, runs):
    faiss.omp_set_num_threads(1)
    x = np.random.default_rng(1).standard_normal((rows, dim)).astype(np.float32)
    one, more = (min(seconds(x, words, steps) for _ in range(runs)) for steps in (1, 1 + STEPS))
    print(json.dumps({"seconds": (more - one) / STEPS, "faiss": faiss.__version__}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
