# SPDX-License-Identifier: BSD-3-Clause
"""Options of a call by name, as the tables of the library describe them."""
from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

import numpy as np

from ._errors import option_name
from ._library import Field, lib
from ._session import Session

FLAG, YESNO = 0, 1


class OptionField(NamedTuple):
    """One line of a table: its name, kind, default as text, words or form, and what it does."""

    name: str
    kind: int
    default: str
    choices: str
    help: str


def option_fields(call: str) -> dict[str, OptionField]:
    """All options of a call of the library: "rank", "fit", "moments", "transfer", "kernel", "pq" or "evidence"."""
    fields = {}
    with Session() as s:
        options = s.keep(s.make("tn_options_new", call.encode()), "tn_options_free")
        for i in range(lib.tn_options_count(options)):
            field = Field.from_address(lib.tn_options_field(options, i))
            default = lib.tn_options_text(options, field.name) or b""
            fields[field.name.decode()] = OptionField(field.name.decode(), field.kind, default.decode(),
                                                      (field.choices or b"").decode(), (field.help or b"").decode())
    return fields


def method_words(call: str = "fit") -> list[str]:
    """The methods that a call knows."""
    return option_fields(call)["method"].choices.split("|")


class Options:
    """Options of one call. Values that are the defaults are not set: the library refuses what is set and of no use to
    the method, and a parameter that nobody touched is not meant to be."""

    def __init__(self, s: Session, call: str) -> None:
        self._s = s
        self.handle = s.keep(s.make("tn_options_new", call.encode()), "tn_options_free")

    def set(self, parameter: str, value: Any) -> None:
        name = option_name(parameter).encode()
        if value is None or self._is_default(name, value):
            return
        if isinstance(value, (bool, np.bool_)):
            self._s.call("tn_options_set_flag", self.handle, name, bool(value))
        elif isinstance(value, (int, float, np.integer, np.floating)):
            self._s.call("tn_options_set_number", self.handle, name, float(value))
        elif isinstance(value, str):
            self._s.call("tn_options_set", self.handle, name, _word(value).encode())
        else:
            self._set_list(name, list(value))

    def _set_list(self, name: bytes, values: list[Any]) -> None:
        if all(isinstance(v, str) for v in values):
            self._s.call("tn_options_set", self.handle, name, ",".join(values).encode())
            return
        numbers = np.ascontiguousarray(values, dtype=np.float64)
        self._s.call("tn_options_set_numbers", self.handle, name, numbers.ctypes.data, len(numbers))

    def _is_default(self, name: bytes, value: Any) -> bool:
        text = lib.tn_options_text(self.handle, name)
        if text is None:
            return False  # no such option: setting it says so
        if isinstance(value, (bool, np.bool_)):
            return bool(text.decode() == ("yes" if value else "no"))
        if isinstance(value, str):
            return bool(text.decode() == _word(value))
        number = ctypes.c_double(math.nan)
        known = lib.tn_options_number(self.handle, name, ctypes.byref(number))
        return bool(known and isinstance(value, (int, float, np.integer, np.floating)) and number.value == value)

    def set_all(self, values: Mapping[str, Any]) -> Optional[ctypes.c_void_p]:
        for parameter, value in values.items():
            self.set(parameter, value)
        return self.handle


def _word(text: str) -> str:
    """scikit-learn writes squared_hinge, the library squared-hinge; names of files are left alone."""
    return text.replace("_", "-") if text.replace("_", "").isalnum() and text.islower() else text
