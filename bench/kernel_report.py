# SPDX-License-Identifier: BSD-3-Clause
"""What kernel.py found, as lines on standard output, as CSV and as a page. Nothing in here measures."""
from report import merge_csv, page_head, print_shape, table, verdict, write_page

NAMES = {"tenon": "tenon kernel learn, whole process", "liblinear": "LIBLINEAR -s 3, train() alone, one thread",
         "zeros": "memset of as many values", "chi2": "tenon, chi2", "learned": "tenon, learned, rank 6",
         "vlfeat": "VLFeat homogeneous kernel map, chi2", "sampler": "AdditiveChi2Sampler"}
OWN = ("tenon", "zeros", "chi2", "learned")
LEARN_TARGET, MEMORY_TARGET, SPEED_TARGET, PEER_TARGET = 10.0, 3000, 1.0, 5.0


def by_name(entries):
    return {entry["contestant"]: entry for entry in entries}


def ratio(entry, entries):
    """Seconds in those of tenon."""
    return entry["seconds"] / entries[0]["seconds"]


def memory_text(entry, key):
    return f"{entry[key]:.0f}" if key in entry else "-"


def note_text(entry):
    if entry.get("stopped"):
        return "stopped, it needs longer"
    words = [f"best of {entry['runs']}" if entry["runs"] > 1 else "one run"]
    if "said" in entry:
        seconds = entry["said"]["seconds"]
        words.append(f"{seconds['svm']:.2f} s of it SVMs, {1000 * seconds['svd']:.2f} ms the decomposition")
    if "eps" in entry:
        words += [f"eps {entry['eps']:g}", f"objective {entry['above']:+.1e} from tenon's",
                  f"{entry['classes']} classes, x {entry['scaling']:.1f}",
                  f"a matrix of {entry['columns']} columns, {entry['gb']:.1f} GB"]
    return "; ".join(words)


def speed(entry):
    """GB of output a second, float32."""
    return 4e-9 * entry["values"] / entry["seconds"]


def nanoseconds(entry):
    """A value."""
    return 1e9 * entry["seconds"] / entry["values"]


def slower(entry, entries):
    """Time a value in that of tenon's chi2."""
    return nanoseconds(entry) / nanoseconds(by_name(entries)["chi2"])


def map_note(entry):
    return f"blocks of {entry['height']} rows" if "height" in entry else ""


def targets(found):
    """[(what, figure, target, verdict)]"""
    entries = found["learning"]["entries"]
    lead, peak = ratio(entries[1], entries), entries[0]["resident_mb"]
    rows = [("liblinear / tenon, learning", f"{lead:.1f}", f">= {LEARN_TARGET:g}", verdict(lead, LEARN_TARGET, True)),
            ("learning, most that was resident, the mapped file with it, MB", f"{peak:.0f}", f"<= {MEMORY_TARGET}",
             verdict(peak, MEMORY_TARGET, False))]
    maps = by_name(found["maps"][1])
    for name in ("chi2", "learned"):
        rows.append((f"{name}, GB/s of output, one thread", f"{speed(maps[name]):.2f}", f">= {SPEED_TARGET:g}",
                     verdict(speed(maps[name]), SPEED_TARGET, True)))
    for peer in ("vlfeat", "sampler"):
        for name in ("chi2", "learned"):
            times = nanoseconds(maps[peer]) / nanoseconds(maps[name])
            rows.append((f"{peer} / {name}, time per value, one thread", f"{times:.1f}", f">= {PEER_TARGET:g}",
                         verdict(times, PEER_TARGET, True)))
    return rows


# ---- standard output ----

def print_entry(entry, entries):
    print(f"  {NAMES[entry['contestant']]:<46}{entry['seconds']:>9.3f}{ratio(entry, entries):>9.2f}"
          f"{memory_text(entry, 'anon_mb'):>9}  {note_text(entry)}", flush=True)


def print_map_shape(shape):
    print("\nmaps, {} x {}".format(*shape[:2]))
    print(f"  {'contestant':<46}{'threads':>9}{'seconds':>9}{'GB/s':>9}{'x chi2':>9}  note", flush=True)


def print_map(entry, entries):
    print(f"  {NAMES[entry['contestant']]:<46}{entry['threads']:>9}{entry['seconds']:>9.4f}{speed(entry):>9.2f}"
          f"{slower(entry, entries):>9.2f}  {map_note(entry)}", flush=True)


def print_targets(found):
    print(f"\n  chi2 and VLFeat differ by {found['maps']['difference']:.1e} of the largest value")
    for what, figure, target, word in targets(found):
        print(f"  {what}: {figure}, target {target}: {word}", flush=True)


# ---- CSV ----

def map_entries(found):
    return [(found["maps"][threads], entry) for threads in found["threads"] for entry in found["maps"][threads]]


def versions(facts, found):
    """(versions of everything, BLAS kernels of the peers)"""
    words = {}
    for entry in (*found["learning"]["entries"], *(entry for _, entry in map_entries(found))):
        words |= {name: entry[name] for name in ("python", "numpy", "scipy", "sklearn", "liblinear", "kernels") if name in entry}
    kernels = words.pop("kernels", "unknown")
    return ", ".join([f"tenon {facts['version']}"] + [f"{name} {word}" for name, word in words.items()]), kernels


