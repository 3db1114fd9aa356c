# SPDX-License-Identifier: BSD-3-Clause
"""The paper's Table 2, Bayesian least squares against cross-validation and support vector machines: table, sentences.

Scores are compared network by network. "Competitive" is at most CLOSE points below, "much faster" at least MUCH times;
the paper gives no numbers for these words.
"""
import math
import statistics

from common import in_words, metric, table

COLUMNS = {"best-ridge": "best ridge (oracle)", "bayes": "Bayesian", "bayes-per-class": "Bayesian, λ per class",
           "cv-ridge": "CV ridge", "best-svm": "best SVM (oracle)", "svm": "SVM, C = 1", "cv-svm": "CV SVM",
           "best-logistic": "best logistic (oracle)", "logistic": "logistic, C = 1", "cv-logistic": "CV logistic", "auto": "auto"}
ORACLES = ("best-ridge", "best-svm", "best-logistic")
WITH_VALUE = (*ORACLES, "cv-ridge", "cv-svm", "cv-logistic")
TIMED = [name for name in COLUMNS if name not in ORACLES]
CLOSE, MUCH = 1.0, 3.0


def cells(studies):
    """All (study, network, methods)."""
    return [(study, name, methods) for study in studies for name, methods in study["classifiers"].items()]


def differences(studies, one, other):
    return [methods[one]["score"] - methods[other]["score"] for _, _, methods in cells(studies)]


def slower(studies, other):
    """Seconds of a method in seconds of the Bayesian one, network by network."""
    return [methods[other]["seconds"] / methods["bayes"]["seconds"] for _, _, methods in cells(studies)]


def mean_score(studies, method):
    return statistics.fmean(methods[method]["score"] for _, _, methods in cells(studies))


def wins(studies):
    """{method: on how many networks nothing but an oracle is better}; of equals each wins."""
    count = dict.fromkeys(TIMED, 0)
    for _, _, methods in cells(studies):
        top = max(methods[name]["score"] for name in TIMED)
        for name in TIMED:
            count[name] += methods[name]["score"] == top
    return count


# ---- claims ----

def close_sentence(study, other):
    gaps = differences([study], "bayes", other)
    return (f"{study['name']}: Bayesian {mean_score([study], 'bayes'):.1f}, {COLUMNS[other]} "
            f"{mean_score([study], other):.1f} on average; difference {min(gaps):+.1f} to {max(gaps):+.1f}, better on "
            f"{sum(gap > 0 for gap in gaps)} of {len(gaps)} networks, worse on {sum(gap < 0 for gap in gaps)}.")


def close_claim(studies, other):
    gaps = differences(studies, "bayes", other)
    return (f"The Bayesian choice of λ is competitive with {COLUMNS[other]} (at most {CLOSE:g} point below)",
            in_words(sum(gap >= -CLOSE for gap in gaps), len(gaps)),
            f"Bayesian minus {COLUMNS[other]}: {min(gaps):+.1f} to {max(gaps):+.1f} points, mean "
            f"{statistics.fmean(gaps):+.2f}", [close_sentence(study, other) for study in studies])


def faster_claim(studies, other):
    times = slower(studies, other)
    middle = math.exp(statistics.fmean(math.log(value) for value in times))
    sums = [sum(methods[name]["seconds"] for _, _, methods in cells(studies)) for name in ("bayes", other)]
    return (f"It is much faster than {COLUMNS[other]} (at least {MUCH:g} times)",
            in_words(sum(value >= MUCH for value in times), len(times)),
            f"{min(times):.1f} to {max(times):.1f} times, geometric mean {middle:.1f}; {sums[0]:.1f} s against "
            f"{sums[1]:.1f} s for all networks", [])


