# SPDX-License-Identifier: BSD-3-Clause
"""What the figures say about the paper's three guidelines.

The paper gives no numbers for "compete" and "similar": here at most CLOSE points below, on average over networks, sets
and seeds. A learner gains by averaging when the mean difference is more than two of its standard errors, taken from the
means of the networks. A guideline holds when all its cases do: five second-order learners, nine learners, three kinds of
one-vs-rest. Verdicts are from the multi-class sets, as in the paper; the multi-label set has a sentence.
"""
import statistics

import figures
from learners import METHODS, OVRS, SECOND

CLOSE, ERRORS = 1.0, 2


def verdict(hits, count):
    return f"{'yes' if hits == count else 'no'}, {hits} of {count}"


def judged(studies):
    return [study for study in studies if study["task"] != "multilabel"] or studies


def against(studies, other, average):
    """The Perceptron less another learner."""
    return figures.paired(studies, lambda s: figures.main_kind(s, "perceptron", average),
                          lambda s: figures.main_kind(s, other, average))


def perceptron_sentences(studies, average):
    word = "averaged" if average else "not averaged"
    return [f"{study['name']}, {word}: " + ", ".join(
        f"{figures.difference_text(against([study], other, average))} against {other}" for other in SECOND) + "."
        for study in studies]


def perceptron(studies):
    means = {average: [figures.summary(against(judged(studies), other, average))[0] for other in SECOND]
             for average in (True, False)}
    hits = {average: sum(mean >= -CLOSE for mean in found) for average, found in means.items()}
    return [(f"1. A Perceptron competes with second-order learners (at most {CLOSE:g} point below), all averaged",
             verdict(hits[True], len(SECOND)), f"Perceptron less each: {min(means[True]):+.2f} to "
             f"{max(means[True]):+.2f} points", perceptron_sentences(studies, True)),
            ("1a. Without averaging it does not", verdict(len(SECOND) - hits[False], len(SECOND)),
             f"Perceptron less each: {min(means[False]):+.2f} to {max(means[False]):+.2f} points",
             perceptron_sentences(studies, False))]


def gains(studies, method):
    return figures.paired(studies, lambda s: figures.main_kind(s, method),
                          lambda s: figures.main_kind(s, method, False))


def spread(studies, average):
    """Best learner less worst, of their means."""
    means = [statistics.fmean(score for study, kinds in figures.cells(studies)
                              for score in kinds[figures.main_kind(study, method, average)]["scores"])
             for method in METHODS]
    return max(means) - min(means)


def averaging(studies):
    found = {method: figures.summary(gains(judged(studies), method)) for method in METHODS}
    hits = sum(mean > ERRORS * error for mean, _, error in found.values())
    lost = sum(mean < -ERRORS * error for mean, _, error in found.values())
    means = [mean for mean, _, _ in found.values()]
    sentences = [f"{study['name']}: " + ", ".join(
        f"{method} {figures.difference_text(gains([study], method))}" for method in METHODS) + "."
        for study in studies]
    spreads = [spread(judged(studies), average) for average in (False, True)]
    return [(f"2. Averaging is necessary for any learner (all gain, by more than {ERRORS} standard errors)",
             verdict(hits, len(METHODS)), f"averaged less not: {min(means):+.2f} to {max(means):+.2f} points; "
             f"{lost} certainly lose", sentences),
            ("2a. Averaging brings the learners close to each other", "yes" if spreads[1] < spreads[0] else "no",
             f"best less worst learner: {spreads[0]:.2f} points without, {spreads[1]:.2f} with averaging", [])]


def multiclass_pairs(studies):
    """{(method, ovr): (mean of multi-class less one-vs-rest, time to the goal in that of multi-class)}"""
    return {(method, ovr): (figures.summary(figures.paired(
        studies, lambda s: (method, "mul", True), lambda s: (method, ovr, True)))[0],
        figures.geometric_mean(figures.slower(studies, method, ovr))) for method in METHODS for ovr in OVRS}


def ovr_figures(found, ovr):
    """(points of multi-class above, times the seconds of one-vs-rest), means over the learners"""
    means, times = zip(*(found[method, ovr] for method in METHODS))
    return statistics.fmean(means), figures.geometric_mean(times)


def ovr_sentence(found, ovr):
    means, times = zip(*(found[method, ovr] for method in METHODS))
    mean, time = ovr_figures(found, ovr)
    return (f"{ovr}: multi-class is {mean:+.2f} points above on average ({min(means):+.2f} to {max(means):+.2f} by "
            f"learner); {ovr} needs {time:.2f} times the seconds ({min(times):.2f} to {max(times):.2f}), more than "
            f"multi-class for {sum(t > 1 for t in times)} of {len(times)} learners.")


def multiclass(studies):
    several = [study for study in studies if study["task"] != "multilabel"]
    if not several:
        return []
    found = multiclass_pairs(several)
    means, times = zip(*(ovr_figures(found, ovr) for ovr in OVRS))
    near, late = [mean >= -CLOSE for mean in means], [time > 1 for time in times]
    both = sum(mean >= -CLOSE and time > 1 for mean, time in found.values())
    return [("3. Investigate multi-class first: as accurate as each one-vs-rest, and sooner there",
             verdict(sum(map(all, zip(near, late))), len(OVRS)),
             f"3a and 3b together, means over the learners; learner by learner {both} of {len(found)} pairs", []),
            (f"3a. It is at most {CLOSE:g} point below one-vs-rest", verdict(sum(near), len(OVRS)),
             f"multi-class less one-vs-rest: {min(means):+.2f} to {max(means):+.2f} points", []),
            (f"3b. One-vs-rest takes longer to a score {figures.GOAL_BELOW:g} points below what both reach",
             verdict(sum(late), len(OVRS)),
             f"{min(times):.2f} to {max(times):.2f} times the seconds, geometric means over networks and learners",
             [ovr_sentence(found, ovr) for ovr in OVRS])]


def verdicts(studies):
    """[(claim, does it hold, figures, sentences)]"""
    return perceptron(studies) + averaging(studies) + multiclass(studies)
