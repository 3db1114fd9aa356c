# SPDX-License-Identifier: BSD-3-Clause
"""The curves of the page as one SVG picture: likeness, contributing rate and gain against the rank."""
import statistics

import figures
import svg
from protocol import NETWORKS, NONE, RANKS, Kernel

COLOURS = dict(zip(NETWORKS, (svg.BLUE, svg.RED, svg.GREEN, svg.GOLD, svg.VIOLET)))


def likeness(found):
    return {network: [(rank, figures.least(found.likeness["sets"][network, rank])) for rank in RANKS]
            for network in found.sets if (network, RANKS[0]) in found.likeness["sets"]}


def rates(found):
    return {network: list(zip(RANKS, found.learned[Kernel(network)]["contributing_rate"])) for network in found.sets}


def gains(found, cells):
    """Over L2, mean over the sets, a line a network."""
    lines = {}
    for network in found.sets:
        here = [cell for cell in cells if cell[1] == network]
        if here:
            lines[network] = [(rank, statistics.fmean(found.score(cell, found.own(rank)(cell)) - found.score(cell, NONE)
                                                      for cell in here)) for rank in RANKS]
    return lines


def draw(found):
    like = likeness(found)
    first = [("least cosine of kernels without a set", "rank", like)] if like else []
    first += [("contributing rate", "rank", rates(found)), ("gain over L2, points, mean of sets", "rank",
                                                            gains(found, found.cells()))]
    second = [(f"gain over L2, {name}", "rank", gains(found, [cell for cell in found.cells() if cell[0] == name]))
              for name in found.set_names()]
    return svg.grid([first, second], COLOURS)
