#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the pictures of docs/encoders.md: a grid of patches over a drawn scene, one patch as SIFT sees it, and a pyramid.

Usage: tools/draw_encoders.py      writes docs/encoders-grid.svg and docs/encoders-pyramid.svg
Patches and bins are placed by the rules of src/describe/grid.c and sift.c; the scene is made of discs.
"""
import math
import pathlib

DOCS = pathlib.Path(__file__).resolve().parents[1] / "docs"
INK, SOFT, MARK = "#333", "#bbb", "#c33"
WIDTH, HEIGHT, SCALE = 96, 64, 5  # pixels of the scene, and points for each
DISCS = [(20, 50, 22, 0.55), (70, 56, 30, 0.7), (36, 22, 9, 0.35), (76, 16, 7, 0.9), (58, 38, 10, 0.45)]


def grey_at(x, y):
    value = 0.95 - 0.2 * y / HEIGHT
    for cx, cy, radius, grey in DISCS:
        if (x - cx) ** 2 + (y - cy) ** 2 < radius ** 2:
            value = grey
    return value


def along(extent, side, step):
    """Left edges of the patches: what is left over is shared between both sides."""
    first = (extent - side) % step // 2
    return [first + i * step for i in range((extent - side) // step + 1)]


def rect(x, y, width, height, **style):
    words = " ".join(f'{key.replace("_", "-")}="{value}"' for key, value in style.items())
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" {words}/>'


def text(x, y, words, size=14, anchor="start"):
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{INK}">{words}</text>'


def line(x1, y1, x2, y2, colour=INK, width=1.5):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def scene(x0, y0, width=WIDTH * SCALE, height=HEIGHT * SCALE):
    parts = [f'<svg x="{x0}" y="{y0}" width="{width}" height="{height}" viewBox="0 0 {WIDTH} {HEIGHT}" '
             'preserveAspectRatio="none">', rect(0, 0, WIDTH, HEIGHT, fill="#e8e8e8")]
    for cx, cy, radius, grey in DISCS:
        level = round(255 * grey)
        parts.append(f'<circle cx="{cx}" cy="{cy}" r="{radius}" fill="rgb({level},{level},{level})"/>')
    return [*parts, "</svg>"]


def bins_of(left, top, side):
    """16 bins of 8 directions: gradients weighted by triangles around the middles of the bins."""
    b = side / 4
    found = [[0.0] * 8 for _ in range(16)]
    for y in range(HEIGHT):
        for x in range(WIDTH):
            gx = (grey_at(x + 1, y) - grey_at(x - 1, y)) / 2
            gy = (grey_at(x, y + 1) - grey_at(x, y - 1)) / 2
            size, angle = math.hypot(gx, gy), math.atan2(gy, gx) % (2 * math.pi) * 4 / math.pi
            low = int(angle) % 8
            for j in range(4):
                for i in range(4):
                    wx = max(0, 1 - abs(x - (left + (i + 0.5) * b - 0.5)) / b)
                    wy = max(0, 1 - abs(y - (top + (j + 0.5) * b - 0.5)) / b)
                    found[4 * j + i][low] += wx * wy * size * (1 - angle % 1)
                    found[4 * j + i][(low + 1) % 8] += wx * wy * size * (angle % 1)
    most = max(max(values) for values in found) or 1
    return [[value / most for value in values] for values in found]


def descriptor(x0, y0, size, values):
    parts, cell = [rect(x0, y0, size, size, fill="none", stroke=MARK, stroke_width=2)], size / 4
    for k, directions in enumerate(values):
        cx, cy = x0 + (k % 4 + 0.5) * cell, y0 + (k // 4 + 0.5) * cell
        parts.append(rect(cx - cell / 2, cy - cell / 2, cell, cell, fill="none", stroke=SOFT))
        for o, length in enumerate(directions):
            angle = o * math.pi / 4
            parts.append(line(cx, cy, cx + 0.46 * cell * length * math.cos(angle), cy + 0.46 * cell * length * math.sin(angle)))
    return parts


def draw_grid():
    side, step, other = 16, 8, 32
    left, top = 20, 40
    parts = scene(left, top)
    for y in along(HEIGHT, side, step):
        for x in along(WIDTH, side, step):
            parts.append(f'<circle cx="{left + SCALE * (x + side / 2):g}" cy="{top + SCALE * (y + side / 2):g}" r="2.5" fill="{INK}"/>')
    x, y = along(WIDTH, side, step)[2], along(HEIGHT, side, step)[1]
    for shift, colour in ((2 * step, INK), (0, MARK)):
        parts.append(rect(left + SCALE * (x + shift), top + SCALE * y, SCALE * side, SCALE * side, fill="none", stroke=colour,
                          stroke_width=2))
    bx, by = along(WIDTH, other, step)[4], along(HEIGHT, other, step)[3]
    parts.append(rect(left + SCALE * bx, top + SCALE * by, SCALE * other, SCALE * other, fill="none", stroke=INK, stroke_width=2,
                      stroke_dasharray="6 4"))
    at = left + WIDTH * SCALE + 70
    parts += [line(left + SCALE * (x + side), top + SCALE * (y + side / 2), at - 6, top + 120, MARK, 1),
              *descriptor(at, top + 20, 200, bins_of(x, y, side)),
              text(left, 24, f"patches of {side} x {side} every {step} pixels, dots in their middles; dashed: {other} x {other}"),
              text(at, 24, "what SIFT keeps of it: 4 x 4 bins,"),
              text(at, top + 246, "8 directions each, 128 values")]
    write("encoders-grid.svg", at + 240, top + HEIGHT * SCALE + 20, parts)


def draw_pyramid():
    width, height, gap, top = 230, 153, 40, 40
    parts, number = [], 0
    for level, (across, down) in enumerate(((1, 1), (2, 2), (1, 3))):
        left = 20 + level * (width + gap)
        parts += [text(left, 24, f"{down}x{across}"), *scene(left, top, width, height)]
        for j in range(down):
            for i in range(across):
                x, y = left + i * width / across, top + j * height / down
                parts += [rect(x, y, width / across, height / down, fill="none", stroke=MARK, stroke_width=2),
                          f'<circle cx="{x + width / across / 2:g}" cy="{y + height / down / 2:g}" r="13" fill="white" stroke="{INK}"/>',
                          text(x + width / across / 2, y + height / down / 2 + 5, number, anchor="middle")]
                number += 1
    cell, left, y = 60, 20, top + height + 46
    parts.append(text(left, y - 10, "the vector: one part for each cell, side by side"))
    for k in range(number):
        parts += [rect(left + k * cell, y, cell, 26, fill="#f4f4f4", stroke=INK), text(left + (k + 0.5) * cell, y + 18, k, anchor="middle")]
    write("encoders-pyramid.svg", 20 + 3 * (width + gap), y + 46, parts)


def write(name, width, height, parts):
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="sans-serif">')
    (DOCS / name).write_text("\n".join([head, rect(0, 0, width, height, fill="white"), *parts, "</svg>", ""]), encoding="utf-8")


if __name__ == "__main__":
    draw_grid()
    draw_pyramid()
