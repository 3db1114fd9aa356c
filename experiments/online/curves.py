# SPDX-License-Identifier: BSD-3-Clause
"""The picture of the page: a column per set, a row per learner and what its score is drawn against."""
import statistics

import figures
from common import metric
from learners import PASSES, schemes

SHOWN = ("perceptron", "scw")
BARRED = (1, 2, 5, 10, PASSES)  # passes that have an error bar


def mean_over_networks(study, kind, what):
    curves = [figures.mean_curve(kinds[kind], what) for kinds in study["cells"].values()]
    return [statistics.fmean(values) for values in zip(*curves)]


def pass_points(study, kind):
    """[[pass, score, standard deviation over seeds]]"""
    points = [[at, round(score, 2)] for at, score in enumerate(mean_over_networks(study, kind, "scores"), 1)]
    for at in BARRED:
        points[at - 1].append(round(statistics.stdev(figures.network_mean(study, kind, at)), 2))
    return points


def pass_series(study, method):
    return [{"name": name, "points": pass_points(study, figures.main_kind(study, method, average))}
            for name, average in (("averaged", True), ("last weights", False))]


def second_series(study, method):
    """Milliseconds of a network against the score, a line per scheme."""
    kinds = [(method, scheme, True) for scheme in schemes(study["task"])]
    return [{"name": kind[1], "points": [[round(1000 * x, 3), round(y, 2)] for x, y in zip(
        mean_over_networks(study, kind, "seconds"), mean_over_networks(study, kind, "scores"))]} for kind in kinds]


def panels(studies):
    """As pictures.py wants them."""
    rows = []
    for series, axis, more in ((pass_series, "passes", {"ticks": [1, 5, 10, 15, 20]}),
                               (second_series, "milliseconds per network", {})):
        rows += [[{"title": f"{study['name']}, {method}", "x": axis, "y": f"test {metric(study)}, %", "kind": "lines",
                   **more, "series": series(study, method)} for study in studies] for method in SHOWN]
    return {"about": "Made by experiments/online/run. Error bars: standard deviation over seeds.", "rows": rows}
