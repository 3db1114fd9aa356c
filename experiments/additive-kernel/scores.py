# SPDX-License-Identifier: BSD-3-Clause
"""Asks the program what a map is worth: heads trained and tested with it, and its evidence."""
import kernels
import protocol
from common import call, test_score
from protocol import Map


def transform(one, learned, work):
    """The word that --transform takes."""
    return kernels.cut(one, learned, work) if isinstance(one, Map) else one


def inputs(features, cell, part):
    name, network = cell
    return f"f={features / name / network}.{part}.npy", "--labels", features / name / f"labels.{part}.npy", "--threads", "1"


def ask(program, features, cell, method, word, scratch):
    """Test score in percent of one head."""
    head = scratch / "head.safetensors"
    fitted = call(program, "fit", *inputs(features, cell, "train"), "--transform", word, "--select", "all", "--loo", "0",
                  *protocol.METHODS[method], "-o", head)
    tested = call(program, "eval", head, *inputs(features, cell, "test"))
    return {"score": test_score(tested), "seconds": fitted["seconds"]}


def rank(program, features, cell, maps, words):
    """{map: log evidence}. Candidates are told apart by their number of columns and, where that is the same, by name."""
    said = call(program, "rank", *inputs(features, cell, "train"), "--transform", ",".join(map(str, words)), "--loo", "0")
    found = {candidate["name"]: candidate["log_evidence"] for candidate in said["candidates"]}
    return {str(one): found[name] for one, name in zip(maps, names(words))}


def names(words):
    """As candidates are called."""
    return ["f" if word == protocol.NONE else f"f+{word}" for word in words]
