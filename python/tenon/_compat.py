# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's interface of either age, told apart by what is there: `validate_data` and `__sklearn_tags__` came with
1.6, `ensure_all_finite` took the place of `force_all_finite` then, too."""
from __future__ import annotations

import inspect
from typing import Any

try:
    from sklearn.utils import validation
except ImportError as error:
    raise ImportError("the estimators of tenon need scikit-learn; tenon.rank, evidence, load and Moments do not") \
        from error


def finite_keyword(check: Any) -> str:
    """What a checking function of scikit-learn calls its parameter about NaN."""
    return "ensure_all_finite" if "ensure_all_finite" in inspect.signature(check).parameters else "force_all_finite"


_FINITE = finite_keyword(validation.check_array)


def validate(estimator: Any, finite: bool = False, **keywords: Any) -> Any:
    """X, or X and y, checked; the names and number of columns are noted, or compared where reset is False. NaN in X
    passes unless asked for: the library tells of it, with the row."""
    keywords.setdefault("accept_sparse", False)
    keywords[_FINITE] = finite
    checker = getattr(validation, "validate_data", None)
    return checker(estimator, **keywords) if checker else estimator._validate_data(**keywords)


class Tagged:
    """Tags by the names of scikit-learn before 1.6, in `_tags_of`, for both interfaces. The first base of a class: the
    mixins of scikit-learn make the parts that tags are written into."""

    def _tags_of(self) -> dict[str, Any]:
        return {}

    def _more_tags(self) -> dict[str, Any]:
        return self._tags_of()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        apply_tags(tags, self._tags_of())
        return tags


def apply_tags(tags: Any, old: dict[str, Any]) -> None:
    """Tags of the old kind, written into a Tags object of the new."""
    places = {"multilabel": ("classifier_tags", "multi_label"), "multioutput": ("target_tags", "multi_output"),
              "requires_y": ("target_tags", "required"), "poor_score": ("regressor_tags", "poor_score"),
              "preserves_dtype": ("transformer_tags", "preserves_dtype"),
              "non_deterministic": (None, "non_deterministic"), "no_validation": (None, "no_validation")}
    if "X_types" in old:
        tags.input_tags.two_d_array = "2darray" in old["X_types"]
        tags.input_tags.three_d_array = "3darray" in old["X_types"]
    for name, value in old.items():
        if name not in places:
            continue
        part, member = places[name]
        owner = tags if part is None else getattr(tags, part)
        if owner is not None:
            setattr(owner, member, value)
