# SPDX-License-Identifier: BSD-3-Clause
"""What all classifiers and regressors share: checked input, options, the head, and its predictions."""
from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from typing import Any, Optional, Union

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from ._compat import Tagged, validate
from ._data import FeatureList, Targets, as_array, as_matrix, has_parts, needs_array, parts_of
from ._errors import ArgumentError
from ._head import Head
from ._library import lib
from ._options import Options
from ._session import Session

_OWN = {"n_jobs", "memory", "verbose", "name", "class_weight", "random_state", "options", "method", "sources"}


def seed_of(random_state: Any) -> Optional[int]:
    """None: the library's own seed, so that results repeat; a number is the seed; a generator draws it."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return None if random_state is None else int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def checked_x(estimator: Any, x: Any, reset: bool) -> Any:
    """X as a matrix, or as a dict of them where one was given, the columns compared with those of fit."""
    if not has_parts(x):
        return validate(estimator, X=as_array(x) if needs_array(x) else x, reset=reset, dtype="numeric")
    parts = {str(k): v if isinstance(v, (str, os.PathLike)) else as_matrix(v, str(k)) for k, v in x.items()}
    if reset:
        estimator.n_features_in_ = sum(v.shape[1] for v in parts.values() if isinstance(v, np.ndarray))
    return parts


class HeadEstimator(BaseEstimator):
    """Base of everything that trains a head."""

    head_: Head
    name: str
    n_jobs: Optional[int]
    memory: Optional[int]
    verbose: int
    random_state: Any

    def _session(self) -> Session:
        return Session(self.n_jobs, self.memory, self.verbose)

    def _option_values(self) -> dict[str, Any]:
        """Parameters that are options of the library; what subclasses add comes after."""
        values = {k: v for k, v in self.get_params(deep=False).items() if k not in _OWN}
        if "random_state" in self.get_params(deep=False):
            values["random_state"] = seed_of(self.random_state)
        return values

    def _options(self, s: Session, call: str = "fit") -> Options:
        options = Options(s, call)
        options.set_all(self._option_values())
        return options

    def _train(self, x: Any, targets: Targets, weights: Optional[np.ndarray]) -> None:
        with self._session() as s:
            features = FeatureList(s, parts_of(x, self.name))
            labels = targets.labels(s, weights)
            options = self._options(s)
            info, head = make_two(s, "tn_fit", features.handles, features.count, labels, options.handle)
            s.keep(info, "tn_fit_info_free")
            self.head_ = Head(head)
            self.fit_info_ = s.json("tn_fit_json", info, None)

    def _scores(self, x: Any) -> np.ndarray:
        check_is_fitted(self)
        x = checked_x(self, x, False)
        nan = getattr(self, "nan", "error")
        return self.head_.scores(x, nan="error" if nan == "drop" else nan, n_jobs=self.n_jobs)

    def save(self, path: Union[str, os.PathLike[str]], command: Optional[str] = None) -> None:
        """Writes the head as .safetensors; `tenon.load` and the program read it.

        Parameters
        ----------
        path : str or path-like
        command : str, optional
            What the file says it was created by.
        """
        check_is_fitted(self)
        self.head_.save(path, command)

    def to_torch(self) -> Any:
        """The head as an `nn.Linear`: see Head.to_torch."""
        check_is_fitted(self)
        return self.head_.to_torch()

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the prepared columns: (1, n_columns) for two classes, as decision_function, else one row per
        class."""
        check_is_fitted(self)
        weight = self.head_.coef_
        return weight[1:] - weight[:1] if self._is_pair() else weight

    @property
    def intercept_(self) -> np.ndarray:
        check_is_fitted(self)
        bias = self.head_.intercept_
        return bias[1:] - bias[:1] if self._is_pair() else bias

    def _is_pair(self) -> bool:
        return self.head_.task == "multiclass" and len(self.head_.class_names) == 2


def make_two(s: Session, name: str, *arguments: Any) -> tuple[Any, Any]:
    """The account and the head that a long call makes. Ctrl-C may come when both are there already: nobody would free
    them."""
    info, head = ctypes.c_void_p(), ctypes.c_void_p()
    try:
        s.call(name, *arguments, ctypes.byref(info), ctypes.byref(head), long=True)
    except BaseException:
        getattr(lib, name + "_info_free")(info)
        lib.tn_head_free(head)
        raise
    return info, head


def _has_probabilities(self: Any) -> bool:
    if not hasattr(self, "head_"):
        return bool(self._promises_probabilities())
    if not self.head_.temperature > 0:
        raise AttributeError(f"this {type(self).__name__} has no probabilities: its head was not calibrated")
    return True


