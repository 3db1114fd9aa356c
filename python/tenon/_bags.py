# SPDX-License-Identifier: BSD-3-Clause
"""Bags of local descriptors, and pictures that they are taken from: what encoders turn into rows."""
from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from typing import Any, Optional, Union

import numpy as np

from ._data import FeatureList, as_array, as_matrix, word_index
from ._errors import ArgumentError, BudgetError, DataError, ShapeError, option_name
from ._library import lib
from ._options import Options
from ._session import Handle, Session

ON_ERROR = ("stop", "skip")
PIXELS = 100000  # that pictures are shrunk to, as encoders do


class Bags:
    """Local descriptors, as many as each sample has: patch tokens, frames of sound, dense SIFT.

    Bags are a sequence of arrays, so that scikit-learn can split them as it splits lists.

    Parameters
    ----------
    descriptors : array of shape (n_descriptors, n_values)
        Those of all bags, bag after bag; read where they lie.
    offsets : array of n_bags + 1 whole numbers
        Where bags begin: bag i is the rows [offsets[i], offsets[i + 1]) of descriptors, none for an empty bag.
    positions : array of shape (n_descriptors, 3), optional
        x and y as shares of width and height, and the side as a share of sqrt(width height): for encoders with a
        pyramid or with places.

    Examples
    --------
    >>> bags = tenon.Bags(X, [0, 40, 40, 90])
    >>> len(bags), bags[0].shape, bags[1].shape
    (3, (40, 8), (0, 8))
    """

    def __init__(self, descriptors: Any, offsets: Any, positions: Any = None) -> None:
        self.descriptors = as_matrix(descriptors, "descriptors")
        self.offsets = _checked_offsets(as_array(offsets), len(self.descriptors))
        self.positions = None if positions is None else as_matrix(positions, "positions")
        if self.positions is not None and self.positions.shape != (len(self.descriptors), 3):
            raise ShapeError(f"positions: got the shape {self.positions.shape}, expected "
                             f"({len(self.descriptors)}, 3)")

    @classmethod
    def of(cls, x: Any) -> Bags:
        """Bags as they are; of an array (n_bags, n_descriptors, n_values), without a copy where its strides allow it;
        of a list of arrays, which are put one below the other."""
        if isinstance(x, Bags):
            return x
        if hasattr(x, "toarray") and hasattr(x, "nnz"):
            raise TypeError("bags: a sparse matrix was passed, but dense data is required")
        if isinstance(x, (list, tuple)):
            return _of_list([as_matrix(bag, f"bag {i}") for i, bag in enumerate(x)])
        a = as_array(x)
        if a.ndim == 1 and a.dtype.kind == "O":
            return cls.of(list(a))
        if a.ndim != 3:
            raise ShapeError(f"bags: got an array of {a.ndim} dimensions, expected 3 (bags, descriptors, values), or a "
                             "list of arrays with 2")
        if len(a) == 0:
            raise DataError("bags: got none (0 samples), expected at least one")
        return cls(a.reshape(-1, a.shape[2]), np.arange(len(a) + 1) * a.shape[1])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, which: Any) -> Any:
        """The descriptors of a bag; bags again of a slice."""
        if isinstance(which, slice):
            return self.take(range(*which.indices(len(self))))
        i = int(which)
        if not -len(self) <= i < len(self):
            raise IndexError(f"bag {i} of {len(self)}")
        i %= len(self)
        return self.descriptors[self.offsets[i]:self.offsets[i + 1]]

    def take(self, which: Any) -> Bags:
        """Some bags with their positions.

        Parameters
        ----------
        which : sequence of int
        """
        spans = [slice(self.offsets[i], self.offsets[i + 1]) for i in which]
        ends = np.cumsum([0] + [s.stop - s.start for s in spans])
        joined = [np.concatenate([a[s] for s in spans]) if spans else a[:0]
                  for a in (self.descriptors, self.positions) if a is not None]
        return Bags(joined[0], ends, *joined[1:])

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<tenon.Bags {len(self)} bags, {len(self.descriptors)} x {self.descriptors.shape[1]} descriptors>"

    def handle(self, s: Session) -> ctypes.c_void_p:
        """tn_bags for the calls of a session, during which these bags must live."""
        features = FeatureList(s, {"bags": self.descriptors})
        places = None if self.positions is None else FeatureList(s, {"positions": self.positions}).handles[0]
        return s.keep(s.make("tn_bags_new", self.offsets.ctypes.data, len(self), features.handles[0], places),
                      "tn_bags_free")


