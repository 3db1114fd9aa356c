# SPDX-License-Identifier: BSD-3-Clause
"""The page: tables of the cells and what they mean for the paper's claims."""
import statistics

import claims
import figures
import protocol
import tasks
from common import answer_lines, claim_lines, machine_lines, table
from protocol import METHODS, NEGATIVES, ORACLE, SIZES, TEST

NAMES = {"greedytl": "GreedyTL", "auto": "auto (none, rls or greedytl)", "rls": "RLS src+feat", "none": "no transfer",
         "average": "AverageKT", "dam": "DAM", "multikt-l2": "MultiKT l2", "multikt-l1": "MultiKT l1",
         "l1-logistic": "l1 logistic", "elastic-net": "elastic net", "forward": "forward regression",
         "l1-logistic balanced": "l1 logistic, class weights", "elastic-net balanced": "elastic net, class weights",
         ORACLE: "best source (oracle)"}
AUTO = ("none", "rls", "greedytl")
COMMAND = "tenon transfer --target f=x.npy --labels y.txt --source s=scores.npy --method METHOD"


def spent(doctor, entries):
    """Of all runs that the cells were found in. A clock would tell what else the machines did."""
    cpu = sum(entry["cpu"] for entry in entries)
    return (f"{cpu:.0f} s of processor time, all processes of all runs together ({doctor['cores']} cores that have nothing "
            f"else to do need {cpu / doctor['cores']:.0f} s at least)")


ANSWER = {"1. ": "With two positives GreedyTL beats its rivals", "1a.": "With two to ten positives it does",
          "5. ": "It is as good as the best source, an oracle, or better",
          "2. ": "It beats ridge on all sources and features",
          "4a.": "With 1000 dimensions of noise it beats l1 and elastic net",
          "6. ": "It beats its rivals with sources off the shelf"}


def head(doctor, studies, entries, verdicts):
    return [
        "# Transfer from other classifiers", "", *answer_lines(verdicts, ANSWER),
        f"Made by `experiments/transfer/run` in {spent(doctor, entries)}; nothing here is edited by hand. "
        "Every figure comes "
        f"from the JSON of `{COMMAND}` and of `tenon eval`, with their defaults; only the best source is found by the "
        "experiment. The paper is Kuzborskij, Orabona, Caputo, *Transfer Learning through Greedy Subset Selection*, 2015.",
        "", *machine_lines(doctor, "Draws are seeded by set, class and number"),
        "- Data: float16 activations of small public networks, L2-normalised rows; strong features: "
        f"{', '.join(protocol.STRONG)}; weak ones: {', '.join(protocol.WEAK)}. "
        "flickr8k is not here: its pictures have several labels, so that classes share rows and none can be left out or "
        "stand for the negatives.",
        f"- Protocol: {protocol.NEGATIVE_SHARE:.0%} of the classes, by lot, are the negative class, their training rows "
        "split 90 to 10 into negatives of sources and of targets. Every other class is the target once; sources are linear "
        "SVMs of all others against the negatives (`tenon fit --method svm-cv`, 5 folds, C from 10^-4 to 10^4). "
        f"{{{', '.join(map(str, SIZES))}}} positives and {NEGATIVES} negatives to learn from; {TEST} + {TEST} of the set's "
        "own test rows to test on, fewer positives where the class has fewer.",
        "- Scores: balanced accuracy in percent. A class counts as the mean of its "
        f"{max(entry['cell'][4] for entry in entries)} draws. "
        "± is half the 95 % interval (Student's t) of the mean over "
        "classes. Best of a column in bold, the oracle apart.",
        "- GreedyTL: λ = 1, δ = 10^-4, k free, as in the paper. The others choose by leave-one-out.", "",
        *table(["set", "classes", "targets", "networks", "test positives of a target"],
               [[s["name"], s["classes"], len(s["targets"]), ", ".join(s["networks"]), positives_text(s)]
                for s in studies])]


def positives_text(study):
    counts = [protocol.positives(study, label) for label in study["targets"]]
    return f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{counts[0]}"


def best_table(head_words, methods, columns):
    """columns: {head: {method: values}}; a row per method, the best mean of a column bold."""
    best = {name: figures.winners({m: values[m] for m in methods if m != ORACLE}) for name, values in columns.items()}
    rows = [[NAMES[m], *(f"**{figures.text(values[m])}**" if m in best[name] else figures.text(values[m])
                         for name, values in columns.items())] for m in methods]
    return table([head_words, *columns], rows)


def main_lines(found, studies):
    lines = ["## Sources of the same set (Figure 1)", "",
             "Columns: network and number of positives. The picture has the means over strong and over weak networks, and "
             "the mean of their intervals.", "",
             "![balanced accuracy by number of positives](transfer.svg)", ""]
    for study in studies:
        methods = (*METHODS, ORACLE)
        columns = {f"{network}, {size}": {m: found.values((study["name"], network), tasks.SVM, m, size) for m in methods}
                   for network in study["networks"] for size in SIZES}
        lines += [f"### {study['name']}", "", *best_table("method", methods, columns)]
    return lines


