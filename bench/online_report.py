# SPDX-License-Identifier: BSD-3-Clause
"""What online.py found, as lines on standard output, as CSV and as a page. Nothing in here measures."""
from report import merge_csv, page_head, table, verdict, write_page

NAMES = {"plain": "plain loop, a GEMV a sample, PA averaged", "sklearn-pa": "PassiveAggressiveClassifier.partial_fit",
         "sklearn-sgd": "SGDClassifier.partial_fit"}
SPEED_TARGET, PLAIN_TARGET, SECOND_TARGET, PEER_TARGET, MEMORY_TARGET = 12_000, 4.0, 0.5, 20.0, 2000


def speed(entry):
    """Samples a second."""
    return entry["rows"] / entry["seconds"]


def by_name(entries):
    return {entry["contestant"]: entry for entry in entries}


def name_text(entry):
    words = entry["contestant"].replace(" ", " --multiclass ")
    return NAMES.get(entry["contestant"], f"tenon fit --method {words}")


def ratio(entry, entries):
    """Time a sample in those of tenon's PA."""
    return speed(entries[0]) / speed(entry)


def memory_text(entry, key):
    return f"{entry[key]:.0f}" if key in entry else "-"


def process_text(entry):
    return f"{entry['process']:.2f}" if "process" in entry else "-"


def note_text(entry):
    words = [f"{entry['rows']} rows"] if entry["contestant"] in NAMES else []
    words += ["stopped, it needs longer"] if entry.get("stopped") else []
    return "; ".join(words + [f"best of {entry['runs']}" if entry["runs"] > 1 else "one run"])


def share_of_gemm(entry, found):
    """Of the speed of a large sgemm, what the scores alone, 2 K D operations a sample, amount to."""
    return 2e-9 * found["shape"][1] * found["shape"][2] * speed(entry) / found["gemm"]


def targets(found):
    """[(what, figure, target, verdict)]"""
    entries = by_name(found["entries"])
    pa, rows = speed(entries["pa"]), []
    pairs = found["threads"] / 2
    word = verdict(pa / pairs, SPEED_TARGET, True)
    rows.append((f"PA, samples/s a pair of cores ({found['simd']})", f"{pa / pairs:.0f}", f">= {SPEED_TARGET}", word))
    lead = ratio(entries["plain"], found["entries"])
    rows.append(("PA / plain loop", f"{lead:.1f}", f">= {PLAIN_TARGET:g}", verdict(lead, PLAIN_TARGET, True)))
    for method in ("arow", "scw"):
        share = speed(entries[method]) / pa
        rows.append((f"{method.upper()} / PA", f"{share:.2f}", f">= {SECOND_TARGET:g}",
                     verdict(share, SECOND_TARGET, True)))
    for name in ("sklearn-pa", "sklearn-sgd"):
        lead = ratio(entries[name], found["entries"])
        rows.append((f"PA / scikit-learn's {NAMES[name]}", f"{lead:.1f}", f">= {PEER_TARGET:g}",
                     verdict(lead, PEER_TARGET, True)))
    large = found["large"]
    rows.append((f"a file of {large['gb']:.0f} GB, resident MB at most", f"{large['resident_mb']:.0f}",
                 f"<= {MEMORY_TARGET}", verdict(large["resident_mb"], MEMORY_TARGET, False)))
    return rows


def same_text(found):
    plain = by_name(found["entries"])["plain"]
    return (f"on the {plain['rows']} rows of the plain loop, in file order, tenon made {plain['same']['mistakes']} "
            f"mistakes and {plain['same']['updates']} updates, the loop {plain['mistakes']} and {plain['updates']}")


def plain_text(found):
    """What the ratio to the plain loop could be at most: it reads all weights for every sample."""
    plain, (_, dim, classes) = by_name(found["entries"])["plain"], found["shape"]
    return (f"the plain loop reads {4e-6 * dim * classes:.0f} MB of weights for every sample, here at "
            f"{4e-9 * dim * classes * speed(plain):.0f} GB/s, which is that of a cache where it holds them; a learner that "
            f"did nothing but the scores at the full speed of sgemm would be "
            f"{1 / share_of_gemm(plain, found):.1f} times as fast as the loop")


# ---- standard output ----

def print_shape(shape):
    print("\nN {}, D {}, K {}, one pass".format(*shape))
    print(f"  {'contestant':<48}{'samples/s':>10}{'process s':>11}{'x PA':>8}{'anon MB':>9}{'res. MB':>9}  note",
          flush=True)


def print_entry(entry, entries):
    print(f"  {name_text(entry):<48}{speed(entry):>10.0f}{process_text(entry):>11}{ratio(entry, entries):>8.2f}"
          f"{memory_text(entry, 'anon_mb'):>9}{memory_text(entry, 'resident_mb'):>9}  {note_text(entry)}", flush=True)


def print_targets(found):
    large, pa = found["large"], found["entries"][0]
    print(f"\n  {large['gb']:.0f} GB of features: {large['seconds']:.1f} s, {large['anon_mb']:.0f} MB anonymous, "
          f"{large['resident_mb']:.0f} MB resident")
    print(f"  PA reaches {share_of_gemm(pa, found):.0%} of sgemm ({found['gemm']:.0f} GFLOP/s)")
    print(f"  {same_text(found)}")
    for what, figure, target, word in targets(found):
        print(f"  {what}: {figure}, target {target}: {word}", flush=True)


# ---- CSV ----

