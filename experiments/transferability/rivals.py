# SPDX-License-Identifier: BSD-3-Clause
"""Scores that others published, written from their papers, and nearest neighbours in other ways than the program's. X
(N, D): prepared training rows in double; y (N): classes from 0, or Y (N, K): 0/1. Higher is better.

LogME   You, Liu, Wang, Long, ICML 2021: mean log evidence of a linear model per class, no intercept.
N-LEEP  Li, Jia, Sang, Zhu, Green, Wang, Gong, CVPR 2021: LEEP of the posteriors of a Gaussian mixture.
GBC     Pandy, Agostinelli, Uijlings, Ferrari, Mensink, CVPR 2022: overlap of Gaussians of the classes.
NCTI    Wang, Luo, Zheng, Huang, Baktashmotlagh, ICCV 2023: how near to neural collapse; three parts that are standardised
        over the candidates, as we read it.
"""
import numpy
from scipy.special import logsumexp

DIRECTIONS = 64   # of GBC and NCTI, after a principal component analysis
ENERGY = 0.8      # that N-LEEP keeps
COMPONENTS = 5    # of the mixture, per class
STEPS = 30        # of its expectation-maximisation
NEIGHBOURS = (1, 5, 10, 20, 50)


def logme(rows, targets):
    """Fixed point of alpha and beta from 1, at most 11 steps, as the authors do; thin, so that D > N costs no more."""
    n = len(rows)
    wide = rows.shape[1] > n
    values, vectors = numpy.linalg.eigh(rows @ rows.T if wide else rows.T @ rows)
    keep = values > values[-1] * 1e-12
    spectrum = values[keep][:, None]
    z = vectors[:, keep].T @ targets if wide else vectors[:, keep].T @ (rows.T @ targets) / numpy.sqrt(spectrum)
    rest = numpy.maximum((targets ** 2).sum(axis=0) - (z ** 2).sum(axis=0), 0)
    alpha, beta = numpy.ones(targets.shape[1]), numpy.ones(targets.shape[1])
    for _ in range(11):
        ratio = alpha / beta
        gamma = (spectrum / (spectrum + ratio)).sum(axis=0)
        square = (spectrum * z ** 2 / (spectrum + ratio) ** 2).sum(axis=0)
        residual = rest + (z ** 2 * (ratio / (spectrum + ratio)) ** 2).sum(axis=0)
        new_alpha, new_beta = gamma / (square + 1e-12), (n - gamma) / (residual + 1e-12)
        done = numpy.max(numpy.abs(new_alpha / new_beta - ratio) / ratio) <= 1e-3
        alpha, beta = new_alpha, new_beta
        if done:
            break
    ratio = alpha / beta
    square = (spectrum * z ** 2 / (spectrum + ratio) ** 2).sum(axis=0)
    residual = rest + (z ** 2 * (ratio / (spectrum + ratio)) ** 2).sum(axis=0)
    evidence = (n * numpy.log(beta) - n * numpy.log(2 * numpy.pi) - beta * residual - alpha * square
                - numpy.log1p(spectrum / ratio).sum(axis=0)) / 2
    return float(evidence.mean() / n)


def principal(rows, count=None, energy=None):
    """Coordinates of the first principal components."""
    centred = rows - rows.mean(axis=0)
    left, sizes, _ = numpy.linalg.svd(centred, full_matrices=False)
    share = numpy.cumsum(sizes ** 2) / (sizes ** 2).sum()
    kept = min(count or len(sizes), len(sizes)) if energy is None else int(numpy.searchsorted(share, energy)) + 1
    return left[:, :kept] * sizes[:kept]


def mixture(rows, count, seed):
    """Posteriors (N, count) of a mixture of Gaussians with diagonal covariances: full ones have no rows to go by with
    five of them per class. Starts from ten steps of k-means from drawn rows."""
    rng = numpy.random.default_rng(seed)
    centres = rows[rng.permutation(len(rows))[:count]].copy()
    for _ in range(10):
        owner = numpy.argmin((centres ** 2).sum(axis=1) - 2 * rows @ centres.T, axis=1)
        for j in numpy.unique(owner):
            centres[j] = rows[owner == j].mean(axis=0)
    floor = 1e-2 * rows.var(axis=0).mean()
    spread = numpy.full_like(centres, rows.var(axis=0).mean() / 4)
    share = numpy.full(len(centres), 1 / len(centres))
    for _ in range(STEPS):
        inverse = 1 / spread
        fit = (rows ** 2) @ inverse.T - 2 * rows @ (centres * inverse).T + (centres ** 2 * inverse).sum(axis=1)
        logs = numpy.log(share) - (fit + numpy.log(spread).sum(axis=1)) / 2
        posterior = numpy.exp(logs - logsumexp(logs, axis=1, keepdims=True))
        total = posterior.sum(axis=0) + 1e-10
        centres = posterior.T @ rows / total[:, None]
        spread = numpy.maximum(posterior.T @ rows ** 2 / total[:, None] - centres ** 2, floor)
        share = total / total.sum()
    return posterior


