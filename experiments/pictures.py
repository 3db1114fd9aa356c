#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the pictures of docs/results from their data: docs/results/data/NAME.json gives docs/results/NAME.svg.

Usage: experiments/pictures.py [FILE.json ...]       default: all of docs/results/data

A file is {"about": where the figures come from, "rows": [[panel or null]]}, with "panel": [width, height] in inches,
"between" and "right", which leave room for names, where the usual does not do. A panel is

    {"title": ..., "x": axis with unit, "y": axis with unit, "kind": "lines" or "points", "zero": whether 0 has a line,
     "log": whether both axes are logarithmic, "ticks": of x, "aside": how far the series stand beside each other so that their error bars can be told apart,
     "series": [{"name": ..., "points": [[x, y] or [x, y, half of the error bar]]}]}

Every series is named beside its end, every point of "points" beside itself, in places that nothing crosses. The same
data give the same bytes. Needs matplotlib (Debian: python3-matplotlib)."""
import io
import json
import pathlib
import re
import sys

import matplotlib
import matplotlib.ticker

matplotlib.use("svg")
import matplotlib.pyplot as plt

RESULTS = pathlib.Path(__file__).resolve().parents[1] / "docs" / "results"

# Okabe and Ito's palette, which people of any colour vision tell apart; shapes repeat what colours say.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
GREY = "#666666"
STYLE = {"svg.hashsalt": "tenon", "svg.fonttype": "none", "font.family": ["DejaVu Sans", "sans-serif"], "font.size": 9,
         "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "axes.linewidth": 0.8,
         "axes.grid": True, "grid.color": "#e6e6e6", "grid.linewidth": 0.6, "axes.axisbelow": True,
         "xtick.color": GREY, "ytick.color": GREY, "axes.titlesize": 10, "axes.titlelocation": "left",
         "lines.linewidth": 1.4, "lines.markersize": 3.5, "errorbar.capsize": 2}
WIDE, HIGH = 3.5, 2.5  # inches of a panel
LINE = 10.5            # points between the lines of labels that stand one above the other


def apart(places, least, low, high):
    """The same places, ordered as they were, moved until they are `least` apart and within [low, high]."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    new = [min(max(places[i], low), high) for i in order]
    for _ in range(200):
        for a in range(len(new) - 1):
            gap = least - (new[a + 1] - new[a])
            if gap > 0:
                new[a] -= gap / 2
                new[a + 1] += gap / 2
        shift = max(low - new[0], 0) - max(new[-1] - high, 0)
        new = [value + shift for value in new]
    found = dict(zip(order, new))
    return [found[i] for i in range(len(places))]


def name_ends(axes, series, colours):
    """The names of the lines to the right of the panel, each at the height of its line's end."""
    height = axes.get_window_extent().height * 72 / axes.figure.dpi  # points
    ends = [axes.transAxes.inverted().transform(axes.transData.transform(one["points"][-1][:2])) for one in series]
    heights = apart([end[1] * height for end in ends], LINE, 0, height)
    for one, end, at, colour in zip(series, ends, heights, colours):
        axes.annotate(one["name"], xy=(end[0], end[1]), xycoords="axes fraction", xytext=(1.06, at / height),
                      textcoords="axes fraction", va="center", color=colour, annotation_clip=False,
                      arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "shrinkA": 1, "shrinkB": 3,
                                  "relpos": (0, 0.5)})


