# SPDX-License-Identifier: BSD-3-Clause
"""Some rows of .npy files as files of their own: a part to train on while values are chosen, and one to choose by."""
import random

from npy import read, write

SHARE, SEED = 0.2, 0


def held_out(labels):
    """Every fifth row of every class, drawn by lot, in file order; multi-label: of all rows."""
    header, size, values = labels
    groups = {}
    for row in range(header["shape"][0]):
        key = values[row * size:(row + 1) * size] if len(header["shape"]) == 1 else b""
        groups.setdefault(key, []).append(row)
    rng, chosen = random.Random(SEED), []
    for key in sorted(groups):
        chosen += rng.sample(groups[key], max(1, round(SHARE * len(groups[key]))))
    return sorted(chosen)


def make(folder, names, scratch):
    """{(name, part): path} for parts train, test, and fit and held of train; labels are a name too."""
    labels = read(folder / "labels.train.npy")
    held = held_out(labels)
    rest = sorted(set(range(labels[0]["shape"][0])) - set(held))
    paths = {}
    for name in (*names, "labels"):
        source = read(folder / f"{name}.train.npy")
        for part, rows in (("fit", rest), ("held", held)):
            paths[name, part] = scratch / f"{folder.name}.{name}.{part}.npy"
            write(paths[name, part], source, rows)
        for part in ("train", "test"):
            paths[name, part] = folder / f"{name}.{part}.npy"
    return paths
