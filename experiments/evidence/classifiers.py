# SPDX-License-Identifier: BSD-3-Clause
"""Asks the program for the paper's Table 2: every way to train a head, on one network at a time.

Grids are the paper's. An oracle chose by the test rows themselves; it shows what a perfect choice would have given,
and is no method.
"""
import sys

import measure

LAMBDAS = [2.0 ** i for i in range(-10, 11)]
COSTS = [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10]
LOGISTIC_COSTS = [1, 3, 10, 30, 100, 300, 1000]  # the paper has no logistic regression; on rows of length 1 it wants these
METHODS = {"cv-ridge": ["--method", "ridge-cv"], "cv-svm": ["--method", "svm-cv", "--grid", ",".join(map(str, COSTS))],
           "cv-logistic": ["--method", "logistic-cv", "--grid", ",".join(map(str, LOGISTIC_COSTS))],
           "auto": ["--method", "auto"]}


def result(fit, parameter=None):
    return {"score": fit["score"], "seconds": fit["seconds"], "parameter": parameter,
            "converged": fit["converged"] is not False}


def chosen(fit):
    """The value that a cross-validation preferred."""
    found = fit["cross_validation"]
    return next(point["value"] for point in found["grid"] if point["best"]) if found else None


def along(program, folder, scratch, name, values, *options):
    """One fit and test a value, which is put behind the options."""
    return {value: measure.fit_and_test(program, folder, scratch, [name], "--select", "all", *options, value)
            for value in values}


def oracle(fits):
    """Best test score; of equals the first, and no time: nobody can have it."""
    best = max(fits, key=lambda value: fits[value]["score"])
    return result(fits[best] | {"seconds": None}, best)


def one_network(program, folder, scratch, name):
    found = {}
    for rule in ("auto", "per-class"):
        fit = measure.fit_and_test(program, folder, scratch, [name], "--select", "all", "--lambda", rule)
        found["bayes" if rule == "auto" else "bayes-per-class"] = result(fit)
    found["best-ridge"] = oracle(along(program, folder, scratch, name, LAMBDAS, "--lambda"))
    svms = along(program, folder, scratch, name, COSTS, "--method", "svm", "--C")
    found["best-svm"], found["svm"] = oracle(svms), result(svms[1], 1)
    logistics = along(program, folder, scratch, name, LOGISTIC_COSTS, "--method", "logistic", "--C")
    found["best-logistic"], found["logistic"] = oracle(logistics), result(logistics[1], 1)
    for method, options in METHODS.items():
        fit = measure.fit_and_test(program, folder, scratch, [name], "--select", "all", *options)
        found[method] = result(fit, chosen(fit))
    return found


def compare(program, folder, scratch, names):
    """{network: {method: score, seconds, parameter}}"""
    found = {}
    for i, name in enumerate(names, 1):
        found[name] = one_network(program, folder, scratch, name)
        if sys.stderr.isatty() or i == len(names):
            print(f"\r{folder.name}: classifiers on {i} of {len(names)} networks", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found
