# SPDX-License-Identifier: BSD-3-Clause
"""Calls of the library: a context for each, warnings, progress, Ctrl-C.

Contexts are kept in a list and taken from it for a call, so that a small prediction makes none; two threads never have
the same. ctypes releases the GIL during a call. Python delivers Ctrl-C to the main thread only, and not before it is
back from C: long calls of the main thread therefore run in a thread of their own while the main thread waits on an
Event, and cancels. Other threads, and short calls, call directly.
"""
from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
import warnings
from typing import Any, Callable, Optional

from ._errors import TenonWarning, error_of, in_python
from ._library import PROGRESS, WARNING, lib

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class _Context:
    """A tn_ctx with what its callbacks write to."""

    def __init__(self) -> None:
        handle = ctypes.c_void_p()
        if lib.tn_ctx_new(ctypes.byref(handle)) != 0:
            raise MemoryError("tenon: no memory for a context")
        self.handle = handle
        self.warnings: list[str] = []
        self._on_warning = WARNING(self._warn)
        lib.tn_ctx_set_warning(handle, self._on_warning, None)
        self.threads = 0

    def _warn(self, _user: Any, text: bytes) -> None:
        self.warnings.append(text.decode("utf-8", "replace"))


_free_contexts: list[_Context] = []  # append and pop are atomic


def _take_context() -> _Context:
    try:
        return _free_contexts.pop()
    except IndexError:
        return _Context()


def thread_count(n_jobs: Optional[int]) -> int:
    """Threads of a call, 0 for all cores. None goes by OMP_NUM_THREADS, which joblib sets in its workers, where that is
    fewer."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        wish = os.environ.get("OMP_NUM_THREADS", "")
        return int(wish) if wish.isdigit() and 0 < int(wish) < cores else 0
    if n_jobs == 0:
        raise ValueError("n_jobs: got 0, expected a number of threads, -1 for all cores, or None")
    return max(cores + 1 + int(n_jobs), 1) if n_jobs < 0 else int(n_jobs)


class _Lines:
    """Progress without tqdm: a line for every stage and every tenth of the whole."""

    def __init__(self) -> None:
        self.told = ("", -1)

    def update(self, stage: str, share: float) -> None:
        now = (stage, int(share * 10))
        if now != self.told:
            self.told = now
            print(f"tenon: {stage}: {100 * share:.0f} %", file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


class _Bar:
    """Progress by tqdm."""

    def __init__(self, tqdm: Any) -> None:
        self.bar = tqdm(total=1.0, leave=False, bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}")

    def update(self, stage: str, share: float) -> None:
        self.bar.set_description_str(stage, refresh=False)
        self.bar.update(share - self.bar.n)

    def close(self) -> None:
        self.bar.close()


def _progress_of() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Lines()
    return _Bar(tqdm)


def _call_in_thread(call: Callable[[], int], cancel: Callable[[], None]) -> int:
    """The result of a call that another thread makes; whatever is raised here in the meantime cancels it, and is
    raised again when it has ended: the call borrows the caller's arrays. Thread.join is no wait that may be
    interrupted; an Event is."""
    done = threading.Event()
    results: list[Any] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            results.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=work, name="tenon", daemon=True)
    raised: Optional[BaseException] = None
    try:
        thread.start()
        done.wait()
    except BaseException as error:
        raised = error
    while not done.is_set() and thread.ident is not None:
        try:
            cancel()
            done.wait()
        except BaseException as error:
            raised = error
    if raised is not None:
        raise raised
    if isinstance(results[0], BaseException):
        raise results[0]
    return int(results[0])


class Session:
    """A context for some calls, with the settings of an estimator; what was opened through it is closed at its end."""

    def __init__(self, n_jobs: Optional[int] = None, memory: Optional[int] = None, verbose: int = 0) -> None:
        self._threads = thread_count(n_jobs)
        self._memory = 0 if memory is None else int(memory)
        self._verbose = verbose
        self._progress: Any = None
        self._raised: Optional[BaseException] = None
        self._closers: list[tuple[Callable[[Any], None], Any]] = []

    def __enter__(self) -> Session:
        self._context = _take_context()
        self._ctx = self._context.handle
        if self._threads != self._context.threads:
            lib.tn_ctx_set_threads(self._ctx, self._threads)
            self._context.threads = self._threads
        lib.tn_ctx_set_memory(self._ctx, self._memory)
        if self._verbose:
            self._progress = _progress_of()
            self._on_progress = PROGRESS(self._show)
            lib.tn_ctx_set_progress(self._ctx, self._on_progress, None)
        return self

    def __exit__(self, *_: Any) -> None:
        for free, handle in reversed(self._closers):
            free(handle)
        if self._progress is not None:
            lib.tn_ctx_set_progress(self._ctx, None, None)
            self._progress.close()
        told, self._context.warnings = self._context.warnings, []
        lib.tn_ctx_reset(self._ctx)
        _free_contexts.append(self._context)
        for text in told:
            _warn_caller(in_python(text))

    def _show(self, _user: Any, stage: bytes, share: float) -> None:
        try:
            self._progress.update(stage.decode("utf-8", "replace"), share)
        except BaseException as error:  # nothing may be raised through C
            self._raised = error
            lib.tn_ctx_cancel(self._ctx)

    def call(self, name: str, *arguments: Any, long: bool = False) -> None:
        """Calls a function that takes a context first and returns a status; raises what it says."""
        function = getattr(lib, name)
        if long and threading.current_thread() is threading.main_thread():
            status = _call_in_thread(lambda: function(self._ctx, *arguments), lambda: lib.tn_ctx_cancel(self._ctx))
        else:
            status = function(self._ctx, *arguments)
        if self._raised is not None:
            raise self._raised
        if status != 0:
            raise error_of(lib.tn_status_name(status).decode(),
                           lib.tn_ctx_message(self._ctx).decode("utf-8", "replace"))

    def make(self, name: str, *arguments: Any, long: bool = False) -> ctypes.c_void_p:
        """The same for a function whose last parameter is where an object goes: the object, which the caller owns."""
        out = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(out), long=long)
        return out

    def keep(self, handle: Any, free: str) -> Any:
        """Frees an object when the session ends."""
        self._closers.append((getattr(lib, free), handle))
        return handle

    def text(self, name: str, *arguments: Any) -> str:
        """A text that a function hands over."""
        out = self.make(name, *arguments)
        try:
            return ctypes.string_at(out.value or 0).decode("utf-8", "replace")
        finally:
            lib.tn_text_free(out)

    def json(self, name: str, *arguments: Any) -> Any:
        """A JSON text that a function hands over, read."""
        return json.loads(self.text(name, *arguments))

    def to_bytes(self, name: str, *arguments: Any) -> bytes:
        """Bytes that a function hands over."""
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.call(name, *arguments, ctypes.byref(data), ctypes.byref(size))
        try:
            return ctypes.string_at(data.value or 0, size.value)
        finally:
            lib.tn_bytes_free(data)


def _warn_caller(text: str) -> None:
    """As a warning of the line outside this package that led here."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(text, TenonWarning, stacklevel=level)


class Handle:
    """An object of the library, freed with the last Python object that holds it."""

    def __init__(self, handle: ctypes.c_void_p, free: str) -> None:
        self.value = handle
        self._free = getattr(lib, free)

    def __del__(self) -> None:
        free, self._free = getattr(self, "_free", None), None
        if free is not None:
            free(self.value)
