# SPDX-License-Identifier: BSD-3-Clause
"""Other trainers of linear classifiers, timed in their own process. Prints one JSON object.

Usage: linear_peers.py liblinear-s1|liblinear-s2 X.npy Y.npy REFERENCE.safetensors SECONDS
       linear_peers.py lbfgs X.npy Y.npy LOSS SECONDS [C]
       linear_peers.py probe X.npy Y.npy GRID SECONDS

  liblinear  LIBLINEAR's train() by its C interface, sparse rows with a bias of 1, C = 1, one class against the rest at
             a time; nothing but train() is timed. -s 1 is dual coordinate descent, -s 2 a Newton method on the primal.
             Classes are trained until SECONDS are used up, and the time is scaled to all of them. eps is the loosest
             of EPSILONS whose objectives are in sum within 1e-3 of the best known: those of the reference head, or
             its own where they are lower.
  lbfgs      scikit-learn LogisticRegression, multinomial, C = 1 or what is given, from np.load, with L2
             normalisation, until its loss is within 1e-3 of LOSS, the best known; the loss is watched from outside, at
             every evaluation. float32 or float64 input: what gives the faster evaluations. After SECONDS it is stopped,
             and the time to go extrapolated.
  probe      LogisticRegression for every C of GRID, numbers with commas between, ascending, each from the one before
             (warm_start), tol as it is by default, max_iter 1000, on four fifths of the rows. After SECONDS it is
             stopped, and the note says at which C: the time is then that of the first values only.
"""
import ctypes
import ctypes.util
import json
import sys
import time
import types

import numpy as np

import linear_objective
from peers import surroundings

EPSILONS = [1, 0.3, 0.1, 0.03, 0.01, 0.001]
CLOSE, SEARCH_CLASSES, TRIAL_EVALUATIONS, COST = 1e-3, 2, 3, 1.0
MOST_FITS, ENOUGH_SECONDS = 25, 2.0  # of short fits the median counts
NODE = np.dtype([("index", "<i4"), ("value", "<f8")], align=True)


class Problem(ctypes.Structure):
    _fields_ = [("l", ctypes.c_int), ("n", ctypes.c_int), ("y", ctypes.c_void_p), ("x", ctypes.c_void_p),
                ("bias", ctypes.c_double)]


class Parameter(ctypes.Structure):
    """Of LIBLINEAR 2.30; later versions have more fields behind these, zero in the room that is left for them."""
    _fields_ = [("solver_type", ctypes.c_int), ("eps", ctypes.c_double), ("C", ctypes.c_double),
                ("nr_weight", ctypes.c_int), ("weight_label", ctypes.c_void_p), ("weight", ctypes.c_void_p),
                ("p", ctypes.c_double), ("init_sol", ctypes.c_void_p)]


class Model(ctypes.Structure):
    _fields_ = [("param", Parameter), ("nr_class", ctypes.c_int), ("nr_feature", ctypes.c_int),
                ("w", ctypes.POINTER(ctypes.c_double)), ("label", ctypes.c_void_p), ("bias", ctypes.c_double)]


