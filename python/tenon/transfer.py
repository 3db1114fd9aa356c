# SPDX-License-Identifier: BSD-3-Clause
"""Few rows with the help of other classifiers."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._base import HeadClassifier, make_two, checked_x
from ._data import FeatureList, as_array, as_matrix, has_parts, parts_of
from ._errors import ArgumentError
from ._head import Head, source_list
from ._options import Options


def named_sources(sources: Any) -> dict[str, Any]:
    """Sources by name: a dict as it is, others numbered in their order."""
    if sources is None:
        return {}
    if isinstance(sources, Mapping):
        return {str(name): source for name, source in sources.items()}
    if isinstance(sources, (list, tuple)):
        return {f"source{i}": source for i, source in enumerate(sources)}
    return {"source0": sources}


def head_of(source: Any) -> Optional[Head]:
    """The head of a source that is one, or has one."""
    if isinstance(source, Head):
        return source
    head = getattr(source, "head_", None)
    return head if isinstance(head, Head) else None


class GreedyTransferClassifier(HeadClassifier):
    """A head for few rows from their features and the scores of other classifiers, by greedy selection.

    Parameters
    ----------
    sources : list or dict of name to source, optional
        A source is a fitted head or classifier of tenon, any object with decision_function or predict_proba, which is
        given X, or an array of scores of the rows of fit; predict then needs theirs: `predict(X, sources=...)`.
        None: the features alone.
    method : str
        "auto", "greedytl", "none", "average", "rls", "forward", "l1-logistic", "elastic-net", "multikt-l2",
        "multikt-l1" or "dam"; auto takes what leave-one-out finds best.
    lam : float
        Regularisation of greedytl; 0: chosen.
    k : int, "all" or "loo"
        Columns that greedytl and forward pick at most; loo: as many as leave-one-out finds best.
    delta : float
        They stop when a further column gains less.
    features : bool
        Use the target's own columns beside the sources.
    class_weight : None, "balanced" or dict of class to weight
        balanced: all classes count the same; of several labels both sides of each.
    feature_map, signed, normalize, nan, name, n_jobs, memory, verbose
        As of TenonClassifier.

    Attributes
    ----------
    classes_ : ndarray
    coef_, intercept_ : ndarray
        Of the columns of X as they are prepared, then those of the sources that are used.
    head_ : Head
    fit_info_ : dict
        What was picked for each class, as `tenon transfer --json` prints it.

    Examples
    --------
    >>> from tenon import EvidenceClassifier, GreedyTransferClassifier
    >>> old = EvidenceClassifier().fit(X[y != 2], y[y != 2])
    >>> few = np.r_[0:90:7]
    >>> model = GreedyTransferClassifier(sources={"old": old}).fit(X[few], y[few])
    >>> model.score(X, y) > 0.8
    True
    """

    def __init__(self, sources: Any = None, *, method: str = "auto", lam: float = 0.0, k: Any = "all",
                 delta: float = 1e-4, features: bool = True, feature_map: str = "none", signed: str = "odd",
                 normalize: str = "l2", nan: str = "error", class_weight: Any = None, name: str = "X",
                 n_jobs: Optional[int] = None, memory: Optional[int] = None, verbose: int = 0) -> None:
        self.sources = sources
        self.method = method
        self.lam = lam
        self.k = k
        self.delta = delta
        self.features = features
        self.feature_map = feature_map
        self.signed = signed
        self.normalize = normalize
        self.nan = nan
        self.class_weight = class_weight
        self.name = name
        self.n_jobs = n_jobs
        self.memory = memory
        self.verbose = verbose

    def _promises_probabilities(self) -> bool:
        return False

    def _option_values(self) -> dict[str, Any]:
        values = super()._option_values()
        alone = self.method == "auto" and not named_sources(self.sources)
        return {"method": "none" if alone else self.method, **values}

    def _source_arrays(self, x: Any, given: Any, fitting: bool) -> dict[str, Any]:
        """Heads that apply to X, and scores: of every source now, for these rows."""
        names = named_sources(self.sources)
        given = named_sources(given)
        return {name: self._one_source(name, given.get(name, source), x, fitting or name in given)
                for name, source in names.items()}

    def _one_source(self, name: str, source: Any, x: Any, current: bool) -> Any:
        head = head_of(source)
        own = {self.name} if not has_parts(x) else set(x)
        if head is not None and {r.name for r in head.representations} <= own and not head.sources:
            return head
        for method in ("decision_function", "predict_proba"):
            if callable(getattr(source, method, None)):
                scores = as_array(getattr(source, method)(x))
                return as_matrix(scores.reshape(len(scores), -1), name)
        if not current:
            raise ArgumentError(f"source {name}: it is an array with scores of the rows of fit; pass those of these "
                                "rows, predict(X, sources=...)")
        scores = as_array(source)
        return as_matrix(scores.reshape(len(scores), -1) if scores.ndim == 1 else scores, name)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GreedyTransferClassifier:
        """Trains the head.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns), or dict of name to array
        y : array of shape (n_rows,), or of 0 and 1, (n_rows, n_classes), for several labels per row
        sample_weight : array of shape (n_rows,), optional

        Returns
        -------
        self
        """
        X, targets, weights = self._checked(X, y, sample_weight)
        self._note(targets, y)
        sources = self._source_arrays(X, None, True)
        with self._session() as s:
            features = FeatureList(s, parts_of(X, self.name))
            labels = targets.labels(s, weights)
            given, count, kept = source_list(s, sources)
            options = Options(s, "transfer")
            options.set_all(self._option_values())
            info, head = make_two(s, "tn_transfer", features.handles, features.count, labels, given, count,
                                  options.handle)
            s.keep(info, "tn_transfer_info_free")
            self.head_ = Head(head)
            self.fit_info_ = s.json("tn_transfer_json", info, None)
        return self

    def _scores(self, x: Any, sources: Any = None) -> np.ndarray:
        check_is_fitted(self)
        x = checked_x(self, x, False)
        nan = "error" if self.nan == "drop" else self.nan
        return self.head_.scores(x, sources=self._source_arrays(x, sources, False), nan=nan, n_jobs=self.n_jobs)

    def decision_function(self, X: Any, sources: Any = None) -> np.ndarray:
        """Scores whose sign (two classes, several labels) or arg-max is the decision.

        Parameters
        ----------
        X : as for fit
        sources : list or dict, optional
            Scores of these rows by the sources that were arrays.

        Returns
        -------
        ndarray of float32, shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        scores = self._scores(X, sources)
        return self.head_.decisions(scores)

    def predict(self, X: Any, sources: Any = None) -> np.ndarray:
        """The class of each row; 0 and 1 for several labels per row.

        Parameters
        ----------
        X : as for fit
        sources : list or dict, optional
            Scores of these rows by the sources that were arrays.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        scores = self._scores(X, sources)
        decided = self.head_.decide(scores)
        return decided.astype(self._label_dtype) if self.head_.task == "multilabel" else self.classes_[decided]
