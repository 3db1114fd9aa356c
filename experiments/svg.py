# SPDX-License-Identifier: BSD-3-Clause
"""Curves as SVG: panels in a grid, each with its ends written on the axes and the names of its lines inside."""

WIDE, HIGH, LEFT, TOP, GAP = 210, 150, 60, 40, 50
BLUE, RED, GREEN, GOLD, VIOLET, GREY = "#1f5fa8", "#c0392b", "#2e8b57", "#b8860b", "#7d4fa1", "#888888"


def text(x, y, words, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>'


def panel(x, y, title, unit, lines, colours):
    """lines: {name: [(across, up)]}. Both axes begin near the least value and end at the greatest; their ends are written on
    them."""
    points = [point for line in lines.values() for point in line]
    (left, right), (low, high) = [(min(values), max(values)) for values in zip(*points)]
    across, up = WIDE / max(right - left, 1e-9), HIGH / max(high - low, 1e-9)
    digits = 1 if high - low >= 0.5 else 4
    out = [f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" fill="none" stroke="#888"/>',
           text(x, y - 6, title), text(x, y + HIGH + 14, f"{left:.3g}"),
           text(x + WIDE, y + HIGH + 14, f"{right:.3g} {unit}", 'text-anchor="end"'),
           text(x - 4, y + HIGH, f"{low:.{digits}f}", 'text-anchor="end"'),
           text(x - 4, y + 10, f"{high:.{digits}f}", 'text-anchor="end"')]
    for i, (name, line) in enumerate(lines.items()):
        path = " ".join(f"{x + (a - left) * across:.1f},{y + HIGH - (b - low) * up:.1f}" for a, b in line)
        out += [f'<polyline points="{path}" fill="none" stroke="{colours[name]}" stroke-width="1.5"/>',
                text(x + WIDE - 6, y + HIGH - 8 - 13 * i, name, f'text-anchor="end" fill="{colours[name]}"')]
    return out


def grid(rows, colours):
    """The whole picture. rows: [[(title, unit, lines)]], a panel each; None leaves its place empty."""
    width, height = LEFT + max(map(len, rows)) * (WIDE + GAP), TOP + len(rows) * (HIGH + GAP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
           'font-size="11">', '<rect width="100%" height="100%" fill="white"/>']
    for row, panels in enumerate(rows):
        for column, words in enumerate(panels):
            if words:
                out += panel(LEFT + column * (WIDE + GAP), TOP + row * (HIGH + GAP), *words, colours)
    return "\n".join([*out, "</svg>", ""])
