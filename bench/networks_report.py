# SPDX-License-Identifier: BSD-3-Clause
"""What networks.py found, as lines on standard output, as CSV and as a page. Nothing in here measures."""
from report import merge_csv, page_head, table, verdict, write_page

LEAD, FLAT = 1.2, 1.2


def rate(entry):
    return entry["pictures"] / entry["seconds"]


def cost(entry):
    """Milliseconds of the processor per picture."""
    return 1000 * entry["cpu"] / entry["pictures"]


def setting_text(setting):
    return "{} threads, {} runs at once, batches of {}".format(*setting)


def print_entry(found):
    print(f"  {found['model']:<16}{rate(found['ours']):>8.0f} pictures/s ({cost(found['ours']):.2f} ms of processor each)"
          f"   runs alone {rate(found['alone']):.0f}/s ({cost(found['alone']):.2f})"
          f"   onnxruntime-node {rate(found['theirs']):.0f} ({cost(found['theirs']):.2f}), "
          f"{setting_text(found['theirs']['setting'])}", flush=True)


def targets(found):
    rows = []
    for entry in found["entries"]:
        lead = rate(entry["ours"]) / rate(entry["theirs"])
        rows.append((f"{entry['model']}: pictures per second / onnxruntime-node's", f"{lead:.2f}", f">= {LEAD}",
                     verdict(lead, LEAD, True)))
    for entry in found["entries"]:
        lead = rate(entry["alone"]) / rate(entry["theirs"])
        rows.append((f"{entry['model']}: runs of the network per second / onnxruntime-node's", f"{lead:.2f}", f">= {LEAD}",
                     verdict(lead, LEAD, True)))
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
        for name, who in (("ours", "tenon"), ("alone", "tenon, runs alone"), ("theirs", "onnxruntime-node")):
            e = entry[name]
            note = "; " + setting_text(e["setting"]) if name == "theirs" else ""
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
              "resizing, running, writing. onnxruntime-node: runs on a tensor that is there, after a first run, at the "
              "best of 1 or 2 threads, 1 or 2 runs at once, batches of 1 or 8; it decodes nothing. Runs alone, what "
              "both do: what `--views ten` takes longer than `--views centre`, nine runs per picture, their tensors filled.",
              "- Processor: time of all cores in user and system mode per picture.", ""]
    lines += table(["network", "tenon, pictures/s", "ms of processor", "runs alone/s", "ms of processor",
                    "onnxruntime-node, runs/s", "ms of processor", "at"],
                   [[e["model"], f"{rate(e['ours']):.0f}", f"{cost(e['ours']):.2f}", f"{rate(e['alone']):.0f}",
                     f"{cost(e['alone']):.2f}", f"{rate(e['theirs']):.0f}", f"{cost(e['theirs']):.2f}",
                     setting_text(e["theirs"]["setting"])] for e in found["entries"]])
    few, every = found["memory"]
    lines += [f"Anonymous memory at its highest: {few['anon_mb']:.0f} MB with {few['pictures']} pictures, "
              f"{every['anon_mb']:.0f} MB with {every['pictures']}.", "", "## Targets", ""]
    lines += table(["target", "figure", "wanted", "verdict"], [list(r) for r in targets(found)])
    write_page(page, lines)


__all__ = ["print_entry", "print_targets", "write"]
