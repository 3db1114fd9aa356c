# SPDX-License-Identifier: BSD-3-Clause
"""The section on evidence: `tenon rank` as a whole process against peers and the machine's floor.

TENON_BENCH_OLD names an older program: it is measured at the wide shapes and in the search too.
"""
import json
import os
import sys

import numpy as np

import evidence_report as report
from measure import HERE, SEED, ask, cached, compile_program, compile_with_objects, make_data, measure

PAGE = "bench-evidence.md"
LIMIT_SECONDS = 120
SHAPES = {"full": [(5011, 1024, 20), (5011, 4096, 20), (19850, 1024, 397), (19850, 4096, 397)],
          "quick": [(5011, 1024, 20), (19850, 1024, 397)], "tiny": [(90, 16, 3)]}
MEMORY_SHAPES, MEMORY_LIMIT_MB = {"full": (200_000, 1024, 100), "quick": (200_000, 1024, 100), "tiny": (300, 16, 3)}, 400
WIDTHS = {"full": [1024, 2048, 4096, 8192, 16384], "quick": [1024, 2048], "tiny": [48]}
SYTRD_WIDEST = 8192  # LAPACK's single stage needs minutes beyond
NETWORKS = {"full": (15_000, 2048, 20, 6), "quick": (3000, 512, 20, 3), "tiny": (90, 8, 3, 2)}  # rows, columns, classes, how many
SEARCH_SECONDS = 900
THREADS = {"full": (5011, 4096, 20), "quick": (5011, 2048, 20), "tiny": (90, 16, 3)}
OLD = os.environ.get("TENON_BENCH_OLD")  # an older program, to be measured beside this one
PEERS = ["logme", "logme-eigh", "ridge-loo", "ridge-5fold"]


def rank_command(program, paths, *more):
    return [program, "rank", f"a={paths[0]}", "--labels", paths[1], "--loo", "0", "--json", "--quiet", *more]


def time_old(paths, runs, directory):
    """The older program, where there is one."""
    seconds = min(measure(rank_command(OLD, paths), None, directory, LIMIT_SECONDS, watch=False)[0] for _ in range(runs))
    return {"contestant": "before", "seconds": seconds, "runs": runs, "note": "", "value": None}


def time_tenon(program, paths, runs, directory):
    """Best of some runs in the environment that a user has; the value is for the comparison with LogME."""
    results = [measure(rank_command(program, paths), None, directory, LIMIT_SECONDS, watch=False) for _ in range(runs)]
    best = min(results, key=lambda result: result[0])
    peak = measure(rank_command(program, paths), None, directory, LIMIT_SECONDS)[1]
    plain = measure(rank_command(program, paths, "--intercept", "no"), None, directory, LIMIT_SECONDS)[2]
    entry = {"contestant": "tenon", "seconds": best[0], "runs": runs, "anon_mb": peak,
             "note": "", "inside": best[2]["seconds"], "value": None}
    if plain:
        entry["value"] = plain["candidates"][0]["log_evidence"] / plain["rows"] / plain["classes"]
    return entry


def time_peer(name, paths, environment, directory):
    seconds, peak, output = measure([sys.executable, HERE / "peers.py", name, *paths], environment, directory,
                                    LIMIT_SECONDS)
    if output is None:
        return {"contestant": name, "seconds": None, "runs": 1, "anon_mb": peak, "note": f"> {seconds} s",
                "value": None}
    return {"contestant": name, "anon_mb": peak} | output


def time_floor(floor, shape, environment):
    return json.loads(ask([floor, *map(str, shape)], environment))


def floor_entry(first, second):
    """The floor was measured before and after tenon; the lesser time of each routine counts."""
    parts = {key: min(first[key], second[key]) for key in ("syrk", "sytrd", "ormtr", "sterf")}
    parts["sgemm_gflops"] = max(first["sgemm_gflops"], second["sgemm_gflops"])
    return {"contestant": "floor", "seconds": parts["syrk"] + parts["sytrd"] + parts["ormtr"],
            "note": "least of before and after"} | parts


