# SPDX-License-Identifier: BSD-3-Clause
"""The page: tables of the studies and what they mean for the paper's guidelines."""
import statistics

import claims
import curves
import figures
from common import answer_lines, claim_lines, machine_lines, metric, table
from learners import CHECKED, METHODS, PASSES, SEEDS, schemes
from splits import SHARE

SHOWN_PASSES = (1, 2, 5, 10, PASSES)


ANSWER = {"1. ": "An averaged Perceptron is at most a point below second-order learners",
          "1a.": "Without averaging it is not",
          "2. ": "Every learner gains by averaging",
          "2a.": "Averaging brings the learners close to each other",
          "3. ": "Multi-class learning is as accurate as one-vs-rest, and sooner there"}


def head(doctor, studies, seconds, found):
    worst = max(value for study in studies for value in study["checks"])
    count = sum(len(study["checks"]) for study in studies)
    return [
        "# Online learning: three guidelines", "", *answer_lines(found, ANSWER),
        f"Made by `experiments/online/run` in {seconds:.0f} s; nothing here is edited by hand. Every figure comes from "
        "the JSON of `tenon fit` and `eval` with their defaults where nothing else is said. The paper is Ushiku, Hidaka, "
        "Harada, *Three Guidelines of Online Learning for Large-Scale Visual Recognition*, CVPR 2014.", "",
        *machine_lines(doctor, f"Seeds {SEEDS[0]} to {SEEDS[-1]} for the order of rows and the negatives drawn"),
        "- Data: float16 activations of small public networks, L2-normalised rows, intercept. Scores are accuracy in "
        "percent, mean average precision for flickr8k, on the set's own test rows; mean ± standard deviation over the "
        "seeds.",
        f"- Choice: C ∈ {{1/16, 1/4, 1, 4, 16}}, η ∈ {{0.5, …, 0.9}} as in the paper, and the number of passes (at most "
        f"{PASSES}) by `--tune --valid` on {SHARE:.0%} of the training rows, drawn once for every class. Then all "
        "training rows are learned, once a seed. The Perceptron has nothing to choose but passes, CW no C.",
        "- Test: the runs that count have the test rows as `--valid --patience 0`, which gives their score after every "
        "pass; nothing is chosen by it, and the curves are for looking only. On "
        f"{count} of them (`{CHECKED}`, first seed, every network) `fit` without test rows and then `eval` gave a score "
        f"at most {worst:.1e} points away.",
        "- Seconds: of the passes alone, one thread a run, as many runs at once as there are cores.", ""]


def set_line(study):
    return (f"{study['rows']} training rows, {study['classes']} classes, {study['task']}, {metric(study)}; "
            f"{figures.main_kind(study, '')[1]}.")


def average_lines(studies):
    lines = ["## Learners with and without averaging (Figures 4 to 7)", "",
             "First the averaged learner, in brackets the same without. The best of a column is bold, averaged and not "
             "by themselves.", ""]
    for study in studies:
        best = {(name, average): max(METHODS, key=lambda m: statistics.fmean(
            kinds[figures.main_kind(study, m, average)]["scores"]))
            for name, kinds in study["cells"].items() for average in (True, False)}
        rows = []
        for method in METHODS:
            row = [method]
            for name, kinds in study["cells"].items():
                texts = [figures.mean_sd(kinds[figures.main_kind(study, method, a)]["scores"]) for a in (True, False)]
                texts = [f"**{t}**" if best[name, a] == method else t for t, a in zip(texts, (True, False))]
                row.append(f"{texts[0]} ({texts[1]})")
            rows.append(row)
        lines += [f"### {study['name']}", "", set_line(study), "", *table(["learner", *study["cells"]], rows)]
    return lines


def pass_lines(studies):
    lines = ["## Score against passes (Figure 8)", "",
             "Mean over the networks of a set, ± over seeds. The last column is the score after the number of passes that "
             "was chosen on held-out rows.", ""]
    for study in studies:
        rows = []
        for method in METHODS:
            for average in (True, False):
                kind = figures.main_kind(study, method, average)
                rows.append([method, "averaged" if average else "last weights",
                             *(figures.mean_sd(figures.network_mean(study, kind, p)) for p in SHOWN_PASSES),
                             figures.mean_sd(figures.chosen_mean(study, kind))])
        lines += [f"### {study['name']}", "",
                  *table(["learner", "weights", *(f"pass {p}" for p in SHOWN_PASSES), "chosen"], rows)]
    return lines


def picture_lines():
    shown = " and ".join(curves.SHOWN)
    return ["## Curves (Figures 8 and 9)", "",
            f"Test score of {shown}, mean over networks and seeds: against passes, averaged and not; against the "
            "milliseconds of a network, averaged, for every scheme. Error bars: standard deviation over seeds.", "",
            "![curves](online.svg)", ""]


def seconds_to(study, kind, at):
    """Sum over networks of the mean seconds of so many passes."""
    return sum(figures.mean_curve(kinds[kind], "seconds")[at - 1] for kinds in study["cells"].values())


def goal_text(study, method, scheme):
    """Seconds of a one-vs-rest and of multi-class learning to their common goal, sums over the networks."""
    if scheme == "mul" or study["task"] == "multilabel":
        return ""
    times = [figures.time_to_goal(kinds, method, scheme) for kinds in study["cells"].values()]
    mul, ovr = map(sum, zip(*times))
    return f"{ovr:.3f} against {mul:.3f}"


def scheme_rows(study):
    rows = []
    for method in METHODS:
        for scheme in schemes(study["task"]):
            kind = (method, scheme, True)
            rows.append([method, scheme, figures.mean_sd(figures.chosen_mean(study, kind)),
                         *(f"{statistics.fmean(figures.network_mean(study, kind, p)):.1f} "
                           f"({seconds_to(study, kind, p):.3f})" for p in SHOWN_PASSES),
                         goal_text(study, method, scheme)])
    return rows


def scheme_lines(studies):
    lines = ["## Multi-class against one-vs-rest, score against seconds (Figure 9)", "",
             "All averaged; mean over the networks of a set. Behind the score after the chosen passes: score after so many "
             "passes, in brackets the seconds they took, summed over the networks. `to the goal`: seconds of this "
             "one-vs-rest against those of multi-class learning, until the score is for the first time within "
             f"{figures.GOAL_BELOW:g} points of the best that both reach, summed over the networks.", ""]
    for study in studies:
        lines += [f"### {study['name']}", "",
                  *table(["learner", "scheme", "chosen", *(f"pass {p}" for p in SHOWN_PASSES), "to the goal, s"],
                         scheme_rows(study))]
    return lines


def chosen_text(chosen):
    words = [f"{sign} {chosen[key]:g}" for sign, key in (("C", "C"), ("η", "eta")) if chosen[key] is not None]
    return ", ".join([*words, f"{chosen['passes']} passes"])


def choice_lines(studies):
    lines = ["## What was chosen", "", "On held-out rows; first averaged, then without.", ""]
    for study in studies:
        rows = [[method, *("; ".join(chosen_text(kinds[figures.main_kind(study, method, a)]["chosen"])
                                     for a in (True, False)) for kinds in study["cells"].values())]
                for method in METHODS]
        lines += [f"### {study['name']}", "", *table(["learner", *study["cells"]], rows)]
    return lines


def render(doctor, studies, seconds):
    found = claims.verdicts(studies)
    sections = [head(doctor, studies, seconds, found), claim_lines("## The paper's guidelines", found),
                average_lines(studies), picture_lines(), pass_lines(studies), scheme_lines(studies), choice_lines(studies)]
    return "\n".join(line for section in sections for line in section)
