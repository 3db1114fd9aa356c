# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's own checks on every estimator, and what they do not ask."""
import dataclasses
import inspect
import pickle

import numpy as np
import pytest
from conftest import small_problem
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import validation
from sklearn.utils.estimator_checks import parametrize_with_checks

import tenon
from tenon import (AdditiveKernelMap, BagEncoder, EvidenceClassifier, EvidenceRegressor, FisherVector,
                   GreedyTransferClassifier, LinearSVMClassifier, LogisticClassifier, OnlineClassifier,
                   ProductQuantizer, RepresentationSelector, TenonClassifier, _compat)
from tenon._errors import option_name
from tenon._options import option_fields

CLASSIFIERS = [TenonClassifier(), EvidenceClassifier(), LinearSVMClassifier(), LogisticClassifier(), OnlineClassifier(),
               GreedyTransferClassifier(n_jobs=1)]
TRANSFORMERS = [AdditiveKernelMap(), ProductQuantizer(), RepresentationSelector()]
ENCODERS = [BagEncoder(), FisherVector()]  # of bags, which most checks have none of
ALL = [*CLASSIFIERS, EvidenceRegressor(), *TRANSFORMERS, *ENCODERS]
# Named in docs/python.md, too.
EXPECTED = {"TenonClassifier": {"check_sample_weights_invariance"},
            "LinearSVMClassifier": {"check_sample_weights_invariance"},
            "LogisticClassifier": {"check_sample_weights_invariance"},
            "OnlineClassifier": {"check_sample_weights_invariance"}}


def expected(model):
    """For scikit-learn from 1.6 on, which has no tag for them."""
    told = model._tags_of().get("_xfail_checks", {})
    return {**told, **{"check_sample_weight_equivalence_on_dense_data": why for why in told.values()}}


NEW = {"expected_failed_checks": expected} if "expected_failed_checks" in inspect.signature(
    parametrize_with_checks).parameters else {}


@parametrize_with_checks(ALL, **NEW)
@pytest.mark.filterwarnings("ignore")
def test_check_estimator(estimator, check):
    check(estimator)


def test_expected_failures_are_those_of_the_page():
    for model in ALL:
        told = model._tags_of().get("_xfail_checks", {})
        assert set(told) == EXPECTED.get(type(model).__name__, set()) and all(told.values())


# ---- scikit-learn from 1.6 on, by a stub of what it adds ----


@dataclasses.dataclass
class Part:
    multi_label: bool = False
    multi_output: bool = False
    required: bool = False
    poor_score: bool = False
    preserves_dtype: list = dataclasses.field(default_factory=lambda: ["float64"])
    two_d_array: bool = True
    three_d_array: bool = False


@dataclasses.dataclass
class Tags:
    classifier_tags: Part = None
    regressor_tags: Part = None
    transformer_tags: Part = None
    target_tags: Part = dataclasses.field(default_factory=Part)
    input_tags: Part = dataclasses.field(default_factory=Part)
    non_deterministic: bool = False


class NewBase:
    def __sklearn_tags__(self):
        return Tags()


def new_mixin(part):
    """A mixin makes its part of what its bases made, as those of scikit-learn do."""
    class Mixin:
        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            setattr(tags, part, Part())
            return tags

    return Mixin


def test_tags_of_the_new_interface():
    class Classifier(EvidenceClassifier, new_mixin("classifier_tags"), NewBase):
        pass

    class Regressor(EvidenceRegressor, new_mixin("regressor_tags"), NewBase):
        pass

    class Selector(RepresentationSelector, new_mixin("transformer_tags"), NewBase):
        pass

    class Encoder(FisherVector, new_mixin("transformer_tags"), NewBase):
        pass

    assert Encoder().__sklearn_tags__().input_tags.three_d_array
    assert not Encoder().__sklearn_tags__().input_tags.two_d_array
    assert Classifier().__sklearn_tags__().classifier_tags.multi_label
    assert Regressor().__sklearn_tags__().target_tags.multi_output
    assert Selector().__sklearn_tags__().target_tags.required
    assert Selector().__sklearn_tags__().transformer_tags.preserves_dtype == []


