# SPDX-License-Identifier: BSD-3-Clause
"""Some rows of .npy files as files of their own: a part to train on while values are chosen, and one to choose by."""
import ast
import random
import struct

SHARE, SEED = 0.2, 0


def read(path):
    """(header, bytes of a row, values) of a .npy in C order, version 1."""
    data = path.read_bytes()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:start].decode("latin-1"))
    return header, (len(data) - start) // header["shape"][0], data[start:]


def write(path, source, rows):
    header, size, values = source
    words = repr(header | {"shape": (len(rows), *header["shape"][1:])}).encode()
    words += b" " * (-(10 + len(words) + 1) % 64) + b"\n"  # values begin at a multiple of 64
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(words)) + words)
        for row in rows:
            file.write(values[row * size:(row + 1) * size])


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
