# SPDX-License-Identifier: BSD-3-Clause
"""rank, evidence, load: what needs no estimator."""
from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Mapping
from typing import Any, Optional, Union

import numpy as np

from ._data import FeatureList, Features, labels_of, parts_of
from ._errors import FormatError
from ._head import Head
from ._library import Machine, lib
from ._moments import Moments, check_rows
from ._options import Options
from ._results import Evidence, Ranking
from ._session import Session


def rank(representations: Mapping[str, Any], y: Any, *, task: str = "auto", normalize: Any = "l2",
         feature_map: Any = "none", signed: str = "odd", nan: str = "error", loo: Union[int, str] = 2000,
         intercept: bool = True, random_state: Optional[int] = None, n_jobs: Optional[int] = None,
         memory: Optional[int] = None, verbose: int = 0) -> Ranking:
    """Which representation suits a task: the evidence of each, best first.

    Parameters
    ----------
    representations : dict of name to array, path or Features
        Rows in the same order in all. An array alone is called "X".
    y : array-like or path
        Classes, one per row; 0 and 1 (rows x classes) for several labels per row; numbers for a regression.
    task : {"auto", "multiclass", "multilabel", "regression"}
        What y means; auto: by its type and values.
    normalize : str or list of str
        "l2", "root", "l1", "zscore" or "none"; several make each pair with a representation a candidate.
    feature_map : str or list of str
        "none", "hellinger", "chi2", "intersection", "js" or the file of a learned kernel.
    signed : {"odd", "split"}
        Entries below zero in a map that is no file.
    nan : {"error", "drop", "zero"}
        Rows with NaN or infinity.
    loo : int or "all"
        Rows of the leave-one-out sample; 0 switches it off.
    intercept : bool
        Add an intercept that is not penalised.
    random_state : int, optional
        Seed of the leave-one-out sample; None is 0.
    n_jobs : int, optional
        Threads; None and -1: all cores.
    memory : int, optional
        Most bytes that the library may take.
    verbose : int
        Not 0: show progress.

    Returns
    -------
    Ranking

    Examples
    --------
    >>> ranking = tenon.rank({"all": X, "one": X[:, :1]}, y)
    >>> ranking.best
    'all'
    """
    with Session(n_jobs, memory, verbose) as s:
        features = FeatureList(s, parts_of(representations))
        labels, _ = labels_of(s, y, task)
        check_rows(features, labels)
        options = Options(s, "rank").set_all({
            "normalize": normalize, "feature_map": feature_map, "signed": signed, "nan": nan, "loo": loo,
            "intercept": intercept, "random_state": random_state})
        ranking = s.make("tn_rank", features.handles, features.count, labels, options, long=True)
        s.keep(ranking, "tn_ranking_free")
        return Ranking(s.json("tn_ranking_json", ranking), s.text("tn_ranking_table", ranking, False))


def evidence(x: Any, y: Any, *, task: str = "auto", normalize: str = "l2", feature_map: str = "none",
             nan: str = "error", intercept: bool = True, n_jobs: Optional[int] = None) -> Evidence:
    """The evidence of one representation for a task.

    Parameters are those of `rank`, which this is without the leave-one-out figure.

    Returns
    -------
    Evidence

    Examples
    --------
    >>> round(tenon.evidence(X, y).gain, 2) > 0
    True
    """
    ranking = rank({"X": x}, y, task=task, normalize=normalize, feature_map=feature_map, nan=nan, loo=0,
                   intercept=intercept, n_jobs=n_jobs)
    return Evidence({**ranking.json, **ranking.json["candidates"][0]})


def load(path: Union[str, os.PathLike[str]]) -> Any:
    """Whatever the program or this package wrote.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    Head, OnlineClassifier, AdditiveKernelMap, ProductQuantizer, BagEncoder, Moments, Features or ndarray
        By what is in the file; a head, or a learner that goes on, has `predict`, `predict_proba`, `coef_`, `save`.
        A .npy is mapped, not read; codes and other representations are Features.

    Examples
    --------
    >>> from tenon import EvidenceClassifier
    >>> EvidenceClassifier().fit(X, y).save(folder / "head.safetensors")
    >>> tenon.load(folder / "head.safetensors")
    <tenon.Head evidence: 3 classes, 8 columns of X>
    """
    name = os.fspath(path)
    if name.endswith(".npy"):
        return np.load(name, mmap_mode="r")
    if not name.endswith(".safetensors"):
        return Features(name)
    kind, tensors = _kind_of(name)
    if kind == "tenon-head" and "online.settings" in tensors:
        from .online import OnlineClassifier

        return OnlineClassifier._load(name)
    if kind == "tenon-kernel":
        from .transformers import AdditiveKernelMap

        return AdditiveKernelMap._load(name)
    if kind == "tenon-pq":
        from .transformers import ProductQuantizer

        return ProductQuantizer._load(name)
    if kind == "tenon-encoder":
        from .encoders import BagEncoder

        return BagEncoder._load(name)
    if kind == "tenon-moments":
        return Moments.load(name)
    if kind == "tenon-stats":
        raise FormatError(f"{name}: bare statistics, which do not say what they are of; tenon.Moments makes files that do")
    if kind == "tenon-checkpoint":
        raise FormatError(f"{name}: a checkpoint is for the same `tenon fit` command only, and no head")
    return Head.load(name) if kind == "tenon-head" else Features(name)


def _kind_of(path: str) -> tuple[str, list[str]]:
    """The format that a .safetensors file says it has, and the names of its tensors; the loaders look closer."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        try:
            header = json.loads(file.read(size)) if size <= 100_000_000 else {}
            return str(header.get("__metadata__", {}).get("format", "")), list(header)
        except (ValueError, AttributeError):
            return "tenon-head", []  # whose loader tells where it is broken


def machine() -> dict[str, Any]:
    """What this machine gives: cores, memory, kernels; as `tenon doctor` shows it."""
    found = Machine()
    lib.tn_machine_look(ctypes.byref(found))
    values = {name: getattr(found, name) for name, *_ in Machine._fields_}
    return {name: v.decode() if isinstance(v, bytes) else v for name, v in values.items()}