def csv_rows(facts, found):
    words, peer_kernels = versions(facts, found)
    same = {"section": "kernel", "machine": facts["cpu"], "versions": words, "seed": found["seed"]}
    names = ("rows", "dim", "classes")
    rows = [same | dict(zip(names, found["learning"]["shape"])) | {
        "threads": facts["threads"], "kernels": facts["blas_kernels"] if entry["contestant"] in OWN else peer_kernels,
        "contestant": entry["contestant"], "seconds": f"{entry['seconds']:.3f}",
        "ratio_to_tenon": f"{ratio(entry, found['learning']['entries']):.3f}", "anon_mb": memory_text(entry, "anon_mb"),
        "objective": f"{entry['objective']:.6g}" if "objective" in entry else "", "note": note_text(entry)}
        for entry in found["learning"]["entries"]]
    return rows + [same | dict(zip(names[:2], found["maps"]["shape"])) | {
        "threads": entry["threads"], "contestant": f"map-{entry['contestant']}", "seconds": f"{entry['seconds']:.6f}",
        "ratio_to_tenon": f"{slower(entry, entries):.3f}",
        "note": "; ".join(filter(None, [f"{speed(entry):.2f} GB/s", map_note(entry), "ratio: a value, to chi2"]))}
        for entries, entry in map_entries(found)]


# ---- the page ----

def head_lines(facts, found):
    words, peer_kernels = versions(facts, found)
    return [*page_head("additive kernels", facts, f"{facts['threads']} threads, but LIBLINEAR has only one"),
            f"- Versions: {words}; VLFeat as Debian has it. Seed {found['seed']}. BLAS of tenon: {facts['blas']}, kernels "
            f"{facts['blas_kernels']} (chosen by {facts['chosen_by']}); of NumPy and scikit-learn: {peer_kernels}.",
            "- Data: max(0, class mixture of rank 64 + noise - offset), float32 `.npy` in the page cache.",
            "- anon MB: highest resident memory not backed by a file, asked every 5 ms, 10^6 bytes, for tenon in a run of its "
            "own.", ""]


def learning_lines(facts, found):
    rows, dim, classes = found["learning"]["shape"]
    entries = found["learning"]["entries"]
    peer = entries[1]
    lines = [f"## Learning: N {rows}, D {dim}, K {classes}", "",
             "tenon: `tenon kernel learn --data a=x.npy y.npy -o k.safetensors`, from the file to the kernel on disk, with its "
             "defaults. LIBLINEAR: hinge, C = 1, bias 1, on the same rows (unit L1 norm, the scale that tenon chose, at most 1) "
             "with the 39 functions of every entry written out; making that matrix is not counted.", "",
             *table(["contestant", "seconds", "x tenon", "anon MB", "note"],
                    [[NAMES[e["contestant"]], f"{e['seconds']:.3f}", f"{ratio(e, entries):.2f}", memory_text(e, "anon_mb"),
                      note_text(e)] for e in entries])]
    if peer.get("stopped"):
        return lines
    split = peer["seconds"] / facts["threads"]
    return lines + [
        f"How LIBLINEAR's time was found: all {rows} rows and all {peer['columns']} columns, {peer['classes']} of the {classes} "
        f"classes, drawn by lot, one against the rest; {peer['seconds'] / peer['scaling']:.2f} s for them, times "
        f"{peer['scaling']:.2f}. Nothing else is scaled. eps is the loosest tried (0.1, its program's default, and powers of "
        f"ten below) whose objectives are in sum within 1 % of what tenon reached for the same classes: {peer['eps']:g}, "
        f"{peer['objective']:.6g} against {peer['target']:.6g}. Somebody who splits the classes over {facts['threads']} "
        f"processes needs at least {split:.1f} s, {split / entries[0]['seconds']:.1f} times tenon's, and the matrix in each.",
        ""]


def map_lines(found):
    maps = found["maps"]
    lines = ["## Maps: {} x {}".format(*maps["shape"][:2]), "",
             f"{maps['zeros']:.0%} of the entries are zero, at no particular places. A row at a time is mapped to a place that "
             "stays in the cache (`bench/kernel_map.c`): tenon from the row as it is, with L1 norm and scale; VLFeat "
             "(`vl_homogeneouskernelmap_evaluate_f`, order 3, rectangular window) from rows of unit L1 norm. "
             f"Best of {maps['runs']}. scikit-learn: blocks of rows of unit L1 norm, float32, the best of several heights. GB/s "
             "are those of the output, 4 bytes per value; x chi2 is time per value. memset shows what writing alone costs.", ""]
    for threads in found["threads"]:
        entries = maps[threads]
        rows = [[NAMES[e["contestant"]], f"{1000 * e['seconds']:.1f}", f"{speed(e):.2f}", f"{nanoseconds(e):.3f}",
                 f"{slower(e, entries):.2f}", map_note(e)] for e in entries]
        lines += [f"{threads} thread{'s (information)' if threads > 1 else ''}:", "",
                  *table(["contestant", "ms", "GB/s", "ns a value", "x chi2", "note"], rows)]
    return lines + [f"Values of chi2 and of VLFeat differ by {maps['difference']:.1e} of the largest: VLFeat has a coarser table.",
                    ""]


def write(csv_path, page_path, facts, found):
    merge_csv(csv_path, "kernel", csv_rows(facts, found))
    write_page(page_path, head_lines(facts, found) + ["## Targets", ""]
               + table(["target", "measured", "wanted", ""], [list(row) for row in targets(found)])
               + learning_lines(facts, found) + map_lines(found))