class Liblinear:
    """The library with one data set in its own format; memory is kept by the fields of this object."""

    def __init__(self, x):
        name = ctypes.util.find_library("linear")
        if name is None:
            sys.exit("linear_peers.py: no LIBLINEAR library; Debian's package is liblinear4")
        self.library = ctypes.CDLL(name)
        self.version = ctypes.c_int.in_dll(self.library, "liblinear_version").value
        if self.version != 230:
            sys.exit(f"linear_peers.py: LIBLINEAR {self.version}, but these structures are those of 230")
        self.silence = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(lambda text: None)
        self.library.set_print_string_function(self.silence)
        self.library.train.restype = ctypes.POINTER(Model)
        self.rows, self.dim = x.shape
        self.make_nodes(x)

    def make_nodes(self, x):
        """Rows as (index, value) pairs of what is not zero, then the bias, then index -1."""
        starts = np.concatenate([[0], np.cumsum(np.count_nonzero(x, axis=1) + 2)])
        self.nodes = np.zeros(starts[-1], NODE)
        for i in range(self.rows):
            row = self.nodes[starts[i]:starts[i + 1]]
            used = np.flatnonzero(x[i])
            row["index"][:-2], row["value"][:-2] = used + 1, x[i, used]
            row[-2], row[-1] = (self.dim + 1, 1.0), (-1, 0.0)
        self.pointers = self.nodes.ctypes.data + starts[:-1].astype(np.uint64) * NODE.itemsize

    def train(self, signs, solver, eps):
        """(seconds of train(), weights with the bias at the end)"""
        signs = np.ascontiguousarray(signs, np.float64)
        problem = Problem(self.rows, self.dim + 1, signs.ctypes.data, self.pointers.ctypes.data, 1.0)
        parameter = Parameter(solver, eps, COST, 0, None, None, 0.1, None)
        start = time.perf_counter()
        model = self.library.train(ctypes.byref(problem), ctypes.byref(parameter))
        seconds = time.perf_counter() - start
        weights = np.ctypeslib.as_array(model.contents.w, (self.dim + 1,)).copy()
        self.library.free_and_destroy_model(ctypes.byref(model))
        return seconds, weights


def train_classes(library, labels, classes, solver, eps, budget):
    """Trains class after class while there is time: [seconds], [weights]."""
    times, weights = [], []
    for k in classes:
        if times and sum(times) >= budget:
            break
        seconds, w = library.train(np.where(labels == k, 1.0, -1.0), solver, eps)
        times.append(seconds)
        weights.append(w)
    return times, weights


def excess(x, labels, classes, weights, reference):
    """How far above the best known the objectives of these classes are, relatively: (in sum, the worst)."""
    w = np.array(weights)
    own = linear_objective.svm(x, labels, w[:, :-1], w[:, -1], classes, 2)
    weight, bias = reference
    best = np.minimum(own, linear_objective.svm(x, labels, weight[classes], bias[classes], classes, 2))
    return float(own.sum() / best.sum() - 1), float(np.max(own / best - 1))


def loosest(library, x, labels, order, solver, reference, budget):
    """(eps, times, (excess in sum, worst)): what fails with two classes is not tried with more."""
    for eps in EPSILONS:
        times, weights = train_classes(library, labels, order[:SEARCH_CLASSES], solver, eps, np.inf)
        above = excess(x, labels, order[:len(times)], weights, reference)
        if above[0] > CLOSE and eps != EPSILONS[-1]:
            continue
        more = train_classes(library, labels, order[len(times):], solver, eps, budget - sum(times))
        times, weights = times + more[0], weights + more[1]
        above = excess(x, labels, order[:len(times)], weights, reference)
        if above[0] <= CLOSE:
            break
    return eps, times, above


def liblinear(solver, paths, head, budget):
    x, labels = linear_objective.unit_rows(paths[0]), np.load(paths[1])
    library, count = Liblinear(x), int(labels.max()) + 1
    order = np.random.default_rng(0).permutation(count)
    eps, times, above = loosest(library, x, labels, order, solver, linear_objective.load_head(head), budget)
    scale = count / len(times)
    note = f"eps {eps:g}; " + ("all classes" if scale == 1 else f"{len(times)} classes, x {scale:.1f}")
    if above[0] > CLOSE:
        note += "; no eps came within 0.1 %"
    return {"seconds": sum(times) * scale, "note": note, "excess": above[0], "worst": above[1],
            "liblinear": f"{library.version / 100:.2f}"}


class Enough(Exception):
    """Ends a fit from inside its loss."""


def watched_fit(x, labels, enough):
    """Fits, and calls enough(trace) at each evaluation; trace: (seconds, loss) since the fit began, lowest so far."""
    from sklearn.linear_model import LogisticRegression, _logistic
    trace, start = [], time.perf_counter()
    at_zero = COST * len(labels) * np.log(labels.max() + 1)  # versions differ in how they scale the loss; the fit starts at 0

    def minimize(fun, *words, **options):
        factor = []

        def watched(*arguments):
            value, gradient = fun(*arguments)
            factor.append(factor[0] if factor else at_zero / value)
            best = min(value * factor[0], trace[-1][1] if trace else np.inf)
            trace.append((time.perf_counter() - start, best))
            if enough(trace):
                raise Enough
            return value, gradient
        return optimize.minimize(watched, *words, **options)
    optimize, _logistic.optimize = _logistic.optimize, types.SimpleNamespace(minimize=minimize)
    try:
        LogisticRegression(C=COST, max_iter=10000, tol=1e-6).fit(x, labels)
    except Enough:
        pass
    finally:
        _logistic.optimize = optimize
    return trace


