# SPDX-License-Identifier: BSD-3-Clause
"""Asks the program and collects its answers. A study is everything the page needs to know about one data set."""
import itertools
import sys

from common import call, networks, test_score

OPTIMIZERS = ["aitken", "mackay", "em", "newton"]
SEARCHES = ["best", "greedy", "forward", "exhaustive", "all"]
NOISE_FREE = 1e-6  # of rows of length 1: a lambda below is the search's lower bound, not an optimum
START, TOLERANCE, MOST_ITERATIONS = "1", "1e-5", "500"


def files(folder, names, part):
    return [folder / f"{name}.{part}.npy" for name in names]


def fit_and_test(program, folder, scratch, names, *options):
    """Trains on these networks, tests; what fit said, with the test score (percent) as `score`."""
    head = scratch / "head.safetensors"
    method = () if "--method" in options else ("--method", "evidence")
    fit = call(program, "fit", *files(folder, names, "train"), "--labels", folder / "labels.train.npy",
               "--loo", "0", "-o", head, *method, *options)
    tested = call(program, "eval", head, *files(folder, fit["selected"], "test"),
                  "--labels", folder / "labels.test.npy")
    return fit | {"score": test_score(tested), "test_rows": tested["rows"]}


def iterations(program, folder, names):
    """{optimizer: candidates of rank}, all from one start, with one rule to stop."""
    words = ["rank", *files(folder, names, "train"), "--labels", folder / "labels.train.npy", "--loo", "0",
             "--start", START, "--tolerance", TOLERANCE, "--max-iterations", MOST_ITERATIONS]
    return {optimizer: call(program, *words, "--optimizer", optimizer)["candidates"] for optimizer in OPTIMIZERS}


def every_subset(program, folder, scratch, names):
    """The oracle's view: each non-empty subset trained on and tested."""
    sets = [c for size in range(1, len(names) + 1) for c in itertools.combinations(names, size)]
    found = []
    for i, chosen in enumerate(sets, 1):
        fit = fit_and_test(program, folder, scratch, chosen, "--select", "all")
        found.append({"names": chosen, "score": fit["score"], "log_evidence": fit["log_evidence"],
                      "gain_per_label": fit["gain_per_label"]})
        if sys.stderr.isatty() or i == len(sets):
            print(f"\r{folder.name}: {i} of {len(sets)} subsets", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def study(program, folder, scratch, wanted=None):
    """wanted: networks to which the study is limited."""
    names = networks(folder, wanted)
    ranked = call(program, "rank", *files(folder, names, "train"), "--labels", folder / "labels.train.npy")
    singles = []
    for candidate in ranked["candidates"]:
        entry = dict(candidate)
        for rule in ("per-class", "shared"):
            fit = fit_and_test(program, folder, scratch, [candidate["name"]], "--select", "all", "--lambda", rule)
            entry[rule] = fit["score"]
            if rule == "per-class":
                entry["noise_free"] = sum(x is not None and x < NOISE_FREE for x in fit["lambda"])
        singles.append(entry)
    searches = {search: fit_and_test(program, folder, scratch, names, "--select", search) for search in SEARCHES}
    return {"name": folder.name, "rows": ranked["rows"], "classes": ranked["classes"], "task": ranked["task"],
            "null": ranked["null_log_evidence"], "test_rows": searches["all"]["test_rows"], "singles": singles,
            "searches": searches, "subsets": every_subset(program, folder, scratch, names),
            "iterations": iterations(program, folder, names)}
