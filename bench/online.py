# SPDX-License-Identifier: BSD-3-Clause
"""The section on online learning: one pass of `tenon fit --method pa` and the other rules over a page-cached file.

Everybody is compared by time per sample. The plain loop and scikit-learn, which are slow, get few rows
of the same columns and classes. tenon learns that one too, in file order, to show that the loop learned the same.
Runs of PA and of the loop take turns, so that a neighbour on the machine, or on its cache, disturbs both alike.
"""
import array
import json
import sys

import online_report as report
from measure import HERE, SEED, ask, compile_program, machine, make_data, measure, measure_peaks

PAGE = "bench-online.md"
LIMIT_SECONDS = 300  # a peer that needs more counts with that
# Of all and of the few rows that slower contestants get; rows that peers get; bytes of the large file.
SHAPES = {"full": ((50_000, 4096, 1000), (4000, 4096, 1000)), "quick": ((4000, 1024, 100), (1000, 1024, 100)),
          "tiny": ((90, 16, 3), (60, 16, 3))}
PEER_ROWS, LARGE_BYTES = {"full": 500, "quick": 200, "tiny": 30}, {"full": 20 * 10 ** 9, "quick": 10 ** 9, "tiny": 10 ** 6}
TARGETED, OTHERS = ("pa", "arow", "scw"), ("perceptron", "sgd", "pa2", "cw", "nherd", "scw2")
AGAINST_REST = ("pa u-ovr", "arow u-ovr", "scw u-ovr", "pa e-ovr")
PEERS = ("sklearn-pa", "sklearn-sgd")
RUNS, TURNS, LARGE_DIM, LARGE_CLASSES = 3, 5, 4096, 10


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


def time_tenon(program, method, paths, shape, directory, runs, between=lambda: None):
    """Best of some runs in the environment that a user has; memory from one more, which is not timed."""
    results = []
    for _ in range(runs):
        results.append(learn(program, method, paths, directory))
        between()
    process, _, epoch = min(results, key=lambda result: result[2]["seconds"])
    entry = {"contestant": method, "rows": shape[0], "seconds": epoch["seconds"], "process": process, "runs": runs,
             "mistakes": epoch["mistakes"], "updates": epoch["updates"]}
    if method in TARGETED:
        entry |= learn(program, method, paths, directory, watch=True)[1]
    return entry


def time_in_turns(program, paths, shape, few_paths, few, environment, directory):
    """PA, and the plain loop."""
    loop = compile_program("online_plain", directory)
    command = [loop, few_paths[0], str(few[1]), str(few[2]), few_paths[1], str(few[0])]
    plain = []
    pa = time_tenon(program, "pa", paths, shape, directory, TURNS,
                    lambda: plain.append(json.loads(ask(command, environment))))
    return pa, {"contestant": "plain", "runs": TURNS} | min(plain, key=lambda result: result["seconds"])


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


def bench_tenon(program, paths, shape, directory, entries):
    """Every contestant but PA, which is there already."""
    for method in TARGETED[1:] + OTHERS + AGAINST_REST:
        entries.append(time_tenon(program, method, paths, shape, directory, RUNS if method in TARGETED else 1))
        report.print_entry(entries[-1], entries)


def data_of(directory, name, shape, environment):
    (directory / name).mkdir()
    return make_data(directory / name, shape, environment)


def run(program, environment, directory, size):
    """Everything the report of this section needs."""
    shape, few = SHAPES[size]
    facts = machine(program)
    paths, few_paths = data_of(directory, "all", shape, environment), data_of(directory, "few", few, environment)
    report.print_shape(shape)
    pa, plain = time_in_turns(program, paths, shape, few_paths, few, environment, directory)
    plain |= {"same": learn(program, "pa", few_paths, directory, "--shuffle", "no")[2]}
    entries = [pa]
    for entry in (pa, plain):
        report.print_entry(entry, entries)
    bench_tenon(program, paths, shape, directory, entries)
    gemm = max(facts["gemm_gflops"], machine(program)["gemm_gflops"])
    peers = [time_peer(name, few_paths, PEER_ROWS[size], facts["threads"], environment, directory) for name in PEERS]
    for entry in peers:
        report.print_entry(entry, entries)
    found = {"shape": shape, "few": few, "entries": [*entries, plain, *peers], "gemm": gemm, "seed": SEED,
             "threads": facts["threads"], "simd": facts["simd"],
             "large": bench_large(program, LARGE_BYTES[size], directory)}
    report.print_targets(found)
    return found
