# SPDX-License-Identifier: BSD-3-Clause
"""What python.py found, as lines on standard output, as CSV and as a page. Nothing in here measures."""
from report import merge_csv, page_head, print_shape, table, verdict, write_page

NAMES = {"tenon-evidence": "EvidenceClassifier().fit", "ridge-cv": "RidgeClassifierCV(21 alphas).fit",
         "tenon-svm": "LinearSVMClassifier(C=1).fit", "linear-svc": "LinearSVC(C=1).fit",
         "tenon-logistic-1": "LogisticClassifier(C=1).fit", "lbfgs-1": "LogisticRegression(C=1).fit",
         "tenon-logistic-100": "LogisticClassifier(C=100).fit", "lbfgs-100": "LogisticRegression(C=100).fit",
         "tenon-online": "OnlineClassifier().partial_fit",
         "passive-aggressive": "PassiveAggressiveClassifier.partial_fit", "sgd": "SGDClassifier.partial_fit"}
OVERHEAD, MEMORY, SMALL_MS = 1.05, 1.1, 0.2


def per_row(entry):
    return entry["seconds"] / entry["rows"]


def print_entry(entry):
    print(f"  {NAMES[entry['contestant']]:<46}{entry['seconds']:>9.3f}{'':>9}{entry['anon_mb']:>9.0f}  "
          f"{entry['rows']} rows; best of {entry['runs']}", flush=True)


def targets(found):
    """[(what, figure, target, verdict)]"""
    rows = []
    for entries, pairs in ((found["entries"], found["pairs"]), (found["streamed"], found["online"])):
        for our, peer, wanted in pairs:
            lead = per_row(entries[peer]) / per_row(entries[our])
            rows.append((f"{NAMES[our]} / {NAMES[peer]}", f"{lead:.1f}", f">= {wanted:g}", verdict(lead, wanted, True)))
    ours, program = found["entries"]["tenon-evidence"], found["program"]
    share = program["used_in_python"] / max(program["used"], 1e-3)
    rows.append(("processor time of EvidenceClassifier().fit / of the program's process", f"{share:.2f}",
                 f"<= {OVERHEAD}", verdict(share, OVERHEAD, False)))
    share = ours["anon_mb"] / max(program["anon_mb"], 1)
    rows.append(("memory of it beside the array / of the program", f"{share:.2f}", f"<= {MEMORY}",
                 verdict(share, MEMORY, False)))
    small = 1000 * found["small"]["predict"]
    rows.append(("head.predict of one row, ms", f"{small:.3f}", f"<= {SMALL_MS}", verdict(small, SMALL_MS, False)))
    return rows


def print_targets(found):
    for what, figure, wanted, word in targets(found):
        print(f"  {what}: {figure} ({wanted}) {word}", flush=True)


def csv_rows(facts, found):
    versions = ", ".join(f"{k} {v}" for k, v in found["versions"].items() if k != "kernels")
    rows = []
    for shape, entries in zip(found["shapes"], (found["entries"], found["streamed"])):
        for entry in entries.values():
            rows.append({"section": "python", "machine": facts["cpu"], "threads": facts["threads"],
                         "versions": versions, "kernels": found["versions"]["kernels"], "seed": found["seed"],
                         "rows": shape[0], "dim": shape[1], "classes": shape[2], "contestant": entry["contestant"],
                         "seconds": f"{entry['seconds']:.4f}", "anon_mb": f"{entry['anon_mb']:.0f}",
                         "note": f"{entry['rows']} rows; best of {entry['runs']}"})
    return rows


def entry_rows(entries):
    return [[NAMES[e["contestant"]], f"{e['seconds']:.3f}", f"{e['rows'] / e['seconds']:.0f}", f"{e['anon_mb']:.0f}",
             f"best of {e['runs']}"] for e in entries.values()]


def write(csv, page, facts, found):
    merge_csv(csv, "python", csv_rows(facts, found))
    versions = found["versions"]
    lines = page_head("the Python package", facts, f"{facts['threads']} threads for everybody")
    lines += ["- Versions: " + ", ".join(f"{k} {v}" for k, v in versions.items() if k != "kernels") +
              f". Seed {found['seed']}. Kernels of the package's own BLAS: {versions['kernels']}.",
              "- Data: max(0, class mixture of rank 64 + noise - offset), float32, an array in memory. Time is that of "
              "fit, or of partial_fit of one chunk (4096 rows here, 256 of scikit-learn's); imports, loading and, for "
              "scikit-learn, the normalisation to unit length that tenon does itself are not counted.",
              "- Memory: highest anonymous memory during fit less that before it, 10^6 bytes.",
              f"- The program: `tenon fit X=x.npy --labels y.npy --method evidence`, whole process "
              f"{found['program']['seconds']:.3f} s, inside {found['program']['inside']:.3f} s, "
              f"{found['program']['anon_mb']:.0f} MB. One thread, in turn, least of 15: "
              f"{found['program']['used']:.3f} s of processor time, fit in Python "
              f"{found['program']['used_in_python']:.3f} s.",
              f"- `import tenon` with NumPy: {found['small']['import']:.2f} s.", ""]
    for shape, entries in zip(found["shapes"], (found["entries"], found["streamed"])):
        lines += ["## {} rows, {} columns, {} classes".format(*shape), ""]
        lines += table(["contestant", "seconds", "rows per second", "MB", "note"], entry_rows(entries))
    lines += ["## Targets", ""] + table(["target", "figure", "wanted", "verdict"], [list(r) for r in targets(found)])
    write_page(page, lines)


__all__ = ["print_entry", "print_shape", "print_targets", "write"]
