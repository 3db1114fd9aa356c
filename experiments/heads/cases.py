# SPDX-License-Identifier: BSD-3-Clause
"""One case: a data set, a network, so many rows per class, a draw of them; the test score of every head."""
import json
import os
import random
import subprocess
import sys

import npy
from common import call, test_score

AUTO, ALL = "auto", 0  # ALL: rows per class
ONE_CLASS = "lda"  # for rows of one class each
COSTS = {"svm": ("0.1", "0.3", "1", "3", "10"), "logistic": ("1", "3", "10", "30", "100")}
NAMED = {"evidence": ("evidence", []), "ridge-cv": ("ridge-cv", []), "lda": ("lda", []), "pa": ("pa", []), "arow": ("arow", []),
         "scw": ("scw", []), "svm-cv": ("svm-cv", []), "logistic-cv": ("logistic-cv", []),
         **{f"{method}, C = {cost}": (method, ["--C", cost]) for method, costs in COSTS.items() for cost in costs}}


def classes_of(path):
    """Class number of every row, or None of a multi-label file."""
    header, size, values = npy.read(path)
    if len(header["shape"]) > 1 and header["shape"][1] > 1:
        return None
    return [int.from_bytes(values[at:at + size], "little") for at in range(0, len(values), size)]


def draw_labels(folder, rows, seed, scratch):
    """A file of labels in which `rows` rows of every class have theirs; the whole file where that is ALL."""
    whole = folder / "labels.train.npy"
    if rows == ALL:
        return whole
    classes = classes_of(whole)
    order, seen, kept = list(range(len(classes))), {}, set()
    random.Random(1000 * seed + rows).shuffle(order)
    for row in order:
        seen[classes[row]] = seen.get(classes[row], 0) + 1
        if seen[classes[row]] <= rows:
            kept.add(row)
    target = scratch / "labels.txt"
    target.write_text("".join(f"{y if row in kept else -1}\n" for row, y in enumerate(classes)), encoding="utf-8")
    return target


def timed(program, *words):
    """One run of the program: (its JSON, seconds of processor time)."""
    with subprocess.Popen([str(program), *map(str, words), "--json", "--quiet"], stdout=subprocess.PIPE) as run_:
        text = run_.stdout.read()
        _, status, usage = os.wait4(run_.pid, 0)
        run_.returncode = os.waitstatus_to_exitcode(status)
    if run_.returncode != 0:
        sys.exit(f"{sys.argv[0]}: tenon {words[0]} ended with {run_.returncode}")
    return json.loads(text), usage.ru_utime + usage.ru_stime


def rights(program, folder, network, head):
    """A 1 for every test row whose class the head tells, else a 0; None of a multi-label set."""
    classes = classes_of(folder / "labels.test.npy")
    if classes is None:
        return None
    told = subprocess.run([str(program), "predict", head, f"f={folder / network}.test.npy", "--threads", "1", "--quiet"],
                          stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    return "".join("1" if str(true) == name else "0" for true, name in zip(classes, told, strict=True))


def score(program, folder, network, labels, scratch, method, options):
    """(test score in percent, seconds of processor time, what fit said, which test rows are right)"""
    head = scratch / "head.safetensors"
    said, spent = timed(program, "fit", f"f={folder / network}.train.npy", "--labels", labels, "--method", method, *options,
                        "--threads", "1", "-o", head)
    tested = call(program, "eval", head, f"f={folder / network}.test.npy", "--labels", folder / "labels.test.npy",
                  "--threads", "1")
    return test_score(tested), spent, said | {"test_rows": tested["rows"]}, rights(program, folder, network, head)


def run(program, features, case, scratch):
    """{head: [score, seconds, rows that are right]} of one case, for the heads that its task has, and what auto took."""
    name, network, rows, seed = case
    folder = features / name
    labels = draw_labels(folder, rows, seed, scratch)
    found = {}
    several = classes_of(folder / "labels.train.npy") is None
    for head, (method, options) in {AUTO: (AUTO, []), **NAMED}.items():
        if several and head == ONE_CLASS:
            continue
        value, seconds, said, right = score(program, folder, network, labels, scratch, method, options)
        found[head] = [value, seconds, right]
        if head == AUTO:
            took = [tried["method"] for tried in said["tried"] if tried["chosen"]]
            found["took"], found["test_rows"], found["task"] = (took or [said["method"]])[0], said["test_rows"], said["task"]
    if sys.stderr.isatty():
        print(f"\r{name} {network} {rows} {seed}          ", end="", file=sys.stderr, flush=True)
    return found
