# SPDX-License-Identifier: BSD-3-Clause
"""What evidence.py found, as lines on standard output, as CSV and as a page. Nothing in here measures.

The public peers decide whether the first target is met; logme-eigh is our own composition, shown beside them.
"""
from report import merge_csv, page_head, print_shape, table, verdict, write_page

PUBLIC = ("logme", "ridge-loo", "ridge-5fold")
NAMES = {"tenon": "tenon rank, whole process", "floor": "LAPACK: ssyrk + dsytrd + dormtr alone",
         "logme": "LogME, fixed point", "logme-eigh": "LogME with eigh (nobody ships this)",
         "ridge-loo": "RidgeClassifierCV, leave-one-out, 21 alphas",
         "ridge-5fold": "RidgeClassifier, 5 folds x 21 alphas", "before": "tenon rank, the older program"}
PEER_TARGET, FLOOR_TARGET = 5.0, 1.5
WIDE, WIDE_TARGET, GEMM_TARGET = 4096, 15.0, 0.6  # columns from which on the band decides; x LogME; share of dgemm
OLD_TARGET, SEARCH_TARGET = 0.6, 3.0  # of the older program's time; how much faster than its search


def seconds_text(entry):
    return entry["note"] if entry["seconds"] is None else f"{entry['seconds']:.3f}"


def ratio(entry, entries):
    """Seconds of this entry in seconds of tenon; None when it was stopped."""
    return None if entry["seconds"] is None else entry["seconds"] / entries[0]["seconds"]


def ratio_text(entry, entries, limit=None):
    value = ratio(entry, entries)
    if value is None:
        return f"> {limit / entries[0]['seconds']:.1f}" if limit else "-"
    return f"{value:.2f}"


def memory_text(entry):
    return f"{entry['anon_mb']:.0f}" if "anon_mb" in entry else "-"


def note_text(entry):
    if entry["seconds"] is None:
        return "stopped"
    words = [entry["note"]] if entry["note"] else []
    if entry.get("runs"):
        words.append(f"best of {entry['runs']}" if entry["runs"] > 1 else "one run")
    return "; ".join(words)


def targets(entries, limit, dim):
    """[(what, figure, target, verdict)] of one shape. A peer that was stopped counts with the time it had."""
    by_name = {entry["contestant"]: entry for entry in entries}
    tenon = by_name["tenon"]["seconds"]
    fastest = min((by_name[name] for name in PUBLIC), key=lambda e: limit if e["seconds"] is None else e["seconds"])
    lead = (limit if fastest["seconds"] is None else fastest["seconds"]) / tenon
    share = tenon / by_name["floor"]["seconds"]
    # Without a band nothing can be done in less than a part of it takes: others had the machine when that was measured.
    disturbed = share < 1 and dim < WIDE
    floor_word = "void: the floor was disturbed" if disturbed else verdict(share, FLOOR_TARGET, False)
    rows = [(f"fastest public peer ({fastest['contestant']}) / tenon", f"{lead:.1f}", f">= {PEER_TARGET:g}",
             verdict(lead, PEER_TARGET, True)),
            ("tenon / LAPACK", f"{share:.2f}", f"<= {FLOOR_TARGET:g}", floor_word)]
    if dim >= WIDE:
        logme = (by_name["logme"]["seconds"] or limit) / tenon
        rows.append(("LogME / tenon", f"{logme:.1f}", f">= {WIDE_TARGET:g}", verdict(logme, WIDE_TARGET, True)))
    if "before" in by_name:
        before = tenon / by_name["before"]["seconds"]
        rows.append(("tenon / the older program", f"{before:.2f}", f"<= {OLD_TARGET:g}", verdict(before, OLD_TARGET, False)))
    return rows


def memory_verdict(memory):
    return verdict(memory["anon_mb"], memory["limit_mb"], False)


# ---- standard output ----

def print_entry(entry, entries):
    print(f"  {NAMES[entry['contestant']]:<46}{seconds_text(entry):>9}{ratio_text(entry, entries):>9}"
          f"{memory_text(entry):>9}  {note_text(entry)}", flush=True)


