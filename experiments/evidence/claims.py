# SPDX-License-Identifier: BSD-3-Clause
"""What the figures say about the paper's claims. Each function returns sentences made from the studies."""
import math
import statistics

import table2
from common import in_words


def kendall(a, b):
    """Kendall's tau-b of two lists, ties allowed."""
    both = ties_a = ties_b = 0
    pairs = [(i, j) for i in range(len(a)) for j in range(i)]
    for i, j in pairs:
        da, db = a[i] - a[j], b[i] - b[j]
        both += (da > 0) == (db > 0) if da and db else 0
        both -= (da > 0) != (db > 0) if da and db else 0
        ties_a += da == 0
        ties_b += db == 0
    scale = math.sqrt((len(pairs) - ties_a) * (len(pairs) - ties_b))
    return both / scale if scale else float("nan")


def default_rule(study):
    return "per-class" if study["task"] == "multilabel" else "shared"


def single_tau(study, rule):
    return kendall([s["log_evidence"] for s in study["singles"]], [s[rule] for s in study["singles"]])


def subset_tau(study):
    return kendall([s["log_evidence"] for s in study["subsets"]], [s["score"] for s in study["subsets"]])


def oracle(study):
    """Best test score of all subsets; of equals the smallest, then the one of higher evidence."""
    return max(study["subsets"], key=lambda s: (s["score"], -len(s["names"]), s["log_evidence"]))


def standard_error(study, score):
    """Of an accuracy, in points, from the number of test rows; mean AP has no such simple one."""
    share = score / 100
    return 100 * math.sqrt(share * (1 - share) / study["test_rows"])


def swaps(study, rule):
    """Pairs of networks that evidence and test score put in different orders."""
    singles = study["singles"]
    return [f"{a['name']}/{b['name']} ({a[rule]:.1f} and {b[rule]:.1f})" for i, a in enumerate(singles)
            for b in singles[i + 1:] if a[rule] < b[rule]]


def ranking(studies):
    lines = []
    for study in studies:
        rule, top = default_rule(study), study["singles"][0]
        best = max(study["singles"], key=lambda s: s[rule])
        wrong = swaps(study, rule)
        text = f"{study['name']}: tau = {single_tau(study, rule):.2f}; "
        text += "the order is the same" if not wrong else "other order: " + ", ".join(wrong)
        text += (f". First by evidence, {top['name']}, is also first in the test." if top[rule] == best[rule] else
                 f". First by evidence is {top['name']} ({top[rule]:.1f}), first in the test {best['name']} "
                 f"({best[rule]:.1f}).")
        lines.append(text)
    return lines


def ensembles(studies):
    lines = []
    for study in studies:
        sets = {name: frozenset(s["selected"]) for name, s in study["searches"].items()}
        best, greedy = oracle(study), study["searches"]["greedy"]
        same = {name: "the same" if sets[name] == sets["exhaustive"] else "another" for name in ("greedy", "forward")}
        agrees = "is greedy's set" if frozenset(best["names"]) == sets["greedy"] else "is " + " + ".join(best["names"])
        error = "" if study["task"] == "multilabel" else \
            f" (one standard error of the test is {standard_error(study, best['score']):.1f})"
        lines.append(f"{study['name']}: against the exhaustive search, greedy finds {same['greedy']} set, forward "
                     f"{same['forward']}; the oracle {agrees}. Greedy {greedy['score']:.1f}, exhaustive "
                     f"{study['searches']['exhaustive']['score']:.1f}, oracle {best['score']:.1f}{error}; best single "
                     f"network by evidence {study['searches']['best']['score']:.1f}.")
    return lines


def iteration_figures(study, optimizer):
    """(mean, most) evaluations per class over all networks, and how many nats the worst network misses the best by."""
    own = study["iterations"][optimizer]
    best = {c["name"]: max(x["log_evidence"] for answers in study["iterations"].values() for x in answers
                           if x["name"] == c["name"]) for c in own}
    return (statistics.fmean(c["iterations_mean"] for c in own), max(c["iterations_max"] for c in own),
            max(best[c["name"]] - c["log_evidence"] for c in own))


def optimizers(studies):
    lines = []
    for study in studies:
        means = {name: iteration_figures(study, name)[0] for name in study["iterations"]}
        times = {name: f"{mean:.1f} ({mean / means['aitken']:.1f} times)" for name, mean in means.items()}
        lines.append(f"{study['name']}: of the paper's three, {fastest(study)} needs the fewest evaluations; Aitken "
                     f"{means['aitken']:.1f}, MacKay {times['mackay']}, EM {times['em']}; Newton, not in the paper, "
                     f"{times['newton']}.")
    return lines


def lambdas(studies):
    lines = []
    for study in studies:
        gaps = [s["shared"] - s["per-class"] for s in study["singles"]]
        most, least = max(gaps), min(gaps)
        better = sum(gap > 0 for gap in gaps)
        lines.append(f"{study['name']}: the shared lambda is better on {better} of {len(gaps)} networks, worse on "
                     f"{sum(gap < 0 for gap in gaps)}; mean difference {statistics.fmean(gaps):+.2f} points, from "
                     f"{least:+.2f} to {most:+.2f}.")
    return lines


def same_sets(studies, one, other):
    return sum(frozenset(one(s)) == frozenset(other(s)) for s in studies)


def fastest(study):
    return min(("aitken", "mackay", "em"), key=lambda name: iteration_figures(study, name)[0])


def verdicts(studies):
    """[(claim, does it hold, figures, sentences)]"""
    count = len(studies)
    taus = [single_tau(s, default_rule(s)) for s in studies]
    tops = sum(s["singles"][0][default_rule(s)] == max(n[default_rule(s)] for n in s["singles"]) for s in studies)
    greedy = same_sets(studies, lambda s: s["searches"]["greedy"]["selected"],
                       lambda s: s["searches"]["exhaustive"]["selected"])
    matched = same_sets(studies, lambda s: s["searches"]["exhaustive"]["selected"], lambda s: oracle(s)["names"])
    lost = [oracle(s)["score"] - s["searches"]["exhaustive"]["score"] for s in studies]
    gaps = [n["shared"] - n["per-class"] for s in studies if s["task"] != "multilabel" for n in s["singles"]]
    found = [
        ("The evidence orders networks as the test score does", in_words(sum(t == 1 for t in taus), count),
         f"Kendall's tau {min(taus):.2f} to {max(taus):.2f}; its first is first in the test on {tops} of {count}",
         ranking(studies)),
        ("The greedy ensemble is the one of highest evidence", in_words(greedy, count), "see below", []),
        ("The ensemble of highest evidence is the oracle's, the best in the test", in_words(matched, count),
         f"{min(lost):.1f} to {max(lost):.1f} points below the oracle, which chose by the test itself",
         ensembles(studies)),
        ("Aitken's process needs the fewest iterations of Aitken, MacKay, EM",
         in_words(sum(fastest(s) == "aitken" for s in studies), count), "see below", optimizers(studies)),
    ]
    if gaps:
        found.append(
            ("For an arg-max, one λ for all classes is at most 0.6 points worse than one per class, the paper's way",
             in_words(sum(gap >= -0.6 for gap in gaps), len(gaps)),
             f"shared minus per-class: {min(gaps):+.1f} to {max(gaps):+.1f} points, mean {statistics.fmean(gaps):+.2f}",
             lambdas(studies)))
    return found + table2.verdicts(studies)
