"""Compile C++ for this very processor, once, and keep the result on disk."""

import hashlib
import logging
import os
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

__all__ = ["BuildError", "build", "cache_folder"]

log = logging.getLogger(__name__)

SECONDS = 300


class BuildError(Exception):
    """There is no compiler, or it failed; the message says which."""


def cache_folder() -> Path:
    """Where compiled code is kept: `SRS_CACHE` if it is set, else `srs_core` in the user's cache folder."""
    named = os.environ.get("SRS_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "srs_core"


def build(source: Path, constants: Mapping[str, str]) -> Path:
    """The shared library made from a source file, compiled now unless the cache has it already.

    The name in the cache depends on the sources, the constants, the compiler and the processor, so that a
    home folder may be shared between machines.
    """
    compiler = _compiler()
    native = "-mcpu=native" if platform.machine() in ("arm64", "aarch64") else "-march=native"
    flags = ["-std=c++17", "-O3", native, "-shared", "-fPIC"]
    flags += [f"-D{name}={value}" for name, value in sorted(constants.items())]
    # The compiler's own macros tell its version and everything that this processor can do.
    macros = _run([compiler, native, "-dM", "-E", "-x", "c++", os.devnull])
    digest = hashlib.sha256("\n".join([compiler, *flags, macros]).encode())
    for file in [*sorted(source.parent.glob("*.h")), source]:
        digest.update(file.read_bytes())
    library = cache_folder() / f"{source.stem}-{digest.hexdigest()[:16]}.so"
    if library.exists():
        return library
    log.info("Compiling %s for this processor with %s; this happens once.", source.name, compiler)
    started = time.perf_counter()
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as folder:
            fresh = Path(folder) / library.name
            _run([compiler, *flags, str(source), "-o", str(fresh)])
            fresh.replace(library)
    except OSError as error:
        raise BuildError(f"{library.parent} cannot be written ({error}); set SRS_CACHE to a folder.") from error
    log.info("Compiled %s in %.1f s.", source.name, time.perf_counter() - started)
    return library


def _compiler() -> str:
    for name in (os.environ.get("CXX"), "g++", "clang++", "c++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise BuildError("No C++ compiler was found (CXX, g++, clang++, c++).")


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{command[0]} did not run: {error}.") from error
    if done.returncode != 0:
        reason = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[0]
        raise BuildError(f"{command[0]} failed: {reason}")
    return done.stdout
