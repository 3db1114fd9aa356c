# SPDX-License-Identifier: BSD-3-Clause
"""Two programs, command by command of the benchmarks, in alternating runs: did a change cost time? See bench/run --against.

Peers have no part in it. A neighbour on the machine disturbs both alike, and the least of the rounds counts, in seconds of
the clock and of the processors. Commands are such as both programs know.
"""
import math
import os
import subprocess
import sys
import time

import cost
import evidence
import kernel
import linear
import online
import transfer
from measure import make_data

ROUNDS, ROWS, KERNEL = 3, 20_000, (3000, 1024)
HEAD = ("--select", "all", "--loo", "0")


def commands(directory, size):
    """(name, words after the program) of every section, on those shapes of the benchmarks that take seconds."""
    head = directory / "head.safetensors"
    for shape in evidence.SHAPES[size][:3]:
        paths = make_data(directory, shape, None)
        data = [f"a={paths[0]}", "--labels", paths[1]]
        yield f"rank {shape}", ["rank", *data, "--loo", "0"]
        yield f"rank with leave-one-out {shape}", ["rank", *data]
    for shape in linear.SHAPES[size][:2]:
        paths = make_data(directory, shape, None)
        for method in ("evidence", "svm", "logistic"):
            yield f"fit {method} {shape}", ["fit", f"a={paths[0]}", "--labels", paths[1], *HEAD, "--method", method, "-o", head]
    shape = cost.SHAPES[size][0]
    paths = make_data(directory, shape, None, cost.OFFSET, cost.NOISE)
    for method in ("svm", "logistic"):
        for value in ("1", "100"):
            yield (f"fit {method} C = {value} {shape}",
                   ["fit", f"a={paths[0]}", "--labels", paths[1], *HEAD, "--method", method, "--C", value, "-o", head])
    shape = (min(ROWS, online.SHAPES[size][0][0]), *online.SHAPES[size][0][1:])
    paths = make_data(directory, shape, None)
    for method in online.TARGETED:
        yield f"fit {method} {shape}", online.fit_command("", method, paths, head)[1:-2]
    yield f"predict {shape}", ["predict", head, f"a={paths[0]}"]
    yield f"eval {shape}", ["eval", head, f"a={paths[0]}", "--labels", paths[1]]
    for columns in transfer.COLUMNS[size]:
        target, source, labels = transfer.make_task(directory, columns, None)
        yield f"transfer {columns} columns", ["transfer", "--target", f"a={target}", "--labels", labels, "--source",
                                              f"s={source}", "--method", "greedytl", "--k", "20", "--delta", "0", "-o", head]
    shape = (min(KERNEL[0], kernel.SHAPES[size][0]), min(KERNEL[1], kernel.SHAPES[size][1]), kernel.SHAPES[size][2])
    paths = make_data(directory, shape, None)
    yield f"kernel learn {shape}", ["kernel", "learn", "--data", f"a={paths[0]}", paths[1], "-o", head]


def run(program, words, directory):
    """(seconds, processor seconds)"""
    with open(directory / "said", "w") as said:
        start = time.perf_counter()
        process = subprocess.Popen([program, *words, "--json", "--quiet"], stdout=said)
        _, status, usage = os.wait4(process.pid, 0)
        seconds, process.returncode = time.perf_counter() - start, os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: {program} {words[0]} ended with {process.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime


def compare(programs, words, rounds, directory):
    """Least (seconds, processor seconds) of each program; who begins changes from round to round."""
    times = {program: [] for program in programs}
    for number in range(rounds):
        for program in programs[::1 if number % 2 else -1]:
            times[program].append(run(program, words, directory))
    return [[max(min(column), 1e-3) for column in zip(*times[program])] for program in programs]


def main(old, new, size, scratch):
    """Prints a row per command as it ends; returns them all."""
    logs, lines = [], []

    def tell(*cells):
        lines.append("{:48} {:>8} {:>8} {:>8} {:>10}".format(*cells))
        print(lines[-1], flush=True)

    tell("command", "old s", "new s", "new/old", "processor")
    for name, words in commands(scratch, size):
        before, after = compare([old, new], words, ROUNDS if size == "full" else 1, scratch)
        ratios = [b / a for a, b in zip(before, after)]
        logs.append([math.log(ratio) for ratio in ratios])
        tell(name, f"{before[0]:.3f}", f"{after[0]:.3f}", *(f"{ratio:.3f}" for ratio in ratios))
    tell("geometric mean", "", "", *(f"{math.exp(sum(column) / len(column)):.3f}" for column in zip(*logs)))
    return "\n".join(lines) + "\n"
