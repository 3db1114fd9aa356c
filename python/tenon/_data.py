# SPDX-License-Identifier: BSD-3-Clause
"""Arrays as features and labels of the library. Nothing is copied that NumPy can describe by strides."""
from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np

from ._errors import ArgumentError, DataError, ShapeError
from ._library import Array, lib
from ._session import Handle, Session

TASKS = ("auto", "multiclass", "multilabel", "regression")
NORMALIZE = ("l2", "root", "l1", "zscore", "none")
NAN = ("error", "drop", "zero")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")

# tn_dtype by NumPy's kind and size; 1 is bfloat16, which NumPy has not.
_DTYPES = {"f2": 0, "f4": 2, "f8": 3, "i1": 4, "u1": 5, "i2": 6, "u2": 7, "i4": 8, "u4": 9, "i8": 10, "u8": 11,
           "b1": 12}
_DTYPE_NAMES = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32",
                "int64", "uint64", "bool")


def word_index(parameter: str, word: str, words: Sequence[str]) -> int:
    """Place of a word among those that are allowed."""
    if word not in words:
        raise ArgumentError(f"parameter {parameter}: got {word!r}, expected {'|'.join(words)}")
    return words.index(word)


def as_array(x: Any) -> np.ndarray:
    """An array of what has one: NumPy's own, __array__, DLPack (CPU), a torch tensor that records gradients. Only
    bfloat16, which NumPy has not, is copied, to single precision."""
    if isinstance(x, np.ndarray):
        return x
    if callable(getattr(x, "detach", None)):
        x = x.detach()
        x = x.float() if str(x.dtype) == "torch.bfloat16" else x
    if not hasattr(x, "__array__") and hasattr(x, "__dlpack__"):
        return np.from_dlpack(x)
    return np.asarray(x)


def as_matrix(x: Any, name: str = "X") -> np.ndarray:
    """A matrix of numbers that the library can read where it lies."""
    if hasattr(x, "toarray") and hasattr(x, "nnz"):
        raise TypeError(f"{name}: a sparse matrix was passed, but dense data is required: call toarray()")
    a = as_array(x)
    if a.ndim != 2:
        raise ShapeError(f"{name}: got an array of {a.ndim} dimensions, expected 2: rows and columns")
    if a.dtype.kind == "O":
        a = a.astype(np.float64)
    if f"{a.dtype.kind}{a.dtype.itemsize}" in _DTYPES:
        return a
    if a.dtype.kind == "f":  # long double
        return a.astype(np.float64)
    raise ArgumentError(f"{name}: got an array of {a.dtype}, expected real numbers")


def array_struct(a: np.ndarray) -> Array:
    """How the library reads a matrix of as_matrix."""
    return Array(a.ctypes.data, _DTYPES[f"{a.dtype.kind}{a.dtype.itemsize}"], a.shape[0], a.shape[1], a.strides[0],
                 a.strides[1], not a.dtype.isnative)


class Features:
    """A representation in a file, read when rows are asked for: codes of a quantiser, .npy, .npz:KEY, shards, ...

    Parameters
    ----------
    path : str or path-like
        [NAME=]PATH as on the command line.

    Examples
    --------
    >>> x = tenon.Features(demo / "squeezenet.train.npy")
    >>> x.name, x.shape, x.dtype
    ('squeezenet', (300, 512), dtype('float16'))
    >>> np.asarray(x).shape
    (300, 512)
    """

    def __init__(self, path: Union[str, os.PathLike[str]]) -> None:
        self.path = os.fspath(path)
        with Session() as s:
            self._handle = Handle(s.make("tn_features_open", os.fsencode(self.path)), "tn_features_close")
        handle = self._handle.value
        self.name: str = lib.tn_features_name(handle).decode("utf-8", "replace")
        self.shape: tuple[int, int] = (lib.tn_features_rows(handle), lib.tn_features_cols(handle))
        self.format: str = lib.tn_features_format(handle).decode()
        stored = _DTYPE_NAMES[lib.tn_features_dtype(handle)]
        self.dtype = np.dtype("float32" if stored == "bfloat16" else stored)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<tenon.Features {self.name}: {self.shape[0]} x {self.shape[1]} {self.dtype}, {self.format}>"

    def __reduce__(self) -> Any:
        return Features, (self.path,)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        wide = bool(lib.tn_features_is_wide(self._handle.value))
        out = np.empty(self.shape, np.float64 if wide else np.float32)
        with Session() as s:
            s.call("tn_features_read_wide" if wide else "tn_features_read", self._handle.value, None, 0, self.shape[0],
                   0, self.shape[1], out.ctypes.data, long=True)
        return out if dtype is None else out.astype(dtype, copy=False)


class FeatureList:
    """Features of the library over arrays and files, for the calls of one session."""

    def __init__(self, s: Session, parts: Mapping[str, Any]) -> None:
        if not parts:
            raise ArgumentError("X: got no representation, expected at least one")
        self.names = list(parts)
        self._kept: list[Any] = []  # arrays and structs that the library borrows
        handles = [self._open(s, str(name), x) for name, x in parts.items()]
        self.count = len(handles)
        self.handles = (ctypes.c_void_p * self.count)(*[h.value for h in handles])
        self.rows: int = lib.tn_features_rows(handles[0])
        for name, handle in zip(self.names, handles):
            if lib.tn_features_rows(handle) != self.rows:
                raise ShapeError(f"{name}: {lib.tn_features_rows(handle)} rows, but {self.names[0]} has {self.rows}")
        self.cols = [lib.tn_features_cols(handle) for handle in handles]

    def _open(self, s: Session, name: str, x: Any) -> ctypes.c_void_p:
        if isinstance(x, Features):
            x = x.path
        if isinstance(x, (str, os.PathLike)):
            path = os.fsencode(x)
            rep = path if _has_name(path) else name.encode() + b"=" + path
            return s.keep(s.make("tn_features_open", rep), "tn_features_close")
        a = as_matrix(x, name)
        struct = array_struct(a)
        self._kept += [a, struct]
        return s.keep(s.make("tn_features_from_array", name.encode(), ctypes.byref(struct)), "tn_features_close")


