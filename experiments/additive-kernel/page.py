# SPDX-License-Identifier: BSD-3-Clause
"""The page: tables of what was measured and what it means for the paper's claims."""
import statistics

import claims
import figures
import protocol
from common import answer_lines, claim_lines, interval, machine_lines, table
from protocol import CHI2, FEW, HELLINGER, NAMED, NONE, PLAIN, POWERS, POWER_RANKS, RANK, RANKS, RIVALS, Kernel, Map

NAMES = {NONE: "L2", CHI2: "χ²", HELLINGER: "Hellinger", "intersection": "intersection", "js": "Jensen-Shannon"}
LEARN = "tenon kernel learn --data REP LABELS …"
FIT = "tenon fit f=x.npy --labels y.npy --transform MAP --method svm --loss hinge --C 1 --select all"


ANSWER = {"8a.": "The learned map beats none, L2-normalised rows, on average",
          "8. ": "It beats none, χ² and Hellinger, all three",
          "6. ": "That χ² does not help, as in the paper, holds",
          "7. ": "That Hellinger hurts, as in the paper, holds",
          "1. ": "Kernels learned without one of the sets are almost the same",
          "11a.": "The evidence picks the map that is best in the test, by the SVM"}


def head(doctor, found, before, seconds, verdicts):
    kept = f", {before} of {len(found.found)} heads kept from a run before" if before else ""
    rows = [[network, ", ".join(sets), f"{1 / found.learned[Kernel(network)]['scale']:.4g}",
             found.learned[Kernel(network)]["tasks"]] for network, sets in found.sets.items()]
    return ["# Learned additive kernels", "", *answer_lines(verdicts, ANSWER),
            f"Made by `experiments/additive-kernel/run` in {seconds:.0f} s{kept}; nothing here is edited by hand. Every figure "
            f"comes from the JSON of `{LEARN}`, `tenon kernel compare`, `{FIT}`, `tenon eval` and `tenon rank`. The paper is "
            "Kobayashi, *Learning Additive Kernel For Feature Transformation and Its Application to CNN Features*, 2016.", "",
            *machine_lines(doctor, "Nothing is random"),
            "- Features: **not the paper's.** It uses the first fully connected layer (fc6) of AlexNet, VGG and C3D, 4096 "
            "columns; ours are the globally pooled activations of small networks, float16, 128 to 1280 columns. What fails "
            "here may well hold there.",
            "- Learning: SVMs of every class against the rest (hinge, C = 1, bias) on 39 functions an entry, of the training "
            "rows only; rows of unit L1 norm times a scale, which is one over the 99.99 % quantile of the entries (the paper: "
            "200 for 4096 columns). A kernel is learned once; its file has all eigenvectors and singular values, from which other "
            "ranks and powers are cut.",
            "- Classifier: linear SVM, hinge, C = 1, of mapped rows of unit L2 norm, as in the paper, which names no C. Scores: "
            "accuracy in percent, mean average precision for flickr8k, on the set's own test rows. The kernel is the one "
            "learned on the training rows of all sets, as in the paper, where nothing else is said.",
            "- ± is half the 95 % interval (Student's t) of a mean over cells, a cell being a network on a set. Networks share "
            "the test rows of a set, so the intervals are rather too narrow than too wide.", "",
            *table(["network", "sets", "99.99 % quantile of L1-normalised entries", "tasks"], rows)]


def likeness_lines(found):
    if not found.likeness["sets"]:
        return []
    rows = [[network, *(f"{figures.least(found.likeness['sets'][network, rank]):.4f}" for rank in RANKS),
             f"{figures.least(matrix):.4f}"] for network, matrix in found.likeness["alone"].items()]
    lines = ["## Generality over data sets (Figure 1)", "",
             "Least cosine of 256 × 256 tables of any two of the kernels learned without one of the sets and of that of all, "
             f"rank by rank; in the last column of the kernels of one set each and that of all, rank {RANK}.", "",
             *table(["network", *(f"K = {rank}" for rank in RANKS), "one set each"], rows)]
    for network, sets in found.sets.items():
        matrix = found.likeness["sets"].get((network, 3))
        if matrix:
            names = [*(f"without {name}" for name in sets), "all"]
            lines += [f"{network}, rank 3:", "",
                      *table(["", *names], [[name, *(f"{value:.4f}" for value in row)] for name, row in zip(names, matrix)])]
    return lines


def gain_row(found, name, maps):
    """Gain over L2, mean over the networks of a set."""
    return [name, *(f"{found.mean(name, one) - found.mean(name, NONE):+.2f}" for one in maps)]


def all_row(found, maps):
    pairs = [interval(found.differences(one, NONE)) for one in maps]
    return ["all cells", *(f"{mean:+.2f} ± {half:.2f}" for mean, half in pairs)]


def gain_table(found, title, heads, maps):
    return table([title, *heads], [*(gain_row(found, name, maps) for name in found.set_names()), all_row(found, maps)])


def rank_lines(found):
    rates = [[network, *(f"{value:.3f}" for value in found.learned[Kernel(network)]["contributing_rate"][:len(RANKS)])]
             for network in found.sets]
    heads = [f"K = {rank}" for rank in RANKS]
    return ["## Rank (Figure 2a)", "", "![curves](additive-kernel.svg)", "",
            "Points above L2, mean over networks:", "",
            *gain_table(found, "set", heads, [found.own(rank) for rank in RANKS]), "Contributing rates:", "",
            *table(["network", *heads], rates)]


