#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Do two builds of the program give the same results? For changes of shape that must not change a figure.

Runs every command below with both programs, on data/demo and, where it is there, on other data laid out like
FOLDER/SET/{NETWORK,labels}.{train,test}.npy, and compares their JSON: words and choices must be the same, numbers equal to
--within (relative). Times, paths and versions do not count. Scores of saved heads count too, through `eval` and `predict`.

Usage: compare_results.py OLD NEW [--data FOLDER] [--within 1e-9]        exit 1 when something differs
"""
import argparse
import itertools
import json
import math
import pathlib
import subprocess
import sys
import tempfile

IGNORED = {"seconds", "model", "created_by", "path", "version", "kernel", "quantiser"}
METHODS = ["evidence", "ridge-cv", "lda", "svm", "svm-cv", "logistic", "perceptron", "sgd", "pa", "pa2", "cw", "arow",
           "nherd", "scw", "scw2"]
TRANSFERS = ["auto", "greedytl", "none", "average", "rls", "forward", "l1-logistic", "elastic-net", "multikt-l2",
             "multikt-l1", "dam"]


def differences(old, new, within, place=""):
    """Sentences, one per place where two JSON values differ."""
    if isinstance(old, bool) or isinstance(new, bool) or not isinstance(old, (int, float, dict, list)):
        return [] if old == new else [f"{place}: {old!r}, then {new!r}"]
    if isinstance(old, dict) and isinstance(new, dict):
        lost = [f"{place}.{key}: gone" for key in old if key not in new and key not in IGNORED]
        return lost + [d for key in old if key in new and key not in IGNORED
                       for d in differences(old[key], new[key], within, f"{place}.{key}")]
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return [f"{place}: {len(old)} values, then {len(new)}"]
        return [d for i, (a, b) in enumerate(zip(old, new)) for d in differences(a, b, within, f"{place}[{i}]")]
    if isinstance(old, (int, float)) and isinstance(new, (int, float)):
        return [] if math.isclose(old, new, rel_tol=within, abs_tol=within) else [f"{place}: {old!r}, then {new!r}"]
    return [f"{place}: another kind of value"]


def scenes(folder):
    """(name, training files, test files, training labels, test labels) of every data set in folder."""
    for labels in sorted(folder.glob("*/labels.train.*")) + sorted(folder.glob("labels.train.*")):
        home = labels.parent
        train = sorted(p for p in home.glob("*.train.npy") if p.stem.split(".")[0] != "labels"
                       and not p.name.split(".")[0].endswith("_scores"))
        tests = [p.with_name(p.name.replace(".train.", ".test.")) for p in train]
        yield home.name, train[:3], tests[:3], labels, home / labels.name.replace(".train.", ".test.")


def few_rows(labels, folder):
    """Two rows of each of the last six classes, the rest unlabelled: what transfer is for."""
    names = labels.read_text().splitlines()
    last, seen = sorted(set(names))[-6:], {}
    for i, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        names[i] = name if name in last and seen[name] <= 2 else ""
    few = pathlib.Path(folder) / "few.txt"
    few.write_text("\n".join(names) + "\n")
    return few


def commands(train, tests, labels, test_labels, few):
    """Command lines in the order in which they need each other's files; {d} is the run's own folder."""
    yield ["rank", *train, "--labels", labels, "--normalize", "l2,root,zscore"]
    yield ["rank", train[0], "--labels", labels, "--transform", "none,hellinger,chi2"]
    for i, method in enumerate(METHODS):
        head = f"{{d}}/{method}.safetensors"
        yield ["fit", *(train if i == 0 else train[:1]), "--labels", labels, "--method", method, "-o", head]
        yield ["eval", head, *tests, "--labels", test_labels]
    yield ["predict", "{d}/evidence.safetensors", *tests, "--top", "3"]
    for method in TRANSFERS if few else []:
        head = f"{{d}}/transfer-{method}.safetensors"
        yield ["transfer", "--target", train[0], "--labels", few, "--source", "{d}/svm.safetensors", "--method", method,
               "-o", head]
        yield ["predict", head, *tests, "--source", "{d}/svm.safetensors"]
    yield ["kernel", "learn", "--data", train[0], labels, "-o", "{d}/k.safetensors"]
    yield ["pq", "train", train[0], "-o", "{d}/pq.safetensors"]


def result(program, command, folder):
    words = [str(word).replace("{d}", str(folder)) for word in command]
    run = subprocess.run([program, *words, "--json"], capture_output=True, text=True)
    if run.returncode:
        return {"exit": run.returncode, "message": run.stderr.replace(str(folder), "")}
    try:
        return json.loads(run.stdout)
    except json.JSONDecodeError:
        return {"lines": run.stdout.splitlines()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--within", type=float, default=1e-9)
    options = parser.parse_args()
    demo = pathlib.Path(__file__).resolve().parent.parent / "data" / "demo"
    count, found = 0, 0
    for name, train, tests, labels, test_labels in itertools.chain(
            scenes(demo), scenes(options.data) if options.data else []):
        with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
            few = few_rows(labels, a) if labels.suffix == ".txt" else None
            for command in commands(train, tests, labels, test_labels, few):
                old, new = result(options.old, command, a), result(options.new, command, b)
                count += 1
                lines = differences(old, new, options.within)
                if "exit" in old:
                    lines.append(f"fails: {old['message'].strip()}")
                found += bool(lines)
                if lines:
                    print(f"{name}: {' '.join(str(w) for w in command if '/' not in str(w))}: {lines[0]}"
                          + (f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""), flush=True)
    print(f"{count} commands, {found} with a difference beyond {options.within:g}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