def _has_name(path: bytes) -> bool:
    return b"=" in path and not os.path.exists(path)


def has_parts(x: Any) -> bool:
    """A dict of representations? A sparse matrix may be a dict, too."""
    return isinstance(x, Mapping) and not hasattr(x, "nnz")


def parts_of(x: Any, name: str = "X") -> dict[str, Any]:
    """Representations by name: a dict as it is, anything else as one."""
    return dict(x) if has_parts(x) else {name: x}


def needs_array(x: Any) -> bool:
    """A tensor that NumPy does not take as it is?"""
    return not isinstance(x, np.ndarray) and (hasattr(x, "detach") or hasattr(x, "__dlpack__"))


# ---- labels ----


def texts(names: Sequence[str]) -> Any:
    """char *[]: the texts must be kept as long."""
    return (ctypes.c_char_p * len(names))(*[n.encode("utf-8", "surrogateescape") for n in names])


def class_name(value: Any) -> str:
    """Name of a class in files: what the program would call it."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def class_names(classes: Sequence[Any]) -> list[str]:
    names = [class_name(c) for c in classes]
    if "" in names or len(set(names)) != len(names):
        raise DataError(f"y: the classes {list(classes)[:5]} have empty or equal names")
    return names


def classes_of_names(names: Sequence[str]) -> np.ndarray:
    """Classes as predictions show them: numbers when all names are whole numbers, else texts."""
    if names and all(_WHOLE.fullmatch(n) for n in names):
        return np.array([int(n) for n in names], dtype=np.int64)
    return np.array(names)


class Targets:
    """What is known of the rows: the task, the classes, and the labels in the form that the library takes.

    y is one of: classes, one per row; 0 and 1, rows x classes; numbers; as the task says.
    """

    def __init__(self, y: Any, task: str = "auto", classes: Optional[np.ndarray] = None) -> None:
        y = as_array(y)
        self.task = task_of(y) if word_index("task", task, TASKS) == 0 else task
        self.rows = y.shape[0] if y.ndim else 0
        if self.task == "multiclass":
            self._take_classes(y, classes)
        elif self.task == "multilabel":
            self._take_marks(y, classes)
        else:
            self.data = np.ascontiguousarray(y.reshape(self.rows, -1), dtype=np.float64)
            self.classes = np.arange(self.data.shape[1])
            self.names: Optional[list[str]] = None

    def _take_classes(self, y: np.ndarray, classes: Optional[np.ndarray]) -> None:
        y = y.ravel()
        if classes is None:
            self.classes, codes = np.unique(y, return_inverse=True)
        else:
            self.classes = classes
            codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
            strange = np.unique(y[classes[codes] != y])
            if len(strange):
                raise DataError(f"y: got the classes {strange[:5].tolist()}, expected those of {classes[:10].tolist()}")
        self.names = class_names(self.classes.tolist())
        self.data = np.ascontiguousarray(codes, dtype=np.int64)

    def _take_marks(self, y: np.ndarray, classes: Optional[np.ndarray]) -> None:
        self.data = np.ascontiguousarray(y, dtype=np.uint8)
        self.classes = np.arange(y.shape[1]) if classes is None else classes
        if y.shape[1] != len(self.classes):
            raise ShapeError(f"y: got {y.shape[1]} columns, expected one for each of the {len(self.classes)} classes")
        self.names = class_names(self.classes.tolist())

    def labels(self, s: Session, weights: Optional[np.ndarray] = None) -> ctypes.c_void_p:
        """Labels of the library, freed with the session."""
        data = self.data.ctypes.data
        names = None if self.names is None else texts(self.names)
        if self.task == "multiclass":
            handle = s.make("tn_labels_from_numbers", data, self.rows, names, len(self.classes))
        elif self.task == "multilabel":
            handle = s.make("tn_labels_from_matrix", data, self.rows, len(self.classes), len(self.classes), 1, names,
                            TASKS.index("multilabel"))
        else:
            handle = s.make("tn_labels_from_values", data, self.rows, self.data.shape[1], None)
        s.keep(handle, "tn_labels_free")
        if weights is not None:
            weights = np.ascontiguousarray(weights, dtype=np.float64)
            s.call("tn_labels_set_weights", handle, weights.ctypes.data, len(weights))
        return handle


def task_of(y: np.ndarray) -> str:
    """The task of an array: a table of 0 and 1 has several labels per row, numbers with fractions are a regression."""
    if y.ndim == 2 and y.shape[1] > 1:
        return "multilabel" if y.dtype.kind in "biuf" and np.isin(y, (0, 1)).all() else "regression"
    if y.dtype.kind == "f" and y.size and not np.equal(np.mod(y, 1), 0).all():
        return "regression"
    return "multiclass"


def labels_of(s: Session, y: Any, task: str = "auto") -> tuple[ctypes.c_void_p, Optional[Targets]]:
    """Labels of an array, or of a file when y is a path."""
    if isinstance(y, (str, os.PathLike)):
        handle = s.make("tn_labels_open", os.fsencode(y), word_index("task", task, TASKS))
        return s.keep(handle, "tn_labels_free"), None
    targets = Targets(y, task)
    return targets.labels(s), targets
