# SPDX-License-Identifier: BSD-3-Clause
"""The section on pictures: stages of the way from a picture to a vector beside VLFeat's, and the whole way by the program.

Stages are timed by image_stages.c, inside one process with VLFeat, one thread, processor time. k-means is compared with faiss
where that is installed. The whole way is `tenon extract` as a process, from JPEGs in the page cache, of one number of pictures
and of some times as many: memory must not grow with it.
"""
import json
import subprocess
import sys

import images_report as report
from measure import HERE, ask, cached, compile_with_objects, measure_peaks

PAGE = "bench-images.md"
LIMIT_SECONDS = 600
# (width, height, descriptors of the stages, runs, pictures of the whole way)
SHAPES = {"full": (480, 360, 10000, 20, 40), "quick": (240, 180, 2000, 5, 10), "tiny": (96, 80, 600, 1, 3)}
MORE, DIM, WORDS, WAY_WORDS = 4, 64, (32, 256), 32
BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def time_faiss(rows, words, runs, environment):
    command = [sys.executable, HERE / "images_peers.py", *map(str, (rows, DIM, words, min(runs, 5)))]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 77:
        return None
    if done.returncode != 0:
        sys.exit(f"bench: images_peers.py ended with {done.returncode}")
    return json.loads(done.stdout)


def bench_stages(loop, shape, environment, directory):
    width, height, count, runs, _ = shape
    alone = environment | dict.fromkeys(BLAS_THREADS, "1")
    command = [loop, "stages", *map(str, (runs, width, height, count))]
    found = json.loads(subprocess.run(command, env=alone, cwd=directory, check=True, stdout=subprocess.PIPE, text=True).stdout)
    peers = {words: time_faiss(report.MANY * count, words, runs, alone) for words in WORDS}
    for words, peer in peers.items():
        if peer:
            found[f"kmeans_{words}"]["faiss"] = peer["seconds"]
    versions = next((peer["faiss"] for peer in peers.values() if peer), None)
    return found, versions


def draw(loop, folder, number, shape):
    for part in "ab":
        (folder / part).mkdir(parents=True)
    ask([loop, "draw", folder, *map(str, (number, *shape[:2]))])
    for path in folder.rglob("*.jpg"):
        cached(path)


def extract(program, folder, encoder, threads, directory, watch):
    command = [program, "extract", folder, "--encoder", encoder, "-o", directory / "rows.npy", "--threads", str(threads),
               "--json", "--quiet"]
    seconds, peaks, output = measure_peaks(command, None, directory, LIMIT_SECONDS, watch=watch)
    if output is None:
        sys.exit(f"bench: extract took more than {LIMIT_SECONDS} s")
    return {"threads": threads, "pictures": output["rows"], "seconds": seconds} | (peaks if watch else {})


def bench_way(program, loop, shape, directory):
    """Pictures per second with one thread and with two; memory of a run over some pictures and over MORE times as many."""
    number, encoder = shape[4], directory / "encoder.safetensors"
    folders = [directory / f"pictures{times}" for times in (1, MORE)]
    for folder, times in zip(folders, (1, MORE)):
        draw(loop, folder, times * number, shape)
    ask([program, "encoder", "train", folders[0], "-o", encoder, "--descriptor", "rootsift", "--kind", "fisher", "--words",
         str(WAY_WORDS), "--json", "--quiet"])
    timed = [extract(program, folders[1], encoder, threads, directory, False) for threads in (1, 2)]
    watched = [extract(program, folder, encoder, 2, directory, True) for folder in folders]
    return {"timed": timed, "watched": watched}


def run(program, environment, directory, size):
    """Everything the report of this section needs."""
    shape = SHAPES[size]
    loop = compile_with_objects("image_stages", program, directory, ["-lvl"])
    stages, faiss = bench_stages(loop, shape, environment, directory)
    found = {"shape": shape, "stages": stages, "faiss": faiss, "way_words": WAY_WORDS}
    report.print_stages(found)
    found["way"] = bench_way(program, loop, shape, directory)
    report.print_way(found)
    return found
