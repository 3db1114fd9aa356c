# SPDX-License-Identifier: BSD-3-Clause
"""The picture of the page: balanced accuracy by number of positives, a column a set, a row strong or weak features."""
import statistics

import figures
import svg
import tasks
from protocol import SIZES

COLOURS = {"greedytl": svg.RED, "rls": svg.BLUE, "none": svg.GREY, "elastic-net balanced": svg.GREEN,
           "multikt-l2": svg.GOLD, "forward": svg.VIOLET}


def lines(found, places):
    """{method: [(positives, mean over the networks)]}"""
    return {method: [(size, statistics.fmean(statistics.fmean(found.values(place, tasks.SVM, method, size))
                                             for place in places)) for size in SIZES] for method in COLOURS}


def panel(found, name, word):
    places = [place for place in found.places(tasks.SVM) if place[0] == name and figures.kind_of(place[1]) == word]
    return (f"{name}, {word} features", "positives", lines(found, places)) if places else None


def draw(found, studies):
    return svg.grid([[panel(found, study["name"], word) for study in studies] for word in ("strong", "weak")], COLOURS)
