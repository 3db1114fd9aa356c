# SPDX-License-Identifier: BSD-3-Clause
"""What fisher.py found, as lines on standard output, as CSV and as a page. Nothing in here measures."""
import math

from report import merge_csv, page_head, table, verdict, write_page

MOST = 1.5


def ratio(entry):
    return entry["back"] / entry["encode"]


def ratio_projected(entry):
    """The gradient with that of the projection, in encodings from unprojected descriptors."""
    return entry["turn"] / (entry["encode"] + entry["project"])


def slope(points):
    """Of log seconds over log size, by least squares: 1 is linear growth."""
    points = [(math.log(x), math.log(y)) for x, y in points]
    x, y = (sum(values) / len(points) for values in zip(*points))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def growth(found):
    """{what: exponent}: with the descriptors of the usual mixture, and with K D at the longest bag."""
    most = max(entry["rows"] for entry in found["bags"])
    usual = found["bags"][0]["words"], found["bags"][0]["dim"]
    by_rows = [entry for entry in found["bags"] if (entry["words"], entry["dim"]) == usual]
    by_size = [entry for entry in found["bags"] if entry["rows"] == most]
    return {f"{what}, with {name}": slope([(size(entry), entry[key]) for entry in entries])
            for what, key in (("encoding", "encode"), ("gradient", "back"))
            for name, entries, size in (("descriptors", by_rows, lambda entry: entry["rows"]),
                                        ("K D", by_size, lambda entry: entry["words"] * entry["dim"]))}


def targets(found):
    """[(what, figure, target, verdict)]"""
    worst = max(found["bags"], key=ratio)
    rows = [(f"gradient of a bag in its encoding, at worst (K = {worst['words']}, D = {worst['dim']}, {worst['rows']} descriptors)",
             f"{ratio(worst):.2f}", f"<= {MOST:g}", verdict(ratio(worst), MOST, False))]
    worst = max(found["bags"], key=ratio_projected)
    rows += [(f"with the gradient of the projection, in projection and encoding, at worst (K = {worst['words']}, D = {worst['dim']}, "
              f"{worst['rows']} descriptors)", f"{ratio_projected(worst):.2f}", f"<= {MOST:g}",
              verdict(ratio_projected(worst), MOST, False))]
    return rows + [(f"{what}: exponent of growth", f"{value:.2f}", "<= 1.1", verdict(value, 1.1, False))
                   for what, value in growth(found).items() if what.startswith("gradient")]


def share(found, entry):
    """Of the machine's peak of products, by the flops of the product alone: one for each encoding, one for the gradient."""
    flops = 4 * entry["descriptors"] * found["words"] * found["dim"] * (entry["trials"] + 1)
    return flops / (entry["round_seconds"] * found["peak"]["flops"] * entry["threads"])


# ---- standard output ----

def print_bags(found):
    print(f"  {'K':>4}{'D':>4}{'rows':>7}{'encode ms':>11}{'gradient':>10}{'product':>9}{'ratio':>7}{'project':>9}{'gradient':>10}{'ratio':>7}")
    for entry in found["bags"]:
        print(f"  {entry['words']:>4}{entry['dim']:>4}{entry['rows']:>7}" +
              "".join(f"{1e3 * entry[key]:>{width}.2f}" for key, width in (("encode", 11), ("back", 10), ("product", 9))) +
              f"{ratio(entry):>7.2f}{1e3 * entry['project']:>9.2f}{1e3 * entry['turn']:>10.2f}{ratio_projected(entry):>7.2f}", flush=True)
    literal = found["literal"]
    print(f"  literal formulas {literal['literal'] / literal['f32']:.0f} times the gradient in float, "
          f"{literal['literal'] / literal['f64']:.0f} times that in double", flush=True)


def print_round(found):
    for entry in found["round"]:
        print(f"  one round, {entry['threads']} threads: {entry['round_seconds']:.1f} s, {entry['trials']} trials, gradient "
              f"{entry['gradient_seconds']:.1f} s; {share(found, entry):.0%} of peak", flush=True)
    for what, figure, target, word in targets(found):
        print(f"  {what}: {figure}, target {target}: {word}", flush=True)


# ---- CSV ----