def test_validate_data_of_the_new_interface(monkeypatch, problem):
    calls = []

    def validate_data(estimator, *, X, y="no", **keywords):
        calls.append(keywords)
        finite = keywords.pop("ensure_all_finite", None)
        assert finite is False and "force_all_finite" not in keywords
        return estimator._validate_data(X=X, y=y, force_all_finite=False, **keywords) if not isinstance(y, str) \
            else estimator._validate_data(X=X, force_all_finite=False, **keywords)

    monkeypatch.setattr(validation, "validate_data", validate_data, raising=False)
    monkeypatch.setattr(_compat, "_FINITE", "ensure_all_finite")
    x, y = problem
    assert EvidenceClassifier().fit(x, y).score(x, y) > 0.9 and len(calls) == 2
    assert _compat.finite_keyword(lambda X, *, ensure_all_finite=True: X) == "ensure_all_finite"
    assert _compat.finite_keyword(lambda X, *, force_all_finite=True: X) == "force_all_finite"


def test_auto_is_the_librarys_word_when_it_has_one(problem, monkeypatch):
    from tenon import classifiers

    x, y = problem
    default = option_fields("fit")["method"].default
    assert TenonClassifier().fit(x, y).fit_info_["method"] is not None
    monkeypatch.setattr(classifiers, "method_words", lambda: ["evidence"])
    assert "method" not in TenonClassifier()._option_values()
    monkeypatch.setattr(classifiers, "method_words", lambda: ["auto", "evidence"])
    assert TenonClassifier()._option_values()["method"] == "auto" and default


# ---- one table of options ----


@pytest.mark.parametrize("model, call", [(m, c) for m, c in zip(ALL, [
    "fit", "fit", "fit", "fit", "fit", "transfer", "fit", "kernel", "pq", "fit", "encoder", "encoder"])],
    ids=[type(m).__name__ for m in ALL])
def test_parameters_and_defaults_are_those_of_the_library(model, call):
    fields = option_fields(call)
    own = {"n_jobs", "memory", "verbose", "name", "options", "sources", "representations", "random_state", "task",
           "class_weight", "average", "rule", "kernel"}
    if isinstance(model, AdditiveKernelMap):
        own |= {"normalize"}
    for parameter, value in model.get_params(deep=False).items():
        if parameter in own or (parameter, value) == ("method", "auto"):
            continue
        default = fields[option_name(parameter)].default
        if isinstance(value, bool):
            assert default == ("yes" if value else "no"), parameter
        elif isinstance(value, (int, float)):
            assert float(default) == value, parameter
        elif value is None or isinstance(value, tuple):
            assert default == ",".join(map(str, value or ())), parameter
        else:
            assert default == value, parameter


def test_every_parameter_is_documented():
    for model in ALL:
        text = inspect.getdoc(type(model))
        for parameter in model.get_params(deep=False):
            assert parameter in text.split("Attributes")[0], (type(model).__name__, parameter)
        for name, method in inspect.getmembers(type(model), inspect.isfunction):
            if method.__module__.startswith("tenon") and not name.startswith("_"):
                assert inspect.getdoc(method), (type(model).__name__, name)


# ---- what the checks do not ask ----


@pytest.mark.parametrize("model", [*CLASSIFIERS, EvidenceRegressor()], ids=lambda m: type(m).__name__)
def test_pickle_and_clone(model, problem):
    x, y = problem
    fitted = clone(model).fit(x, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict(x) == fitted.predict(x)).all() and again.get_params() == fitted.get_params()
    assert (again.coef_ == fitted.coef_).all() and (again.intercept_ == fitted.intercept_).all()
    assert not hasattr(clone(fitted), "head_")
    assert (clone(fitted).fit(x, y).coef_ == fitted.coef_).all()


@pytest.mark.parametrize("model", [
    AdditiveKernelMap("js"), AdditiveKernelMap("learned", rank=2), ProductQuantizer(sub=3, centroids=8),
    RepresentationSelector([("a", slice(0, 5)), ("b", [5, 6, 7])], normalize="zscore", select="all"),
    RepresentationSelector(feature_map="chi2")], ids=lambda m: type(m).__name__)
