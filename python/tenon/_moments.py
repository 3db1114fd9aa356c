# SPDX-License-Identifier: BSD-3-Clause
"""Moments: sums over rows that merge, and what can be learned from them without the rows."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Optional, Union

import numpy as np

from ._data import TASKS, FeatureList, Targets, classes_of_names, labels_of, parts_of
from ._errors import DataError, ShapeError
from ._head import Head, _texts
from ._library import lib
from ._options import Options
from ._results import Evidence, Ranking
from ._session import Handle, Session


def check_rows(features: FeatureList, labels: ctypes.c_void_p) -> None:
    rows = lib.tn_labels_rows(labels)
    if rows != features.rows:
        raise ShapeError(f"{features.names[0]}: {features.rows} rows, but y has {rows}")


class Moments:
    """Sums over rows that are all the evidence and a ridge head need: made anywhere, in memory that does not grow with
    the rows, pickled, merged in any order. `tenon moments` writes the same files.

    Parameters
    ----------
    classes : array-like, optional
        Of multi-class work: all classes, where another one in y is a mistake. None: those that come; parts unite them.
    task : {"auto", "multiclass", "multilabel", "regression"}
    normalize : str or list of str
        "l2", "root", "l1" or "none"; several make each pair with a representation a candidate. It happens row by row,
        before anything is summed up.
    feature_map : str or list of str
        "none", "hellinger", "chi2", "intersection", "js" or the file of a learned kernel.
    signed : {"odd", "split"}
    nan : {"error", "drop", "zero"}
    folds : int
        Sums per fold, for `fit("ridge-cv")`; 1: none.
    random_state : int, optional
        Seed of the folds.
    n_jobs : int, optional

    Examples
    --------
    >>> a = tenon.Moments().update(X[:50], y[:50])
    >>> b = tenon.Moments().update(X[50:], y[50:])
    >>> a.merge(b).rows == len(X)
    True
    >>> abs(a.evidence().log_evidence / tenon.evidence(X, y).log_evidence - 1) < 1e-6
    True
    >>> a.fit().predict(X[:3]).tolist() == y[:3].tolist()
    True
    """

    def __init__(self, classes: Optional[Any] = None, *, task: str = "auto", normalize: Any = "l2",
                 feature_map: Any = "none", signed: str = "odd", nan: str = "error", folds: int = 1,
                 random_state: Optional[int] = None, n_jobs: Optional[int] = None) -> None:
        self._given = None if classes is None else np.unique(np.asarray(classes))
        self._values: dict[str, Any] = {}  # classes by their names in files
        self.task = task
        self.normalize = normalize
        self.feature_map = feature_map
        self.signed = signed
        self.nan = nan
        self.folds = folds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self._next = 0  # the number of the next row
        self._handle: Optional[Handle] = None

    def update(self, x: Any, y: Any, sample_weight: Optional[Any] = None, *,
               first_row: Optional[int] = None) -> Moments:
        """Adds rows; returns itself.

        Parameters
        ----------
        x : array, path, Features, or dict of them
            Representations by name; one alone is called "X".
        y : array-like or path
        sample_weight : array-like, optional
        first_row : int, optional
            The number of the first row among all, by which it gets its fold; None: rows follow those of the last call.
        """
        with Session(self.n_jobs) as s:
            features = FeatureList(s, parts_of(x))
            labels, targets = self._labels(s, y, sample_weight)
            check_rows(features, labels)
            first = self._next if first_row is None else int(first_row)
            options = Options(s, "moments")
            options.set_all({
                "normalize": self.normalize, "feature_map": self.feature_map, "signed": self.signed, "nan": self.nan,
                "folds": self.folds, "random_state": self.random_state})
            if self.folds > 1 and not any(isinstance(p, (str, os.PathLike)) or hasattr(p, "path")
                                          for p in parts_of(x).values()):
                options.set("rows", f"{first}:{first + features.rows}")
            part = Handle(s.make("tn_tally_gather", features.handles, features.count, labels, options.handle, long=True),
                          "tn_tally_free")
            if self._handle is None:
                self._handle = part
            else:
                s.call("tn_tally_merge", self._handle.value, part.value)
            self._next = first + features.rows
        self.task = TASKS[lib.tn_tally_task(self._handle.value)]
        if targets is not None and targets.names is not None:
            self._values.update(zip(targets.names, targets.classes.tolist()))
        return self

    def _labels(self, s: Session, y: Any, weights: Optional[Any]) -> tuple[ctypes.c_void_p, Optional[Targets]]:
        if isinstance(y, (str, os.PathLike)):
            return labels_of(s, y, self.task)
        targets = Targets(y, self.task, self._given)
        return targets.labels(s, None if weights is None else np.asarray(weights)), targets

    def merge(self, other: Moments) -> Moments:
        """Adds the rows of other moments, classes united; returns itself."""
        if other._handle is None:
            return self
        if self._handle is None:
            self.__setstate__(other.__getstate__())
            return self
        with Session(self.n_jobs) as s:
            s.call("tn_tally_merge", self._handle.value, other._handle.value)
        self._values.update(other._values)
        self._next = max(self._next, other._next)
        return self

    def subtract(self, other: Moments) -> float:
        """Takes out rows that were merged into these; returns the decimal digits, of about 15, that this cost."""
        lost = ctypes.c_double()
        with Session(self.n_jobs) as s:
            s.call("tn_tally_subtract", self._tally, other._tally, ctypes.byref(lost))
        return lost.value

    def __iadd__(self, other: Moments) -> Moments:
        return self.merge(other)

    def __add__(self, other: Moments) -> Moments:
        out = Moments()
        out.__setstate__(self.__getstate__())
        return out.merge(other)

    @property
    def _tally(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise DataError("moments: no rows yet")
        return self._handle.value

    @property
    def rows(self) -> int:
        return 0 if self._handle is None else int(lib.tn_tally_rows(self._tally))

    @property
    def shape(self) -> tuple[int, int]:
        """Columns, and classes or outputs."""
        if self._handle is None:
            return 0, 0
        return int(lib.tn_tally_cols(self._tally)), int(lib.tn_tally_classes(self._tally))

    @property
    def classes_(self) -> Optional[np.ndarray]:
        """Classes in the order of heads; None before the first rows."""
        if self._handle is None:
            return self._given
        names = _texts(lib.tn_tally_class_names(self._tally), lib.tn_tally_classes(self._tally))
        if all(n in self._values for n in names):
            return np.array([self._values[n] for n in names])
        return classes_of_names(names)

    @property
    def representations(self) -> list[str]:
        count = 0 if self._handle is None else lib.tn_tally_rep_count(self._tally)
        return [lib.tn_tally_rep(self._tally, i).name.decode("utf-8", "replace") for i in range(count)]

    def rank(self, *, intercept: bool = True, rows: Optional[tuple[Any, ...]] = None) -> Ranking:
        """The evidence of every representation, best first: as `tenon.rank` of all rows.

        Parameters
        ----------
        intercept : bool
        rows : (X, y) or (X, y, sample_weight), optional
            Some of the rows that went in, as `update` takes them: leave-one-out figures are theirs. None: there are none.
        """
        with Session(self.n_jobs) as s:
            options = Options(s, "rank")
            options.set_all({"intercept": intercept})
            sample = None if rows is None else self._sample(s, options, *rows)
            ranking = s.make("tn_tally_rank", self._tally, options.handle, long=True)
            del sample  # what the library borrowed until here
            s.keep(ranking, "tn_ranking_free")
            return Ranking(s.json("tn_ranking_json", ranking), s.text("tn_ranking_table", ranking, False))

    def _sample(self, s: Session, options: Options, x: Any, y: Any, weights: Optional[Any] = None) -> FeatureList:
        features = FeatureList(s, parts_of(x))
        labels, _ = self._labels(s, y, weights)
        check_rows(features, labels)
        s.call("tn_options_set_features", options.handle, b"rows", features.handles, features.count)
        s.call("tn_options_set_labels", options.handle, b"labels", labels)
        return features

    def evidence(self, *, intercept: bool = True) -> Evidence:
        """The evidence of the best representation; there must be more rows than columns."""
        ranking = self.rank(intercept=intercept)
        return Evidence({**ranking.json, **ranking.json["candidates"][0]})

    def fit(self, method: str = "evidence", *, select: str = "greedy", lam: Any = "auto", grid: Optional[Any] = None,
            intercept: bool = True) -> Head:
        """A ridge head of all rows.

        Parameters
        ----------
        method : {"evidence", "ridge-cv", "lda"}
            ridge-cv needs moments per fold, lda a number for lam.
        select : {"greedy", "best", "forward", "exhaustive", "all"}
            How the set of representations is found, by evidence.
        lam : "auto", "shared", "per-class", "gcv" or float
            Of method evidence; of lda a number.
        grid : list of float, optional
            Of method ridge-cv: values of lambda.
        intercept : bool
        """
        info, head = ctypes.c_void_p(), ctypes.c_void_p()
        with Session(self.n_jobs) as s:
            options = Options(s, "fit")
            options.set("rule", method)
            options.set_all({"select": select, "lam": lam, "grid": grid, "intercept": intercept})
            try:
                s.call("tn_tally_fit", self._tally, options.handle, ctypes.byref(info), ctypes.byref(head), long=True)
            except BaseException:
                lib.tn_fit_info_free(info)
                lib.tn_head_free(head)
                raise
            lib.tn_fit_info_free(info)
        return Head(head)

    def to_bytes(self) -> bytes:
        """The bytes of its file."""
        with Session() as s:
            return s.to_bytes("tn_tally_to_bytes", self._tally, None)

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the .safetensors file that `tenon rank --moments` and `tenon.load` read."""
        with Session() as s:
            s.call("tn_tally_save", self._tally, None, os.fsencode(path))

    @classmethod
    def load(cls, *paths: Union[str, os.PathLike[str]]) -> Moments:
        """Moments from their file, or from several, merged in an order of their own: the same bits whatever is first."""
        out = cls()
        names = (ctypes.c_char_p * len(paths))(*[os.fsencode(p) for p in paths])
        with Session() as s:
            out._take(Handle(s.make("tn_tally_open", names, len(paths), long=True), "tn_tally_free"))
        return out

    def _take(self, handle: Handle) -> None:
        self._handle = handle
        self.task = TASKS[lib.tn_tally_task(handle.value)]
        self.folds = int(lib.tn_tally_folds(handle.value))

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["_handle"] = None if self._handle is None else self.to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._values = dict(state["_values"])
        data = state["_handle"]
        if data is not None:
            with Session() as s:
                self._handle = Handle(s.make("tn_tally_from_bytes", data, len(data), None), "tn_tally_free")

    def __repr__(self) -> str:
        return f"<tenon.Moments {self.rows} rows, {self.shape[0]} columns, {self.shape[1]} classes>"
