# SPDX-License-Identifier: BSD-3-Clause
"""What cost.py found, as lines on standard output, as CSV and as a page. Nothing in here measures."""
from report import merge_csv, page_head, table, verdict, write_page

NAMES = {"liblinear-s1": "LIBLINEAR -s 1", "liblinear-s2": "LIBLINEAR -s 2", "linearsvc": "LinearSVC()"}
LOGISTIC = {"lbfgs": "LogisticRegression, lbfgs"}
PEER_TARGET, CV_TARGET, PROBE_TARGET, CLOSE = 5.0, 8.0, 10.0, 1.05e-3  # peers are stopped at 1e-3


def text(seconds):
    return "-" if seconds is None else f"{seconds:.3f}"


def fastest(entry):
    """Seconds of the fastest peer that came close; None when none did."""
    times = [p["seconds"] for p in entry["peers"].values() if p["seconds"] is not None and p["excess"] <= CLOSE]
    return min(times) if times else None


def lead(entry):
    peer = fastest(entry)
    return None if peer is None or entry["seconds"] is None else peer / entry["seconds"]


def peer_text(entry, name):
    peer = entry["peers"].get(name)
    return "" if peer is None else f"{text(peer['seconds'])} ({peer['note']})"


def set_name(result):
    return "{}: {} x {}, {}".format(result["name"], *result["shape"])


# ---- standard output ----

def print_set(name, shape):
    print("\n{}: N {}, D {}, K {}".format(name, *shape), flush=True)


def print_entry(entry):
    peers = "; ".join(f"{(NAMES | LOGISTIC)[name]} {peer_text(entry, name)}" for name in entry["peers"])
    value = lead(entry)
    print(f"  C {entry['cost']:>6}  tenon {text(entry['seconds'])}  {'' if value is None else f'x {value:.1f}'}  {peers}",
          flush=True)


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
            rows.append(shape | {"contestant": contestant, "seconds": text(entry["seconds"]), "note": about})
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
        lines.append(f"`logistic-cv --grid {probe['grid']} --holdout 0.2`: {text(probe['seconds'])} s; scikit-learn's fits, each "
                     f"from the one before: {text(probe['peer']['seconds'])} s ({probe['peer']['note']}).")
    return lines


def targets(result):
    rows = [(f"{method}, C {entry['cost']}: fastest peer / tenon", f"{lead(entry):.1f}", f">= {PEER_TARGET:g}",
             verdict(lead(entry), PEER_TARGET, True)) for method, key in (("svm", "entries"), ("logistic", "logistic"))
            for entry in result[key] if lead(entry) is not None]
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


def head_lines(facts, found):
    seconds, limit = found["limits"]
    return [*page_head("seconds against C", facts, f"{facts['threads']} threads, but the peers have only one"),
            f"- tenon: wall time of the whole process, `tenon fit a=x.npy --labels y.npy --method svm --C C --gap {found['gap']} "
            "--select all --loo 0`, rows of length 1; `svm-cv` with "
            f"`--grid {found['grid']}` and five folds, beside one fit at the C that it chose, both with the gap they have by "
            "default.",
            "- Data: real features where they were there, and rows made like them, max(0, class mixture of rank 64 + noise), "
            "of which about half are told right when they are new.",
            f"- Peers: train() alone, one class against the rest at a time, for about {seconds} s, one class at least, then "
            "scaled to all; LIBLINEAR at the loosest eps within 0.1 % of the best known objective, LinearSVC as it is by "
            f"default (the note says how far above it ends). One that has no class after {limit} s says so. The fastest that "
            "came within 0.1 % counts.",
            "- Logistic regression: tenon with the loosest gap of "
            f"{', '.join(found['loose'])} that ends within 0.1 % of the best known; lbfgs until it is there, when it is stopped "
            f"from outside, at most {found['lbfgs']} s, then extrapolated. The probe is a path of tenon, which ends where the "
            f"held-out fifth has clearly fallen, beside all fits of scikit-learn, at most {found['probe']} s.", ""]


def set_lines(result):
    rows = [[entry["cost"], text(entry["seconds"]), "" if lead(entry) is None else f"{lead(entry):.1f}",
             *(peer_text(entry, name) for name in NAMES)] for entry in result["entries"]]
    lines = [f"## {set_name(result)}", "",
             *table(["C", "tenon, s", "fastest peer / tenon", *(f"{name}, s" for name in NAMES.values())], rows)]
    rows = [[entry["cost"], text(entry["seconds"]), "" if lead(entry) is None else f"{lead(entry):.1f}",
             peer_text(entry, "lbfgs")] for entry in result["logistic"]]
    lines += ["Logistic regression:", "",
              *table(["C", "tenon, s", "lbfgs / tenon", f"{LOGISTIC['lbfgs']}, s"], rows)]
    lines += [word for line in cv_lines(result) for word in (line, "")]
    wanted = targets(result)
    return lines + (table(["target", "measured", "wanted", ""], wanted) if wanted else [])


def write(csv_path, page_path, facts, found):
    merge_csv(csv_path, "cost", csv_rows(facts, found))
    lines = head_lines(facts, found)
    for result in found["results"]:
        lines += set_lines(result)
    write_page(page_path, lines)