def test_transformers_pickle(model, problem):
    x, y = problem
    fitted = model.fit(np.abs(x), y)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.transform(np.abs(x)) == fitted.transform(np.abs(x))).all()
    assert len(fitted.get_feature_names_out()) == fitted.transform(np.abs(x)).shape[1]


@pytest.mark.parametrize("labels", [
    np.array(["wolf", "bear", "ant"]), np.array([-1, 5, 7]), np.array([10.0, 2.0, 3.0]), np.array(["10", "9", "x y"]),
    np.array(["é", "ß", "\U0001f43a"]), np.array(["a", "b", "c"], dtype=object)], ids=str)
def test_labels_of_every_kind_come_back(labels, problem):
    x, y = problem
    model = EvidenceClassifier().fit(x, labels[y])
    assert model.classes_.tolist() == sorted(labels.tolist())
    assert (model.predict(x) == labels[y]).mean() > 0.9 and model.predict(x).dtype.kind == labels.dtype.kind


def test_two_classes_have_one_column(problem):
    x, y = problem
    for model in (EvidenceClassifier(), LinearSVMClassifier(), LogisticClassifier(), OnlineClassifier()):
        model.fit(x[y < 2], y[y < 2] == 1)
        assert model.decision_function(x).shape == (90,) and model.coef_.shape == (1, 8)
        assert ((model.decision_function(x) > 0) == model.predict(x)).all()
        assert model.classes_.tolist() == [False, True] and model.predict(x).dtype == bool
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        by_hand = unit @ model.coef_[0] + model.intercept_
        # d products in single precision of numbers below |w|
        assert np.abs(by_hand - model.decision_function(x)).max() < 1e-5 * (1 + np.abs(model.coef_).max())


def test_several_labels_per_row(problem):
    x, y = problem
    marks = np.stack([y == 0, y != 1, x[:, 0] > 0], axis=1).astype(int)
    for model in (TenonClassifier(), EvidenceClassifier(), LinearSVMClassifier(), LogisticClassifier(),
                  OnlineClassifier(multiclass="u-ovr"), GreedyTransferClassifier()):
        predicted = model.fit(x, marks).predict(x)
        assert predicted.shape == marks.shape and (predicted == marks).mean() > 0.8
        assert ((model.decision_function(x) > 0) == predicted).all()
    assert ((0 <= LogisticClassifier().fit(x, marks).predict_proba(x)).all())