def meet(one, other):
    """Whether two boxes (left, low, right, high) overlap."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def name_points(axes, series):
    """Names beside the points, each at the first place that is free of points, error bars and other names. Points rise
    from left to right, so below right and above left are asked first."""
    scale = 72 / axes.figure.dpi
    frame = [value * scale for value in axes.get_window_extent().extents]
    centres, taken = [], []
    for one in series:
        x, y, *bar = one["points"][0]
        ends = [axes.transData.transform((x, y + sign * (bar or [0])[0])) * scale for sign in (-1, 1)]
        centres.append(axes.transData.transform((x, y)) * scale)
        taken.append((ends[0][0] - 4, ends[0][1] - 4, ends[1][0] + 4, ends[1][1] + 4))
    for one, (x, y) in sorted(zip(series, centres), key=lambda pair: pair[1][1]):
        wide = 5.4 * len(one["name"])
        places = [(way * away, -rise) for away in range(7, 80, 6) for rise in (5, -5, 14, -14, 23, 32, 41, 50)
                  for way in (1, -1)]
        for dx, dy in sorted(places, key=lambda place: abs(place[0]) + 1.5 * abs(place[1])):
            left = x + dx if dx > 0 else x + dx - wide
            box = (left, y + dy - 5, left + wide, y + dy + 5)
            inside = frame[0] + 2 < box[0] and box[2] < frame[2] + 60
            inside = inside and frame[1] + 2 < box[1] and box[3] < frame[3] + 4
            if inside and not any(meet(box, other) for other in taken):
                break
        taken.append(box)
        axes.annotate(one["name"], xy=one["points"][0][:2], xytext=(dx, dy), textcoords="offset points",
                      ha="left" if dx > 0 else "right", va="center", color="#222222",
                      arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3,
                                  "relpos": (0 if dx > 0 else 1, 0.5)})


def draw_panel(axes, panel, colour_of):
    series = panel["series"]
    points = panel["kind"] == "points"
    for i, one in enumerate(series):
        colour, marker = (COLOURS[0], MARKERS[0]) if points else (COLOURS[-1], "o") if len(series) == 1 else colour_of[
            one["name"]]
        aside = panel.get("aside", 0) * (i - (len(series) - 1) / 2)
        xs, ys = [p[0] + aside for p in one["points"]], [p[1] for p in one["points"]]
        axes.plot(xs, ys, "-" if not points else "", color=colour, marker=marker, markersize=5 if points else None,
                  markevery=max(1, len(xs) // 7))
        barred = [p for p in one["points"] if len(p) > 2]
        if barred:
            axes.errorbar([p[0] + aside for p in barred], [p[1] for p in barred], yerr=[p[2] for p in barred],
                          fmt="none", ecolor=colour, elinewidth=0.8)
    if panel.get("zero"):
        axes.axhline(0, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    axes.set_title(panel["title"])
    axes.set_xlabel(panel["x"])
    axes.set_ylabel(panel["y"])
    if panel.get("log"):
        for scale, axis in ((axes.set_xscale, axes.xaxis), (axes.set_yscale, axes.yaxis)):
            scale("log")
            axis.set_major_formatter("{x:g}")
            axis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.margins(x=0.03 if not points else 0.12, y=0.06 if not points else 0.14)
    ticks = panel.get("ticks")
    if ticks:
        axes.set_xticks(ticks)


def draw(data):
    """The figure of a file's contents."""
    rows = data["rows"]
    wide = max(map(len, rows))
    names = dict.fromkeys(one["name"] for row in rows for panel in row if panel for one in panel["series"])
    colour_of = {name: (COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]) for i, name in enumerate(names)}
    size = data.get("panel", [WIDE, HIGH])
    figure, grid = plt.subplots(len(rows), wide, squeeze=False, figsize=(size[0] * wide, size[1] * len(rows)))
    for row, line in zip(rows, grid):
        for panel, axes in zip(row + [None] * (wide - len(row)), line):
            if panel:
                draw_panel(axes, panel, colour_of)
            else:
                axes.axis("off")
    figure.tight_layout(w_pad=data.get("between", 7), h_pad=1.5, rect=(0, 0, 1 - data.get("right", 0.07), 1))
    figure.canvas.draw()
    for row, line in zip(rows, grid):
        for panel, axes in zip(row, line):
            if panel and panel["kind"] == "points":
                name_points(axes, panel["series"])
            elif panel:
                only = len(panel["series"]) == 1
                name_ends(axes, panel["series"], [COLOURS[-1] if only else colour_of[one["name"]][0]
                                                  for one in panel["series"]])
    return figure


def shorter(text):
    """The same picture with one decimal (of 1/72 inch) and styles by name, without comments, metadata, names of groups,
    turns by nothing and indentation: a third as long."""
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(?<=<g) id="[^"]*"(?=>)| transform="rotate\(-0 [^"]*"', "", text)
    text = re.sub(r"'DejaVu Sans'[^;\"]*", "'DejaVu Sans', Verdana, sans-serif", text)
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\.\d)\d+", r"\1", tag[0]), text)
    text = re.sub(r"\n(?=[LCQz] ?)|\n(?=\")", " ", text)
    names = {style: f"s{i}" for i, style in enumerate(dict.fromkeys(re.findall(r'style="([^"]*)"', text)))}
    text = re.sub(r'style="([^"]*)"', lambda found: f'class="{names[found[1]]}"', text)
    sheet = "".join(f"\n.{name}{{{style}}}" for style, name in names.items())
    text = text.replace("</style>", sheet + "\n</style>", 1)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip()) + "\n"


def main(words):
    plt.rcParams.update(STYLE)
    for path in map(pathlib.Path, words or sorted((RESULTS / "data").glob("*.json"))):
        figure = draw(json.loads(path.read_text(encoding="utf-8")))
        target = path.parents[1] / f"{path.stem}.svg"
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
        target.write_text(shorter(buffer.getvalue()), encoding="utf-8")
        print(f"drawn: {target}")


if __name__ == "__main__":
    main(sys.argv[1:])
