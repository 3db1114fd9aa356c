# SPDX-License-Identifier: BSD-3-Clause
"""Results that people look at: a ranking of representations, the evidence of one, a race of methods."""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, Optional

from ._html import bar_cell, cell, table


class Candidate(NamedTuple):
    """One line of a ranking. Figures that do not exist are NaN.

    `gain` is the log evidence over that of a model without features, in nats per label; `loo` the exact leave-one-out
    accuracy (of a regression, r2) with its standard error `loo_se`.
    """

    name: str
    dim: int
    gain: float
    log_evidence: float
    loo: float
    loo_se: float
    lambda_median: float
    seconds: float


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


class Ranking:
    """Representations in the order of their evidence for a task, best first; what `tenon.rank` returns.

    It prints as the table of `tenon rank`, draws itself in notebooks and by `plot`, and is a sequence of `Candidate`.

    Attributes
    ----------
    candidates : list of Candidate
    json : dict
        Everything that `tenon rank --json` prints.
    """

    def __init__(self, json: dict[str, Any], text: str) -> None:
        self.json = json
        self._text = text
        self.candidates = [
            Candidate(c["name"], c["dim"], _number(c["gain_per_label"]), _number(c["log_evidence"]),
                      _number(c["loo_r2"] if "loo_r2" in c else c["loo_accuracy"]), _number(c["loo_se"]),
                      _number(c["lambda_median"]), _number(c["seconds"])) for c in json["candidates"]]

    @property
    def best(self) -> str:
        """Name of the first."""
        return self.candidates[0].name

    @property
    def names(self) -> list[str]:
        return [c.name for c in self.candidates]

    def __len__(self) -> int:
        return len(self.candidates)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def __getitem__(self, which: Any) -> Any:
        """A candidate by its place or its name."""
        if isinstance(which, str):
            for c in self.candidates:
                if c.name == which:
                    return c
            raise KeyError(which)
        return self.candidates[which]

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        most = max((c.gain for c in self.candidates if c.gain == c.gain), default=0) or 1
        rows = [cell(c.name) + cell(c.dim, True) + bar_cell(f"{c.gain:.4f}", c.gain / most) +
                cell(f"{c.log_evidence:.2f}", True) + cell(f"{c.loo:.3f} ± {c.loo_se:.3f}", True) +
                cell(f"{c.lambda_median:.4g}", True) for c in self.candidates]
        caption = f"{self.json['rows']} rows, {self.json['classes']} classes"
        return table(caption, ["name", "columns", "gain (nats per label)", "log evidence", "leave-one-out", "lambda"],
                     rows)

    def to_pandas(self) -> Any:
        """A pandas DataFrame, a row per candidate, indexed by name."""
        import pandas

        return pandas.DataFrame.from_records(self.candidates, columns=list(Candidate._fields)).set_index("name")

    def plot(self, ax: Optional[Any] = None) -> Any:
        """Bars of the gains, by matplotlib; returns the axes."""
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.subplots(figsize=(6, 0.4 * len(self) + 1))[1]
        places = range(len(self))
        ax.barh(places, [c.gain for c in self.candidates])
        ax.set_yticks(places, self.names)
        ax.invert_yaxis()
        ax.set_xlabel("gain (nats per label)")
        for place, c in zip(places, self.candidates):
            if c.loo == c.loo:
                ax.annotate(f" {c.loo:.3f}", (max(c.gain, 0), place), va="center", fontsize="small")
        return ax


class Contender(NamedTuple):
    """One line of a race. Figures that do not exist are NaN.

    `mean` is the metric over rows that it was not trained with, `se` its standard error; `note` why it ended early.
    """

    method: str
    set: str
    C: float
    lam: float
    mean: float
    se: float
    log_loss: float
    rows: int
    seconds: float
    chosen: bool
    note: str