def test_weights_of_classes(problem):
    x, y = problem
    by_dict = LogisticClassifier(class_weight={0: 3.0}).fit(x, y)
    by_rows = LogisticClassifier().fit(x, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    assert (by_dict.coef_ == by_rows.coef_).all()
    assert not (by_dict.coef_ == LogisticClassifier(class_weight="balanced").fit(x, y).coef_).all()
    with pytest.raises(ValueError, match="class_weight"):
        LogisticClassifier(class_weight={0: 3.0}).fit(x, np.eye(3, dtype=int)[y])


def test_in_pipelines_and_searches(problem):
    x, y = problem
    model = make_pipeline(StandardScaler(), AdditiveKernelMap("hellinger"), LinearSVMClassifier())
    assert model.fit(x, y).score(x, y) > 0.9
    search = GridSearchCV(LogisticClassifier(n_jobs=1), {"C": [0.1, 10], "normalize": ["l2", "none"]}, cv=3)
    assert search.fit(x, y).best_score_ > 0.9
    assert cross_val_score(EvidenceClassifier(), x, y, cv=3).mean() > 0.9


def test_a_path_along_c(problem):
    """C="cv" is the program's -cv methods; its best is what scikit-learn's own search over the same values cannot beat
    by more than the noise of its folds."""
    x, y = problem
    for model in (LogisticClassifier, LinearSVMClassifier):
        fitted = model("cv", grid=[0.01, 1, 100], folds=3).fit(x, y)
        best = max(fitted.path_, key=lambda p: p.mean)
        tried = [p.C for p in fitted.path_]
        # no larger value is tried where nothing was wrong
        assert tried == [0.01, 1, 100] or (tried == [0.01, 1, 100][:len(tried)] and best.mean == 1)
        assert fitted.C_ in tried and fitted.fit_info_["cross_validation"]["skipped"] == 3 - len(tried)
        chosen = next(p for p in fitted.path_ if p.C == fitted.C_)
        assert chosen.mean == best.mean
        plain = model(fitted.C_).fit(x, y)
        # both are within gap f of the least f, which has |w|^2/2 in it: |w - w*|^2 <= 2 gap f
        assert np.abs(plain.coef_ - fitted.coef_).max() < 2 * (2 * 1e-4 * plain.fit_info_["objective"]) ** 0.5
        search = GridSearchCV(model(), {"C": [0.01, 1, 100]}, cv=3).fit(x, y)
        assert search.best_score_ < best.mean + 2 * best.se + 0.02
        assert model("cv", holdout=0.3).fit(x, y).fit_info_["cross_validation"]["folds"] == 1
        assert cross_val_score(model("cv", folds=3), x, y, cv=3).mean() > 0.9
        with pytest.raises(AttributeError, match="cv"):
            model(2).fit(x, y).path_
        assert model(2).fit(x, y).C_ == 2
        with pytest.raises(ValueError, match="C"):
            model("best").fit(x, y)
        with pytest.raises(ValueError, match="grid"):
            model(1, grid=[1, 2]).fit(x, y)


def test_the_race_of_auto(problem):
    pytest.importorskip("pandas")
    x, y = problem
    model = TenonClassifier().fit(x, y)
    race = model.race_
    assert race.metric == "accuracy" and len(race) == len(model.fit_info_["tried"]) > 3
    assert race.chosen.chosen and {"evidence", "logistic", "svm"} <= {c.method for c in race}
    assert race[0].method in repr(race) and repr(race).count("\n") >= len(race)
    assert race._repr_html_().count("<tr>") == len(race) + 1 and list(race.to_pandas()["method"])[0] == race[0].method
    assert pickle.loads(pickle.dumps(model)).race_[0] == race[0]
    held = TenonClassifier(holdout=0.2).fit(x, y).fit_info_["validation"]
    assert held["rows"] == 18 and held["value"] > 0.9
    with pytest.raises(AttributeError, match="auto"):
        TenonClassifier("svm").fit(x, y).race_
    assert cross_val_score(TenonClassifier(budget=5), x, y, cv=3).mean() > 0.9
    with pytest.raises(ValueError, match="budget"):
        TenonClassifier("svm", budget=5).fit(x, y)


def test_names_of_columns(problem):
    pandas = pytest.importorskip("pandas")
    x, y = problem
    frame = pandas.DataFrame(x, columns=[f"c{i}" for i in range(8)])
    model = EvidenceClassifier().fit(frame, pandas.Series(y))
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert (model.predict(frame) == EvidenceClassifier().fit(x, y).predict(x)).all()
    assert AdditiveKernelMap("hellinger").fit(frame).get_feature_names_out()[0] == "c0_0"


def test_probabilities_exist_where_they_are_promised(problem):
    x, y = problem
    assert not hasattr(LinearSVMClassifier(), "predict_proba") and not hasattr(OnlineClassifier().fit(x, y),
                                                                               "predict_proba")
    model = LinearSVMClassifier(calibrate="yes").fit(x, y)
    assert model.predict_proba(x).shape == (90, 3) and np.allclose(np.exp(model.predict_log_proba(x)),
                                                                   model.predict_proba(x))
    with pytest.raises(AttributeError, match="calibrated"):
        LinearSVMClassifier().fit(x, y).predict_proba(x)
    with pytest.raises(tenon.UnsupportedError):
        LinearSVMClassifier().fit(x, y).head_.predict_proba(x)


def test_logistic_regression_is_scikit_learns(problem):
    """The same optimum: |w|^2/2 + C sum of losses, the intercept not penalised. Both stop within 1e-4 of it."""
    x, y = problem
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    ours = LogisticClassifier(C=5, gap=1e-7).fit(x, y)
    theirs = LogisticRegression(C=5, tol=1e-9, max_iter=10000).fit(unit, y)
    assert np.abs(ours.predict_proba(x) - theirs.predict_proba(unit)).max() < 1e-3


def test_the_selector_takes_dicts_lists_and_arrays(problem):
    x, y = problem
    noise = np.random.default_rng(1).normal(size=(90, 4))
    parts = {"good": x, "noise": noise}
    selector = RepresentationSelector().fit(parts, y)
    assert selector.selected_ == ["good"] and selector.ranking_.best == "good"
    assert (selector.transform(parts) == RepresentationSelector().fit(x, y).transform(x)).all()
    listed = RepresentationSelector([("good", slice(0, 8)), ("noise", slice(8, 12))]).fit(np.hstack([x, noise]), y)
    assert (listed.transform(np.hstack([x, noise])) == selector.transform(parts)).all()
    with pytest.raises(tenon.ArgumentError, match="good"):
        selector.transform({"noise": noise})


def test_what_the_selector_gives_is_what_the_head_sees(problem):
    """A ridge without further preparation on its output has the scores of the head on all of it."""
    x, y = problem
    parts = {"a": x, "b": np.abs(x[:, :3])}
    for words in ({"normalize": "zscore"}, {"feature_map": "chi2"}, {"normalize": "root"}):
        selector = RepresentationSelector(select="all", **words).fit(parts, y)
        head = EvidenceClassifier(select="all", **words).fit(parts, y).head_
        by_hand = selector.transform(parts) @ head.coef_.T + head.intercept_
        # single precision against the library's: d products
        assert np.abs(by_hand - head.scores(parts)).max() < 1e-4


def test_sources_of_every_kind(problem):
    x, y = problem
    few = np.arange(0, 90, 7)
    old = LogisticClassifier().fit(x[y != 2], y[y != 2])
    theirs = LogisticRegression().fit(x, y == 1)
    guess = x[:, :2]
    for sources in ([old], {"a": old.head_, "b": theirs}, [theirs], [guess[few]], theirs):
        model = GreedyTransferClassifier(sources, n_jobs=1).fit(x[few], y[few])
        scores = {"source0": guess} if isinstance(sources, list) and sources[0] is not old and \
            sources[0] is not theirs else None
        assert (model.predict(x, sources=scores) == y).mean() > 0.7
        assert model.fit_info_["method"]


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_of_rows_in_transfer(problem, classes):
    """A row of weight 2 is a row that is there twice, where nothing is chosen by leaving rows out; the greedy path goes
    by weighted moments alone."""
    x, y = problem
    keep = y < classes
    x, y = x[keep], y[keep]
    times = np.arange(len(y)) % 3 + 1
    again = np.repeat(np.arange(len(y)), times)
    scores = x[:, :2] + np.random.default_rng(0).normal(size=(len(y), 2))
    words = {"method": "greedytl", "lam": 0.5, "k": 4, "n_jobs": 1}
    by_weight = GreedyTransferClassifier([scores], **words).fit(x, y, sample_weight=times)
    by_copies = GreedyTransferClassifier([scores[again]], **words).fit(x[again], y[again])
    # the same moments but for the order of n = 180 additions in double, rounded to single precision
    assert np.abs(by_weight.coef_ - by_copies.coef_).max() < 1e-5 * np.abs(by_copies.coef_).max()
    assert np.abs(by_weight.coef_ - GreedyTransferClassifier([scores], **words).fit(x, y).coef_).max() > 1e-3
    by_class = GreedyTransferClassifier([scores], class_weight={1: 3}, **words).fit(x, y)
    by_rows = GreedyTransferClassifier([scores], **words).fit(x, y, sample_weight=np.where(y == 1, 3, 1))
    assert (by_class.coef_ == by_rows.coef_).all()
    alike = GreedyTransferClassifier([scores], **words).fit(x, y, sample_weight=np.full(len(y), 7.0))
    assert (alike.coef_ == GreedyTransferClassifier([scores], **words).fit(x, y).coef_).all()
    for method in ("auto", "rls", "dam", "multikt-l1", "multikt-l2", "l1-logistic", "elastic-net", "forward"):
        small = GreedyTransferClassifier([scores[::5]], method=method).fit(x[::5], y[::5], sample_weight=times[::5])
        assert (small.predict(x[::5], sources=[scores[::5]]) == y[::5]).mean() > 0.8


def test_heads_as_torch_layers(problem, monkeypatch):
    """With what is used of torch: nn.Linear, from_numpy, no_grad."""
    import contextlib
    import sys
    import types

    class Parameter:
        def copy_(self, other):
            self.value = other

    class Linear:
        def __init__(self, inputs, outputs):
            self.shape, self.weight, self.bias = (outputs, inputs), Parameter(), Parameter()

    x, y = problem
    model = EvidenceClassifier().fit(x, y)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="torch"):
        model.to_torch()
    torch = types.SimpleNamespace(nn=types.SimpleNamespace(Linear=Linear), no_grad=contextlib.nullcontext,
                                  from_numpy=lambda a: a)
    monkeypatch.setitem(sys.modules, "torch", torch)
    layer = model.to_torch()
    assert layer.shape == (3, 8) and (layer.weight.value == model.coef_).all()
    assert (layer.bias.value == model.intercept_).all()
    with pytest.raises(tenon.UnsupportedError, match="maps"):
        EvidenceClassifier(feature_map="chi2").fit(np.abs(x), y).to_torch()


