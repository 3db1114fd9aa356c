# SPDX-License-Identifier: BSD-3-Clause
"""Several classes at once: a few rows of every class, one head whose arg-max is tested on all test rows of the set, against
`tenon fit` on the same features and the same scores as two representations.

Sources are the scores of a classifier off the shelf, or a head for the other classes of the set, which the target leaves out.
"""
import math
import random
import statistics

from common import call, table, test_score
from protocol import rows_by_class

ROWS, DRAWS, HEAD = (1, 2, 5, 10), 5, "head"
PAIRS = (("scene15", "darknet", "places_scores"), ("scene15", "squeezenet", "places_scores"),
         ("flowers12", "darknet", "imagenet_scores"), ("flowers12", "mobilenetv2", "places_scores"),
         ("flowers12", "places", "imagenet_scores"), ("caltech101", "darknet", HEAD), ("caltech101", "squeezenet", HEAD))
FIT, METHODS = "fit", ("auto", "greedytl", "rls", "none")
TARGETS = 20  # classes of a set whose others make a head
TITLE = "## Several classes at once"


def cells(sets, draws):
    """[(set, network, sources, draw)]"""
    return [(*pair, number) for number in range(min(draws, DRAWS)) for pair in PAIRS if pair[0] in sets]


class Trial:
    """Files of one draw: all rows of the set, of which a few have a label."""

    def __init__(self, program, features, cell, scratch):
        self.program, self.scratch = program, scratch
        name, self.network, self.kind, self.number = cell
        self.folder = features / name
        self.parts = {part: rows_by_class(self.folder / f"labels.{part}.npy") for part in ("train", "test")}
        labels = sorted(self.parts["train"])
        lot = random.Random(f"{name} targets")
        self.targets = sorted(lot.sample(labels, TARGETS)) if self.kind == HEAD else labels
        self.rows = {part: sum(map(len, groups.values())) for part, groups in self.parts.items()}
        order = random.Random(f"{name} {self.number}")
        self.order = {label: order.sample(self.parts["train"][label], max(ROWS)) for label in self.targets}
        self.scores = {part: self.folder / f"{self.kind}.{part}.npy" for part in self.parts}
        if self.kind == HEAD:
            self.train_head([label for label in labels if label not in self.targets])
        self.test = self.write_labels("test", {label: self.parts["test"][label] for label in self.targets})

    def features(self, part):
        return f"f={self.folder}/{self.network}.{part}.npy"

    def write_labels(self, part, groups):
        words = [""] * self.rows[part]
        for label, rows in groups.items():
            for row in rows:
                words[row] = f"c{label}"
        path = self.scratch / f"{part}.txt"
        path.write_text("\n".join([*words, ""]))
        return path

    def train_head(self, others):
        labels, head = self.write_labels("train", {k: self.parts["train"][k] for k in others}), self.scratch / "s.safetensors"
        call(self.program, "fit", self.features("train"), "--labels", labels, "--method", "svm", "--loo", "0", "--threads",
             "1", "-o", head)
        for part in self.parts:
            self.scores[part] = self.scratch / f"s.{part}.npy"
            call(self.program, "predict", head, self.features(part), "--scores", self.scores[part], "--threads", "1")

    def fit(self, labels):
        head = self.scratch / "fit.safetensors"
        call(self.program, "fit", self.features("train"), f"s={self.scores['train']}", "--labels", labels, "--method",
             "evidence", "--select", "all", "--threads", "1", "-o", head)
        return test_score(call(self.program, "eval", head, self.features("test"), f"s={self.scores['test']}", "--labels",
                               self.test, "--threads", "1"))

    def transfer(self, labels, method):
        """(accuracy in percent, what the program said)"""
        head = self.scratch / "transfer.safetensors"
        said = call(self.program, "transfer", "--target", self.features("train"), "--labels", labels, "--source",
                    f"s={self.scores['train']}", "--method", method, "--threads", "1", "-o", head)
        return test_score(call(self.program, "eval", head, self.features("test"), "--source", f"s={self.scores['test']}",
                               "--labels", self.test, "--threads", "1")), said

    def measure(self):
        """{rows: {method: accuracy, "chosen": auto's method, "loo": its leave-one-out accuracy or null, "tested": rows}}; what
        auto took is not trained again."""
        found = {}
        for rows in ROWS:
            labels = self.write_labels("train", {label: order[:rows] for label, order in self.order.items()})
            here = found[str(rows)] = {FIT: self.fit(labels), "tested": sum(len(self.parts["test"][k]) for k in self.targets)}
            here["auto"], said = self.transfer(labels, "auto")
            here["chosen"] = said["method"]
            here["loo"] = None if said["loo_error"] is None else 100 * (1 - said["loo_error"])
            here[said["method"]] = here["auto"]
            for method in METHODS:
                if method not in here:
                    here[method] = self.transfer(labels, method)[0]
        return found


