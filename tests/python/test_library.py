# SPDX-License-Identifier: BSD-3-Clause
"""The layer below: prototypes against the headers, errors, files. Needs NumPy only."""
import ctypes
import importlib.util
import pickle
import re

import numpy as np
import pytest

import tenon
from conftest import DEMO, ROOT
from tenon import _errors, _library
from tenon._options import option_fields
from tenon._session import Session


def header_prototypes():
    """Parameters of every public function, as the letters of _library.PROTOTYPES."""
    text = "\n".join(p.read_text() for p in sorted((ROOT / "include" / "tenon").glob("*.h")))
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    found = {}
    for result, name, parameters in re.findall(r"TN_API\s+([\w\s\*]+?)(\w+)\(([^;]*?)\);", text):
        letters = "" if parameters.strip() == "void" else "".join(map(letter, split(parameters)))
        found[name] = (letters, letter(result + " x"))
    return found


def split(parameters):
    return [p.strip() for p in parameters.replace("\n", " ").split(",")]


def letter(declaration):
    """Of `const char *name` and the like."""
    words = re.sub(r"\bconst\b", " ", declaration)
    kind = re.match(r"\s*(?:enum |struct )?(\w+)\s*(.*)", words)
    name, rest = kind[1], kind[2]
    if name.endswith("_fn"):
        return "p"
    if "*" in rest or "[" in rest:
        return "s" if name == "char" and rest.count("*") == 1 and "[" not in rest else "p"
    return {"size_t": "z", "ptrdiff_t": "t", "double": "d", "bool": "b", "void": "v", "tn_view": "V", "tn_rep": "Rep",
            "tn_head_source": "HeadSource"}.get(name, "i")


def test_prototypes_are_those_of_the_headers():
    headers = header_prototypes()
    for name, text in _library.PROTOTYPES.items():
        parameters, _, result = text.partition(":")
        want, back = headers[name]
        # texts that are handed over to be freed are pointers here
        assert parameters == want or parameters.replace("s", "p") == want.replace("s", "p"), name
        assert (result or "i") == back, name


def test_structs_have_the_members_of_the_headers():
    text = "\n".join(p.read_text() for p in (ROOT / "include" / "tenon").glob("*.h"))
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    for name, struct in {"tn_array": _library.Array, "tn_rep": _library.Rep, "tn_source": _library.Source,
                         "tn_head_source": _library.HeadSource, "tn_map_data": _library.MapData,
                         "tn_field": _library.Field, "tn_pq_info": _library.PqInfo,
                         "tn_encoder_info": _library.EncoderInfo, "tn_machine": _library.Machine,
                         "tn_view": _library.View}.items():
        body = re.search(r"typedef struct " + name + r" \{(.*?)\} " + name + ";", text, re.S)[1]
        members = [m for line in body.split(";") for m in re.findall(r"(\w+)(?:\[\d+\])?\s*(?:,|$)", line.strip())]
        assert members == [f[0] for f in struct._fields_], name


def test_every_status_has_a_class():
    names = [_library.lib.tn_status_name(i).decode() for i in range(1, 12)]
    assert {n for n in names if n != "TN_ERR_INTERRUPTED"} == set(_errors._CLASSES)
    for name, cls in _errors._CLASSES.items():
        error = _errors.error_of(name, "a sentence")
        assert type(error) is cls and str(error) == "a sentence"
        assert type(pickle.loads(pickle.dumps(error))) is cls


def test_messages_name_parameters_as_python_does():
    assert _errors.in_python("option class-weight: got x") == "parameter class_weight: got x"
    told = _errors.in_python("option lambda: got -1; option transform")
    assert told == "parameter lam: got -1; parameter feature_map"


def test_a_missing_file_is_file_not_found(tmp_path):
    for path in ("x.npy", "x.safetensors", "x.fvecs"):
        with pytest.raises(FileNotFoundError):
            tenon.load(tmp_path / path)
    with pytest.raises(tenon.MissingFileError):
        tenon.rank({"x": tmp_path / "none.npy"}, [0, 1])


def test_broken_files_say_where(tmp_path):
    path = tmp_path / "broken.safetensors"
    path.write_bytes(b"\x05\0\0\0\0\0\0\0{nope")
    with pytest.raises(tenon.FormatError, match="broken.safetensors"):
        tenon.load(path)


def test_a_path_that_cannot_be_written(problem, tmp_path):
    moments = tenon.Moments().update(*problem)
    with pytest.raises(tenon.OutputError, match="missing"):
        moments.save(tmp_path / "missing" / "m.safetensors")


def test_memory_that_is_not_enough(problem):
    x, y = problem
    with pytest.raises(MemoryError):
        tenon.rank({"x": x}, y, memory=1000)


def test_rank_prints_draws_and_tabulates(demo):
    pytest.importorskip("matplotlib").use("Agg")
    x, y = demo
    ranking = tenon.rank(x, y)
    assert ranking.best == ranking.names[0] == ranking[0].name == "darknet" and len(ranking) == 2
    assert "suits this task best" in str(ranking) and str(ranking) == repr(ranking)
    assert ranking["squeezenet"].dim == 512 and [c.name for c in ranking] == ranking.names
    page = ranking._repr_html_()
    assert page.count("<tr>") == 3 and "width:100.0%" in page and "rgba" in page and "<script" not in page
    assert [t.get_text() for t in ranking.plot().get_yticklabels()] == ranking.names
    frame = pytest.importorskip("pandas") and ranking.to_pandas()
    assert list(frame.index) == ranking.names and frame.loc["darknet", "gain"] == ranking[0].gain
    with pytest.raises(KeyError):
        ranking["none"]