def test_intercepts_of_columns_far_from_zero():
    """Such heads take a centre off first; coef_ and intercept_ are for columns as they are."""
    x, y = small_problem()
    model = EvidenceClassifier(normalize="none").fit(x + 3000, y)
    assert model.head_.centre_ is not None
    by_hand = (x + 3000) @ model.coef_.astype(float).T + model.intercept_
    # 8 columns of 3000 with weights below 1, and an intercept of that size in single precision
    assert np.abs(by_hand - model.decision_function(x + 3000)).max() < 8 * 3000 * 2**-22


def test_summaries_of_heads(problem):
    x, y = problem
    head = EvidenceClassifier().fit(x, y).head_
    assert "evidence" in repr(head) and "temperature" in head._repr_html_() and "lambda" in head._repr_html_()
    head = LinearSVMClassifier(C=2).fit(x, y).head_
    assert head.cost_ == 2 and "probabilities" in head._repr_html_() and head.options["C"] in (2, "2")


# ---- discriminants ----

@pytest.mark.parametrize("shrinkage", [0.003, 0.3, 0.9])
def test_discriminants_are_those_of_scikit_learn(shrinkage):
    """Its covariance is (1 - s) S/N + s t I, t the mean of the diagonal of S/N: ours at lambda = N t s/(1 - s), but for
    the factor N/((1 - s)(N - K)) of all that is not a prior. What all classes have in common is left out."""
    x, y = small_problem(240, 12, 4)
    keep = (y > 0) | (np.arange(240) % 3 == 0)
    x, y = x[keep], y[keep]
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(x, y)
    trace = sum(((x[y == k] - x[y == k].mean(0)) ** 2).sum() for k in range(4))
    ours = TenonClassifier("lda", normalize="none",
                           options={"lambda": shrinkage / (1 - shrinkage) * trace / 12}).fit(x, y)
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    prior = np.log(theirs.priors_)
    want = prior + (1 - shrinkage) * (len(y) - 4) / len(y) * (theirs.decision_function(x) - prior)
    got = ours.head_.scores(x).astype(float)
    want -= want.mean(1, keepdims=True)
    got -= got.mean(1, keepdims=True)
    assert np.allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())
    assert (ours.predict(x) == theirs.classes_[want.argmax(1)]).all()
    assert np.allclose(ours.predict_proba(x).sum(1), 1)


def test_discriminants_by_folds_and_their_refusals():
    x, y = small_problem(240, 12, 4)
    model = TenonClassifier("lda", folds=3).fit(x, y)
    assert model.head_.method == "lda" and model.head_.alpha_ is None
    assert (model.head_.lambda_ == model.head_.lambda_[0]).all()
    assert model.fit_info_["lambda_rule"] == "cv" and len(model.fit_info_["cross_validation"]["grid"]) == 6
    with pytest.raises(tenon.ArgumentError, match="lda needs one class per row, but the task is multilabel"):
        TenonClassifier("lda").fit(x, np.eye(4, dtype=int)[y])
    with pytest.raises(tenon.ArgumentError, match="no online method"):
        OnlineClassifier("lda").fit(x, y)
