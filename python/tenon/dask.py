# SPDX-License-Identifier: BSD-3-Clause
"""Rows that are dask arrays: ranked and fitted where they are. Workers sum their chunks (tenon.Moments), the sums are merged as a
tree, and only they travel: 4 times the square of the columns bytes per chunk, half of a Gram matrix in double.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

import dask
import dask.array as da
import numpy as np

from ._data import parts_of
from ._errors import ArgumentError, ShapeError
from ._head import Head
from ._moments import Moments
from ._results import Ranking

FAN_IN = 8  # sums that one task merges
UNKNOWN = 1 << 40  # rows between the numbers of chunks whose sizes nobody knows


def _sum(settings: dict[str, Any], names: list[str], blocks: list[Any], y: Any, weights: Any, first: int) -> Moments:
    return Moments(**settings).update(dict(zip(names, blocks)), y, weights, first_row=first)


def _merge(parts: list[Moments]) -> Moments:
    out = Moments()
    for part in parts:
        out.merge(part)
    return out


def _chunked(x: Any, name: str, like: Any) -> Any:
    """As a dask array whose chunks are whole rows, and those of `like`."""
    x = x if isinstance(x, da.Array) else da.asarray(np.asarray(x))
    if x.ndim == 2 and x.numblocks[1] > 1:
        x = x.rechunk({1: -1})
    if like is None:
        return x
    if any(np.isnan(c) for c in x.chunks[0] + like.chunks[0]):
        if x.numblocks[0] != like.numblocks[0]:
            raise ShapeError(f"{name}: {x.numblocks[0]} chunks, expected {like.numblocks[0]}, since their sizes are not known")
        return x
    if x.shape[0] != like.shape[0]:
        raise ShapeError(f"{name}: {x.shape[0]} rows, expected {like.shape[0]}")
    return x.rechunk({0: like.chunks[0]})


def _task_of(y: Any) -> str:
    """What all of y says, not one chunk of it."""
    if y.ndim == 2 and y.shape[1] > 1:
        marks = y.dtype.kind in "biuf" and bool(da.isin(y, (0, 1)).all().compute())
        return "multilabel" if marks else "regression"
    fractions = y.dtype.kind == "f" and not bool((da.mod(y, 1) == 0).all().compute())
    return "regression" if fractions else "multiclass"


def _blocks(x: Any) -> list[Any]:
    return list(x.to_delayed().ravel())


def moments(representations: Mapping[str, Any], y: Any, *, sample_weight: Optional[Any] = None, task: str = "auto",
            **settings: Any) -> Moments:
    """Sums over all rows, by the workers of the current client or scheduler.

    Parameters
    ----------
    representations : dict of name to dask array, or one
        Rows in the same order in all; chunks of rows are what a worker sums at a time.
    y : dask array or array-like
    sample_weight : dask array or array-like, optional
    task : {"auto", "multiclass", "multilabel", "regression"}
    settings
        Of `tenon.Moments`. n_jobs is 1 unless given: workers are many.
    """
    parts = parts_of(representations)
    if not parts:
        raise ArgumentError("X: got no representation, expected at least one")
    first = next(iter(parts))
    like = _chunked(parts[first], first, None)
    columns = [like] + [_chunked(x, name, like) for name, x in parts.items() if name != first]
    targets = _chunked(y, "y", like)
    weights = None if sample_weight is None else _chunked(sample_weight, "sample_weight", like)
    settings = {"n_jobs": 1, "task": _task_of(targets) if task == "auto" else task, **settings}
    sizes = like.chunks[0]
    starts = np.cumsum((0,) + sizes[:-1]) if not any(np.isnan(s) for s in sizes) else np.arange(len(sizes)) * UNKNOWN
    blocks = list(zip(*[_blocks(x) for x in columns]))
    sums = [dask.delayed(_sum)(settings, list(parts), list(b), t, w, int(s)) for b, t, w, s in
            zip(blocks, _blocks(targets), [None] * len(blocks) if weights is None else _blocks(weights), starts)]
    while len(sums) > 1:
        sums = [dask.delayed(_merge)(sums[i:i + FAN_IN]) for i in range(0, len(sums), FAN_IN)]
    return dask.compute(sums[0])[0]


def rank(representations: Mapping[str, Any], y: Any, *, intercept: bool = True, **settings: Any) -> Ranking:
    """As `tenon.rank` without leave-one-out, of dask arrays; settings as of `moments`."""
    return moments(representations, y, **settings).rank(intercept=intercept)


def fit(representations: Mapping[str, Any], y: Any, method: str = "evidence", *, select: str = "greedy", lam: Any = "auto",
        grid: Optional[Any] = None, intercept: bool = True, **settings: Any) -> Head:
    """A ridge head of all rows of dask arrays; method to intercept as of `tenon.Moments.fit`, settings as of `moments`.
    Method ridge-cv sums five folds unless folds is given."""
    if method == "ridge-cv":
        settings.setdefault("folds", 5)
    return moments(representations, y, **settings).fit(method, select=select, lam=lam, grid=grid, intercept=intercept)
