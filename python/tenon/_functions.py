# SPDX-License-Identifier: BSD-3-Clause
"""rank, evidence, load, moments: what needs no estimator."""
from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Mapping
from typing import Any, Optional, Union

import numpy as np

from ._data import NAN, NORMALIZE, FeatureList, Features, Targets, labels_of, parts_of, word_index
from ._errors import DataError, FormatError, ShapeError
from ._head import Head
from ._library import Machine, lib
from ._options import Options
from ._results import Evidence, Ranking
from ._session import Handle, Session


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
        _check_rows(features, labels)
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


def _check_rows(features: FeatureList, labels: ctypes.c_void_p) -> None:
    rows = lib.tn_labels_rows(labels)
    if rows != features.rows:
        raise ShapeError(f"{features.names[0]}: {features.rows} rows, but y has {rows}")


class Moments:
    """What the evidence needs of its rows: sums that merge, made anywhere, in memory that does not grow with the rows.

    Parameters
    ----------
    classes : array-like, optional
        Of multi-class work: all classes, for parts that are merged must have the same. None: those of the first
        update.
    task : {"auto", "multiclass", "multilabel", "regression"}
    normalize : {"l2", "root", "l1", "none"}
    nan : {"error", "drop", "zero"}
    n_jobs : int, optional

    Examples
    --------
    >>> a = tenon.Moments(classes=[0, 1, 2]).update(X[:50], y[:50])
    >>> b = tenon.Moments(classes=[0, 1, 2]).update(X[50:], y[50:])
    >>> a.merge(b).rows == len(X)
    True
    >>> abs(a.evidence().log_evidence / tenon.evidence(X, y).log_evidence - 1) < 1e-6
    True
    """

    def __init__(self, classes: Optional[Any] = None, *, task: str = "auto", normalize: str = "l2",
                 nan: str = "error", n_jobs: Optional[int] = None) -> None:
        self.classes_ = None if classes is None else np.unique(np.asarray(classes))
        self.task = task
        self.normalize = normalize
        self.nan = nan
        self.n_jobs = n_jobs
        self._handle: Optional[Handle] = None

    def update(self, x: Any, y: Any) -> Moments:
        """Adds rows; returns itself."""
        targets = Targets(y, self.task, self.classes_)
        with Session(self.n_jobs) as s:
            features = FeatureList(s, {"X": x})
            labels = targets.labels(s)
            _check_rows(features, labels)
            handle = s.make("tn_moments_gather", features.handles[0], labels,
                            word_index("normalize", self.normalize, NORMALIZE), word_index("nan", self.nan, NAN),
                            long=True)
            part = Handle(handle, "tn_moments_free")
            if self._handle is None:
                self._handle = part
            else:
                s.call("tn_moments_merge", self._handle.value, part.value)
        self.task = targets.task
        self.classes_ = targets.classes
        return self

    def merge(self, other: Moments) -> Moments:
        """Adds the rows of other moments; returns itself."""
        if other._handle is None:
            return self
        if self._handle is None:
            self.__setstate__(other.__getstate__())
            return self
        if self.classes_ is not None and other.classes_ is not None:
            if not np.array_equal(self.classes_, other.classes_):
                raise DataError("moments: the parts have other classes: give all of them when they are made")
        with Session(self.n_jobs) as s:
            s.call("tn_moments_merge", self._handle.value, other._handle.value)
        return self

    def __iadd__(self, other: Moments) -> Moments:
        return self.merge(other)

    def __add__(self, other: Moments) -> Moments:
        out = Moments()
        out.__setstate__(self.__getstate__())
        return out.merge(other)

    def _of(self, getter: str) -> int:
        return 0 if self._handle is None else int(getattr(lib, getter)(self._handle.value))

    @property
    def rows(self) -> int:
        return self._of("tn_moments_rows")

    @property
    def shape(self) -> tuple[int, int]:
        """Columns, and classes or outputs."""
        return self._of("tn_moments_cols"), self._of("tn_moments_classes")

    def evidence(self, *, intercept: bool = True) -> Evidence:
        """The evidence of all rows together; there must be more rows than columns."""
        if self._handle is None:
            raise DataError("moments: no rows yet")
        with Session(self.n_jobs) as s:
            options = Options(s, "evidence").set_all({"intercept": intercept})
            found = s.make("tn_moments_evidence", self._handle.value, options, long=True)
            s.keep(found, "tn_evidence_free")
            return Evidence(s.json("tn_evidence_json", found))

    def to_bytes(self) -> bytes:
        """The bytes of its file, without the names of classes."""
        if self._handle is None:
            raise DataError("moments: no rows yet")
        with Session() as s:
            return s.to_bytes("tn_moments_to_bytes", self._handle.value)

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes a .safetensors file; the names of classes are not kept."""
        if self._handle is None:
            raise DataError("moments: no rows yet")
        with Session() as s:
            s.call("tn_moments_save", self._handle.value, os.fsencode(path))

    @classmethod
    def load(cls, path: Union[str, os.PathLike[str]]) -> Moments:
        """Moments from their file."""
        out = cls()
        with Session() as s:
            out._handle = Handle(s.make("tn_moments_load", os.fsencode(path)), "tn_moments_free")
        return out

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["_handle"] = None if self._handle is None else self.to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        data = state["_handle"]
        if data is not None:
            with Session() as s:
                self._handle = Handle(s.make("tn_moments_from_bytes", data, len(data), None), "tn_moments_free")

    def __repr__(self) -> str:
        return f"<tenon.Moments {self.rows} rows, {self.shape[0]} columns, {self.shape[1]} classes>"


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
    if kind == "tenon-stats":
        return Moments.load(name)
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
