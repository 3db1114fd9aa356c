# SPDX-License-Identifier: BSD-3-Clause
"""The other ways to judge features with a regularised linear model, timed in their own process.

Usage: peers.py PEER X.npy Y.npy       Prints one JSON object: seconds, runs, value, note, versions, BLAS kernels.

Time counts from np.load to the result, with the L2 normalisation that all of them need; imports do not count. The
best of up to three runs is taken, as many as begin within 15 seconds.

  logme        LogME (You, Liu, Wang, Long, ICML 2021), its published fixed-point algorithm written anew: double
               precision, singular value decomposition of the Gram matrix, then alpha and beta class by class, at
               most 11 rounds, until alpha/beta changes by 0.1 % or less
  logme-eigh   the same with a symmetric eigensolver and all classes projected by one product: nobody ships this,
               it shows what a careful NumPy user gets
  ridge-loo    scikit-learn RidgeClassifierCV, 21 alphas, its efficient leave-one-out
  ridge-5fold  scikit-learn RidgeClassifier, 5 folds x 21 alphas; every fit costs the same, so where all 105 take too
               long the time of some fits of the first fold is scaled
"""
import json
import sys
import time

import numpy as np

ALPHAS = 2.0 ** np.arange(-10, 11)
FOLDS, FEW, FULL_CELLS = 5, 3, 6_000_000
RUNS, ENOUGH_SECONDS = 3, 15


def load(paths):
    x = np.load(paths[0])
    return x / np.linalg.norm(x, axis=1, keepdims=True), np.load(paths[1])


def left_basis(x, symmetric):
    """Left singular vectors of x and its squared singular values, by way of the D x D Gram matrix."""
    if symmetric:
        squared, right = np.linalg.eigh(x.T @ x)
        squared = np.maximum(squared, 0)
    else:
        _, squared, right_t = np.linalg.svd(x.T @ x)
        right = right_t.T
    kept = np.sqrt(squared) > 1e-10
    return (x @ right)[:, kept] / np.sqrt(squared[kept]), squared[kept]


def class_evidence(projected2, outside2, squared, rows):
    """Log evidence a row of one class. projected2: squares of u'y; outside2: the part of y'y that u misses."""
    alpha = beta = 1.0
    evidence = 0.0
    for _ in range(11):
        ratio = alpha / beta
        gamma = np.sum(squared / (squared + ratio))
        weights2 = np.sum(squared * projected2 / (squared + ratio) ** 2)
        residual2 = np.sum(projected2 / (1 + squared / ratio) ** 2) + outside2
        alpha = gamma / (weights2 + 1e-5)
        beta = (rows - gamma) / (residual2 + 1e-5)
        evidence = (rows * np.log(beta / (2 * np.pi)) - np.sum(np.log1p(beta / alpha * squared))
                    - beta * residual2 - alpha * weights2) / (2 * rows)
        if abs(alpha / beta - ratio) / ratio <= 1e-3:
            break
    return evidence


def logme(paths, symmetric=False):
    features, labels = load(paths)
    x = features.astype(np.float64)
    basis, squared = left_basis(x, symmetric)
    targets = np.eye(labels.max() + 1)[labels]
    together = basis.T @ targets if symmetric else None
    values = []
    for k in range(targets.shape[1]):
        y = targets[:, k]
        projected2 = (together[:, k] if symmetric else basis.T @ y) ** 2
        values.append(class_evidence(projected2, y @ y - projected2.sum(), squared, len(x)))
    return float(np.mean(values)), 0, ""


def ridge_loo(paths):
    from sklearn.linear_model import RidgeClassifierCV
    x, y = load(paths)
    return float(RidgeClassifierCV(alphas=ALPHAS).fit(x, y).alpha_), 0, ""


def ridge_5fold(paths):
    """Besides the result, the seconds of the fits that were left out; see the head of the file."""
    from sklearn.linear_model import RidgeClassifier
    from sklearn.model_selection import StratifiedKFold
    x, y = load(paths)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(x, y))
    full = x.size <= FULL_CELLS
    alphas = ALPHAS if full else ALPHAS[:: len(ALPHAS) // 2][:FEW]
    scores = np.zeros(len(alphas))
    start = time.perf_counter()
    for inside, outside in folds if full else folds[:1]:
        for i, alpha in enumerate(alphas):
            scores[i] += RidgeClassifier(alpha=alpha).fit(x[inside], y[inside]).score(x[outside], y[outside])
    scale = 1 if full else FOLDS * len(ALPHAS) / FEW
    note = "" if full else f"scaled: fold 1 with {FEW} alphas, x {scale:.0f}"
    return float(alphas[np.argmax(scores)]), (scale - 1) * (time.perf_counter() - start), note


def timed(work, paths):
    best, runs, begin = np.inf, 0, time.perf_counter()
    value, note = None, ""
    while runs < RUNS and time.perf_counter() - begin < ENOUGH_SECONDS:
        start = time.perf_counter()
        value, left_out, note = work(paths)
        best = min(best, time.perf_counter() - start + left_out)
        runs += 1
    return {"seconds": best, "runs": runs, "value": value, "note": note}


def surroundings():
    import scipy
    import sklearn
    import threadpoolctl
    blas = [lib for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"]
    kernels = sorted({f"{lib['internal_api']} {lib['version']} {lib.get('architecture', '')}".strip() for lib in blas})
    return {"numpy": np.__version__, "scipy": scipy.__version__, "sklearn": sklearn.__version__,
            "python": sys.version.split()[0], "kernels": ", ".join(kernels),
            "threads": max((lib["num_threads"] for lib in blas), default=1)}


PEERS = {"logme": logme, "logme-eigh": lambda paths: logme(paths, symmetric=True), "ridge-loo": ridge_loo,
         "ridge-5fold": ridge_5fold}

if __name__ == "__main__":
    import sklearn.linear_model  # noqa: F401  before the clock starts
    import sklearn.model_selection  # noqa: F401
    print(json.dumps(timed(PEERS[sys.argv[1]], sys.argv[2:4]) | surroundings()))
