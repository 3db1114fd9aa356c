# SPDX-License-Identifier: BSD-3-Clause
"""Encoders: bags of descriptors, or pictures, to one row each."""
from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from typing import Any, Optional, Union

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ._bags import ON_ERROR, Bags, Pictures, pictures_or_bags
from ._base import seed_of
from ._compat import Tagged
from ._data import Targets, class_name, word_index
from ._errors import ArgumentError, ShapeError
from ._library import EncoderInfo, RefineData, View, lib
from ._options import Options
from ._session import Session
from ._stored import Stored

_OWN = {"n_jobs", "memory", "verbose"}


class BagEncoder(Tagged, TransformerMixin, BaseEstimator):
    """Turns bags of local descriptors, or pictures, into rows: Fisher vectors, VLAD, bags of visual words, LLC.

    Rows X are bags (`tenon.Bags`, an array (n_bags, n_descriptors, n_values), or a list of arrays) or pictures
    (`tenon.Pictures`, a folder, or a list of paths), and what comes out goes into any classifier:
    `make_pipeline(FisherVector(), TenonClassifier())`.

    Parameters
    ----------
    kind : {"fisher", "vlad", "bovw", "llc"}
    words : int
        Gaussians or words; 0: 64 for fisher and vlad, else 2048.
    pca : int
        Principal components that descriptors are reduced to; 0: none.
    whiten : bool
        Give the components equal variance.
    pyramid : str
        Rows x columns of cells that are encoded apart, such as "1x1,2x2,3x1"; bags then need positions.
    places : bool
        Let x and y follow the descriptor: cheaper than a pyramid.
    norm : {"auto", "root", "intra", "l2", "raw"}
        Of the rows.
    neighbours : int
        Words that llc gives a descriptor.
    sample : int
        Descriptors to learn from; 0: all.
    pictures : int
        Pictures to learn from at most, spread evenly over all; 0: all.
    iterations : int
        Of k-means or EM at most.
    floor : float
        Least variance of a Gaussian, as a share of all descriptors'.
    descriptor : {"rootsift", "sift", "csift", "lbp", "gist"}
        What a patch of a picture becomes. This and the next six are for pictures.
    step : int
        Pixels from patch to patch; 0: 4 for sift and rootsift, else 6.
    sides : list of int
        Sides of patches in pixels.
    contrast : bool
        Give every picture mean 0 and deviation 1 first.
    pixels, side : int
        Pixels, or pixels of the longer side, that a picture is shrunk to, if it has more; 0: any.
    largest : int
        Pixels that a file may declare; one with more is broken.
    on_error : {"stop", "skip"}
        What a broken picture does in fit; transform always stops, for every row is promised.
    n_jobs, random_state, memory, verbose
        As of TenonClassifier.

    Attributes
    ----------
    n_features_out_ : int
        Columns of a row.
    fit_info_ : dict
        What it was learned from: bags, descriptors, sample, kept (share of the variance), iterations, ...

    Examples
    --------
    >>> from tenon import BagEncoder
    >>> bags = [X[:30], X[30:50], X[50:]]
    >>> BagEncoder("vlad", words=4, pca=0).fit_transform(bags).shape
    (3, 32)
    """

    def __init__(self, kind: str = "fisher", *, words: int = 0, pca: int = 64, whiten: bool = False,
                 pyramid: str = "1x1", places: bool = False, norm: str = "auto", neighbours: int = 5,
                 sample: int = 100000, pictures: int = 0, iterations: int = 25, floor: float = 1e-3,
                 descriptor: str = "rootsift", step: int = 0, sides: Any = (16, 25, 36, 49, 64),
                 contrast: bool = True, pixels: int = 100000,
                 side: int = 0, largest: int = 134217728, on_error: str = "stop", n_jobs: Optional[int] = None,
                 random_state: Any = None, memory: Optional[int] = None, verbose: int = 0) -> None:
        self.kind = kind
        self.words = words
        self.pca = pca
        self.whiten = whiten
        self.pyramid = pyramid
        self.places = places
        self.norm = norm
        self.neighbours = neighbours
        self.sample = sample
        self.pictures = pictures
        self.iterations = iterations
        self.floor = floor
        self.descriptor = descriptor
        self.step = step
        self.sides = sides
        self.contrast = contrast
        self.pixels = pixels
        self.side = side
        self.largest = largest
        self.on_error = on_error
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.memory = memory
        self.verbose = verbose

    def _tags_of(self) -> dict[str, Any]:
        return {"X_types": ["3darray"], "preserves_dtype": []}

    def _session(self) -> Session:
        return Session(self.n_jobs, self.memory, self.verbose)

    def _option_values(self) -> dict[str, Any]:
        values = {k: v for k, v in self.get_params(deep=False).items() if k not in _OWN}
        return {**values, "random_state": seed_of(self.random_state)}

    def fit(self, X: Any, y: Any = None) -> BagEncoder:
        """Learns projection and words.

        Parameters
        ----------
        X : bags or pictures
        y : ignored

        Returns
        -------
        self
        """
        given = pictures_or_bags(X)
        info = EncoderInfo()
        with self._session() as s:
            options = Options(s, "encoder")
            options.set_all(self._option_values())
            name, handle = ("tn_encoder_train", given.handle) if isinstance(given, Pictures) else (
                "tn_encoder_train_bags", given.handle(s))
            self._take(Stored("encoder", s.make(name, handle, options.handle, ctypes.byref(info), long=True)))
        self.fit_info_: dict[str, Any] = {field: getattr(info, field) for field, _ in EncoderInfo._fields_}
        return self

    def _take(self, stored: Stored) -> None:
        self._encoder = stored
        self.n_features_out_ = int(lib.tn_encoder_cols(stored.value))

    def transform(self, X: Any) -> np.ndarray:
        """One row of every bag or picture, as `tenon extract` writes them.

        Parameters
        ----------
        X : bags or pictures
            Pictures if the encoder was learned from pictures, or bags of the same descriptors.

        Returns
        -------
        ndarray of float32, shape (n_bags, n_features_out_)
            A bag without descriptors is zero.
        """
        check_is_fitted(self)
        given = pictures_or_bags(X)
        out = np.empty((len(given), self.n_features_out_), np.float32)
        with self._session() as s:
            if isinstance(given, Pictures):
                features = s.make("tn_features_from_pictures", b"pictures", given.handle, self._encoder.value,
                                  long=True)
                s.keep(features, "tn_features_close")
                s.call("tn_features_read", features, None, 0, len(given), 0, out.shape[1], out.ctypes.data)
            else:
                encode_bags(s, self._encoder.value, given, out)
        return out

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """bagencoder0, ...: the name of the class and a number for each column."""
        check_is_fitted(self)
        name = type(self).__name__.lower()
        return np.array([f"{name}{i}" for i in range(self.n_features_out_)], dtype=object)

    def save(self, path: Union[str, os.PathLike[str]], command: Optional[str] = None) -> None:
        """Writes the encoder, for `tenon extract`, `--encoder` of other commands, and `tenon.load`."""
        check_is_fitted(self)
        self._encoder.save(path, command)

    @classmethod
    def _load(cls, path: str) -> BagEncoder:
        """Parameters are shown as far as the file tells them."""
        stored = Stored.load("encoder", path)
        handle = stored.value
        kind = lib.tn_encoder_kind(handle).decode()
        words = {"words": int(lib.tn_encoder_words(handle)), "pyramid": lib.tn_encoder_pyramid(handle).decode()}
        described = lib.tn_encoder_descriptor(handle)
        if described is not None:
            words["descriptor"] = described.decode()
        out = FisherVector(**words) if kind == "fisher" else BagEncoder(kind, **words)
        out._take(stored)
        return out


