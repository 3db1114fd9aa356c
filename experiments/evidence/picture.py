# SPDX-License-Identifier: BSD-3-Clause
"""The picture of the page and of README.md: evidence against test score, a panel per set, a point per network."""
import claims
from common import metric


def series(study):
    """Error bars: one standard error of the test, where the score has one."""
    rule = claims.default_rule(study)
    for single in study["singles"]:
        error = [] if study["task"] == "multilabel" else [round(claims.standard_error(study, single[rule]), 2)]
        yield {"name": single["name"], "points": [[round(single["gain_per_label"], 4), round(single[rule], 2), *error]]}


def panel(study):
    tau = claims.single_tau(study, claims.default_rule(study))
    return {"title": f"{study['name']}, Kendall's τ = {tau:.2f}", "x": "evidence gain, nats per label",
            "y": f"test {metric(study)}, %", "kind": "points", "series": list(series(study))}


def panels(studies):
    """As pictures.py wants them, two in a row."""
    found = [panel(study) for study in studies]
    return {"about": "Made by experiments/evidence/run. Error bars: one standard error of the test.",
            "panel": [4.2, 2.7], "between": 6, "right": 0.08, "rows": [found[at:at + 2] for at in range(0, len(found), 2)]}
