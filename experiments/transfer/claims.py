# SPDX-License-Identifier: BSD-3-Clause
"""What the figures say about the paper's claims.

A case is one set, network, size and rival. GreedyTL wins it when it is above by more than the 95 % interval of the
difference, class by class; it loses when it is below by more; else it is a tie. A claim holds when all its cases are won, or,
where it says no more, not lost.
"""
import statistics

import figures
import protocol
import tasks
from common import in_words

GREEDY = "greedytl"
RIVALS = tuple(method for method in protocol.METHODS if method not in (GREEDY, "auto"))
SPARSE = ("l1-logistic balanced", "elastic-net balanced")
L1 = ("l1-logistic", "elastic-net", *SPARSE, "multikt-l1")


def tally(leads):
    marks = [figures.mark(lead) for lead in leads]
    return f"{marks.count(1)} won, {marks.count(0)} tied, {marks.count(-1)} lost"


def row(claim, leads, sentences, least=1):
    means = [mean for mean, _ in leads]
    return (claim, in_words(sum(figures.mark(lead) >= least for lead in leads), len(leads)),
            f"{tally(leads)}; mean difference {statistics.fmean(means):+.2f} points ({min(means):+.1f} to "
            f"{max(means):+.1f})", sentences)


def by_rival(found, kinds, rivals, sizes):
    """Sentences: a rival each, features that are strong and weak apart."""
    lines = []
    for rival in rivals:
        parts = []
        for word in ("strong", "weak"):
            leads = [found.lead(place, kind, GREEDY, rival, size) for kind in kinds for place in found.places(kind)
                     for size in sizes if figures.kind_of(place[1]) == word]
            if leads:
                parts.append(f"{statistics.fmean(mean for mean, _ in leads):+.2f} points with {word} features "
                             f"({tally(leads)})")
        lines.append(f"GreedyTL less {rival}: {'; '.join(parts)}.")
    return lines


def against(found, claim, rivals, sizes, kinds=(tasks.SVM,), least=1):
    leads = [found.lead(place, kind, GREEDY, rival, size) for kind in kinds for place in found.places(kind)
             for rival in rivals for size in sizes]
    return [row(claim, leads, by_rival(found, kinds, rivals, sizes), least)] if leads else []


def noise(found):
    """GreedyTL's loss by the most noise against that of the sparse rivals; a case is won when it loses less."""
    places, dims = found.places(tasks.NOISY), protocol.NOISE[-1]
    if not places:
        return []
    losses = {(place, method, size): found.loss(place, method, size, dims) for place in places
              for method in protocol.NOISE_METHODS for size in protocol.SIZES}
    leads = [figures.interval([a - b for a, b in zip(losses[place, rival, size], losses[place, GREEDY, size])])
             for place in places for rival in SPARSE for size in protocol.SIZES]
    above = [figures.interval([a - b for a, b in zip(found.values(place, tasks.NOISY, GREEDY, size, dims),
                                                     found.values(place, tasks.NOISY, rival, size, dims))])
             for place in places for rival in SPARSE for size in protocol.SIZES]
    sentences = [f"{size} positives: " + ", ".join(
        f"{method} loses {statistics.fmean(statistics.fmean(losses[place, method, size]) for place in places):.2f}"
        for method in protocol.NOISE_METHODS) + f" points to {dims} dimensions of noise, mean of sets and networks."
        for size in protocol.SIZES]
    return [row(f"4. GreedyTL tolerates noise: {dims} dimensions cost it less than l1 and elastic net", leads, sentences),
            row(f"4a. With {dims} dimensions of noise it is above both", above, [])]


def verdicts(found):
    """[(claim, does it hold, figures, sentences)]"""
    least, sizes = protocol.SIZES[0], protocol.SIZES
    return [*against(found, f"1. GreedyTL beats every rival in the small-sample regime ({least} positives)", RIVALS,
                     (least,)),
            *against(found, "1a. It does with all sizes", RIVALS, sizes),
            *against(found, "1b. Methods with an l1 norm fail to match it", L1, sizes),
            *against(found, "2. GreedyTL beats RLS on all sources and features", ("rls",), sizes),
            *against(found, "3. Regularisation matters: GreedyTL beats forward regression", ("forward",), sizes),
            *noise(found),
            *against(found, "5. GreedyTL is as good as the best source, an oracle, or better", (protocol.ORACLE,), sizes,
                     least=0),
            *against(found, "6. It beats every rival from off-the-shelf sources too", RIVALS, sizes, protocol.SHELF)]
