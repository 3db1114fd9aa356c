# SPDX-License-Identifier: BSD-3-Clause
"""The section on costs: seconds of `tenon fit --method svm` against C, beside LIBLINEAR's two solvers and scikit-learn's
LinearSVC, and of `--method logistic` beside scikit-learn's lbfgs, on rows that nothing separates and on real features where they
are there; `svm-cv` and `logistic-cv` in fits at the C they choose; and a path of 45 values as the linear probe has it.

tenon is timed as a whole process, with --gap 1e-3. A head of a hundred times smaller gap is the best known. Peers train some
classes (cost_peers.py), and their time is scaled to all; LIBLINEAR at the loosest eps that is within 1e-3 of the best known.
lbfgs is stopped from outside when it is within 1e-3 of the best known (linear_peers.py), and so tenon's logistic has the loosest
gap that comes as close.
"""
import json
import os
import pathlib
import sys

import cost_report as report
from measure import HERE, SEED, cached, make_data, measure

PAGE = "bench-cost.md"
COSTS = {"full": ["0.01", "0.1", "1", "10", "100", "1000"], "quick": ["1", "100"], "tiny": ["1"]}
PEER_COSTS = {"1", "10", "100", "1000"}
SHAPES = {"full": [(5994, 128, 200), (5994, 512, 200), (19850, 4096, 397)], "quick": [(1500, 128, 50)],
          "tiny": [(60, 8, 3)]}
REAL = [("caltech101", "darknet"), ("caltech101", "mobilenetv2"), ("scene15", "squeezenet"), ("flowers12", "mobilenetv2")]
OFFSET, NOISE = "0", "2.2"  # half of the entries are 0; about half of new rows are told right
GAP, REFERENCE_GAP, LIMIT, PEER_LIMIT, PEER_SECONDS = "1e-3", "1e-5", 300, 120, 4
LARGE = 4096  # columns from which on peers are asked at one C only, and svm-cv not at all: they take hours
GRID = "0.1,0.3,1,3,10,30,100,300"
PEERS = ("liblinear-s1", "liblinear-s2", "linearsvc")
LOOSE_GAPS, CLOSE, LBFGS_SECONDS = ["1e-2", "3e-3", "1e-3"], 1e-3, 60
PROBE, PROBE_SECONDS = {"full": "1e-6:1e5:45", "quick": "1e-3:1e2:6", "tiny": "0.1:1:3"}, 150


def fit(program, paths, head, directory, *options):
    """(seconds, what tenon says) of a fit; None when it was stopped."""
    command = [program, "fit", f"a={paths[0]}", "--labels", paths[1], "--select", "all", "--loo", "0", "-o", head, "--json",
               "--quiet", *options]
    seconds, _, output = measure(command, None, directory, LIMIT)
    return (seconds, output) if output else (None, None)


def time_peers(paths, reference, cost, environment, directory):
    times = {}
    for name in PEERS:
        command = [sys.executable, HERE / "cost_peers.py", name, *paths, reference, cost, str(PEER_SECONDS)]
        output = measure(command, environment, directory, PEER_LIMIT)[2]
        times[name] = output or {"seconds": None, "note": f"no class within {PEER_LIMIT} s"}
    return times


def time_cost(program, paths, cost, peers, environment, directory):
    head, reference = directory / "head.safetensors", directory / "reference.safetensors"
    seconds, output = fit(program, paths, head, directory, "--method", "svm", "--C", cost, "--gap", GAP)
    entry = {"cost": cost, "seconds": seconds, "peers": {}}
    if output:
        entry |= {"objective": output["objective"], "gap": output["gap"], "converged": output["converged"]}
    if peers and fit(program, paths, reference, directory, "--method", "svm", "--C", cost, "--gap", REFERENCE_GAP)[1]:
        entry["peers"] = time_peers(paths, reference, cost, environment, directory)
    report.print_entry(entry)
    return entry


def time_lbfgs(paths, best, cost, environment, directory):
    command = [sys.executable, HERE / "linear_peers.py", "lbfgs", *paths, str(best), str(LBFGS_SECONDS), cost]
    output = measure(command, environment, directory, PEER_LIMIT + LBFGS_SECONDS)[2]
    return {"lbfgs": output or {"seconds": None, "note": "stopped"}}


