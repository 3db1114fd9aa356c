# SPDX-License-Identifier: BSD-3-Clause
"""Online learners: a few passes over the rows, or rows that come chunk by chunk."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Optional, Union

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._base import HeadClassifier
from ._data import TASKS, FeatureList, Targets, class_names, parts_of, texts
from ._errors import ArgumentError
from ._head import Head
from ._library import lib
from ._session import Handle, Session

ORDER = {"check_sample_weights_invariance": "an online learner goes by the order of the rows, which the check changes"}


class _Learner:
    """A tn_online with its head as of now, which is made when it is asked for."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._handle = Handle(handle, "tn_online_free")
        self._head: Optional[Head] = None

    @classmethod
    def from_bytes(cls, data: bytes) -> _Learner:
        with Session() as s:
            return cls(s.make("tn_online_from_bytes", data, len(data), None))

    def __reduce__(self) -> Any:
        with Session() as s:
            return _Learner.from_bytes, (s.to_bytes("tn_online_to_bytes", self._handle.value, None),)

    def expect(self, s: Session, rows: int, positives: np.ndarray) -> None:
        s.call("tn_online_expect", self._handle.value, rows, positives.ctypes.data)

    def update(self, s: Session, features: FeatureList, labels: ctypes.c_void_p) -> None:
        self._head = None
        s.call("tn_online_update", self._handle.value, features.handles, features.count, labels, long=True)

    def save(self, path: Union[str, os.PathLike[str]], command: Optional[str]) -> None:
        with Session() as s:
            s.call("tn_online_save", self._handle.value, None if command is None else command.encode(),
                   os.fsencode(path))

    @property
    def head(self) -> Head:
        if self._head is None:
            with Session() as s:
                self._head = Head(s.make("tn_online_head", self._handle.value))
        return self._head

    @property
    def counts(self) -> tuple[int, int, int]:
        """Rows learned, updates, scores on the wrong side."""
        handle = self._handle.value
        return (lib.tn_online_samples(handle), lib.tn_online_updates(handle), lib.tn_online_mistakes(handle))


