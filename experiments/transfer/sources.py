# SPDX-License-Identifier: BSD-3-Clause
"""The sources: a linear SVM for every class that is a target, against the negatives, and its scores for all rows."""
import os

import npy
from common import call

GRID = ",".join(f"1e{power}" for power in range(-4, 5))
PARTS = ("train", "test")


def path(work, study, network, label, part):
    return work / f"{study['name']}.{network}.{label}.{part}.npy"


def train(program, study, network, label, work, scratch):
    """Writes the scores unless they are there. No draw changes them: a target leaves out its own and takes the others."""
    kept = [path(work, study, network, label, part) for part in PARTS]
    if all(file.is_file() for file in kept):
        return
    name = f"{study['name']}.{network}.{label}"
    words = [""] * study["rows"]
    for word, rows in (("0", study["source_negatives"]), ("1", study["train"][label])):
        for row in rows:
            words[row] = word
    labels, head, scores = scratch / f"{name}.txt", scratch / f"{name}.safetensors", scratch / f"{name}.npy"
    labels.write_text("\n".join([*words, ""]))
    call(program, "fit", f"f={study['folder']}/{network}.train.npy", "--labels", labels, "--method", "svm-cv", "--grid",
         GRID, "--select", "all", "--loo", "0", "--calibrate", "no", "--threads", "1", "-o", head)
    for part, file in zip(PARTS, kept):
        call(program, "predict", head, f"f={study['folder']}/{network}.{part}.npy", "--scores", scores, "--threads", "1")
        (_, columns), values = npy.read_numbers(scores)
        npy.write_floats(scores, [[value] for value in values[columns - 1::columns]])
        os.replace(scores, file)


def columns(study, network, label, work, part):
    """[scores of a source for every row]"""
    return [npy.read_numbers(path(work, study, network, other, part))[1] for other in study["targets"] if other != label]
