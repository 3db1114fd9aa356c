# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of every kind: nothing is copied, everything gives the numbers of the plain array, and what cannot be used is
refused by the exception that a scikit-learn user expects."""
import numpy as np
import pytest
from conftest import small_problem

import tenon
from tenon import EvidenceClassifier, EvidenceRegressor, LinearSVMClassifier


def scores(x, y):
    return EvidenceClassifier(n_jobs=1).fit(x, y).decision_function(x)


def layouts(x):
    """The same values lying otherwise."""
    wide = np.zeros((2 * len(x), 3 * x.shape[1]), x.dtype)
    wide[::2, 1::3] = x
    shifted = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape)
    frozen = x.copy()
    frozen.flags.writeable = False
    yield "fortran", np.asfortranarray(x)
    yield "strided", wide[::2, 1::3]
    yield "backwards", x[::-1].copy()[::-1]
    yield "mirrored", x[:, ::-1].copy()[:, ::-1]
    yield "big-endian", x.astype(x.dtype.newbyteorder(">"))
    yield "unaligned", shifted
    yield "read-only", frozen


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"])
def test_every_layout_of_every_type(dtype):
    x, y = small_problem()
    x = (x > 0) if dtype == "?" else np.clip(x * 10 + (50 if dtype[0] == "u" else 0), -100, 100).astype(dtype)
    want = scores(np.ascontiguousarray(x), y)
    for name, other in layouts(np.ascontiguousarray(x)):
        assert (other == x).all() and (scores(other, y) == want).all(), name


def test_memory_maps(tmp_path):
    x, y = small_problem()
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert (scores(mapped, y) == scores(x, y)).all()


class Tensor:
    """As torch has them: __array__, and gradients that must be left."""

    def __init__(self, x, records=True):
        self.x, self.records, self.shape, self.ndim, self.dtype = x, records, x.shape, x.ndim, x.dtype

    def detach(self):
        return Tensor(self.x, False)

    def __len__(self):
        return len(self.x)

    def __array__(self, dtype=None, copy=None):
        if self.records:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        return self.x


class Capsule:
    """Only DLPack."""

    def __init__(self, x):
        self.x, self.shape, self.ndim, self.dtype = x, x.shape, x.ndim, x.dtype

    def __len__(self):
        return len(self.x)

    def __dlpack__(self, **keywords):
        return self.x.__dlpack__()

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


@pytest.mark.parametrize("wrap", [Tensor, Capsule])
def test_tensors_of_others(wrap):
    x, y = small_problem()
    model = EvidenceClassifier(n_jobs=1).fit(wrap(x), wrap(y))
    assert (model.decision_function(wrap(x)) == scores(x, y)).all()
    t = x @ np.arange(8.0)
    plain = EvidenceRegressor().fit(x, t).predict(x)
    assert (EvidenceRegressor().fit(wrap(x), wrap(t)).predict(wrap(x)) == plain).all()
    assert tenon.evidence(wrap(x), wrap(y)).log_evidence == tenon.evidence(x, y).log_evidence


def test_bfloat16_becomes_single_precision():
    class Brief(Tensor):
        def detach(self):
            other = Brief(self.x, False)
            other.dtype = "torch.bfloat16"
            return other

        def float(self):
            return Tensor(self.x.astype(np.float32), False)

    x, y = small_problem()
    assert (scores(Brief(x), y) == scores(x.astype(np.float32), y)).all()


def test_nothing_is_copied():
    """The library reads the array where it lies: a fit needs no second one. Gram blocks and the like are smaller."""
    import tracemalloc

    x = np.random.default_rng(0).normal(size=(20000, 64))[:, ::-1]
    y = np.arange(20000) % 2
    tracemalloc.start()
    model = EvidenceClassifier(loo=0, memory=x.nbytes // 2).fit(x, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < x.nbytes / 4 and model.coef_.shape == (1, 64)


@pytest.mark.parametrize("spoil, error, words", [
    (lambda x, y: (np.where(np.arange(x.size).reshape(x.shape) == 19, np.nan, x), y), ValueError, "NaN"),
    (lambda x, y: (np.where(np.arange(x.size).reshape(x.shape) == 19, np.inf, x), y), ValueError, "inf"),
    (lambda x, y: (x[:50], y), ValueError, "inconsistent"),
    (lambda x, y: (x, y * 0), ValueError, "class"),
    (lambda x, y: (x[:, 0], y), ValueError, "2D"),
    (lambda x, y: (x[None], y), ValueError, "3"),
    (lambda x, y: (x[:0], y[:0]), ValueError, "0 sample"),
    (lambda x, y: (x[:, :0], y), ValueError, "0 feature"),
    (lambda x, y: (x.astype(complex), y), ValueError, "[Cc]omplex"),
    (lambda x, y: (np.full(x.shape, "word", dtype=object), y), ValueError, "word"),
    (lambda x, y: (x, None), ValueError, "y"),
    (lambda x, y: (x, x[:, 0]), ValueError, "[Uu]nknown label type"),
    (lambda x, y: (x, np.where(y == 0, np.nan, y)), ValueError, "NaN"),
    (lambda x, y: (x[:1], y[:1]), ValueError, "1 sample"),
])
@pytest.mark.parametrize("model", [EvidenceClassifier, LinearSVMClassifier])
def test_bad_data(model, spoil, error, words):
    with pytest.raises(error, match=words):
        model().fit(*spoil(*small_problem()))


def test_sparse_matrices_are_refused():
    sparse = pytest.importorskip("scipy.sparse")
    x, y = small_problem()
    for kind in (sparse.csr_matrix, sparse.dok_matrix, sparse.coo_matrix):
        with pytest.raises(TypeError, match="[Ss]parse"):
            EvidenceClassifier().fit(kind(x), y)
        with pytest.raises(TypeError, match="sparse"):
            tenon.rank({"x": kind(x)}, y)


def test_the_row_of_a_nan_is_named():
    x, y = small_problem()
    x[17, 3] = np.nan
    with pytest.raises(tenon.DataError, match="row 17"):
        EvidenceClassifier().fit(x, y)
    assert EvidenceClassifier(nan="drop").fit(x, y).fit_info_["rows_left_out"] == 1
    model = EvidenceClassifier(nan="zero").fit(x, y)
    assert np.isfinite(model.decision_function(x)).all()


def test_objects_that_are_numbers():
    x, y = small_problem()
    assert (scores(x.astype(object), y) == scores(x, y)).all()


def test_parameters_that_make_no_sense():
    x, y = small_problem()
    for model, word in ((LinearSVMClassifier(C=-1), "C"), (LinearSVMClassifier(loss="log"), "loss"),
                        (EvidenceClassifier(lam="little"), "lam"), (EvidenceClassifier(normalize="max"), "max"),
                        (EvidenceClassifier(n_jobs=0), "n_jobs"), (EvidenceClassifier(class_weight="odd"), "odd"),
                        (EvidenceClassifier(class_weight=3), "class_weight")):
        with pytest.raises(ValueError, match=word):
            model.fit(x, y)
