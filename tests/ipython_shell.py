"""An IPython that a test runs cells in, and that leaves nothing behind."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def ipython(folder: Any, load: Callable[[Any], None]) -> Iterator[Any]:
    """The one IPython of this process, which keeps its files in a folder, with an extension."""
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(folder))
        patch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # IPython puts a module of its own there
        InteractiveShell.clear_instance()
        shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
        load(shell)
        try:
            yield shell
        finally:
            atexit.unregister(shell.atexit_operations)
            shell.atexit_operations()
            InteractiveShell.clear_instance()
