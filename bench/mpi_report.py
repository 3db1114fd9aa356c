# SPDX-License-Identifier: BSD-3-Clause
"""What mpi.py found, as lines on standard output, as CSV and as a page. Nothing in here measures."""
from report import merge_csv, page_head, table, verdict, write_page

TARGET = 1.10  # 2 ranks of 1 thread against 1 process of 2


def by_name(entries):
    return {entry["contestant"]: entry for entry in entries}


def ratio(strong):
    entries = by_name(strong["entries"])
    return entries["2 ranks, 1 thread"]["seconds"] / entries["1 process, 2 threads"]["seconds"]


def message_rows(found):
    rows = []
    for run in found["messages"]:
        for size in run["sizes"]:
            rows.append([str(run["ranks"]), str(size["bytes"]), f"{1e6 * size['sum']:.1f}", f"{1e6 * size['gather']:.1f}",
                         f"{run['gemm_gflops']:.1f}"])
    return rows


def strong_rows(strong):
    first = strong["entries"][0]["seconds"]
    return [[e["contestant"], f"{e['seconds']:.2f}", f"{e['seconds'] / first:.2f}", f"{e['inside']:.2f}", f"{e['processor']:.1f}",
             f"{e['difference']:.0e}"] for e in strong["entries"]]


def weak_rows(weak):
    return [[str(e["ranks"]), str(e["rows"]), f"{e['seconds']:.2f}", f"{e['inside']:.2f}", f"{e['processor']:.1f}"] for e in weak]


def fit_rows(fits):
    return [[e["method"], e["contestant"], f"{e['seconds']:.2f}", f"{e['inside']:.2f}", f"{e['processor']:.1f}",
             "-" if e["objective"] is None else f"{e['objective']:.4f}"] for e in fits["entries"]]


def print_rows(rows):
    for row in rows:
        print("  " + "  ".join(f"{cell:>12}" for cell in row), flush=True)


def print_messages(found):
    print(f"\n{found['mpi']}: ranks, bytes, microseconds of a sum and of a gathering, GFLOP/s of a rank's sgemm")
    print_rows(message_rows(found))


def print_strong(found):
    print("\nrank, N {}, D {}, K {}: seconds, of the first, inside, of processors, difference".format(*found["strong"]["shape"]))
    print_rows(strong_rows(found["strong"]))


def print_weak(found):
    print("\nranks, rows, seconds, inside, of processors")
    print_rows(weak_rows(found["weak"]))


def print_fits(found):
    print("\nfit, N {}, D {}, K {}: seconds, inside, of processors, objective".format(*found["fits"]["shape"]))
    print_rows(fit_rows(found["fits"]))


def page_lines(facts, found):
    strong, what = found["strong"], ratio(found["strong"])
    lines = page_head("several processes", facts, f"{found['mpi']}; ranks not bound to cores")
    lines += ["- Several ranks on one machine share its memory, its cache and its cores: figures of 3 and 4 ranks on 2 cores show what "
              "oversubscription costs, not how teams scale. [scale.md](../scale.md) has the model.", ""]
    lines += table(["target", "figure", "wanted", "verdict"],
                   [["`rank`: 2 ranks x 1 thread / 1 process x 2 threads", f"{what:.2f}", f"<= {TARGET:.2f}", verdict(what, TARGET, False)]])
    lines += ["## One ranking, more ranks", "", "`tenon rank` of {} x {} float32, {} classes, as a whole process; inside: what the "
              "program says of itself, without starting and MPI_Init; processor: seconds of all ranks, in which ranks that wait for others "
              "are busy too; difference: of the evidence, relative.".format(*strong["shape"]), ""]
    lines += table(["who", "seconds", "/ first", "inside", "processor", "difference"], strong_rows(strong))
    lines += ["## As many rows per rank", ""] + table(["ranks", "rows", "seconds", "inside", "processor"], weak_rows(found["weak"]))
    lines += ["## Other heads", "", "{} x {}, {} classes.".format(*found["fits"]["shape"]), ""]
    lines += table(["method", "who", "seconds", "inside", "processor", "objective"], fit_rows(found["fits"]))
    lines += ["## Messages", "", "Microseconds of the fastest of 15, on one machine.", ""]
    return lines + table(["ranks", "bytes", "sum", "gathering", "sgemm of a rank, GFLOP/s"], message_rows(found))


def write(csv, page, facts, found):
    rows, n, d, k = [], *found["strong"]["shape"]
    common = {"section": "mpi", "machine": facts["cpu"], "threads": facts["threads"], "versions": f"tenon {facts['version']}; {found['mpi']}",
              "kernels": facts["blas_kernels"], "seed": found["seed"]}
    first = found["strong"]["entries"][0]["seconds"]
    for e in found["strong"]["entries"]:
        rows.append(common | {"rows": n, "dim": d, "classes": k, "contestant": e["contestant"], "seconds": f"{e['seconds']:.3f}",
                              "ratio_to_tenon": f"{e['seconds'] / first:.3f}", "note": "rank"})
    n, d, k = found["fits"]["shape"]
    for e in found["fits"]["entries"]:
        rows.append(common | {"rows": n, "dim": d, "classes": k, "contestant": e["contestant"], "seconds": f"{e['seconds']:.3f}",
                              "objective": e["objective"] or "", "note": f"fit {e['method']}"})
    merge_csv(csv, "mpi", rows)
    write_page(page, page_lines(facts, found))
