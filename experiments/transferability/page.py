# SPDX-License-Identifier: BSD-3-Clause
"""The page: what the figures say, then the figures."""
import statistics

import candidates
import figures
import heads
import rivals
from common import claim_lines, machine_lines, table

LEVEL = 2  # standard errors


def signed(lead):
    return f"{lead[0]:+.3f} ± {lead[1]:.3f}"


def better(lead):
    """yes, no or level, by how many standard errors."""
    return "level" if abs(lead[0]) <= LEVEL * lead[1] else "yes" if lead[0] > 0 else "no"


def named(score):
    return figures.SHORT.get(score, score)


def default_of(results):
    """The score that should rank: the evidence, unless another one is certainly better and its first choice costs no
    more."""
    leads = {score: results.lead(score, "evidence", "all") for score in ("loo", "nll", "knn")}
    cost = {score: results.mean(results.regret, score, results.sets, "all") for score in ("evidence", *leads)}
    winners = [score for score, lead in leads.items() if better(lead) == "yes" and cost[score] <= cost["evidence"]]
    return max(winners, key=lambda score: leads[score][0], default="evidence"), leads, cost


def claims(results):
    """[(claim, does it hold, figures, sentences)]"""
    best, leads, cost = default_of(results)
    found = [("Another figure than the evidence should rank by default", "no" if best == "evidence" else f"yes, {best}",
              "τ_w less that of the evidence, all candidates: "
              + ", ".join(f"{named(score)} {signed(lead)}" for score, lead in leads.items())
              + "; regret in points: " + ", ".join(f"{named(score)} {value:.2f}" for score, value in cost.items()),
              [f"`--by {score}` orders better than the evidence: {better(lead)}." for score, lead in leads.items()])]
    bias = {score: results.mean(results.bias_to_width, score, results.sets) for score in figures.OURS}
    found.append(("With the evidence width pays by itself", "yes" if bias["evidence"] > 0.1 else "no",
                  "correlation with the width, less that of the test scores: "
                  + ", ".join(f"{named(score)} {value:+.2f}" for score, value in bias.items()), []))
    lead = results.lead("LogME", "evidence", "all")
    found.append(("LogME as published orders worse than the evidence with an intercept",
                  {"yes": "no", "no": "yes"}.get(better(lead), "level"),
                  f"τ_w less that of the evidence {signed(lead)}; bias to width "
                  f"{results.mean(results.bias_to_width, 'LogME', results.sets):+.2f} against {bias['evidence']:+.2f}", []))
    for one, other, why in (("N-LEEP", "LogME", "published: .81 against .50"), ("GBC", "LogME", ""), ("NCTI", "LogME", ""),
                            ("knn", "LogME", "a study of 42,000 runs found kNN best"), ("N-LEEP", "evidence", ""),
                            ("GBC", "evidence", ""), ("NCTI", "evidence", "")):
        if results.sets_of(one):
            lead = results.lead(one, other, "all")
            found.append((f"{named(one)} orders better than {named(other)}", better(lead),
                          f"τ_w {signed(lead)}" + (f"; {why}" if why else ""), []))
    return found


def answer(results):
    best, leads, cost = default_of(results)
    certain = {named(score): better(lead) for score, lead in leads.items() if better(lead) != "level"}
    level = "none of the other three is certainly better or worse" if not certain else "certainly " + ", ".join(
        f"{'better' if how == 'yes' else 'worse'}: {name}" for name, how in certain.items())
    bias = results.mean(results.bias_to_width, "evidence", results.sets)
    taus = {score: results.mean(results.tau, score, results.sets, "all") for score in cost}
    lines = [f"- Which figure should rank? **`--by {best}`**, the default"
             + (": " if best == "evidence" else " should become that: ")
             + "mean τ_w with the test score of the best head over all candidates "
             + ", ".join(f"{named(score)} {value:.2f}" for score, value in taus.items())
             + f"; {level} (two standard errors).",
             "- What the first choice costs, in points below the best candidate: "
             + ", ".join(f"{named(score)} {value:.2f}" for score, value in cost.items()) + "."]
    rivals_of = {score: results.mean(results.tau, score, results.sets_of(score), "all") for score in figures.PUBLISHED
                 if results.sets_of(score)}
    lines.append("- The published scores, with the evidence on the sets that they exist for: " + ", ".join(
        f"{score} {value:.2f} ({results.mean(results.tau, 'evidence', results.sets_of(score), 'all'):.2f})"
        for score, value in rivals_of.items()) + ".")
    lines.append(f"- Width by itself: the evidence follows the number of columns by {bias:+.2f} (Spearman) more than the "
                 "test scores do; a figure near 0 is fair.")
    return [*lines, ""]


def row(results, score, name, sets):
    return [name, *(f"{results.mean(results.tau, score, sets, group):.2f}" for group in figures.GROUPS),
            *(f"{results.mean(results.regret, score, sets, group):.2f}" for group in figures.GROUPS),
            f"{results.mean(results.bias_to_width, score, sets):+.2f}"]


