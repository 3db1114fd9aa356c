# SPDX-License-Identifier: BSD-3-Clause
"""Build backend of the Python package (PEP 517, PEP 660), from the standard library alone.

A wheel is the package, the library that cmake makes (target tenon_python) and the metadata below: one for every Python
from 3.9 on, for the library is called through ctypes. Nothing is fetched, so `pip install .` works offline.

  TENON_BUILD    folder to build in; build/wheel unless set
"""
from __future__ import annotations

import base64
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
import zipfile
from typing import Any, Optional

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "tenon"
# What building from an sdist needs, and reading it.
SOURCES = ["CMakeLists.txt", "CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml", "cmake", "include", "src",
           "plugins", "python", "tests/python", "docs/python.md"]
REQUIRES = ["numpy>=1.21", "scikit-learn>=1.0"]
EXTRAS = {"plot": ["matplotlib"], "pandas": ["pandas"], "progress": ["tqdm"], "torch": ["torch"],
          "dask": ["dask", "distributed"]}


def version() -> str:
    """The one of CMakeLists.txt."""
    found = re.search(r"project\(tenon VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    if not found:
        raise RuntimeError("CMakeLists.txt names no version")
    return found[1]


def metadata() -> str:
    lines = ["Metadata-Version: 2.1", "Name: tenon", f"Version: {version()}",
             "Summary: Joins pre-trained visual representations to new tasks", "License: BSD-3-Clause",
             "Requires-Python: >=3.9", "Description-Content-Type: text/markdown",
             "Classifier: License :: OSI Approved :: BSD License", "Classifier: Operating System :: POSIX :: Linux",
             "Classifier: Programming Language :: C", "Classifier: Programming Language :: Python :: 3",
             "Classifier: Typing :: Typed"]
    lines += [f"Requires-Dist: {r}" for r in REQUIRES]
    for extra, packages in EXTRAS.items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {p} ; extra == '{extra}'" for p in packages]
    return "\n".join(lines) + "\n\n" + (ROOT / "python" / "README.md").read_text()


def tag() -> str:
    return "py3-none-" + re.sub(r"[^A-Za-z0-9]", "_", sysconfig.get_platform())


# ---- the library ----


def _run(*command: Any) -> None:
    print("+", *command, file=sys.stderr, flush=True)
    subprocess.run([str(c) for c in command], check=True, stdout=sys.stderr)


def _make(folder: pathlib.Path, own_blas: bool) -> None:
    fresh = [] if (folder / "CMakeCache.txt").exists() else ["-DTENON_TESTS=OFF", "-DTENON_WERROR=OFF", "-DTENON_MPI=OFF"]
    _run("cmake", "-S", ROOT, "-B", folder, f"-DTENON_OWN_BLAS={'ON' if own_blas else 'OFF'}", *fresh)
    jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    _run("cmake", "--build", folder, "--target", "tenon_python", "-j", jobs)


def library() -> pathlib.Path:
    """Makes the library, with a BLAS of its own where that can be linked."""
    if not shutil.which("cmake"):
        raise RuntimeError("tenon is built by cmake, which is not installed")
    folder = pathlib.Path(os.environ.get("TENON_BUILD") or ROOT / "build" / "wheel").resolve()
    try:
        _make(folder, True)
    except subprocess.CalledProcessError:
        print("tenon: once more, with the BLAS of the system", file=sys.stderr)
        _make(folder, False)
    return folder / "python" / "libtenon.so"


# ---- wheels ----


class _Wheel:
    """A zip file with its RECORD; the same bytes for the same files."""

    def __init__(self, folder: str) -> None:
        self.name = f"tenon-{version()}-{tag()}.whl"
        self._info = f"tenon-{version()}.dist-info"
        self._records: list[str] = []
        self._zip = zipfile.ZipFile(pathlib.Path(folder) / self.name, "w", zipfile.ZIP_DEFLATED)

    def add(self, name: str, data: bytes, mode: int = 0o644) -> None:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self._records.append(f"{name},sha256={digest},{len(data)}")
        self._write(name, data, mode)

    def _write(self, name: str, data: bytes, mode: int) -> None:
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(entry, data)

    def finish(self) -> str:
        for name, text in dist_info().items():
            self.add(f"{self._info}/{name}", text.encode())
        record = f"{self._info}/RECORD"
        self._write(record, "\n".join([*self._records, f"{record},,", ""]).encode(), 0o644)
        self._zip.close()
        return self.name


def dist_info() -> dict[str, str]:
    wheel = f"Wheel-Version: 1.0\nGenerator: tenon_backend\nRoot-Is-Purelib: false\nTag: {tag()}\n"
    return {"METADATA": metadata(), "WHEEL": wheel, "LICENSE": (ROOT / "LICENSE").read_text()}


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Optional[str] = None) -> str:
    made = library()
    wheel = _Wheel(wheel_directory)
    for path in sorted(PACKAGE.iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            wheel.add(f"tenon/{path.name}", path.read_bytes())
    wheel.add("tenon/_lib/libtenon.so", made.read_bytes(), 0o755)
    return wheel.finish()


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: Optional[str] = None) -> str:
    """The package stays where it is; the library is put beside it."""
    made = library()
    beside = PACKAGE / "_lib" / "libtenon.so"
    beside.parent.mkdir(exist_ok=True)
    beside.unlink(missing_ok=True)  # another process may have it loaded
    shutil.copy2(made, beside)
    wheel = _Wheel(wheel_directory)
    wheel.add("__editable__.tenon.pth", f"{PACKAGE.parent}\n".encode())
    return wheel.finish()


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Any = None) -> str:
    name = f"tenon-{version()}.dist-info"
    folder = pathlib.Path(metadata_directory) / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in dist_info().items():
        (folder / file).write_text(text)
    return name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return []


get_requires_for_build_editable = get_requires_for_build_wheel
get_requires_for_build_sdist = get_requires_for_build_wheel


# ---- sdist ----


def _source_files() -> list[pathlib.Path]:
    files: list[pathlib.Path] = []
    for name in SOURCES:
        path = ROOT / name
        files += [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    return sorted(p for p in files if p.suffix not in (".so", ".pyc") and "__pycache__" not in p.parts)


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    base = f"tenon-{version()}"
    now = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    with tarfile.open(pathlib.Path(sdist_directory) / f"{base}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as tar:
        def add(name: str, data: bytes, mode: int) -> None:
            entry = tarfile.TarInfo(f"{base}/{name}")
            entry.size, entry.mtime, entry.mode = len(data), now, mode
            tar.addfile(entry, io.BytesIO(data))

        add("PKG-INFO", metadata().encode(), 0o644)
        for path in _source_files():
            add(path.relative_to(ROOT).as_posix(), path.read_bytes(), 0o755 if os.access(path, os.X_OK) else 0o644)
    return f"{base}.tar.gz"
