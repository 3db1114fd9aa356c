# SPDX-License-Identifier: BSD-3-Clause
"""Features like those behind a ReLU: max(0, class mixture of low rank + noise - offset), most entries exactly 0.

Usage: data.py DIRECTORY ROWS DIM CLASSES SEED [OFFSET [NOISE]]     Writes x.npy (float32) and y.npy (int64) there.
With an offset of 0 half the entries are 0; the default makes it more. NOISE is how far rows lie from the centre of their
class: with the default any learner tells the classes apart.
Rows are made and written in blocks: a file larger than the memory is as good as a small one.
"""
import pathlib
import sys

import numpy as np

RANK, BLOCK, OFFSET, NOISE = 64, 4096, 0.35, 0.5


def write_features(path, labels, dim, rng, offset, noise):
    classes = int(labels.max()) + 1
    basis = rng.standard_normal((RANK, dim), dtype=np.float32) / np.float32(np.sqrt(RANK))
    centres = rng.standard_normal((classes, RANK), dtype=np.float32)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(len(labels), dim))
    for start in range(0, len(labels), BLOCK):
        part = labels[start:start + BLOCK]
        inner = centres[part] + np.float32(noise) * rng.standard_normal((len(part), RANK), dtype=np.float32)
        around = np.float32(0.3) * rng.standard_normal((len(part), dim), dtype=np.float32)
        out[start:start + BLOCK] = np.maximum(inner @ basis + around - np.float32(offset), 0)
    out.flush()


def main(directory, rows, dim, classes, seed, offset=OFFSET, noise=NOISE):
    rng = np.random.default_rng(seed)
    labels = np.arange(rows, dtype=np.int64) % classes
    rng.shuffle(labels)
    np.save(pathlib.Path(directory) / "y.npy", labels)
    write_features(pathlib.Path(directory) / "x.npy", labels, dim, rng, offset, noise)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:6]), *map(float, sys.argv[6:8]))
