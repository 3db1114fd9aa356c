# SPDX-License-Identifier: BSD-3-Clause
"""The section on moments as files: how near a shard's sums come to the machine's matrix product, what folds and merging cost, and
how memory grows with the rows.

Times are processor time of one thread, of both in turns, so that company on the machine takes little away. The floor is dgemm of the
same sizes as the blocks of rows have, by NumPy with the program's kernels: sums are double.
"""
import json
import os
import subprocess
import sys
import threading

import numpy as np

import moments_report as report
from measure import SEED, memory_mb

PAGE = "bench-moments.md"
SHAPES = {"full": (50_000, 1024, 100), "quick": (10_000, 512, 20), "tiny": (300, 16, 3)}
ROWS = {"full": (10_000, 100_000, 1_000_000), "quick": (2000, 20_000), "tiny": (300, 600)}
TURNS = {"full": 5, "quick": 3, "tiny": 1}
PARTS = 8
GEMM = """
import sys, time
import numpy as np
d, rows, turns = map(int, sys.argv[1:])
a, b = np.random.default_rng(0).standard_normal((d, rows)), np.random.default_rng(1).standard_normal((rows, d))
best = 1e9
for _ in range(turns):
    start = time.process_time()
    for _ in range(10):
        a @ b
    best = min(best, (time.process_time() - start) / 10)
print(2 * d * d * rows / best / 1e9)
"""


def write_rows(directory, rows, dim, classes):
    """x.npy in half precision and y.txt, block by block: class centres and noise."""
    rng = np.random.default_rng(SEED)
    centres = 0.3 * rng.standard_normal((classes, dim), dtype=np.float32)
    x = np.lib.format.open_memmap(directory / "x.npy", mode="w+", dtype=np.float16, shape=(rows, dim))
    with open(directory / "y.txt", "w") as labels:
        for start in range(0, rows, 10_000):
            n = min(10_000, rows - start)
            y = rng.integers(0, classes, n)
            x[start:start + n] = centres[y] + rng.standard_normal((n, dim), dtype=np.float32)
            labels.write("".join(f"{c}\n" for c in y))
    x.flush()
    return [f"x={directory / 'x.npy'}", "--labels", directory / "y.txt"]


def run_once(command, environment):
    """(processor seconds, peak of anonymous memory in MB, output)"""
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True, env=environment)
    peak, done = [0.0], threading.Event()

    def watch():
        while not done.wait(0.01):
            peak[0] = max(peak[0], memory_mb(process.pid).get("anon_mb", 0.0))

    watcher = threading.Thread(target=watch)
    watcher.start()
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    done.set()
    watcher.join()
    if process.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, peak[0], json.loads(output)


def gemm_speed(dim, environment):
    done = subprocess.run([sys.executable, "-c", GEMM, str(dim), "512", "3"], env=environment | {"OPENBLAS_NUM_THREADS": "1"},
                          stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def bench_speed(program, shape, environment, directory, turns):
    rows, dim, classes = shape
    files = write_rows(directory, rows, dim, classes)
    end = ["--threads", "1", "--json", "-o", directory / "m.safetensors"]
    commands = {"moments": [program, "moments", *files, *end], "moments --folds 5": [program, "moments", *files, "--folds", "5", *end],
                "moments --normalize none": [program, "moments", *files, "--normalize", "none", *end]}
    seconds, gemm = {name: [] for name in commands}, []
    for _ in range(turns):
        gemm.append(gemm_speed(dim, environment))
        for name, command in commands.items():
            seconds[name].append(run_once(command, environment)[0])
    flops = rows * dim * (dim + 1)
    return {"shape": shape, "gemm": max(gemm),
            "entries": [{"contestant": name, "seconds": min(s), "gflops": flops / min(s) / 1e9} for name, s in seconds.items()]}


def bench_merge(program, shape, environment, directory):
    rows, dim, classes = shape
    files, step = write_rows(directory, rows, dim, classes), rows // PARTS
    parts = [directory / f"part{p}.safetensors" for p in range(PARTS)]
    for p, path in enumerate(parts):
        run_once([program, "moments", *files, "--rows", f"{p * step}:{(p + 1) * step}", "--json", "-o", path], environment)
    merged = directory / "all.safetensors"
    found = [("moments merge", run_once([program, "moments", "merge", *parts, "--threads", "1", "--json", "-o", merged], environment)),
             ("rank --moments", run_once([program, "rank", "--moments", merged, "--threads", "1", "--json"], environment))]
    return {"parts": PARTS, "bytes": parts[0].stat().st_size,
            "entries": [{"contestant": name, "seconds": run[0], "memory": run[1]} for name, run in found]}


def bench_memory(program, counts, shape, environment, directory):
    entries = []
    for rows in counts:
        files = write_rows(directory, rows, *shape[1:])
        path = directory / "m.safetensors"
        summed = run_once([program, "moments", *files, "--threads", "1", "--json", "-o", path], environment)
        ranked = run_once([program, "rank", "--moments", path, "--threads", "1", "--json"], environment)
        entries.append({"rows": rows, "seconds": summed[0], "memory": summed[1], "rank_seconds": ranked[0], "rank_memory": ranked[1],
                        "input": (directory / "x.npy").stat().st_size / 1e6, "file": path.stat().st_size / 1e6,
                        "gain": ranked[2]["candidates"][0]["gain_per_label"]})
    return {"dim": shape[1], "classes": shape[2], "entries": entries}


def run(program, environment, directory, size):
    """Everything the report of this section needs."""
    found = {"seed": SEED, "speed": bench_speed(program, SHAPES[size], environment, directory, TURNS[size])}
    report.print_speed(found["speed"])
    found["merge"] = bench_merge(program, SHAPES[size], environment, directory)
    report.print_merge(found["merge"])
    found["memory"] = bench_memory(program, ROWS[size], SHAPES[size], environment, directory)
    report.print_memory(found["memory"])
    return found
