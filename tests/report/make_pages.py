#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the pages that the tests look at: make_pages.py TENON DEMO FOLDER. Standard library only.

plain: rank, fit and eval of the demonstration; hostile: names that are markup, scripts and marks of direction, wherever names
come from; large: 1000 classes. Each NAME.html with NAME.json, NAME.1.json ... of what is in it."""
import json
import os
import random
import struct
import subprocess
import sys

tenon, demo, folder = (os.path.abspath(p) for p in sys.argv[1:])
os.makedirs(folder, exist_ok=True)
os.chdir(folder)
NASTY = ["<script>window.ran=1;alert(1)</script>", "</script><script>window.ran=2</script>",
         "\"><img src=x onerror=\"window.ran=3\">", "'onmouseover='window.ran=4", "</title></style><svg onload=window.ran=5>",
         "<!--", "]]>", "&lt;b&gt;&amp;#60;", "javascript:window.ran=6", "a\u202eb\u2066c\u200bd", "{{7*7}}${7*7}", "x" * 300,
         "<iframe src=data:text/html,hi>", "\u05d0\u05d1\u05d2 \u0627\u0644", "=cmd|' /C calc'!A0", "<a href=\"//e.example\">go</a>"]


def run(*words, out=None):
    done = subprocess.run([tenon, *words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    if out:
        with open(out, "w", encoding="utf-8") as file:
            file.write(done.stdout)


def npy(path, rows):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    head = head.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        for row in rows:
            file.write(struct.pack(f"<{len(row)}f", *row))


def plain():
    train = sorted(f"{demo}/{f}" for f in os.listdir(demo) if f.endswith(".train.npy"))
    test = [f.replace(".train.", ".test.") for f in train]
    run("rank", *train, "--labels", f"{demo}/labels.train.txt", "--json", out="rank.json")
    run("fit", *train, "--labels", f"{demo}/labels.train.txt", "--method", "evidence", "-o", "h.safetensors", "--json", out="fit.json")
    run("fit", train[0], "--labels", f"{demo}/labels.train.txt", "--method", "ridge-cv", "-o", "g.safetensors", "--json", out="grid.json")
    run("fit", train[0], "--labels", f"{demo}/labels.train.txt", "--method", "pa", "--epochs", "3", "-o", "p.safetensors", "--json", out="passes.json")
    run("cv", train[0], "--labels", f"{demo}/labels.train.txt", "--method", "evidence", "--against", "ridge-cv", "--folds", "3", "--json", out="cv.json")
    measure = ["eval", "h.safetensors", *test, "--labels", f"{demo}/labels.test.txt", "--compare", "g.safetensors", "--json"]
    run(*measure, "--report", "plain.html", out="eval.json")
    run("report", "rank.json", "fit.json", "grid.json", "passes.json", "cv.json", "eval.json", "h.safetensors", "-o", "all.html")
    run("info", "h.safetensors", "--json", out="info.json")
    with open("info.json", encoding="utf-8") as file, open("head.json", "w", encoding="utf-8") as out:
        json.dump({"command": "head", "provenance": json.load(file)["files"][0]}, out)
    values = [[random.gauss(0, 1) for _ in range(2)] for _ in range(60)]
    npy("y.npy", values)
    npy("s.npy", [[v + random.gauss(0, 0.5) for v in row] for row in values])
    run("eval", "--scores", "s.npy", "--labels", "y.npy", "--task", "regression", "--json", out="regression.json")
    run("report", "regression.json", "-o", "regression.html")
    run("transfer", "--target", *train, "--labels", f"{demo}/labels.train.txt", "--source", "p.safetensors", "--class", "ant",
        "--method", "greedytl", "--json", "-o", "t.safetensors", out="transfer.json")
    run("report", "transfer.json", "-o", "transfer.html")
    run("kernel", "learn", "--data", train[0], f"{demo}/labels.train.txt", "-o", "k.safetensors", "--json", out="kernel.json")
    run("report", "kernel.json", "-o", "kernel.html")


def hostile():
    rows, labels = [], []
    for i in range(8 * len(NASTY)):
        c = i % len(NASTY)
        rows.append([random.gauss(2.0 if j == c else 0, 1) for j in range(len(NASTY))])
        labels.append(NASTY[c])
    name = "<img src=x onerror=window.ran=7>\u202e'\".npy"
    npy("h.npy", rows)
    npy(name.replace("/", ""), rows)
    with open("hostile.txt", "w", encoding="utf-8") as file:
        file.write("".join(f"{NASTY[i % len(NASTY)]}{i}\t{label}\n".replace("|", "!") for i, label in enumerate(labels)))
    rep = f"<b onclick>\"'&amp;={name}"
    run("rank", rep, "twin=h.npy", "--labels", "hostile.txt", "--json", out="hostile.rank.json")
    run("fit", rep, "--labels", "hostile.txt", "--method", "evidence", "-o", "<b>.safetensors", "--json", out="hostile.fit.json")
    run("eval", "<b>.safetensors", rep, "--labels", "hostile.txt", "--json", "--report", "hostile.one.html", out="hostile.eval.json")
    with open("hostile.more.json", "w", encoding="utf-8") as file:
        json.dump({"command": "cv", "task": NASTY[0], "folds": 2, "methods": [
            {"method": n, "metric": n, "mean": 0.5, "se": 0.1, "metrics": {n: {"mean": 0.5, "se": 0.1}}} for n in NASTY],
            "warnings": NASTY, "provenance": {"command_line": NASTY[0], NASTY[2]: NASTY[1], "files": [{"path": n, "sha256": n} for n in NASTY],
                                              "options": {n: n for n in NASTY}}}, file)
    run("report", "hostile.rank.json", "hostile.fit.json", "hostile.eval.json", "hostile.more.json", "<b>.safetensors", "-o", "hostile.html")


def large():
    classes, rows = 1000, 4000
    scores, labels = [], []
    for i in range(rows):
        row = [random.gauss(0, 1) for _ in range(classes)]
        row[i % classes] += 3
        scores.append(row)
        labels.append(f"class of a longer name {i % classes:04d}\n")
    npy("large.npy", scores)
    with open("large.txt", "w", encoding="utf-8") as file:
        file.writelines(labels)
    run("eval", "--scores", "large.npy", "--labels", "large.txt", "--json", "--resamples", "100", "--report", "large.html", out="large.json")
    size = os.path.getsize("large.html")
    if size > 2000000:
        sys.exit(f"large.html: {size} bytes, expected at most 2 MB")
    print(f"large.html: {size} bytes")


random.seed(20240611)
plain()
hostile()
large()
