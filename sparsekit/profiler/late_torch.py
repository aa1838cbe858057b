"""Recording PyTorch from the moment that a script imports it, itself or by what it imports."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

from ..base.errors import SparsekitError

if TYPE_CHECKING:
    from .profiler import Profiler


@contextlib.contextmanager
def recording_torch(profiler: Profiler) -> Iterator[None]:
    """A block in which a profiler records PyTorch as soon as it is imported; at once if it has been."""
    finder = _Finder(profiler)
    if "torch" in sys.modules:
        finder.begin()
    else:
        sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        finder.leave()


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds PyTorch, and imports it as the other finders find it, so that the profiler begins when it has been imported.

    Another thread may use it only when that import has ended.
    """

    def __init__(self, profiler: Profiler) -> None:
        self._profiler = profiler
        self._spec: ModuleSpec | None = None

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """What gives PyTorch, and has the profiler begin."""
        return importlib.util.spec_from_loader(fullname, self) if fullname == "torch" else None

    def begin(self) -> None:
        """Record PyTorch, if it can be."""
        try:
            self._profiler.record_torch()
        except SparsekitError as error:  # which is not the script's
            print(f"PyTorch is not recorded: {error}", file=sys.stderr)

    def leave(self) -> None:
        """Look at imports no longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module, imported."""
        self.leave()
        module = importlib.import_module(spec.name)
        self._spec = module.__spec__
        self.begin()
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module back its own spec, in whose place this import has put another one."""
        module.__spec__ = self._spec
