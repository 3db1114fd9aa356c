# SPDX-License-Identifier: BSD-3-Clause
"""Figures made from the cells. What counts is a class: the mean of its draws, which share sources and most test rows.
Intervals are those of Student's t over the classes of a set, 95 %.
"""
import math
import statistics

import protocol
import tasks
from common import interval


class Figures:
    def __init__(self, entries):
        """entries: lines of the store."""
        self.scores = {}
        for entry in entries:
            name, network, label, kind, _ = entry["cell"]
            self.scores.setdefault((name, network, kind), {})[label] = entry["scores"]

    def places(self, kind):
        """[(set, network)]"""
        return [key[:2] for key in self.scores if key[2] == kind]

    def values(self, place, kind, method, size, dims=0):
        """[mean of the draws of a class]. Without noise, beside noise: the cells that have none."""
        classes = self.scores[(*place, tasks.SVM if kind == tasks.NOISY and dims == 0 else kind)]
        return [statistics.fmean(scores[tasks.name(method, size, dims)]) for scores in classes.values()]

    def alike(self, kind, method, other):
        """Share of all draws and sizes in which two methods have the same score."""
        pairs = [pair for place in self.places(kind) for scores in self.scores[(*place, kind)].values()
                 for size in protocol.SIZES for pair in zip(*(scores[tasks.name(m, size)] for m in (method, other)))]
        return sum(a == b for a, b in pairs) / len(pairs)

    def lead(self, place, kind, method, other, size):
        """(mean, half the interval) of how far a method is above another, class by class."""
        pairs = zip(self.values(place, kind, method, size), self.values(place, kind, other, size))
        return interval([a - b for a, b in pairs])

    def loss(self, place, method, size, dims):
        """What every class loses by noise."""
        return [a - b for a, b in zip(self.values(place, tasks.NOISY, method, size),
                                      self.values(place, tasks.NOISY, method, size, dims))]


def winners(values):
    """Methods with the highest mean: values {method: [...]}. Means that differ by rounding only are equal."""
    means = {method: statistics.fmean(numbers) for method, numbers in values.items()}
    return [method for method, mean in means.items() if mean > max(means.values()) - 1e-9]


def mark(lead):
    """1, -1: certainly above, below; 0: not certain."""
    mean, half = lead
    return (mean > half) - (mean < -half)


def text(values):
    mean, half = interval(values)
    return f"{mean:.1f}" if math.isnan(half) else f"{mean:.1f} ± {half:.1f}"


def kind_of(network):
    return "strong" if network in protocol.STRONG else "weak"