class HeadClassifier(Tagged, ClassifierMixin, HeadEstimator):
    """Base of the classifiers."""

    class_weight: Any
    _expected_failures: dict[str, str] = {}

    def _tags_of(self) -> dict[str, Any]:
        return {"multilabel": True, "_xfail_checks": self._expected_failures}

    def _promises_probabilities(self) -> bool:
        return True

    def _checked(self, x: Any, y: Any, sample_weight: Any, reset: bool = True, classes: Optional[np.ndarray] = None,
                 least: int = 2) -> tuple[Any, Targets, Optional[np.ndarray]]:
        """X, y and the weights of the rows, checked and joined with those of the classes."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = as_array(y) if needs_array(y) else y
        if has_parts(x):
            x = checked_x(self, x, reset)
        else:
            x, y = validate(self, X=as_array(x) if needs_array(x) else x, y=y, reset=reset, dtype="numeric",
                            multi_output=True, ensure_min_samples=least)
        y = self._checked_y(y)
        targets = Targets(y, "multilabel" if y.ndim == 2 else "multiclass", classes)
        return x, targets, self._weights(x, targets, sample_weight)

    def _checked_y(self, y: Any) -> np.ndarray:
        check_classification_targets(y)
        if type_of_target(y).startswith("multilabel"):
            return np.asarray(y.toarray() if hasattr(y, "toarray") else y)
        return np.asarray(column_or_1d(y, warn=True))

    def _weights(self, x: Any, targets: Targets, sample_weight: Any) -> Optional[np.ndarray]:
        weights = None
        if sample_weight is not None:
            rows = np.empty((targets.rows, 0)) if has_parts(x) else x
            weights = _check_sample_weight(sample_weight, rows, dtype=np.float64)
        if self.class_weight is None or isinstance(self.class_weight, str):
            return weights
        if not isinstance(self.class_weight, Mapping):
            raise ArgumentError(f"parameter class_weight: got {self.class_weight!r}, expected None, 'balanced' or a "
                                "dict")
        if targets.task != "multiclass":
            raise ArgumentError("parameter class_weight: a dict is for one class per row; expected None or 'balanced'")
        per_class = np.array([float(self.class_weight.get(c, 1)) for c in targets.classes.tolist()])
        per_row = per_class[targets.data]
        return per_row if weights is None else weights * per_row

    def _option_values(self) -> dict[str, Any]:
        values = super()._option_values()
        if isinstance(self.class_weight, str):
            values["class_weight"] = self.class_weight
        return values

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Trains the head.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns), or dict of name to array or path
            Any strides and types of real numbers; nothing is copied.
        y : array of shape (n_rows,), or of 0 and 1, (n_rows, n_classes), for several labels per row
        sample_weight : array of shape (n_rows,), optional

        Returns
        -------
        self
        """
        X, targets, weights = self._checked(X, y, sample_weight)
        self._note(targets, y)
        self._train(X, targets, weights)
        return self

    def _note(self, targets: Targets, y: Any) -> None:
        self.classes_ = targets.classes
        self._label_dtype = getattr(y, "dtype", np.dtype(np.int64)) if targets.task == "multilabel" else None

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores whose sign (two classes, several labels) or arg-max is the decision.

        Parameters
        ----------
        X : as for fit

        Returns
        -------
        ndarray of float32, shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        scores = self._scores(X)
        return self.head_.decisions(scores)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row; 0 and 1 for several labels per row.

        Parameters
        ----------
        X : as for fit

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        scores = self._scores(X)
        decided = self.head_.decide(scores)
        if self.head_.task == "multilabel":
            return decided.astype(self._label_dtype)
        return np.asarray(self.classes_[decided])

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, by one temperature that was fitted to held-out scores.

        Parameters
        ----------
        X : as for fit

        Returns
        -------
        ndarray of float32, shape (n_rows, n_classes)
        """
        scores = self._scores(X)
        return self.head_.probabilities(scores)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of predict_proba.

        Parameters
        ----------
        X : as for fit

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class HeadRegressor(Tagged, RegressorMixin, HeadEstimator):
    """Base of the regressors."""

    def _tags_of(self) -> dict[str, Any]:
        return {"multioutput": True}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Trains the head.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns), or dict of name to array or path
        y : array of shape (n_rows,) or (n_rows, n_outputs)
        sample_weight : array of shape (n_rows,), optional

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        if has_parts(X):
            X = checked_x(self, X, True)
            y = np.asarray(y, dtype=np.float64)
        else:
            X, y = validate(self, X=as_array(X) if needs_array(X) else X, y=as_array(y) if needs_array(y) else y,
                            dtype="numeric", multi_output=True, y_numeric=True, ensure_min_samples=2)
        rows = np.empty((len(y), 0)) if has_parts(X) else X
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, rows, dtype=np.float64)
        self._one_output = y.ndim == 1
        self._train(X, Targets(y, "regression"), weights)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Values.

        Parameters
        ----------
        X : as for fit

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
        """
        scores = self._scores(X).astype(np.float64)
        return scores[:, 0] if self._one_output else scores