def print_targets(result, limit):
    for what, figure, target, word in targets(result["entries"], limit, result["shape"][1]):
        print(f"  {what}: {figure}, target {target}: {word}", flush=True)


def print_memory(memory):
    rows, dim, classes = memory["shape"]
    print(f"\nmemory: N {rows}, D {dim}, K {classes}, a file of {memory['file_mb']:.0f} MB: {memory['anon_mb']:.0f} MB "
          f"anonymous, {memory['seconds']:.2f} s; target <= {memory['limit_mb']} MB: {memory_verdict(memory)}")


def gemm_share(width):
    """Speed of the reduction to a band, 4/3 n^3 operations, in that of dgemm."""
    return 4 / 3 * width["width"] ** 3 / width["band"] / (1e9 * width["dgemm_gflops"])


def width_cells(width):
    share = gemm_share(width)
    word = verdict(share, GEMM_TARGET, True) if width["width"] >= WIDE else ""
    sytrd = f"{width['sytrd']:.3f}" if width["sytrd"] else "-"
    return [str(width["width"]), f"{width['band']:.3f}", f"{width['two_stages']:.3f}", sytrd, f"{width['dgemm_gflops']:.0f}",
            f"{share:.0%}", word]


def width_targets(widths):
    """The least share from WIDE columns on, as targets."""
    shares = [gemm_share(width) for width in widths if width["width"] >= WIDE]
    return [(f"reduction to a band / dgemm, from {WIDE} columns on", f"{min(shares):.0%}", f">= {GEMM_TARGET:.0%}",
             verdict(min(shares), GEMM_TARGET, True))] if shares else []


def target_table(rows):
    return table(["target", "measured", "wanted", ""], [list(row) for row in rows]) if rows else []


def print_widths(widths):
    print(f"\nreduction to tridiagonal form\n  {'columns':>8}{'band':>9}{'both':>9}{'dsytrd':>9}{'dgemm':>7}{'share':>7}")
    for columns, *cells, word in map(width_cells, widths):
        print(f"  {columns:>8}{cells[0]:>9}{cells[1]:>9}{cells[2]:>9}{cells[3]:>7}{cells[4]:>7}  {word}", flush=True)


def search_text(search):
    rows, dim, classes, count = search["shape"]
    took = f"> {search['limit']} s" if search["seconds"] is None else f"{search['seconds']:.2f} s, {search['picked']} picked"
    return (f"{count} networks of {dim} columns, {rows} rows, {classes} classes: {took}, "
            f"{search['anon_mb']:.0f} MB anonymous")


def search_targets(search):
    """As targets: nothing where there was no older program, or this one was stopped."""
    if not search["before"] or search["seconds"] is None:
        return []
    ratio = search["before"] / search["seconds"]
    return [("the older program's search / tenon's", f"{ratio:.1f}", f">= {SEARCH_TARGET:g}", verdict(ratio, SEARCH_TARGET, True)),
            ("the same picks", "yes" if search["same"] else "no", "yes", "met" if search["same"] else "missed")]


def print_search(search):
    print(f"\ngreedy search: {search_text(search)}", flush=True)
    for what, figure, target, word in search_targets(search):
        print(f"  {what}: {figure}, target {target}: {word}", flush=True)


def threads_text(threads):
    rows, dim, classes = threads["shape"]
    times = ", ".join(f"{seconds:.3f} s with {count}" for count, seconds in threads["seconds"].items())
    return f"{rows} x {dim}, {classes} classes, by threads: {times}"


def print_threads(threads):
    print(f"\nrank {threads_text(threads)}", flush=True)


# ---- CSV ----

def versions(facts, results):
    peer = next((e for r in results for e in r["entries"] if "numpy" in e), {})
    parts = [f"tenon {facts['version']}"] + [f"{name} {peer[name]}" for name in ("python", "numpy", "scipy", "sklearn")
                                             if name in peer]
    return ", ".join(parts), peer.get("kernels", "unknown")


