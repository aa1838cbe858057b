"""A cache of compiled kernels in files, shared by processes.

numba has such files too.  These tolerate more: a folder that cannot be written, or only read; a full
disk; a damaged file; two processes that write at once; and a kernel whose source has changed in another file than
the one that calls it.  In each of these cases the kernel is compiled.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import os
import pickle  # numba hands compiled code out in this form; like byte code, it is code and no data
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...base.files import written
from ...base.warn import warn_user
from .jit import Kernel

if TYPE_CHECKING:
    from numba import types
    from numba.core.codegen import CPUCodegen
    from numba.core.compiler import CompileResult
    from numba.core.cpu import CPUContext
    from numba.core.typing.templates import Signature

#: Length of a SHA-256 in bytes.
DIGEST = 32


def _given() -> Path | None:
    """The folder that the user set."""
    return Path(folder) if (folder := os.environ.get("NUMBA_CACHE_DIR")) else None


def folders() -> list[Path]:
    """Where compiled kernels may be, the preferred first: they are read from all, and written to the first that can be.

    ``NUMBA_CACHE_DIR`` if it is set, which gets what is found elsewhere too; the folder of the kernels' own byte code; and
    the user's cache.
    """
    paths = [Path(__file__).parent / "__pycache__"]
    if (folder := _given()) is not None:
        paths.insert(0, folder)
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):
        cache = os.path.expanduser("~/.cache")
    if os.path.isabs(cache):
        paths.append(Path(cache) / "sparsekit" / "kernels")
    return paths


@functools.cache
def _sources(file: str) -> bytes:
    """The digest of all kernels' sources, and of another file's: a kernel compiled holds the code of those it calls."""
    hasher = hashlib.sha256()
    for path in (*sorted(Path(__file__).parent.glob("*.py")), Path(file)):
        hasher.update(path.read_bytes() + b"\0")
    return hasher.digest()


def _made_of(function: Callable[..., Any]) -> bytes | None:  # Any: the code alone counts
    """What a kernel's code is made of: sources, and the kernels and numbers that it holds; None if it holds anything else."""
    code = function.__code__
    content = _sources(code.co_filename) + f"{function.__qualname__} {code.co_firstlineno} ".encode()
    for cell in function.__closure__ or ():
        held = cell.cell_contents
        inner = _made_of(held.py_func) if isinstance(held, Kernel) else repr(held).encode() if type(held) in (int, bool) else None
        if inner is None:
            return None
        content += inner
    return content


class _Trouble:
    """Why this process could not keep kernels, and whether it has warned."""

    reason, told = "", False


def warn_if_not_kept() -> None:
    """Say once, at the user's line, that kernels cannot be kept, and how they could."""
    if _Trouble.reason and not _Trouble.told:
        _Trouble.told = True
        warn_user(f"Compiled kernels cannot be kept ({_Trouble.reason}): every process compiles them anew, which takes some "
                  "seconds.  Set NUMBA_CACHE_DIR to a folder with room that you may write to.", RuntimeWarning)


class Kept:
    """The files of one kernel, one for each combination of types; numba's dispatcher looks here before it compiles.

    Parameters
    ----------
    function : callable
        The kernel's Python function.
    """

    cache_path = None

    def __init__(self, function: Callable[..., Any]) -> None:  # Any: the same
        self._function = function

    def _entry(self, signature: Signature | tuple[types.Type, ...], codegen: CPUCodegen) -> tuple[str, bytes] | None:
        """Name of the file for some types, and what it must have been made from; None if it cannot be kept."""
        numba = importlib.import_module("numba")
        argument_types = signature if isinstance(signature, tuple) else signature.args
        if any(isinstance(kind, numba.types.Dispatcher) for kind in argument_types):
            return None  # a kernel as an argument is known to its process only
        code, config = self._function.__code__, numba.config
        sources = _made_of(self._function)
        if sources is None:
            return None
        name = f"{self._function.__module__.rpartition('.')[2]}.{self._function.__qualname__}-{code.co_firstlineno}"
        kinds = hashlib.sha256(repr((signature, codegen.magic_tuple())).encode()).hexdigest()[:16]
        environment = repr((numba.__version__, sys.version, getattr(config, "OPT", None), getattr(config, "BOUNDSCHECK", None),
                            name, kinds)).encode()
        # Compiled code holds the module's constants, which may have been changed since the module was read.
        constants = repr({name: value for name, value in self._function.__globals__.items() if isinstance(value, (int, float))})
        stamp = hashlib.sha256(environment + code.co_code + sources + constants.encode()).digest()
        return "{}.{}.{}.nbc".format(re.sub(r"[^\w.-]", "", name), sys.implementation.cache_tag, kinds), stamp

    def load_overload(self, signature: tuple[types.Type, ...], target_context: CPUContext) -> CompileResult | None:
        """What was compiled for these types, or None."""
        target_context.refresh()
        try:
            entry = self._entry(signature, target_context.codegen())
            if entry is None:
                return None
            chosen = _given()
            for folder in folders():
                content = _content(folder / entry[0])
                if content[:DIGEST] == hashlib.sha256(content[DIGEST:]).digest() and content.startswith(entry[1], DIGEST):
                    if chosen is not None and folder != chosen:
                        with contextlib.suppress(OSError):
                            _write(chosen / entry[0], content)
                    rebuild = importlib.import_module("numba.core.compiler").CompileResult._rebuild
                    result: CompileResult = rebuild(target_context, *pickle.loads(memoryview(content)[2 * DIGEST:]))
                    return result
        except Exception as error:  # a damaged file is ignored: the kernel is compiled
            _Trouble.reason = _Trouble.reason or f"what was kept cannot be read: {error}"
        return None

    # Any: a CompileResult, of which numba's types leave out the fields
    def save_overload(self, signature: Signature, compiled: Any) -> None:
        """Keep what has been compiled for these types."""
        if _Trouble.reason or compiled.library.has_dynamic_globals or any(not loop.can_cache for loop in compiled.lifted):
            return
        try:
            entry = self._entry(signature, compiled.codegen)
            if entry is None:
                return
            content = entry[1] + importlib.import_module("numba.core.serialize").dumps(compiled._reduce())
        except Exception as error:
            _Trouble.reason = f"numba does not hand them out: {error}"
            return
        reasons = []
        for folder in folders():
            try:
                _write(folder / entry[0], hashlib.sha256(content).digest() + content)
            except OSError as error:
                reasons.append(f"{folder}: {error.strerror or error}")
            else:
                return
        _Trouble.reason = "; ".join(reasons)

    def flush(self) -> None:
        """Do nothing: a file made from another source is not read, and is overwritten."""

    enable = disable = flush


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with written(path) as file:
        file.write(content)


def _content(path: Path) -> bytes:
    """The bytes of a file, none if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