def score_lines(results, title, about, sets, names):
    head = ["score", *(f"τ_w, {group}" for group in figures.GROUPS), *(f"regret, {group}" for group in figures.GROUPS),
            "bias to width"]
    rows = [row(results, score, name, sets) for score, name in names.items() if set(sets) <= set(results.sets_of(score))]
    return [title, "", about, "", *table(head, rows)]


def set_lines(results):
    scores = [*figures.OURS, *figures.PUBLISHED]
    rows = []
    for name in results.sets:
        for group in figures.GROUPS:
            members = results.members(name, group)
            cells = [f"{results.tau(s, name, group):.2f} / {results.regret(s, name, group):.1f}"
                     if name in results.sets_of(s) else "" for s in scores]
            rows.append([name, group, len(members), *cells])
    return ["## Set by set", "", "τ_w / regret in points.", "", *table(["set", "candidates", "number", *map(named, scores)],
                                                                      rows)]


def head_lines(results):
    """Which heads were the best, and what candidates score."""
    rows = []
    for name in results.sets:
        members = results.members(name, "normalisations")
        for network in results.networks(name):
            own = [one for one in members if one.network == network]
            cells = [f"{results.test[one]:.2f} ({max(results.heads[one], key=results.heads[one].get)})" for one in own]
            rows.append([name, network, own[0].width, *cells])
    kinds = list(dict.fromkeys(one.normalize for one in results.members(results.sets[0], "normalisations")))
    return ["## Test scores of the best heads", "", "In brackets the head, C in units of 1 / mean squared length of a row.",
            "", *table(["set", "network", "dim", *kinds], rows)]


def width_lines(results):
    rows = []
    for name in results.sets:
        for network in results.networks(name):
            own = sorted((one for one in results.members(name, "columns") if one.network == network),
                         key=lambda one: one.width)
            rows.append([name, network, ", ".join(f"{one.width}: {results.test[one]:.1f}" for one in own)])
    return ["## Random columns", "", "Columns: test score of the best head, l2.", "",
            *table(["set", "network", "test scores"], rows)]


def render(doctor, versions, tested, said, seconds):
    """(text, results)"""
    results = figures.Results(tested, said)
    single = [name for name in results.sets if name in results.sets_of("N-LEEP")]
    noise = statistics.fmean(max(h.values()) - statistics.median(h.values()) for h in tested.values())
    lines = ["# Transferability: which figure should rank?", "", *answer(results),
             "![weighted Kendall correlation of scores with test scores](transferability.svg)", "",
             f"Made by `experiments/transferability/run`, {seconds[0] + seconds[1]:.0f} s of processor time "
             f"({seconds[0]:.0f} s of it for the heads); nothing here is edited by hand.", "",
             *machine_lines(doctor, f"{versions} for the published scores. Columns are drawn with a seed made of set, "
                            "network and width; seed 0 elsewhere"),
             f"- Candidates: {len(tested)}; every network of every set in the normalisations "
             f"{', '.join(candidates.NORMALIZE)}, and with l2 random columns of it, 32, 64, … of them. Groups: networks "
             "(l2, all columns), normalisations (all columns), columns (l2, all widths), all.",
             "- Truth: the best test score (accuracy, flickr8k mean AP, percent) of `tenon fit` by evidence, svm with C of "
             f"{', '.join(map(str, heads.SVM))} and logistic with C of {', '.join(map(str, heads.LOGISTIC))}, C chosen on "
             f"the test rows; it is {noise:.1f} points above the median head on average.",
             "- Scores see training rows and labels only. The program's are those of `tenon rank` with its defaults; the "
             "published ones are computed by `rivals.py` from the papers' formulas on the same prepared rows. N-LEEP's "
             f"mixture has diagonal covariances and {rivals.COMPONENTS} components per class, NCTI's three parts are "
             "standardised over the set's candidates. The last three need one class per row: none for flickr8k.",
             "- τ_w: Kendall's τ with hyperbolic weights (SciPy's `weightedtau`), per set, then the mean. Regret: test score "
             "of the best candidate less that of the first by the score. Standard errors of differences: by leaving one "
             "network out at a time. Cosines are the same for l2, l1 and none, so that neighbours cannot tell these apart.",
             "", *claim_lines("## Verdicts", claims(results)),
             *score_lines(results, "## All sets", "Means over the sets.", results.sets, figures.OURS | figures.PUBLISHED)]
    if single and single != results.sets:
        lines += score_lines(results, "## Sets with one class per row", "The same where all scores exist.", single,
                             figures.OURS | figures.PUBLISHED)
    lines += score_lines(results, "## How many neighbours?",
                         "Leave-one-out over all rows, computed by `rivals.py`; plain: every neighbour counts alike; weighted: "
                         "by its cosine above that of the first that is not asked. The program asks 10, weighted.",
                         results.sets, {name: name for name in figures.neighbour_names()})
    return "\n".join(lines + set_lines(results) + head_lines(results) + width_lines(results)), results
