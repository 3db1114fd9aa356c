# SPDX-License-Identifier: BSD-3-Clause
"""Runs sections of the benchmarks. Called by bench/run, which says how.

A section is a module with run(program, environment, directory, size) that measures and prints as it goes, and a
report with write(csv, page, facts, what run returned). SECTION:PART runs a part of one that has parts, and writes no files
unless a folder is named for them: the page is of the whole.
"""
import os
import pathlib
import shutil
import sys
import tempfile
import time

import alternate
import auto
import auto_report
import cost
import cost_report
import evidence
import evidence_report
import fisher
import fisher_report
import images
import images_report
import kernel
import kernel_report
import linear
import linear_report
import measure
import moments
import moments_report
import mpi
import mpi_report
import networks
import networks_report
import online
import online_report
import python
import python_report
import report
import transfer
import transfer_report

SECTIONS = {"evidence": (evidence, evidence_report), "linear": (linear, linear_report), "cost": (cost, cost_report),
            "auto": (auto, auto_report), "online": (online, online_report), "transfer": (transfer, transfer_report),
            "kernel": (kernel, kernel_report), "images": (images, images_report), "fisher": (fisher, fisher_report),
            "python": (python, python_report), "networks": (networks, networks_report), "mpi": (mpi, mpi_report),
            "moments": (moments, moments_report)}
PARTED = {"cost"}
SMALLER = {"--quick": "quick", "--tiny": "tiny"}
USAGE = ("usage: bench/run PROGRAM [evidence|linear|cost[:SET]|auto|online|transfer|kernel|images|fisher|python|networks|mpi|"
         "moments]... [--quick | --tiny] [--into FOLDER] | bench/run PROGRAM --against OLD [--quick | --tiny] [--into FOLDER]")


def take(words, option):
    """Takes an option with its value out of the words: the value as a path, or None."""
    if option not in words[:-1]:
        return None
    at = words.index(option)
    value = pathlib.Path(words[at + 1]).resolve()
    del words[at:at + 2]
    return value


def known(word):
    """Whether it names a section, or a part of one that has parts."""
    name, colon, _ = word.partition(":")
    return name in SECTIONS and (not colon or name in PARTED)


def parse(arguments):
    """(program, sections, size, folder to write to or None, program to compare with or None)"""
    words, size = [word for word in arguments if word not in SMALLER], "full"
    if {"-h", "--help"} & set(words):
        print(USAGE)
        sys.exit()
    for word in arguments:
        size = SMALLER.get(word, size)
    root, old = take(words, "--into"), take(words, "--against")
    if not words or any(not known(word) for word in words[1:]) or (old and words[1:]):
        sys.exit(USAGE)
    root = root or (measure.HERE.parent if size == "full" and not any(":" in word for word in words[1:]) else None)
    return pathlib.Path(words[0]).resolve(), words[1:] or list(SECTIONS), size, root, old


def compare(old, program, size, root):
    """Two programs; a page only where a folder is named: it says nothing of either alone."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=os.environ.get("TMPDIR", program.parent)) as scratch:
        text = alternate.main(old, program, size, pathlib.Path(scratch))
    if root != measure.HERE.parent and root:
        page = root / "docs" / "results" / "bench-against.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")


def run_section(name, program, facts, size, root):
    """Whether it could run."""
    name, _, part = name.partition(":")
    section, page = SECTIONS[name]
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=os.environ.get("TMPDIR", program.parent)))
    before, start = measure.processor_seconds(), time.perf_counter()
    print(f"\n==== {name} ====", flush=True)
    try:
        found = section.run(program, measure.peer_environment(facts), scratch, size, *([part] if part else []))
    except measure.Skipped as why:
        print(f"skipped: {why}", flush=True)
        return False
    finally:
        shutil.rmtree(scratch)
    seconds = time.perf_counter() - start
    facts = facts | {"others": measure.used_by_others(before, seconds, os.cpu_count()), "section_seconds": seconds}
    report.print_others(facts)
    if root:
        (root / "bench").mkdir(parents=True, exist_ok=True)
        page.write(root / "bench" / "results.csv", root / "docs" / "results" / section.PAGE, facts, found)
        print(f"written: bench/results.csv, docs/results/{section.PAGE}", flush=True)
    return True


def main(arguments):
    program, names, size, root, old = parse(arguments)
    if old:
        compare(old, program, size, root)
        return
    facts = measure.machine(program)
    report.print_machine(facts)
    ran = [run_section(name, program, facts, size, root) for name in names]
    if not any(ran):
        sys.exit(77)


if __name__ == "__main__":
    main(sys.argv[1:])
