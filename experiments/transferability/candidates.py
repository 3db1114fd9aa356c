# SPDX-License-Identifier: BSD-3-Clause
"""What competes: every network in every normalisation, and random columns of every network, 32, 64, ... of them."""
import collections
import zlib

import numpy

from common import networks

NORMALIZE = ("l2", "root", "l1", "zscore", "none")
NARROWEST = 32

# width: columns; cut: whether they are a draw of the network's
Candidate = collections.namedtuple("Candidate", "set network normalize width cut")


def widths(dim):
    """32, 64, ... below dim."""
    width = NARROWEST
    while width < dim:
        yield width
        width *= 2


def of_set(folder, wanted, few):
    """few: two normalisations and one narrow draw, for a look at the script itself."""
    found = []
    for network in networks(folder, wanted):
        dim = numpy.load(folder / f"{network}.train.npy", mmap_mode="r").shape[1]
        found += [Candidate(folder.name, network, kind, dim, False) for kind in (NORMALIZE[:2] if few else NORMALIZE)]
        found += [Candidate(folder.name, network, "l2", width, True)
                  for width in ([dim // 2] if few else widths(dim))]
    return found


def columns(candidate, dim):
    """Seeded by what the candidate is called, so that every draw stands for itself."""
    if not candidate.cut:
        return numpy.arange(dim)
    seed = zlib.crc32(f"{candidate.set} {candidate.network} {candidate.width}".encode())
    return numpy.sort(numpy.random.default_rng(seed).permutation(dim)[:candidate.width])


def load(folder, candidate, part):
    """(rows, width), as the file has them."""
    values = numpy.load(folder / f"{candidate.network}.{part}.npy").astype(numpy.float32)
    return values[:, columns(candidate, values.shape[1])]


def labels(folder, part):
    return numpy.load(folder / f"labels.{part}.npy")


def prepare(values, kind):
    """Rows as `--normalize kind` makes them."""
    values = values.astype(numpy.float64)
    if kind == "zscore":
        spread = values.std(axis=0)
        return (values - values.mean(axis=0)) / numpy.where(spread > 0, spread, 1)
    if kind == "root":
        values = numpy.sign(values) * numpy.sqrt(numpy.abs(values))
    length = {"l1": numpy.abs(values).sum(axis=1), "none": numpy.ones(len(values))}.get(
        kind, numpy.linalg.norm(values, axis=1))
    return values / numpy.where(length > 0, length, 1)[:, None]