def winner_rows(found, places):
    columns = {(word, size): [place for place in places if figures.kind_of(place[1]) == word]
               for word in ("strong", "weak") for size in SIZES}
    first = {(place, size): figures.winners({m: found.values(place, tasks.SVM, m, size) for m in METHODS})
             for place in places for size in SIZES}
    for method in METHODS:
        row = [NAMES[method]]
        for (_, size), here in columns.items():
            unbeaten = [p for p in here if all(figures.mark(found.lead(p, tasks.SVM, m, method, size)) < 1
                                               for m in METHODS)]
            means = [statistics.fmean(found.values(p, tasks.SVM, method, size)) for p in here]
            row.append(f"{statistics.fmean(means):.1f}; {sum(method in first[p, size] for p in here)}, {len(unbeaten)} "
                       f"of {len(here)}" if here else "")
        yield row


def order_lines(found):
    """In words: who is first with which features and how many positives, and where GreedyTL and auto are."""
    for word in ("strong", "weak"):
        here = [place for place in found.places(tasks.SVM) if figures.kind_of(place[1]) == word]
        for size in SIZES if here else ():
            means = {m: statistics.fmean(statistics.fmean(found.values(p, tasks.SVM, m, size)) for p in here)
                     for m in METHODS}
            order = sorted(METHODS, key=lambda m: -means[m])
            first = ", ".join(f"{NAMES[m]} {means[m]:.1f}" for m in order[:3])
            rest = "; ".join(f"{NAMES[m]} is number {order.index(m) + 1} with {means[m]:.1f}"
                             for m in ("greedytl", "auto") if m not in order[:3])
            yield f"- {word.capitalize()} features, {size} positives: {first}{'; ' if rest else ''}{rest}."


def auto_lines(found):
    """What leave-one-out's choice gains over always taking the same of its candidates."""
    rows = []
    for rival in AUTO:
        leads = {(word, size): [found.lead(p, tasks.SVM, "auto", rival, size) for p in found.places(tasks.SVM)
                                if figures.kind_of(p[1]) == word] for word in ("strong", "weak") for size in SIZES}
        rows.append([f"auto less {NAMES[rival]}", *(f"{statistics.fmean(mean for mean, _ in some):+.2f}; "
                                                    f"{claims.tally(some)}" if some else "" for some in leads.values())])
    same = ", ".join(f"{found.alike(tasks.SVM, 'auto', rival):.0%} with {NAMES[rival]}" for rival in AUTO)
    return ["`--method auto` against its own candidates: mean difference in points over pairs of set and network, and in "
            f"how many of them it is certain. Of all tasks its score is the same in {same}. It compares "
            "leave-one-out errors for which everything is done again without the row, picks and the choice of λ too; with a "
            "dozen rows many of them are equal, and then squared errors decide.", "",
            *table(["", *(f"{word}, {size}" for word in ("strong", "weak") for size in SIZES)], rows)]


def winner_lines(found):
    return ["## Where each method wins", "", "The three highest means over pairs of set and network:", "",
            *order_lines(found), "",
            "Columns: features, positives. First the mean over pairs of set and network; then in how many of them the "
            "method's mean is the highest, equals counted for both; then in how many no other method is above it by more "
            "than the interval of the difference.", "",
            *table(["method", *(f"{word}, {size}" for word in ("strong", "weak") for size in SIZES)],
                   winner_rows(found, found.places(tasks.SVM))),
            *auto_lines(found)]


def noise_lines(found):
    places = found.places(tasks.NOISY)
    if not places:
        return []
    lines = ["## Noise (Figure 2a)", "",
             f"{', '.join(map(str, protocol.NOISE))} columns of standard normal numbers beside features and sources, the "
             "same numbers for all targets. Columns: positives, dimensions of noise.", ""]
    for place in places:
        columns = {f"{size}, {dims}": {m: found.values(place, tasks.NOISY, m, size, dims) for m in protocol.NOISE_METHODS}
                   for size in SIZES for dims in (0, *protocol.NOISE)}
        lines += [f"### {place[0]}, {place[1]}", "", *best_table("method", protocol.NOISE_METHODS, columns)]
    return lines


def shelf_lines(found):
    lines = []
    for kind in protocol.SHELF:
        places = found.places(kind)
        columns = {f"{name}, {network}, {size}": {m: found.values((name, network), kind, m, size) for m in METHODS}
                   for name, network in places for size in SIZES}
        if places:
            lines += [f"### Sources: {kind}", "", *best_table("method", METHODS, columns)]
    if not lines:
        return []
    return ["## Sources off the shelf (Figures 2b to 2f)", "",
            "Scores of classifiers that never saw the set: 1000 ImageNet classes, 365 places. Columns: set, network, "
            "positives. Raw scores have no threshold, so there is no best source by sign, and their average is no "
            "classifier either.", "", *lines]


def render(doctor, studies, entries, found):
    verdicts = claims.verdicts(found)
    sections = [head(doctor, studies, entries, verdicts),
                claim_lines("## The paper's claims", verdicts),
                ["A case is a set, a network, a number of positives and a rival. It is won when GreedyTL is above by more "
                 "than the 95 % interval of the difference, class by class, lost when it is below by more, else tied; in "
                 "claim 4 what is compared is the loss by noise. Counted as agreeing with a claim are the cases won, in "
                 "claim 5 those not lost. All methods but two are asked with their defaults; these two, the logistic ones, "
                 "also with `--class-weight balanced`, and are rivals both ways: with two positives every λ misses the "
                 "positive that is left out, and leave-one-out then prefers the model without columns.", ""],
                winner_lines(found), main_lines(found, studies), noise_lines(found), shelf_lines(found)]
    return "\n".join(line for section in sections for line in section)
