# SPDX-License-Identifier: BSD-3-Clause
"""What is said of a candidate before any head is trained: the program's figures, from `rank --json` with its defaults,
and the rivals'."""
import numpy

import candidates
import rivals
from common import call


def program_figures(program, path, folder, normalize):
    """The log-loss with its sign turned: higher is better everywhere."""
    found = {}
    for by in ("nll", "knn"):
        said = call(program, "rank", f"x={path}", "--labels", folder / "labels.train.npy", "--normalize", normalize,
                    "--by", by, "--threads", 1)
        found |= {one["by"]: -one["score"] if one["by"] == "nll" else one["score"] for one in said["opinions"]}
        found["shared"] = said["candidates"][0]["log_evidence_shared"]
    return found


def measure(program, folder, candidate, scratch):
    """{score: value}, of NCTI the three parts."""
    path = scratch / "train.npy"
    numpy.save(path, candidates.load(folder, candidate, "train"))
    rows = candidates.prepare(candidates.load(folder, candidate, "train"), candidate.normalize)
    return program_figures(program, path, folder, candidate.normalize) | rivals.measure(
        rows, candidates.labels(folder, "train"))
