# SPDX-License-Identifier: BSD-3-Clause
"""What is learned and what is asked. A cell is one network on one set; every question of a cell is one head, trained on the
rows that learning may see and tested on the set's own test rows.

A kernel is learned once for its network, sets and basis; its file has what all ranks and powers need, see kernels.cut.
"""
import dataclasses

NETWORKS = ("squeezenet", "mobilenetv2", "mobilenetv1", "darknet", "places")
SCALED, PLAIN = "scaled-fourier", "fourier"
ALL, FUNCTIONS = "all", 39
RANKS, RANK, FEW, FULL = tuple(range(1, 11)), 6, 2, 5  # all; the one compared; the paper's two claims on ranks
POWERS, POWER, POWER_RANKS = (0.0, 0.5, 1.0), 0.5, (5, 6, 7)
NONE, CHI2, HELLINGER = "none", "chi2", "hellinger"
RIVALS = (NONE, CHI2, HELLINGER)  # the paper's
NAMED = (*RIVALS, "intersection", "js")
SVM, RIDGE = "svm", "evidence"
METHODS = {SVM: ("--method", "svm", "--loss", "hinge", "--C", "1", "--calibrate", "no"), RIDGE: ("--method", "evidence")}


@dataclasses.dataclass(frozen=True)
class Kernel:
    """sets: ALL, the name of one, or without() one."""
    network: str
    sets: str = ALL
    basis: str = SCALED

    def __str__(self):
        return f"{self.network}.{self.sets}.{self.basis}"


@dataclasses.dataclass(frozen=True)
class Map:
    """A learned kernel as it is used. scaled: rows are brought to its axis by the scale of this network's own kernel."""
    kernel: Kernel
    rank: int = RANK
    power: float = POWER
    scaled: str = ""

    def __str__(self):
        scaled = f".scale-{self.scaled}" if self.scaled else ""
        return f"{self.kernel}.rank{self.rank}.power{self.power:g}{scaled}"


def without(name):
    return f"not-{name}"


def learned_on(kernel, sets):
    """Those of the sets that have its network which it is learned on."""
    if kernel.sets in sets:
        return [kernel.sets]
    return [name for name in sets if kernel.sets != without(name)]


def kernels(network, sets):
    """Of one network. sets: those that have it."""
    found = [Kernel(network), Kernel(network, basis=PLAIN), *(Kernel(network, name) for name in sets)]
    return found + [Kernel(network, without(name)) for name in sets if len(sets) > 1]


def across(network, networks):
    """Kernels of the other networks, as they are and with this network's scale."""
    return [Map(Kernel(other), scaled=scaled) for other in networks if other != network for scaled in ("", network)]


def unseen(network, name, sets):
    """The kernel that saw nothing of a set; [] when there is no other."""
    return [Map(Kernel(network, without(name)))] if len(sets) > 1 else []


def questions(network, name, sets, networks):
    """[(method, map)] of a cell."""
    asked = [*NAMED, *(Map(Kernel(network), rank) for rank in RANKS)]
    asked += [Map(Kernel(network), rank, power) for power in POWERS if power != POWER for rank in POWER_RANKS]
    asked += [Map(Kernel(network, basis=PLAIN), rank) for rank in (FEW, RANK)]
    asked += across(network, networks) + unseen(network, name, sets)
    return [(SVM, one) for one in asked] + [(RIDGE, one) for one in (*RIVALS, *unseen(network, name, sets))]
