# SPDX-License-Identifier: BSD-3-Clause
"""Other trainers of support vector machines at some C, timed in their own process. Prints one JSON object.

Usage: cost_peers.py liblinear-s1|liblinear-s2|linearsvc X.npy Y.npy REFERENCE.safetensors C SECONDS BEYOND

Classes are trained one after the other until SECONDS are used up, one at least, and the time is scaled to all. LIBLINEAR:
train() alone, at the loosest of EPSILONS that brings the first classes within 1e-3 of the best known in sum, which is the
reference's or its own. linearsvc: LinearSVC's fit() as it is by default, however far it comes. All end where all classes are
going to take more than BEYOND seconds: then what is known is that it takes as long, at an eps that may still be too loose.
"""
import json
import statistics
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


def train_classes(trainer, labels, order, eps, budget, enough, close):
    """Class after class while there is time and `close` says so of the first: [seconds], [weights]."""
    times, weights = [], []
    for k in order:
        spent, w = trainer.train(np.where(labels == k, 1.0, -1.0), eps)
        times.append(spent)
        weights.append(w)
        if sum(times) >= budget or scaled(times, order) > enough or (len(times) == 1 and not close(weights)):
            break
    return times, weights


def scaled(times, order):
    """Seconds of all classes."""
    return sum(times) * len(order) / len(times)


def main(name, features, labels, head, cost, seconds, beyond):
    warnings.simplefilter("ignore")
    x, y, cost, enough = linear_objective.unit_rows(features), np.load(labels), float(cost), float(beyond)
    reference, count, trainer = linear_objective.load_head(head), int(y.max()) + 1, Trainer(name, x, cost)
    order = np.random.default_rng(0).permutation(count)

    def above(weights):
        return excess(x, y, order[:len(weights)], weights, reference, cost)

    for eps in EPSILONS.get(name, [None]):
        times, weights = train_classes(trainer, y, order, eps, float(seconds), enough,
                                       lambda found: eps is None or above(found) <= 3 * CLOSE)
        if above(weights) <= CLOSE or scaled(times, order) > enough:
            break
    rounds = [scaled(times, order)]
    while len(times) == count and len(rounds) < linear_peers.MOST_FITS and sum(rounds) < linear_peers.ENOUGH_SECONDS:
        rounds.append(sum(train_classes(trainer, y, order, eps, np.inf, np.inf, lambda found: True)[0]))
    spent = statistics.median(rounds)
    note = ("" if eps is None else f"eps {eps:g}, ") + f"{len(times)} of {count} classes, {above(weights):.1e} above"
    print(json.dumps({"seconds": spent, "note": note, "excess": above(weights), "beyond": spent > enough} | surroundings()))


if __name__ == "__main__":
    import sklearn.svm  # noqa: F401  before the clock starts
    main(*sys.argv[1:8])
