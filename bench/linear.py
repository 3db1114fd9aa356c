# SPDX-License-Identifier: BSD-3-Clause
"""The section on linear classifiers: `tenon fit --method svm` and `logistic` as whole processes against peers.

Reference heads, trained to gaps a hundred times smaller, tell what the best known objectives are; their time does not
count. Everybody is timed to within 1e-3 of those: tenon stops when it has certified that much, and so is closer; peers
are stopped from outside as soon as they are there, which nothing tells them in practice. Every objective that tenon
reports is computed anew by linear_objective.py.
"""
import json
import sys

import linear_report as report
from measure import HERE, SEED, ask, make_data, measure

PAGE = "bench-linear.md"
SHAPES = {"full": [(6049, 4096, 51), (15420, 1024, 257), (19850, 4096, 397)], "quick": [(1500, 256, 20), (2000, 512, 30)],
          "tiny": [(60, 8, 3)]}
LIMITS = {"tenon-svm": 120, "tenon-hinge": 90, "tenon-logistic": 120, "liblinear-s1": 180, "liblinear-s2": 180,
          "lbfgs": 240}
LIBLINEAR_SECONDS, LBFGS_SECONDS = 20, 150  # training time a peer may use before it is scaled or extrapolated
GAP, REFERENCE_GAP, RUNS, LONG_SECONDS = "1e-3", "1e-5", 3, 20
LOOSE_GAPS = ["3e-3", GAP]  # of logistic: the first that brings its loss within CLOSE of the best known
CLOSE, LEAST_MB = 1e-3, 16
TENON = {"tenon-svm": ("squared-hinge", ["--method", "svm", "--loss", "squared-hinge", "--gap", GAP]),
         "tenon-hinge": ("hinge", ["--method", "svm", "--loss", "hinge", "--gap", GAP]),
         "tenon-logistic": ("logistic", ["--method", "logistic", "--gap", GAP])}


def fit_command(program, paths, head, options):
    return [program, "fit", f"a={paths[0]}", "--labels", paths[1], "--C", "1", "--select", "all", "--loo", "0",
            "-o", head, "--json", "--quiet", *options]


def objective(paths, head, loss, environment):
    """Of a head, as NumPy finds it."""
    return json.loads(ask([sys.executable, HERE / "linear_objective.py", *paths, head, loss], environment))["objective"]


def time_tenon(name, program, paths, directory, environment, gap=GAP, more=()):
    """Best of some runs in the environment that a user has, and its objective as NumPy finds it."""
    loss, options = TENON[name]
    options = [*(gap if word == GAP else word for word in options), *more]
    runs, head = 1 if name == "tenon-hinge" else RUNS, directory / f"{name}.safetensors"
    results = [measure(fit_command(program, paths, head, options), None, directory, LIMITS[name])
               for _ in range(runs)]
    seconds, _, output = min(results, key=lambda result: result[0])
    entry = {"contestant": name, "runs": runs, "anon_mb": max(r[1] for r in results)}
    if output is None:
        return entry | {"seconds": None, "note": f"> {seconds} s"}
    checked = objective(paths, head, loss, environment)
    note = f"gap {gap}; {output['passes']} passes" + ("" if output["converged"] else ", NOT CONVERGED")
    return entry | {"seconds": seconds, "note": note, "inside": output["seconds"], "objective": output["objective"],
                    "gap": output["gap"], "checked": checked, "with": gap}


def time_peer(name, paths, given, budget, environment, directory):
    """Best of as many runs as tenon has, unless the first was long."""
    command = [sys.executable, HERE / "linear_peers.py", name, *paths, str(given), str(budget)]
    results = [measure(command, environment, directory, LIMITS[name])]
    while len(results) < RUNS and results[0][0] < LONG_SECONDS:
        results.append(measure(command, environment, directory, LIMITS[name]))
    entry = {"contestant": name, "anon_mb": max(result[1] for result in results)}
    outputs = [output for _, _, output in results if output]
    if not outputs:
        return entry | {"seconds": None, "runs": 1, "note": f"> {LIMITS[name]} s"}
    return entry | min(outputs, key=lambda output: output["seconds"]) | {"runs": len(results)}


def time_lean(like, program, paths, directory, environment, shape):
    """As the entry `like`, within the memory that the target grants, or that a fit of next to nothing takes."""
    more = ["--mem", str(int(1e6 * max(LEAST_MB, report.granted(shape))))]
    entry = time_tenon(like["contestant"], program, paths, directory, environment, like.get("with", GAP), more)
    return entry | {"contestant": f"{like['contestant']}-lean"}


def make_reference(name, program, paths, directory):
    """Head of nearly the least objective; None when that takes too long."""
    head = directory / f"{name}-reference.safetensors"
    options = [REFERENCE_GAP if word == GAP else word for word in TENON[name][1]]
    output = measure(fit_command(program, paths, head, options), None, directory, LIMITS[name])[2]
    return head if output else None


def bench_svm(program, paths, environment, directory, shape):
    entries = []
    for name in ("tenon-svm", "tenon-hinge"):
        entries.append(time_tenon(name, program, paths, directory, environment))
        report.print_entry(entries[-1], entries)
    entries.append(time_lean(entries[0], program, paths, directory, environment, shape))
    report.print_entry(entries[-1], entries)
    head = make_reference("tenon-svm", program, paths, directory)
    for name in ("liblinear-s1", "liblinear-s2") if head else ():
        entries.append(time_peer(name, paths, head, LIBLINEAR_SECONDS, environment, directory))
        report.print_entry(entries[-1], entries)
    return entries


def time_loosest(name, program, paths, best, directory, environment):
    """As time_tenon, with the loosest gap that comes close enough: what the peers are given too."""
    for gap in LOOSE_GAPS:
        entry = time_tenon(name, program, paths, directory, environment, gap)
        if "checked" not in entry:
            break
        entry["excess"] = entry["checked"] / best - 1
        if entry["excess"] <= CLOSE:
            break
    return entry


def bench_logistic(program, paths, environment, directory, shape):
    head = make_reference("tenon-logistic", program, paths, directory)
    best = objective(paths, head, "logistic", environment) if head else float("inf")
    entries = [time_loosest("tenon-logistic", program, paths, best, directory, environment)]
    report.print_entry(entries[0], entries)
    entries.append(time_lean(entries[0], program, paths, directory, environment, shape))
    report.print_entry(entries[-1], entries)
    if head:
        entries.append(time_peer("lbfgs", paths, best, LBFGS_SECONDS, environment, directory))
        report.print_entry(entries[-1], entries)
    return entries


def bench_shape(program, shape, environment, directory):
    paths = make_data(directory, shape, environment)
    report.print_shape(shape)
    for old in directory.glob("*.safetensors"):
        old.unlink()
    result = {"shape": shape, "svm": bench_svm(program, paths, environment, directory, shape),
              "logistic": bench_logistic(program, paths, environment, directory, shape)}
    report.print_targets(result, LIMITS)
    return result


def run(program, environment, directory, size):
    """Everything the report of this section needs."""
    results = [bench_shape(program, shape, environment, directory) for shape in SHAPES[size]]
    return {"results": results, "seed": SEED, "limits": LIMITS, "gaps": (GAP, REFERENCE_GAP), "loose": LOOSE_GAPS,
            "budgets": (LIBLINEAR_SECONDS, LBFGS_SECONDS)}
