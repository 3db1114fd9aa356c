# SPDX-License-Identifier: BSD-3-Clause
"""What cost.py found, as lines on standard output, as CSV, as a page and as curves. Nothing in here measures."""
import pathlib
import sys

from report import merge_csv, page_head, table, verdict, write_page

NAMES = {"liblinear-s1": "LIBLINEAR -s 1", "liblinear-s2": "LIBLINEAR -s 2", "linearsvc": "LinearSVC()"}
LOGISTIC = {"lbfgs": "LogisticRegression, lbfgs"}
PEER_TARGET, CV_TARGET, PROBE_TARGET, CLOSE = 5.0, 8.0, 10.0, 1.05e-3  # peers are stopped at 1e-3


def text(seconds):
    return "-" if seconds is None else f"{seconds:.3f}"


def fastest(entry):
    """Seconds of the fastest peer that came close, or that was given up for needing more than that; None when none was."""
    times = [p["seconds"] for p in entry["peers"].values()
             if p["seconds"] is not None and (p["excess"] <= CLOSE or p.get("beyond"))]
    return min(times) if times else None


def lead(entry):
    """The fastest peer in fits of tenon; None where one of the two has no time."""
    peer = fastest(entry)
    return None if peer is None or entry["seconds"] is None else peer / entry["seconds"]


def lead_text(entry):
    value = lead(entry)
    return "" if value is None else f"{value:.1f}"


def peer_text(entry, name):
    peer = entry["peers"].get(name)
    if peer is None:
        return ""
    return f"{'> ' if peer.get('beyond') else ''}{text(peer['seconds'])} ({peer['note']})"


def set_name(name, shape):
    return "{}: {} x {}, {}".format(name, *shape)


# ---- standard output ----

def print_set(name, shape):
    print("\n{}: N {}, D {}, K {}".format(name, *shape), flush=True)


def print_entry(entry):
    peers = "; ".join(f"{(NAMES | LOGISTIC)[name]} {peer_text(entry, name)}" for name in entry["peers"])
    print(f"  C {entry['cost']:>6}  tenon {text(entry['seconds'])} (process {text(entry['whole'])})  x {lead_text(entry):>5}  "
          f"{peers}", flush=True)


def print_cv(result):
    for line in cv_lines(result):
        print("  " + line.replace("`", ""), flush=True)


# ---- CSV and the page ----

def csv_rows(facts, found):
    rows = []
    for result in found["results"]:
        shape = dict(zip(("rows", "dim", "classes"), result["shape"])) | {
            "section": "cost", "machine": facts["cpu"], "threads": facts["threads"],
            "versions": f"tenon {facts['version']}", "kernels": facts["blas_kernels"], "seed": found["seed"]}
        both = [("tenon-svm", e) for e in result["entries"]] + [("tenon-logistic", e) for e in result["logistic"]]
        for contestant, entry in both:
            about = f"{result['name']}; C {entry['cost']}"
            rows.append(shape | {"contestant": contestant, "seconds": text(entry["whole"]), "note": about})
            rows.append(shape | {"contestant": contestant + "-alone", "seconds": text(entry["seconds"]), "note": about})
            for name, peer in entry["peers"].items():
                rows.append(shape | {"contestant": name, "seconds": text(peer["seconds"]),
                                     "note": f"{about}; {peer['note']}"})
    return rows


def probe_lead(probe):
    if not probe or probe["seconds"] is None or probe["peer"]["seconds"] is None:
        return None
    return probe["peer"]["seconds"] / probe["seconds"]


def cv_lines(result):
    lines = [f"`{method}-cv`: {text(cv['seconds'])} s; one fit at C = {cv['cost']}: {text(cv['fit'])} s."
             for method, cv in result["cv"].items()]
    probe = result["probe"]
    if probe:
        lines.append(f"`logistic-cv --grid {probe['grid']} --holdout 0.2`: {text(probe['whole'])} s, alone "
                     f"{text(probe['seconds'])} s; scikit-learn's fits, each from the one before: "
                     f"{text(probe['peer']['seconds'])} s ({probe['peer']['note']}).")
    return lines


def lead_target(method, entry):
    """A line of targets, or none where no peer came close."""
    if entry["wanted"] and entry["whole"] is None:
        value, word = "-", "missed: no head"
    elif lead(entry) is None:
        return []
    else:
        value, word = lead_text(entry), verdict(lead(entry), PEER_TARGET, True)
    return [(f"{method}, C {entry['cost']}: fastest peer / fit", value, f">= {PEER_TARGET:g}", word)]


def targets(result):
    rows = [row for method, key in (("svm", "entries"), ("logistic", "logistic")) for entry in result[key]
            for row in lead_target(method, entry)]
    for method, cv in result["cv"].items():
        if cv["seconds"] and cv["fit"]:
            ratio = cv["seconds"] / cv["fit"]
            rows.append((f"{method}-cv / one fit at C = {cv['cost']:g}", f"{ratio:.1f}", f"<= {CV_TARGET:g}",
                         verdict(ratio, CV_TARGET, False)))
    value = probe_lead(result["probe"])
    if value is not None:
        rows.append(("probe: scikit-learn / tenon", f"{value:.1f}", f">= {PROBE_TARGET:g}",
                     verdict(value, PROBE_TARGET, True)))
    return [list(row) for row in rows]


