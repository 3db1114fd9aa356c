# SPDX-License-Identifier: BSD-3-Clause
"""What linear.py found, as lines on standard output, as CSV and as a page. Nothing in here measures."""
from report import merge_csv, page_head, print_shape, table, verdict, write_page

NAMES = {"tenon-svm": "tenon fit --method svm, whole process", "tenon-hinge": "tenon, hinge loss (information)",
         "tenon-logistic": "tenon fit --method logistic, whole process",
         "tenon-svm-lean": "the same within the memory of the target",
         "tenon-logistic-lean": "the same within the memory of the target",
         "liblinear-s1": "LIBLINEAR -s 1, train() alone, one thread",
         "liblinear-s2": "LIBLINEAR -s 2, train() alone, one thread",
         "lbfgs": "scikit-learn LogisticRegression, lbfgs"}
PEER_TARGET, DATA_TARGET, AGREE = 5.0, 1.3, 1e-5


def seconds_text(entry):
    return entry["note"] if entry["seconds"] is None else f"{entry['seconds']:.3f}"


def ratio(entry, entries):
    """Seconds of this entry in seconds of tenon; None when one of them was stopped."""
    if entry["seconds"] is None or entries[0]["seconds"] is None:
        return None
    return entry["seconds"] / entries[0]["seconds"]


def ratio_text(entry, entries):
    value = ratio(entry, entries)
    return "-" if value is None else f"{value:.2f}"


def note_text(entry):
    if entry["seconds"] is None:
        return "stopped"
    words = [entry["note"], f"best of {entry['runs']}" if entry["runs"] > 1 else "one run"]
    if "excess" in entry:
        words.insert(1, f"{entry['excess']:.1e} above the best known"
                     + (f", worst class {entry['worst']:.1e}" if "worst" in entry else ""))
    return "; ".join(words)


def peer_target(entries, names, limits):
    """(what, figure, target, verdict): the fastest of these peers. One that was stopped counts with the time it had."""
    peers = [entry for entry in entries if entry["contestant"] in names]
    if entries[0]["seconds"] is None or not peers:
        return (f"{' or '.join(names)} / tenon", "-", f">= {PEER_TARGET:g}", "missed: tenon did not finish")
    times = {e["contestant"]: limits[e["contestant"]] if e["seconds"] is None else e["seconds"] for e in peers}
    fastest = min(times, key=times.get)
    lead = times[fastest] / entries[0]["seconds"]
    return (f"{fastest} / tenon", f"{lead:.1f}", f">= {PEER_TARGET:g}", verdict(lead, PEER_TARGET, True))


def memory_figures(entry, shape):
    """MB of the data as float32, MB of one state (K x N or K x D, the larger), what is left of the peak in parts of the data."""
    rows, dim, classes = shape
    data, state = 4e-6 * rows * dim, 4e-6 * classes * max(rows, dim)
    return data, state, (entry["anon_mb"] - state) / data


def granted(shape):
    """MB that a fit may take by the target."""
    rows, dim, classes = shape
    return 4e-6 * (DATA_TARGET * rows * dim + classes * max(rows, dim))


def memory_target(entry, shape):
    share = memory_figures(entry, shape)[2]
    return (f"{entry['contestant']}: (peak - one state) / data", f"{share:.2f}", f"<= {DATA_TARGET:g}",
            verdict(share, DATA_TARGET, False))


def check_target(entry):
    off = abs(entry["objective"] / entry["checked"] - 1)
    return (f"{entry['contestant']}: objective against NumPy's", f"{off:.1e}", f"<= {AGREE:g}",
            verdict(off, AGREE, False))


def targets(result, limits):
    rows = [peer_target(result["svm"], ("liblinear-s1", "liblinear-s2"), limits),
            peer_target(result["logistic"], ("lbfgs",), limits)]
    ours = [e for _, _, e in all_entries([result]) if e["contestant"].startswith("tenon") and e["seconds"] is not None]
    lean = [e for e in ours if e["contestant"].endswith("-lean")]
    return rows + [memory_target(e, result["shape"]) for e in lean] + [check_target(e) for e in ours]


# ---- standard output ----

def print_entry(entry, entries):
    print(f"  {NAMES[entry['contestant']]:<46}{seconds_text(entry):>9}{ratio_text(entry, entries):>9}"
          f"{entry['anon_mb']:>9.0f}  {note_text(entry)}", flush=True)


def print_targets(result, limits):
    for what, figure, target, word in targets(result, limits):
        print(f"  {what}: {figure}, target {target}: {word}", flush=True)


# ---- CSV ----

def all_entries(results):
    return [(result, group, entry) for result in results for group in ("svm", "logistic") for entry in result[group]]


def versions(facts, results):
    """(versions of everything, BLAS kernels of the peers)"""
    found = {}
    for _, _, entry in all_entries(results):
        found |= {name: entry[name] for name in ("python", "numpy", "scipy", "sklearn", "liblinear", "kernels")
                  if name in entry}
    kernels = found.pop("kernels", "unknown")
    return ", ".join([f"tenon {facts['version']}"] + [f"{name} {word}" for name, word in found.items()]), kernels


def csv_rows(facts, results, seed):
    words, peer_kernels = versions(facts, results)
    rows = []
    for result, group, entry in all_entries(results):
        value, own = ratio(entry, result[group]), entry["contestant"].startswith("tenon")
        rows.append(dict(zip(("rows", "dim", "classes"), result["shape"])) | {
            "section": "linear", "machine": facts["cpu"], "threads": facts["threads"], "versions": words,
            "kernels": facts["blas_kernels"] if own else peer_kernels, "seed": seed,
            "contestant": entry["contestant"], "seconds": seconds_text(entry),
            "ratio_to_tenon": "" if value is None else f"{value:.3f}", "anon_mb": f"{entry['anon_mb']:.0f}",
            "objective": f"{entry['checked']:.6f}" if "checked" in entry else "", "note": note_text(entry)})
    return rows


