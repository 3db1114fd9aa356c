# SPDX-License-Identifier: BSD-3-Clause
"""The page of docs/results/reliability.md, and the table of problems as it grows."""
import platform
import subprocess

import numpy
import scipy

from common import machine_lines, table

FUZZ_SEED = 1
CHECKS = ("runs", "evidence", "lambda", "fit", "objective", "certificate", "predict", "eval", "finite")
MEANING = {
    "runs": "every command ends with 0, or with 65 where it may refuse",
    "evidence": "`rank`'s log evidence is the exact maximum over λ, within 1e-6 of Σ|F|",
    "lambda": "the log evidence of `fit` is the exact F at the λ it reports, within 1e-6 of Σ|F|",
    "fit": "training scores of the saved ridge head are those of the exact model, within 1e-3 and the rounding of its weights",
    "objective": "the reported objective is that of the saved head, within 1e-5 and the rounding of its scores",
    "certificate": "objective − gap is not above what another solver reached; converged means gap ≤ 1e-4 of the objective",
    "predict": "`predict`'s scores are those of the saved head, within (D + 8) roundings; the class printed is that of the best score",
    "eval": "`eval` says of the head what its scores say",
    "finite": "weights, scores, objective and gap are finite",
}


def versions():
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=False).stdout.splitlines()
    clang = subprocess.run(["clang", "--version"], capture_output=True, text=True, check=False).stdout.splitlines()
    return {"python": platform.python_version(), "numpy": numpy.__version__, "scipy": scipy.__version__,
            "cc": compiler[0] if compiler else "none", "clang": clang[0] if clang else "none",
            "system": f"{platform.system()} {platform.release()}", "long double bits": int(numpy.finfo(numpy.longdouble).nmant) + 1}


class ProblemTable:
    """Problems, worst error as a part of what is allowed, and failures, a kind and a check."""

    def __init__(self):
        self.cells, self.notes, self.groups = {}, {}, {}

    def add(self, result):
        failed = {failure.split(":")[0] for failure in result.failures}
        for check, ratio in result.found.items():
            cell = self.cells.setdefault((result.kind, check), [0, 0.0, 0])
            cell[0] += 1
            cell[1] = max(cell[1], min(ratio, 1e300))
            cell[2] += check in failed
        for note, count in result.notes.items():
            if note != "excess":
                self.notes[note] = self.notes.get(note, 0) + count
        offset = "none" if result.offset == 0 else f"10^{int(result.offset)} to 10^{int(result.offset) + 1}"
        for group, value in (("type", result.type), ("mean over σ", offset),
                             ("spread", f"10^{int(result.spread)} to 10^{int(result.spread) + 1}" if result.spread else "none")):
            cell = self.groups.setdefault((group, value), [0, 0])
            cell[0] += 1
            cell[1] += bool(failed)

    def found(self):
        return {"cells": [[*key, *cell] for key, cell in sorted(self.cells.items())], "notes": self.notes,
                "groups": [[*key, *cell] for key, cell in sorted(self.groups.items())]}

    def lines(self):
        return problem_tables(self.found())


def cell_text(cell):
    """problems, worst error as a part of what is allowed, and what failed."""
    if cell is None:
        return ""
    count, worst, failures = cell
    return f"{count}, {worst:.1g}" + (f", **{failures} failed**" if failures else "")


def problem_tables(found):
    cells = {(kind, check): values for kind, check, *values in found["cells"]}
    kinds = sorted({kind for kind, _ in cells})
    shown = [check for check in CHECKS if any(key[1] == check for key in cells)]
    lines = table(["kind", *shown], [[kind, *(cell_text(cells.get((kind, check))) for check in shown)] for kind in kinds])
    rows = [[group, value, count, failed] for group, value, count, failed in found["groups"]]
    return lines + table(["by", "value", "problems", "failed"], rows)


