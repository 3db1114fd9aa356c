# SPDX-License-Identifier: BSD-3-Clause
"""What the figures say about the paper's claims, by rules that were written before the figures were seen; only 8c, which is
no claim of the paper, was suggested by a trial with two networks.

A difference is a test score less another, in points, on one cell (a network on a set). "On average" holds when the mean
over cells is above zero by more than half of its 95 % interval (Student's t over cells), does not hold when it is below by
more, and is not certain otherwise; "in all cases" counts cells. Words of the paper that have no number get one here: ALIKE
is "almost identical", FLAT "saturated" and "as good as", SMALL "quite a small time".
"""
import statistics

import figures
import protocol
from common import in_words
from figures import certainly, difference_text
from protocol import CHI2, FEW, FULL, HELLINGER, NONE, PLAIN, POWER, POWERS, POWER_RANKS, RANK, RANKS, RIVALS

ALIKE, FLAT, HIGH_RATE, SMALL = 0.99, 0.2, 0.9, 0.01
ANSWER = {1: "yes", 0: "not certain", -1: "no, the opposite"}


def on_average(claim, differences, sentences=()):
    return claim, ANSWER[certainly(differences)], difference_text(differences), list(sentences)


def in_cases(claim, hits, text, sentences=()):
    return claim, in_words(sum(hits), len(hits)), text, list(sentences)


def by_set(found, one, other):
    """Sentences: the difference of the means over networks, set by set."""
    return [f"{name}: {found.mean(name, one) - found.mean(name, other):+.2f} points on average over networks."
            for name in found.set_names()]


# ---- generality over data sets ----

def alike(found):
    if not found.likeness["sets"]:
        return []
    leasts = {(network, rank): figures.least(matrix) for (network, rank), matrix in found.likeness["sets"].items()}
    sentences = [f"{network}: least cosine {min(leasts[network, rank] for rank in RANKS):.4f} over ranks, "
                 f"{leasts[network, 3]:.4f} at rank 3 (paper: 0.9996)."
                 for network in dict.fromkeys(key[0] for key in leasts)]
    return [in_cases(f"1. Kernels learned without one of the sets are almost the same (cosine of any two >= {ALIKE}, network "
                     "by network and rank by rank)", [value >= ALIKE for value in leasts.values()],
                     f"least {min(leasts.values()):.4f}, median {statistics.median(leasts.values()):.4f}", sentences)]


def general(found):
    if not found.all_unseen():
        return []
    values = found.differences(found.unseen, found.own())
    return [in_cases(f"1a. A kernel that never saw the set serves it as well as one that did (at most {FLAT} points less)",
                     [value >= -FLAT for value in values], difference_text(values))]


# ---- rank, power, basis ----

def rank_claims(found):
    later = {rank: found.differences(found.own(rank), found.own(FULL)) for rank in RANKS if rank > FULL}
    means = {rank: statistics.fmean(values) for rank, values in later.items()}
    rates = {network: found.learned[protocol.Kernel(network)]["contributing_rate"][FULL - 1] for network in found.sets}
    return [on_average(f"2. Scores rise with the rank, from 1 to {FULL}", found.differences(found.own(FULL), found.own(1)),
                       by_set(found, found.own(FULL), found.own(1))),
            in_cases(f"2a. They are saturated at rank {FULL}: the means of higher ranks are within {FLAT} points",
                     [abs(value) <= FLAT for value in means.values()],
                     ", ".join(f"K = {rank}: {value:+.2f}" for rank, value in means.items())),
            in_cases(f"2b. The contributing rate is above {HIGH_RATE} at rank {FULL}",
                     [value > HIGH_RATE for value in rates.values()],
                     ", ".join(f"{network} {value:.3f}" for network, value in rates.items())),
            on_average(f"3. Rank {FEW} already improves on L2-normalised rows", found.differences(found.own(FEW), NONE),
                       by_set(found, found.own(FEW), NONE))]


def power_claim(found):
    """The mean over the paper's three ranks counts, cell by cell."""
    def lead(other):
        each = [found.differences(found.own(rank, POWER), found.own(rank, other)) for rank in POWER_RANKS]
        return [statistics.fmean(values) for values in zip(*each)]
    leads = {other: lead(other) for other in POWERS if other != POWER}
    best = all(statistics.fmean(values) > 0 for values in leads.values())
    certain = all(certainly(values) == 1 for values in leads.values())
    return ("4. Power 1/2 is the best on average", "yes" if certain else "yes, not certain" if best else "no",
            "; ".join(f"1/2 less {other:g}: {difference_text(values)}" for other, values in leads.items()), [])


