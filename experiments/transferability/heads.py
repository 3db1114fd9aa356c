# SPDX-License-Identifier: BSD-3-Clause
"""What a score should foretell: the test score of the best head. Heads are the program's: the evidence's ridge, support
vector machines and logistic regression over a grid of C, and the C is the one that is best in the test, so that no
candidate suffers from a C that another one chose."""
import numpy

import candidates
from common import call, test_score

SVM = (0.3, 1, 3, 10)
LOGISTIC = (10, 100)  # of unit rows; 1 is under-fitted on all of them
GAP = 1e-3            # relative: test scores do not move by what is left


def fit_and_test(program, job, scratch, method, *more):
    train, test, folder = job
    head = scratch / "head.safetensors"
    call(program, "fit", f"x={train}", "--labels", folder / "labels.train.npy", "--method", method, "-o", head,
         "--threads", 1, *more)
    return test_score(call(program, "eval", head, f"x={test}", "--labels", folder / "labels.test.npy", "--threads", 1))


def measure(program, folder, candidate, scratch):
    """{head: test score}. C is in units of 1 / mean squared length of a row."""
    job = [scratch / "train.npy", scratch / "test.npy", folder]
    for part, path in zip(("train", "test"), job):
        numpy.save(path, candidates.load(folder, candidate, part))
    kind = ("--normalize", candidate.normalize)
    rows = candidates.prepare(candidates.load(folder, candidate, "train"), candidate.normalize)
    unit = 1 / numpy.mean(numpy.sum(rows * rows, axis=1))
    found = {"evidence": fit_and_test(program, job, scratch, "evidence", *kind)}
    for method, grid in (("svm", SVM), ("logistic", LOGISTIC)):
        for cost in grid:
            found[f"{method} {cost:g}"] = fit_and_test(program, job, scratch, method, *kind, "--C", f"{cost * unit:.6g}",
                                                       "--gap", GAP)
    return found
