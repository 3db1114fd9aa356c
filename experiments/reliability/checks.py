# SPDX-License-Identifier: BSD-3-Clause
"""One problem through the program, every figure of it held against the reference. A check gives its error as a part of what is
allowed: above 1 it failed."""
import json
import math
import os
import subprocess

import numpy as np

import reference
from reference import LONG

EXITS = (0, 1, 2, 65, 66, 73, 75, 130)
EVIDENCE = 1e-6  # relative, the promise
OBJECTIVE = 1e-5  # relative: sums over rows in float and a cost that is rounded to float
LIMIT_SECONDS = 60


class Refused(Exception):
    pass


class Result:
    def __init__(self, problem):
        self.seed, self.about, self.kind = problem.seed, problem.about(), kind_of(problem)
        self.type, self.offset, self.spread = problem.type, problem.offset, problem.spread
        self.found, self.notes, self.failures = {}, {}, []

    def check(self, name, error, allowed, text=""):
        """error and allowed in the same unit; a number that is none fails."""
        ratio = error / allowed if allowed > 0 else (0.0 if error == 0 else math.inf)
        ratio = float(ratio) if ratio == ratio else math.inf
        self.found[name] = max(ratio, self.found.get(name, 0.0))
        if not ratio <= 1:
            self.failures.append(f"{name}: {text or f'{float(error):.3g} where {float(allowed):.3g} is allowed'}")

    def note(self, name):
        self.notes[name] = self.notes.get(name, 0) + 1


def kind_of(problem):
    if problem.method == "evidence":
        return f"evidence, {problem.task}"
    if problem.method in ("logistic", "online"):
        return f"{problem.method}, {problem.task}"
    return {"squared-hinge": "svm, squared hinge", "free-bias": "svm, free intercept", "hinge": "svm, hinge"}[problem.method]


class Runner:
    def __init__(self, program, library, folder):
        self.program, self.library, self.folder = program, library, folder
        self.may_refuse = False
        self.environment = dict(os.environ, OPENBLAS_NUM_THREADS="1")

    def call(self, result, *words):
        line = [str(self.program), *map(str, words), "--threads", "1"]
        try:
            done = subprocess.run(line, capture_output=True, timeout=LIMIT_SECONDS, env=self.environment, check=False)
        except subprocess.TimeoutExpired:
            result.check("runs", 1, 0, f"{words[0]} took more than {LIMIT_SECONDS} s")
            raise Refused from None
        result.check("runs", 0 if done.returncode in EXITS else 1, 0, f"{words[0]} ended with {done.returncode}")
        if done.returncode == 65 and self.may_refuse:
            result.note("refused")
            raise Refused
        if done.returncode != 0:
            message = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            result.check("runs", 1, 0, f"{words[0]} exit {done.returncode}: {' '.join(message)}")
            raise Refused
        return done.stdout

    def run(self, problem):
        result = Result(problem)
        rep, labels = problem.write(self.folder)
        common = ["--labels", labels, "--task", problem.task, "--normalize", problem.normalize,
                  "--intercept", "yes" if problem.intercept else "no", "--loo", "0"]
        x = reference.prepare(problem.x, problem.normalize)
        self.may_refuse = problem.may_be_refused(x)
        try:
            with np.errstate(all="ignore"):
                ranked = json.loads(self.call(result, "rank", rep, *common, "--json"))
                exact = reference.Evidence(self.library, x, problem.y.astype(LONG), problem.intercept)
                self.check_rank(result, problem, ranked, exact, x)
                self.fit(result, problem, rep, labels, common, x, exact)
        except Refused:
            pass
        except (ValueError, TypeError, KeyError, OSError, ArithmeticError, np.linalg.LinAlgError) as error:
            result.check("runs", 1, 0, f"what came back cannot be judged: {type(error).__name__}: {error}")
        return result

    def check_rank(self, result, problem, ranked, exact, x):
        best, got = best_sum(exact), ranked["candidates"][0]["log_evidence"]
        if best is None:
            result.note("unbounded")
            return
        error, allowed, why = abs(number(got) - best[0]), EVIDENCE * best[1], ""
        if not error <= allowed:  # what the program would say of rows that were rounded to float first
            rounded = best_sum(reference.Evidence(self.library, x.astype("f4").astype(LONG), problem.y.astype(LONG),
                                                  problem.intercept))
            why = " (that of the rows rounded to float)" if rounded and abs(number(got) - rounded[0]) <= allowed else ""
        result.check("evidence", error, allowed, f"log evidence {got}, exact {float(best[0]):.10g}{why}")

    def fit(self, result, problem, rep, labels, common, x, exact):
        head_file, scores_file = self.folder / "h.safetensors", self.folder / "s.npy"
        told = json.loads(self.call(result, "fit", rep, *common, "-o", head_file, "--json", *method_words(problem)))
        head = read_head(head_file)
        xs, w, b, c = applied(problem, head)
        check_finite(result, problem, told, head)
        ridge = problem.method == "evidence" and not takes_means(problem, told)
        if ridge and (problem.task != "multiclass" or told["null_classes"] == 0):
            check_lambda(result, told, exact)  # the arg-max gives a class whose own lambda is infinite another one
        if problem.method == "evidence" and not ridge:
            result.note("class means")
        elif problem.method not in ("evidence", "online"):
            check_certificate(result, problem, told, x, w, b, c)
        lines = self.call(result, "predict", head_file, rep, "--scores", scores_file).decode().split("\n")[:-1]
        scores = np.load(scores_file)
        check_scores(result, problem, scores, lines, xs, w, b, c, head)
        if ridge:
            check_fit(result, problem, scores, x, told)
        tested = json.loads(self.call(result, "eval", head_file, rep, "--labels", labels, "--json"))
        check_eval(result, problem, tested, scores)