def nleep(rows, classes):
    kinds = classes.max() + 1
    count = min(COMPONENTS * kinds, len(rows) // 2)
    posterior = mixture(principal(rows, energy=ENERGY), count, 0)
    joint = numpy.eye(kinds)[classes].T @ posterior / len(rows)
    given = joint / (joint.sum(axis=0) + 1e-300)
    return float(numpy.log((posterior * given[classes]).sum(axis=1) + 1e-300).mean())


def gbc(rows, classes):
    """Spherical Gaussians, the authors' choice for classification."""
    low = principal(rows, DIRECTIONS)
    kinds, dim = classes.max() + 1, low.shape[1]
    mean = numpy.array([low[classes == c].mean(axis=0) for c in range(kinds)])
    spread = numpy.array([low[classes == c].var(axis=0).mean() for c in range(kinds)]) + 1e-12
    both = (spread[:, None] + spread[None]) / 2
    apart = ((mean[:, None] - mean[None]) ** 2).sum(axis=2)
    distance = apart / both / 8 + dim / 2 * numpy.log(both / numpy.sqrt(spread[:, None] * spread[None]))
    overlap = numpy.exp(-distance)
    return float(-(overlap.sum() - numpy.trace(overlap)))


def ncti_parts(rows, classes):
    """Of a linear discriminant analysis in the principal directions: how little the posteriors of a class differ, how
    far all coordinates spread (nuclear norms), the mean posterior of the own class."""
    low = principal(rows, DIRECTIONS)
    kinds = classes.max() + 1
    hot = numpy.eye(kinds)[classes]
    size = hot.sum(axis=0)
    mean = hot.T @ low / size[:, None]
    within = low - mean[classes]
    scatter = within.T @ within / len(low)
    shrunk = 0.9 * scatter + 0.1 * numpy.trace(scatter) / len(scatter) * numpy.eye(len(scatter))
    root = numpy.linalg.inv(numpy.linalg.cholesky(shrunk))
    white, centres = low @ root.T, mean @ root.T
    logs = white @ centres.T - (centres ** 2).sum(axis=1) / 2 + numpy.log(size / len(low))
    posterior = numpy.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    basis = numpy.linalg.svd(centres - centres.mean(axis=0), full_matrices=False)[2][:kinds - 1]
    nuclear = [numpy.linalg.norm(posterior[classes == c], "nuc") / numpy.sqrt(size[c]) for c in range(kinds)]
    return [float(-numpy.mean(nuclear)), float(numpy.linalg.norm((white - white.mean(axis=0)) @ basis.T, "nuc")),
            float(posterior[numpy.arange(len(low)), classes].mean())]


def mean_ap(scores, targets):
    found = []
    for k in range(targets.shape[1]):
        hits = targets[numpy.argsort(-scores[:, k], kind="stable"), k]
        if 0 < hits.sum() < len(hits):
            found.append((numpy.cumsum(hits) / numpy.arange(1, len(hits) + 1))[hits > 0].mean())
    return float(numpy.mean(found))


def neighbours(rows, targets):
    """{name: leave-one-out accuracy or mean AP}, all rows."""
    length = numpy.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / numpy.where(length > 0, length, 1)
    near = unit @ unit.T
    numpy.fill_diagonal(near, -numpy.inf)
    most = min(max(NEIGHBOURS) + 1, len(rows) - 1)
    place = numpy.argpartition(-near, most - 1, axis=1)[:, :most]
    place = numpy.take_along_axis(place, numpy.argsort(-numpy.take_along_axis(near, place, 1), axis=1), 1)
    near = numpy.take_along_axis(near, place, 1)
    found = {}
    for k in NEIGHBOURS:
        asked = min(k, most - 1)
        votes = {"plain": numpy.ones((len(rows), asked)),
                 "weighted": near[:, :asked] - near[:, asked:asked + 1] + 2.0 ** -20}
        for name, weight in votes.items():
            share = numpy.einsum("nk,nkc->nc", weight / weight.sum(axis=1, keepdims=True), targets[place[:, :asked]])
            one = (targets.sum(axis=1) == 1).all()
            right = targets[numpy.arange(len(rows)), share.argmax(axis=1)].mean() if one else mean_ap(share, targets)
            found[f"kNN {k} {name}"] = float(right)
    return found


def measure(rows, labels):
    """{score: value}; NCTI as its three parts. What needs one class per row is left out for several."""
    single = labels.ndim == 1
    targets = numpy.eye(labels.max() + 1)[labels] if single else labels.astype(float)
    found = {"LogME": logme(rows, targets)} | neighbours(rows, targets)
    if single:
        found |= {"N-LEEP": nleep(rows, labels), "GBC": gbc(rows, labels), "NCTI": ncti_parts(rows, labels)}
    return found