def faster_type(x, labels):
    """float32 or float64: what makes an evaluation of the loss faster."""
    costs = {}
    for dtype in (np.float32, np.float64):
        trace = watched_fit(x.astype(dtype), labels, lambda trace: len(trace) == TRIAL_EVALUATIONS)
        costs[dtype] = (trace[-1][0] - trace[0][0]) / (len(trace) - 1)
    return min(costs, key=costs.get)


def evaluations_to_go(trace, target):
    """From the trend of log(loss / target - 1) over the last half of the evaluations; infinite when it shows none."""
    values = np.log([loss / target - 1 for _, loss in trace[len(trace) // 2:]])
    slope = np.polyfit(np.arange(len(values)), values, 1)[0] if len(values) > 2 else 0.0
    return (np.log(CLOSE) - values[-1]) / slope if slope < 0 else np.inf


def lbfgs(paths, target, budget):
    import warnings
    warnings.simplefilter("ignore")
    x, labels = linear_objective.unit_rows(paths[0]), np.load(paths[1])
    dtype, goal = faster_type(x, labels), target * (1 + CLOSE)
    del x
    start = time.perf_counter()
    x = np.load(paths[0])
    load = time.perf_counter() - start
    x = x.astype(dtype, copy=False)
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), np.finfo(dtype).tiny)
    ready, traces = time.perf_counter() - start, []
    while len(traces) < MOST_FITS and sum(trace[-1][0] for trace in traces) < ENOUGH_SECONDS:
        traces.append(watched_fit(x, labels, lambda trace: trace[-1][1] <= goal or trace[-1][0] > budget))
    trace = sorted(traces, key=lambda trace: trace[-1][0])[len(traces) // 2]
    seconds, loss = trace[-1]
    note = f"{np.dtype(dtype).name}, {len(trace)} evaluations"
    if loss > goal:
        left = evaluations_to_go(trace, target)
        note += f"; stopped {loss / target - 1:.1e} above after {seconds:.0f} s"
        if np.isfinite(left):
            seconds += left * seconds / len(trace)
            note += f", extrapolated by {left:.0f} evaluations"
        else:
            note += ", at least"
    return {"seconds": ready + seconds, "load": load, "note": note, "excess": float(loss / target - 1)}


def probe(paths, grid, budget):
    import warnings
    from sklearn.linear_model import LogisticRegression
    warnings.simplefilter("ignore")
    x, labels = linear_objective.unit_rows(paths[0]), np.load(paths[1])
    train = np.arange(len(labels)) % 5 > 0
    model, start, done = LogisticRegression(warm_start=True, max_iter=1000), time.perf_counter(), 0
    for cost in grid:
        model.C = cost
        model.fit(x[train], labels[train])
        done += 1
        if time.perf_counter() - start > budget:
            break
    note = f"{done} of {len(grid)} values" + ("" if done == len(grid) else f", stopped at C {cost:.3g}")
    return {"seconds": time.perf_counter() - start, "note": note, "values": done}


def main(name, features, labels, given, seconds, cost="1"):
    global COST
    paths, budget, COST = (features, labels), float(seconds), float(cost)
    if name == "lbfgs":
        found = lbfgs(paths, float(given), budget)
    elif name == "probe":
        found = probe(paths, [float(word) for word in given.split(",")], budget)
    else:
        found = liblinear({"liblinear-s1": 1, "liblinear-s2": 2}[name], paths, given, budget)
    print(json.dumps(found | surroundings()))


if __name__ == "__main__":
    import sklearn.linear_model  # noqa: F401  before the clock starts
    main(*sys.argv[1:7])