def encode_bags(s: Session, encoder: ctypes.c_void_p, bags: Bags, out: np.ndarray) -> None:
    """A row of out for every bag. Bags are encoded one by one, each by all threads; between two of them Python sees
    Ctrl-C."""
    dim, none = int(lib.tn_encoder_dim(encoder)), View(None, 0, 3, 3)
    if bags.descriptors.shape[1] != dim:
        raise ShapeError(f"bags: descriptors have {bags.descriptors.shape[1]} columns, but the encoder was trained on "
                         f"{dim}")
    for i in range(len(bags)):
        span = slice(bags.offsets[i], bags.offsets[i + 1])
        x = np.ascontiguousarray(bags.descriptors[span], dtype=np.float32)
        view, places = View(x.ctypes.data, x.shape[0], dim, dim), none
        if bags.positions is not None:
            p = np.ascontiguousarray(bags.positions[span], dtype=np.float32)
            places = View(p.ctypes.data, p.shape[0], 3, 3)
        s.call("tn_encoder_encode", encoder, view, places, out[i].ctypes.data)


class FisherVector(BagEncoder):
    """Fisher vectors of bags of local descriptors, or of pictures: how a mixture of Gaussians would have to change to
    suit the bag better.

    Parameters
    ----------
    words : int
        Gaussians; 0: 64.
    pca, whiten, pyramid, places, norm, sample, pictures, iterations, floor, descriptor, step, sides, contrast, pixels,
    side, largest, on_error, n_jobs, random_state, memory, verbose
        As of BagEncoder.

    Attributes
    ----------
    n_features_out_ : int
        2 words values for each cell of the pyramid, values being those of a projected descriptor.
    fit_info_ : dict
    refine_info_ : dict
        After `refine`.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from tenon import EvidenceClassifier, FisherVector
    >>> bags = [X[y == c][i::3] for c in (0, 1, 2) for i in range(3)]
    >>> model = make_pipeline(FisherVector(words=2, pca=4), EvidenceClassifier()).fit(bags, [0, 0, 0, 1, 1, 1, 2, 2, 2])
    >>> model[0].n_features_out_, model.predict(bags).shape
    (16, (9,))
    """

    def __init__(self, words: int = 0, *, pca: int = 64, whiten: bool = False, pyramid: str = "1x1",
                 places: bool = False, norm: str = "auto", sample: int = 100000, pictures: int = 0,
                 iterations: int = 25, floor: float = 1e-3, descriptor: str = "rootsift", step: int = 0,
                 sides: Any = (16, 25, 36, 49, 64), contrast: bool = True, pixels: int = 100000, side: int = 0,
                 largest: int = 134217728, on_error: str = "stop", n_jobs: Optional[int] = None,
                 random_state: Any = None, memory: Optional[int] = None, verbose: int = 0) -> None:
        super().__init__("fisher", words=words, pca=pca, whiten=whiten, pyramid=pyramid, places=places, norm=norm,
                         sample=sample, pictures=pictures, iterations=iterations, floor=floor, descriptor=descriptor,
                         step=step, sides=sides, contrast=contrast, pixels=pixels, side=side, largest=largest,
                         on_error=on_error, n_jobs=n_jobs, random_state=random_state, memory=memory, verbose=verbose)


    def refine(self, X: Any, y: Any, X_valid: Any = None, y_valid: Any = None, *, task: Any = "shared",
               learn: str = "mixture", optimizer: str = "lbfgs", objective: str = "svm", rounds: int = 12,
               C: Any = "auto", penalty: float = 0.003, soften: float = 0.05, rate: float = 0.05, part: float = 1,
               dropout: float = 0, threshold: float = 0, holdout: float = 0.2, patience: int = 5,
               intercept: bool = True, twice: bool = True, precision: str = "f32", cache: Any = None,
               checkpoint: Any = None) -> FisherVector:
        """Learns the mixture of a fitted encoder further, or the projection before it, together with support vector
        machines that tell the classes apart, as `tenon encoder refine` does: deep Fisher kernels.

        Parameters
        ----------
        X : bags or pictures
            As of transform.
        y : array of classes, or of 0 and 1 (n_bags, n_classes)
        X_valid, y_valid : the same, optional
            They choose C and the round; without them a part of X does, `holdout`.
        task : class or "shared"
            Tell this class from all others; shared: all classes by one mixture.
        learn : {"mixture", "projection", "both"}
            projection, both: the encoder must have one, parameter pca.
        optimizer : {"lbfgs", "gd", "adam"}
        objective : {"svm", "cv", "multinomial"}
        rounds : int
            Steps at most.
        C : float or "auto"
            Of the machines, over the number of bags; auto: by validation.
        penalty, soften, rate, part, dropout, threshold, holdout, patience, intercept, twice, precision, cache, \
checkpoint
            As the options of `tenon encoder refine`; cache and checkpoint are paths.

        Returns
        -------
        self
            With `refine_info_`: dict of rounds (objective, loss, step, mean_ap, ...), best, advice ("refined", "given"
            or "twice": which encoder is best on what validates), C, seconds, ...

        Examples
        --------
        >>> bags = [X[y == c][i::5] for c in (0, 1, 2) for i in range(5)]
        >>> encoder = tenon.FisherVector(words=2, pca=4).fit(bags)
        >>> encoder.refine(bags, np.repeat([0, 1, 2], 5), rounds=2, C=100, holdout=0).refine_info_["best"]
        2
        """
        check_is_fitted(self)
        named = {"task": task if isinstance(task, str) else class_name(task), "cache": cache, "checkpoint": checkpoint}
        options = {"learn": learn, "optimizer": optimizer, "objective": objective, "rounds": rounds, "C": C,
                   "penalty": penalty, "soften": soften, "rate": rate, "part": part, "dropout": dropout,
                   "threshold": threshold, "holdout": holdout, "patience": patience, "intercept": intercept,
                   "twice": twice, "precision": precision, "random_state": seed_of(self.random_state)}
        if (X_valid is None) != (y_valid is None):
            raise ArgumentError("refine: got one of X_valid and y_valid, expected both or neither")
        with self._session() as s:
            chosen = Options(s, "encoder")
            chosen.set_all(options)
            for name, value in named.items():  # as they are: names of classes and files may be any words
                if value is not None:
                    s.call("tn_options_set", chosen.handle, name.encode(), os.fsencode(value))
            train, classes = _refine_data(s, X, y, None)
            valid = None if X_valid is None else _refine_data(s, X_valid, y_valid, classes)[0]
            info = ctypes.c_void_p()
            made = s.make("tn_encoder_refine", self._encoder.value, ctypes.byref(train),
                          None if valid is None else ctypes.byref(valid), chosen.handle, ctypes.byref(info), long=True)
            s.keep(info, "tn_refine_info_free")
            self._take(Stored("encoder", made))
            self.refine_info_: dict[str, Any] = s.json("tn_refine_json", info)
        return self


