# SPDX-License-Identifier: BSD-3-Clause
"""The picture of the page: how well each score orders, against what its first choice costs and against its bias to width;
means over the sets with one class per row, for which all scores exist."""
import figures


def series(results, sets, x, group):
    for score in [*figures.OURS, *figures.PUBLISHED]:
        if set(sets) <= set(results.sets_of(score)):
            yield {"name": figures.SHORT.get(score, score),
                   "points": [[round(x(score), 3), round(results.mean(results.tau, score, sets, group), 3)]]}


def panels(results):
    sets = results.sets_of("N-LEEP") or results.sets
    cost = {"title": "all candidates", "x": "regret of the first choice, points", "y": "weighted Kendall τ",
            "kind": "points",
            "series": list(series(results, sets, lambda s: results.mean(results.regret, s, sets, "all"), "all"))}
    width = {"title": "random columns of networks", "x": "bias to width (Spearman, less that of the test)",
             "y": "weighted Kendall τ", "kind": "points", "ticks": [-0.1, -0.05, 0, 0.05, 0.1],
             "series": list(series(results, sets, lambda s: results.mean(results.bias_to_width, s, sets), "columns"))}
    return {"about": "Made by experiments/transferability/run.", "panel": [4.2, 3.2], "between": 6, "right": 0.08,
            "rows": [[cost, width]]}
