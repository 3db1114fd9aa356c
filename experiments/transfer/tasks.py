# SPDX-License-Identifier: BSD-3-Clause
"""Asks the program for every method on every draw. A cell is one class of a set as the target, seen by one network, with
one kind of sources: SVMs of the other classes, the same with noise beside them, or scores of a classifier off the shelf.

A draw is a few small files, in which the training rows of the smaller draws are those that have a label: two processes a
method and size, one that learns and one that tests, with no file larger than needed.
"""
import random

import npy
import protocol
import sources
from common import call
from protocol import NEGATIVES, SIZES, TEST

SVM, NOISY = "svm", "noise"


def cells(studies, options):
    """[(study, network, class, kind)]"""
    return [(study, network, label, kind) for kind in (SVM, *protocol.SHELF, NOISY) for study in studies
            if kind not in protocol.SHELF or (study["folder"] / f"{kind}.train.npy").is_file()
            for network in study["networks"] for label in study["targets"][:options.classes]]


def write_common(studies, options, scratch):
    """Labels, the same for all draws but for the number of positives to test on; noise, the same for all cells."""
    for size in SIZES:
        words = ["0"] * NEGATIVES + ["1"] * size + [""] * (max(SIZES) - size)
        (scratch / f"train.{size}.txt").write_text("\n".join([*words, ""]))
    for count in {protocol.positives(study, label) for study in studies for label in study["targets"]}:
        words = ["0"] * TEST + ["1"] * count + [""] * (TEST - count)
        (scratch / f"test.{count}.txt").write_text("\n".join([*words, ""]))
    for number in range(options.draws):
        for dims in protocol.NOISE:
            rng = random.Random(f"noise {dims} {number}")
            for part, rows in (("train", NEGATIVES + max(SIZES)), ("test", 2 * TEST)):
                npy.write_floats(scratch / f"noise.{dims}.{number}.{part}.npy",
                                 [[rng.gauss(0, 1) for _ in range(dims)] for _ in range(rows)])


def balanced(scores, count):
    """Percent, of the sign of the scores of TEST negatives and then `count` positives."""
    right = [sum(score <= 0 for score in scores[:TEST]), sum(score > 0 for score in scores[TEST:TEST + count])]
    return 50 * (right[0] / TEST + right[1] / count)


class Cell:
    """Files of one cell, and the questions that are asked about them."""

    def __init__(self, program, cell, work, common, scratch):
        self.program, self.common, self.scratch = program, common, scratch
        self.study, self.network, self.label, self.kind = cell
        self.count = protocol.positives(self.study, self.label)
        self.features = {part: npy.read(self.file(self.network, part)) for part in sources.PARTS}
        self.shelf = self.kind in protocol.SHELF
        self.scores = {part: npy.read(self.file(self.kind, part)) if self.shelf else
                       sources.columns(self.study, self.network, self.label, work, part) for part in sources.PARTS}

    def file(self, name, part):
        return self.study["folder"] / f"{name}.{part}.npy"

    def draw(self, number):
        """Writes the draw's files; balanced accuracy of the best source by the test rows, None where 0 is no threshold."""
        for part, rows in zip(sources.PARTS, protocol.draw(self.study, self.label, number)):
            npy.write(self.scratch / f"f.{part}.npy", self.features[part], rows)
            if self.shelf:
                npy.write(self.scratch / f"s.{part}.npy", self.scores[part], rows)
            else:
                picked = [[column[row] for row in rows] for column in self.scores[part]]
                npy.write_floats(self.scratch / f"s.{part}.npy", list(zip(*picked)))
        return None if self.shelf else max(balanced(column, self.count) for column in picked)

    def given(self, part, number, dims):
        """The files of a draw. Noise comes as one more source: nothing normalises it there, and to the methods that are
        compared a column is a column."""
        noise = [f"noise={self.common}/noise.{dims}.{number}.{part}.npy"] if dims else []
        return f"f={self.scratch}/f.{part}.npy", "--source", f"s={self.scratch}/s.{part}.npy", *noise

    def ask(self, method, size, number, dims=0):
        """Balanced accuracy in percent."""
        head = self.scratch / "head.safetensors"
        word, weights = protocol.weighing(method)
        call(self.program, "transfer", "--target", *self.given("train", number, dims), "--labels",
             self.common / f"train.{size}.txt", "--method", word, "--class-weight", weights,
             "--threads", "1", "-o", head)
        tested = call(self.program, "eval", head, *self.given("test", number, dims), "--labels",
                      self.common / f"test.{self.count}.txt", "--threads", "1")
        return 100 * tested["metrics"]["balanced_accuracy"]


def questions(kind):
    """[(method, size, dimensions of noise)]"""
    if kind == NOISY:
        return [(method, size, dims) for dims in protocol.NOISE for size in SIZES for method in protocol.NOISE_METHODS]
    return [(method, size, 0) for size in SIZES for method in protocol.METHODS]


def answer(asked, number, found, method, size, dims):
    """As many positives as negatives need no weights: then what was found without them is taken."""
    plain = found.get(name(protocol.weighing(method)[0], size, dims), [])
    return plain[number] if size == NEGATIVES and len(plain) > number else asked.ask(method, size, number, dims)


def measure(program, cell, options, work, common, scratch):
    """{"method size noise": [balanced accuracy of every draw]}"""
    asked = Cell(program, cell, work, common, scratch)
    found = {}
    for number in range(options.draws):
        best = asked.draw(number)
        if cell[3] == SVM:
            for size in SIZES:
                found.setdefault(name(protocol.ORACLE, size), []).append(best)
        for question in questions(cell[3]):
            found.setdefault(name(*question), []).append(answer(asked, number, found, *question))
    return found


def name(method, size, dims=0):
    return f"{method} {size} {dims}"