def _checked_offsets(offsets: np.ndarray, rows: int) -> np.ndarray:
    if offsets.ndim != 1 or len(offsets) < 2 or offsets.dtype.kind not in "iu":
        raise ShapeError(f"offsets: got {offsets.dtype} of the shape {offsets.shape}, expected one whole number more "
                         "than there are bags")
    if offsets[0] < 0 or (np.diff(offsets.astype(np.int64)) < 0).any() or offsets[-1] > rows:
        raise DataError(f"offsets: they must not descend, nor leave the {rows} descriptors")
    return np.ascontiguousarray(offsets, dtype=np.intp)  # the size of size_t, and none is below 0


def _of_list(bags: list[np.ndarray]) -> Bags:
    if not bags:
        raise DataError("bags: got none (0 samples), expected at least one")
    for i, bag in enumerate(bags):
        if bag.shape[1] != bags[0].shape[1]:
            raise ShapeError(f"bag {i}: {bag.shape[1]} columns, but bag 0 has {bags[0].shape[1]}")
    return Bags(np.concatenate(bags), np.cumsum([0] + [len(bag) for bag in bags]))


class Pictures(Sequence):
    """Files of pictures, in order, with the labels that folders or a list give them; nothing is decoded yet.

    They are a sequence of paths, so that scikit-learn can split them.

    Parameters
    ----------
    images : str, path-like or list of them
        A folder with a sub-folder per class, a folder of pictures, a text file of lines `path` or
        `path TAB label|label`, or paths of pictures (JPEG, PNG).
    on_error : {"stop", "skip"}
        skip: decode every picture once, and leave broken ones out with a warning.

    Attributes
    ----------
    paths, ids : list of str
        Where they are; their names within the folder or the list.
    labels : ndarray of str, or None
        The class of each, or classes joined by |.

    Examples
    --------
    >>> pictures = tenon.Pictures(photos)
    >>> len(pictures), pictures.labels[:2].tolist()
    (12, ['lines', 'lines'])
    """

    def __init__(self, images: Union[str, os.PathLike[str], Sequence[Any]], on_error: str = "stop") -> None:
        skip = word_index("on_error", on_error, ON_ERROR) == 1
        words = [images] if isinstance(images, (str, os.PathLike)) else list(images)
        if not words:
            raise DataError("pictures: got none (0 samples), expected at least one")
        texts = (ctypes.c_char_p * len(words))(*[os.fsencode(w) for w in words])
        with Session() as s:
            self._handle = Handle(s.make("tn_pictures_open", texts, len(words)), "tn_pictures_free")
            if skip:
                s.call("tn_pictures_drop_broken", self._handle.value, None, long=True)
            self._read(s)

    def _read(self, s: Session) -> None:
        handle = self._handle.value
        count = lib.tn_pictures_count(handle)
        self.paths = [os.fsdecode(lib.tn_pictures_path(handle, i)) for i in range(count)]
        ids = (ctypes.c_char_p * count).from_address(lib.tn_pictures_ids(handle))
        self.ids = [os.fsdecode(i or b"") for i in ids]
        self.labels: Optional[np.ndarray] = None
        if lib.tn_pictures_labelled(handle):
            labels = s.keep(s.make("tn_pictures_labels", handle), "tn_labels_free")
            self.labels = np.array(s.text("tn_labels_text", labels).split("\n")[:-1])

    @property
    def handle(self) -> ctypes.c_void_p:
        return self._handle.value

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, which: Any) -> Any:
        return self.paths[which]

    def __reduce__(self) -> Any:
        return Pictures, (self.paths,), {"ids": self.ids, "labels": self.labels}

    def __repr__(self) -> str:
        classes = "" if self.labels is None else f", {len(set(self.labels.tolist()))} classes"
        return f"<tenon.Pictures {len(self)}{classes}>"


