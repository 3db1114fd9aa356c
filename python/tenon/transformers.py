# SPDX-License-Identifier: BSD-3-Clause
"""Maps of additive kernels, product quantisers, the choice of representations."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Optional, Union

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ._base import checked_x, make_two, seed_of
from ._compat import Tagged, validate
from ._data import (NAN, NORMALIZE, FeatureList, Features, Targets, as_array, has_parts, needs_array, task_of,
                    word_index)
from ._errors import ArgumentError, ShapeError
from ._head import LONG_WORK
from ._library import MapData, PqInfo, View, lib
from ._options import Options
from ._results import Ranking
from ._session import Session
from ._stored import Stored

SIGNED = ("odd", "split")
KERNELS = ("hellinger", "chi2", "intersection", "js")


class AdditiveKernelMap(Tagged, TransformerMixin, BaseEstimator):
    """The explicit map of an additive kernel: a linear model on its output is a kernel machine.

    Every entry becomes one value ("hellinger"), seven ("chi2", "intersection", "js") or `rank` ("learned"), after rows
    were brought to unit L1 norm.

    Parameters
    ----------
    kernel : {"chi2", "hellinger", "intersection", "js", "learned"}
        learned: from the rows and classes of fit. Learn from other tasks than the one to be judged.
    normalize : {"l2", "root", "l1", "none"}
        Of the mapped rows.
    signed : {"odd", "split"}
        Entries below zero: mirrored, or in columns of their own.
    nan : {"error", "zero"}
    rank : int
        Values that an entry becomes, of a learned map.
    rate : float
        Take the fewest values with this contributing rate instead; 0: take `rank`.
    power : float
        Power of the singular values in the weights of the map.
    scale : float or "auto"
        What L1-normalised rows are multiplied with.
    basis : {"scaled-fourier", "fourier"}
    C : float
        Of the support vector machines that a map is learned by.
    n_jobs, random_state, memory, verbose
        As of TenonClassifier.

    Attributes
    ----------
    width_ : int
        Values of an entry.

    Examples
    --------
    >>> from tenon import AdditiveKernelMap
    >>> AdditiveKernelMap("chi2").fit_transform(np.abs(X)).shape
    (90, 56)
    """

    def __init__(self, kernel: str = "chi2", *, normalize: str = "l2", signed: str = "odd", nan: str = "error",
                 rank: int = 6, rate: float = 0.0, power: float = 0.5, scale: Any = "auto",
                 basis: str = "scaled-fourier", C: float = 1.0, n_jobs: Optional[int] = None, random_state: Any = None,
                 memory: Optional[int] = None, verbose: int = 0) -> None:
        self.kernel = kernel
        self.normalize = normalize
        self.signed = signed
        self.nan = nan
        self.rank = rank
        self.rate = rate
        self.power = power
        self.scale = scale
        self.basis = basis
        self.C = C
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.memory = memory
        self.verbose = verbose

    def _tags_of(self) -> dict[str, Any]:
        return {"requires_y": self.kernel == "learned", "preserves_dtype": []}

    def fit(self, X: Any, y: Any = None) -> AdditiveKernelMap:
        """Learns the map, or notes the columns of a named one.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        y : array of shape (n_rows,) or (n_rows, n_classes)
            Of a learned map.

        Returns
        -------
        self
        """
        word_index("normalize", self.normalize, ("l2", "root", "l1", "none"))
        word_index("signed", self.signed, SIGNED)
        word_index("kernel", self.kernel, (*KERNELS, "learned"))
        if self.kernel == "learned":
            self._learn(X, y)
        else:
            validate(self, X=as_array(X) if needs_array(X) else X, dtype="numeric", finite=self.nan == "error")
            self._map = _named_map(self.kernel, self.signed)
        self.width_ = int(lib.tn_map_width(self._map.value))
        return self

    def _learn(self, X: Any, y: Any) -> None:
        if y is None:
            raise ValueError("AdditiveKernelMap(kernel='learned') requires y to be passed, but the target y is None")
        X, y = validate(self, X=as_array(X) if needs_array(X) else X, y=as_array(y) if needs_array(y) else y,
                        dtype="numeric", multi_output=True, ensure_min_samples=2)
        targets = Targets(y, task_of(np.asarray(y)))
        with self._session() as s:
            features = FeatureList(s, {"X": X})
            data = MapData(features.handles[0], targets.labels(s).value)
            options = Options(s, "kernel")
            options.set_all({"rank": self.rank, "rate": self.rate, "power": self.power, "scale": self.scale,
                             "basis": self.basis, "signed": self.signed, "C": self.C, "nan": self.nan,
                             "random_state": seed_of(self.random_state)})
            self._map = Stored("map", s.make("tn_map_learn", ctypes.byref(data), 1, options.handle, None, long=True))

    def _session(self) -> Session:
        return Session(self.n_jobs, self.memory, self.verbose)

    def transform(self, X: Any) -> np.ndarray:
        """Maps rows, as `tenon kernel apply` writes them.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of float32, shape (n_rows, n_columns * width_)
            The values of an entry side by side.
        """
        check_is_fitted(self)
        X = checked_x(self, X, False)
        out = np.empty((X.shape[0], X.shape[1] * self.width_), np.float32)
        with self._session() as s:
            features = FeatureList(s, {"X": X})
            read_prepared(s, features.handles[0], X.shape[0], self.normalize, self.nan, self._map.value, out)
        return out

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """x0_0, x0_1, ...: an input name and the number of the value."""
        check_is_fitted(self)
        names = _input_names(self, input_features)
        return np.array([f"{n}_{k}" for n in names for k in range(self.width_)], dtype=object)

    def kernel_value(self, x: float, y: float) -> float:
        """k(x, y) of two entries on the scaled axis."""
        check_is_fitted(self)
        return float(lib.tn_map_kernel(self._map.value, x, y))

    def save(self, path: Union[str, os.PathLike[str]], command: Optional[str] = None) -> None:
        """Writes a learned map, for `feature_map=path`, `tenon.load` and the program."""
        check_is_fitted(self)
        self._map.save(path, command)

    @classmethod
    def _load(cls, path: str) -> AdditiveKernelMap:
        stored = Stored.load("map", path)
        with Session() as s:
            told = s.json("tn_map_json", stored.value, b"")
        out = cls("learned", signed=told["signed"], basis=told["basis"], rank=told["rank"], scale=told["scale"])
        out._map, out.width_ = stored, int(lib.tn_map_width(stored.value))
        return out


def _input_names(estimator: Any, given: Any) -> list[str]:
    if given is not None:
        return [str(n) for n in given]
    known = getattr(estimator, "feature_names_in_", None)
    return [f"x{i}" for i in range(estimator.n_features_in_)] if known is None else list(known)


def _named_map(kernel: str, signed: str) -> Any:
    with Session() as s:
        return _NamedMap(kernel, signed, s.make("tn_map_new_named", kernel.encode(), SIGNED.index(signed)))


class _NamedMap(Stored):
    """A map that is known by its name."""

    def __init__(self, kernel: str, signed: str, handle: ctypes.c_void_p) -> None:
        super().__init__("map", handle)
        self._words = (kernel, signed)

    def __reduce__(self) -> Any:
        return _named_map, self._words


def read_prepared(s: Session, features: Any, rows: int, normalize: str, nan: str, mapped: Any, out: np.ndarray,
                  zscore: Any = None) -> Any:
    """Rows as a learner sees them, into columns of out; returns means and scales of a z-score, which the rows make
    themselves unless they are given."""
    feed = s.make("tn_feed_new", features, None, rows, word_index("normalize", normalize, NORMALIZE),
                  word_index("nan", nan, NAN), mapped)
    s.keep(feed, "tn_feed_free")
    if zscore is not None:
        s.call("tn_feed_set_zscore", feed, zscore[0].ctypes.data, zscore[1].ctypes.data)
    cols = int(lib.tn_feed_cols(feed))
    s.call("tn_feed_read", feed, 0, rows, out.ctypes.data, out.strides[0] // out.itemsize,
           long=10.0 * rows * cols > LONG_WORK)
    if normalize != "zscore":
        return None
    pair = (lib.tn_feed_means(feed), lib.tn_feed_scales(feed))
    return tuple(np.ctypeslib.as_array(ctypes.cast(p, ctypes.POINTER(ctypes.c_double)), (cols,)).copy() for p in pair)


class ProductQuantizer(Tagged, TransformerMixin, BaseEstimator):
    """Codes of one byte for every `sub` columns.

    Parameters
    ----------
    sub : int
        Columns that one code stands for.
    centroids : int
        Centroids of a group of columns, 256 at most, and at most one per row.
    sample : int
        Rows to train on, drawn by the seed; 0: all.
    iterations : int
        Iterations of k-means at most.
    n_jobs, random_state, memory, verbose
        As of TenonClassifier.

    Attributes
    ----------
    n_groups_ : int
        Codes of a row.
    error_ : float
        Relative squared error on the rows that it was trained on.

    Examples
    --------
    >>> from tenon import ProductQuantizer
    >>> pq = ProductQuantizer(sub=2, centroids=16).fit(X)
    >>> pq.transform(X).shape, pq.transform(X).dtype
    ((90, 4), dtype('uint8'))
    >>> pq.inverse_transform(pq.transform(X)).shape
    (90, 8)
    """

    def __init__(self, sub: int = 8, *, centroids: int = 256, sample: int = 20000, iterations: int = 25,
                 n_jobs: Optional[int] = None, random_state: Any = None, memory: Optional[int] = None,
                 verbose: int = 0) -> None:
        self.sub = sub
        self.centroids = centroids
        self.sample = sample
        self.iterations = iterations
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.memory = memory
        self.verbose = verbose

    def _tags_of(self) -> dict[str, Any]:
        return {"preserves_dtype": []}

    def _session(self) -> Session:
        return Session(self.n_jobs, self.memory, self.verbose)

    def fit(self, X: Any, y: Any = None) -> ProductQuantizer:
        """Clusters every group of columns.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        y : ignored

        Returns
        -------
        self
        """
        X = checked_x(self, X, True)
        info = PqInfo()
        with self._session() as s:
            features = FeatureList(s, {"X": X})
            options = Options(s, "pq")
            options.set_all({"sub": self.sub, "centroids": self.centroids, "sample": self.sample,
                             "iterations": self.iterations, "random_state": seed_of(self.random_state)})
            handle = s.make("tn_pq_fit", features.handles[0], options.handle, ctypes.byref(info), long=True)
            self._pq = Stored("pq", handle)
        self.n_groups_ = int(lib.tn_pq_groups(handle))
        self.error_ = info.error / info.energy if info.energy > 0 else 0.0
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The numbers of the nearest centroids.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of uint8, shape (n_rows, n_groups_)
        """
        check_is_fitted(self)
        X = np.ascontiguousarray(checked_x(self, X, False), dtype=np.float32)
        out = np.empty((X.shape[0], self.n_groups_), np.uint8)
        with self._session() as s:
            view = View(X.ctypes.data, X.shape[0], X.shape[1], X.shape[1])
            s.call("tn_pq_encode", self._pq.value, view, out.ctypes.data, None,
                   long=float(X.size) * self.centroids > LONG_WORK)
        return out

    def inverse_transform(self, X: Any) -> np.ndarray:
        """What codes stand for.

        Parameters
        ----------
        X : array of codes, shape (n_rows, n_groups_)

        Returns
        -------
        ndarray of float32, shape (n_rows, n_columns)
        """
        check_is_fitted(self)
        codes = np.ascontiguousarray(X, dtype=np.uint8)
        if codes.ndim != 2 or codes.shape[1] != self.n_groups_:
            raise ShapeError(f"codes: got the shape {codes.shape}, expected rows of {self.n_groups_}")
        out = np.empty((codes.shape[0], self.n_features_in_), np.float32)
        with self._session() as s:
            s.call("tn_pq_decode", self._pq.value, codes.ctypes.data, codes.shape[0], out.ctypes.data)
        return out

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """productquantizer0, ...: one per code."""
        check_is_fitted(self)
        return np.array([f"productquantizer{i}" for i in range(self.n_groups_)], dtype=object)

    def save(self, path: Union[str, os.PathLike[str]], command: Optional[str] = None) -> None:
        """Writes the quantiser, for `tenon pq apply` and `tenon.load`."""
        check_is_fitted(self)
        self._pq.save(path, command)

    def save_codes(self, X: Any, path: Union[str, os.PathLike[str]], command: Optional[str] = None) -> Features:
        """Writes the codes of all rows with the centroids they stand for: a representation that everything reads."""
        check_is_fitted(self)
        X = checked_x(self, X, False)
        with self._session() as s:
            features = FeatureList(s, {"X": X})
            s.call("tn_codes_save", self._pq.value, features.handles[0], None if command is None else command.encode(),
                   os.fsencode(path), None, long=True)
        return Features(path)

    @classmethod
    def _load(cls, path: str) -> ProductQuantizer:
        stored = Stored.load("pq", path)
        handle = stored.value
        out = cls(int(lib.tn_pq_sub(handle)), centroids=int(lib.tn_pq_centroids(handle)))
        out._pq, out.n_groups_, out.error_ = stored, int(lib.tn_pq_groups(handle)), float("nan")
        out.n_features_in_ = int(lib.tn_pq_dim(handle))
        return out