def bench_shape(program, floor, shape, environment, directory):
    paths = make_data(directory, shape, environment)
    report.print_shape(shape)
    before, runs = time_floor(floor, shape, environment), 2 if shape == SHAPES["full"][-1] else 3
    tenon = time_tenon(program, paths, runs, directory)
    entries = [tenon, floor_entry(before, time_floor(floor, shape, environment))]
    if OLD and shape[1] >= report.WIDE:
        entries.append(time_old(paths, runs, directory))
    for entry in entries:
        report.print_entry(entry, entries)
    for name in PEERS:
        entries.append(time_peer(name, paths, environment, directory))
        report.print_entry(entries[-1], entries)
    result = {"shape": shape, "entries": entries}
    report.print_targets(result, LIMIT_SECONDS)
    return result


def bench_memory(program, shape, environment, directory):
    paths = make_data(directory, shape, environment)
    seconds, peak, _ = measure(rank_command(program, paths), None, directory, LIMIT_SECONDS)
    return {"shape": shape, "seconds": seconds, "anon_mb": peak, "limit_mb": MEMORY_LIMIT_MB,
            "file_mb": paths[0].stat().st_size / 1e6}


def bench_widths(program, widths, environment, directory):
    """The reduction alone, as the width grows."""
    reduction = compile_with_objects("reduction", program, directory)
    threads = str(json.loads(ask([program, "doctor", "--json"]))["threads"])
    return [{"width": n} | json.loads(ask([reduction, str(n), threads, "1" if n <= SYTRD_WIDEST else "0"], environment))
            for n in widths]


def bench_threads(program, shape, environment, directory):
    """One thread, and as many as the machine has: least of three of each, in turn."""
    paths = make_data(directory, shape, environment)
    most = json.loads(ask([program, "doctor", "--json"]))["threads"]
    seconds = {threads: [] for threads in (1, most)}
    for _ in range(3):
        for threads, found in seconds.items():
            found.append(measure(rank_command(program, paths, "--threads", str(threads)), None, directory, LIMIT_SECONDS, False)[0])
    return {"shape": shape, "seconds": {threads: min(found) for threads, found in seconds.items()}}


def search_once(program, networks, labels, directory):
    """(seconds, anonymous MB, output) of a greedy search."""
    command = [program, "fit", *networks, "--labels", labels, "--method", "evidence", "--select", "greedy", "--loo", "0",
               "-o", directory / "head.safetensors", "--json", "--quiet"]
    return measure(command, None, directory, SEARCH_SECONDS)


def bench_search(program, shape, environment, directory):
    """A greedy search over networks: columns and noise of their own, of the same classes."""
    rows, dim, classes, count = shape
    all_of_them, labels = make_data(directory, (rows, dim * count, classes), environment)
    networks, features = [directory / f"network{i}.npy" for i in range(count)], np.load(all_of_them, mmap_mode="r")
    for i, network in enumerate(networks):
        np.save(network, features[:, i * dim:(i + 1) * dim])
        cached(network)
    seconds, peak, output = search_once(program, networks, labels, directory)
    old_seconds, _, old_output = search_once(OLD, networks, labels, directory) if OLD else (None, None, None)
    for network in networks:
        network.unlink()
    return {"shape": shape, "seconds": seconds if output else None, "anon_mb": peak,
            "picked": len(output["selected"]) if output else None, "limit": SEARCH_SECONDS, "before": old_seconds,
            "same": old_output is not None and output is not None and output["selected"] == old_output["selected"]}


def run(program, environment, directory, size):
    """Everything the report of this section needs."""
    floor = compile_program("floor", directory)
    results = [bench_shape(program, floor, shape, environment, directory) for shape in SHAPES[size]]
    memory = bench_memory(program, MEMORY_SHAPES[size], environment, directory)
    report.print_memory(memory)
    widths = bench_widths(program, WIDTHS[size], environment, directory)
    report.print_widths(widths)
    threads = bench_threads(program, THREADS[size], environment, directory)
    report.print_threads(threads)
    search = bench_search(program, NETWORKS[size], environment, directory)
    report.print_search(search)
    return {"results": results, "memory": memory, "widths": widths, "threads": threads, "search": search, "seed": SEED,
            "limit": LIMIT_SECONDS}
