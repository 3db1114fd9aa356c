# SPDX-License-Identifier: BSD-3-Clause
"""The curves of the page as one SVG picture: a column a set, a row a learner and what its score is drawn against."""
import statistics

import figures
from learners import schemes

SHOWN = ("perceptron", "scw")
WIDE, HIGH, LEFT, TOP, GAP = 210, 150, 60, 40, 50
COLOURS = {"averaged": "#1f5fa8", "last weights": "#c0392b", "mul": "#1f5fa8", "u-ovr": "#c0392b", "e-ovr": "#2e8b57",
           "w-ovr": "#b8860b"}


def mean_over_networks(study, kind, what):
    curves = [figures.mean_curve(kinds[kind], what) for kinds in study["cells"].values()]
    return [statistics.fmean(values) for values in zip(*curves)]


def pass_lines(study, method):
    """{name: [(pass, score)]}"""
    return {name: list(enumerate(mean_over_networks(study, figures.main_kind(study, method, average), "scores"), 1))
            for name, average in (("averaged", True), ("last weights", False))}


def second_lines(study, method):
    """{scheme: [(milliseconds a network, score)]}"""
    return {scheme: [(1000 * x, y) for x, y in zip(mean_over_networks(study, (method, scheme, True), "seconds"),
                                                   mean_over_networks(study, (method, scheme, True), "scores"))]
            for scheme in schemes(study["task"])}


def text(x, y, words, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>'


def panel(x, y, title, unit, lines):
    """Both axes begin near the least value and end at the greatest; their ends are written on them."""
    points = [point for line in lines.values() for point in line]
    (left, right), (low, high) = [(min(values), max(values)) for values in zip(*points)]
    across, up = WIDE / max(right - left, 1e-9), HIGH / max(high - low, 1e-9)
    out = [f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" fill="none" stroke="#888"/>',
           text(x, y - 6, title), text(x, y + HIGH + 14, f"{left:.3g}"),
           text(x + WIDE, y + HIGH + 14, f"{right:.3g} {unit}", 'text-anchor="end"'),
           text(x - 4, y + HIGH, f"{low:.1f}", 'text-anchor="end"'), text(x - 4, y + 10, f"{high:.1f}",
                                                                        'text-anchor="end"')]
    for i, (name, line) in enumerate(lines.items()):
        path = " ".join(f"{x + (a - left) * across:.1f},{y + HIGH - (b - low) * up:.1f}" for a, b in line)
        out += [f'<polyline points="{path}" fill="none" stroke="{COLOURS[name]}" stroke-width="1.5"/>',
                text(x + WIDE - 6, y + HIGH - 8 - 13 * i, name, f'text-anchor="end" fill="{COLOURS[name]}"')]
    return out


def draw(studies):
    rows = [(method, lines, unit) for lines, unit in ((pass_lines, "passes"), (second_lines, "ms"))
            for method in SHOWN]
    width, height = LEFT + len(studies) * (WIDE + GAP), TOP + len(rows) * (HIGH + GAP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
           'font-size="11">', '<rect width="100%" height="100%" fill="white"/>']
    for row, (method, lines, unit) in enumerate(rows):
        for column, study in enumerate(studies):
            out += panel(LEFT + column * (WIDE + GAP), TOP + row * (HIGH + GAP), f"{study['name']}, {method}", unit,
                         lines(study, method))
    return "\n".join([*out, "</svg>", ""])