class OnlineClassifier(HeadClassifier):
    """Nine online learners, for rows that come in chunks or do not fit memory.

    `fit` makes some passes; `partial_fit` is one pass over the rows that come, and any cutting of the same rows in the
    same order gives the same head, to the last bit: that of `fit` with epochs=1 and shuffle=False on all of them.

    Parameters
    ----------
    rule : {"perceptron", "sgd", "pa", "pa2", "cw", "arow", "nherd", "scw", "scw2"}
        The first four keep weights, the others also a variance for each.
    C : float
        How far a row may move the weights.
    eta : float
        Confidence of cw, scw and scw2.
    multiclass : {"mul", "u-ovr", "e-ovr", "w-ovr"}
        The true class against the best wrong one, or one against the rest: all of it, as many, or `ratio` as many.
        partial_fit of the last two needs `expect`.
    ratio : float
        Negatives per positive of w-ovr.
    average : bool
        Use the mean of the weights after every row, rather than the last.
    epochs : int
        Passes of fit.
    shuffle : bool
        Visit the rows of fit in a new random order each pass.
    intercept : bool
    feature_map, signed, normalize, nan, class_weight, name, n_jobs, random_state, memory, verbose
        As of TenonClassifier; partial_fit knows neither "zscore" nor "balanced", for which all rows are needed.

    Attributes
    ----------
    classes_ : ndarray
    coef_, intercept_ : ndarray
    head_ : Head
    fit_info_ : dict
        Of fit.
    t_ : int
        Rows that partial_fit has learned.

    Examples
    --------
    >>> from tenon import OnlineClassifier
    >>> model = OnlineClassifier("arow")
    >>> for i in range(0, 90, 30):
    ...     model = model.partial_fit(X[i:i + 30], y[i:i + 30], classes=[0, 1, 2])
    >>> once = OnlineClassifier("arow", epochs=1, shuffle=False).fit(X, y)
    >>> (model.coef_ == once.coef_).all()
    True
    """

    _expected_failures = ORDER
    _expected: Optional[tuple[int, np.ndarray]] = None  # rows and positives of the next pass

    def __init__(self, rule: str = "pa", *, C: float = 1.0, eta: float = 0.9, multiclass: str = "mul",
                 ratio: float = 10.0, average: bool = True, epochs: int = 10, shuffle: bool = True,
                 intercept: bool = True, feature_map: str = "none", signed: str = "odd", normalize: str = "l2",
                 nan: str = "error", class_weight: Any = None, name: str = "X", n_jobs: Optional[int] = None,
                 random_state: Any = None, memory: Optional[int] = None, verbose: int = 0) -> None:
        self.rule = rule
        self.C = C
        self.eta = eta
        self.multiclass = multiclass
        self.ratio = ratio
        self.average = average
        self.epochs = epochs
        self.shuffle = shuffle
        self.intercept = intercept
        self.feature_map = feature_map
        self.signed = signed
        self.normalize = normalize
        self.nan = nan
        self.class_weight = class_weight
        self.name = name
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.memory = memory
        self.verbose = verbose

    @property
    def head_(self) -> Head:  # type: ignore[override]
        """That of fit; after partial_fit the head as of now, which is made when it is asked for."""
        learner = getattr(self, "_online", None)
        if learner is None and "_head" not in vars(self):
            raise AttributeError("this OnlineClassifier is not fitted yet")
        return self._head if learner is None else learner.head

    @head_.setter
    def head_(self, head: Head) -> None:
        self._head = head

    def _promises_probabilities(self) -> bool:
        return False

    def _option_values(self) -> dict[str, Any]:
        if self.rule in ("evidence", "ridge-cv", "lda", "svm", "svm-cv", "logistic", "logistic-cv", "auto"):
            raise ArgumentError(f"parameter rule: got {self.rule!r}, which is no online method")
        values = super()._option_values()
        values["no-average"] = None if values.pop("average") else True
        return {"rule": values.pop("rule"), **values}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OnlineClassifier:
        """Trains the head by `epochs` passes; what partial_fit learned before is forgotten.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns), or dict of name to array or path
        y : array of shape (n_rows,), or of 0 and 1, (n_rows, n_classes), for several labels per row
        sample_weight : array of shape (n_rows,), optional

        Returns
        -------
        self
        """
        self._online: Optional[_Learner] = None
        super().fit(X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Optional[Any] = None,
                    sample_weight: Any = None) -> OnlineClassifier:
        """One pass over rows that come. After fit it goes on from its weights; averages and variances begin anew.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns), or dict of name to array or path
        y : array of shape (n_rows,), or of 0 and 1, (n_rows, n_classes), for several labels per row
        classes : array-like
            All classes that will ever come; needed in the first call, unless y is a table of 0 and 1.
        sample_weight : array of shape (n_rows,), optional

        Returns
        -------
        self
        """
        first = not hasattr(self, "classes_")
        known = self._known_classes(y, classes)
        X, targets, weights = self._checked(X, y, sample_weight, reset=first, classes=known, least=1)
        if first:
            self._note(targets, y)
        with self._session() as s:
            features = FeatureList(s, parts_of(X, self.name))
            learner = getattr(self, "_online", None) or self._begin(s, targets.task)
            if self._expected is not None:
                learner.expect(s, *self._expected)
                self._expected = None
            learner.update(s, features, targets.labels(s, weights))
            self._online = learner
        return self

    def _known_classes(self, y: Any, classes: Optional[Any]) -> Optional[np.ndarray]:
        known = getattr(self, "classes_", None)
        if classes is not None:
            given = np.unique(np.asarray(classes))
            if known is not None and not np.array_equal(known, given):
                raise ValueError(f"classes: got {given[:10].tolist()}, but the first call had {known[:10].tolist()}")
            return given
        if known is None and np.ndim(y) != 2:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return known

    def _begin(self, s: Session, task: str) -> _Learner:
        options = self._options(s)
        if "_head" in vars(self):
            s.call("tn_options_set_head", options.handle, b"from", self._head._handle.value)
        names = texts(class_names(self.classes_.tolist()))
        return _Learner(s.make("tn_online_new", options.handle, TASKS.index(task), names, len(names)))

    def expect(self, y: Any, classes: Optional[Any] = None) -> OnlineClassifier:
        """Tells partial_fit what is to come, for multiclass="e-ovr" and "w-ovr": they show a class as many negatives as
        it has positives, and cannot choose them without these numbers.

        Parameters
        ----------
        y : array-like
            Labels of all rows of the next pass, however they will be cut.
        classes : array-like, optional
            All classes, where y has not each of them.

        Returns
        -------
        self
        """
        known = self._known_classes(y, np.unique(np.asarray(y)) if classes is None and np.ndim(y) != 2 and
                                    not hasattr(self, "classes_") else classes)
        targets = Targets(y, "multilabel" if np.ndim(y) == 2 else "multiclass", known)
        positives = targets.data.sum(axis=0) if targets.task == "multilabel" else np.bincount(
            targets.data, minlength=len(targets.classes))
        self._expected = (targets.rows, np.ascontiguousarray(positives, dtype=np.uintp))
        return self

    @property
    def t_(self) -> int:
        check_is_fitted(self)
        learner = getattr(self, "_online", None)
        return 0 if learner is None else learner.counts[0]

    def save(self, path: Union[str, os.PathLike[str]], command: Optional[str] = None) -> None:
        """Writes the head; after partial_fit with all that the learner needs to go on (`tenon.load`).

        Parameters
        ----------
        path : str or path-like
        command : str, optional
            What the file says it was created by.
        """
        check_is_fitted(self)
        learner = getattr(self, "_online", None)
        if learner is None:
            self.head_.save(path, command)
        else:
            learner.save(path, command)

    @classmethod
    def _load(cls, path: str) -> OnlineClassifier:
        """A learner that goes on. Its settings are in the learner; parameters are shown as far as the head names
        them."""
        with Session() as s:
            learner = _Learner(s.make("tn_online_load", os.fsencode(path)))
        head = learner.head
        rep = head.representations[0]
        out = cls(head.method, normalize=rep.normalize, feature_map=rep.feature_map, name=rep.name)
        out._online, out.classes_ = learner, head.classes_
        out.n_features_in_ = sum(r.dim for r in head.representations)
        out._label_dtype = np.dtype(np.int64) if head.task == "multilabel" else None
        return out
