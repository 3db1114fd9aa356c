# SPDX-License-Identifier: BSD-3-Clause
"""tenon.dask on two worker processes: what is found in memory is found there. Skipped where dask is not installed."""
import os

import numpy as np
import pytest
import tenon
from conftest import small_problem

pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

import dask.array as da  # noqa: E402
import tenon.dask  # noqa: E402


@pytest.fixture(scope="module")
def client():
    """Two processes. Starting them leaves OMP_NUM_THREADS=1 in the environment of this one, where other tests go by it."""
    before = dict(os.environ)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        os.environ.clear()
        os.environ.update(before)
        with distributed.Client(cluster) as client:
            yield client


@pytest.fixture(scope="module")
def rows():
    x, y = small_problem(300, 8, 3)
    order = np.argsort(y, kind="stable")  # a class is in one chunk only, or in two
    x, y = x[order], y[order]
    return {"a": x, "b": np.abs(x[:, ::-1][:, :5]) + 0.1}, y


def arrays(x, chunks):
    return {name: da.from_array(part, chunks=(chunks, 3)) for name, part in x.items()}


@pytest.mark.parametrize("chunks", [300, 70, (100, 150, 49, 1)])
def test_ranking_is_that_of_memory(client, rows, chunks):
    x, y = rows
    ranking = tenon.dask.rank(arrays(x, chunks), da.from_array(y, chunks=64))
    whole = tenon.rank(x, y, loo=0)
    assert ranking.names == whole.names
    for name in whole.names:  # double sums in another order
        assert ranking[name].log_evidence == pytest.approx(whole[name].log_evidence, rel=1e-9)


def test_head_is_that_of_memory(client, rows):
    x, y = rows
    head = tenon.dask.fit(arrays(x, 50), y, lam="shared")
    other = tenon.EvidenceClassifier(lam="shared").fit(x, y).head_
    assert head.classes_.tolist() == [0, 1, 2]
    assert np.allclose(head.coef_, other.coef_, rtol=0, atol=1e-6 * np.abs(other.coef_).max())
    assert (head.predict(x) == other.predict(x)).all()


def test_folds_are_those_of_memory(client, rows):
    x, y = rows
    weights = 0.5 + np.arange(300) % 3
    head = tenon.dask.fit(arrays(x, 70), y, "ridge-cv", sample_weight=weights, folds=4)
    other = tenon.Moments(folds=4).update(x, y, weights).fit("ridge-cv")
    assert (head.lambda_ == other.lambda_).all()
    assert np.allclose(head.coef_, other.coef_, rtol=0, atol=1e-6 * np.abs(other.coef_).max())


def test_chunks_of_unknown_size(client, rows):
    x, y = rows
    keep = np.arange(300) % 3 > 0
    lazy, mask = da.from_array(x["a"], chunks=(90, 8)), da.from_array(keep, chunks=90)
    found = tenon.dask.moments(lazy[mask], da.from_array(y, chunks=90)[mask])
    assert found.rows == keep.sum()
    assert float(found.evidence()) == pytest.approx(float(tenon.Moments().update(x["a"][keep], y[keep]).evidence()), rel=1e-9)


def test_the_task_is_that_of_all_rows(client, rows):
    x, y = rows
    values = y.astype(float)
    values[-1] = 0.5  # of one row in the last chunk
    assert tenon.dask.moments(arrays({"a": x["a"]}, 100), values).task == "regression"
    assert tenon.dask.moments(arrays({"a": x["a"]}, 100), np.eye(3)[y]).task == "multilabel"


def test_what_does_not_agree(client, rows):
    x, y = rows
    with pytest.raises(tenon.ShapeError, match="rows"):
        tenon.dask.rank(arrays(x, 100), y[:-1])
    with pytest.raises(tenon.DataError, match="NaN|infinity"):
        bad = x["a"].copy()
        bad[200, 3] = np.nan
        tenon.dask.rank(arrays({"a": bad}, 100), y)
    with pytest.raises(tenon.ArgumentError, match="no representation"):
        tenon.dask.rank({}, y)
