# SPDX-License-Identifier: BSD-3-Clause
"""The curves of the page as one SVG picture: a column a set, a row a learner and what its score is drawn against."""
import statistics

import figures
import svg
from learners import schemes

SHOWN = ("perceptron", "scw")
COLOURS = {"averaged": svg.BLUE, "last weights": svg.RED, "mul": svg.BLUE, "u-ovr": svg.RED, "e-ovr": svg.GREEN,
           "w-ovr": svg.GOLD}


def mean_over_networks(study, kind, what):
    curves = [figures.mean_curve(kinds[kind], what) for kinds in study["cells"].values()]
    return [statistics.fmean(values) for values in zip(*curves)]


def pass_lines(study, method):
    """{name: [(pass, score)]}"""
    return {name: list(enumerate(mean_over_networks(study, figures.main_kind(study, method, average), "scores"), 1))
            for name, average in (("averaged", True), ("last weights", False))}


def second_lines(study, method):
    """{scheme: [(milliseconds a network, score)]}"""
    return {scheme: [(1000 * x, y) for x, y in zip(mean_over_networks(study, (method, scheme, True), "seconds"),
                                                   mean_over_networks(study, (method, scheme, True), "scores"))]
            for scheme in schemes(study["task"])}


def draw(studies):
    return svg.grid([[(f"{study['name']}, {method}", unit, lines(study, method)) for study in studies]
                     for lines, unit in ((pass_lines, "passes"), (second_lines, "ms")) for method in SHOWN], COLOURS)
