# SPDX-License-Identifier: BSD-3-Clause
"""The picture of the page: balanced accuracy by number of positives, a column per set, a row for strong and for weak
features."""
import statistics

import figures
import tasks
from common import barred, interval
from page import NAMES
from protocol import SIZES

SHOWN = ("greedytl", "elastic-net balanced", "rls", "multikt-l2", "forward", "none")


def points(found, places, method):
    """[[positives, mean over the networks, mean of their half intervals over classes]]"""
    out = []
    for size in SIZES:
        pairs = [interval(found.values(place, tasks.SVM, method, size)) for place in places]
        out.append(barred(size, *map(statistics.fmean, zip(*pairs))))
    return out


def panel(found, name, word):
    places = [place for place in found.places(tasks.SVM) if place[0] == name and figures.kind_of(place[1]) == word]
    if not places:
        return None
    return {"title": f"{name}, {word} features", "x": "positives", "y": "balanced accuracy, %", "kind": "lines",
            "ticks": list(SIZES), "aside": 0.09,
            "series": [{"name": NAMES[method], "points": points(found, places, method)} for method in SHOWN]}


def panels(found, studies):
    """As pictures.py wants them."""
    return {"about": "Made by experiments/transfer/run. Error bars: half the 95 % interval over classes, mean of the "
                     "networks.",
            "panel": [4.6, 2.8], "between": 14, "right": 0.12,
            "rows": [[panel(found, study["name"], word) for study in studies] for word in ("strong", "weak")]}
