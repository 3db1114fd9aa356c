# SPDX-License-Identifier: BSD-3-Clause
"""Asks the program for every learner on every network and collects its answers.

Values are chosen on rows held out of the training rows, by one run of `fit --tune --valid`: C, eta and the number of
passes. Then all training rows are learned, once a seed, for PASSES passes, with the test rows as --valid and no early
end: that gives the test score after every pass. The one that counts is that after the number of passes chosen before;
what the test rows would have chosen is thrown away. `check` trains and evaluates some of them in the plain way.
"""
import concurrent.futures
import itertools
import os
import sys

import splits
from common import call, networks, test_score

FIRST, SECOND = ("perceptron", "sgd", "pa", "pa2"), ("cw", "arow", "nherd", "scw", "scw2")
METHODS = FIRST + SECOND
OVRS = ("u-ovr", "e-ovr", "w-ovr")
NETWORKS = ("darknet", "mobilenetv2", "places", "squeezenet")
SEEDS, PASSES = range(5), 20
CHECKED = "pa"


def main_scheme(task):
    """What a learner is judged by: multi-class learning, where there is one."""
    return "u-ovr" if task == "multilabel" else "mul"


def schemes(task):
    return OVRS if task == "multilabel" else ("mul", *OVRS)


def kinds(task):
    """(method, scheme, average): all averaged, and what is judged also without."""
    return [*itertools.product(METHODS, schemes(task), (True,)), *itertools.product(METHODS, (main_scheme(task),), (False,))]


def fit(program, paths, name, part, kind, head, *more):
    """One thread a run: as many run at once as there are cores, and seconds are those of one core."""
    method, scheme, average = kind
    return call(program, "fit", f"f={paths[name, part]}", "--labels", paths["labels", part], "--method", method,
                "--multiclass", scheme, "--average" if average else "--no-average", "--select", "all", "--loo", "0",
                "--threads", "1", "-o", head, *more)


def by_rows(paths, name, part):
    return "--valid", f"f={paths[name, part]}", "--valid-labels", paths["labels", part]


def values(chosen):
    """The options that say what was chosen."""
    return [word for option, key in (("--C", "C"), ("--eta", "eta")) if chosen[key] is not None
            for word in (option, chosen[key])]


def choose(program, paths, name, kind, head):
    tune = ["--tune"] if kind[0] != "perceptron" else []
    found = fit(program, paths, name, "fit", kind, head, "--epochs", PASSES, *tune, *by_rows(paths, name, "held"))
    return {"C": found["C"], "eta": found["eta"], "passes": found["epochs_used"]}


def curve(program, paths, name, kind, chosen, seed, head):
    """Test score in percent and seconds so far, after every pass."""
    found = fit(program, paths, name, "train", kind, head, "--epochs", PASSES, "--patience", "0", "--seed", seed,
                *values(chosen), *by_rows(paths, name, "test"))
    return {"scores": [100 * epoch["valid_accuracy"] for epoch in found["epochs"]],
            "seconds": list(itertools.accumulate(epoch["seconds"] for epoch in found["epochs"]))}


def one_kind(program, paths, name, kind, scratch):
    head = scratch / f"{name}.{'.'.join(map(str, kind))}.safetensors"
    chosen = choose(program, paths, name, kind, head)
    curves = [curve(program, paths, name, kind, chosen, seed, head) for seed in SEEDS]
    at = chosen["passes"] - 1
    return {"chosen": chosen, "curves": curves, "scores": [c["scores"][at] for c in curves]}


def check(program, paths, name, found, kind, scratch):
    """How far, in points, fit and eval without test rows in the training command are from the curve's figure."""
    head, chosen = scratch / "check.safetensors", found[kind]["chosen"]
    fit(program, paths, name, "train", kind, head, "--epochs", chosen["passes"], "--seed", SEEDS[0], *values(chosen))
    tested = call(program, "eval", head, f"f={paths[name, 'test']}", "--labels", paths["labels", "test"])
    return abs(test_score(tested) - found[kind]["scores"][0])


def study(program, folder, scratch, wanted):
    """Everything the page needs to know about one set: cells[network][kind]."""
    names = networks(folder, NETWORKS if wanted is None else wanted)
    facts = call(program, "rank", folder / f"{names[0]}.train.npy", "--labels", folder / "labels.train.npy",
                 "--loo", "0")
    paths = splits.make(folder, names, scratch)
    jobs = list(itertools.product(names, kinds(facts["task"])))
    cells = {name: {} for name in names}
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = pool.map(lambda job: one_kind(program, paths, *job, scratch), jobs)
        for i, ((name, kind), result) in enumerate(zip(jobs, found), 1):
            cells[name][kind] = result
            if sys.stderr.isatty() or i == len(jobs):
                print(f"\r{folder.name}: {i} of {len(jobs)} learners", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    kind = (CHECKED, main_scheme(facts["task"]), True)
    return {"name": folder.name, "task": facts["task"], "rows": facts["rows"], "classes": facts["classes"],
            "cells": cells, "checks": [check(program, paths, name, cells[name], kind, scratch) for name in names]}
