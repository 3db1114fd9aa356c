# SPDX-License-Identifier: BSD-3-Clause
"""The program and the package give the same numbers to the last bit, and the same files."""
import json

import numpy as np
import pytest
from conftest import DEMO

import tenon
from tenon import (AdditiveKernelMap, EvidenceClassifier, EvidenceRegressor, GreedyTransferClassifier,
                   LinearSVMClassifier, LogisticClassifier, OnlineClassifier, ProductQuantizer, TenonClassifier)

TRAIN = {name: DEMO / f"{name}.train.npy" for name in ("darknet", "squeezenet")}
TEST = {name: DEMO / f"{name}.test.npy" for name in TRAIN}
LABELS = DEMO / "labels.train.txt"
X = np.load(TRAIN["darknet"])
T = np.load(TEST["darknet"])
Y = np.loadtxt(LABELS, dtype=str)


def parts(path):
    """Header and bytes of a .safetensors file, without what made it."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header["__metadata__"].pop("created_by")
    return header, data[8 + size:]


MODELS = [
    (TenonClassifier("evidence", name="darknet"), ["--method", "evidence"]),
    (EvidenceClassifier(name="darknet"), ["--method", "evidence"]),
    (EvidenceClassifier("per-class", normalize="root", name="darknet"),
     ["--method", "evidence", "--lambda", "per-class", "--normalize", "root"]),
    (EvidenceClassifier(feature_map="hellinger", name="darknet"), ["--method", "evidence", "--transform", "hellinger"]),
    (TenonClassifier("ridge-cv", options={"folds": 3, "grid": [0.1, 1, 10]}, name="darknet"),
     ["--method", "ridge-cv", "--folds", "3", "--grid", "0.1,1,10"]),
    (TenonClassifier("lda", folds=3, name="darknet"), ["--method", "lda", "--folds", "3"]),
    (TenonClassifier("lda", options={"lambda": 0.5}, class_weight="balanced", name="darknet"),
     ["--method", "lda", "--lambda", "0.5", "--class-weight", "balanced"]),
    (TenonClassifier(name="darknet"), ["--method", "auto"]),
    (TenonClassifier(holdout=0.2, random_state=2, name="darknet"),
     ["--method", "auto", "--holdout", "0.2", "--seed", "2"]),
    (LinearSVMClassifier(C="cv", grid=[0.1, 1, 10], folds=3, name="darknet"),
     ["--method", "svm-cv", "--grid", "0.1,1,10", "--folds", "3"]),
    (LogisticClassifier(C="cv", holdout=0.25, name="darknet"), ["--method", "logistic-cv", "--holdout", "0.25"]),
    (LogisticClassifier(C="cv", grid="1e-2:1e2:3", folds=3, name="darknet"),
     ["--method", "logistic-cv", "--grid", "1e-2:1e2:3", "--folds", "3"]),
    (LinearSVMClassifier(C=3, name="darknet"), ["--method", "svm", "--C", "3"]),
    (LinearSVMClassifier(loss="hinge", class_weight="balanced", random_state=5, name="darknet"),
     ["--method", "svm", "--loss", "hinge", "--class-weight", "balanced", "--seed", "5"]),
    (LogisticClassifier(C=2, calibrate="yes", folds=3, name="darknet"),
     ["--method", "logistic", "--C", "2", "--calibrate", "yes", "--folds", "3"]),
    (OnlineClassifier("arow", epochs=3, random_state=1, name="darknet"),
     ["--method", "arow", "--epochs", "3", "--seed", "1"]),
    (OnlineClassifier("pa", average=False, multiclass="u-ovr", epochs=2, name="darknet"),
     ["--method", "pa", "--no-average", "--multiclass", "u-ovr", "--epochs", "2"]),
]


@pytest.mark.parametrize("model, words", MODELS, ids=[" ".join(words[1:]) for _, words in MODELS])
def test_heads_and_scores(program, tmp_path, model, words):
    program("fit", TRAIN["darknet"], "--labels", LABELS, "-o", tmp_path / "program.safetensors", "--quiet", *words)
    model.fit(X, Y).save(tmp_path / "python.safetensors")
    assert parts(tmp_path / "program.safetensors") == parts(tmp_path / "python.safetensors")
    program("predict", tmp_path / "program.safetensors", TEST["darknet"], "--scores", tmp_path / "s.npy", "--quiet")
    assert (np.load(tmp_path / "s.npy") == model.head_.scores(T)).all()
    said = program("predict", tmp_path / "python.safetensors", TEST["darknet"], "--quiet").split("\n")[:-1]
    assert said == model.predict(T).tolist() == tenon.load(tmp_path / "program.safetensors").predict(T).tolist()


def test_the_same_command_gives_the_same_bytes(program, tmp_path):
    path = tmp_path / "head.safetensors"
    program("fit", TRAIN["darknet"], "--labels", LABELS, "--method", "evidence", "-o", path, "--quiet")
    head = tenon.load(path)
    command = head.created_by.split(": ", 1)[1]
    EvidenceClassifier(name="darknet").fit(X, Y).save(tmp_path / "python.safetensors", command=command)
    assert (tmp_path / "python.safetensors").read_bytes() == path.read_bytes() == head.to_bytes(command)
    head.save(tmp_path / "again.safetensors", command=command)
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


def test_sets_of_representations(program, tmp_path):
    path = tmp_path / "head.safetensors"
    told = program("fit", *TRAIN.values(), "--labels", LABELS, "--method", "evidence", "-o", path, "--json")
    model = EvidenceClassifier().fit({n: np.load(p) for n, p in TRAIN.items()}, Y)
    model.save(tmp_path / "python.safetensors")
    assert parts(path) == parts(tmp_path / "python.safetensors") and model.fit_info_["selected"] == told["selected"]
    assert model.predict({n: np.load(p) for n, p in TEST.items()}).tolist() == \
        program("predict", path, *TEST.values(), "--quiet").split("\n")[:-1]
    with pytest.raises(tenon.ArgumentError, match="dict"):
        model.head_.scores(X)


def test_probabilities(program, tmp_path):
    path = tmp_path / "head.safetensors"
    program("fit", TRAIN["darknet"], "--labels", LABELS, "--method", "evidence", "-o", path, "--quiet")
    program("predict", path, TEST["darknet"], "--proba", "--scores", tmp_path / "p.npy", "--quiet")
    assert (EvidenceClassifier().fit(X, Y).predict_proba(T) == np.load(tmp_path / "p.npy")).all()
    assert (tenon.load(path).predict_proba(T) == np.load(tmp_path / "p.npy")).all()


def test_ranking(program):
    def figures(told):
        def untimed(c):
            return {k: v for k, v in c.items() if k not in ("seconds", "candidates")}

        return untimed(told), [untimed(c) for c in told["candidates"]]

    told = program("rank", *TRAIN.values(), "--labels", LABELS, "--normalize", "l2,root", "--json")
    ranking = tenon.rank({n: np.load(p) for n, p in TRAIN.items()}, Y, normalize=["l2", "root"])
    assert figures(ranking.json) == figures(told)
    # paths in the place of arrays and labels
    assert figures(tenon.rank(TRAIN, LABELS, normalize="l2,root").json) == figures(told)


def test_several_labels_and_numbers(program, tmp_path):
    rng = np.random.default_rng(0)
    marks = (rng.normal(size=(300, 4)) + X[:, :4] > 0.5).astype(np.int64)
    values = X[:, :3].astype(float) @ rng.normal(size=(3, 2))
    np.save(tmp_path / "marks.npy", marks)
    np.save(tmp_path / "values.npy", values)
    for model, labels, words in (
            (EvidenceClassifier(name="darknet"), "marks", ["--method", "evidence"]),
            (LogisticClassifier(name="darknet"), "marks", ["--method", "logistic"]),
            (EvidenceRegressor(name="darknet"), "values", ["--method", "evidence", "--task", "regression"])):
        program("fit", TRAIN["darknet"], "--labels", tmp_path / f"{labels}.npy", "-o", tmp_path / "a.safetensors",
                "--quiet", *words)
        model.fit(X, marks if labels == "marks" else values).save(tmp_path / "b.safetensors")
        assert parts(tmp_path / "a.safetensors")[1] == parts(tmp_path / "b.safetensors")[1]
        loaded = tenon.load(tmp_path / "a.safetensors")
        assert (loaded.predict(T) == model.predict(T)).all()


def test_weights_of_rows(program, tmp_path):
    weights = np.arange(300) % 4 + 0.5
    np.save(tmp_path / "w.npy", weights)
    for model, words in ((EvidenceClassifier(name="darknet"), ["--method", "evidence"]),
                         (LinearSVMClassifier(name="darknet"), ["--method", "svm"])):
        program("fit", TRAIN["darknet"], "--labels", LABELS, "-o", tmp_path / "a.safetensors", "--quiet",
                "--sample-weight", tmp_path / "w.npy", *words)
        model.fit(X, Y, sample_weight=weights).save(tmp_path / "b.safetensors")
        assert parts(tmp_path / "a.safetensors")[1] == parts(tmp_path / "b.safetensors")[1]


def test_transfer(program, tmp_path):
    few, known = np.arange(0, 300, 5), np.isin(Y, np.unique(Y)[:12])
    np.save(tmp_path / "few.npy", X[few])
    np.savetxt(tmp_path / "few.txt", Y[few], fmt="%s")
    rng = np.random.default_rng(0)
    guess = X[:, :5] + rng.normal(size=(300, 5)).astype(np.float32)
    np.save(tmp_path / "guess.npy", guess[few])
    old = LogisticClassifier(name="few").fit(X[known], Y[known])
    old.save(tmp_path / "old.safetensors")
    for words, parameters in ((["--method", "auto"], {}), (["--method", "rls"], {"method": "rls"}),
                              (["--method", "greedytl", "--lambda", "0.5", "--k", "9", "--class-weight", "balanced"],
                               {"method": "greedytl", "lam": 0.5, "k": 9, "class_weight": "balanced"})):
        program("transfer", "--target", tmp_path / "few.npy", "--labels", tmp_path / "few.txt", "--source",
                tmp_path / "old.safetensors", tmp_path / "guess.npy", "-o", tmp_path / "a.safetensors", "--quiet",
                *words)
        model = GreedyTransferClassifier({"old": old, "guess": guess[few]}, name="few", **parameters)
        model.fit(X[few], Y[few]).save(tmp_path / "b.safetensors")
        assert parts(tmp_path / "a.safetensors") == parts(tmp_path / "b.safetensors")
    with pytest.raises(tenon.ArgumentError, match="guess"):
        model.predict(X)
    assert (model.predict(X, sources={"guess": guess}) == Y).mean() > 0.5


def test_kernels(program, tmp_path):
    program("kernel", "learn", "--data", TRAIN["darknet"], LABELS, "-o", tmp_path / "k.safetensors", "--quiet",
            "--rank", "3")
    program("kernel", "apply", tmp_path / "k.safetensors", TEST["darknet"], "-o", tmp_path / "learned.npy", "--quiet")
    program("kernel", "apply", "chi2", TEST["darknet"], "-o", tmp_path / "chi2.npy", "--quiet")
    learned = AdditiveKernelMap("learned", rank=3).fit(X, Y)
    assert (learned.transform(T) == np.load(tmp_path / "learned.npy")).all()
    assert (AdditiveKernelMap("chi2").fit_transform(T) == np.load(tmp_path / "chi2.npy")).all()
    learned.save(tmp_path / "mine.safetensors")
    assert parts(tmp_path / "mine.safetensors") == parts(tmp_path / "k.safetensors")
    assert (tenon.load(tmp_path / "k.safetensors").transform(T) == np.load(tmp_path / "learned.npy")).all()
    head = EvidenceClassifier(feature_map=str(tmp_path / "k.safetensors")).fit(X, Y).head_
    assert head.representations[0].feature_map == "k" and head.dim == 3 * 128


def test_quantisers(program, tmp_path):
    program("pq", "train", TRAIN["darknet"], "-o", tmp_path / "q.safetensors", "--centroids", "32", "--quiet")
    program("pq", "apply", tmp_path / "q.safetensors", TEST["darknet"], "-o", tmp_path / "codes.safetensors", "--quiet")
    pq = ProductQuantizer(centroids=32).fit(X)
    pq.save(tmp_path / "mine.safetensors")
    assert parts(tmp_path / "mine.safetensors") == parts(tmp_path / "q.safetensors")
    codes = tenon.load(tmp_path / "codes.safetensors")
    assert codes.format == "codes"
    assert (np.asarray(codes) == pq.inverse_transform(pq.transform(T))).all()
    again = tenon.load(tmp_path / "q.safetensors")
    assert (again.transform(T) == pq.transform(T)).all()
    mine = pq.save_codes(T, tmp_path / "mine_codes.safetensors")
    assert (np.asarray(mine) == np.asarray(codes)).all()
