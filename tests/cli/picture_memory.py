# SPDX-License-Identifier: BSD-3-Clause
"""Most memory of the program on a list of pictures and on one of MORE times as many, in the folder that pictures_memory.sh
made: train/ with a few pictures, again and again in the lists, fisher.safetensors and texture.onnx.

What may grow with a picture is its line of the list, its path and id, its label, its place in the order of rows and its
scores for six classes: PER_PICTURE bytes, of which each has several copies and every copy a head of the allocator's. A
vector that was kept would take eight times that and more. NOISE is what the allocator and the threads' turns may hold back. The
system counts what this script had when it began the program: that the program has more is checked."""
import os
import pathlib
import resource
import sys

MORE, PER_PICTURE, NOISE = 4, 1024, 1 << 20
TENON = os.environ["TENON"]


def peak(*words):
    null = os.open(os.devnull, os.O_WRONLY)
    pid = os.posix_spawn(TENON, [TENON, *map(str, words), "--threads", "2", "--quiet"], os.environ,
                         file_actions=[(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)])
    os.close(null)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit(f"tenon {words[0]} ended with {status}")
    if usage.ru_maxrss <= resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
        sys.exit(f"tenon {words[0]}: no more memory than this script: nothing is measured")
    return 1024 * usage.ru_maxrss


def make_list(name, count):
    lines = [f"{path}\t{path.parent.name}\n" for path in sorted(pathlib.Path("train").rglob("*.png"))]
    pathlib.Path(name).write_text("".join(lines[i % len(lines)] for i in range(count)), encoding="utf-8")


def check(count, values, command, *words):
    """Is the memory of `count` pictures, of so many floats each, that of MORE times as many?"""
    make_list("few.txt", count)
    make_list("many.txt", MORE * count)
    more = (MORE - 1) * count
    few, many = (peak(command, name, *words) for name in ("few.txt", "many.txt"))
    bound, kept = PER_PICTURE * more + NOISE, 4 * values * more
    if kept < 3 * bound:
        sys.exit(f"{command}: rows that are kept would not be seen")
    print(f"{command}: {'flat' if many - few <= bound else f'from {few} to {many} bytes'}")


# 2 x 32 x 32 values of a vector. Of a map 16 x 29 x 29, and more pictures than the 256 that are written at once.
if sys.argv[1] == "encoder":
    check(600, 2048, "fit", "--encoder", "fisher.safetensors", "--mem", "9M", "--method", "arow", "--epochs", "1", "-o",
          "head.safetensors")
else:
    check(300, 16 * 29 * 29, "extract", "--net", "texture.onnx:strength", "--as", "bag", "-o", "bags.npy")