def test_names_are_shown_and_not_obeyed(problem):
    x, y = problem
    assert "<b>" not in tenon.rank({"<b>": x}, y)._repr_html_()


def test_moments_merge_pickle_and_go_through_files(problem, tmp_path):
    x, y = problem
    whole = tenon.Moments(classes=[0, 1, 2]).update(x, y)
    parts = [tenon.Moments(classes=[0, 1, 2]).update(x[i::3], y[i::3]) for i in range(3)]
    merged = pickle.loads(pickle.dumps(parts[0])) + parts[1]
    merged += parts[2]
    assert merged.rows == 90 and parts[0].rows == 30 and merged.shape == (8, 3)
    # the same sums in another order: n * eps of numbers near 1
    assert abs(float(merged.evidence()) - float(whole.evidence())) < 1e-9 * abs(float(whole.evidence()))
    merged.save(tmp_path / "m.safetensors")
    assert float(tenon.load(tmp_path / "m.safetensors").evidence()) == float(merged.evidence())
    with pytest.raises(tenon.DataError, match="classes"):
        tenon.Moments(classes=[0, 1]).update(x, y)
    more = tenon.Moments(classes=[0, 1, 2]).update(x, y).merge(tenon.Moments(classes=[0, 1, 2, 3]).update(x, y))
    assert more.rows == 180 and more.classes_.tolist() == [0, 1, 2, 3]
    with pytest.raises(tenon.DataError, match="no rows"):
        tenon.Moments().evidence()
    assert tenon.Moments().merge(whole).rows == 90


def test_evidence_is_that_of_the_moments(problem):
    x, y = problem
    a, b = tenon.evidence(x, y), tenon.Moments().update(x, y).evidence()
    # products in single precision against double: 1e-6 relative is what the library promises
    assert abs(a.log_evidence / b.log_evidence - 1) < 1e-6 and float(a) == a.log_evidence
    assert "nats" in repr(a) and "<table" in a._repr_html_()


def test_features_are_read_when_they_are_asked_for():
    x = tenon.Features(DEMO / "darknet.train.npy")
    assert (np.asarray(x) == np.load(DEMO / "darknet.train.npy")).all() and len(x) == 300
    assert pickle.loads(pickle.dumps(x)).shape == (300, 128)
    assert tenon.rank({"d": x}, DEMO / "labels.train.txt").best == "d"


def test_tasks_by_the_type_of_y(problem):
    x, _ = problem
    for y, task in ((np.arange(90) % 2, "multiclass"), (["a", "b", "c"] * 30, "multiclass"),
                    (np.eye(3, dtype=int)[np.arange(90) % 3], "multilabel"), (np.arange(90) / 7, "regression"),
                    (x[:, :2], "regression"), (np.arange(90.0) % 2, "multiclass")):
        assert tenon.rank({"x": x}, y).json["task"] == task
    with pytest.raises(tenon.ShapeError, match="rows"):
        tenon.rank({"x": x}, np.arange(80) % 2)
    with pytest.raises(tenon.ShapeError, match="b: 80 rows, but a has 90"):
        tenon.rank({"a": x, "b": x[:80]}, np.arange(90) % 2)


def test_progress_is_shown_by_tqdm_or_by_lines(problem, capfd, monkeypatch):
    x, y = problem
    tenon.rank({"x": x}, y, verbose=1)
    assert "%|" in capfd.readouterr().err or not importlib.util.find_spec("tqdm")
    monkeypatch.setitem(__import__("sys").modules, "tqdm.auto", None)
    tenon.rank({"x": x}, y, verbose=1)
    assert "tenon: " in capfd.readouterr().err


def test_what_progress_raises_ends_the_call(problem, monkeypatch):
    from tenon import _session

    class Angry:
        def update(self, stage, share):
            raise RuntimeError("enough")

        def close(self):
            pass

    monkeypatch.setattr(_session, "_progress_of", Angry)
    x, y = problem
    with pytest.raises(RuntimeError, match="enough"):
        tenon.rank({"x": x}, y, verbose=1)
    assert tenon.rank({"x": x}, y).best == "x"


def test_warnings_are_of_the_line_that_asked():
    x = np.eye(4) + 1
    with pytest.warns(tenon.TenonWarning) as told:
        tenon.rank({"x": 1e6 + 1e-3 * x}, [0, 1, 0, 1], normalize="none")
        import warnings
        warnings.warn("at least one", tenon.TenonWarning)
    assert all(w.filename == __file__ for w in told)


def test_the_library_knows_its_options():
    fields = option_fields("fit")
    assert fields["C"].default == "1" and "evidence" in fields["method"].choices and "evidence" in tenon.methods()
    with Session() as s, pytest.raises(tenon.ArgumentError):
        s.make("tn_options_new", b"nothing")


def test_machine_tells_the_kernels():
    told = tenon.machine()
    assert told["cores"] >= 1 and told["simd"] in ("scalar", "avx2", "avx512")
    assert told["blas_advice"] == "" or not told["blas"]


def test_only_our_own_symbols_are_shown():
    """NumPy's BLAS and ours stay apart."""
    with pytest.raises(AttributeError):
        _library.lib.cblas_dgemm
    assert ctypes.CDLL(str(_library.library_path())).tn_version
