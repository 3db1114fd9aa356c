# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share: the program to compare with, the demo, a small problem."""
import json
import os
import pathlib
import struct
import subprocess
import zlib

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = ROOT / "data" / "demo"


def small_problem(rows=90, columns=8, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    centres = rng.normal(size=(classes, columns)) * 2
    return centres[y] + rng.normal(size=(rows, columns)), y


def write_png(path, pixels):
    """A grey picture (height, width) of bytes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = pixels.shape
    lines = b"".join(b"\0" + row.tobytes() for row in pixels.astype(np.uint8))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def draw_photos(folder, each=4):
    """A folder per class: lines that lie, lines that stand, spots; with noise."""
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:48, :64]
    for name, wave in (("lines", np.sin(rows / 2)), ("posts", np.sin(columns / 2)),
                       ("spots", np.sin(rows / 3) * np.sin(columns / 3))):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i in range(each):
            noise = rng.normal(size=wave.shape) * 12
            write_png(folder / name / f"{i}.png", np.clip(128 + 90 * np.roll(wave, i, (0, 1)) + noise, 0, 255))
    return folder


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """Twelve small pictures of three classes."""
    return draw_photos(tmp_path_factory.mktemp("photos"))


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
