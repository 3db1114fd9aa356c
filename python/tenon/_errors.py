# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions: a class of tenon's for every status, each also of the built-in class that Python people expect."""
from __future__ import annotations

import errno
import os
import re


class TenonError(Exception):
    """What the library refused or could not do. `status` is the name of its status, such as "TN_ERR_SHAPE"."""

    status = ""


class ArgumentError(TenonError, ValueError):
    """A parameter that makes no sense, whatever the data."""

    status = "TN_ERR_ARG"


class ShapeError(TenonError, ValueError):
    """Sizes that should agree and do not."""

    status = "TN_ERR_SHAPE"


class DataError(TenonError, ValueError):
    """Well-formed data that the method cannot use: NaN, one class only, no rows."""

    status = "TN_ERR_DATA"


class FormatError(TenonError, ValueError):
    """A file whose bytes are not what its format promises."""

    status = "TN_ERR_FORMAT"


class UnsupportedError(TenonError, ValueError):
    """A valid input of a kind that is not handled."""

    status = "TN_ERR_UNSUPPORTED"


class NumericError(TenonError, ArithmeticError):
    """A computation that left the range of its numbers."""

    status = "TN_ERR_NUMERIC"


class InputError(TenonError, OSError):
    """A file that cannot be read."""

    status = "TN_ERR_IO"


class MissingFileError(InputError, FileNotFoundError):
    """A file that is not there."""


class OutputError(TenonError, OSError):
    """A file that cannot be written."""

    status = "TN_ERR_OUTPUT"


class BudgetError(TenonError, MemoryError):
    """Work that needs more than the `memory` it was allowed."""

    status = "TN_ERR_BUDGET"


class OutOfMemoryError(TenonError, MemoryError):
    """The system gave no memory."""

    status = "TN_ERR_MEMORY"


class TenonWarning(UserWarning):
    """Work went on, but its result may not be what was meant, or claims less than was asked for."""


_CLASSES: dict[str, type[TenonError]] = {
    cls.status: cls for cls in (ArgumentError, ShapeError, DataError, FormatError, UnsupportedError, NumericError,
                                InputError, OutputError, BudgetError, OutOfMemoryError)}

# Options that have another name among the parameters: `lambda` is a word of Python's, `transform` a method.
OPTION_OF = {"lam": "lambda", "feature_map": "transform", "rule": "method", "random_state": "seed"}
_PARAMETER_OF = {option: parameter for parameter, option in OPTION_OF.items() if parameter != "rule"}
_OPTION = re.compile(r"\boptions? ([A-Za-z][\w-]*)")


def option_name(parameter: str) -> str:
    """The library's name of a parameter: max_passes is max-passes."""
    return OPTION_OF.get(parameter, parameter).replace("_", "-")


def in_python(sentence: str) -> str:
    """A sentence of the library with its options under the names of the parameters."""
    return _OPTION.sub(lambda m: "parameter " + _PARAMETER_OF.get(m[1], m[1]).replace("-", "_"), sentence)


def error_of(status: str, sentence: str) -> BaseException:
    """The exception for a status and the library's sentence."""
    if status == "TN_ERR_INTERRUPTED":
        return KeyboardInterrupt()
    cls = _CLASSES.get(status, TenonError)
    if cls is InputError and os.strerror(errno.ENOENT) in sentence:
        cls = MissingFileError
    return cls(in_python(sentence) or status)
