# SPDX-License-Identifier: BSD-3-Clause
"""The section on costs: seconds of `tenon fit --method svm` against C, beside LIBLINEAR's two solvers and scikit-learn's
LinearSVC, and of `--method logistic` beside scikit-learn's lbfgs, on rows that nothing separates and on real features where they
are there; `svm-cv` and `logistic-cv` in fits at the C they choose; and a path of 45 values as the linear probe has it.

tenon is timed twice, with --gap 1e-3: as a whole process, and by cost_fit.py as a fit of arrays in memory, which is what is
set beside the time of peers. A head of a hundred times smaller gap is the best known. Peers train some classes
(cost_peers.py), and their time is scaled to all; LIBLINEAR at the loosest eps that is within 1e-3 of the best known. lbfgs is
stopped from outside when it is within 1e-3 of the best known (linear_peers.py), and so tenon's logistic has the loosest gap
that comes as close. A peer that is known to need more than BEYOND times tenon's seconds is asked no further.

One data set: bench/run PROGRAM cost:NAME, where NAME is how its title begins, as scene15 or made: 5994 x 128.
"""
import json
import os
import pathlib
import statistics
import sys

import cost_report as report
from measure import HERE, SEED, Skipped, cached, make_data, measure
from python import package

PAGE = "bench-cost.md"
COSTS = {"full": ["0.01", "0.1", "1", "10", "100", "1000"], "quick": ["1", "100"], "tiny": ["1"]}
PEER_COSTS = {"1", "10", "100", "1000"}
SHAPES = {"full": [(5994, 128, 200), (5994, 512, 200), (19850, 4096, 397)], "quick": [(1500, 128, 50)],
          "tiny": [(60, 8, 3)]}
REAL = [("caltech101", "darknet"), ("caltech101", "mobilenetv2"), ("scene15", "squeezenet"), ("flowers12", "mobilenetv2")]
OFFSET, NOISE = "0", "2.2"  # half of the entries are 0; about half of new rows are told right
GAP, REFERENCE_GAP, LIMIT, PEER_LIMIT, PEER_SECONDS = "1e-3", "1e-5", 120, 60, 4
# From so many columns on: what has GAP is the best known, lbfgs is given up after so many fits of tenon, and no probe: one of
# scikit-learn takes hours.
LARGE, LARGE_FITS, LARGE_LIMIT = 4096, 6, 600
GRID = "0.1,0.3,1,3,10,30,100,300"
PEERS = ("liblinear-s1", "liblinear-s2", "linearsvc")
LOOSE_GAPS, CLOSE, LBFGS_SECONDS = ["1e-2", "3e-3", "1e-3"], 1e-3, 60
SHORT, SHORT_RUNS = 2, 5  # seconds of a path; runs of which the median counts
PROBE, PROBE_SECONDS = {"full": "1e-6:1e5:45", "quick": "1e-3:1e2:6", "tiny": "0.1:1:3"}, 150
BEYOND, LEAST_SECONDS, LONG = 30, 2, 20  # times tenon's seconds, never less seconds; a fit of LONG seconds is as long as its process


class Contest:
    """One data set: its files, how peers are run, and how large it is."""

    def __init__(self, program, name, paths, shape, size, environment, directory):
        self.program, self.name, self.paths, self.shape, self.size = program, name, paths, shape, size
        self.environment, self.directory, self.large = environment, directory, shape[1] >= LARGE
        self.costs = [cost for cost in COSTS[size] if not self.large or cost in PEER_COSTS]

    def head(self, name):
        return self.directory / f"{name}.safetensors"

    def fit(self, head, *options, limit=LIMIT):
        """(seconds of the whole process, what tenon says) of a fit; None when it was stopped."""
        command = [self.program, "fit", f"a={self.paths[0]}", "--labels", self.paths[1], "--select", "all", "--loo", "0", "-o",
                   self.head(head), "--json", "--quiet", *options]
        seconds, _, output = measure(command, None, self.directory, limit, False)
        return (seconds, output) if output else (None, None)

    def alone(self, whole, method, **options):
        """Seconds of the same fit by cost_fit.py; None when the whole process was stopped."""
        if whole is None or whole > LONG:
            return whole
        found = self.ask("cost_fit.py", LIMIT * 2, method, *self.paths, json.dumps(options))
        return found["seconds"] if found else None

    def ask(self, script, limit, *words):
        """What a script of this folder prints; None when it was stopped."""
        return measure([sys.executable, HERE / script, *words], self.environment, self.directory, limit, False)[2]


