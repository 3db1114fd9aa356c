# SPDX-License-Identifier: BSD-3-Clause
"""Figures made from the studies: means, paired differences, times. A cell is one network on one set."""
import math
import statistics

from learners import PASSES, main_scheme

GOAL_BELOW = 0.5  # points below the best score that both of two schemes reach: what they are timed to


def mean_sd(values):
    return f"{statistics.fmean(values):.1f} ± {statistics.stdev(values):.1f}"


def cells(studies):
    return [(study, kinds) for study in studies for kinds in study["cells"].values()]


def main_kind(study, method, average=True):
    return method, main_scheme(study["task"]), average


def paired(studies, one, other):
    """Differences of test scores seed by seed, a list a cell. one, other: functions of a study that name a kind."""
    return [[a - b for a, b in zip(kinds[one(study)]["scores"], kinds[other(study)]["scores"])]
            for study, kinds in cells(studies)]


def summary(differences):
    """(mean, standard deviation over cells and seeds, standard error from the means of cells)"""
    flat = [value for cell in differences for value in cell]
    means = [statistics.fmean(cell) for cell in differences]
    error = statistics.stdev(means) / math.sqrt(len(means)) if len(means) > 1 else math.inf
    return statistics.fmean(flat), statistics.stdev(flat), error


def difference_text(differences):
    mean, deviation, _ = summary(differences)
    return f"{mean:+.2f} ± {deviation:.2f}"


def mean_curve(result, what):
    """After every pass, over seeds: `scores` or `seconds`."""
    return [statistics.fmean(curve[what][p] for curve in result["curves"]) for p in range(PASSES)]


def network_mean(study, kind, at):
    """Test score after pass `at`, mean over the networks, a value a seed."""
    curves = [kinds[kind]["curves"] for kinds in study["cells"].values()]
    return [statistics.fmean(network[seed]["scores"][at - 1] for network in curves) for seed in range(len(curves[0]))]


def chosen_mean(study, kind):
    """The same after the number of passes that was chosen."""
    scores = [kinds[kind]["scores"] for kinds in study["cells"].values()]
    return [statistics.fmean(of_seed) for of_seed in zip(*scores)]


def time_to_goal(kinds, method, ovr):
    """Seconds of multi-class learning and of a one-vs-rest until the mean curve is for the first time at the goal."""
    both = [kinds[method, scheme, True] for scheme in ("mul", ovr)]
    curves = [mean_curve(result, "scores") for result in both]
    goal = min(map(max, curves)) - GOAL_BELOW
    first = [next(p for p, score in enumerate(curve) if score >= goal) for curve in curves]
    return [mean_curve(result, "seconds")[p] for result, p in zip(both, first)]


def slower(studies, method, ovr):
    """Time of a one-vs-rest to the goal in that of multi-class learning, cell by cell."""
    times = [time_to_goal(kinds, method, ovr) for _, kinds in cells(studies)]
    return [ovr_seconds / mul_seconds for mul_seconds, ovr_seconds in times]


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))
