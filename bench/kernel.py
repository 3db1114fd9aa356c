# SPDX-License-Identifier: BSD-3-Clause
"""The section on additive kernels: `tenon kernel learn` as a whole process, and rows through explicit maps.

Learning is compared with LIBLINEAR on what it avoids: the 39 functions of every entry as one wide sparse matrix of several
GB. LIBLINEAR gets all rows and columns of it but few classes, and its time is scaled to all.
Maps are timed by kernel_map.c, inside one process with VLFeat: a row at a time, to a place that stays in the cache.
"""
import json
import sys

import numpy as np

import kernel_report as report
from measure import HERE, SEED, ask, cached, compile_with_objects, make_data, measure, measure_peaks

PAGE = "bench-kernel.md"
LIMIT_SECONDS = 600  # one that needs more counts with that
SHAPES = {"full": (6049, 4096, 51), "quick": (800, 256, 10), "tiny": (60, 8, 3)}
MAP_SHAPES, HALF_ZEROS = {"full": (6000, 4096, 2), "quick": (600, 1024, 2), "tiny": (64, 32, 2)}, 0
RUNS, MAP_RUNS, SLICE, SAMPLER_SECONDS = 3, 20, 3, {"full": 10, "quick": 10, "tiny": 0}
THREADS = (1, 2)
BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def learn(program, data, kernel, directory, *more, watch=False):
    """One run: (seconds of the process, peaks of its memory, what it said)."""
    command = [program, "kernel", "learn", "--data", f"a={data[0]}", data[1], "-o", kernel, "--json", "--quiet", *more]
    seconds, peaks, output = measure_peaks(command, None, directory, LIMIT_SECONDS, watch=watch)
    if output is None:
        sys.exit(f"bench: kernel learn took more than {LIMIT_SECONDS} s")
    return seconds, peaks, output


def time_learn(program, paths, kernel, directory):
    """Best of some runs in the environment that a user has; memory from one more, which is not timed."""
    seconds, _, output = min((learn(program, paths, kernel, directory) for _ in range(RUNS)), key=lambda run: run[0])
    peaks = learn(program, paths, kernel, directory, watch=True)[1]
    return {"contestant": "tenon", "runs": RUNS, "seconds": seconds, "said": output} | peaks


def slice_objective(program, paths, classes, scale, directory):
    """What tenon reaches for some of the classes: as many labels of one multi-label task."""
    labels = directory / "slice.npy"
    np.save(labels, (np.load(paths[1])[:, None] == classes).astype(np.uint8))
    return learn(program, (paths[0], labels), directory / "slice.safetensors", directory, "--scale", repr(scale))[2]


def time_liblinear(program, paths, shape, scale, environment, directory):
    classes = np.random.default_rng(SEED).permutation(shape[2])[:SLICE]
    same = slice_objective(program, paths, classes, scale, directory)
    command = [sys.executable, HERE / "kernel_peers.py", "liblinear", *paths, repr(scale), repr(same["objective"]),
               *map(str, classes)]
    seconds, peak, output = measure(command, environment, directory, LIMIT_SECONDS)
    if output is None:
        return {"contestant": "liblinear", "runs": 1, "anon_mb": peak, "seconds": seconds, "stopped": True}
    scaling = shape[2] / len(classes)
    return output | {"contestant": "liblinear", "runs": 1, "anon_mb": peak, "seconds": output["seconds"] * scaling,
                     "scaling": scaling, "target": same["objective"]}


def bench_learning(program, shape, kernel, environment, directory):
    paths = make_data(directory, shape, environment)
    cached(paths[0])
    report.print_shape(shape)
    entries = [time_learn(program, paths, kernel, directory)]
    report.print_entry(entries[0], entries)
    entries.append(time_liblinear(program, paths, shape, entries[0]["said"]["scale"], environment, directory))
    report.print_entry(entries[1], entries)
    return {"shape": shape, "entries": entries}


def time_sampler(features, limit, threads, environment, directory):
    command = [sys.executable, HERE / "kernel_peers.py", "sampler", features, str(limit), str(threads)]
    seconds, _, output = measure(command, environment, directory, LIMIT_SECONDS)
    if output is None:
        sys.exit(f"bench: the sampler took more than {seconds} s")
    return output


def bench_maps(program, shape, limit, kernel, environment, directory):
    features = make_data(directory, shape, environment, HALF_ZEROS)[0]
    loop = compile_with_objects("kernel_map", program, directory, ["-lvl"])
    report.print_map_shape(shape)
    found = {"shape": shape, "zeros": float(np.mean(np.load(features) == 0)), "runs": MAP_RUNS}
    for threads in THREADS:
        output = json.loads(ask([loop, features, kernel, str(MAP_RUNS), str(threads)], environment))
        found["difference"] = output.pop("difference")
        entries = [{"contestant": name, "threads": threads} | entry for name, entry in output.items()]
        alone = environment | dict.fromkeys(BLAS_THREADS, "1")
        entries.append(time_sampler(features, limit, threads, alone, directory) |
                       {"contestant": "sampler", "threads": threads})
        found[threads] = entries
        for entry in entries:
            report.print_map(entry, entries)
    return found


def run(program, environment, directory, size):
    """Everything the report of this section needs."""
    kernel = directory / "kernel.safetensors"
    found = {"learning": bench_learning(program, SHAPES[size], kernel, environment, directory),
             "maps": bench_maps(program, MAP_SHAPES[size], SAMPLER_SECONDS[size], kernel, environment, directory),
             "threads": THREADS, "seed": SEED}
    report.print_targets(found)
    return found