# ---- the page ----

def head_lines(facts, found):
    words, peer_kernels = versions(facts, found["results"])
    limits = ", ".join(f"{name} {seconds}" for name, seconds in found["limits"].items())
    return [*page_head("linear classifiers", facts, f"{facts['threads']} threads, but LIBLINEAR has only one"),
            f"- Versions: {words}. Seed {found['seed']}.",
            f"- BLAS of tenon: {facts['blas']}, kernels {facts['blas_kernels']} (chosen by {facts['chosen_by']}); of "
            f"scikit-learn: {peer_kernels}. Where OpenBLAS mistakes the processor, tenon chooses, and the peers get "
            "the same choice.",
            "- Data: max(0, class mixture of rank 64 + noise - offset), about 62 % zeros, float32 `.npy` in the page "
            "cache; rows of length 1, C = 1. Zeros are free for LIBLINEAR, which is given sparse rows.",
            "- tenon: wall time of the whole process, `tenon fit a=x.npy --labels y.npy --C 1 --select all --loo 0` "
            f"with `--method svm --loss squared-hinge --gap {found['gaps'][0]}`, which ends when every class has certified to be "
            f"that close to its optimum, or `--method logistic` with the loosest gap of {', '.join(found['loose'])} that "
            "brings its loss within 1e-3 of the best known, as the peers have the loosest of theirs.",
            f"- Best known: a tenon head with gap {found['gaps'][1]}, or the peer's own where that is lower.",
            "- LIBLINEAR: train() alone, one class against the rest at a time, bias 1; eps is the loosest with which "
            "the objectives are in sum within 0.1 % of the best known. It trains for about "
            f"{found['budgets'][0]} s, then the time is scaled to all classes; the note says from how many, and how "
            "far above the best known they are. The better of -s 1 and -s 2 counts.",
            "- scikit-learn: from `np.load` until its loss is within 0.1 % of the best known, when it is stopped from "
            f"outside; at most {found['budgets'][1]} s, then extrapolated; imports not counted.",
            "- Runs: the best of two; one for peers whose process took long, as the note says, and for the hinge.",
            f"- Limits in seconds: {limits}; one that needed more says so.",
            "- anon MB: highest resident memory not backed by a file, asked every 5 ms, 10^6 bytes.", ""]


def memory_lines(results):
    rows = []
    for result in results:
        for entry in (e for g in ("svm", "logistic") for e in result[g] if e["contestant"].startswith("tenon")):
            data, state, share = memory_figures(entry, result["shape"])
            rows.append(["{} x {}, {}".format(*result["shape"]), entry["contestant"], f"{entry['anon_mb']:.1f}",
                         f"{data:.1f}", f"{state:.1f}", f"{share:.3f}"])
    return ["## Memory", "",
            f"Target: with `--mem` of {DATA_TARGET:g} times the data as float32 and one state of K x N or K x D floats, "
            "the larger (multipliers or scores), a fit stays within it: the rows that end in -lean. Without `--mem` "
            "logistic regression takes two states more, and factors as large as one, which a large C needs to be fast. "
            "The last column is (peak - one state) / data.", "",
            *table(["shape", "contestant", "peak MB", "data MB", "a state, MB", "without it"], rows)]


def check_lines(results):
    rows = [["{} x {}, {}".format(*result["shape"]), e["contestant"], f"{e['objective']:.6f}", f"{e['checked']:.6f}",
             f"{e['objective'] / e['checked'] - 1:+.1e}", f"{e['gap'] / e['objective']:.1e}", f"{e['inside']:.3f}"]
            for result, _, e in all_entries(results) if "checked" in e]
    return ["## Are the objectives true?", "",
            "The objective that tenon reports (sum over classes) and the one that NumPy finds in double precision from "
            "the weights in the head file; the certified gap in parts of it; seconds by tenon's own clock.", "",
            *table(["shape", "contestant", "reported", "NumPy", "difference", "gap", "tenon inside"], rows)]


def shape_lines(result, facts, limits):
    rows = [[NAMES[e["contestant"]], seconds_text(e), ratio_text(e, result[group]), f"{e['anon_mb']:.0f}",
             note_text(e)] for _, group, e in all_entries([result])]
    times = [e["seconds"] for e in result["svm"] if e["contestant"].startswith("liblinear") and e["seconds"]]
    lines = ["## N {}, D {}, K {}".format(*result["shape"]), "",
             *table(["contestant", "seconds", "x tenon", "anon MB", "note"], rows),
             *table(["target", "measured", "wanted", ""], [list(row) for row in targets(result, limits)])]
    if times and result["svm"][0]["seconds"]:
        split = min(times) / facts["threads"]
        lines += [f"Somebody who splits the classes over {facts['threads']} processes of LIBLINEAR needs at least "
                  f"{split:.3f} s, {split / result['svm'][0]['seconds']:.1f} times tenon's.", ""]
    return lines


def write(csv_path, page_path, facts, found):
    merge_csv(csv_path, "linear", csv_rows(facts, found["results"], found["seed"]))
    lines = head_lines(facts, found)
    for result in found["results"]:
        lines += shape_lines(result, facts, found["limits"])
    write_page(page_path, lines + memory_lines(found["results"]) + check_lines(found["results"]))
