# SPDX-License-Identifier: BSD-3-Clause
"""What the figures of the program are held against: rows as a file holds them, prepared in long double; the evidence by sums;
objectives of saved heads in long double; and minima by solvers that share nothing with the library's. The evidence's spectrum is
reference.c, compiled here."""
import ctypes
import pathlib
import subprocess

import numpy as np
from scipy.optimize import minimize

HERE = pathlib.Path(__file__).resolve().parent
LONG = np.longdouble


# ---- rows ----

def prepare(x, normalize):
    """(N, D) in long double: mean and scale of z-scores are those of these rows."""
    x = x.astype(LONG)
    if normalize == "zscore":
        x = x - x[:1]  # exact for what varies less than it is large
        x = x - x.mean(0)
        deviation = np.sqrt((x * x).mean(0))
        return np.where(deviation > 0, x / np.where(deviation > 0, deviation, 1), 0)
    if normalize == "none":
        return x
    most = np.abs(x).max(1, keepdims=True)
    x = x / np.where(most > 0, most, 1)
    if normalize == "root":
        x = np.sign(x) * np.sqrt(np.abs(x))
    norm = np.abs(x).sum(1, keepdims=True) if normalize == "l1" else np.sqrt((x * x).sum(1, keepdims=True))
    return x / np.where(norm > 0, norm, 1)


def centred(x):
    """Columns less their means; a constant column is exactly 0."""
    x = x - x[:1]
    return x - x.mean(0) - (x - x.mean(0)).mean(0)


# ---- evidence ----

class Evidence:
    """F of one problem: a spectrum, and for each column of y its part in and outside of it."""

    def __init__(self, library, x, y, intercept):
        self.constant = y.min(0) == y.max(0)
        if intercept:
            x, y = centred(x), centred(y)
        self.dof = len(x) - int(intercept)
        most = np.abs(x).max()
        scale = most if most > 0 else LONG(1)
        x, y = np.ascontiguousarray(x / scale), np.ascontiguousarray(y)
        n = min(x.shape)
        s, z, outside = np.zeros(n, LONG), np.zeros((y.shape[1], n), LONG), np.zeros(y.shape[1], LONG)
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, y, s, z, outside)]
        sizes = [ctypes.c_size_t(v) for v in (*x.shape, y.shape[1])]
        rank = library.reference_spectrum(*sizes, *pointers)
        if rank < 0:
            raise MemoryError
        self.log_scale = 2 * np.log(scale)
        self.s, self.z2, self.outside = s[:rank], z[:, :rank] ** 2, outside
        self.yy = self.z2.sum(1) + outside

    def unbounded(self, k):
        """y lies in the span of fewer columns than it has degrees of freedom: F grows without end as lambda falls."""
        return len(self.s) < self.dof and self.outside[k] <= LONG(1e-32) * self.yy[k]

    def value(self, k, log_lambda):
        """F at lambdas given by their logarithms, which may be infinite."""
        log_lambda = np.atleast_1d(np.asarray(log_lambda, LONG)) - self.log_scale
        ratio = np.exp(np.log(self.s)[None] - log_lambda[:, None])  # s / lambda
        r = self.outside[k] + (self.z2[k] / (1 + ratio)).sum(1)
        half = LONG(self.dof) / 2
        return -np.log1p(ratio).sum(1) / 2 - half * np.log(r) + half * (np.log(LONG(self.dof)) - 1 - np.log(2 * LONG(np.pi)))

    def best(self, k):
        """max F, over all lambdas and infinity."""
        null = self.value(k, np.inf)[0]
        if len(self.s) == 0:
            return null
        logs = np.log(self.s) + self.log_scale
        grid = np.linspace(logs.min() - 30, logs.max() + 30, 600)
        f = self.value(k, grid)
        found = max(null, f[0])
        peaks = [i for i in range(1, len(grid) - 1) if f[i] >= f[i - 1] and f[i] >= f[i + 1]]
        for i in sorted(peaks, key=lambda i: -f[i])[:3]:
            low, high = grid[i - 1], grid[i + 1]
            for _ in range(12):  # each step leaves 1/4 of the bracket
                inner = np.linspace(low, high, 9)
                at = int(np.argmax(self.value(k, inner)))
                low, high = inner[max(at - 1, 0)], inner[min(at + 1, 8)]
            found = max(found, self.value(k, (low + high) / 2)[0])
        return found