def takes_means(problem, told):
    """Where a class of an arg-max has no finite lambda, all get none, and the head is that of the class means."""
    return problem.task == "multiclass" and all(value is None for value in told["lambda"])


def method_words(problem):
    if problem.method == "evidence":
        return ["--method", "evidence", "--lambda", "per-class"]
    if problem.method == "online":
        return ["--method", problem.learner, "--epochs", "3"]
    words = ["--method", "logistic" if problem.method == "logistic" else "svm", "--C", repr(problem.cost)]
    if problem.method == "hinge":
        words += ["--loss", "hinge"]
    if problem.method == "free-bias":
        words += ["--penalise-bias", "no"]
    return words + (["--class-weight", "balanced"] if problem.balanced else [])


# ---- the saved head ----

NUMPY_TYPES = {"F32": "<f4", "F64": "<f8"}


def read_head(path):
    blob = path.read_bytes()
    n = int.from_bytes(blob[:8], "little")
    header = json.loads(blob[8:8 + n])
    header.pop("__metadata__")
    return {name: np.frombuffer(blob[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]],
                                NUMPY_TYPES[t["dtype"]]).reshape(t["shape"]) for name, t in header.items()}


def applied(problem, head):
    """Rows as the head's own means and scales make them, weights, intercepts, and the centre they are about, in long double."""
    if problem.normalize == "zscore":
        x = (problem.x.astype(LONG) - head["zscore_mean"].astype(LONG)) * head["zscore_scale"].astype(LONG)
    else:
        x = reference.prepare(problem.x, problem.normalize)
    centre = head["centre"].astype(LONG) if "centre" in head else np.zeros(x.shape[1], LONG)
    bias = head["centre_bias"] if "centre" in head else head["bias"]
    return x, head["weight"].astype(LONG), bias.astype(LONG), centre


def check_finite(result, problem, told, head):
    ridge = ("lambda", "alpha", "beta")  # infinite for classes without weights, or without noise
    bad = [name for name, values in head.items() if name not in ridge and not np.isfinite(values).all()]
    result.check("finite", len(bad), 0, f"{', '.join(bad)} of the head not finite")
    missing = [key for key in ("objective", "gap") if told[key] is None]  # JSON has no other word for NaN and infinity
    if missing and problem.method not in ("evidence", "online"):
        result.check("finite", 1, 0, f"{' and '.join(missing)} not finite")
        raise Refused


# ---- evidence ----

def number(value):
    return LONG(np.nan if value is None else value)


def best_sum(exact):
    """(sum, sum of sizes) of the best F of every class that is not constant; None where one of them has no bound."""
    usual = [k for k in range(len(exact.yy)) if not exact.constant[k]]
    if any(exact.unbounded(k) for k in usual):
        return None
    found = [exact.best(k) for k in usual]
    return sum(found), max(float(sum(abs(f) for f in found)), 1.0)


def check_lambda(result, told, exact):
    """F of the reference at the lambdas that were used is what was reported."""
    usual = [k for k in range(len(exact.yy)) if not exact.constant[k]]
    if any(exact.unbounded(k) for k in usual):
        return
    logs = [np.log(LONG(told["lambda"][k])) if told["lambda"][k] is not None else LONG(np.inf) for k in usual]
    values = [exact.value(k, at)[0] for k, at in zip(usual, logs)]
    scale = max(float(sum(abs(f) for f in values)), 1.0)
    got = told["log_evidence"]
    result.check("lambda", abs(number(got) - sum(values)), EVIDENCE * scale,
                 f"log evidence {got}, at its lambdas {float(sum(values)):.10g}")