def csv_rows(facts, found):
    same = {"section": "fisher", "machine": facts["cpu"], "versions": f"tenon {facts['version']}", "seed": 1,
            "kernels": facts["blas_kernels"]}
    rows = [same | {"threads": 1, "rows": entry["rows"], "dim": entry["dim"], "contestant": f"{key}-{entry['words']}",
                    "seconds": f"{entry[key]:.6f}", "ratio_to_tenon": f"{entry[key] / entry['encode']:.3f}", "note": "processor time"}
            for entry in found["bags"] for key in ("encode", "back", "product", "project", "turn")]
    rows += [same | {"threads": 1, "contestant": f"gradient-{key}", "seconds": f"{value:.6f}",
                     "ratio_to_tenon": f"{value / found['literal']['f32']:.3f}", "note": "processor time"}
             for key, value in found["literal"].items()]
    return rows + [same | {"threads": entry["threads"], "rows": entry["descriptors"], "dim": found["dim"], "contestant": "round",
                           "seconds": f"{entry['round_seconds']:.3f}", "ratio_to_tenon": "1.000", "anon_mb": f"{entry['anon_mb']:.0f}",
                           "note": f"{entry['trials']} trials"} for entry in found["round"]]


# ---- the page ----

def bag_lines(found):
    rows = [[*[str(entry[key]) for key in ("words", "dim", "rows")], *[f"{1e3 * entry[key]:.2f}" for key in ("encode", "back", "product")],
             f"{ratio(entry):.2f}", f"{1e3 * entry['project']:.2f}", f"{1e3 * entry['turn']:.2f}", f"{ratio_projected(entry):.2f}"]
            for entry in found["bags"]]
    words, dim, count = found["shape"][5]
    literal = found["literal"]
    exponents = "; ".join(f"{what} {value:.2f}" for what, value in growth(found).items())
    head = ["K", "D", "descriptors", "encoding, ms", "gradient, ms", "product alone, ms", "gradient in encodings", "projection, ms",
            "gradient with the projection's, ms", "in projection and encoding"]
    return ["## One bag", "", *table(head, rows),
            f"Exponents of growth, seconds over size (1: linear): {exponents}. The gradient finds the posteriors again: nothing of an "
            "encoding is kept but its vector. The projection is that of RootSIFT, 128 values, to D.", "",
            f"The formulas (7) to (12) of the paper, term by term in long double as the tests have them, on {count} descriptors, K = {words}, "
            f"D = {dim}: {1e3 * literal['literal']:.1f} ms, {literal['literal'] / literal['f64']:.0f} times the reverse pass in double "
            f"({1e3 * literal['f64']:.2f} ms) and {literal['literal'] / literal['f32']:.0f} times that in float ({1e3 * literal['f32']:.3f} ms); "
            "the ratio grows with K D.", ""]


def round_lines(found):
    rows = [[str(entry["threads"]), f"{entry['round_seconds']:.1f}", str(entry["trials"]), f"{entry['encode_seconds']:.1f}",
             f"{entry['gradient_seconds']:.1f}", f"{entry['solve_seconds']:.2f}", f"{share(found, entry):.0%}", f"{entry['anon_mb']:.0f}"]
            for entry in found["round"]]
    bags, count = found["shape"][:2]
    return ["## One round", "",
            *table(["threads", "round, s", "places tried", "all encodings, s", "gradient, s", "machines, s", "of peak", "memory, MB"], rows),
            f"`tenon encoder refine --rounds 1` on {bags} bags of {count} descriptors of {found['dim']} values, K = {found['words']}, "
            "exact gradient on all of them, ten classes; descriptors in a file of halves. The round is the gradient, the places that were "
            "tried, vectors and machines at each; all encodings hold that of the start too. Share of the peak of matrix products "
            f"({1e-9 * found['peak']['flops']:.0f} Gflop/s per thread), by the flops of the products alone.", ""]


def write(csv_path, page_path, facts, found):
    merge_csv(csv_path, "fisher", csv_rows(facts, found))
    head = [*page_head("refinement of mixtures", facts, "single bags on one thread by processor time"),
            f"- Version: tenon {facts['version']}. BLAS: {facts['blas']}, kernels {facts['blas_kernels']} (chosen by {facts['chosen_by']}).",
            "- Single bags: RootSIFT of drawn pictures, discs over discs with noise, by PCA. The round: descriptors of 60 clusters, columns "
            "with falling deviations. Seed 1.", ""]
    write_page(page_path, head + ["## Targets", ""]
               + table(["target", "measured", "wanted", ""], [list(row) for row in targets(found)])
               + bag_lines(found) + round_lines(found))