def beyond(seconds):
    """How long a peer is worth waiting for that is set beside so many seconds of tenon's."""
    return max(LEAST_SECONDS, BEYOND * (LIMIT if seconds is None else seconds))


def time_peers(contest, reference, cost, seconds):
    times = {}
    for name in PEERS:
        output = contest.ask("cost_peers.py", PEER_LIMIT, name, *contest.paths, contest.head(reference), cost, str(PEER_SECONDS),
                             str(beyond(seconds)))
        times[name] = output or {"seconds": None, "note": f"no class within {PEER_LIMIT} s"}
    return times


def time_cost(contest, cost):
    words, reference = ("--method", "svm", "--C", cost, "--gap"), "head"
    whole, output = contest.fit("head", *words, GAP)
    entry = {"cost": cost, "whole": whole, "seconds": contest.alone(whole, "svm", C=float(cost), gap=float(GAP)),
             "wanted": cost in PEER_COSTS, "peers": {}}
    if output:
        entry |= {"objective": output["objective"], "gap": output["gap"], "converged": output["converged"]}
    if entry["wanted"] and not contest.large:
        reference = "reference"
        output = contest.fit(reference, *words, REFERENCE_GAP)[1]
    if entry["wanted"] and output:
        entry["peers"] = time_peers(contest, reference, cost, entry["seconds"])
    report.print_entry(entry)
    return entry


def time_lbfgs(contest, best, cost, seconds):
    """lbfgs until it is close. One that is given up for taking too many fits of tenon is known to take as long."""
    enough = max(LBFGS_SECONDS, LARGE_FITS * (seconds or LIMIT)) if contest.large else LBFGS_SECONDS
    limit = enough if contest.large else min(LBFGS_SECONDS, beyond(seconds))
    output = contest.ask("linear_peers.py", PEER_LIMIT + enough, "lbfgs", *contest.paths, str(best), str(limit), cost)
    if output and output["excess"] > report.CLOSE and (contest.large or limit < LBFGS_SECONDS):
        output |= {"seconds": limit, "beyond": True}
    elif output:
        output["seconds"] -= output["load"]  # tenon's fit has its rows in memory too
    return {"lbfgs": output or {"seconds": None, "note": "stopped"}}


def time_logistic(contest, cost):
    """As time_cost, at the loosest gap that is close to the best known."""
    words = ("--method", "logistic", "--C", cost, "--gap")
    best = None if contest.large else contest.fit("head", *words, REFERENCE_GAP)[1]
    entry = {"cost": cost, "whole": None, "seconds": None, "wanted": cost in PEER_COSTS, "peers": {}}
    for gap in [GAP] if contest.large else LOOSE_GAPS if best else ():
        whole, output = contest.fit("head", *words, gap)
        best = best or output
        if output and output["objective"] <= (1 + CLOSE) * best["objective"]:
            entry |= {"whole": whole, "seconds": contest.alone(whole, "logistic", C=float(cost), gap=float(gap)),
                      "objective": output["objective"], "gap": output["gap"], "converged": output["converged"]}
            break
    if entry["wanted"] and best:
        entry["peers"] = time_lbfgs(contest, best["objective"], cost, entry["seconds"])
    report.print_entry(entry)
    return entry


