# SPDX-License-Identifier: BSD-3-Clause
"""The page: tables of the studies and what they mean for the paper's claims."""
import claims
import measure
import table2
from common import answer_lines, claim_lines, machine_lines, metric, table

# Gain in nats per label and test score of an independent NumPy program, on the float32 features before they were stored
# as float16: L2-normalised rows, intercept, a lambda for every class.
REFERENCE = {
    "caltech101": {"mobilenetv2": (.254, 90.4), "squeezenet": (.169, 79.1), "darknet": (.121, 77.4),
                   "mobilenetv1": (.107, 70.8), "places": (.066, 49.2), "doodle": (.028, 22.8)},
    "scene15": {"mobilenetv2": (.498, 90.2), "squeezenet": (.390, 87.0), "darknet": (.342, 84.0),
                "mobilenetv1": (.312, 81.8), "places": (.407, 89.9)},
    "flowers12": {"mobilenetv2": (.755, 96.7), "squeezenet": (.719, 97.9), "darknet": (.525, 95.4),
                  "mobilenetv1": (.508, 93.3), "places": (.316, 90.0), "birds": (.444, 90.8), "doodle": (.082, 53.3)},
    "flickr8k": {"squeezenet": (.083, 43.8), "darknet": (.084, 44.3), "mobilenetv1": (.064, 39.1),
                 "places": (.059, 38.5)},
}


ANSWER = {"The evidence orders": "The evidence puts networks in the order of their test scores, set by set",
          "The ensemble of highest":
              "The ensemble of highest evidence is the best of all subsets in the test, set by set",
          "The Bayesian choice of λ is competitive with CV ridge":
              "λ by evidence is at most a point below five-fold cross-validation, network by network",
          "It is much faster than CV ridge": "It is at least three times as fast",
          "The Bayesian choice of λ is competitive with CV SVM":
              "It is at most a point below a cross-validated support vector machine",
          "It is much faster than CV SVM": "It is at least three times as fast as that"}


def head(doctor, seconds, found):
    return [
        "# Evidence: networks and ensembles", "", *answer_lines(found, ANSWER),
        "![evidence gain against test score, a point per network](evidence.svg)", "",
        f"Made by `experiments/evidence/run` in {seconds:.0f} s; nothing here is edited by hand. Every figure comes "
        "from the JSON of `tenon rank`, `fit` and `eval` with their defaults where nothing else is said.", "",
        *machine_lines(doctor, "Seed 0"),
        "- Data: float16 activations of small public networks, L2-normalised rows, intercept. Test scores are "
        "accuracy in percent, mean average precision for flickr8k, each on the set's own test rows.", ""]


def single_lines(study):
    rule = claims.default_rule(study)
    rows = [(s["name"], s["dim"], f"{s['log_evidence']:.1f}", f"{s['gain_per_label']:.4f}",
             f"{100 * s['loo_accuracy']:.1f} ± {100 * s['loo_se']:.1f}", f"{s['per-class']:.2f}", f"{s['shared']:.2f}",
             s["noise_free"], s["null_classes"], f"{s['seconds']:.2f}") for s in study["singles"]]
    return [f"### {study['name']}", "",
            f"{study['rows']} training rows, {study['test_rows']} test rows, {study['classes']} classes, "
            f"{study['task']}; log evidence without features {study['null']:.1f}; `fit` uses the {rule} lambda by "
            "default.", "",
            *table(["network", "dim", "log evidence", "gain, nats per label", "leave-one-out %",
                    f"test {metric(study)}, per-class λ", "shared λ", "λ → 0", "λ = ∞", "seconds"], rows),
            f"Kendall's tau of evidence and test {metric(study)}: {claims.single_tau(study, 'per-class'):.2f} with "
            f"per-class λ, {claims.single_tau(study, 'shared'):.2f} with the shared one; over all "
            f"{len(study['subsets'])} subsets {claims.subset_tau(study):.2f}.", ""]


def ensemble_lines(studies):
    rows = []
    for study in studies:
        for search, fit in study["searches"].items():
            rows.append((study["name"], search, " + ".join(fit["selected"]), f"{fit['log_evidence']:.1f}",
                         f"{fit['gain_per_label']:.4f}", f"{fit['score']:.2f}", f"{fit['seconds']:.2f}"))
        best = claims.oracle(study)
        rows.append((study["name"], "oracle", " + ".join(best["names"]), f"{best['log_evidence']:.1f}",
                     f"{best['gain_per_label']:.4f}", f"{best['score']:.2f}", ""))
    return ["## Ensembles (the paper's Table 3)", "",
            "`--select` best, greedy, forward, exhaustive and all look at training labels only. The oracle is the "
            "subset of best test score: every subset was trained with `--select all` and tested; of equals the "
            "smallest is shown. λ is the default of `fit`.", "",
            *table(["set", "choice", "networks", "log evidence", "gain", "test", "seconds"], rows)]


def iteration_lines(studies):
    rows = []
    for study in studies:
        for optimizer in measure.OPTIMIZERS:
            mean, most, short = claims.iteration_figures(study, optimizer)
            rows.append((study["name"], optimizer, f"{mean:.1f}", f"{most}", f"{short:.1e}"))
    return ["## Iterations (the paper's Figure 5)", "",
            f"Evaluations of the model per class, from the common start λ = {measure.START}, until the fixed-point step "
            f"is below {measure.TOLERANCE} of λ, at most {measure.MOST_ITERATIONS}: mean and most over classes and "
            "networks. One step of the paper's Algorithm 1 is two evaluations; one of Newton solves the system twice. "
            "All four are safeguarded by the same bracket. The last column is the log evidence that the worst network "
            "lacks against the best of the four.", "",
            *table(["set", "optimizer", "mean", "most", "evidence missed, nats"], rows)]


def reference_lines(studies):
    rows, gain_worst, score_worst = [], 0.0, 0.0
    for study in studies:
        for single in study["singles"]:
            known = REFERENCE[study["name"]].get(single["name"])
            if not known:
                continue
            gain, score = single["gain_per_label"] - known[0], single["per-class"] - known[1]
            gain_worst, score_worst = max(gain_worst, abs(gain)), max(score_worst, abs(score))
            rows.append((study["name"], single["name"], f"{single['gain_per_label']:.4f}", f"{known[0]:.3f}",
                         f"{gain:+.4f}", f"{single['per-class']:.2f}", f"{known[1]:.1f}", f"{score:+.2f}",
                         single["noise_free"]))
    return ["## Against an independent program", "",
            "A NumPy program gave the reference figures, on float32 features and rounded to the digits shown (so "
            f"± 0.0005 nats and ± 0.05 points are rounding). Largest difference: {gain_worst:.4f} nats per label, "
            f"{score_worst:.2f} points. Where classes have λ → 0, its evidence depends on the smallest λ tried.", "",
            *table(["set", "network", "gain", "reference", "difference", "test, per-class λ", "reference",
                    "difference", "classes with λ → 0"], rows)]


def render(doctor, studies, seconds):
    found = claims.verdicts(studies)
    lines = head(doctor, seconds, found) + claim_lines("## The paper's claims", found) + [
        "## Networks (the paper's Table 2, evidence)", "",
        "Columns λ → 0 and λ = ∞ count the classes whose own optimum lies at that end. λ → 0 happens for N < D: the "
        "class is fitted without noise. Where training rows repeat, F then has no maximum, and the evidence of that "
        "class depends on how small a λ the program tries.", ""]
    for study in studies:
        lines += single_lines(study)
    lines += table2.lines(studies) + ensemble_lines(studies) + iteration_lines(studies) + reference_lines(studies)
    return "\n".join(lines)