def _refine_data(s: Session, x: Any, y: Any, classes: Any) -> tuple[RefineData, np.ndarray]:
    """What a refinement learns from or is judged by, and its classes; it must live as long as the call."""
    given = pictures_or_bags(x)
    targets = Targets(y, classes=classes)
    if targets.task == "regression":
        raise ArgumentError("y: got numbers of a regression, expected classes")
    if targets.rows != len(given):
        raise ShapeError(f"y: got {targets.rows} rows, expected one for each of the {len(given)} bags or pictures")
    pictures, bags = (given.handle, None) if isinstance(given, Pictures) else (None, given.handle(s))
    data = RefineData(pictures, bags, targets.labels(s))
    data.kept = given, targets
    return data, targets.classes


def extract(images: Any, encoder: Any, *, on_error: str = "stop", n_jobs: Optional[int] = None,
            memory: Optional[int] = None, verbose: int = 0) -> Any:
    """Rows of pictures, or of bags, by an encoder or several.

    Parameters
    ----------
    images : pictures or bags, as of BagEncoder
    encoder : BagEncoder, path of an encoder's file, or dict of name to either
    on_error : {"stop", "skip"}
        A broken picture: end the work, or leave it out with a warning; take the labels of `tenon.Pictures` then, which
        leaves out the same.
    n_jobs, memory, verbose
        As of TenonClassifier.

    Returns
    -------
    ndarray of float32, or a dict of them by name, which `rank` and `TenonClassifier` take

    Examples
    --------
    >>> encoder = tenon.FisherVector(words=2, pca=8, sides=[16], step=8).fit(photos)
    >>> pictures = tenon.Pictures(photos)
    >>> tenon.extract(pictures, encoder).shape
    (12, 32)
    """
    given = pictures_or_bags(images)
    if word_index("on_error", on_error, ON_ERROR) == 1 and isinstance(given, Pictures):
        given = Pictures(given.paths, on_error)
    if isinstance(encoder, Mapping):
        return {str(name): extract(given, one, n_jobs=n_jobs, memory=memory, verbose=verbose)
                for name, one in encoder.items()}
    if isinstance(encoder, (str, os.PathLike)):
        encoder = BagEncoder._load(os.fspath(encoder))
    if not isinstance(encoder, BagEncoder):
        raise ArgumentError(f"encoder: got {type(encoder).__name__}, expected a BagEncoder or the path of its file")
    check_is_fitted(encoder)
    own = BagEncoder(n_jobs=n_jobs, memory=memory, verbose=verbose)
    own._take(encoder._encoder)
    return own.transform(given)
