# SPDX-License-Identifier: BSD-3-Clause
"""partial_fit: any cutting of the rows gives the state of one pass, to the last bit. scikit-learn's checks do not see
that."""
import pickle

import numpy as np
import pytest
from conftest import small_problem
from sklearn.base import clone

import tenon
from tenon import OnlineClassifier

RULES = ["perceptron", "sgd", "pa", "pa2", "cw", "arow", "nherd", "scw", "scw2"]


def in_chunks(model, x, y, cuts, weights=None, classes=None, between=lambda m: m):
    for part in np.split(np.arange(len(x)), cuts):
        w = None if weights is None else weights[part]
        model = between(model.partial_fit(x[part], y[part], classes=classes, sample_weight=w))
    return model


def same(a, b):
    return (a.coef_ == b.coef_).all() and (a.intercept_ == b.intercept_).all()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("average", [True, False])
def test_any_chunking_is_one_pass(rule, average):
    x, y = small_problem(120, 6, 4)
    once = OnlineClassifier(rule, epochs=1, shuffle=False, average=average).fit(x, y)
    for cuts in ([], [1], [40, 41, 90], list(range(1, 120))):
        model = in_chunks(OnlineClassifier(rule, average=average), x, y, cuts, classes=range(4))
        assert same(model, once) and model.t_ == 120, cuts


@pytest.mark.parametrize("multiclass", ["mul", "u-ovr"])
def test_the_schemes_and_several_labels(multiclass):
    x, y = small_problem(90, 6, 3)
    marks = np.stack([y == 0, y != 1, x[:, 0] > 0], axis=1).astype(int)
    once = OnlineClassifier(multiclass=multiclass, epochs=1, shuffle=False).fit(x, y)
    assert same(in_chunks(OnlineClassifier(multiclass=multiclass), x, y, [7, 50], classes=[0, 1, 2]), once)
    once = OnlineClassifier(multiclass="u-ovr", epochs=1, shuffle=False).fit(x, marks)
    model = in_chunks(OnlineClassifier(multiclass="u-ovr"), x, marks, [7, 50])
    assert same(model, once) and (model.predict(x) == once.predict(x)).all() and model.predict(x).dtype == marks.dtype


@pytest.mark.parametrize("multiclass", ["e-ovr", "w-ovr"])
def test_schemes_that_must_know_what_comes(multiclass):
    x, y = small_problem(90, 6, 3)
    once = OnlineClassifier(multiclass=multiclass, epochs=1, shuffle=False, ratio=2).fit(x, y)
    model = OnlineClassifier(multiclass=multiclass, ratio=2).expect(y)
    assert same(in_chunks(model, x, y, [7, 50], classes=[0, 1, 2]), once)
    with pytest.raises(tenon.TenonError):
        OnlineClassifier(multiclass=multiclass).partial_fit(x, y, classes=[0, 1, 2])


def test_weights_and_weights_of_classes():
    x, y = small_problem(90, 6, 3)
    weights = np.arange(90) % 4 + 0.25
    once = OnlineClassifier(epochs=1, shuffle=False, class_weight={0: 2}).fit(x, y, sample_weight=weights)
    model = in_chunks(OnlineClassifier(class_weight={0: 2}), x, y, [33], weights, [0, 1, 2])
    assert same(model, once)
    by_hand = weights * np.where(y == 0, 2, 1)
    assert same(in_chunks(OnlineClassifier(), x, y, [60], by_hand, [0, 1, 2]), once)


@pytest.mark.parametrize("rule", ["pa", "arow"])
def test_pickled_between_chunks(rule):
    x, y = small_problem(90, 6, 3)
    want = in_chunks(OnlineClassifier(rule), x, y, [30, 60], classes=[0, 1, 2])
    got = in_chunks(OnlineClassifier(rule), x, y, [30, 60], classes=[0, 1, 2],
                    between=lambda m: pickle.loads(pickle.dumps(m)))
    assert same(got, want) and (got.decision_function(x) == want.decision_function(x)).all()


def test_saved_between_chunks(tmp_path):
    x, y = small_problem(90, 6, 3)
    path = tmp_path / "learner.safetensors"

    def through_file(model):
        model.save(path)
        return tenon.load(path)

    want = in_chunks(OnlineClassifier("arow"), x, y, [30, 60], classes=[0, 1, 2])
    got = in_chunks(OnlineClassifier("arow"), x, y, [30, 60], classes=[0, 1, 2], between=through_file)
    assert same(got, want) and got.rule == "arow" and got.t_ == 90
    assert (tenon.Head.load(path).predict(x) == want.predict(x)).all()


def test_classes_must_be_told_and_stay():
    x, y = small_problem(90, 6, 3)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        OnlineClassifier().partial_fit(x, y)
    model = OnlineClassifier().partial_fit(x[:1], y[:1], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(x, y, classes=[0, 1])
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(x, y + 7)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(x[:, :3], y)
    assert model.predict(x).shape == (90,) and model.t_ == 1


def test_a_failed_chunk_leaves_the_learner():
    x, y = small_problem(90, 6, 3)
    model = OnlineClassifier().partial_fit(x[:50], y[:50], classes=[0, 1, 2])
    before = model.coef_.copy()
    with pytest.raises(ValueError):
        model.partial_fit(x[50:], y[50:] + 9)
    assert (model.coef_ == before).all()
    assert same(model.partial_fit(x[50:], y[50:]), in_chunks(OnlineClassifier(), x, y, [50], classes=[0, 1, 2]))


def test_partial_fit_goes_on_from_fit():
    x, y = small_problem(90, 6, 3)
    model = OnlineClassifier(epochs=2).fit(x[:60], y[:60])
    before = model.coef_.copy()
    model.partial_fit(x[60:], y[60:])
    assert model.t_ == 30 and not (model.coef_ == before).all()
    assert same(clone(model).fit(x, y), OnlineClassifier(epochs=2).fit(x, y))
    assert model.fit(x, y).t_ == 0  # fit forgets


def test_string_classes_and_rows_of_one_class():
    x, y = small_problem(90, 6, 3)
    names = np.array(["wolf", "bear", "ant"])
    model = in_chunks(OnlineClassifier(), x, names[y], [1, 2, 3], classes=names)
    assert model.classes_.tolist() == ["ant", "bear", "wolf"] and (model.predict(x) == names[y]).mean() > 0.9