def many_classes_claim(studies):
    """Multi-class sets in order of their classes: the lead of the SVM is there and largest where they are most."""
    several = sorted((s for s in studies if s["task"] == "multiclass"), key=lambda s: s["classes"])
    leads = {s["name"]: statistics.fmean(differences([s], "cv-svm", "bayes")) for s in several}
    figures = ", ".join(f"{s['name']} ({s['classes']} classes) {leads[s['name']]:+.1f}" for s in several)
    if len(several) < 2:
        return []
    last = leads[several[-1]["name"]]
    holds = last > 0 and last == max(leads.values())
    sentences = []
    for s in several:
        ahead = sum(gap > 0 for gap in differences([s], "cv-svm", "bayes"))
        sentences.append(f"{s['name']}, {s['classes']} classes: CV SVM ahead of Bayesian on {ahead} of "
                         f"{len(s['classifiers'])} networks, by {leads[s['name']]:+.1f} points on average.")
    return [("The SVM is ahead where classes are many (its lead is positive and largest on the set with most classes)",
             f"{'yes' if holds else 'no'}, {len(several)} sets", f"mean lead of CV SVM over Bayesian: {figures}",
             sentences)]


def verdicts(studies):
    """Rows as those of claims.verdicts."""
    found = []
    for other in ("cv-ridge", "cv-svm"):
        found += [close_claim(studies, other), faster_claim(studies, other)]
    return found + many_classes_claim(studies)


# ---- the page ----

def parameter_text(methods, name):
    value = methods[name]["parameter"]
    return f"{methods[name]['score']:.2f} ({value:g})"


def score_rows(study):
    rows = []
    for name, methods in study["classifiers"].items():
        top = max(methods[m]["score"] for m in TIMED)
        row = [name]
        for method in COLUMNS:
            text = parameter_text(methods, method) if method in WITH_VALUE else f"{methods[method]['score']:.2f}"
            row.append(f"**{text}**" if method in TIMED and methods[method]["score"] == top else text)
        rows.append(row)
    rows.append(["average"] + [f"{mean_score([study], method):.2f}" for method in COLUMNS])
    return rows


def time_rows(study):
    rows = [[name] + [f"{methods[m]['seconds']:.3f}" for m in TIMED] for name, methods in study["classifiers"].items()]
    sums = [sum(methods[m]["seconds"] for methods in study["classifiers"].values()) for m in TIMED]
    return rows + [["sum"] + [f"{value:.3f}" for value in sums]]


def set_lines(study):
    return [f"### {study['name']}: classifiers", "", f"Test {metric(study)}, percent:", "",
            *table(["network", *COLUMNS.values()], score_rows(study)), "Seconds of `fit`:", "",
            *table(["network", *(COLUMNS[name] for name in TIMED)], time_rows(study))]


def loose_lines(studies):
    loose = [f"{study['name']}/{name} ({COLUMNS[m]})" for study, name, methods in cells(studies) for m in COLUMNS
             if not methods[m]["converged"]]
    return [f"Stopped by `--max-passes` before their gap was small enough: {', '.join(loose)}.", ""] if loose else []


def lines(studies):
    count, total = wins(studies), len(cells(studies))
    rows = [(title, f"{mean_score(studies, name):.2f}",
             "oracle" if name in ORACLES else f"{count[name]} of {total}") for name, title in COLUMNS.items()]
    text = ["## Classifiers (the paper's Table 2)", "",
            "Each network alone, all by `tenon fit` and `tenon eval`. Bayesian: `--method evidence` with its default λ "
            "(shared for multi-class, a class's own for multi-label), and with one λ per class, as in the paper. CV: "
            "five folds over the paper's grids, 21 values of λ or 8 of C, and 7 of C from 1 to 1000 for logistic; the value taken is in "
            "brackets. The oracles "
            "took the value of the same grids that is best in the test: what they lead by cannot be had honestly. The "
            "best of the others is bold. Logistic is multinomial, for flickr8k one model per class. "
            "Auto is `fit` without a method. The time of CV ridge "
            "has that of the evidence in it, which `fit` computes beside it.", "",
            *table(["all networks", "average", "nothing better"], rows), *loose_lines(studies)]
    for study in studies:
        text += set_lines(study)
    return text