class RepresentationSelector(Tagged, TransformerMixin, BaseEstimator):
    """Chooses representations by evidence; gives their columns, prepared and side by side.

    Parameters
    ----------
    representations : list of (name, columns), optional
        Columns of X that are a representation each: a slice, or whatever indexes columns. None: X is a dict of arrays
        by name, or one representation.
    select : {"best", "greedy", "forward", "exhaustive", "all"}
        How the set is found.
    feature_map, normalize : str or list of str
        Several make each pair with a representation a candidate: as of TenonClassifier.
    signed : {"odd", "split"}
    nan : {"error", "zero"}
    task : {"auto", "multiclass", "multilabel", "regression"}
        What y means.
    n_jobs, random_state, memory, verbose
        As of TenonClassifier.

    Attributes
    ----------
    selected_ : list of str
        Names of those that were chosen, in column order.
    ranking_ : Ranking
        The single candidates; prints as a table.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from tenon import LogisticClassifier, RepresentationSelector
    >>> parts = [("good", slice(0, 6)), ("one", slice(6, 7))]
    >>> model = make_pipeline(RepresentationSelector(parts), LogisticClassifier(normalize="none")).fit(X, y)
    >>> model[0].selected_[0], model.score(X, y) > 0.9
    ('good', True)
    """

    def __init__(self, representations: Any = None, *, select: str = "greedy", feature_map: Any = "none",
                 signed: str = "odd", normalize: Any = "l2", nan: str = "error", task: str = "auto",
                 n_jobs: Optional[int] = None, random_state: Any = None, memory: Optional[int] = None,
                 verbose: int = 0) -> None:
        self.representations = representations
        self.select = select
        self.feature_map = feature_map
        self.signed = signed
        self.normalize = normalize
        self.nan = nan
        self.task = task
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.memory = memory
        self.verbose = verbose

    def _tags_of(self) -> dict[str, Any]:
        return {"requires_y": True, "preserves_dtype": []}

    def _session(self) -> Session:
        return Session(self.n_jobs, self.memory, self.verbose)

    def _parts(self, X: Any) -> dict[str, Any]:
        if has_parts(X):
            return dict(X)
        if self.representations is None:
            return {"X": X}
        return {str(name): X[:, columns] for name, columns in self.representations}

    def fit(self, X: Any, y: Any) -> RepresentationSelector:
        """Ranks the candidates and finds the set.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns), or dict of name to array
        y : array-like
            Classes, a table of 0 and 1, or numbers.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError("RepresentationSelector requires y to be passed, but the target y is None")
        if has_parts(X):
            X = checked_x(self, X, True)
        else:
            X, y = validate(self, X=as_array(X) if needs_array(X) else X, y=as_array(y) if needs_array(y) else y,
                            dtype="numeric", multi_output=True, ensure_min_samples=2)
        parts = self._parts(X)
        targets = Targets(y, self.task)
        with self._session() as s:
            features = FeatureList(s, parts)
            options = Options(s, "fit")
            options.set_all({"method": "evidence", "select": self.select, "feature_map": self.feature_map,
                             "signed": self.signed, "normalize": self.normalize, "nan": self.nan, "calibrate": "no",
                             "random_state": seed_of(self.random_state)})
            info, head = make_two(s, "tn_fit", features.handles, features.count, targets.labels(s), options.handle)
            s.keep(info, "tn_fit_info_free")
            s.keep(head, "tn_head_free")
            told = s.json("tn_fit_json", info, None)
            self.selected_: list[str] = told["selected"]
            self.ranking_ = Ranking(told, s.text("tn_fit_table", info, None, False))
            self._take_blocks(s, features, head)
        return self

    def _take_blocks(self, s: Session, features: FeatureList, head: ctypes.c_void_p) -> None:
        """What transform needs of each chosen representation: name, preparation, columns, map, z-score."""
        self._blocks: list[dict[str, Any]] = []
        for i in range(lib.tn_head_rep_count(head)):
            rep = lib.tn_head_rep(head, i)
            name = rep.name.decode()
            block = {"name": name, "normalize": NORMALIZE[rep.normalize], "cols": int(rep.cols), "map": None,
                     "zscore": None}
            if rep.map:
                block["map"] = _copied_map(s, rep.map, self.signed)
            if block["normalize"] == "zscore":
                place = features.names.index(name)
                scratch = np.empty((features.rows, rep.cols), np.float32)
                block["zscore"] = read_prepared(s, features.handles[place], features.rows, "zscore", self.nan,
                                                rep.map, scratch)
            self._blocks.append(block)

    def transform(self, X: Any) -> np.ndarray:
        """The chosen representations, mapped and normalised, side by side.

        Parameters
        ----------
        X : as for fit

        Returns
        -------
        ndarray of float32, shape (n_rows, n_selected_columns)
        """
        check_is_fitted(self)
        parts = self._parts(checked_x(self, X, False))
        wanted = {b["name"]: parts[b["name"]] for b in self._blocks if b["name"] in parts}
        missing = [b["name"] for b in self._blocks if b["name"] not in parts]
        if missing:
            raise ArgumentError(f"X: the representation {missing[0]} is missing")
        with self._session() as s:
            features = FeatureList(s, wanted)
            out = np.empty((features.rows, sum(b["cols"] for b in self._blocks)), np.float32)
            start = 0
            for block in self._blocks:
                mapped = None if block["map"] is None else block["map"].value
                handle = features.handles[features.names.index(block["name"])]
                read_prepared(s, handle, features.rows, block["normalize"], self.nan, mapped,
                              out[:, start:start + block["cols"]], block["zscore"])
                start += block["cols"]
        return out

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """name_0, name_1, ...: a representation and the number of its column."""
        check_is_fitted(self)
        return np.array([f"{b['name']}_{i}" for b in self._blocks for i in range(b["cols"])], dtype=object)


def _copied_map(s: Session, mapped: Any, signed: str) -> Any:
    """A map of the head as one of our own: by its name, or by its bytes."""
    name = lib.tn_map_name(mapped).decode()
    if name in KERNELS:
        return _named_map(name, signed)
    return Stored.from_bytes("map", s.to_bytes("tn_map_to_bytes", mapped, None))
