#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws a small set of pictures, and writes small networks, so that the way from pictures can be walked anywhere.

    FOLDER/train/CLASS/NN.png  FOLDER/test/CLASS/NN.png     six classes of shapes and textures, places, sizes, colours and
                                                           noise by the seed
    FOLDER/texture.onnx        bytes in: grey, 16 filters of 7 x 7 (waves of four directions and two lengths, both
                               phases), their absolute values, mean
    FOLDER/colour.onnx         floats in: 24 directions of colour, what is above a threshold, mean; FOLDER/colour.json
                               says how pictures go in

Nothing but Python's own library is needed: PNG and ONNX are written byte by byte.

Usage: draw_pictures.py FOLDER [--train 30] [--test 15] [--seed 1] [--networks]      --networks: those only
"""
import argparse
import math
import pathlib
import random
import struct
import zlib

SIDE = 64
CLASSES = ("blob", "checks", "cross", "ring", "stripes", "waves")

# ---- pictures ----


def inside(name, u, v, turn, length):
    """Is the point (u, v), from the middle, in the figure? Textures cover everything."""
    x = u * math.cos(turn) + v * math.sin(turn)
    y = v * math.cos(turn) - u * math.sin(turn)
    if name == "blob":
        return math.hypot(u, v) < 2.2 * length
    if name == "ring":
        return 1.6 * length < math.hypot(u, v) < 2.6 * length
    if name == "cross":
        return min(abs(x), abs(y)) < 0.5 * length and max(abs(x), abs(y)) < 2.6 * length
    if name == "stripes":
        return math.floor(x / length) % 2 == 0
    if name == "checks":
        return (math.floor(x / length) + math.floor(y / length)) % 2 == 0
    return math.sin(x / length * 2 + 2 * math.sin(y / length)) > 0


def draw(name, rng):
    """Rows of RGB bytes."""
    ink = [rng.randrange(120, 256) for _ in range(3)]
    paper = [rng.randrange(0, 110) for _ in range(3)]
    if rng.random() < 0.5:
        ink, paper = paper, ink
    middle = [SIDE * rng.uniform(0.4, 0.6) for _ in range(2)]
    turn, length = rng.uniform(0, math.pi), rng.uniform(5, 9)
    rows = []
    for y in range(SIDE):
        row = bytearray()
        for x in range(SIDE):
            colour = ink if inside(name, x - middle[0], y - middle[1], turn, length) else paper
            row += bytes(min(255, max(0, int(c + rng.gauss(0, 18)))) for c in colour)
        rows.append(bytes(row))
    return rows


def png(rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", SIDE, len(rows), 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def draw_all(folder, part, count, rng):
    for name in CLASSES:
        where = folder / part / name
        where.mkdir(parents=True, exist_ok=True)
        for i in range(count):
            (where / f"{i:02d}.png").write_bytes(png(draw(name, rng)))


# ---- networks: fields of protocol buffers ----


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def inner(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(name, shape, values):
    data = struct.pack(f"<{len(values)}f", *values)
    return b"".join(number(1, d) for d in shape) + number(2, 1) + inner(8, name) + inner(9, data)


def value(name, kind, shape):
    dims = b"".join(inner(1, number(1, d) if isinstance(d, int) else inner(2, d)) for d in shape)
    return inner(1, name) + inner(2, inner(1, number(1, kind) + inner(2, dims)))


def node(op, inputs, outputs, **ints):
    attributes = b""
    for name, v in ints.items():
        body = b"".join(number(8, i) for i in v) + number(20, 7) if isinstance(v, list) else number(3, v) + number(20, 2)
        attributes += inner(5, inner(1, name) + body)
    return (b"".join(inner(1, i) for i in inputs) + b"".join(inner(2, o) for o in outputs) + inner(4, op) + attributes)


def model(nodes, tensors, inputs, outputs):
    graph = b"".join(inner(1, n) for n in nodes) + inner(2, "drawn") + b"".join(inner(5, t) for t in tensors)
    graph += b"".join(inner(11, i) for i in inputs) + b"".join(inner(12, o) for o in outputs)
    return number(1, 8) + inner(2, "tenon") + inner(8, inner(1, "") + number(2, 13)) + inner(7, graph)


def texture_network():
    filters = []
    for length in (4.0, 8.0):
        for turn in range(4):
            for phase in (0, math.pi / 2):
                for _ in range(3):
                    for y in range(-3, 4):
                        for x in range(-3, 4):
                            along = x * math.cos(turn * math.pi / 4) + y * math.sin(turn * math.pi / 4)
                            window = math.exp(-(x * x + y * y) / 8)
                            filters.append(window * math.sin(2 * math.pi * along / length + phase) / 3000)
    nodes = [node("Cast", ["image"], ["wide"], to=1), node("Transpose", ["wide"], ["planes"], perm=[0, 3, 1, 2]),
             node("Conv", ["planes", "filters"], ["waves"], strides=[2, 2]), node("Abs", ["waves"], ["strength"]),
             node("GlobalAveragePool", ["strength"], ["pooled"]), node("Flatten", ["pooled"], ["feat"])]
    return model(nodes, [tensor("filters", [16, 3, 7, 7], filters)], [value("image", 2, ["N", 64, 64, 3])],
                 [value("feat", 1, ["N", 16])])


def colour_network(rng):
    weights = [rng.gauss(0, 1) for _ in range(24 * 3)]
    nodes = [node("Conv", ["image", "directions", "thresholds"], ["sides"]), node("Relu", ["sides"], ["above"]),
             node("GlobalAveragePool", ["above"], ["pooled"]), node("Flatten", ["pooled"], ["feat"])]
    tensors = [tensor("directions", [24, 3, 1, 1], weights),
               tensor("thresholds", [24], [rng.uniform(-1, 1) for _ in range(24)])]
    return model(nodes, tensors, [value("image", 1, ["N", 3, "H", "W"])], [value("feat", 1, ["N", 24])])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--train", type=int, default=30)
    parser.add_argument("--test", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--networks", action="store_true")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    (args.folder / "texture.onnx").write_bytes(texture_network())
    (args.folder / "colour.onnx").write_bytes(colour_network(random.Random(args.seed)))
    (args.folder / "colour.json").write_text('{"input_size": [3, 64, 64], "crop_pct": 1.0, "mean": [0.5, 0.5, 0.5], '
                                             '"std": [0.25, 0.25, 0.25]}\n')
    if not args.networks:
        draw_all(args.folder, "train", args.train, random.Random(args.seed + 1))
        draw_all(args.folder, "test", args.test, random.Random(args.seed + 2))


if __name__ == "__main__":
    main()
