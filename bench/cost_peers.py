# SPDX-License-Identifier: BSD-3-Clause
"""Other trainers of support vector machines at some C, timed in their own process. Prints one JSON object.

Usage: cost_peers.py liblinear-s1|liblinear-s2|linearsvc X.npy Y.npy REFERENCE.safetensors C SECONDS

Classes are trained one after the other until SECONDS are used up, one at least, and the time is scaled to all. LIBLINEAR:
train() alone, at the loosest of EPSILONS that brings the first classes within 1e-3 of the best known in sum, which is the
reference's or its own. linearsvc: LinearSVC's fit() as it is by default, however far it comes.
"""
import json
import sys
import time
import warnings

import numpy as np

import linear_objective
import linear_peers
from peers import surroundings

EPSILONS = {"liblinear-s1": [1, 0.3, 0.1, 0.03, 0.01, 0.001], "liblinear-s2": [0.1, 0.03, 0.01, 0.003, 0.001, 1e-4, 1e-5]}
CLOSE = 1e-3


class Trainer:
    """One class against the rest: train(signs, eps) gives (seconds, weights with the bias at the end)."""

    def __init__(self, name, x, cost):
        self.name, self.x, self.cost = name, x, cost
        if name != "linearsvc":
            linear_peers.COST = cost
            self.library = linear_peers.Liblinear(x)

    def train(self, signs, eps):
        if self.name != "linearsvc":
            return self.library.train(signs, {"liblinear-s1": 1, "liblinear-s2": 2}[self.name], eps)
        from sklearn.svm import LinearSVC
        start = time.perf_counter()
        model = LinearSVC(C=self.cost).fit(self.x, signs)
        return time.perf_counter() - start, np.append(model.coef_[0], model.intercept_)


def excess(x, y, classes, weights, reference, cost):
    """How far above the best known these classes are in sum, relatively."""
    w, (weight, bias) = np.array(weights), reference
    own = linear_objective.svm(x, y, w[:, :-1], w[:, -1], classes, 2, cost)
    best = np.minimum(own, linear_objective.svm(x, y, weight[classes], bias[classes], classes, 2, cost))
    return float(own.sum() / best.sum() - 1)


def main(name, features, labels, head, cost, seconds):
    warnings.simplefilter("ignore")
    x, y, cost, budget = linear_objective.unit_rows(features), np.load(labels), float(cost), float(seconds)
    reference, count, trainer = linear_objective.load_head(head), int(y.max()) + 1, Trainer(name, x, cost)
    order = np.random.default_rng(0).permutation(count)
    for eps in EPSILONS.get(name, [None]):
        times, weights = [], []
        for k in order:
            if times and sum(times) >= budget:
                break
            spent, w = trainer.train(np.where(y == k, 1.0, -1.0), eps)
            times.append(spent)
            weights.append(w)
            if len(times) == 1 and eps is not None and excess(x, y, order[:1], weights, reference, cost) > 3 * CLOSE:
                break
        above = excess(x, y, order[:len(times)], weights, reference, cost)
        if above <= CLOSE:
            break
    note = ("" if eps is None else f"eps {eps:g}, ") + f"{len(times)} of {count} classes, {above:.1e} above"
    print(json.dumps({"seconds": sum(times) * count / len(times), "note": note, "excess": above} | surroundings()))


if __name__ == "__main__":
    import sklearn.svm  # noqa: F401  before the clock starts
    main(*sys.argv[1:7])