def power_lines(found):
    columns = [(rank, power) for rank in POWER_RANKS for power in POWERS]
    return ["## Power (Figure 2b)", "", "W = P Λ^p. Points above L2, mean over networks:", "",
            *gain_table(found, "set", [f"K = {rank}, p = {power:g}" for rank, power in columns],
                        [found.own(rank, power) for rank, power in columns])]


def basis_lines(found):
    columns = [(basis, rank) for basis in (protocol.SCALED, PLAIN) for rank in (FEW, RANK)]
    return ["## Basis (Figure 2c)", "", "Points above L2, mean over networks:", "",
            *gain_table(found, "set", [f"{basis}, K = {rank}" for basis, rank in columns],
                        [found.own(rank, basis=basis) for basis, rank in columns])]


def best_bold(scores):
    return [f"**{value:.2f}**" if value == max(scores) else f"{value:.2f}" for value in scores]


def map_lines(found):
    maps = [*NAMED, *(found.own(rank) for rank in (FEW, RANK, RANK + 1)), found.unseen]
    heads = [*NAMES.values(), *(f"learned, K = {rank}" for rank in (FEW, RANK, RANK + 1)),
             f"learned without the set, K = {RANK}"]
    if not found.all_unseen():
        maps, heads = maps[:-1], heads[:-1]
    values = {cell: [found.score(cell, one(cell) if callable(one) else one) for one in maps] for cell in found.cells()}
    rows = [[*cell, *best_bold(scores)] for cell, scores in values.items()]
    rows.append(["all", "mean", *(f"{statistics.fmean(scores):.2f}" for scores in zip(*values.values()))])
    return ["## Maps compared (Figure 3)", "", "Test scores, the best of a row in bold. χ², intersection and Jensen-Shannon "
            "have 7 values an entry, as the learned map of rank 7 has.", "", *table(["set", "network", *heads], rows)]


def network_lines(found):
    networks = list(found.sets)
    if len(networks) < 2:
        return []
    lines = ["## Across networks (Table 2)", "",
             "Rows: features; columns: the network whose kernel is used, learned on all its sets, rank "
             f"{RANK}. Mean over the sets, less that of the network's own kernel, points; in brackets less L2. Entries of a row "
             "of unit L1 norm are smaller where columns are more: a kernel comes with the scale it was learned with, or takes "
             "that of the features it is used on.", ""]
    for word, scaled in (("Scale of the features", True), ("Scale of the kernel", False)):
        rows = []
        for network in networks:
            cells = [cell for cell in found.cells() if cell[1] == network]
            row = [network]
            for other in networks:
                one = Map(Kernel(other), scaled=network if scaled and other != network else "")
                own, plain = (statistics.fmean(found.score(cell, one) - found.score(cell, base) for cell in cells)
                              for base in (Map(Kernel(network)), NONE))
                row.append(f"{own:+.2f} ({plain:+.2f})")
            rows.append(row)
        lines += [f"{word}:", "", *table(["features", *networks], rows)]
    cosines = [[network, *(f"{value:.4f}" for value in row)] for network, row in zip(networks, found.likeness["networks"])]
    return lines + [f"Cosines of the kernels, rank {RANK}:", "", *table(["", *networks], cosines)]


def second_lines(found):
    rows = []
    for network, sets in found.sets.items():
        for word in (*sets, protocol.ALL):
            said = found.learned[Kernel(network, word)]
            seconds = said["seconds"]
            rows.append([network, word, said["tasks"], f"{seconds['svm']:.2f}", f"{1000 * seconds['svd']:.2f}"])
    loose = [str(kernel) for kernel, said in found.learned.items() if not said["converged"]]
    return ["## Seconds of learning (Table 1)", "", "By the program's own clock, all threads. Kernels of one set each are "
            "learned for this table and the last column of Figure 1's.", "",
            *table(["network", "learned on", "tasks", "SVMs, s", "decomposition, ms"], rows),
            *([f"Machines stopped by `--max-passes` before their gap was 1e-4: {', '.join(loose)}.", ""] if loose else [])]


def evidence_lines(found):
    if not found.all_unseen():
        return []
    rows, heads = [], [*(NAMES[name] for name in RIVALS), "learned"]
    for cell in found.cells():
        maps, evidence = [*RIVALS, found.unseen(cell)], found.evidence(cell)
        top = max(evidence.values())
        tested = [best_bold([found.score(cell, one, method) for one in maps]) for method in (protocol.RIDGE, protocol.SVM)]
        rows.append([*cell, *("**0**" if evidence[str(one)] == top else f"{evidence[str(one)] - top:.0f}" for one in maps),
                     *tested[0], *tested[1]])
    return ["## Does the evidence choose the map?", "",
            "`tenon rank --transform none,chi2,hellinger,KERNEL`: log evidence less that of the best (bold), then test scores "
            "of the ridge heads that it judges (`fit --method evidence`) and of the SVMs, their best in bold. The learned kernel "
            f"is that of the other sets, rank {RANK}: it has not seen the labels by which it is judged.", "",
            *table(["set", "network", *(f"evidence, {name}" for name in heads), *(f"ridge, {name}" for name in heads),
                    *(f"SVM, {name}" for name in heads)], rows)]


def render(doctor, found, before, seconds):
    verdicts = claims.verdicts(found)
    sections = [head(doctor, found, before, seconds, verdicts), claim_lines("## The paper's claims", verdicts),
                ["A claim on average is decided by the mean over cells and its interval; one in all cases by counting cells. "
                 "The rules stand in `experiments/additive-kernel/claims.py`. 8c and 11 are ours, not the paper's.", ""],
                likeness_lines(found), rank_lines(found), power_lines(found), basis_lines(found), map_lines(found),
                network_lines(found), second_lines(found), evidence_lines(found)]
    return "\n".join(line for section in sections for line in section)
