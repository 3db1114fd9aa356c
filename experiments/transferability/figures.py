# SPDX-License-Identifier: BSD-3-Clause
"""How well a score foretells test scores: weighted Kendall correlation, regret of the first choice, bias to width."""
import math
import statistics
import warnings

import numpy
from scipy import stats

import rivals

OURS = {"evidence": "evidence (`--by evidence`)", "shared": "evidence, one λ for all classes",
        "loo": "leave-one-out quality (`--by loo`)", "nll": "leave-one-out log-loss (`--by nll`)",
        "knn": "nearest neighbours (`--by knn`)"}
PUBLISHED = {"LogME": "LogME, as published", "N-LEEP": "N-LEEP", "GBC": "GBC", "NCTI": "NCTI"}
SHORT = {"shared": "shared λ", "loo": "LOO", "nll": "LOO log-loss", "knn": "kNN"}
GROUPS = {"networks": lambda one: one.normalize == "l2" and not one.cut,
          "normalisations": lambda one: not one.cut,
          "columns": lambda one: one.normalize == "l2",
          "all": lambda one: True}


def neighbour_names():
    return [f"kNN {k} {kind}" for k in rivals.NEIGHBOURS for kind in ("plain", "weighted")]


def correlation(a, b, how):
    with warnings.catch_warnings():  # constant scores: no correlation
        warnings.simplefilter("ignore")
        value = float(how(a, b)[0])
    return 0.0 if math.isnan(value) else value


def with_collapse(said):
    """NCTI: the sum of its parts, each standardised over the candidates of a set."""
    found = {one: dict(scores) for one, scores in said.items()}
    for name in {one.set for one in said}:
        own = [one for one in said if one.set == name and "NCTI" in said[one]]
        if own:
            parts = numpy.array([said[one]["NCTI"] for one in own])
            spread = parts.std(axis=0)
            total = ((parts - parts.mean(axis=0)) / numpy.where(spread > 0, spread, 1)).sum(axis=1)
            for one, value in zip(own, total):
                found[one]["NCTI"] = float(value)
    return found


class Results:
    def __init__(self, tested, said):
        """tested: {candidate: {head: test score}}; said: {candidate: {score: value}}"""
        self.said, self.heads = with_collapse(said), tested
        self.test = {one: max(heads.values()) for one, heads in tested.items()}
        self.sets = list(dict.fromkeys(one.set for one in tested))

    def members(self, name, group, without=None):
        return [one for one in self.test if one.set == name and GROUPS[group](one) and one.network != without]

    def sets_of(self, score):
        """Sets that the score exists for."""
        return [name for name in self.sets if all(score in self.said[one] for one in self.members(name, "all"))]

    def pairs(self, score, name, group, without=None):
        members = self.members(name, group, without)
        return [self.said[one][score] for one in members], [self.test[one] for one in members]

    def tau(self, score, name, group, without=None):
        return correlation(*self.pairs(score, name, group, without), stats.weightedtau)

    def regret(self, score, name, group):
        """Points of test score that the first choice is below the best."""
        values, test = self.pairs(score, name, group)
        return max(test) - test[values.index(max(values))]

    def bias_to_width(self, score, name):
        """Spearman's correlation with the number of columns, less that of the test scores."""
        values, test = self.pairs(score, name, "columns")
        width = [one.width for one in self.members(name, "columns")]
        return correlation(values, width, stats.spearmanr) - correlation(test, width, stats.spearmanr)

    def mean(self, what, score, sets, *more):
        return statistics.fmean(what(score, name, *more) for name in sets)

    def networks(self, name):
        return list(dict.fromkeys(one.network for one in self.members(name, "all")))

    def lead(self, score, other, group):
        """(mean over sets of tau_w of score less that of the other, its standard error by leaving networks out)"""
        sets = [name for name in self.sets_of(score) if name in self.sets_of(other)]
        square = 0.0
        for name in sets:
            networks = self.networks(name)
            left = [self.tau(score, name, group, one) - self.tau(other, name, group, one) for one in networks]
            square += (len(left) - 1) / len(left) * sum((value - statistics.fmean(left)) ** 2 for value in left)
        mean = statistics.fmean(self.tau(score, name, group) - self.tau(other, name, group) for name in sets)
        return mean, math.sqrt(square) / len(sets)