def problem_lines(found):
    notes = found["notes"]
    return ["## Random problems", "",
            f"Seeds {found['first']} to {found['first'] + found['count'] - 1}: **{found['count']} problems, {found['failed']} "
            f"failed**, {found['seconds']:.0f} s, revision {found['revision']}. N from 2 to 200 and, one in twenty, to 3000; D from 1 to 4 N; up to 20 "
            "classes, from one row per class; means to 10^6 σ, spreads to 10^4 between directions, later rows that lie elsewhere, scales from 10^-25 to 10^25, every element type, every "
            "normalisation, with and without an intercept, C from 0.01 to 1000. The reference takes the values that the file holds and "
            "works in long double; minima are those of Newton and L-BFGS in NumPy and SciPy, which share nothing with the library. "
            f"Not compared: {notes.get('unbounded', 0)} problems whose evidence has no bound, and {notes.get('class means', 0)} heads of "
            "class means, which have no λ. Not converged, and said so: "
            f"{notes.get('not converged', 0)}. Refused with a sentence, because values above 1e15 or below 1e-15 have squares out "
            f"of range, or a mean of more than 16000 deviations has no intercept: {notes.get('refused', 0)}.", "",
            "A cell: problems, worst error as a part of what is allowed, failures. `experiments/reliability/run problems --only SEED` "
            "repeats one.", "", *[f"- **{check}**: {MEANING[check]}" for check in CHECKS], "", *problem_tables(found)]


def fuzz_lines(found):
    total = sum(entry["executions"] for entry in found["targets"])
    findings = sum(entry["findings"] for entry in found["targets"])
    rows = [[entry["target"], f"{entry['minutes']:g}", entry["executions"], entry["coverage"], entry["findings"], entry["revision"]]
            for entry in found["targets"]]
    return ["## Fuzzing", "",
            f"libFuzzer with address and undefined-behaviour sanitizers, seed {FUZZ_SEED}: **{total} executions, {findings} findings**. "
            f"Minutes are those of the clock; several targets may have shared a core. {found['versions']['clang']}.", "",
            *table(["target", "minutes", "executions", "edges covered", "findings", "revision"], rows)]


def torture_lines(found):
    rows = [[name, entry["runs"], entry["signals"], entry["faults"], entry["findings"]] for name, entry in sorted(found["kinds"].items())]
    return ["## Torture", "",
            f"`make torture MINUTES={found['minutes']:g}`, seed {found['seed']}, revision {found['revision']}: **{found['runs']} runs "
            f"of the program, {found['kills']} signals sent, {found['faults']} faults injected, {found['findings']} findings**. After every "
            "run: no death by a signal that was not sent, a documented exit status, outputs that are absent, as they were, or complete "
            "and loadable, complete where the program said 0, and nothing left beside them after the next run.", "",
            *table(["kind", "runs", "signals sent", "faults injected", "findings"], rows)]


def answer_lines(found):
    """What came out, before how."""
    lines = []
    if "problems" in found:
        lines.append(f"- Random problems against a reference in long double: **{found['problems']['failed']} of "
                     f"{found['problems']['count']} failed**.")
    if "fuzz" in found:
        targets = found["fuzz"]["targets"]
        lines.append(f"- Fuzzing: **{sum(entry['findings'] for entry in targets)} findings** in "
                     f"{sum(entry['executions'] for entry in targets)} executions of {len(targets)} targets.")
    if "torture" in found:
        part = found["torture"]
        lines.append(f"- Torture: **{part['findings']} findings** in {part['runs']} runs of the program with {part['kills']} "
                     f"signals and {part['faults']} faults.")
    return [*lines, ""]


def render(found):
    lines = ["# Reliability", "", *answer_lines(found),
             "Made by `experiments/reliability/run`; nothing here is edited by hand.", ""]
    if "problems" in found:
        part = found["problems"]
        lines += machine_lines(part["doctor"], f"NumPy {part['versions']['numpy']}, SciPy {part['versions']['scipy']}, "
                               f"{part['versions']['cc']}, long double of {part['versions']['long double bits']} bits")
        lines += [""]
        lines += problem_lines(part)
    if "fuzz" in found:
        lines += fuzz_lines(found["fuzz"])
    if "torture" in found:
        lines += torture_lines(found["torture"])
    return "\n".join(lines)