class Race:
    """What method "auto" tried on the same held-out rows, in its order: `race_` of a TenonClassifier.

    It prints as a table, draws itself in notebooks, and is a sequence of `Contender`.

    Attributes
    ----------
    contenders : list of Contender
    metric : str
        What `mean` is, such as "accuracy".
    note : str
        What there is to say of the race as a whole, often nothing.
    """

    def __init__(self, json: dict[str, Any]) -> None:
        self.metric: str = json["tried_metric"]
        self.note: str = json.get("tried_note") or ""
        self.contenders = [
            Contender(t["method"], t["set"], _number(t["C"]), _number(t["lambda"]), _number(t["mean"]),
                      _number(t["se"]), _number(t["log_loss"]), t["rows"], _number(t["seconds"]), t["chosen"],
                      t["note"] or "") for t in json["tried"]]

    @property
    def chosen(self) -> Contender:
        """The one that the head is of."""
        return next(c for c in self.contenders if c.chosen)

    def __len__(self) -> int:
        return len(self.contenders)

    def __iter__(self) -> Iterator[Contender]:
        return iter(self.contenders)

    def __getitem__(self, place: Any) -> Any:
        return self.contenders[place]

    def _cells(self, c: Contender) -> list[str]:
        def shown(value: float, form: str) -> str:
            return "" if math.isnan(value) else format(value, form)

        return [c.method, c.set, shown(c.C, ".4g"), shown(c.lam, ".4g"), f"{c.mean:.4f} ± {c.se:.4f}",
                shown(c.log_loss, ".4f"), f"{c.seconds:.2f}", "chosen" if c.chosen else c.note]

    def __repr__(self) -> str:
        rows = [["method", "set", "C", "lambda", self.metric, "log loss", "seconds", ""], *map(self._cells, self)]
        widths = [max(len(r[i]) for r in rows) for i in range(8)]
        lines = ["  ".join(text.ljust(width) for text, width in zip(r, widths)).rstrip() for r in rows]
        return "\n".join(lines + ([self.note] if self.note else []))

    def _repr_html_(self) -> str:
        rows = []
        for c in self.contenders:
            texts = self._cells(c)
            bar = bar_cell(texts[4], c.mean if 0 <= c.mean <= 1 else 0)
            rows.append("".join(cell(t, i in (2, 3)) for i, t in enumerate(texts[:4])) + bar +
                        "".join(cell(t, i < 2) for i, t in enumerate(texts[5:])))
        return table("what was tried" + (f"; {self.note}" if self.note else ""),
                     ["method", "set", "C", "lambda", self.metric, "log loss", "seconds", ""], rows)

    def to_pandas(self) -> Any:
        """A pandas DataFrame, a row per contender."""
        import pandas

        return pandas.DataFrame.from_records(self.contenders, columns=list(Contender._fields))


class Evidence:
    """The evidence of a representation for a task; what `tenon.evidence` and `Moments.evidence` return.

    `float()` of it is the log evidence.

    Attributes
    ----------
    log_evidence : float
        Log marginal likelihood of the labels under a ridge model, summed over classes at the best lambda of each.
    log_null : float
        The same of the model without features.
    gain : float
        (log_evidence - log_null) per label, in nats.
    lambda_median, lambda_shared : float
    json : dict
        All figures.
    """

    def __init__(self, json: dict[str, Any]) -> None:
        self.json = json
        self.log_evidence = _number(json["log_evidence"])
        self.log_null = _number(json["null_log_evidence"])
        self.gain = _number(json["gain_per_label"])
        self.lambda_median = _number(json["lambda_median"])
        self.lambda_shared = _number(json["lambda_shared"])

    def __float__(self) -> float:
        return self.log_evidence

    def __repr__(self) -> str:
        return f"<tenon.Evidence {self.log_evidence:.4f}, gain {self.gain:.4f} nats per label>"

    def _repr_html_(self) -> str:
        rows = [cell(k) + cell(f"{v:.6g}", True) for k, v in (
            ("log evidence", self.log_evidence), ("without features", self.log_null),
            ("gain (nats per label)", self.gain), ("lambda", self.lambda_median))]
        return table("evidence", [], rows)
