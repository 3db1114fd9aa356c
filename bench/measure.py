# SPDX-License-Identifier: BSD-3-Clause
"""How the benchmarks measure: processes, their memory, the machine and what else ran on it.

Every contestant is a process of its own, on data that is in the page cache. OpenBLAS picks its kernels by a list of
processors and can miss a new one; tenon then chooses for itself, and the same choice is put into the environment of
the peers and of the floor, so that nobody wins by that accident.
"""
import json
import os
import pathlib
import platform
import shlex
import subprocess
import sys
import signal
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
SEED, POLL_SECONDS = 0, 0.005


MEMORY = {"RssAnon:": "anon_mb", "VmHWM:": "resident_mb"}


class Skipped(Exception):
    """Raised by a section whose peer is not installed; the others go on."""


def memory_mb(pid):
    """In MB (10^6 bytes): resident memory that is not backed by a file, and the most that was ever resident, mapped files with
    it; nothing when the process is gone."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return {}
    words = [line.split() for line in status.splitlines()]
    return {MEMORY[w[0]]: int(w[1]) * 1024 / 1e6 for w in words if w and w[0] in MEMORY}


def wait(process, limit):
    """Lets the process end by itself: asking for its memory meanwhile would take time from one of its cores, and a wait with a
    timeout looks only every now and then. False when it had to be ended."""
    timer = threading.Timer(limit, process.kill)
    timer.start()
    process.wait()
    timer.cancel()
    return process.returncode != -signal.SIGKILL


def measure_peaks(command, environment, directory, limit, watch=True):
    """(seconds, peaks of memory_mb, parsed output); output None and seconds the limit when it took too long. Without `watch` the
    memory is not asked for, and the time is exact."""
    with open(directory / "out", "w+") as out:
        start = time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdout=out)
        peaks = dict.fromkeys(MEMORY.values(), 0.0)
        if not watch and not wait(process, limit):
            return limit, peaks, None
        while process.poll() is None:
            peaks |= {name: max(peaks[name], mb) for name, mb in memory_mb(process.pid).items()}
            if time.perf_counter() - start > limit:
                process.kill()
                process.wait()
                return limit, peaks, None
            time.sleep(POLL_SECONDS)
        seconds = time.perf_counter() - start
        if process.returncode != 0:
            sys.exit(f"bench: {shlex.join(map(str, command))} ended with {process.returncode}")
        out.seek(0)
        return seconds, peaks, json.load(out)


def measure(command, environment, directory, limit, watch=True):
    """As measure_peaks, of the memory only what is anonymous."""
    seconds, peaks, output = measure_peaks(command, environment, directory, limit, watch)
    return seconds, peaks["anon_mb"], output


def ask(command, environment=None):
    """Standard output of a short command."""
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def compile_program(name, directory, more=(), packages=("openblas",)):
    """A C program of this folder, with OpenBLAS and what more it needs."""
    program = directory / name
    flags = ask(["pkg-config", "--cflags", "--libs", *packages]).split()
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O2", HERE / f"{name}.c", *more, "-o", program, *flags,
                    "-lpthread", "-lm"], check=True)
    return program


def compile_with_objects(name, program, directory, more=()):
    """A C program of this folder that is made of the program's own objects and sees their headers. Objects of files that have
    been removed stay in a build folder; some files are made there."""
    made = program.parent / "CMakeFiles" / "tenon_objects.dir"
    objects = [file for file in sorted(made.rglob("*.o"))
               if any((folder / file.relative_to(made).with_suffix("")).is_file() for folder in (HERE.parent, program.parent))]
    if not objects:
        sys.exit(f"bench: the objects of {program} are not beside it: run make first")
    include = [f"-I{HERE.parent / folder}" for folder in ("src", "include")]
    return compile_program(name, directory, [*include, *objects, *more], ("openblas", "jansson", "libjpeg", "libpng", "zlib"))


def cached(path):
    """Reads a file once, so that nobody pays for the disk."""
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass


def make_data(directory, shape, environment, *offset):
    command = [sys.executable, HERE / "data.py", directory, *map(str, (*shape, SEED, *offset))]
    subprocess.run(command, check=True, env=environment)
    paths = directory / "x.npy", directory / "y.npy"
    for path in paths:
        cached(path)
    return paths


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
