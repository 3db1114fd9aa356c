# SPDX-License-Identifier: BSD-3-Clause
"""The section on transfer: GreedyTL on few rows and many columns, one thread for everybody.

The target of 5 ms is one of the algorithm: transfer_path.c times it inside the process, with the program's own objects. The
whole `tenon transfer` stands beside it. In the wide shape the process is what counts, and its memory.
"""
import json
import sys

import transfer_report as report
from measure import HERE, SEED, ask, cached, compile_with_objects, make_data, measure, measure_peaks

PAGE = "bench-transfer.md"
LIMIT_SECONDS = 300  # a peer that needs more counts with that
ROWS, PICKS, SOURCES = 20, 20, 1000
COLUMNS = {"full": (10_000, 1_000_000), "quick": (10_000, 100_000), "tiny": (1100, 1200)}  # small, wide
PATH_RUNS, WIDE_RUNS, PROCESS_RUNS, PEER_SECONDS = 1000, 5, 5, {"full": 3, "quick": 3, "tiny": 0}
PEERS = ("numpy-direct", "numpy-update", "sklearn-omp", "sklearn-lasso")
ONE_THREAD = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}


def make_task(directory, columns, environment):
    """(target, source, labels): files of one task, both with the labels of the same seed."""
    paths = []
    for name, width in (("target", columns - SOURCES), ("source", SOURCES)):
        (directory / name).mkdir(exist_ok=True)
        features, labels = make_data(directory / name, (ROWS, width, 2), environment)
        paths.append(features)
    return *paths, labels


def time_path(path, paths, runs, environment):
    output = json.loads(ask([path, *paths, str(PICKS), str(runs)], environment))
    return {"contestant": "path", "runs": runs} | output


def time_process(program, paths, directory):
    """Best of some runs in the environment that a user has; memory from one more, which is not timed."""
    target, source, labels = paths
    command = [program, "transfer", "--target", f"a={target}", "--labels", labels, "--source", f"s={source}", "--method",
               "greedytl", "--k", str(PICKS), "--delta", "0", "--normalize", "none", "--threads", "1", "-o",
               directory / "head.safetensors", "--json", "--quiet"]
    seconds = [measure(command, None, directory, LIMIT_SECONDS, watch=False)[0] for _ in range(PROCESS_RUNS)]
    _, peaks, output = measure_peaks(command, None, directory, LIMIT_SECONDS)
    picks = [pick["index"] + (output["features"] if pick["kind"] == "source" else 0) for pick in output["selected"]]
    return {"contestant": "tenon", "runs": PROCESS_RUNS, "seconds": min(seconds), "picks": picks} | peaks


def time_peer(name, paths, limit, environment, directory):
    command = [sys.executable, HERE / "transfer_peers.py", name, *paths, str(PICKS), str(limit)]
    seconds, peak, output = measure(command, environment, directory, LIMIT_SECONDS)
    entry = {"contestant": name, "anon_mb": peak, "stopped": output is None}
    return entry | (output or {"seconds": seconds, "runs": 1, "picks": []})


def bench_shape(program, path, columns, runs, peers, limit, environment, directory):
    paths = make_task(directory, columns, environment)
    for file in paths:
        cached(file)
    report.print_shape(ROWS, columns)
    entries = [time_path(path, paths, runs, environment),
               time_process(program, paths, directory)]
    for entry in entries:
        report.print_entry(entry, entries)
    for name in peers:
        entries.append(time_peer(name, paths, limit, environment, directory))
        report.print_entry(entries[-1], entries)
    return {"rows": ROWS, "columns": columns, "entries": entries}


def run(program, environment, directory, size):
    """Everything the report of this section needs."""
    environment = environment | ONE_THREAD
    path = compile_with_objects("transfer_path", program, directory)
    small = bench_shape(program, path, COLUMNS[size][0], PATH_RUNS, PEERS if size == "full" else PEERS[1:],
                        PEER_SECONDS[size], environment, directory)
    wide = bench_shape(program, path, COLUMNS[size][1], WIDE_RUNS, PEERS[1:], PEER_SECONDS[size], environment, directory)
    found = {"small": small, "wide": wide, "picks": PICKS, "sources": SOURCES, "seed": SEED}
    report.print_targets(found)
    return found
