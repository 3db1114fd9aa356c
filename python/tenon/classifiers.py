# SPDX-License-Identifier: BSD-3-Clause
"""Heads by every method of `tenon fit`."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._base import HeadClassifier, HeadRegressor
from ._errors import ArgumentError
from ._options import method_words
from ._results import Race

ORDER = {"check_sample_weights_invariance":
         "the result is within a certified distance of the optimum, and where there goes by the order of the rows"}

FOLDS = {"check_sample_weights_invariance": "method auto races on folds, and rows are dealt to them in their order"}


class TenonClassifier(HeadClassifier):
    """The head of `tenon fit`, by any method.

    Parameters
    ----------
    method : str
        One of `tenon.methods()`; "auto" is the library's own choice.
    select : {"best", "greedy", "forward", "exhaustive", "all"}
        Where X is a dict, or several maps or normalisations compete: how the set is found, by evidence.
    feature_map : str or list of str
        Explicit map of an additive kernel that every entry goes through before rows are normalised: "none",
        "hellinger", "chi2", "intersection", "js", or the file of a learned one.
    signed : {"odd", "split"}
        Entries below zero in a map that is no file: mirrored, or in columns of their own.
    normalize : str or list of str
        How rows are prepared: "l2", "root", "l1", "zscore", "none".
    nan : {"error", "drop", "zero"}
        Rows of fit with NaN or infinity: refused, left out, or taken with zeros. "drop" refuses them in predict.
    calibrate : {"auto", "yes", "no"}
        Fit the temperature of predict_proba to held-out scores; auto: where they are there anyway.
    class_weight : None, "balanced" or dict of class to weight
    folds : int
        Of the race, and of methods that cross-validate.
    holdout : float
        Share of the rows, of every class, that is kept from training first: lda and methods that end in -cv choose by it in
        the place of folds, others are judged on it, `fit_info_["validation"]`. The head is of all rows. 0: none.
    budget : float
        Seconds after which the race of method auto ends; 0: no limit.
    threshold : {"auto", "f1", "none"} or float
        Score from which a row has a label, where it may have several: f1 per class, where held-out scores have the
        largest F1; none is the method's own; auto is f1 for method auto.
    options : dict, optional
        Further options of `tenon fit` by name: {"grid": [0.1, 1, 10]}.
    name : str
        What the representation is called in the saved head, when X is an array.
    n_jobs : int, optional
        Threads; None and -1: all cores.
    random_state : int, RandomState or None
        Seed of everything random; None is 0: the same result every time.
    memory : int, optional
        Most bytes that the library may take.
    verbose : int
        Not 0: show progress.

    Attributes
    ----------
    classes_ : ndarray
    coef_, intercept_ : ndarray
    head_ : Head
    race_ : Race
        Of method auto: what it tried, with figures over held-out rows; prints as a table.
    fit_info_ : dict
        How the head was found, as `tenon fit --json` prints it.

    Examples
    --------
    >>> from tenon import TenonClassifier
    >>> model = TenonClassifier().fit(X, y)
    >>> model.score(X, y) > 0.9, model.race_.metric, model.race_.chosen.mean > 0.9
    (True, 'accuracy', True)
    >>> TenonClassifier("svm", options={"C": 0.1}).fit(X, y).coef_.shape
    (3, 8)
    """

    _expected_failures = FOLDS

    def __init__(self, method: str = "auto", *, select: str = "greedy", feature_map: Any = "none", signed: str = "odd",
                 normalize: Any = "l2", nan: str = "error", folds: int = 5, holdout: float = 0.0, budget: float = 0.0,
                 threshold: Any = "auto", calibrate: str = "auto", class_weight: Any = None,
                 options: Optional[Mapping[str, Any]] = None, name: str = "X", n_jobs: Optional[int] = None,
                 random_state: Any = None, memory: Optional[int] = None, verbose: int = 0) -> None:
        self.method = method
        self.select = select
        self.feature_map = feature_map
        self.signed = signed
        self.normalize = normalize
        self.nan = nan
        self.folds = folds
        self.holdout = holdout
        self.budget = budget
        self.threshold = threshold
        self.calibrate = calibrate
        self.class_weight = class_weight
        self.options = options
        self.name = name
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.memory = memory
        self.verbose = verbose

    @property
    def race_(self) -> Race:
        check_is_fitted(self)
        if "tried" not in self.fit_info_:
            raise AttributeError(f"race_: method {self.method!r} runs no race; \"auto\" does")
        return Race(self.fit_info_)

    def _option_values(self) -> dict[str, Any]:
        chosen = {} if self.method == "auto" and "auto" not in method_words() else {"method": self.method}
        return {**chosen, **super()._option_values(), **(self.options or {})}


class _Fixed(HeadClassifier):
    """A classifier of one method."""

    _method = ""

    def _option_values(self) -> dict[str, Any]:
        return {"method": self._method, **super()._option_values()}


class PathPoint(NamedTuple):
    """A value of C, its figure over rows that it was not trained with, and the standard error of that."""

    C: float
    mean: float
    se: float


class _Linear(_Fixed):
    """Losses against |w|^2, at C or at the best of a path along it."""

    C: Any

    def _option_values(self) -> dict[str, Any]:
        values = super()._option_values()
        if isinstance(self.C, str):
            if self.C != "cv":
                raise ArgumentError(f"parameter C: got {self.C!r}, expected a number above 0 or 'cv'")
            values.update(method=self._method + "-cv", C=None)
        return values

    @property
    def C_(self) -> float:
        check_is_fitted(self)
        return self.head_.cost_

    @property
    def path_(self) -> list[PathPoint]:
        check_is_fitted(self)
        told = self.fit_info_["cross_validation"]
        if told is None or told["parameter"] != "C":
            raise AttributeError(f"path_: this {type(self).__name__} has one C; C='cv' tries several")
        return [PathPoint(p["value"], p["mean"], p["se"]) for p in told["grid"]]

    @property
    def n_iter_(self) -> int:
        check_is_fitted(self)
        return max(int(self.fit_info_["passes"] or 0), 1)


class EvidenceClassifier(_Fixed):
    """Ridge whose regularisation is that of the largest evidence: no grid, no folds.

    Parameters
    ----------
    lam : {"auto", "shared", "per-class", "gcv", "loo"} or float
        Regularisation; auto is shared for one class per row, per-class for several.
    select : {"best", "greedy", "forward", "exhaustive", "all"}
        Where X is a dict, or several maps or normalisations compete: how the set is found.
    loo : int or "all"
        Rows of the leave-one-out sample, which gives `loo_accuracy_` and the temperature of probabilities.
    intercept : bool
        Add an intercept that is not penalised.
    feature_map, signed, normalize, nan, calibrate, class_weight, name, n_jobs, random_state, memory, verbose
        As of TenonClassifier.

    Attributes
    ----------
    classes_ : ndarray
    coef_, intercept_ : ndarray
    lambda_ : ndarray of shape (n_classes,)
    log_evidence_ : float
    loo_accuracy_ : float
        Exact leave-one-out accuracy of the head; NaN where there is none.
    head_ : Head
    fit_info_ : dict

    Examples
    --------
    >>> from tenon import EvidenceClassifier
    >>> model = EvidenceClassifier().fit(X, y)
    >>> model.loo_accuracy_ > 0.9, model.predict_proba(X).shape
    (True, (90, 3))
    """

    _method = "evidence"

    def __init__(self, lam: Any = "auto", *, select: str = "greedy", loo: Any = 2000, intercept: bool = True,
                 feature_map: Any = "none", signed: str = "odd", normalize: Any = "l2", nan: str = "error",
                 calibrate: str = "auto", class_weight: Any = None, name: str = "X", n_jobs: Optional[int] = None,
                 random_state: Any = None, memory: Optional[int] = None, verbose: int = 0) -> None:
        self.lam = lam
        self.select = select
        self.loo = loo
        self.intercept = intercept
        self.feature_map = feature_map
        self.signed = signed
        self.normalize = normalize
        self.nan = nan
        self.calibrate = calibrate
        self.class_weight = class_weight
        self.name = name
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.memory = memory
        self.verbose = verbose

    @property
    def lambda_(self) -> Optional[np.ndarray]:
        check_is_fitted(self)
        return self.head_.lambda_

    @property
    def log_evidence_(self) -> float:
        check_is_fitted(self)
        return self.head_.log_evidence_

    @property
    def loo_accuracy_(self) -> float:
        check_is_fitted(self)
        figure = self.fit_info_.get("loo_accuracy")
        return float("nan") if figure is None else float(figure)


class LinearSVMClassifier(_Linear):
    """Linear support vector machines, one per class against the rest, to a certified distance from the optimum.

    Parameters
    ----------
    C : float or "cv"
        Weight of the losses against 1/2 |w|^2; cv: the best value of a grid, by folds or held-out rows.
    loss : {"squared-hinge", "hinge"}
    mean_cost : bool
        Divide C by the number of rows.
    penalise_bias : bool
        Treat the intercept as one more weight.
    intercept : bool
    gap : float
        Stop when the objective is certainly this close to its optimum, relatively.
    max_passes : int
    folds : int
        Of C="cv", and of the cross-validation that calibrate="yes" takes its scores from.
    holdout : float
        Share of the rows to choose by in the place of folds; 0: none. They are trained on in the end.
    grid : list of float or str, optional
        Of C="cv": values, or "LO:HI:COUNT"; None: found from the size of the rows.
    feature_map, signed, normalize, nan, calibrate, class_weight, name, n_jobs, random_state, memory, verbose
        As of TenonClassifier. predict_proba needs calibrate="yes".

    Attributes
    ----------
    classes_ : ndarray
    coef_, intercept_ : ndarray
    C_ : float
        The value of C that was taken.
    path_ : list of PathPoint
        Of C="cv": every value that was tried, with its figure over rows that it was not trained with.
    n_iter_ : int
        Passes over the rows.
    head_ : Head
    fit_info_ : dict

    Examples
    --------
    >>> from tenon import LinearSVMClassifier
    >>> LinearSVMClassifier(C=10).fit(X, y).score(X, y) > 0.9
    True
    >>> LinearSVMClassifier(C="cv", grid=[0.1, 1, 10], folds=3).fit(X, y).C_ in (0.1, 1, 10)
    True
    """

    _method = "svm"
    _expected_failures = ORDER

    def __init__(self, C: Any = 1.0, *, loss: str = "squared-hinge", mean_cost: bool = False,
                 penalise_bias: bool = True, intercept: bool = True, gap: float = 1e-4, max_passes: int = 1000,
                 folds: int = 5, holdout: float = 0.0, grid: Any = None, feature_map: Any = "none", signed: str = "odd",
                 normalize: Any = "l2", nan: str = "error", calibrate: str = "auto", class_weight: Any = None,
                 name: str = "X", n_jobs: Optional[int] = None, random_state: Any = None,
                 memory: Optional[int] = None, verbose: int = 0) -> None:
        self.C = C
        self.loss = loss
        self.mean_cost = mean_cost
        self.penalise_bias = penalise_bias
        self.intercept = intercept
        self.gap = gap
        self.max_passes = max_passes
        self.folds = folds
        self.holdout = holdout
        self.grid = grid
        self.feature_map = feature_map
        self.signed = signed
        self.normalize = normalize
        self.nan = nan
        self.calibrate = calibrate
        self.class_weight = class_weight
        self.name = name
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.memory = memory
        self.verbose = verbose

    def _promises_probabilities(self) -> bool:
        return self.calibrate == "yes"


class LogisticClassifier(_Linear):
    """Multinomial logistic regression (one per class for several labels), to a certified distance from the optimum.

    Parameters
    ----------
    C : float or "cv"
        Weight of the losses against 1/2 |w|^2; cv: the best value of a grid, by folds or held-out rows.
    mean_cost : bool
        Divide C by the number of rows.
    intercept : bool
    gap : float
        Stop when the objective is certainly this close to its optimum, relatively.
    max_passes : int
        Most steps.
    folds, holdout, grid
        As of LinearSVMClassifier.
    feature_map, signed, normalize, nan, calibrate, class_weight, name, n_jobs, random_state, memory, verbose
        As of TenonClassifier.

    Attributes
    ----------
    classes_ : ndarray
    coef_, intercept_ : ndarray
    C_ : float
        The value of C that was taken.
    path_ : list of PathPoint
        Of C="cv": every value that was tried, with its figure over rows that it was not trained with.
    n_iter_ : int
        Steps.
    head_ : Head
    fit_info_ : dict

    Examples
    --------
    >>> from tenon import LogisticClassifier
    >>> model = LogisticClassifier(C=10).fit(X, y)
    >>> model.predict_proba(X[:2]).sum(axis=1).round(3).tolist()
    [1.0, 1.0]
    """

    _method = "logistic"
    _expected_failures = ORDER

    def __init__(self, C: Any = 1.0, *, mean_cost: bool = False, intercept: bool = True, gap: float = 1e-4,
                 max_passes: int = 1000, folds: int = 5, holdout: float = 0.0, grid: Any = None,
                 feature_map: Any = "none", signed: str = "odd", normalize: Any = "l2", nan: str = "error",
                 calibrate: str = "auto", class_weight: Any = None, name: str = "X", n_jobs: Optional[int] = None,
                 random_state: Any = None, memory: Optional[int] = None, verbose: int = 0) -> None:
        self.C = C
        self.mean_cost = mean_cost
        self.intercept = intercept
        self.gap = gap
        self.max_passes = max_passes
        self.folds = folds
        self.holdout = holdout
        self.grid = grid
        self.feature_map = feature_map
        self.signed = signed
        self.normalize = normalize
        self.nan = nan
        self.calibrate = calibrate
        self.class_weight = class_weight
        self.name = name
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.memory = memory
        self.verbose = verbose


class EvidenceRegressor(HeadRegressor):
    """Ridge regression whose regularisation is that of the largest evidence, for one output or several.

    Parameters
    ----------
    lam : {"auto", "shared", "per-class", "gcv", "loo"} or float
        Regularisation; auto is per-class: one for every output.
    select, loo, intercept, feature_map, signed, normalize, nan, name, n_jobs, random_state, memory, verbose
        As of EvidenceClassifier.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_columns)
    intercept_ : ndarray of shape (n_outputs,)
    lambda_ : ndarray of shape (n_outputs,)
    log_evidence_ : float
    head_ : Head
    fit_info_ : dict

    Examples
    --------
    >>> from tenon import EvidenceRegressor
    >>> t = X @ np.arange(8.0)
    >>> EvidenceRegressor(normalize="zscore").fit(X, t).score(X, t) > 0.99
    True
    """

    def __init__(self, lam: Any = "auto", *, select: str = "greedy", loo: Any = 2000, intercept: bool = True,
                 feature_map: Any = "none", signed: str = "odd", normalize: Any = "l2", nan: str = "error",
                 name: str = "X", n_jobs: Optional[int] = None, random_state: Any = None,
                 memory: Optional[int] = None, verbose: int = 0) -> None:
        self.lam = lam
        self.select = select
        self.loo = loo
        self.intercept = intercept
        self.feature_map = feature_map
        self.signed = signed
        self.normalize = normalize
        self.nan = nan
        self.name = name
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.memory = memory
        self.verbose = verbose

    def _option_values(self) -> dict[str, Any]:
        return {"method": "evidence", **super()._option_values()}

    @property
    def lambda_(self) -> Optional[np.ndarray]:
        check_is_fitted(self)
        return self.head_.lambda_

    @property
    def log_evidence_(self) -> float:
        check_is_fitted(self)
        return self.head_.log_evidence_
