# SPDX-License-Identifier: BSD-3-Clause
"""What auto.py found, as lines on standard output, as CSV and as a page. Nothing in here measures."""
from report import merge_csv, page_head, table, verdict, write_page


def shape_text(shape):
    return "{} x {}, {} classes".format(*shape)


def print_entry(entry):
    print(f"  {shape_text(entry['shape'])}: auto {entry['auto']:.2f} s, evidence {entry['evidence']:.2f} s, "
          f"{entry['anon_mb']:.0f} MB", flush=True)


def target(entry):
    shape = shape_text(entry["shape"])
    if entry["seconds"]:
        return [f"auto, {shape}: seconds", f"{entry['auto']:.2f}", f"<= {entry['seconds']}",
                verdict(entry["auto"], entry["seconds"], False)]
    fits = entry["auto"] / entry["evidence"]
    return [f"auto, {shape}: fits by the evidence", f"{fits:.1f}", f"<= {entry['fits']}", verdict(fits, entry["fits"], False)]


def csv_rows(facts, found):
    return [{"section": "auto", "machine": facts["cpu"], "threads": facts["threads"], "versions": f"tenon {facts['version']}",
             "kernels": facts["blas_kernels"], "seed": found["seed"], "rows": e["shape"][0], "dim": e["shape"][1],
             "classes": e["shape"][2], "contestant": f"tenon fit --method {name}", "seconds": f"{e[name]:.3f}",
             "anon_mb": f"{e['anon_mb']:.0f}" if name == "auto" else ""}
            for e in found["entries"] for name in ("auto", "evidence")]


def write(csv, page, facts, found):
    merge_csv(csv, "auto", csv_rows(facts, found))
    lines = page_head("method auto", facts, f"{facts['threads']} threads")
    lines += [f"- `tenon fit a=x.npy --labels y.npy -o head.safetensors`, the whole process, best of {found['runs']}, from "
              f"{found['long']} rows on one run; evidence: with `--method evidence`. tenon {facts['version']}, seed {found['seed']}.",
              "- Data: rows made like features of networks, max(0, class mixture of rank 64 + noise), of which about half are told "
              "right when they are new.", ""]
    lines += table(["rows", "auto, s", "evidence, s", "MB", "of this for each contender, s"],
                   [[shape_text(e["shape"]), f"{e['auto']:.2f}", f"{e['evidence']:.2f}", f"{e['anon_mb']:.0f}",
                     ", ".join(f"{method} {seconds:.2f}" for method, seconds in e["tried"])] for e in found["entries"]])
    lines += ["## Targets", ""]
    lines += table(["target", "figure", "wanted", "verdict"], [target(e) for e in found["entries"] if e["seconds"] or e["fits"]])
    write_page(page, lines)


__all__ = ["print_entry", "write"]
