# SPDX-License-Identifier: BSD-3-Clause
"""Encoders: the numbers of the program, bags and pictures of every kind, in the company of scikit-learn."""
import importlib.util
import inspect
import pickle

import numpy as np
import pytest
from conftest import ROOT, write_png
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import tenon
from tenon import BagEncoder, Bags, EvidenceClassifier, FisherVector, Pictures
from tenon._options import option_fields


def some_bags(count=12, columns=10, seed=0, equal=False):
    """Classes by the spread of the descriptors, which only a second moment tells."""
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 2
    return [rng.normal(size=(20 if equal else rng.integers(15, 30), columns)).astype(np.float32) *
            (1 + 2 * y[i]) for i in range(count)], y


def parts(path):
    data = path.read_bytes()
    import json
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header["__metadata__"].pop("created_by")
    return header, data[8 + size:]


@pytest.mark.parametrize("kind", ["fisher", "vlad", "bovw", "llc"])
def test_bags_of_the_program(program, tmp_path, kind):
    bags, _ = some_bags()
    offsets = np.cumsum([0] + [len(b) for b in bags])
    np.savez(tmp_path / "bags.npz", descriptors=np.concatenate(bags), offsets=offsets)
    program("encoder", "train", "--bags", tmp_path / "bags.npz", "-o", tmp_path / "e.safetensors", "--kind", kind,
            "--words", "5", "--pca", "6", "--seed", "3", "--quiet")
    program("extract", "--bags", tmp_path / "bags.npz", "--encoder", tmp_path / "e.safetensors", "-o",
            tmp_path / "v.npy", "--quiet")
    encoder = BagEncoder(kind, words=5, pca=6, random_state=3).fit(bags)
    encoder.save(tmp_path / "mine.safetensors")
    assert parts(tmp_path / "mine.safetensors") == parts(tmp_path / "e.safetensors")
    want = np.load(tmp_path / "v.npy")
    assert (encoder.transform(bags) == want).all() and encoder.n_features_out_ == want.shape[1]
    loaded = tenon.load(tmp_path / "e.safetensors")
    assert loaded.kind == kind and loaded.words == 5 and (loaded.transform(bags) == want).all()
    assert (pickle.loads(pickle.dumps(encoder)).transform(bags) == want).all()
    assert (tenon.extract(bags, tmp_path / "e.safetensors", n_jobs=1) == want).all()


def test_pictures_of_the_program(program, photos, tmp_path):
    words = ["--words", "3", "--pca", "16", "--sides", "16,24", "--step", "6", "--pyramid", "1x1,1x2"]
    program("encoder", "train", photos, "-o", tmp_path / "e.safetensors", "--quiet", *words)
    program("extract", photos, "--encoder", tmp_path / "e.safetensors", "-o", tmp_path / "v.npy", "--quiet",
            "--labels-out", tmp_path / "labels.txt")
    encoder = FisherVector(3, pca=16, sides=[16, 24], step=6, pyramid="1x1,1x2").fit(photos)
    encoder.save(tmp_path / "mine.safetensors")
    assert parts(tmp_path / "mine.safetensors") == parts(tmp_path / "e.safetensors")
    want = np.load(tmp_path / "v.npy")
    pictures = Pictures(photos)
    for images in (photos, pictures, pictures.paths, np.array(pictures.paths), str(photos)):
        assert (tenon.extract(images, encoder) == want).all()
    assert pictures.labels.tolist() == (tmp_path / "labels.txt").read_text().split() and len(pictures) == 12
    assert pictures.ids[0] == "lines/0.png" and pickle.loads(pickle.dumps(pictures)).labels[11] == "spots"
    both = tenon.extract(photos, {"a": encoder, "b": str(tmp_path / "e.safetensors")})
    assert (both["a"] == want).all() and (both["b"] == want).all()
    assert "pictures" in encoder.fit_info_ or encoder.fit_info_["bags"] == 12


