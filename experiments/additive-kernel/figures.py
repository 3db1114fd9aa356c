# SPDX-License-Identifier: BSD-3-Clause
"""Figures made from what the program said: scores of cells and differences between them, cosines, seconds."""
import statistics

import protocol
from common import interval
from protocol import Kernel, Map


class Figures:
    def __init__(self, sets, entries, learned, likeness):
        """sets: {network: [set]}; entries: lines of the store; learned: {kernel: JSON of its learning}; likeness: what
        kernels.likeness gave."""
        self.sets, self.learned, self.likeness = sets, learned, likeness
        self.found = {tuple(entry["cell"]): entry["scores"] for entry in entries}

    def cells(self):
        """[(set, network)], sets first."""
        names = dict.fromkeys(name for sets in self.sets.values() for name in sets)
        return [(name, network) for name in names for network, sets in self.sets.items() if name in sets]

    def score(self, cell, one, method=protocol.SVM):
        """Percent; one: a named map or a Map."""
        return self.found[(*cell, method, str(one))]["score"]

    def evidence(self, cell):
        """{map: log evidence} of what rank was asked."""
        return self.found[(*cell, "rank", "")]

    def own(self, rank=protocol.RANK, power=protocol.POWER, basis=protocol.SCALED):
        """For differences(): the map learned on all sets of the cell's network."""
        return lambda cell: Map(Kernel(cell[1], basis=basis), rank, power)

    def unseen(self, cell):
        return next(iter(protocol.unseen(cell[1], cell[0], self.sets[cell[1]])), None)

    def all_unseen(self):
        """Whether every cell has a kernel that saw nothing of its set."""
        return all(self.unseen(cell) for cell in self.cells())

    def differences(self, one, other, method=protocol.SVM):
        """Points, a value a cell. one, other: a named map, or a function of the cell."""
        def name(what, cell):
            return what(cell) if callable(what) else what
        return [self.score(cell, name(one, cell), method) - self.score(cell, name(other, cell), method)
                for cell in self.cells()]

    def mean(self, name, one):
        """Over the networks of a set; one as in differences()."""
        return statistics.fmean(self.score(cell, one(cell) if callable(one) else one) for cell in self.cells()
                                if cell[0] == name)

    def set_names(self):
        return list(dict.fromkeys(name for name, _ in self.cells()))


def certainly(differences):
    """1, -1: the mean is above, below zero by more than its interval; 0: not certain."""
    mean, half = interval(differences)
    return (mean > half) - (mean < -half)


def difference_text(differences):
    mean, half = interval(differences)
    above, below = sum(value > 0 for value in differences), sum(value < 0 for value in differences)
    return f"{mean:+.2f} ± {half:.2f} points; {above} up, {len(differences) - above - below} equal, {below} down"


def least(matrix):
    """The least of the cosines between two different kernels."""
    return min(value for i, row in enumerate(matrix) for j, value in enumerate(row) if i != j)