def versions(facts, found):
    peer = next((entry for entry in found["entries"] if "sklearn" in entry), {})
    words = [f"tenon {facts['version']}"] + [f"{name} {peer[name]}" for name in ("python", "numpy", "scipy", "sklearn")
                                             if name in peer]
    return ", ".join(words), peer.get("kernels", "unknown")


def csv_rows(facts, found):
    words, peer_kernels = versions(facts, found)
    same = {"section": "online", "machine": facts["cpu"], "threads": facts["threads"], "versions": words,
            "seed": found["seed"], "dim": found["shape"][1], "classes": found["shape"][2]}
    rows = []
    for entry in found["entries"]:
        peer = entry["contestant"].startswith("sklearn")
        rows.append(same | {
            "kernels": peer_kernels if peer else facts["blas_kernels"], "contestant": entry["contestant"],
            "rows": entry["rows"], "seconds": f"{entry['seconds']:.3f}",
            "ratio_to_tenon": f"{ratio(entry, found['entries']):.3f}", "anon_mb": memory_text(entry, "anon_mb"),
            "note": f"{speed(entry):.0f} samples/s; {note_text(entry)}; ratio: time per sample in that of pa"})
    large = found["large"]
    return rows + [same | {
        "kernels": facts["blas_kernels"], "contestant": "pa (20 GB)", "rows": large["rows"], "dim": large["dim"],
        "classes": large["classes"], "seconds": f"{large['seconds']:.3f}", "anon_mb": f"{large['anon_mb']:.0f}",
        "note": f"one run; {large['resident_mb']:.0f} MB resident"}]


# ---- the page ----

def head_lines(facts, found):
    words, peer_kernels = versions(facts, found)
    rows, dim, _ = found["shape"]
    machine = f"{facts['threads']} threads for everybody; sgemm {found['gemm']:.0f} GFLOP/s (the better of before and after)"
    return [*page_head("online learning", facts, machine),
            f"- Versions: {words}. Seed {found['seed']}.",
            f"- BLAS of tenon and the plain loop: {facts['blas']}, kernels {facts['blas_kernels']} (chosen by "
            f"{facts['chosen_by']}); of scikit-learn: {peer_kernels}. Where OpenBLAS mistakes the processor, tenon "
            "chooses, and the others get the same choice.",
            f"- Data: max(0, class mixture of rank 64 + noise - offset), float32 `.npy` of {4e-6 * rows * dim:.0f} MB, "
            "in the page cache.",
            "- tenon: `tenon fit a=x.npy --labels y.npy --method pa --epochs 1 --select all --loo 0`: multi-class, "
            "averaged, rows shuffled, read from the file and brought to length 1 in the pass. Samples a second by the "
            "pass itself; beside it the wall time of the whole process with reading labels and writing the head. Best of "
            "the runs told, those of PA and of the plain loop in turns; the rules without a target run once.",
            f"- Plain loop: `bench/online_plain.c`, one sgemv a sample, two saxpy an update and two for the average, on "
            f"{found['few'][0]} rows of the same columns and classes; rows are read from the mapped file and brought to "
            "length 1 in the loop.",
            "- scikit-learn: `partial_fit` alone, one class against the rest, averaged, `n_jobs` as many as threads; "
            "rows are normalised and double before.",
            "- anon MB: highest resident memory not backed by a file, asked every 5 ms, 10^6 bytes, in a run of its own; "
            "res. MB: the kernel's own high-water mark of everything resident, mapped pages of the file with it. The "
            "latter can be given back at any time.", ""]


def entry_lines(found):
    entries = found["entries"]
    rows = [[name_text(e), f"{speed(e):.0f}", f"{share_of_gemm(e, found):.0%}", process_text(e),
             f"{ratio(e, entries):.2f}", memory_text(e, "anon_mb"), memory_text(e, "resident_mb"), note_text(e)]
            for e in entries]
    return (["## N {}, D {}, K {}, one pass".format(*found["shape"]), ""]
            + table(["contestant", "samples/s", "of sgemm", "process, s", "time per sample, x PA", "anon MB", "res. MB",
                     "note"], rows)
            + ["`of sgemm`: the 2 K D operations that the scores of a sample take as floats, times samples a second, over "
               "the speed of a large product; updates and reading are not counted as work. More than 100% is possible: "
               "tenon multiplies whole numbers of 16 bits and takes full scores only of the classes that these leave "
               "open; `e-ovr` shows a sample to two classes of all.", ""]
            + table(["target", "measured", "wanted", ""], [list(row) for row in targets(found)])
            + [f"{plain_text(found)[0].upper()}{plain_text(found)[1:]}.", "",
               f"Do they learn the same? {same_text(found).capitalize()}.", ""])


def large_lines(found):
    large = found["large"]
    return ["## Features larger than the memory", "",
            f"`tenon fit --method pa --epochs 1` on {large['rows']} x {large['dim']} float32, {large['gb']:.0f} GB, "
            f"{large['classes']} classes: {large['seconds']:.1f} s, {large['anon_mb']:.0f} MB anonymous and "
            f"{large['resident_mb']:.0f} MB resident at most. The file is a hole, zeros that need no disk: every page "
            "goes through the page cache as that of any file does, but the seconds say nothing about a disk.", ""]


def write(csv_path, page_path, facts, found):
    merge_csv(csv_path, "online", csv_rows(facts, found))
    write_page(page_path, head_lines(facts, found) + entry_lines(found) + large_lines(found))
