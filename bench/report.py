# SPDX-License-Identifier: BSD-3-Clause
"""What the reports of all sections have in common: words, tables, the CSV file. Nothing in here measures."""
import csv

BUSY = 0.05
COLUMNS = ["section", "machine", "threads", "versions", "kernels", "seed", "rows", "dim", "classes", "contestant",
           "seconds", "ratio_to_tenon", "anon_mb", "objective", "note"]


def verdict(value, target, at_least):
    """Sentence part: met, or missed by how much."""
    if value >= target if at_least else value <= target:
        return "met"
    return f"missed by {abs(value / target - 1):.0%}"


def others_text(facts):
    words = f"other programs took {facts['others']:.0%} of the processors meanwhile"
    return words if facts["others"] < BUSY else words + ": TOO MUCH, repeat on a free machine"


def print_others(facts):
    print(f"\n{others_text(facts)}")


def print_machine(facts):
    print(f"{facts['cpu']}, {facts['cores']} cores, {facts['threads']} threads; BLAS kernels {facts['blas_kernels']} "
          f"(chosen by {facts['chosen_by']})", flush=True)


def print_shape(shape):
    """Over lines of contestants with their seconds."""
    print("\nN {}, D {}, K {}".format(*shape))
    print(f"  {'contestant':<46}{'seconds':>9}{'x tenon':>9}{'anon MB':>9}  note", flush=True)


def page_head(title, facts, threads):
    """The beginning of every page. threads: who has how many, and what else belongs to the machine."""
    return [f"# Benchmark: {title}", "",
            f"Made by `make bench` (this section in {facts['section_seconds']:.0f} s), figures as they came out; "
            "`bench/results.csv` has the same. Nothing here is edited by hand.", "",
            f"- Machine: {facts['cpu']}, {facts['cores']} cores, {facts['memory_gb']:.0f} GB, {facts['system']}, SIMD "
            f"{facts['simd']}; {threads}; {others_text(facts)}."]


def answer(lines):
    """The first line of a page: how many of its targets were met, and which were not."""
    rows, inside = [], False
    for line in lines:
        inside = line.startswith("| target |") or (inside and line.startswith("|"))
        if inside and not line.startswith(("| target |", "|---")):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
    missed = "; ".join(f"{what}: {figure}, wanted {wanted}" for what, figure, wanted, word in rows if word != "met")
    met = sum(row[3] == "met" for row in rows)
    return f"**{met} of {len(rows)} targets met{': missed ' + missed if missed else ''}.**"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def merge_csv(path, section, rows):
    """Puts the rows of a section (dictionaries) in the place of its old ones; other sections keep theirs."""
    kept = []
    if path.is_file():
        with open(path, newline="") as file:
            kept = [row for row in csv.DictReader(file) if row.setdefault("section", "evidence") != section]
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        out.writeheader()
        out.writerows(sorted(kept + rows, key=lambda row: row["section"]))


def write_page(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([lines[0], "", answer(lines), *lines[1:]]))
