# SPDX-License-Identifier: BSD-3-Clause
"""The section on refinement: the gradient of a Fisher vector beside its encoding, how both grow, the paper's formulas beside
them, and one round of `tenon encoder refine` on many large bags.

Single bags are RootSIFT of drawn pictures (discs of random place, colour and size, each over those before, with noise), timed
by fisher_stages.c, one thread, processor time. Descriptors of the round are drawn themselves: 60 clusters whose columns have
deviations that fall as those of principal components do, half-precision on disk.
"""
import json
import struct
import subprocess
import zlib

import fisher_report as report
from measure import HERE, ask, cached, compile_with_objects, measure_peaks

PAGE = "bench-fisher.md"
LIMIT_SECONDS = 900
# bags of the large run and their descriptors; lengths of single bags, runs, (K, D) of single bags, (K, D, T) of the formulas,
# number, width, height and discs of the pictures
SHAPES = {"full": (1000, 5000, (1250, 2500, 5000, 10000), 15, [(16, 64), (32, 32), (32, 64), (64, 64), (128, 64)], (8, 16, 200),
                   (6, 320, 240, 1500)),
          "quick": (100, 1000, (500, 1000, 2000), 5, [(16, 32), (32, 32), (32, 64)], (4, 8, 100), (3, 200, 150, 500)),
          "tiny": (12, 60, (40, 80), 1, [(2, 8), (4, 8)], (2, 3, 10), (2, 80, 72, 40))}
WORDS, DIM, CLUSTERS, CLASSES, SEED = 32, 64, 60, 10, 1
BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def draw_picture(path, width, height, leaves, seed):
    """A PNG of dead leaves: radii by r^-3."""
    import numpy
    rng = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[:height, :width]
    pixels = numpy.full((height, width, 3), 0.5)
    for _ in range(leaves):
        u = rng.random()
        radius = ((1 - u) / 4 + u / (0.4 * width) ** 2) ** -0.5
        inside = (x - rng.random() * width) ** 2 + (y - rng.random() * height) ** 2 < radius ** 2
        pixels[inside] = 0.8 * rng.random() + 0.2 * rng.random(3)
    values = numpy.clip(255 * (pixels + rng.normal(scale=0.012, size=pixels.shape)), 0, 255).astype(numpy.uint8)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + row.tobytes() for row in values)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def draw(path, labels, bags, rows, dim):
    """(bags, rows, dim) halves; bags of a class have some clusters more often than others."""
    import numpy
    rng = numpy.random.default_rng(SEED)
    scale = 0.15 * (1 + numpy.arange(dim)) ** -0.4
    centres = 0.7 * rng.normal(size=(CLUSTERS, dim)) * scale
    liked = rng.dirichlet(numpy.full(CLUSTERS, 2.0), size=CLASSES)
    out = numpy.lib.format.open_memmap(path, mode="w+", dtype=numpy.float16, shape=(bags, rows, dim))
    for i in range(bags):
        which = rng.choice(CLUSTERS, size=rows, p=liked[i % CLASSES])
        out[i] = centres[which] + scale * rng.standard_normal((rows, dim), dtype=numpy.float32)
    out.flush()
    labels.write_text("".join(f"class{i % CLASSES}\n" for i in range(bags)), encoding="utf-8")
    cached(path)


def learn(program, source, words, dim, path):
    ask([program, "encoder", "train", *source, "-o", path, "--words", str(words), "--pca", str(dim), "--iterations", "10", "--sample",
         "20000", "--json", "--quiet"])


def bench_bags(program, loop, shape, environment, directory):
    """[{words, dim, rows, encode, back, product, project, turn}]"""
    found, folder = [], directory / "pictures"
    for i in range(shape[6][0]):
        draw_picture(folder / f"{i}.png", *shape[6][1:], SEED + i)
    for words, dim in shape[4]:
        encoder = directory / "single.safetensors"
        learn(program, [folder], words, dim, encoder)
        command = [loop, "bag", encoder, folder, *map(str, (shape[3], *shape[2]))]
        made = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
        found += [{"words": words, "dim": dim} | entry for entry in json.loads(made)]
    return found


def bench_round(program, shape, directory):
    """One round on many bags, with one thread and with two, descriptors in a file."""
    bags, labels, encoder = directory / "bags.npy", directory / "labels.txt", directory / "many.safetensors"
    draw(bags, labels, shape[0], shape[1], DIM)
    learn(program, ["--bags", bags], WORDS, 0, encoder)
    found = []
    for threads in (1, 2):
        command = [program, "encoder", "refine", encoder, "--bags", bags, "--labels", labels, "-o", directory / "refined.safetensors",
                   "--rounds", "1", "--C", "100", "--holdout", "0", "--twice", "no", "--cache", directory / "cache", "--threads",
                   str(threads), "--json", "--quiet"]
        seconds, peaks, output = measure_peaks(command, None, directory, LIMIT_SECONDS)
        if output is None:
            raise SystemExit(f"bench: refine took more than {LIMIT_SECONDS} s")
        found.append({"threads": threads, "all_seconds": seconds, "trials": output["rounds"][1]["trials"],
                      "round_seconds": output["rounds"][1]["seconds"]} | peaks |
                     {key: output[key] for key in ("encode_seconds", "solve_seconds", "gradient_seconds", "descriptors")})
    return found


def run(program, environment, directory, size):
    """Everything the report of this section needs."""
    shape = SHAPES[size]
    refs = HERE.parent / "tests" / "ref"
    loop = compile_with_objects("fisher_stages", program, directory, [f"-I{refs}", refs / "ref_fisher_back.c"])
    alone = environment | dict.fromkeys(BLAS_THREADS, "1")
    found = {"shape": shape, "words": WORDS, "dim": DIM, "bags": bench_bags(program, loop, shape, alone, directory)}
    for name, words in (("literal", (shape[3], *shape[5])), ("peak", (shape[3],))):
        command = [loop, name, *map(str, words)]
        found[name] = json.loads(subprocess.run(command, env=alone, check=True, stdout=subprocess.PIPE, text=True).stdout)
    report.print_bags(found)
    found["round"] = bench_round(program, shape, directory)
    report.print_round(found)
    return found
