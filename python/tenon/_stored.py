# SPDX-License-Identifier: BSD-3-Clause
"""Objects of the library that have a file."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Optional, Union

from ._session import Handle, Session


class Stored:
    """An object of the library that goes through pickle as the bytes of its file; `kind` is the one of
    tn_<kind>_free."""

    def __init__(self, kind: str, handle: ctypes.c_void_p) -> None:
        self.kind = kind
        self._handle = Handle(handle, f"tn_{kind}_free")

    @property
    def value(self) -> ctypes.c_void_p:
        return self._handle.value

    @classmethod
    def load(cls, kind: str, path: Union[str, os.PathLike[str]]) -> Stored:
        with Session() as s:
            return cls(kind, s.make(f"tn_{kind}_load", os.fsencode(path)))

    @classmethod
    def from_bytes(cls, kind: str, data: bytes) -> Stored:
        with Session() as s:
            return cls(kind, s.make(f"tn_{kind}_from_bytes", data, len(data), None))

    def __reduce__(self) -> Any:
        with Session() as s:
            return Stored.from_bytes, (self.kind, s.to_bytes(f"tn_{self.kind}_to_bytes", self.value, None))

    def save(self, path: Union[str, os.PathLike[str]], command: Optional[str]) -> None:
        with Session() as s:
            s.call(f"tn_{self.kind}_save", self.value, None if command is None else command.encode(), os.fsencode(path))
