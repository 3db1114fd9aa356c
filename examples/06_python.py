# SPDX-License-Identifier: BSD-3-Clause
"""The whole way from Python: which network suits the task, a head on the best set, its figures on other rows, the head
as a file and back. Introduces tenon.rank, TenonClassifier and tenon.load.

  06_python.py data/demo FOLDER_FOR_THE_HEAD
"""
import pathlib
import sys

import numpy as np

import tenon


def read(folder, part):
    """{network: rows}, labels"""
    x = {path.name.split(".")[0]: np.load(path) for path in sorted(folder.glob(f"*.{part}.npy"))}
    return x, np.loadtxt(folder / f"labels.{part}.txt", dtype=str)


def main(folder, output):
    x, y = read(folder, "train")
    print(tenon.rank(x, y))
    model = tenon.TenonClassifier().fit(x, y)
    model.save(output / "head.safetensors")

    head = tenon.load(output / "head.safetensors")
    x, y = read(folder, "test")
    print(head)
    print(f"accuracy {np.mean(head.predict(x) == y):.3f} on {len(y)} rows")


if __name__ == "__main__":
    main(*map(pathlib.Path, (sys.argv[1:] + ["data/demo", "."])[:2]))