def basis_claims(found):
    plain = found.own(basis=PLAIN)
    worse = found.differences(plain, NONE)
    return [on_average(f"5. Scaled Fourier functions beat plain ones (rank {RANK})", found.differences(found.own(), plain),
                       by_set(found, found.own(), plain)),
            in_cases("5a. Plain ones are worse than no map at all on most sets", [value < 0 for value in worse],
                     difference_text(worse))]


# ---- other maps ----

def map_claims(found):
    chi2, root = found.differences(CHI2, NONE), found.differences(HELLINGER, NONE)
    lead = [found.score(cell, found.own()(cell)) - max(found.score(cell, name) for name in RIVALS)
            for cell in found.cells()]
    others = [name for name in protocol.NAMED if name not in RIVALS]
    return [in_cases("6. χ² does not help: it is not above L2", [value <= 0 for value in chi2], difference_text(chi2),
                     by_set(found, CHI2, NONE)),
            in_cases("7. Hellinger hurts: it is below L2", [value < 0 for value in root], difference_text(root),
                     by_set(found, HELLINGER, NONE)),
            in_cases(f"8. The learned map (rank {RANK}) is above L2, χ² and Hellinger, all three",
                     [value > 0 for value in lead], f"learned less the best of the three: {difference_text(lead)}",
                     [f"Learned less {name}: {difference_text(found.differences(found.own(), name))}."
                      for name in (*RIVALS, *others)]),
            on_average(f"8a. It is above L2 on average (rank {RANK})", found.differences(found.own(), NONE),
                       by_set(found, found.own(), NONE)),
            on_average(f"8b. Rank {FEW} is above χ² on average", found.differences(found.own(FEW), CHI2)), *ridge_claim(found)]


def ridge_claim(found):
    """C = 1 is the same number but not the same regularisation with every map: a head that fits its own tells the maps apart."""
    if not found.all_unseen():
        return []
    return [on_average(f"8c. It is so too when the head chooses its regularisation: ridge by evidence, rank {RANK}, learned "
                       "without the set", found.differences(found.unseen, NONE, protocol.RIDGE))]


# ---- networks ----

def network_claims(found):
    foreign = [(cell, one) for cell in found.cells() for one in protocol.across(cell[1], list(found.sets))]
    if not foreign:
        return []
    rows = []
    for first, second, word, scaled in (("9.", "9a.", "with the scale of the new features", True),
                                        ("9b.", "9c.", "as they are", False)):
        asked = [(cell, one) for cell, one in foreign if bool(one.scaled) == scaled]
        values = [found.score(cell, one) - found.score(cell, NONE) for cell, one in asked]
        loss = [found.score(cell, one) - found.score(cell, found.own()(cell)) for cell, one in asked]
        rows += [in_cases(f"{first} Kernels of other networks, {word}, are above L2", [value > 0 for value in values],
                          difference_text(values)),
                 on_average(f"{second} The network's own kernel is better than another's, {word}", [-value for value in loss])]
    return rows


def second_claims(found):
    shares = {network: found.learned[protocol.Kernel(network)]["seconds"] for network in found.sets}
    return [in_cases(f"10. The decomposition takes a small time beside the SVMs (at most {SMALL:.0%})",
                     [value["svd"] <= SMALL * value["svm"] for value in shares.values()],
                     ", ".join(f"{network} {value['svm']:.2f} s + {1000 * value['svd']:.2g} ms"
                               for network, value in shares.items()))]


# ---- the evidence ----

def picked(found, cell, method):
    """(points that the evidence's choice is below the best of the candidates, points that L2 is)"""
    scores = {str(one): found.score(cell, one, method) for one in (*RIVALS, found.unseen(cell))}
    evidence = found.evidence(cell)
    best = max(scores.values())
    return best - scores[max(evidence, key=evidence.get)], best - scores[NONE]


def evidence_claims(found):
    if not found.all_unseen():
        return []
    rows = []
    for number, method, word in (("11.", protocol.RIDGE, "the ridge head that it judges"), ("11a.", protocol.SVM, "the SVM")):
        pairs = [picked(found, cell, method) for cell in found.cells()]
        rows.append(in_cases(f"{number} The evidence picks the map that is best on the test rows, by {word}",
                             [own == 0 for own, _ in pairs],
                             f"its choice is {statistics.fmean(own for own, _ in pairs):.2f} points below the best on "
                             f"average, at most {max(own for own, _ in pairs):.2f}; always L2: "
                             f"{statistics.fmean(plain for _, plain in pairs):.2f}, at most "
                             f"{max(plain for _, plain in pairs):.2f}"))
    return rows


def verdicts(found):
    """[(claim, does it hold, figures, sentences)]"""
    return [*alike(found), *general(found), *rank_claims(found), power_claim(found), *basis_claims(found),
            *map_claims(found), *network_claims(found), *second_claims(found), *evidence_claims(found)]
