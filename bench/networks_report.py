# SPDX-License-Identifier: BSD-3-Clause
"""What networks.py found, as lines on standard output, as CSV and as a page. Nothing in here measures."""
from report import merge_csv, page_head, table, verdict, write_page

LEAD, FLAT = 1.2, 1.2
WHO = {"ours": "tenon", "theirs_whole": "sharp and onnxruntime-node", "alone": "tenon, runs alone",
       "theirs": "onnxruntime-node, runs alone"}  # pictures per second, ms of the processor per picture, setting


def rate(entry):
    return entry["pictures"] / entry["seconds"]


def cost(entry):
    """Milliseconds of the processor per picture."""
    return 1000 * entry["cpu"] / entry["pictures"]


def setting_text(setting):
    return "{} threads, {} runs at once, batches of {}".format(*setting)


def figures(entry):
    if entry is None:
        return ["-"] * 3
    return [f"{rate(entry):.0f}", f"{cost(entry):.2f}"] + ([setting_text(entry["setting"])] if "setting" in entry else [])


def print_entry(found):
    print(f"  {found['model']}", flush=True)
    for key, who in WHO.items():
        print(f"    {who:<30} {', '.join(figures(found[key]))}", flush=True)


def targets(found):
    rows = []
    for what, our, their in (("pictures per second, JPEG to rows, / those of sharp and onnxruntime-node", "ours", "theirs_whole"),
                             ("runs per second / those of onnxruntime-node", "alone", "theirs"),
                             ("pictures per second, JPEG to rows, / runs of onnxruntime-node", "ours", "theirs")):
        for entry in (entry for entry in found["entries"] if entry[their]):
            lead = rate(entry[our]) / rate(entry[their])
            rows.append((f"{entry['model']}: {what}", f"{lead:.2f}", f">= {LEAD}", verdict(lead, LEAD, True)))
    few, every = found["memory"]
    share = every["anon_mb"] / max(few["anon_mb"], 1)
    rows.append((f"memory with {every['pictures']} pictures / with {few['pictures']}", f"{share:.2f}", f"<= {FLAT}",
                 verdict(share, FLAT, False)))
    return rows


def print_targets(found):
    for what, figure, wanted, word in targets(found):
        print(f"  {what}: {figure} ({wanted}) {word}", flush=True)


def csv_rows(facts, found):
    rows = []
    for entry in found["entries"]:
        for e, who in ((entry[name], who) for name, who in WHO.items() if entry[name]):
            note = "; " + setting_text(e["setting"]) if "setting" in e else ""
            rows.append({"section": "networks", "machine": facts["cpu"], "threads": facts["threads"],
                         "versions": f"ONNX Runtime {found['engine']}", "kernels": "", "seed": "", "rows": e["pictures"],
                         "dim": "", "classes": "", "contestant": f"{entry['model']}: {who}",
                         "seconds": f"{e['seconds']:.3f}", "anon_mb": "",
                         "note": f"{rate(e):.0f} pictures/s, {cost(e):.2f} ms of processor each{note}"})
    return rows


def write(csv, page, facts, found):
    merge_csv(csv, "networks", csv_rows(facts, found))
    lines = page_head("networks", facts, f"{found['threads']} threads")
    lines += [f"- ONNX Runtime {found['engine']} for both; {found['count']} {found['what']}.",
              "- tenon: `tenon extract LIST --net MODEL -o rows.npy`, the whole process: loading the network, decoding, "
              "resizing, running, writing. Beside it a program for node: sharp (libvips) decodes, resizes and cuts, "
              "onnxruntime-node runs, at the best of four settings, loading and a first run not counted.",
              "- Runs alone: what `--views ten` takes longer than `--views centre`, nine runs per picture, their tensors "
              "filled; onnxruntime-node on a tensor that is there, after a first run, at the best of 1 or 2 threads, 1 or 2 "
              "runs at once, batches of 1 or 8. One engine on both sides: ours runs no node that does not lead to the layer, and "
              "none of those that prepare the picture, which is done while the tensor is filled; what is left is nearly all "
              "convolutions. On two cores that run networks already nothing is left in which decoding could "
              "hide: the last rows of targets compare what decodes with what does not.",
              "- Processor: time of all cores in user and system mode per picture.", ""]
    lines += table(["network", "tenon, JPEG to rows/s", "ms of processor", "sharp and onnxruntime-node", "ms of processor", "at",
                    "tenon, runs alone/s", "ms of processor", "onnxruntime-node", "ms of processor", "at"],
                   [[e["model"], *(figure for name in WHO for figure in figures(e[name]))] for e in found["entries"]])
    few, every = found["memory"]
    lines += [f"Anonymous memory at its highest: {few['anon_mb']:.0f} MB with {few['pictures']} pictures, "
              f"{every['anon_mb']:.0f} MB with {every['pictures']}.", "", "## Targets", ""]
    lines += table(["target", "figure", "wanted", "verdict"], [list(r) for r in targets(found)])
    write_page(page, lines)


__all__ = ["print_entry", "print_targets", "write"]
