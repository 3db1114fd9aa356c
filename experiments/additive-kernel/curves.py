# SPDX-License-Identifier: BSD-3-Clause
"""The picture of the page: likeness, contributing rate and gain against the rank, a line per network."""
import statistics

import figures
from common import barred, interval
from protocol import NONE, RANKS, Kernel


def likeness(found):
    return {network: [(rank, figures.least(found.likeness["sets"][network, rank])) for rank in RANKS]
            for network in found.sets if (network, RANKS[0]) in found.likeness["sets"]}


def rates(found):
    return {network: list(zip(RANKS, found.learned[Kernel(network)]["contributing_rate"])) for network in found.sets}


def gains(found, cells):
    """Over L2, mean over the sets, a line per network."""
    lines = {}
    for network in found.sets:
        here = [cell for cell in cells if cell[1] == network]
        if here:
            lines[network] = [(rank, statistics.fmean(found.score(cell, found.own(rank)(cell)) - found.score(cell, NONE)
                                                      for cell in here)) for rank in RANKS]
    return lines


def mean_gain(found):
    """Over all cells, with half of its 95 % interval."""
    return [barred(rank, *interval(found.differences(found.own(rank), NONE))) for rank in RANKS]


def panel(title, axis, lines, zero=False):
    """lines: {network: [(rank, value)]}"""
    return {"title": title, "x": "rank of the map", "y": axis, "kind": "lines", "zero": zero,
            "ticks": [1, 2, 4, 6, 8, 10],
            "series": [{"name": name, "points": [[rank, round(value, 4), *bar] for rank, value, *bar in line]}
                       for name, line in lines.items()]}


def panels(found):
    """As pictures.py wants them."""
    like = likeness(found)
    first = [panel("likeness of kernels without one set", "least cosine", like)] if like else []
    first += [panel("contributing rate", "share of the singular values", rates(found)),
              panel("gain over L2 rows, mean of sets", "points", gains(found, found.cells()), True),
              panel("gain over L2 rows, all networks and sets", "points, 95 % interval", {"mean": mean_gain(found)},
                    True)]
    second = [panel(f"gain over L2 rows, {name}", "points",
                    gains(found, [cell for cell in found.cells() if cell[0] == name]), True)
              for name in found.set_names()]
    return {"about": "Made by experiments/additive-kernel/run.", "rows": [first, second]}
