# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share: the program to compare with, the demo, a small problem."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = ROOT / "data" / "demo"


def small_problem(rows=90, columns=8, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    centres = rng.normal(size=(classes, columns)) * 2
    return centres[y] + rng.normal(size=(rows, columns)), y


@pytest.fixture
def problem():
    return small_problem()


@pytest.fixture(scope="session")
def demo():
    """Training rows of two networks and their labels."""
    x = {name: np.load(DEMO / f"{name}.train.npy") for name in ("darknet", "squeezenet")}
    return x, np.loadtxt(DEMO / "labels.train.txt", dtype=str)


@pytest.fixture(scope="session")
def program():
    """Runs the program; returns what it prints, read where that is JSON."""
    path = os.environ.get("TENON_PROGRAM")
    if not path:
        pytest.skip("TENON_PROGRAM names no program to compare with")

    def run(*words):
        done = subprocess.run([path, *map(str, words)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if "--json" in words else done.stdout

    return run
