# SPDX-License-Identifier: BSD-3-Clause
"""Moments in Python: those of rows, whatever they are cut into, and the head of all rows."""
import pickle

import numpy as np
import pytest
import tenon
from conftest import small_problem


@pytest.fixture
def rows():
    x, y = small_problem(240, 8, 3)
    return {"a": x, "b": np.abs(x[:, ::-1][:, :5]) + 0.1}, y


def cut(x, begin, end):
    return {name: part[begin:end] for name, part in x.items()}


def test_ranking_and_head_of_parts_are_those_of_rows(rows):
    x, y = rows
    parts = [tenon.Moments().update(cut(x, i, i + 60), y[i:i + 60]) for i in range(0, 240, 60)]
    for order in ((0, 1, 2, 3), (3, 1, 0, 2)):
        total = tenon.Moments()
        for i in order:
            total += pickle.loads(pickle.dumps(parts[i]))
        ranking, whole = total.rank(), tenon.rank(x, y, loo=0)
        assert ranking.names == whole.names and total.representations == ["a", "b"]
        for name in whole.names:  # doubles in, doubles out
            assert ranking[name].log_evidence == pytest.approx(whole[name].log_evidence, rel=1e-9)
        head = total.fit(lam="shared")
        other = tenon.EvidenceClassifier(lam="shared", select="greedy").fit(x, y).head_
        assert np.allclose(head.coef_, other.coef_, rtol=0, atol=1e-6 * np.abs(other.coef_).max())
        assert (head.predict(x) == other.predict(x)).all()


def test_a_sample_of_rows_is_left_out_one_by_one(rows):
    x, y = rows
    y = np.where(np.arange(240) % 7 == 0, (y + 1) % 3, y)  # some are wrong, so that figures have an error
    whole = tenon.Moments().update(x, y)
    ranking, want = whole.rank(rows=(x, y)), tenon.rank(x, y, loo="all")
    for name in want.names:
        assert ranking[name].loo == pytest.approx(want[name].loo, rel=1e-9)
        assert ranking[name].loo_se == pytest.approx(want[name].loo_se, rel=1e-9)
    some = whole.rank(rows=(cut(x, 0, 50), y[:50]))[want.names[0]]
    assert 0 <= some.loo <= 1 and some.loo_se > ranking[want.names[0]].loo_se
    with pytest.raises(tenon.ArgumentError, match="the moments are of 'b' too"):
        whole.rank(rows=({"a": x["a"]}, y))
    with pytest.raises(tenon.ShapeError, match="7 columns, but the moments of 'a' are of 8"):
        whole.rank(rows=({"a": x["a"][:, :7], "b": x["b"]}, y))


def test_classes_unite_and_keep_their_values(rows):
    x, y = rows
    names = np.array(["cat", "dog", "ape"])[y]
    a = tenon.Moments().update(x["a"][names != "dog"], names[names != "dog"])
    b = tenon.Moments().update(x["a"][names == "dog"], names[names == "dog"])
    assert a.classes_.tolist() == ["ape", "cat"] and b.classes_.tolist() == ["dog"]
    assert (b + a).classes_.tolist() == ["ape", "cat", "dog"]
    assert (b + a).fit().classes_.tolist() == ["ape", "cat", "dog"]
    cost = (b + a).subtract(a)
    assert 0 <= cost < 2
    with pytest.raises(tenon.DataError, match="not in|cannot be taken"):
        b.subtract(a)


def test_discriminants_of_sums(rows):
    x, y = rows
    head = tenon.Moments(normalize="none").update(x["a"], y).fit("lda", lam=0.5)
    want = tenon.TenonClassifier("lda", normalize="none", options={"lambda": 0.5}).fit(x["a"], y).head_
    assert head.method == "lda" and (head.lambda_ == 0.5).all() and head.alpha_ is None
    assert np.allclose(head.coef_, want.coef_, rtol=0, atol=1e-5 * np.abs(want.coef_).max())
    with pytest.raises(tenon.ArgumentError, match="lda chooses lambda by the accuracy of rows"):
        tenon.Moments().update(x, y).fit("lda")


def test_folds_choose_lambda(rows):
    x, y = rows
    whole = tenon.Moments(folds=3).update(x, y)
    parts = tenon.Moments(folds=3).update(cut(x, 0, 100), y[:100]).update(cut(x, 100, 240), y[100:])
    a, b = whole.fit("ridge-cv"), parts.fit("ridge-cv")
    assert a.method == "ridge-cv" and (a.lambda_ == b.lambda_).all()
    assert np.allclose(a.coef_, b.coef_, rtol=0, atol=1e-6 * np.abs(a.coef_).max())
    with pytest.raises(tenon.ArgumentError, match="folds"):
        tenon.Moments().update(x, y).fit("ridge-cv")
    with pytest.raises(tenon.ArgumentError, match="svm needs rows"):
        whole.fit("svm")


def test_weights_labels_and_values(rows):
    x, y = rows
    weights = 0.5 + np.arange(240) % 3
    doubled = tenon.Moments().update(np.repeat(x["a"], 2, axis=0), np.repeat(y, 2))
    heavy = tenon.Moments().update(x["a"], y, np.full(240, 2.0))
    # a row of weight 2 pulls as two rows do
    assert np.allclose(doubled.fit(lam=1.0).coef_, heavy.fit(lam=1.0).coef_, atol=1e-6)
    marks = np.eye(3, dtype=int)[y]
    marks[::5, 0] = 1
    several = tenon.Moments().update(x["a"], marks, weights)
    assert several.task == "multilabel" and several.fit().task == "multilabel"
    values = x["a"] @ np.arange(8) + 1000
    head = tenon.Moments().update(x["a"], values).fit()
    assert head.task == "regression" and np.abs(head.scores(x["a"]).ravel() - values).max() < 60


def test_files_are_those_of_the_program(rows, tmp_path, program):
    x, y = rows
    for name, part in x.items():
        np.save(tmp_path / f"{name}.npy", part)
    np.savetxt(tmp_path / "y.txt", y, fmt="%d")
    tenon.Moments().update(x, y).save(tmp_path / "p.safetensors")
    files = [tmp_path / "a.npy", tmp_path / "b.npy", "--labels", tmp_path / "y.txt"]
    program("moments", *files, "-o", tmp_path / "c.safetensors", "--quiet")
    ours, theirs = tenon.load(tmp_path / "p.safetensors"), tenon.load(tmp_path / "c.safetensors")
    assert isinstance(theirs, tenon.Moments) and theirs.classes_.tolist() == [0, 1, 2]
    assert ours.rank().json["candidates"][0]["log_evidence"] == theirs.rank().json["candidates"][0]["log_evidence"]
    read = tenon.Moments().update({"a": tmp_path / "a.npy", "b": tmp_path / "b.npy"}, tmp_path / "y.txt")
    with pytest.raises(tenon.DataError, match="in already"):
        read.merge(theirs)
    program("moments", *files, "--rows", "0:100", "-o", tmp_path / "l.safetensors", "--quiet")
    assert tenon.Moments.load(tmp_path / "l.safetensors").rows == 100