def measure(program, features, cell, scratch):
    return Trial(program, features, cell, scratch).measure()


# ---- the page ----

def standard_error(trial):
    """Of an accuracy on so many test rows, in points."""
    share = trial[FIT] / 100
    return 100 * math.sqrt(share * (1 - share) / trial["tested"])


def row(pair, rows, trials):
    leads = [trial["auto"] - trial[FIT] for trial in trials]
    mean = {method: statistics.fmean(trial[method] for trial in trials) for method in (FIT, *METHODS)}
    loo = [trial["loo"] for trial in trials if trial["loo"] is not None]
    chosen = [trial["chosen"] for trial in trials]
    return [*pair, rows, *(f"{mean[method]:.1f}" for method in (FIT, *METHODS)),
            f"{statistics.fmean(leads):+.1f} ({min(leads):+.1f} to {max(leads):+.1f})",
            ", ".join(f"{word} {chosen.count(word)}" for word in METHODS if word in chosen),
            f"{statistics.fmean(loo):.1f}" if loo else ""]


def verdicts(found):
    """In words: auto against fit, and whether accuracy rises with the rows; found: {(pair, rows): trials}"""
    for rows in ROWS:
        trials = [trial for key, some in found.items() if key[1] == rows for trial in some]
        leads = [trial["auto"] - trial[FIT] for trial in trials]
        worse = sum(lead < -standard_error(trial) for lead, trial in zip(leads, trials))
        yield (f"- {rows} row{'s' if rows > 1 else ''} of every class: auto less fit {statistics.fmean(leads):+.1f} points, "
               f"worst {min(leads):+.1f}; below fit by more than the standard error of an accuracy in {worse} of "
               f"{len(trials)} trials.")
    steps = [(few["auto"], more["auto"]) for (pair, rows), some in found.items() for few, more in
             zip(some, found.get((pair, ROWS[min(ROWS.index(rows) + 1, len(ROWS) - 1)]), [])) if rows != ROWS[-1]]
    yield f"- From one number of rows to the next auto's accuracy rises in {sum(a < b for a, b in steps)} of {len(steps)} steps."


def lines(entries):
    """The section; entries: {cell: what measure gave}"""
    found = {(pair, rows): [entries[cell][str(rows)] for cell in entries if cell[:3] == pair] for pair in PAIRS for rows in ROWS}
    found = {key: trials for key, trials in found.items() if trials}
    head = ["set", "features", "sources", "rows of a class", "fit", *METHODS, "auto less fit", "auto took", "its LOO"]
    draws = len({cell[3] for cell in entries})
    fewer = f" --draws {draws}" if draws < DRAWS else ""
    return [TITLE, "", f"Made by `experiments/transfer/run --only classes{fewer}`. {', '.join(map(str, ROWS))} rows of every "
            f"class, {draws} draws, of which the smaller are part of the larger; accuracy in percent of the arg-max over all test rows of the classes, mean of the "
            "draws. `fit` is `tenon fit f=features s=scores --method evidence --select all`: ridge on features and "
            f"scores as two representations. Sources: scores off the shelf, or a head (`fit --method svm`) for the other classes "
            f"of the set, {TARGETS} classes by lot being the target. *auto less fit*: mean, and least to most of the draws. "
            "*its LOO*: the accuracy that auto expects, by leave-one-out of the arg-max.", "",
            *verdicts(found), "", *table(head, [row(pair, rows, trials) for (pair, rows), trials in found.items()])]