def pictures_or_bags(x: Any) -> Union[Pictures, Bags]:
    """What an encoder is given: pictures where it is made of paths, else bags."""
    if isinstance(x, (Pictures, Bags)):
        return x
    if isinstance(x, (str, os.PathLike)):
        return Pictures(x)
    if isinstance(x, np.ndarray) and x.dtype.kind in "OU" and x.ndim == 1:
        x = x.tolist()
    if isinstance(x, (list, tuple)) and x and all(isinstance(item, (str, os.PathLike)) for item in x):
        return Pictures(x)
    if isinstance(x, (list, tuple)) and any(isinstance(item, (str, os.PathLike)) for item in x):
        raise ArgumentError("X: got paths beside arrays, expected one or the other")
    return Bags.of(x)


def describe(images: Any, net: Union[str, os.PathLike[str], None] = None, *, pixels: Optional[int] = None,
             on_error: str = "stop", n_jobs: Optional[int] = None, memory: Optional[int] = None,
             **options: Any) -> Bags:
    """Local descriptors of pictures: of patches on a grid, or all places or tokens of a layer of a network.

    Encoders take pictures as they are; this is for those who want the descriptors themselves, or encode what a network
    makes of pictures. All of them are in memory, 4 bytes a value: thousands of pictures are described a part at a time.

    Parameters
    ----------
    images : Pictures, or what makes some
    net : path of an .onnx model, or "FILE.onnx:LAYER", optional
        Needs ONNX Runtime, docs/networks.md.
    pixels : int, optional
        Pictures are shrunk to as many first, 0: not at all; default 100000. Not with net.
    on_error : {"stop", "skip"}
        As of extract.
    n_jobs, memory
        As of TenonClassifier; memory holds for the result, too.
    **options
        descriptor, step, sides, contrast as of BagEncoder, with its defaults; with net the options of networks: layer, views, size, crop,
        mean, std, scale, resample, channels, layout, config.

    Returns
    -------
    Bags
        One per picture, with positions but for tokens. A picture without space for a patch has an empty bag.

    Examples
    --------
    >>> bags = tenon.describe(photos, descriptor="sift", sides=[16, 24], step=8)
    >>> len(bags), bags[0].shape, bags.positions.shape[1]
    (12, (59, 128), 3)
    """
    skip = word_index("on_error", on_error, ON_ERROR) == 1
    given = images if isinstance(images, Pictures) and not skip else Pictures(images, on_error)
    if net is not None and pixels is not None:
        raise ArgumentError("pixels: got it with net, expected one of them: a network tells the size of its pictures")
    with Session(n_jobs, memory) as s:
        if net is None:
            chosen = _text_options(s, "describe", {"descriptor": "rootsift", **options})
            bags = s.make("tn_bags_from_pictures", given.handle, PIXELS if pixels is None else pixels, chosen)
        else:
            chosen = _text_options(s, "network", {**options, "as": "bag"})
            network = s.keep(s.make("tn_network_open", os.fsencode(net), chosen, long=True), "tn_network_free")
            bags = s.make("tn_bags_from_network", given.handle, network)
        return _read_bags(s, s.keep(bags, "tn_bags_free"), len(given), memory)


def _text_options(s: Session, call: str, values: dict[str, Any]) -> ctypes.c_void_p:
    """Texts as they are: layers and files may have any name."""
    options = Options(s, call)
    for name, value in values.items():
        if isinstance(value, (str, os.PathLike)):
            s.call("tn_options_set", options.handle, option_name(name).encode(), os.fsencode(value))
        else:
            options.set(name, value)
    return options.handle


def _read_bags(s: Session, bags: ctypes.c_void_p, count: int, memory: Optional[int]) -> Bags:
    """A bag at a time: between two of them Python sees Ctrl-C."""
    offsets = np.array((ctypes.c_size_t * (count + 1)).from_address(lib.tn_bags_offsets(bags)), dtype=np.intp)
    rows, cols = int(offsets[-1]), int(lib.tn_features_cols(lib.tn_bags_descriptors(bags)))
    placed = lib.tn_bags_positions(bags) is not None
    if memory and 4 * rows * (cols + 3 * placed) > memory:
        raise BudgetError(f"bags: {rows} descriptors of {cols} values need {4 * rows * (cols + 3 * placed)} bytes, "
                          f"memory allows {memory}")
    x = np.empty((rows, cols), np.float32)
    places = np.empty((rows, 3), np.float32) if placed else None
    for i, at in enumerate(offsets[:-1]):
        s.call("tn_bags_read", bags, i, 1, x[at:].ctypes.data, None if places is None else places[at:].ctypes.data)
    return Bags(x, offsets, places)