def test_every_form_of_bags_is_the_same():
    bags, _ = some_bags(equal=True)
    encoder = FisherVector(words=3, pca=4)
    want = encoder.fit_transform(bags)
    cube = np.stack(bags)
    ragged = np.empty(len(bags), dtype=object)
    ragged[:] = bags
    joined = Bags(np.concatenate(bags), np.arange(13) * 20)
    far = np.zeros((12, 20, 30), np.float32)
    far[:, :, ::3] = cube
    for form in (cube, far[:, :, ::3], ragged, tuple(bags), joined, [b.astype(np.float64) for b in bags],
                 np.asfortranarray(cube)):
        assert (clone(encoder).fit_transform(form) == want).all()
    assert (encoder.transform(joined[2:5]) == want[2:5]).all() and (encoder.transform([joined[3]]) == want[3]).all()
    assert len(list(joined)) == 12 and (joined[-1] == bags[-1]).all()
    with pytest.raises(IndexError):
        joined[12]


def test_positions_of_bags():
    """A pyramid of two columns is the encodings of the two halves, one after the other, where rows are not
    normalised."""
    bags, _ = some_bags(equal=True)
    rng = np.random.default_rng(1)
    places = np.column_stack([rng.uniform(size=(240, 2)), np.full(240, 0.1)]).astype(np.float32)
    joined = Bags(np.concatenate(bags), np.arange(13) * 20, places)
    flat = BagEncoder("bovw", words=4, pca=0, norm="raw").fit(joined)
    cells = BagEncoder("bovw", words=4, pca=0, norm="raw", pyramid="1x2").fit(joined)
    left = [b[places[20 * i:20 * i + 20, 0] < 0.5] for i, b in enumerate(bags)]
    right = [b[places[20 * i:20 * i + 20, 0] >= 0.5] for i, b in enumerate(bags)]
    by_hand = np.hstack([flat.transform(side) * np.array([[len(b)] for b in side]) for side in (left, right)])
    scaled = cells.transform(joined)
    counts = np.array([[len(b)] * 4 + [len(c)] * 4 for b, c in zip(left, right)])
    # a histogram is counts over their number, of single precision: exact but for one rounding each way
    assert np.abs(scaled * counts - by_hand).max() < 1e-5
    assert (cells.transform(joined.take([5, 2])) == scaled[[5, 2]]).all()
    with pytest.raises(ValueError, match="position"):
        cells.transform(bags)


def test_an_empty_bag_is_zero():
    bags, _ = some_bags()
    encoder = FisherVector(words=2, pca=3).fit(bags)
    rows = encoder.transform([bags[0], bags[0][:0], bags[1]])
    assert (rows[1] == 0).all() and (rows[[0, 2]] == encoder.transform(bags[:2])).all()


def test_in_pipelines_and_searches(photos):
    bags, y = some_bags(40)
    model = make_pipeline(FisherVector(words=1, pca=0), EvidenceClassifier())  # two Gaussians would be the two classes
    assert cross_val_score(model, bags, y, cv=3).mean() > 0.9
    assert cross_val_score(model, Bags.of(bags), y, cv=3).mean() > 0.9
    search = GridSearchCV(model, {"fishervector__pca": [0, 5]}, cv=3).fit(bags, y)
    assert search.best_score_ > 0.9
    pictures = Pictures(photos)
    seen = make_pipeline(FisherVector(words=2, pca=8, sides=[16], step=8), EvidenceClassifier())
    assert cross_val_score(seen, pictures, pictures.labels, cv=2).mean() > 0.5
    assert seen.fit(pictures, pictures.labels).predict(pictures.paths[:3]).tolist() == ["lines"] * 3
    names = seen[0].get_feature_names_out()
    assert len(names) == seen[0].n_features_out_ and names[0] == "fishervector0"


def refined_by_program(program, tmp_path, bags, y, *words):
    np.savez(tmp_path / "bags.npz", descriptors=np.concatenate(bags), offsets=np.cumsum([0] + [len(b) for b in bags]))
    (tmp_path / "y.txt").write_text("".join(f"{label}\n" for label in y))
    program("encoder", "train", "--bags", tmp_path / "bags.npz", "-o", tmp_path / "e.safetensors", "--words", "2",
            "--pca", "4", "--seed", "3", "--quiet")
    return program("encoder", "refine", tmp_path / "e.safetensors", "--bags", tmp_path / "bags.npz", "--labels",
                   tmp_path / "y.txt", "-o", tmp_path / "r.safetensors", "--rounds", "3", "--seed", "3", "--json", *words)


