# SPDX-License-Identifier: BSD-3-Clause
"""The section on method auto: seconds of `tenon fit` without a method, as a whole process, where people end up, and of very
many rows in fits by the evidence alone."""
import auto_report as report
from measure import SEED, make_data, measure

PAGE = "bench-auto.md"
OFFSET, NOISE = "0", "2.2"  # as in cost.py: half of the entries are 0, about half of new rows are told right
# rows, columns, classes; seconds that are wanted, or fits by the evidence; None: it is told, nothing was wanted
SHAPES = {"full": [((1200, 512, 16), 1, None), ((5994, 512, 200), 15, None), ((19850, 4096, 397), None, None),
                   ((1_000_000, 1024, 100), None, 3)],
          "quick": [((1200, 512, 16), 1, None)], "tiny": [((60, 8, 3), 1, None)]}
RUNS, LIMIT, LONG = 3, 900, 100_000  # of LONG rows and more one run is steady enough


def fit(program, paths, directory, rows, *options):
    """Seconds, megabytes and what tenon says, of the fastest run."""
    command = [program, "fit", f"a={paths[0]}", "--labels", paths[1], "-o", directory / "head.safetensors", "--json", "--quiet",
               *options]
    runs = [measure(command, None, directory, LIMIT) for _ in range(1 if rows >= LONG else RUNS)]
    return min(runs, key=lambda run: run[0])


def time_shape(program, environment, directory, shape, seconds, fits):
    paths = make_data(directory, shape, environment, OFFSET, NOISE)
    auto = fit(program, paths, directory, shape[0])
    evidence = fit(program, paths, directory, shape[0], "--method", "evidence")
    tried = [(row["method"], row["seconds"]) for row in auto[2]["tried"]] if auto[2] else []
    entry = {"shape": shape, "auto": auto[0], "evidence": evidence[0], "anon_mb": auto[1], "tried": tried,
             "seconds": seconds, "fits": fits}
    report.print_entry(entry)
    return entry


def run(program, environment, directory, size):
    entries = [time_shape(program, environment, directory, *wanted) for wanted in SHAPES[size]]
    return {"entries": entries, "seed": SEED, "runs": RUNS, "long": LONG}
