# SPDX-License-Identifier: BSD-3-Clause
"""What transfer.py found, as lines on standard output, as CSV and as a page. Nothing in here measures."""
from report import merge_csv, page_head, table, verdict, write_page

NAMES = {"path": "tenon, standardisation and path alone", "tenon": "tenon transfer, whole process",
         "numpy-direct": "NumPy, the criterion solved for every candidate", "numpy-update": "NumPy, tenon's updates",
         "sklearn-omp": "OrthogonalMatchingPursuit", "sklearn-lasso": "Lasso"}
PATH_TARGET_MS, PROCESS_TARGET, MEMORY_TARGET = 5.0, 10.0, 2.0


def by_name(shape):
    return {entry["contestant"]: entry for entry in shape["entries"]}


def time_text(seconds):
    return f"{1000 * seconds:.2f} ms" if seconds < 0.1 else f"{seconds:.2f} s"


def memory_text(entry, key):
    return f"{entry[key]:.0f}" if key in entry else "-"


def ratio(entry, entries):
    """Time in that of tenon's path."""
    return entry["seconds"] / entries[0]["seconds"]


def note_text(entry):
    words = ["stopped, it needs longer"] if entry.get("stopped") else [f"{len(entry['picks'])} columns"]
    if "standardising" in entry:
        words.append(f"{time_text(entry['standardising'])} of it standardising")
    return "; ".join(words + [f"best of {entry['runs']}" if entry["runs"] > 1 else "one run"])


def matrix_mb(shape):
    """As it lies in the files, float32, 10^6 bytes."""
    return 4e-6 * shape["rows"] * shape["columns"]


def targets(found):
    """[(what, figure, target, verdict)]"""
    path, wide = by_name(found["small"])["path"], by_name(found["wide"])["tenon"]
    milliseconds, times = 1000 * path["seconds"], wide["anon_mb"] / matrix_mb(found["wide"])
    columns = found["wide"]["columns"]
    return [(f"{found['small']['columns']} columns, path alone, ms", f"{milliseconds:.2f}", f"<= {PATH_TARGET_MS:g}",
             verdict(milliseconds, PATH_TARGET_MS, False)),
            (f"{columns} columns, whole process, s", f"{wide['seconds']:.2f}", f"<= {PROCESS_TARGET:g}",
             verdict(wide["seconds"], PROCESS_TARGET, False)),
            (f"{columns} columns, anonymous memory / the matrix (float32, {matrix_mb(found['wide']):.0f} MB)",
             f"{times:.2f}", f"<= {MEMORY_TARGET:g}", verdict(times, MEMORY_TARGET, False))]


def same_text(shape):
    """Whether all that follow the criterion picked the same columns in the same order."""
    entries = by_name(shape)
    others = [name for name in ("tenon", "numpy-direct", "numpy-update") if entries.get(name, {}).get("picks")]
    same = [name for name in others if entries[name]["picks"] == entries["path"]["picks"]]
    return (f"{shape['columns']} columns: the path alone and {', '.join(same) or 'nobody'} picked the same columns in the "
            "same order" + "".join(f"; {name} differs" for name in others if name not in same))


# ---- standard output ----

def print_shape(rows, columns):
    print(f"\nm {rows}, d + n {columns}")
    print(f"  {'contestant':<50}{'time':>12}{'x path':>10}{'anon MB':>9}  note", flush=True)


def print_entry(entry, entries):
    print(f"  {NAMES[entry['contestant']]:<50}{time_text(entry['seconds']):>12}{ratio(entry, entries):>10.2f}"
          f"{memory_text(entry, 'anon_mb'):>9}  {note_text(entry)}", flush=True)


def print_targets(found):
    print()
    for shape in (found["small"], found["wide"]):
        print(f"  {same_text(shape)}")
    for what, figure, target, word in targets(found):
        print(f"  {what}: {figure}, target {target}: {word}", flush=True)


# ---- CSV ----

def versions(facts, found):
    peer = next((entry for entry in found["small"]["entries"] if "sklearn" in entry), {})
    words = [f"tenon {facts['version']}"] + [f"{name} {peer[name]}" for name in ("python", "numpy", "scipy", "sklearn")
                                             if name in peer]
    return ", ".join(words), peer.get("kernels", "unknown")


def csv_rows(facts, found):
    words, peer_kernels = versions(facts, found)
    same = {"section": "transfer", "machine": facts["cpu"], "threads": 1, "versions": words, "seed": found["seed"],
            "classes": 2}
    return [same | {
        "kernels": facts["blas_kernels"] if entry["contestant"] in ("path", "tenon") else peer_kernels,
        "rows": shape["rows"], "dim": shape["columns"], "contestant": entry["contestant"],
        "seconds": f"{entry['seconds']:.6f}", "ratio_to_tenon": f"{ratio(entry, shape['entries']):.3f}",
        "anon_mb": memory_text(entry, "anon_mb"), "note": f"{note_text(entry)}; ratio: to the path alone"}
        for shape in (found["small"], found["wide"]) for entry in shape["entries"]]


# ---- the page ----

def head_lines(facts, found):
    words, peer_kernels = versions(facts, found)
    return [*page_head("transfer", facts, "one thread for everybody"),
            f"- Versions: {words}. Seed {found['seed']}. BLAS of tenon: {facts['blas']}, kernels {facts['blas_kernels']} "
            f"(chosen by {facts['chosen_by']}); of NumPy and scikit-learn: {peer_kernels}.",
            f"- Data: max(0, class mixture of rank 64 + noise - offset), float32, two classes; the last {found['sources']} "
            "columns stand for the scores of sources. In the page cache.",
            f"- Path alone: `bench/transfer_path.c`, made of the program's objects: a matrix in memory as floats is "
            f"laid out in tiles and standardised, and {found['picks']} columns are picked (λ = 1, δ = 0).",
            f"- Whole process: `tenon transfer --target a=x.npy --labels y.npy --source s=scores.npy --method greedytl --k "
            f"{found['picks']} --delta 0 --normalize none --threads 1`, from the files to the head on disk, with the "
            f"leave-one-out error after every pick: {found['small']['rows']} paths more, each without a row.",
            "- NumPy and scikit-learn: from a matrix in memory as doubles, with standardisation, imports not counted. "
            "`numpy-direct` solves the paper's criterion anew for every candidate; OrthogonalMatchingPursuit has the same "
            "number of columns but no regularisation, and ends when the rows are explained; Lasso has an alpha of a tenth "
            "of the least that gives no column.",
            "- anon MB: highest resident memory not backed by a file, asked every 5 ms, 10^6 bytes, for tenon in a run of "
            "its own; of peers with Python and the loaded data.", ""]


def shape_lines(shape):
    rows = [[NAMES[e["contestant"]], time_text(e["seconds"]), f"{ratio(e, shape['entries']):.2f}",
             memory_text(e, "anon_mb"), note_text(e)] for e in shape["entries"]]
    return ([f"## m = {shape['rows']}, d + n = {shape['columns']}", ""]
            + table(["contestant", "time", "x path", "anon MB", "note"], rows)
            + [f"Do they pick the same? {same_text(shape)}.", ""])


def write(csv_path, page_path, facts, found):
    merge_csv(csv_path, "transfer", csv_rows(facts, found))
    write_page(page_path, head_lines(facts, found) + shape_lines(found["small"]) + shape_lines(found["wide"])
               + ["## Targets", ""] + table(["target", "measured", "wanted", ""], [list(row) for row in targets(found)]))
