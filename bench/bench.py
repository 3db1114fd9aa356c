# SPDX-License-Identifier: BSD-3-Clause
"""Times `tenon rank` as a whole process against peers and the machine's floor. Called by bench/run.

Every contestant is a process of its own, on data that is in the page cache. OpenBLAS picks its kernels by a list of
processors and can miss a new one; tenon then chooses for itself, and the same choice is put into the environment of
the peers and of the floor, so that nobody wins by that accident.
"""
import json
import os
import pathlib
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import report

HERE = pathlib.Path(__file__).resolve().parent
SEED, LIMIT_SECONDS, POLL_SECONDS = 0, 120, 0.005
SHAPES = [(5011, 1024, 20), (5011, 4096, 20), (19850, 1024, 397), (19850, 4096, 397)]
MEMORY_SHAPE, MEMORY_LIMIT_MB = (200_000, 1024, 100), 400
PEERS = ["logme", "logme-eigh", "ridge-loo", "ridge-5fold"]


def anonymous_mb(pid):
    """Resident memory that is not backed by a file, in MB (10^6 bytes); 0 when the process is gone."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    lines = [line.split() for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(lines[0][1]) * 1024 / 1e6 if lines else 0.0


def measure(command, environment, directory):
    """(seconds, peak anonymous MB, parsed output); output None and seconds LIMIT_SECONDS when it took too long."""
    with open(directory / "out", "w+") as out:
        start = time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdout=out)
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, anonymous_mb(process.pid))
            if time.perf_counter() - start > LIMIT_SECONDS:
                process.kill()
                process.wait()
                return LIMIT_SECONDS, peak, None
            time.sleep(POLL_SECONDS)
        seconds = time.perf_counter() - start
        if process.returncode != 0:
            sys.exit(f"bench: {shlex.join(map(str, command))} ended with {process.returncode}")
        out.seek(0)
        return seconds, peak, json.load(out)


def ask(command, environment=None):
    """Standard output of a short command."""
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def compile_floor(directory):
    program = directory / "floor"
    flags = ask(["pkg-config", "--cflags", "--libs", "openblas"]).split()
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O2", HERE / "floor.c", "-o", program, *flags], check=True)
    return program


def cached(path):
    """Reads a file once, so that nobody pays for the disk."""
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass


def make_data(directory, shape, environment):
    command = [sys.executable, HERE / "data.py", directory, *map(str, shape), str(SEED)]
    subprocess.run(command, check=True, env=environment)
    paths = directory / "x.npy", directory / "y.npy"
    for path in paths:
        cached(path)
    return paths


def rank_command(program, paths, *more):
    return [program, "rank", f"a={paths[0]}", "--labels", paths[1], "--loo", "0", "--json", "--quiet", *more]


def time_tenon(program, paths, runs, directory):
    """Best of some runs in the environment that a user has; the value is for the comparison with LogME."""
    results = [measure(rank_command(program, paths), None, directory) for _ in range(runs)]
    best = min(results, key=lambda result: result[0])
    plain = measure(rank_command(program, paths, "--intercept", "no"), None, directory)[2]
    entry = {"contestant": "tenon", "seconds": best[0], "runs": runs, "anon_mb": max(r[1] for r in results),
             "note": "", "inside": best[2]["seconds"], "value": None}
    if plain:
        entry["value"] = plain["candidates"][0]["log_evidence"] / plain["rows"] / plain["classes"]
    return entry


def time_peer(name, paths, environment, directory):
    seconds, peak, output = measure([sys.executable, HERE / "peers.py", name, *paths], environment, directory)
    if output is None:
        return {"contestant": name, "seconds": None, "runs": 1, "anon_mb": peak, "note": f"> {seconds} s",
                "value": None}
    return {"contestant": name, "anon_mb": peak} | output


def time_floor(floor, shape, environment):
    parts = json.loads(ask([floor, *map(str, shape)], environment))
    return {"contestant": "floor", "seconds": parts["syrk"] + parts["sytrd"] + parts["ormtr"], "note": "", **parts}


def bench_shape(program, floor, shape, environment, directory):
    paths = make_data(directory, shape, environment)
    report.print_shape(shape)
    entries = []
    for entry in (time_tenon(program, paths, 2 if shape == SHAPES[-1] else 3, directory),
                  time_floor(floor, shape, environment)):
        entries.append(entry)
        report.print_entry(entry, entries)
    for name in PEERS:
        entries.append(time_peer(name, paths, environment, directory))
        report.print_entry(entries[-1], entries)
    result = {"shape": shape, "entries": entries}
    report.print_targets(result, LIMIT_SECONDS)
    return result


def bench_memory(program, environment, directory):
    paths = make_data(directory, MEMORY_SHAPE, environment)
    seconds, peak, _ = measure(rank_command(program, paths), None, directory)
    return {"shape": MEMORY_SHAPE, "seconds": seconds, "anon_mb": peak, "limit_mb": MEMORY_LIMIT_MB,
            "file_mb": paths[0].stat().st_size / 1e6}


def machine(program):
    doctor = json.loads(ask([program, "doctor", "--json"]))
    facts = {key: doctor[key] for key in ("version", "cpu", "cores", "simd", "blas", "blas_kernels", "threads")}
    return facts | {"chosen_by": doctor["blas_kernels_chosen_by"], "memory_gb": doctor["memory_total"] / 1e9,
                    "gemm_gflops": doctor["gemm_gflops"], "system": f"{platform.system()} {platform.machine()}"}


def processor_seconds():
    """(used by everybody on the machine, used by this program and the children it waited for)"""
    with open("/proc/stat") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    used = sum(ticks) - ticks[3] - ticks[4]  # less idle and waiting for disks
    own = os.times()
    return used / os.sysconf("SC_CLK_TCK"), own.user + own.system + own.children_user + own.children_system


def used_by_others(before, seconds, cores):
    """Share of the machine that other programs, or the host of a virtual one, took meanwhile."""
    now = processor_seconds()
    return max(0.0, now[0] - before[0] - (now[1] - before[1])) / (seconds * cores)


def peer_environment(facts):
    environment = dict(os.environ)
    if facts["chosen_by"] == "tenon":
        environment["OPENBLAS_CORETYPE"] = facts["blas_kernels"]
    return environment


def main(arguments):
    quick = "--quick" in arguments
    programs = [word for word in arguments if word != "--quick"]
    if len(programs) != 1:
        sys.exit("usage: bench/run PROGRAM [--quick]")
    program = pathlib.Path(programs[0]).resolve()
    facts = machine(program)
    environment = peer_environment(facts)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=os.environ.get("TMPDIR", program.parent)))
    before, start = processor_seconds(), time.perf_counter()
    try:
        floor = compile_floor(directory)
        report.print_machine(facts)
        shapes = [shape for shape in SHAPES if not quick or shape[1] <= 1024]
        results = [bench_shape(program, floor, shape, environment, directory) for shape in shapes]
        memory = bench_memory(program, environment, directory)
    finally:
        shutil.rmtree(directory)
    facts["others"] = used_by_others(before, time.perf_counter() - start, os.cpu_count())
    report.print_memory(memory)
    report.print_others(facts)
    if not quick:
        report.write(HERE.parent, facts, results, memory, SEED, LIMIT_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1:])
