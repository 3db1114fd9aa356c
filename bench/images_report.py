# SPDX-License-Identifier: BSD-3-Clause
"""What images.py found, as lines on standard output, as CSV and as a page. Nothing in here measures."""
from report import merge_csv, page_head, table, verdict, write_page

MANY = 6  # times as many descriptors for k-means: image_stages.c
# (stage, what it is, who is beside, target for the ratio, at least that much)
TARGETS = [("sift", "SIFT", "vlfeat", 12.0, True), ("root_pca", "RootSIFT and PCA to 64, against SIFT alone", "vlfeat", 5.0, True),
           ("fisher_32", "Fisher vector, K = 32", "vlfeat", 8.0, True), ("fisher_256", "Fisher vector, K = 256", "vlfeat", 10.0, True),
           ("em_32", "a step of EM, K = 32", "vlfeat", 5.0, True), ("em_256", "a step of EM, K = 256", "vlfeat", 5.0, True),
           ("kmeans_256", "a step of k-means, K = 256, in faiss's", "faiss", 1.2, False)]
FLAT, PICTURE = 1.1, "picture_"


def targets(found):
    """[(what, figure, target, verdict)]"""
    rows = []
    for stage, what, peer, target, at_least in TARGETS:
        entry = found["stages"][stage]
        if peer in entry:
            ratio = entry[peer] / entry["tenon"] if at_least else entry["tenon"] / entry[peer]
            rows.append((f"{what}: {'times ' if at_least else ''}{peer}", f"{ratio:.2f}", f"{'>=' if at_least else '<='} {target:g}",
                         verdict(ratio, target, at_least)))
    some, more = (entry["anon_mb"] for entry in found["way"]["watched"])
    rows.append((f"memory of {found['way']['watched'][1]['pictures']} pictures in that of {found['way']['watched'][0]['pictures']}",
                 f"{more / some:.2f}", f"<= {FLAT:g}", verdict(more / some, FLAT, False)))
    return rows


def shares(found):
    """[(stage, milliseconds)] of the whole way for one picture, one thread."""
    stages = found["stages"]
    return [("decode", stages["decode"]["tenon"]), ("RootSIFT", stages["root_sift"]["tenon"]),
            (f"PCA and Fisher, K = {found['way_words']}", stages[f"{PICTURE}fisher_{found['way_words']}"]["tenon"])]


def rate(entry):
    return entry["pictures"] / entry["seconds"]


def peers_of(entry):
    return [(name, entry[name]) for name in ("vlfeat", "faiss", "floor") if name in entry]


# ---- standard output ----

def print_stages(found):
    print("\npicture {} x {}, {} descriptors, processor time of one thread".format(*found["shape"][:3]))
    print(f"  {'stage':<22}{'ms':>9}  beside", flush=True)
    for stage, entry in found["stages"].items():
        words = ", ".join(f"{name} {1e3 * value:.2f} ({value / entry['tenon']:.2f} x)" for name, value in peers_of(entry))
        print(f"  {stage:<22}{1e3 * entry['tenon']:>9.2f}  {words}", flush=True)


def print_way(found):
    for entry in found["way"]["timed"]:
        print(f"  whole way, {entry['threads']} threads: {rate(entry):.1f} pictures per second", flush=True)
    for what, figure, target, word in targets(found):
        print(f"  {what}: {figure}, target {target}: {word}", flush=True)


# ---- CSV ----

def csv_rows(facts, found):
    same = {"section": "images", "machine": facts["cpu"], "versions": f"tenon {facts['version']}", "seed": 1,
            "kernels": facts["blas_kernels"]}
    rows = [same | {"threads": 1, "contestant": f"{stage}-{name}", "seconds": f"{value:.6f}",
                    "ratio_to_tenon": f"{value / entry['tenon']:.3f}", "note": "processor time"}
            for stage, entry in found["stages"].items() for name, value in [("tenon", entry["tenon"]), *peers_of(entry)]]
    way = found["way"]
    return rows + [same | {"threads": entry["threads"], "rows": entry["pictures"], "contestant": "extract",
                           "seconds": f"{entry['seconds']:.3f}", "ratio_to_tenon": "1.000",
                           "anon_mb": f"{entry['anon_mb']:.0f}" if "anon_mb" in entry else "",
                           "note": f"{rate(entry):.1f} pictures per second"} for entry in (*way["timed"], *way["watched"])]


# ---- the page ----

def stage_lines(found):
    rows = [[stage, f"{1e3 * entry['tenon']:.2f}",
             *[f"{1e3 * entry[name]:.2f} ({entry[name] / entry['tenon']:.2f} x)" if name in entry else "-"
               for name in ("vlfeat", "faiss", "floor")]] for stage, entry in found["stages"].items()]
    width, height, count = found["shape"][:3]
    sift = found["stages"]["sift"]
    return ["## Stages", "", *table(["stage", "tenon, ms", "VLFeat, ms", "faiss, ms", "product alone, ms"], rows),
            f"sift, root_sift, root_pca: a picture of {width} x {height}, {sift['descriptors']} patches of five sizes, VLFeat's with "
            f"the flat window. fisher, em: {count} descriptors of 64 values; kmeans: {MANY * count}. {PICTURE}*: all descriptors of "
            "the picture to one vector, PCA included. Vectors of VLFeat and tenon differ by "
            f"{found['stages']['fisher_32']['difference']:.1e} (K = 32) and {found['stages']['fisher_256']['difference']:.1e} "
            "(K = 256) of their length.", ""]


def way_lines(found):
    parts, way = shares(found), found["way"]
    total = sum(seconds for _, seconds in parts)
    rows = [[name, f"{1e3 * seconds:.1f}", f"{seconds / total:.0%}"] for name, seconds in parts]
    rates = "; ".join(f"{rate(entry):.1f} pictures per second with {entry['threads']} thread{'s' if entry['threads'] > 1 else ''}"
                      for entry in way["timed"])
    memory = " and ".join(f"{entry['anon_mb']:.0f} MB for {entry['pictures']} pictures" for entry in way["watched"])
    return ["## The whole way: JPEG to Fisher vector", "", *table(["stage", "ms per picture, one thread", "share"], rows),
            f"`tenon extract` as a process: {rates}. Most memory that no file is behind: {memory}.", ""]


def write(csv_path, page_path, facts, found):
    merge_csv(csv_path, "images", csv_rows(facts, found))
    peers = "VLFeat as Debian has it" + (f", faiss {found['faiss']}" if found["faiss"] else "; faiss is not installed")
    head = [*page_head("pictures", facts, "stages on one thread by processor time"),
            f"- Versions: tenon {facts['version']}, {peers}. BLAS: {facts['blas']}, kernels {facts['blas_kernels']} (chosen by "
            f"{facts['chosen_by']}).",
            "- Pictures are drawn: discs of random place, colour and size, each over those before, and noise. Seed 1.", ""]
    write_page(page_path, head + ["## Targets", ""]
               + table(["target", "measured", "wanted", ""], [list(row) for row in targets(found)])
               + stage_lines(found) + way_lines(found))