def build_library(folder):
    target = folder / "reference.so"
    subprocess.run(["cc", "-std=c11", "-O2", "-shared", "-fPIC", str(HERE / "reference.c"), "-o", str(target), "-lm"], check=True)
    return target


def load_library(path):
    library = ctypes.CDLL(str(path))
    library.reference_spectrum.restype = ctypes.c_int
    return library


def ridge_scores(x, y, intercept, lambdas):
    """Scores of the training rows by the ridge model at one lambda per class, and its weights, by an SVD in double."""
    mean = y.mean(0) if intercept else np.zeros(y.shape[1], LONG)
    inner = (centred(x) if intercept else x).astype(float)
    scale = np.abs(inner).max() or 1.0
    u, s, vt = np.linalg.svd(inner / scale, full_matrices=False)
    h = u.T @ (y - mean).astype(float)
    lam = np.asarray(lambdas, float) / scale / scale
    with np.errstate(divide="ignore", invalid="ignore"):
        shrunk = np.where(np.isfinite(lam), s[:, None] ** 2 / (s[:, None] ** 2 + lam), 0)
        over = np.where(np.isfinite(lam) & (s[:, None] > 0), s[:, None] / (s[:, None] ** 2 + lam), 0)
    return mean.astype(float) + u @ (np.nan_to_num(shrunk) * h), vt.T @ (np.nan_to_num(over) * h) / scale, inner


# ---- objectives of svm and logistic heads ----

def losses(kind, scores, y, cost):
    """(values, slopes) of c loss(y, s); y (N, K) of 0 and 1, scores alike. Softmax couples the columns of a row."""
    if kind == "softmax":
        top = scores.max(1, keepdims=True)
        e = np.exp(scores - top)
        total = e.sum(1, keepdims=True)
        rest = np.where(np.arange(e.shape[1]) == scores.argmax(1)[:, None], 0, e).sum(1, keepdims=True)  # beside the largest, 1
        value = np.log1p(rest) + (top - (scores * y).sum(1, keepdims=True))
        return cost[:, :1] * value, cost * (e / total - y)
    sign = 2 * y - 1
    v = 1 - sign * scores
    if kind == "logistic":
        m = sign * scores
        return cost * np.logaddexp(LONG(0), -m), -cost * sign / (1 + np.exp(np.minimum(m, 11000)))
    v = np.maximum(v, 0)
    if kind == "squared-hinge":
        return cost * v * v, -2 * cost * sign * v
    return cost * v, -cost * sign * (v > 0)


def objective(kind, x, y, cost, w, b, penalised, rounded_rows=False):
    """f in long double of weights (K, D) and intercepts (K), and how far rounding may move it: of each score to float, of rows
    about their column means; and of the rows themselves where they are rounded."""
    w, b = w.astype(LONG), b.astype(LONG)
    value, slope = losses(kind, x @ w.T + b, y, cost)
    f = (w * w).sum() / 2 + ((b * b).sum() / 2 if penalised else 0) + value.sum()
    spread = np.abs(x if rounded_rows else x - x.mean(0)) @ np.abs(w).T
    return float(f), float((np.abs(slope) * spread).sum() * LONG(2) ** -23)


# ---- their minima, by other means ----

def newton(g, free, value, start=None, most=100):
    """min over u (r), and b at its end where it is free, of |u|^2/2 + value(g u + b), which gives (sum, slopes, curvatures)."""
    n, r = g.shape
    a = np.hstack([g, np.ones((n, 1))]) if free else g
    ridge = np.ones(a.shape[1])
    ridge[r:] = 0
    u = np.zeros(a.shape[1]) if start is None else start
    scores = a @ u
    f, slope, curve = value(scores)
    for _ in range(most):
        gradient = ridge * u + a.T @ slope
        nearly_free = 1e-12 * max(curve.max(), 1e-12) if free else 0  # keeps the matrix regular where every row is flat
        step = -solve((a * curve[:, None]).T @ a + np.diag(ridge + nearly_free), gradient)
        fall, t, moved = gradient @ step, 1.0, a @ step
        before = f + (ridge * u * u).sum() / 2
        if -fall <= 1e-13 * abs(before):
            break
        while t > 1e-9:
            trial, got = u + t * step, value(scores + t * moved)
            if got[0] + (ridge * trial * trial).sum() / 2 <= before + 1e-4 * t * fall:
                break
            t /= 2
        else:
            break
        u, scores = trial, scores + t * moved
        f, slope, curve = got
    return u