def time_probe(contest):
    """A path with a fifth of the rows held out to choose by, beside 45 fits by scikit-learn, each from the one before."""
    import numpy as np
    words = PROBE[contest.size]
    low, high, count = words.split(":")
    whole, output = contest.fit("probe", "--method", "logistic-cv", "--grid", words, "--holdout", "0.2", "--gap", GAP)
    seconds = contest.alone(whole, "logistic", C="cv", grid=words, holdout=0.2, gap=float(GAP))
    grid = ",".join(map(str, np.geomspace(float(low), float(high), int(count))))
    peer = contest.ask("linear_peers.py", PROBE_SECONDS + PEER_LIMIT, "probe", *contest.paths, grid,
                       str(min(PROBE_SECONDS, beyond(seconds))))
    return {"whole": whole, "seconds": seconds, "cost": output["C"] if output else None, "grid": words,
            "peer": peer or {"seconds": None, "note": "stopped"}}


def time_cv(contest, method):
    """METHOD-cv over eight values and five folds, beside one fit at the C that it chose, both as they are by default. Of
    short ones, in turn, the median counts: a single run of 40 ms may be a quarter off."""
    limit, path, one = LARGE_LIMIT if contest.large else LIMIT, [], []
    while not path or (path[0] or LIMIT) < SHORT and len(path) < SHORT_RUNS:
        seconds, output = contest.fit("cv", "--method", method + "-cv", "--grid", GRID, limit=limit)
        path.append(seconds)
        if output:
            one.append(contest.fit("cv", "--method", method, "--C", str(output["C"]))[0])
    return {"seconds": statistics.median(path) if one else None, "fit": statistics.median(one) if one else None,
            "cost": output["C"] if output else None}


def bench_set(contest):
    report.print_set(contest.name, contest.shape)
    entries = [time_cost(contest, cost) for cost in contest.costs]
    print("  logistic", flush=True)
    logistic = [time_logistic(contest, cost) for cost in contest.costs]
    result = {"name": contest.name, "shape": contest.shape, "entries": entries, "logistic": logistic, "cv": {}, "probe": None}
    result["cv"] = {method: time_cv(contest, method) for method in ("svm", "logistic")}
    if not contest.large:
        result["probe"] = time_probe(contest)
    report.print_cv(result)
    return result


def real_sets(size):
    """(name, paths, shape) of the features of ../shared/data, or of the folder that TENON_DATA names; none without them."""
    import numpy as np
    folder = pathlib.Path(os.environ.get("TENON_DATA", HERE.parents[1] / "shared" / "data")) / "features"
    for group, network in REAL if size == "full" else ():
        paths = folder / group / f"{network}.train.npy", folder / group / "labels.train.npy"
        if all(path.is_file() for path in paths):
            x, y = (np.load(path, mmap_mode="r") for path in paths)
            yield f"{group}, {network}", paths, (*x.shape, int(y.max()) + 1)


def run(program, environment, directory, size, part=None):
    """Everything the report of this section needs; part: of the data sets whose titles begin so."""
    environment = package(program, environment)
    sets = [*real_sets(size), *(("made", None, shape) for shape in SHAPES[size])]
    wanted = [(name, paths, shape) for name, paths, shape in sets if report.set_name(name, shape).startswith(part or "")]
    if not wanted:
        raise Skipped(f"no data set's title begins with {part}: " + "; ".join(report.set_name(n, s) for n, _, s in sets))
    results = []
    for name, paths, shape in wanted:
        paths = paths or make_data(directory, shape, environment, OFFSET, NOISE)
        for path in paths:
            cached(path)
        results.append(bench_set(Contest(program, name, paths, shape, size, environment, directory)))
    return {"results": results, "costs": COSTS[size], "seed": SEED, "gap": GAP, "grid": GRID,
            "limits": (PEER_SECONDS, PEER_LIMIT), "limit": LIMIT, "loose": LOOSE_GAPS, "lbfgs": LBFGS_SECONDS,
            "probe": PROBE_SECONDS, "beyond": (BEYOND, LEAST_SECONDS, LONG), "large": (LARGE, LARGE_FITS),
            "short": (SHORT, SHORT_RUNS)}