@pytest.mark.parametrize("learn, task", [("mixture", "shared"), ("both", "shared"), ("projection", "odd_one")])
def test_refinement_of_the_program(program, tmp_path, learn, task):
    bags, y = some_bags(30)
    names = np.array(["even", "odd_one"])[y]
    told = refined_by_program(program, tmp_path, bags, names, "--learn", learn, "--task", task)
    encoder = FisherVector(2, pca=4, random_state=3).fit(bags)
    before = encoder.transform(bags)
    assert encoder.refine(bags, names, learn=learn, task=task, rounds=3) is encoder
    encoder.save(tmp_path / "mine.safetensors")
    assert parts(tmp_path / "mine.safetensors") == parts(tmp_path / "r.safetensors")
    info = encoder.refine_info_
    assert info["best"] == told["best"] and info["C"] == told["C"] and info["advice"] == told["advice"]
    assert [r["objective"] for r in info["rounds"]] == [r["objective"] for r in told["rounds"]]
    assert info["best"] == 0 or (encoder.transform(bags) != before).any()
    kept = pickle.loads(pickle.dumps(encoder))
    assert kept.refine_info_ == info and (kept.transform(bags) == encoder.transform(bags)).all()


def test_refinement_of_pictures_and_marks(photos, tmp_path):
    pictures = Pictures(photos)
    encoder = FisherVector(words=2, pca=6, sides=[16], step=8).fit(photos)
    encoder.refine(photos, pictures.labels, pictures.paths[::2], pictures.labels[::2], rounds=2, C=100, twice=False,
                   cache=tmp_path / "kept")
    info = encoder.refine_info_
    assert info["training"] == 12 and info["validation"] == 6 and (tmp_path / "kept.valid").exists()
    falling = [r["objective"] for r in info["rounds"]]
    assert len(falling) > 1 and falling == sorted(falling, reverse=True)
    bags, y = some_bags(20)
    marks = np.column_stack([y, np.arange(20) < 5])
    assert FisherVector(words=1, pca=0).fit(bags).refine(bags, marks, rounds=1, C=100).refine_info_["classes"] == 2


def test_refinement_that_cannot_be():
    bags, y = some_bags()
    encoder = FisherVector(words=1, pca=0)
    with pytest.raises(ValueError):  # NotFittedError
        encoder.refine(bags, y)
    encoder.fit(bags)
    before = encoder.transform(bags)
    for words, said in (({"learn": "both"}, "projects nothing"), ({"task": "cat"}, "task"), ({"rounds": -1}, "rounds"),
                        ({"learn": "all"}, "learn"), ({"X_valid": bags}, "y_valid")):
        with pytest.raises(ValueError, match=said):
            encoder.refine(bags, y, **words)
    with pytest.raises(ValueError, match="rows"):
        encoder.refine(bags, y[:5])
    with pytest.raises(ValueError, match="regression"):
        encoder.refine(bags, y + 0.5)
    assert (encoder.transform(bags) == before).all() and not hasattr(encoder, "refine_info_")


def test_parameters_of_refine_are_the_options():
    """The same names and defaults as the group of options that the library has."""
    found = inspect.signature(FisherVector.refine).parameters
    fields = option_fields("encoder")
    names = [name for name in found if name not in ("self", "X", "y", "X_valid", "y_valid")]
    first = list(fields).index("task")
    assert set(names) == set(list(fields)[first:first + len(names)])
    words = {True: "yes", False: "no", None: ""}
    for name in names:
        default, want = found[name].default, fields[name].default
        if isinstance(default, (bool, str, type(None))):
            assert words.get(default, default) == want, name
        else:
            assert float(want) == default, name


