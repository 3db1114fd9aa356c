# SPDX-License-Identifier: BSD-3-Clause
"""The section on online learning: one pass of `tenon fit --method pa` and the other rules over a page-cached file.

Everybody is compared by time a sample. The plain loop and scikit-learn, which are slow, get the PLAIN shape: few rows
of the same columns and classes. tenon learns that one too, in file order, to show that the loop learned the same.
"""
import array
import json
import sys

import online_report as report
from measure import HERE, SEED, ask, cached, compile_program, machine, make_data, measure, measure_peaks

PAGE = "bench-online.md"
LIMIT_SECONDS = 300  # a peer that needs more counts with that
SHAPE, PLAIN = (50_000, 4096, 1000), (4000, 4096, 1000)
QUICK_SHAPE, QUICK_PLAIN = (4000, 1024, 100), (1000, 1024, 100)
TARGETED, OTHERS = ("pa", "arow", "scw"), ("perceptron", "sgd", "pa2", "cw", "nherd", "scw2")
AGAINST_REST = ("pa u-ovr", "arow u-ovr", "scw u-ovr", "pa e-ovr")
PEERS = ("sklearn-pa", "sklearn-sgd")
RUNS, PEER_ROWS, QUICK_PEER_ROWS = 3, 500, 200
LARGE_BYTES, QUICK_LARGE_BYTES, LARGE_DIM, LARGE_CLASSES = 20 * 10 ** 9, 10 ** 9, 4096, 10


def fit_command(program, contestant, paths, head, *more):
    """A contestant is a method, or a method and its form."""
    method, form = (contestant.split() + ["mul"])[:2]
    return [program, "fit", f"a={paths[0]}", "--labels", paths[1], "--method", method, "--multiclass", form,
            "--epochs", "1", "--select", "all", "--loo", "0", "-o", head, "--json", "--quiet", *more]


def learn(program, method, paths, directory, *more, watch=False):
    """One run: (seconds of the process, peaks of its memory, what it said of its pass)."""
    command = fit_command(program, method, paths, directory / "head.safetensors", *more)
    seconds, peaks, output = measure_peaks(command, None, directory, LIMIT_SECONDS, watch=watch)
    if output is None:
        sys.exit(f"bench: one pass of {method} took more than {LIMIT_SECONDS} s")
    return seconds, peaks, output["epochs"][0]


def time_tenon(program, method, paths, shape, directory):
    """Best of some runs in the environment that a user has; memory from one more, which is not timed."""
    runs = RUNS if method in TARGETED else 1
    results = [learn(program, method, paths, directory) for _ in range(runs)]
    process, _, epoch = min(results, key=lambda result: result[2]["seconds"])
    entry = {"contestant": method, "rows": shape[0], "seconds": epoch["seconds"], "process": process, "runs": runs,
             "mistakes": epoch["mistakes"], "updates": epoch["updates"]}
    if method in TARGETED:
        entry |= learn(program, method, paths, directory, watch=True)[1]
    return entry


def time_plain(loop, paths, shape, environment):
    command = [loop, paths[0], str(shape[1]), str(shape[2]), paths[1], str(shape[0])]
    best = min((json.loads(ask(command, environment)) for _ in range(RUNS)), key=lambda result: result["seconds"])
    return {"contestant": "plain", "runs": RUNS} | best


def time_peer(name, paths, rows, threads, environment, directory):
    command = [sys.executable, HERE / "online_peers.py", name, *paths, str(rows), str(threads)]
    seconds, peak, output = measure(command, environment, directory, LIMIT_SECONDS)
    entry = {"contestant": name, "runs": 1, "anon_mb": peak, "stopped": output is None}
    return entry | (output or {"rows": rows, "seconds": seconds})


def npy_header(kind, shape):
    words = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    return b"\x93NUMPY\x01\x00\x76\x00" + words.ljust(117).encode() + b"\n"


def bench_large(program, size, directory):
    """A file with a hole in place of its values: it needs no disk, but every page of it is read as any other's."""
    rows = size // (4 * LARGE_DIM)
    paths = directory / "large.npy", directory / "large_labels.npy"
    with open(paths[0], "wb") as file:
        file.write(npy_header("<f4", (rows, LARGE_DIM)))
        file.truncate(128 + 4 * rows * LARGE_DIM)
    with open(paths[1], "wb") as file:
        file.write(npy_header("<i8", (rows,)))
        array.array("q", (i % LARGE_CLASSES for i in range(rows))).tofile(file)
    seconds, peaks, epoch = learn(program, "pa", paths, directory, watch=True)
    for path in paths:
        path.unlink()
    return {"rows": rows, "dim": LARGE_DIM, "classes": LARGE_CLASSES, "gb": size / 1e9, "process": seconds,
            "seconds": epoch["seconds"]} | peaks


def bench_few_rows(program, shape, peer_rows, threads, environment, directory):
    """The plain loop and scikit-learn, and tenon on the same rows in the same order."""
    paths = make_data(directory, shape, environment)
    loop = compile_program("online_plain", directory)
    plain = time_plain(loop, paths, shape, environment)
    same = learn(program, "pa", paths, directory, "--shuffle", "no")[2]
    return plain | {"same": same}, [time_peer(name, paths, peer_rows, threads, environment, directory)
                                    for name in PEERS]


def bench_tenon(program, shape, environment, directory):
    paths = make_data(directory, shape, environment)
    cached(paths[0])
    entries = []
    for method in TARGETED + OTHERS + AGAINST_REST:
        entries.append(time_tenon(program, method, paths, shape, directory))
        report.print_entry(entries[-1], entries)
    return entries


def run(program, environment, directory, quick):
    """Everything the report of this section needs."""
    shape, few = (QUICK_SHAPE, QUICK_PLAIN) if quick else (SHAPE, PLAIN)
    facts = machine(program)
    report.print_shape(shape)
    entries = bench_tenon(program, shape, environment, directory)
    gemm = max(facts["gemm_gflops"], machine(program)["gemm_gflops"])
    plain, peers = bench_few_rows(program, few, QUICK_PEER_ROWS if quick else PEER_ROWS, facts["threads"],
                                  environment, directory)
    for entry in (plain, *peers):
        report.print_entry(entry, entries)
    found = {"shape": shape, "few": few, "entries": [*entries, plain, *peers], "gemm": gemm, "seed": SEED,
             "threads": facts["threads"], "simd": facts["simd"],
             "large": bench_large(program, QUICK_LARGE_BYTES if quick else LARGE_BYTES, directory)}
    report.print_targets(found)
    return found
