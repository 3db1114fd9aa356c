# SPDX-License-Identifier: BSD-3-Clause
"""The section on several processes: the program under mpirun against one process with threads, on one machine.

Wall time is what ranks are for, and what another program on the machine spoils; processor time is shown beside it. Runs of the two
that are compared take turns, and of each the best counts. Ranks beyond the cores share them: that is told, and no target.
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import time

import mpi_report as report
from measure import HERE, SEED, Skipped, ask, compile_program, make_data

PAGE = "bench-mpi.md"
LIMIT_SECONDS = 600
SHAPES = {"full": (200_000, 1024, 100), "quick": (20_000, 512, 20), "tiny": (600, 16, 3)}
WEAK_ROWS = {"full": 50_000, "quick": 5000, "tiny": 300}
FITS = {"full": (20_000, 512, 20), "quick": (4000, 128, 10), "tiny": (300, 16, 3)}
TURNS = {"full": 3, "quick": 2, "tiny": 1}
RANKS = (1, 2, 3, 4)
SIZES = (8, 4096, 1 << 16, 1 << 20, 1 << 23)
METHODS = (("svm", []), ("logistic", []), ("pa", ["--epochs", "3"]))


def launcher():
    words = ["mpirun"]
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
    if "Open MPI" in version or "OpenRTE" in version:
        words += ["--oversubscribe", "--bind-to", "none"] + (["--allow-run-as-root"] if os.getuid() == 0 else [])
    return words, version.splitlines()[0] if version else "unknown"


def run_once(command):
    """(seconds, processor seconds of it and its children, parsed output)"""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, timeout=LIMIT_SECONDS)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} ended with {done.returncode}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.loads(done.stdout)


def ranks_command(launch, ranks, command):
    return [*launch, "-n", str(ranks), *command]


def best_of(commands, turns):
    """Commands by name, in turns: of each the run of the least time."""
    runs = {name: [] for name in commands}
    for _ in range(turns):
        for name, command in commands.items():
            runs[name].append(run_once(command))
    return {name: min(found, key=lambda run: run[0]) for name, found in runs.items()}


def rank_command(program, paths, threads):
    return [program, "rank", f"a={paths[0]}", "--labels", paths[1], "--json", "--quiet", "--threads", str(threads)]


def bench_strong(program, launch, shape, environment, directory, turns):
    paths = make_data(directory, shape, environment)
    commands = {"1 process, 2 threads": rank_command(program, paths, 2),
                "2 ranks, 1 thread": ranks_command(launch, 2, rank_command(program, paths, 1))}
    runs = best_of(commands, turns)
    for p in (1, 3, 4):
        runs |= best_of({f"{p} rank{'s' if p > 1 else ''}, 1 thread": ranks_command(launch, p, rank_command(program, paths, 1))}, 1)
    want = runs["1 process, 2 threads"][2]["candidates"][0]["log_evidence"]
    entries = [{"contestant": name, "seconds": run[0], "processor": run[1], "inside": run[2]["seconds"],
                "difference": abs(run[2]["candidates"][0]["log_evidence"] / want - 1)} for name, run in runs.items()]
    return {"shape": shape, "entries": entries}


def bench_weak(program, launch, rows, shape, environment, directory):
    entries = []
    for p in (1, 2, 4):
        paths = make_data(directory, (rows * p, *shape[1:]), environment)
        seconds, processor, output = run_once(ranks_command(launch, p, rank_command(program, paths, 1)))
        entries.append({"ranks": p, "rows": rows * p, "seconds": seconds, "processor": processor, "inside": output["seconds"]})
    return entries


def bench_fits(program, launch, shape, environment, directory):
    paths, entries = make_data(directory, shape, environment), []
    for method, options in METHODS:
        command = [program, "fit", f"a={paths[0]}", "--labels", paths[1], "--method", method, *options, "--select", "all", "--loo", "0",
                   "-o", directory / "head.safetensors", "--json", "--quiet", "--threads"]
        for name, line in (("1 process, 2 threads", [*command, "2"]), ("2 ranks, 1 thread", ranks_command(launch, 2, [*command, "1"]))):
            seconds, processor, output = run_once(line)
            entries.append({"method": method, "contestant": name, "seconds": seconds, "processor": processor,
                            "inside": output["seconds"], "objective": output.get("objective"), "gap": output.get("gap")})
    return {"shape": shape, "entries": entries}


def bench_messages(program, launch, environment, directory, counts):
    speed = compile_program("team_speed", directory, [f"-I{HERE.parent / folder}" for folder in ("src", "include")] + ["-ldl"])
    plugin = program.parent / "libtenon_mpi.so"
    return [json.loads(ask([*launch, "-n", str(p), str(speed), str(plugin), *map(str, SIZES)],
                           environment | {"OPENBLAS_NUM_THREADS": "1"})) for p in counts]


def run(program, environment, directory, size):
    """Everything the report of this section needs."""
    if not shutil.which("mpirun") or not (program.parent / "libtenon_mpi.so").exists():
        raise Skipped("MPI is not installed: no mpirun, or no plug-in beside the program")
    launch, version = launcher()
    found = {"mpi": version, "seed": SEED}
    found["messages"] = bench_messages(program, launch, environment, directory, (2, 4) if size != "tiny" else (2,))
    report.print_messages(found)
    found["strong"] = bench_strong(program, launch, SHAPES[size], environment, directory, TURNS[size])
    report.print_strong(found)
    found["weak"] = bench_weak(program, launch, WEAK_ROWS[size], SHAPES[size], environment, directory)
    report.print_weak(found)
    found["fits"] = bench_fits(program, launch, FITS[size], environment, directory)
    report.print_fits(found)
    return found