def versions(facts, found):
    """A line for the page: who is compared, and on which kernels."""
    peers = [entry["peers"]["lbfgs"] for result in found["results"] for entry in result["logistic"] if "lbfgs" in entry["peers"]]
    told = next((peer for peer in peers if "kernels" in peer), {})
    words = [f"tenon {facts['version']}"] + [f"{name} {told[name]}" for name in ("python", "numpy", "scipy", "sklearn") if name in told]
    return (f"- Versions: {', '.join(words)}. Seed {found['seed']}. BLAS of tenon, process: {facts['blas']}, kernels "
            f"{facts['blas_kernels']} (chosen by {facts['chosen_by']}), whose choice tenon's package shares; of scikit-learn: "
            f"{told.get('kernels', 'unknown')}.")


def head_lines(facts, found):
    (seconds, limit), (times, least, long), (short, runs) = found["limits"], found["beyond"], found["short"]
    return [*page_head("seconds against C", facts, f"{facts['threads']} threads, but LIBLINEAR has only one"),
            versions(facts, found),
            f"- tenon, process: wall time of the whole, `tenon fit a=x.npy --labels y.npy --method svm --C C --gap {found['gap']} "
            "--select all --loo 0`, with start, reading and writing. tenon, fit: the same fit of arrays in memory by the Python "
            "package, from rows as they are, which it brings to length 1 itself, to the certified head. Of fits that are short the "
            "median of up to 25 in 2 s counts, tenon's and peers'; the first is left out, lbfgs has had a trial before. "
            f"A fit of more than {long} s is as long as its process, one of more than {found['limit']} s "
            "is given up.",
            f"- `svm-cv` with `--grid {found['grid']}` and five folds, beside one fit at the C that it chose, both whole processes "
            f"with the gap they have by default; the medians of {runs} runs in turn where a path takes less than {short} s.",
            "- Data: real features where they were there, and rows made like them, max(0, class mixture of rank 64 + noise), "
            "of which about half are told right when they are new.",
            "- Peers: train() alone on rows of length 1, beside tenon's fit, one class against the rest at a time, for about "
            f"{seconds} s, one class at least, then scaled to all; LIBLINEAR at the loosest eps within 0.1 % of the best known "
            "objective, LinearSVC as it is by default (the note says how far above it ends). One that has no class after "
            f"{limit} s says so. One that is going to take more than {times} fits of tenon, and {least} s, ends there: >. The "
            "fastest that came within 0.1 %, or would have had to go on longer than that, counts.",
            "- Logistic regression: tenon with the loosest gap of "
            f"{', '.join(found['loose'])} that ends within 0.1 % of the best known; lbfgs until it is there, when it is stopped "
            f"from outside, at most {times} fits of tenon or {found['lbfgs']} s, then extrapolated. The probe is a path of tenon, "
            "which ends where the held-out fifth has clearly fallen, beside all fits of scikit-learn, at most "
            f"{found['probe']} s or {times} times as long: what is not of all values is too short.",
            "- From {} columns on the head of gap {} is the best known, lbfgs ends after {} fits of tenon: >, and there is no "
            "probe.".format(found["large"][0], found["gap"], found["large"][1]), ""]


def method_rows(entries, names):
    return [[entry["cost"], text(entry["whole"]), text(entry["seconds"]), lead_text(entry),
             *(peer_text(entry, name) for name in names)] for entry in entries]


def set_lines(result):
    own = ["C", "tenon, process, s", "tenon, fit, s"]
    lines = [f"## {set_name(result['name'], result['shape'])}", "",
             *table([*own, "fastest peer / fit", *(f"{name}, s" for name in NAMES.values())],
                    method_rows(result["entries"], NAMES)),
             "Logistic regression:", "",
             *table([*own, "lbfgs / fit", f"{LOGISTIC['lbfgs']}, s"], method_rows(result["logistic"], LOGISTIC))]
    lines += [word for line in cv_lines(result) for word in (line, "")]
    wanted = targets(result)
    return lines + (table(["target", "measured", "wanted", ""], wanted) if wanted else [])


def curves(found):
    """Seconds of a fit against C, a line for each data set: what experiments/pictures.py draws."""
    def panel(title, key):
        lines = {"{} × {}, {}".format(*result["shape"]): [[float(e["cost"]), round(e["seconds"], 4)] for e in result[key]
                                                          if e["seconds"]] for result in found["results"]}
        return {"title": title, "x": "C", "y": "seconds of a fit", "kind": "lines", "log": True,
                "ticks": [float(cost) for cost in found["costs"]],
                "series": [{"name": name, "points": points} for name, points in lines.items() if points]}
    return {"about": "make bench, cost", "panel": [4.6, 3.2], "between": 12, "right": 0.13,
            "rows": [[panel("svm", "entries"), panel("logistic", "logistic")]]}


def write(csv_path, page_path, facts, found):
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "experiments"))
    import common
    merge_csv(csv_path, "cost", csv_rows(facts, found))
    common.write_picture(page_path, curves(found))
    lines = [*head_lines(facts, found),
             f"![seconds of a fit against C, a line for each data set]({page_path.stem}.svg)", ""]
    for result in found["results"]:
        lines += set_lines(result)
    write_page(page_path, lines)
