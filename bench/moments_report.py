# SPDX-License-Identifier: BSD-3-Clause
"""What moments.py found, as lines on standard output, as CSV and as a page. Nothing in here measures."""
from report import merge_csv, page_head, table, verdict, write_page

SHARE = 0.60  # of the machine's dgemm, for a shard's sums


def share(speed):
    return speed["entries"][0]["gflops"] / speed["gemm"]


def speed_rows(speed):
    return [[e["contestant"], f"{e['seconds']:.2f}", f"{e['gflops']:.1f}", f"{e['gflops'] / speed['gemm']:.2f}"] for e in speed["entries"]] + \
           [["dgemm", "", f"{speed['gemm']:.1f}", "1.00"]]


def merge_rows(merge):
    return [[e["contestant"], f"{e['seconds']:.2f}", f"{e['memory']:.0f}"] for e in merge["entries"]]


def memory_rows(memory):
    return [[str(e["rows"]), f"{e['input']:.0f}", f"{e['seconds']:.1f}", f"{e['memory']:.0f}", f"{e['file']:.1f}", f"{e['rank_seconds']:.2f}",
             f"{e['rank_memory']:.0f}"] for e in memory["entries"]]


def growth(memory):
    """Bytes of memory per row between the fewest rows and the most."""
    first, last = memory["entries"][0], memory["entries"][-1]
    return 1e6 * (last["memory"] - first["memory"]) / (last["rows"] - first["rows"])


def print_rows(rows):
    for row in rows:
        print("  " + "  ".join(f"{cell:>12}" for cell in row), flush=True)


def print_speed(speed):
    print("\nmoments, N {}, D {}, K {}: processor seconds, GFLOP/s, of dgemm".format(*speed["shape"]))
    print_rows(speed_rows(speed))


def print_merge(merge):
    print(f"\n{merge['parts']} parts of {merge['bytes']} bytes: processor seconds, MB")
    print_rows(merge_rows(merge))


def print_memory(memory):
    print("\nrows, MB of input, processor seconds, MB of memory, MB of the file; rank --moments: seconds, MB")
    print_rows(memory_rows(memory))


def page_lines(facts, found):
    speed, merge, memory = found["speed"], found["merge"], found["memory"]
    lines = page_head("moments as files", facts, "processor time of one thread") + [""]
    lines += table(["target", "figure", "wanted", "verdict"],
                   [["a shard's moments / dgemm", f"{share(speed):.2f}", f">= {SHARE:.2f}", verdict(share(speed), SHARE, True)]])
    lines += ["## A shard", "", "`tenon moments` of {} x {} float16, {} classes, as a whole process: reading, conversion to double, "
              "normalisation, hashes, products, sums per class, the file. Flops are those of the upper triangle, N D (D + 1). dgemm: of D x 512 "
              "and 512 x D, by NumPy with the same kernels.".format(*speed["shape"]), ""]
    lines += table(["command", "seconds", "GFLOP/s", "of dgemm"], speed_rows(speed))
    lines += ["## Parts", "", f"{merge['parts']} parts of {merge['bytes'] / 1e6:.1f} MB each, merged; their ranking.", ""]
    lines += table(["command", "seconds", "memory, MB"], merge_rows(merge))
    lines += ["## Rows", "", "{} columns of float16, {} classes. Memory is the peak of what is not backed by a file. Features are read in blocks "
              "of 512 rows and never held; labels are, and take {:.0f} bytes per row here. Shards with labels of their own divide even "
              "that.".format(memory["dim"], memory["classes"], growth(memory)), ""]
    return lines + table(["rows", "input, MB", "seconds", "memory, MB", "file, MB", "`rank --moments`, seconds", "memory, MB"],
                         memory_rows(memory))


def write(csv, page, facts, found):
    n, d, k = found["speed"]["shape"]
    common = {"section": "moments", "machine": facts["cpu"], "threads": 1, "versions": f"tenon {facts['version']}",
              "kernels": facts["blas_kernels"], "seed": found["seed"]}
    rows = [common | {"rows": n, "dim": d, "classes": k, "contestant": e["contestant"], "seconds": f"{e['seconds']:.3f}",
                      "note": f"{e['gflops'] / found['speed']['gemm']:.3f} of dgemm"} for e in found["speed"]["entries"]]
    rows += [common | {"rows": e["rows"], "dim": d, "classes": k, "contestant": "moments", "seconds": f"{e['seconds']:.3f}",
                       "note": f"{e['memory']:.0f} MB"} for e in found["memory"]["entries"]]
    merge_csv(csv, "moments", rows)
    write_page(page, page_lines(facts, found))