def test_descriptors_are_those_that_encoders_see(photos):
    """Encoders of pictures, with a pyramid and a projection, do the same to what describe makes of them."""
    words = {"sides": [16, 24], "step": 6}
    encoder = FisherVector(3, pca=16, pyramid="1x1,1x2", **words).fit(photos)
    bags = tenon.describe(photos, **words, n_jobs=1)
    assert len(bags) == 12 and bags.positions.shape == (len(bags.descriptors), 3)
    # patches of side s at a distance of 6 in a picture of 64 x 48, along both sides
    assert len(bags[3]) == sum(((64 - s) // 6 + 1) * ((48 - s) // 6 + 1) for s in (16, 24))
    assert (encoder.transform(bags) == encoder.transform(photos)).all()
    again = FisherVector(3, pca=16, pyramid="1x1,1x2").fit(bags)
    assert (again.transform(bags) == encoder.transform(bags)).all()
    assert (tenon.describe(Pictures(photos).paths[4:6], **words).descriptors == bags[4:6].descriptors).all()
    small = tenon.describe(photos, sides=[16], step=6, pixels=32 * 24)
    assert len(small[0]) < len(tenon.describe(photos, sides=[16], step=6, pixels=0)[0])


def colours_network(path, weights, thresholds):
    """max(weights colour + thresholds, 0) at every pixel of pictures of 8 x 8, whose colours come as they are."""
    tools = importlib.util.spec_from_file_location("draw_pictures", ROOT / "tools" / "draw_pictures.py")
    draw = importlib.util.module_from_spec(tools)
    tools.loader.exec_module(draw)
    nodes = [draw.node("Conv", ["image", "w", "b"], ["sides"]), draw.node("Relu", ["sides"], ["over_it"]),
             draw.node("GlobalAveragePool", ["over_it"], ["pooled"]), draw.node("Flatten", ["pooled"], ["feat"])]
    tensors = [draw.tensor("w", [*weights.shape, 1, 1], weights.ravel().tolist()),
               draw.tensor("b", [len(thresholds)], thresholds.tolist())]
    path.write_bytes(draw.model(nodes, tensors, [draw.value("image", 1, ["N", 3, 8, 8])],
                                [draw.value("feat", 1, ["N", len(thresholds)])]))
    path.with_suffix(".json").write_text('{"input_size": [3, 8, 8], "crop_pct": 1, "mean": [0, 0, 0], '
                                         '"std": [1, 1, 1]}')


def test_bags_of_a_network(program, tmp_path):
    if not program("doctor", "--json")["onnxruntime"]:
        pytest.skip("ONNX Runtime is not installed")
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (3, 8, 8))
    weights, thresholds = rng.normal(size=(5, 3)).astype(np.float32), rng.normal(size=5).astype(np.float32)
    for i, grey in enumerate(pixels):
        write_png(tmp_path / f"{i}.png", grey)
    colours_network(tmp_path / "net.onnx", weights, thresholds)
    bags = tenon.describe(tmp_path, tmp_path / "net.onnx", layer="over_it")
    want = np.maximum(np.outer(pixels.ravel() / 255, weights.sum(1)) + thresholds, 0)
    # three products and sums of numbers below 4, of single precision, and a sum of its own in the network
    assert bags.descriptors.shape == (3 * 64, 5) and np.abs(bags.descriptors - want).max() < 8 * 4 * 2.0 ** -24
    middles = (np.arange(8) + 0.5) / 8
    assert np.allclose(bags.positions[64:128, 0], np.tile(middles, 8), atol=1e-7)
    assert np.allclose(bags.positions[64:128, 1], np.repeat(middles, 8), atol=1e-7)
    named = tenon.describe(tmp_path, f"{tmp_path / 'net.onnx'}:over_it", n_jobs=1)
    assert (named.descriptors == bags.descriptors).all()
    assert BagEncoder("vlad", words=2, pca=0).fit_transform(bags).shape == (3, 10)
    with pytest.raises(tenon.ArgumentError, match="over_it"):
        tenon.describe(tmp_path, tmp_path / "net.onnx", layer="over_lt")
    with pytest.raises(ValueError, match="bag"):
        tenon.describe(tmp_path, tmp_path / "net.onnx", layer="feat")
    (tmp_path / "short.onnx").write_bytes((tmp_path / "net.onnx").read_bytes()[:100])
    with pytest.raises(tenon.FormatError, match="short.onnx"):
        tenon.describe(tmp_path, tmp_path / "short.onnx")


def test_what_cannot_be_described(photos, tmp_path):
    for words, error, said in (({"descriptor": "surf"}, ValueError, "descriptor"),
                               ({"layer": "x"}, ValueError, "layer"), ({"sides": [4]}, ValueError, "sides"),
                               ({"sides": [1000]}, ValueError, "patch"),
                               ({"pixels": 100, "net": "a.onnx"}, ValueError, "pixels"),
                               ({"memory": 1 << 20, "step": 1}, MemoryError, "memory"),
                               ({"on_error": "shrug"}, ValueError, "on_error")):
        with pytest.raises(error, match=said):
            tenon.describe(photos, **words)
    with pytest.raises(TypeError):
        tenon.describe(np.zeros((3, 4, 5)))
    write_png(tmp_path / "a.png", np.zeros((20, 20)))
    (tmp_path / "b.png").write_bytes((tmp_path / "a.png").read_bytes()[:45])
    write_png(tmp_path / "c.png", np.zeros((12, 12)))
    with pytest.raises(tenon.FormatError, match="b.png"):
        tenon.describe(tmp_path, sides=[16])
    with pytest.warns(tenon.TenonWarning, match="b.png"):
        bags = tenon.describe(tmp_path, sides=[16], step=4, on_error="skip")
    assert [len(bag) for bag in bags] == [4, 0]


def test_broken_pictures(photos, tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.png").write_bytes((photos / "lines" / f"{i}.png").read_bytes())
    (tmp_path / "1.png").write_bytes((tmp_path / "1.png").read_bytes()[:60])
    encoder = FisherVector(words=2, pca=8, sides=[16], step=8)
    with pytest.raises(tenon.FormatError, match="1.png"):
        encoder.fit(tmp_path)
    with pytest.warns(tenon.TenonWarning, match="1.png"):
        encoder.set_params(on_error="skip").fit(tmp_path)
    assert encoder.fit_info_["missing"] == 1
    with pytest.raises(tenon.FormatError, match="1.png"):
        encoder.transform(tmp_path)
    with pytest.warns(tenon.TenonWarning, match="1.png"):
        rows = tenon.extract(tmp_path, encoder, on_error="skip")
    with pytest.warns(tenon.TenonWarning):
        assert Pictures(tmp_path, on_error="skip").ids == ["0.png", "2.png"]
    assert (rows == encoder.transform([tmp_path / "0.png", tmp_path / "2.png"])).all()


@pytest.mark.parametrize("spoiled, error, words", [
    ([], ValueError, "0 samples"), (np.zeros((0, 4, 3)), ValueError, "0 samples"),
    (np.zeros((4, 3)), ValueError, "dimensions"), ([np.zeros((4, 3)), np.zeros((4, 2))], ValueError, "bag 1"),
    ([np.zeros(3)], ValueError, "bag 0"), (["missing.png"], FileNotFoundError, "missing"),
    ([np.zeros((4, 3)), "a.png"], ValueError, "beside"), ([np.zeros((4, 3), complex)], ValueError, "complex"),
    ([np.full((40, 3), np.nan)], ValueError, "NaN")])
def test_bad_bags(spoiled, error, words):
    with pytest.raises(error, match=words):
        FisherVector(words=1, pca=0).fit(spoiled)


def test_bad_parameters():
    bags, _ = some_bags()
    for model, word in ((BagEncoder("mean"), "kind"), (FisherVector(words=-1), "words"),
                        (FisherVector(norm="max"), "norm"), (FisherVector(pyramid="two"), "pyramid")):
        with pytest.raises(ValueError, match=word):
            model.fit(bags)
    encoder = FisherVector(words=1, pca=0)
    with pytest.raises(ValueError):  # NotFittedError
        tenon.extract(bags, encoder)
    with pytest.raises(tenon.ArgumentError, match="encoder"):
        tenon.extract(bags, EvidenceClassifier())
    with pytest.raises(ValueError, match="columns"):
        encoder.fit(bags).transform([np.zeros((3, 4))])
    with pytest.raises(ValueError, match="bags"):
        tenon.extract(_one_picture(), encoder)
    for offsets in ([0], [0, 2, 1], [0.0, 1.0], [0, 99]):
        with pytest.raises(ValueError, match="offsets"):
            Bags(np.zeros((5, 2)), offsets)
    with pytest.raises(ValueError, match="positions"):
        Bags(np.zeros((5, 2)), [0, 5], np.zeros((4, 3)))
    with pytest.raises(ValueError, match="on_error"):
        Pictures("x", on_error="shrug")


def _one_picture():
    import pathlib
    import tempfile
    path = pathlib.Path(tempfile.mkdtemp()) / "one.png"
    write_png(path, np.zeros((20, 20)))
    return [path]
