# SPDX-License-Identifier: BSD-3-Clause
"""Two programs, command by command of the benchmarks, in alternating runs: did a change cost time?

Usage: alternate.py OLD NEW [ROUNDS]
Peers have no part in it. A neighbour on the machine disturbs both alike, and the least of the rounds counts, in seconds of
the clock and of the processors. Options are those that both programs know.
"""
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import cost
import evidence
import kernel
import linear
import online
import transfer
from measure import make_data

ROUNDS = 5
HEAD = ("--select", "all", "--loo", "0")


def commands(directory):
    """(name, words after the program) of every section, on the shapes of the full benchmarks that take seconds."""
    for shape in evidence.SHAPES["full"][:3]:
        paths = make_data(directory, shape, None)
        yield f"rank {shape}", ["rank", f"a={paths[0]}", "--labels", paths[1], "--loo", "0"]
        yield f"rank --loo {shape}", ["rank", f"a={paths[0]}", "--labels", paths[1]]
    head = directory / "head.safetensors"
    for shape in linear.SHAPES["full"][:2]:
        paths = make_data(directory, shape, None)
        data = [f"a={paths[0]}", "--labels", paths[1]]
        for method in ("evidence", "svm", "logistic"):
            yield f"fit {method} {shape}", ["fit", *data, *HEAD, "--method", method, "-o", head]
    for method in ("svm", "logistic"):
        for value in ("1", "100"):
            paths = make_data(directory, cost.SHAPES["full"][0], None, cost.OFFSET, cost.NOISE)
            yield (f"fit {method} C = {value} {cost.SHAPES['full'][0]}",
                   ["fit", f"a={paths[0]}", "--labels", paths[1], *HEAD, "--method", method, "--C", value, "-o", head])
    shape = (20_000, *online.SHAPES["full"][0][1:])
    paths = make_data(directory, shape, None)
    for method in online.TARGETED:
        yield f"fit {method} {shape}", online.fit_command("", method, paths, head)[1:]
    yield f"predict {shape}", ["predict", head, f"a={paths[0]}", "-o", directory / "out.csv"]
    yield f"eval {shape}", ["eval", head, f"a={paths[0]}", "--labels", paths[1]]
    for columns in transfer.COLUMNS["full"]:
        target, source, labels = transfer.make_task(directory, columns, None)
        yield f"transfer {columns} columns", ["transfer", "--target", f"a={target}", "--labels", labels, "--source", f"s={source}",
                                              "--method", "greedytl", "--k", "20", "--delta", "0", "--normalize", "none", "-o", head]
    shape = (3000, 1024, 20)
    paths = make_data(directory, shape, None)
    yield f"kernel learn {shape}", ["kernel", "learn", "--data", f"a={paths[0]}", paths[1], "-o", head]


def run(program, words, directory):
    """(seconds, processor seconds)"""
    quiet = [] if words[0] == "predict" else ["--json"]
    with open(directory / "said", "w") as said:
        before, start = os.times(), time.perf_counter()
        subprocess.run([program, *words, *quiet, "--quiet"], stdout=said, check=True)
        seconds, after = time.perf_counter() - start, os.times()
    return seconds, (after.children_user + after.children_system) - (before.children_user + before.children_system)


def compare(programs, words, rounds, directory):
    """Least (seconds, processor seconds) of each program; who begins changes from round to round."""
    times = {program: [] for program in programs}
    for number in range(rounds):
        for program in programs[::1 if number % 2 else -1]:
            times[program].append(run(program, words, directory))
    return [[min(column) for column in zip(*times[program])] for program in programs]


def main(arguments):
    if len(arguments) not in (2, 3):
        sys.exit(__doc__)
    programs, rounds = [pathlib.Path(word).resolve() for word in arguments[:2]], int((arguments[2:] or [ROUNDS])[0])
    logs = []
    print(f"{'command':44} {'old s':>8} {'new s':>8} {'new/old':>8} {'processor':>10}", flush=True)
    with tempfile.TemporaryDirectory(prefix="alternate-") as scratch:
        for name, words in commands(pathlib.Path(scratch)):
            old, new = compare(programs, words, rounds, pathlib.Path(scratch))
            logs.append([math.log(b / a) for a, b in zip(old, new)])
            print(f"{name:44} {old[0]:8.3f} {new[0]:8.3f} {new[0] / old[0]:8.3f} {new[1] / old[1]:10.3f}", flush=True)
    means = [math.exp(sum(column) / len(column)) for column in zip(*logs)]
    print(f"{'geometric mean':62} {means[0]:8.3f} {means[1]:10.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