def solve(h, gradient):
    scale = 1 / np.sqrt(np.maximum(np.diag(h), 1e-300))
    try:
        return scale * np.linalg.solve(h * scale[:, None] * scale, scale * gradient)
    except np.linalg.LinAlgError:
        return scale * np.linalg.lstsq(h * scale[:, None] * scale, scale * gradient, rcond=None)[0]


def margin_value(kind, sign, cost, smooth=1.0):
    def value(s):
        v = 1 - sign * s
        if kind == "squared-hinge":
            active = v > 0
            return (cost * np.where(active, v * v, 0)).sum(), -2 * cost * sign * np.where(active, v, 0), 2 * cost * active
        if kind == "hinge":  # quadratic for 0 < v < smooth
            flat = v >= smooth
            bent = (v > 0) & ~flat
            return ((cost * np.where(flat, v - smooth / 2, np.where(bent, v * v / (2 * smooth), 0))).sum(),
                    -cost * sign * np.where(flat, 1, np.where(bent, v / smooth, 0)), cost * bent / smooth)
        m = sign * s
        q = 1 / (1 + np.exp(np.clip(m, -700, 700)))
        return (cost * np.logaddexp(0, -m)).sum(), -cost * sign * q, cost * q * (1 - q)
    return value


def minimum(kind, x, y, cost, bias, penalised):
    """Weights and intercepts (doubles) near the minimum of the objective: its value there bounds the minimum from above."""
    free = bias and not penalised
    mean = x.mean(0) if free else np.zeros(x.shape[1], LONG)
    inner = (x - mean).astype(float)
    if bias and penalised:
        inner = np.hstack([inner, np.ones((len(inner), 1))])
    u, s, vt = np.linalg.svd(inner, full_matrices=False)
    g, cost, y = u * s, cost.astype(float), y.astype(float)
    if kind == "softmax":
        found, b = softmax_minimum(g, s, y, cost[:, 0], bias)
    else:
        found, b = np.zeros((len(s), y.shape[1])), np.zeros(y.shape[1])
        for k in range(y.shape[1]):
            sign = 2 * y[:, k] - 1
            if kind == "hinge":
                at = hinge_minimum(g, free, sign, cost[:, k])
            else:
                at = newton(g, free, margin_value(kind, sign, cost[:, k]))
            found[:, k] = at[:len(s)]
            b[k] = at[-1] if free else 0
    w = (vt.T @ found).T
    if bias and penalised:
        return w[:, :-1], w[:, -1]
    return w, (b - w @ mean.astype(float)).astype(float)


def hinge_minimum(g, free, sign, cost):
    """Quadratic near the corner, on ever shorter pieces, each from the one before."""
    at = None
    for smooth in (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        at = newton(g, free, margin_value("hinge", sign, cost, smooth), at, 40)
    return at


def softmax_minimum(g, s, y, cost, bias):
    """L-BFGS in coordinates where the Hessian at equal probabilities is near the identity."""
    n, k = y.shape
    r = len(s)
    rate = 1 / np.sqrt(1 + s * s * cost.mean() / k)

    def value(v):
        a = v[:r * k].reshape(r, k) * rate[:, None]
        b = v[r * k:] if bias else np.zeros(k)
        scores = g @ a + b
        top = scores.max(1, keepdims=True)
        e = np.exp(scores - top)
        total = e.sum(1, keepdims=True)
        slope = cost[:, None] * (e / total - y)
        f = (a * a).sum() / 2 + (cost * (np.log(total[:, 0]) + top[:, 0] - (scores * y).sum(1))).sum()
        gradient = (a + g.T @ slope) * rate[:, None]
        return f, np.concatenate([gradient.ravel(), slope.sum(0)]) if bias else gradient.ravel()

    at = minimize(value, np.zeros(r * k + (k if bias else 0)), jac=True, method="L-BFGS-B",
                  options={"maxiter": 2000, "maxfun": 3000, "maxcor": 20, "ftol": 1e-14, "gtol": 1e-10}).x
    return at[:r * k].reshape(r, k) * rate[:, None], at[r * k:] if bias else np.zeros(k)
