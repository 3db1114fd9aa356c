# SPDX-License-Identifier: BSD-3-Clause
"""Examples of docstrings and pages run."""
import doctest
import importlib
import pathlib
import pkgutil
import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import DEMO, ROOT, draw_photos, small_problem

import tenon

MODULES = ["tenon." + m.name for m in pkgutil.iter_modules(tenon.__path__)]
PAGES = ["README.md", "python/README.md", "docs/python.md"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name, tmp_path, monkeypatch, photos):
    monkeypatch.chdir(tmp_path)
    x, y = small_problem()
    given = {"tenon": tenon, "np": np, "X": x, "y": y, "demo": DEMO, "folder": tmp_path, "photos": photos}
    found = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name), extraglobs=given)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in found:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_every_estimator_and_function_has_an_example():
    for name in tenon.__all__:
        thing = getattr(tenon, name)
        if isinstance(thing, type) and issubclass(thing, (Exception, Warning)):
            continue
        if name in ("__version__", "machine", "methods", "Ranking", "Evidence", "Race"):
            continue
        assert ">>> " in thing.__doc__, name


def blocks(page):
    """Python of a page, in its order; those that need what is not here say so by a first line `# needs NAME`."""
    for text in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M):
        needs = re.match(r"# needs (\w+)", text)
        if not needs or importlib.util.find_spec(needs[1]):
            yield text


@pytest.mark.parametrize("page", PAGES)
def test_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "demo").symlink_to(DEMO)
    draw_photos(tmp_path / "photos")
    pytest.importorskip("matplotlib").use("Agg")
    names = {}
    for text in blocks(ROOT / page):
        exec(compile(text, page, "exec"), names)
    assert names


def test_examples(tmp_path):
    for example in sorted((ROOT / "examples").glob("*.py")):
        done = subprocess.run([sys.executable, example, DEMO, tmp_path], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "accuracy 0." in done.stdout, done.stderr


def test_pages_name_every_estimator():
    page = (ROOT / "docs" / "python.md").read_text()
    assert all(f"`{name}" in page for name in tenon._ESTIMATORS)


def test_pages_have_no_long_way_to_the_first_head():
    """Ten lines from features to a saved head."""
    first = next(blocks(pathlib.Path(ROOT / "python/README.md")))
    assert len([line for line in first.splitlines() if line.strip()]) <= 10