def check_fit(result, problem, scores, x, told):
    """Training scores of the float head are those of the ridge model at its lambdas, up to rounding its weights to float, and the
    rows where they are."""
    lambdas = [np.inf if value is None else value for value in told["lambda"]]
    want, w, inner = reference.ridge_scores(x, problem.y.astype(LONG), problem.intercept, lambdas)
    constant = problem.y.min(0) == problem.y.max(0)
    rounding = (np.abs(inner) + (np.abs(x.astype(float)) if problem.rounded_rows() else 0)) @ np.abs(w) * 2.0 ** -22
    allowed = 1e-3 * max(1.0, np.abs(problem.y).max()) + rounding
    error = np.abs(scores - want)[:, ~constant]
    result.check("fit", (error / allowed[:, ~constant]).max(), 1.0,
                 f"training scores {error.max():.3g} from those of the exact model")


# ---- certificates ----

def costs(problem):
    n, k = problem.y.shape
    cost = np.full((n, k), problem.cost, LONG)
    if problem.balanced and problem.task == "multiclass":
        cost *= (n / (k * problem.y.sum(0)))[problem.classes][:, None]
    elif problem.balanced:
        positive = problem.y.sum(0)
        cost *= np.where(problem.y > 0, n / (2 * np.maximum(positive, 1)), n / (2 * np.maximum(n - positive, 1)))
    return cost


def check_certificate(result, problem, told, x, w, b, c):
    """Of columns about the head's centre c: a penalised intercept is that of the centred columns, docs/math.md 1.4. Rows are those that
    training and prediction alike see: floats."""
    x = x - c
    if problem.normalize == "none":
        x = x.astype("f4").astype(LONG)
    kind = {"free-bias": "squared-hinge", "logistic": "softmax" if problem.task == "multiclass" else "logistic"}.get(
        problem.method, problem.method)
    penalised = problem.method in ("squared-hinge", "hinge") and problem.intercept
    usual = problem.y.min(0) != problem.y.max(0)
    y, cost = problem.y[:, usual].astype(LONG), costs(problem)[:, usual]
    saved, rounding = reference.objective(kind, x, y, cost, w[usual], b[usual], penalised, problem.rounded_rows())
    best = reference.objective(kind, x, y, cost, *reference.minimum(kind, x, y, cost, problem.intercept, penalised), penalised)[0]
    got, gap = told["objective"], told["gap"]
    result.check("objective", abs(got - saved), OBJECTIVE * saved + rounding, f"reported {got:.8g}, the saved head has {saved:.8g}")
    result.check("certificate", max(max(got, saved) - gap - best, 0), OBJECTIVE * best + rounding,
                 f"{got:.8g} with a gap of {gap:.3g}; the saved head has {saved:.8g}, another one {best:.8g}")
    if not told["converged"]:
        result.note("not converged")
    elif gap > 1.0001e-4 * abs(got):
        result.check("certificate", gap, 1e-4 * abs(got), f"converged with a gap of {gap:.3g} of {got:.3g}")
    result.notes["excess"] = max(result.notes.get("excess", 0), saved / best - 1)


# ---- scores ----

def check_scores(result, problem, scores, lines, x, w, b, c, head):
    """predict gives what the saved head says: D + 8 roundings of the largest term each, in float, of rows about the centre."""
    result.check("finite", 0 if np.isfinite(scores).all() else 1, 0, "scores are not finite")
    inner = x - c
    want = inner @ w.T + b
    allowed = (x.shape[1] + 8) * LONG(2) ** -24 * (np.abs(inner) @ np.abs(w).T + np.abs(b)) + LONG(1e-37)
    result.check("predict", (np.abs(scores - want) / allowed).max(), 1.0,
                 f"scores {float(np.abs(scores - want).max()):.3g} from those of the saved head")
    if problem.task == "multiclass":
        decided = np.array([int(line) for line in lines])
        result.check("predict", int((decided != scores.argmax(1)).sum()), 0, "a printed class is not that of the best score")


def check_eval(result, problem, tested, scores):
    metrics = tested["metrics"]
    if problem.task == "multiclass":
        want = float((scores.argmax(1) == problem.classes).mean())
        result.check("eval", abs(metrics["accuracy"] - want), 1e-9, f"accuracy {metrics['accuracy']}, of the scores {want}")
    elif problem.task == "regression":
        want = float(((scores.astype(float) - problem.y) ** 2).mean())
        result.check("eval", abs(metrics["mse"] - want), 1e-9 * want + 1e-30, f"mse {metrics['mse']}, of the scores {want}")