def csv_rows(facts, results, memory, widths, threads, search, seed):
    words, peer_kernels = versions(facts, results)
    same = {"section": "evidence", "machine": facts["cpu"], "threads": facts["threads"], "versions": words,
            "seed": seed}
    rows = []
    for result in results:
        for entry in result["entries"]:
            value = ratio(entry, result["entries"])
            own = entry["contestant"] in ("tenon", "floor", "before")
            rows.append(same | dict(zip(("rows", "dim", "classes"), result["shape"])) | {
                "kernels": facts["blas_kernels"] if own else peer_kernels, "contestant": entry["contestant"],
                "seconds": seconds_text(entry), "ratio_to_tenon": "" if value is None else f"{value:.3f}",
                "anon_mb": memory_text(entry), "note": note_text(entry)})
    rows.append(same | dict(zip(("rows", "dim", "classes"), memory["shape"])) | {
        "kernels": facts["blas_kernels"], "contestant": "tenon (memory)", "seconds": f"{memory['seconds']:.3f}",
        "ratio_to_tenon": "1.000", "anon_mb": f"{memory['anon_mb']:.0f}", "note": "one run"})
    own = same | {"kernels": facts["blas_kernels"]}
    for width in widths:
        for name, key in (("reduction", "two_stages"), ("dsytrd", "sytrd")):
            if width[key]:
                rows.append(own | {"dim": width["width"], "contestant": name, "seconds": f"{width[key]:.3f}",
                                   "ratio_to_tenon": f"{width[key] / width['two_stages']:.3f}", "note": "one run"})
    for count, seconds in threads["seconds"].items():
        rows.append(own | dict(zip(("rows", "dim", "classes"), threads["shape"])) | {
            "threads": count, "contestant": "tenon (by threads)", "seconds": f"{seconds:.3f}", "note": "best of 3"})
    rows.append(own | dict(zip(("rows", "dim", "classes"), search["shape"])) | {
        "contestant": "tenon (greedy search)", "seconds": "" if search["seconds"] is None else f"{search['seconds']:.3f}",
        "ratio_to_tenon": "1.000", "anon_mb": f"{search['anon_mb']:.0f}", "note": f"{search['shape'][3]} networks"})
    if search["before"]:
        rows.append(own | dict(zip(("rows", "dim", "classes"), search["shape"])) | {
            "contestant": "before (greedy search)", "seconds": f"{search['before']:.3f}", "note": f"{search['shape'][3]} networks"})
    return rows


# ---- the page ----

def head_lines(facts, results, seed, limit):
    words, peer_kernels = versions(facts, results)
    gemm = max((e["sgemm_gflops"] for r in results for e in r["entries"] if "sgemm_gflops" in e), default=0)
    machine = f"{facts['threads']} threads for everybody; sgemm {gemm:.0f} GFLOP/s"
    return [*page_head("ranking by evidence", facts, machine),
            f"- Versions: {words}. Seed {seed}.",
            f"- BLAS of tenon and the floor: {facts['blas']}, kernels {facts['blas_kernels']} (chosen by "
            f"{facts['chosen_by']}); of the peers: {peer_kernels}. Where OpenBLAS mistakes the processor, tenon "
            "chooses, and the peers get the same choice.",
            "- Data: max(0, class mixture of rank 64 + noise - offset), about 62 % zeros, float32 `.npy` in the page "
            "cache.",
            "- tenon: wall time of the whole process, `tenon rank a=x.npy --labels y.npy --loo 0 --json --quiet`. "
            "Peers: from `np.load` to the result with L2 normalisation, imports not counted; up to three runs, as many "
            "as begin within 15 s.",
            f"- Limit: {limit} s a contestant; one that needed more says so.",
            "- anon MB: highest resident memory not backed by a file, asked every 5 ms, 10^6 bytes, in a run of its own for tenon. tenon maps its "
            "input; the peers load it, so their figure has the data in it.", ""]


