# SPDX-License-Identifier: BSD-3-Clause
"""tenon joins pre-trained visual representations to new tasks.

Functions: `rank` tells which representation suits a task, `evidence` measures one, `load` reads whatever the program
wrote, `extract` turns pictures into rows, `describe` into bags of descriptors. Estimators with scikit-learn's
conventions: TenonClassifier, EvidenceClassifier, EvidenceRegressor, LinearSVMClassifier, LogisticClassifier,
OnlineClassifier, GreedyTransferClassifier, AdditiveKernelMap, ProductQuantizer, RepresentationSelector, FisherVector,
BagEncoder. They need scikit-learn, and are imported when first used.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._bags import Bags, Pictures, describe
from ._data import Features
from ._errors import (ArgumentError, BudgetError, DataError, FormatError, InputError, MissingFileError, NumericError,
                      OutOfMemoryError, OutputError, ShapeError, TenonError, TenonWarning, UnsupportedError)
from ._functions import evidence, load, machine, rank
from ._head import Head
from ._library import version as __version__
from ._moments import Moments
from ._options import method_words as methods
from ._results import Evidence, Race, Ranking

if TYPE_CHECKING:
    from .classifiers import (EvidenceClassifier, EvidenceRegressor, LinearSVMClassifier, LogisticClassifier,
                              TenonClassifier)
    from .encoders import BagEncoder, FisherVector, extract
    from .online import OnlineClassifier
    from .transfer import GreedyTransferClassifier
    from .transformers import AdditiveKernelMap, ProductQuantizer, RepresentationSelector

_ESTIMATORS = {
    "TenonClassifier": "classifiers", "EvidenceClassifier": "classifiers", "EvidenceRegressor": "classifiers",
    "LinearSVMClassifier": "classifiers", "LogisticClassifier": "classifiers", "OnlineClassifier": "online",
    "GreedyTransferClassifier": "transfer", "AdditiveKernelMap": "transformers", "ProductQuantizer": "transformers",
    "RepresentationSelector": "transformers", "FisherVector": "encoders", "BagEncoder": "encoders",
}
_LATER = {**_ESTIMATORS, "extract": "encoders"}

__all__ = [
    "AdditiveKernelMap", "ArgumentError", "BagEncoder", "Bags", "BudgetError", "DataError", "Evidence",
    "EvidenceClassifier", "EvidenceRegressor", "Features", "FisherVector", "FormatError", "GreedyTransferClassifier",
    "Head", "InputError", "LinearSVMClassifier", "LogisticClassifier", "MissingFileError", "Moments", "NumericError",
    "OnlineClassifier", "OutOfMemoryError", "OutputError", "Pictures", "ProductQuantizer", "Race", "Ranking",
    "RepresentationSelector", "ShapeError", "TenonClassifier", "TenonError", "TenonWarning", "UnsupportedError",
    "__version__", "describe", "evidence", "extract", "load", "machine", "methods", "rank",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'tenon' has no attribute '{name}'")
    return getattr(importlib.import_module("." + _LATER[name], __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
