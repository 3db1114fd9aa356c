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
    """{map: log evidence}; at most one of the maps is a learned one."""
    said = call(program, "rank", *inputs(features, cell, "train"), "--transform", ",".join(map(str, words)), "--loo", "0")
    learned = next((str(one) for one in maps if isinstance(one, Map)), None)
    return {candidate["transform"] if candidate["transform"] in protocol.NAMED else learned: candidate["log_evidence"]
            for candidate in said["candidates"]}