def time_logistic(program, paths, cost, peers, environment, directory):
    """As time_cost, at the loosest gap that is close to the best known."""
    head, words = directory / "head.safetensors", ("--method", "logistic", "--C", cost, "--gap")
    best = fit(program, paths, head, directory, *words, REFERENCE_GAP)[1]
    entry = {"cost": cost, "seconds": None, "peers": {}}
    for gap in LOOSE_GAPS if best else ():
        seconds, output = fit(program, paths, head, directory, *words, gap)
        if output and output["objective"] <= (1 + CLOSE) * best["objective"]:
            entry |= {"seconds": seconds, "objective": output["objective"], "gap": output["gap"],
                      "converged": output["converged"]}
            break
    if peers and best:
        entry["peers"] = time_lbfgs(paths, best["objective"], cost, environment, directory)
    report.print_entry(entry)
    return entry


def time_probe(program, paths, size, environment, directory):
    """A path with a fifth of the rows held out to choose by, beside 45 fits by scikit-learn, each from the one before."""
    import numpy as np
    low, high, count = PROBE[size].split(":")
    grid = np.geomspace(float(low), float(high), int(count))
    seconds, output = fit(program, paths, directory / "probe.safetensors", directory, "--method", "logistic-cv", "--grid",
                          PROBE[size], "--holdout", "0.2", "--gap", GAP)
    command = [sys.executable, HERE / "linear_peers.py", "probe", *paths, ",".join(map(str, grid)), str(PROBE_SECONDS)]
    peer = measure(command, environment, directory, PROBE_SECONDS + PEER_LIMIT)[2]
    return {"seconds": seconds, "cost": output["C"] if output else None, "grid": PROBE[size],
            "peer": peer or {"seconds": None, "note": "stopped"}}


def time_cv(program, paths, directory, method):
    """METHOD-cv over eight values and five folds, beside one fit at the C that it chose, both as they are by default."""
    head = directory / "cv.safetensors"
    seconds, output = fit(program, paths, head, directory, "--method", method + "-cv", "--grid", GRID)
    one = fit(program, paths, head, directory, "--method", method, "--C", str(output["C"]))[0] if output else None
    return {"seconds": seconds, "fit": one, "cost": output["C"] if output else None}


def bench_set(program, name, paths, shape, size, environment, directory):
    report.print_set(name, shape)
    large = shape[1] >= LARGE
    peers = {"100"} if large else PEER_COSTS
    entries = [time_cost(program, paths, cost, cost in peers, environment, directory) for cost in COSTS[size]
               if not large or cost in PEER_COSTS]
    print("  logistic", flush=True)
    logistic = [time_logistic(program, paths, cost, cost in peers, environment, directory) for cost in COSTS[size]
                if not large or cost in PEER_COSTS]
    result = {"name": name, "shape": shape, "entries": entries, "logistic": logistic, "cv": {}, "probe": None}
    if not large:
        result["cv"] = {method: time_cv(program, paths, directory, method) for method in ("svm", "logistic")}
        result["probe"] = time_probe(program, paths, size, environment, directory)
        report.print_cv(result)
    return result


def real_sets():
    """(name, paths, shape) of the features of ../shared/data, or of the folder that TENON_DATA names; none without them."""
    import numpy as np
    folder = pathlib.Path(os.environ.get("TENON_DATA", HERE.parents[1] / "shared" / "data")) / "features"
    for group, network in REAL:
        paths = folder / group / f"{network}.train.npy", folder / group / "labels.train.npy"
        if all(path.is_file() for path in paths):
            x, y = (np.load(path, mmap_mode="r") for path in paths)
            for path in paths:
                cached(path)
            yield f"{group}, {network}", paths, (*x.shape, int(y.max()) + 1)


def run(program, environment, directory, size):
    """Everything the report of this section needs."""
    results = [bench_set(program, *found, size, environment, directory) for found in (real_sets() if size == "full" else ())]
    for shape in SHAPES[size]:
        paths = make_data(directory, shape, environment, OFFSET, NOISE)
        results.append(bench_set(program, "made", paths, shape, size, environment, directory))
    return {"results": results, "seed": SEED, "gap": GAP, "grid": GRID, "limits": (PEER_SECONDS, PEER_LIMIT),
            "loose": LOOSE_GAPS, "lbfgs": LBFGS_SECONDS, "probe": PROBE_SECONDS}