def shape_lines(result, limit):
    entries = result["entries"]
    rows = [[NAMES[e["contestant"]], seconds_text(e), ratio_text(e, entries, limit), memory_text(e), note_text(e)]
            for e in entries]
    return (["## N {}, D {}, K {}".format(*result["shape"]), ""]
            + table(["contestant", "seconds", "x tenon", "anon MB", "note"], rows)
            + target_table(targets(entries, limit, result["shape"][1])))


def floor_lines(results):
    rows = []
    for result in results:
        tenon, floor = result["entries"][:2]
        rows.append(["{} x {}, {}".format(*result["shape"]), *(f"{floor[k]:.3f}" for k in ("syrk", "sytrd", "ormtr")),
                     f"{floor['sterf']:.3f}", f"{tenon['inside']:.3f}", f"{tenon['seconds']:.3f}"])
    return ["## LAPACK's routines, seconds", "",
            "The three routines alone, on numbers in memory; dsterf (eigenvalues) is told but not counted. The last two columns "
            "are tenon by its own clock and as a whole process: less than LAPACK where it goes by way of a band, from 1536 "
            "columns on.", "",
            *table(["shape", "ssyrk", "dsytrd", "dormtr", "(dsterf)", "tenon inside", "tenon process"], rows)]


def value_lines(results):
    rows = []
    for result in results:
        by_name = {e["contestant"]: e for e in result["entries"]}
        ours, theirs = by_name["tenon"]["value"], by_name["logme"]["value"]
        if ours is None or theirs is None:
            continue
        rows.append(["{} x {}, {}".format(*result["shape"]), f"{ours:.9f}", f"{theirs:.9f}",
                     f"{(ours - theirs) / abs(theirs):.1e}"])
    return ["## Do they compute the same?", "",
            "Log evidence a label, without intercept as LogME has none. tenon adds up float products; LogME is double "
            "throughout, but stops after 11 rounds or at a change of 0.1 %.", "",
            *table(["shape", "tenon", "LogME", "relative difference"], rows)]


def memory_lines(memory):
    rows, dim, classes = memory["shape"]
    return ["## Memory", "",
            f"`tenon rank` on {rows} x {dim} float32 ({memory['file_mb']:.0f} MB), {classes} classes: "
            f"{memory['anon_mb']:.0f} MB anonymous at most, {memory['seconds']:.2f} s. Target: at most "
            f"{memory['limit_mb']} MB: {memory_verdict(memory)}.", ""]


def width_lines(widths):
    return ["## Growth with the width", "",
            "The reduction of a Gram matrix to tridiagonal form by itself, seconds: to a band, by both stages, and by LAPACK's "
            "single one; dgemm of order 2048 in GFLOP/s, and the share of it that the reduction to a band reaches at 4/3 n^3 "
            f"operations. Target: at least {GEMM_TARGET:.0%} from {WIDE} columns on.", "",
            *table(["columns", "band", "both stages", "dsytrd", "dgemm", "share", ""], [width_cells(width) for width in widths]),
            *target_table(width_targets(widths))]


def threads_lines(threads):
    return ["## Threads", "", f"`tenon rank` of {threads_text(threads)}.", ""]


def search_lines(search):
    return ["## An ensemble of wide networks", "",
            "`tenon fit --method evidence --select greedy --loo 0`, whole process: the joint Gram matrix, sets that are tried, by a "
            "reduction of their own or beside that of a smaller one, the head of the set that is taken. "
            f"{search_text(search)}.", "", *target_table(search_targets(search))]


def write(csv_path, page_path, facts, found):
    results, memory, seed, limit = (found[key] for key in ("results", "memory", "seed", "limit"))
    merge_csv(csv_path, "evidence", csv_rows(facts, results, memory, found["widths"], found["threads"], found["search"], seed))
    lines = head_lines(facts, results, seed, limit)
    for result in results:
        lines += shape_lines(result, limit)
    write_page(page_path, lines + floor_lines(results) + value_lines(results) + memory_lines(memory)
               + width_lines(found["widths"]) + threads_lines(found["threads"]) + search_lines(found["search"]))
