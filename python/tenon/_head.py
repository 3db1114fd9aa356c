# SPDX-License-Identifier: BSD-3-Clause
"""Heads: linear classifiers with how their input is prepared."""
from __future__ import annotations

import ctypes
import json
import math
import os
from collections.abc import Mapping
from typing import Any, NamedTuple, Optional, Union

import numpy as np

from ._data import NAN, NORMALIZE, TASKS, FeatureList, classes_of_names, has_parts, parts_of, word_index
from ._errors import ArgumentError, UnsupportedError
from ._html import head_html
from ._library import Source, lib
from ._session import Handle, Session

LONG_WORK = 1e7  # multiplications from which a call of the main thread may take a noticeable time


class Representation(NamedTuple):
    """One representation of a head, in column order: `columns` of the weights are its own."""

    name: str
    dim: int
    normalize: str
    feature_map: str
    columns: int


class SourceColumn(NamedTuple):
    """A column of scores by another classifier, behind the representations of a transfer head."""

    name: str
    label: str
    column: int
    is_head: bool


def _texts(pointer: Optional[int], count: int) -> list[str]:
    if not pointer:
        return []
    return [(t or b"").decode("utf-8", "surrogateescape") for t in (ctypes.c_char_p * count).from_address(pointer)]


class Head:
    """A trained head: what `fit` of every classifier makes, `tenon.load` reads and `tenon fit` writes.

    Scores are `coef_ @ x + intercept_`, where x is the row as the head prepares it: each of its `representations`
    mapped, normalised, and put side by side.

    Attributes
    ----------
    classes_ : ndarray
        Numbers where all names are whole numbers, else texts.
    coef_ : ndarray of shape (n_classes, n_columns)
    intercept_ : ndarray of shape (n_classes,)
    representations : list of Representation
    task, method : str
    options : dict
        How it was made.

    Examples
    --------
    >>> from tenon import EvidenceClassifier
    >>> head = EvidenceClassifier().fit(X, y).head_
    >>> head.method, head.coef_.shape
    ('evidence', (3, 8))
    >>> head.predict(X[:3]).tolist() == y[:3].tolist()
    True
    """

    def __init__(self, handle: ctypes.c_void_p, command: Optional[str] = None) -> None:
        self._handle = Handle(handle, "tn_head_free")
        self._command = command
        count = lib.tn_head_classes(handle)
        self.task: str = TASKS[lib.tn_head_task(handle)]
        self.class_names: list[str] = _texts(lib.tn_head_class_names(handle), count)
        self.classes_: np.ndarray = classes_of_names(self.class_names)

    @classmethod
    def from_bytes(cls, data: bytes) -> Head:
        """A head from the bytes of its file."""
        with Session() as s:
            head = cls(s.make("tn_head_from_bytes", data, len(data), None))
        created = head.created_by
        head._command = created.split(": ", 1)[1] if ": " in created else None
        return head

    @classmethod
    def load(cls, path: Union[str, os.PathLike[str]]) -> Head:
        """A head from its file."""
        with Session() as s:
            return cls(s.make("tn_head_load", os.fsencode(path)))

    def to_bytes(self, command: Optional[str] = None) -> bytes:
        """The bytes of its file. `command` is recorded in `created_by`."""
        command = self._command if command is None else command
        with Session() as s:
            return s.to_bytes("tn_head_to_bytes", self._handle.value, None if command is None else command.encode())

    def save(self, path: Union[str, os.PathLike[str]], command: Optional[str] = None) -> None:
        """Writes the .safetensors file that `tenon predict`, `tenon.load` and every framework read."""
        command = self._command if command is None else command
        with Session() as s:
            s.call("tn_head_save", self._handle.value, None if command is None else command.encode(), os.fsencode(path))

    def __reduce__(self) -> Any:
        return Head.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        names = " + ".join(r.name for r in self.representations)
        return f"<tenon.Head {self.method}: {len(self.class_names)} classes, {self.dim} columns of {names}>"

    def _repr_html_(self) -> str:
        return head_html(self)

    # ---- what it is made of ----

    @property
    def dim(self) -> int:
        """Columns of the weights."""
        return int(lib.tn_head_dim(self._handle.value))

    @property
    def method(self) -> str:
        return str(lib.tn_head_method(self._handle.value).decode())

    @property
    def options(self) -> dict[str, Any]:
        return dict(json.loads(lib.tn_head_options(self._handle.value) or b"{}"))

    @property
    def created_by(self) -> str:
        return str(lib.tn_head_created_by(self._handle.value).decode("utf-8", "replace"))

    @property
    def representations(self) -> list[Representation]:
        reps = [lib.tn_head_rep(self._handle.value, i) for i in range(lib.tn_head_rep_count(self._handle.value))]
        return [Representation(r.name.decode("utf-8", "surrogateescape"), r.dim, NORMALIZE[r.normalize],
                               (r.transform or b"none").decode("utf-8", "surrogateescape"), r.cols) for r in reps]

    @property
    def sources(self) -> list[SourceColumn]:
        """Of a transfer head: the columns of other classifiers that it uses."""
        found = [lib.tn_head_source_at(self._handle.value, i)
                 for i in range(lib.tn_head_source_count(self._handle.value))]
        return [SourceColumn(f.name.decode("utf-8", "surrogateescape"), f.label.decode("utf-8", "surrogateescape"),
                             f.column, f.is_head) for f in found]

    def _floats(self, getter: str, shape: tuple[int, ...], kind: Any) -> Optional[np.ndarray]:
        pointer = getattr(lib, getter)(self._handle.value)
        if not pointer:
            return None
        return np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(kind)), shape).copy()

    @property
    def coef_(self) -> np.ndarray:
        weight = self._floats("tn_head_weight", (len(self.class_names), self.dim), ctypes.c_float)
        assert weight is not None
        return weight

    @property
    def intercept_(self) -> np.ndarray:
        """For columns as they are, also where the head takes a centre off first."""
        bias = self._floats("tn_head_bias", (len(self.class_names),), ctypes.c_float)
        assert bias is not None
        if self.centre_ is None:
            return bias
        return (bias - self.coef_.astype(np.float64) @ self.centre_).astype(np.float32)

    @property
    def centre_(self) -> Optional[np.ndarray]:
        """What is taken off the prepared columns, in double, before they become single; None: nothing."""
        return self._floats("tn_head_centre", (self.dim,), ctypes.c_double)

    @property
    def lambda_(self) -> Optional[np.ndarray]:
        """Regularisation of each class, of a ridge head or discriminants; infinite: the class has no weights."""
        return self._floats("tn_head_lambda", (len(self.class_names),), ctypes.c_double)

    @property
    def alpha_(self) -> Optional[np.ndarray]:
        return self._floats("tn_head_alpha", (len(self.class_names),), ctypes.c_double)

    @property
    def beta_(self) -> Optional[np.ndarray]:
        return self._floats("tn_head_beta", (len(self.class_names),), ctypes.c_double)

    @property
    def log_evidence_(self) -> float:
        return float(lib.tn_head_log_evidence(self._handle.value))

    @property
    def cost_(self) -> float:
        """C that it was trained with; NaN where the method has none."""
        return float(lib.tn_head_cost(self._handle.value))

    @property
    def threshold(self) -> float:
        """Decision point of scores in multi-label work."""
        return float(lib.tn_head_threshold(self._handle.value))

    @property
    def temperature(self) -> float:
        """What scores are divided by to become probabilities; 0: there are none."""
        return float(lib.tn_head_temperature(self._handle.value))

    # ---- prediction ----

    def _parts(self, x: Any) -> dict[str, Any]:
        if has_parts(x):
            return parts_of(x)
        reps = self.representations
        if len(reps) != 1:
            raise ArgumentError(f"X: got one array, but the head uses {len(reps)} representations: pass a dict of "
                                f"{', '.join(r.name for r in reps)}")
        return {reps[0].name: x}

    def scores(self, x: Any, *, sources: Optional[Mapping[str, Any]] = None, nan: str = "error",
               n_jobs: Optional[int] = None) -> np.ndarray:
        """Scores of every class, as `tenon predict --scores` writes them.

        Parameters
        ----------
        x : array of shape (n_rows, n_columns), or dict of arrays or paths by the names of the representations
        sources : dict, optional
            Of a transfer head: scores (arrays) or heads by the names of its sources.
        nan : {"error", "drop", "zero"}
            Rows with NaN or infinity: refused, given NaN scores, or taken with zeros.
        n_jobs : int, optional
            Threads; None and -1: all cores.

        Returns
        -------
        ndarray of float32, shape (n_rows, n_classes)
        """
        policy = word_index("nan", nan, NAN)
        with Session(n_jobs) as s:
            features = FeatureList(s, self._parts(x))
            if self.sources:
                given, count, kept = source_list(s, sources or {})
                scorer = s.make("tn_scorer_new_transfer", self._handle.value, features.handles, features.count, given,
                                count, policy)
            else:
                scorer = s.make("tn_scorer_new", self._handle.value, features.handles, features.count, policy)
            s.keep(scorer, "tn_scorer_free")
            out = np.empty((features.rows, len(self.class_names)), np.float32)
            work = float(features.rows) * self.dim * max(len(self.class_names), 8)
            s.call("tn_scorer_read", scorer, 0, features.rows, out.ctypes.data, long=work > LONG_WORK)
        return out

    def decision_function(self, x: Any, **keywords: Any) -> np.ndarray:
        """Scores whose sign, or arg-max, is the decision: of two classes one column, the second less the first."""
        return self.decisions(self.scores(x, **keywords))

    def decisions(self, scores: np.ndarray) -> np.ndarray:
        """Scores as scikit-learn wants them."""
        if self.task == "multiclass" and scores.shape[1] == 2:
            return np.asarray(scores[:, 1] - scores[:, 0])
        if self.task == "multilabel" and self.threshold != 0:
            return scores - np.float32(self.threshold)
        return scores

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """Places of the classes, marks of the labels, or values."""
        if self.task == "multiclass":
            return np.asarray(np.argmax(scores, axis=1))
        if self.task == "multilabel":
            return np.asarray(scores > self.threshold)
        return scores

    def predict(self, x: Any, **keywords: Any) -> np.ndarray:
        """Classes; 0 and 1 for several labels per row; values of a regression."""
        decided = self.decide(self.scores(x, **keywords))
        if self.task == "multiclass":
            return np.asarray(self.classes_[decided])
        if self.task == "multilabel":
            return decided.astype(np.int64)
        return decided[:, 0] if decided.shape[1] == 1 else decided

    def predict_proba(self, x: Any, **keywords: Any) -> np.ndarray:
        """Probabilities of every class. UnsupportedError when the head has none: it was not calibrated."""
        return self.probabilities(self.scores(x, **keywords))

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Scores as probabilities."""
        out = scores.copy()
        with Session() as s:
            s.call("tn_head_probabilities", self._handle.value, out.shape[0], out.ctypes.data)
        return out

    def to_torch(self) -> Any:
        """An `nn.Linear` with these weights, for rows that are prepared as `representations` say.

        The layer takes the prepared columns: for "l2", `torch.nn.functional.normalize(x)`.
        """
        try:
            import torch
        except ImportError as error:
            raise ImportError("to_torch needs torch, which is not installed") from error
        if any(r.feature_map != "none" for r in self.representations):
            raise UnsupportedError("to_torch: the head maps its input, which a linear layer cannot")
        layer = torch.nn.Linear(self.dim, len(self.class_names))
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(self.coef_))
            layer.bias.copy_(torch.from_numpy(self.intercept_))
        return layer

    def summary(self) -> dict[str, Any]:
        """What a reader wants to know first, as text by name."""
        lam = self.lambda_
        rows = {"method": self.method, "task": self.task, "classes": str(len(self.class_names)),
                "columns": str(self.dim),
                "representations": ", ".join(
                    r.name + (f" + {r.feature_map}" if r.feature_map != "none" else "") + f" ({r.normalize})"
                    for r in self.representations)}
        if self.sources:
            rows["sources"] = ", ".join(dict.fromkeys(c.name for c in self.sources))
        if lam is not None:
            rows["lambda"] = f"{np.median(lam):.4g}"
        if not math.isnan(self.cost_):
            rows["C"] = f"{self.cost_:.4g}"
        if not math.isnan(self.log_evidence_):
            rows["log evidence"] = f"{self.log_evidence_:.2f}"
        rows["probabilities"] = f"temperature {self.temperature:.4g}" if self.temperature > 0 else "none"
        return rows


def source_list(s: Session, sources: Mapping[str, Any]) -> tuple[Any, int, Any]:
    """Sources of the library: heads as they are, everything else as features with scores; the last is to be kept."""
    kept: list[Any] = []
    items = []
    for name, source in sources.items():
        if isinstance(source, Head):
            kept.append(source)
            items.append(Source(name.encode(), None, source._handle.value))
        else:
            features = FeatureList(s, {name: source})
            kept.append(features)
            items.append(Source(name.encode(), features.handles[0], None))
    return (Source * len(items))(*items), len(items), kept
