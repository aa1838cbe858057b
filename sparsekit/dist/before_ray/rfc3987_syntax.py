"""Imports the package of this name when it is first called.

Importing it takes about a second of computing, in which it reads a grammar.  Ray imports it in every process, through jsonschema,
wherever JupyterLab has installed it, and never calls it.  The folder of this file stands first on the path while Ray starts.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import sys
from pathlib import Path
from types import ModuleType

HERE = str(Path(__file__).parent)

sys.path[:] = [place for place in sys.path if place != HERE]
if HERE in os.environ.get("PYTHONPATH", ""):  # programs that this process starts need not look here
    os.environ["PYTHONPATH"] = os.pathsep.join(place for place in os.environ["PYTHONPATH"].split(os.pathsep) if place != HERE)
if importlib.machinery.PathFinder.find_spec(__name__) is None:
    raise ModuleNotFoundError(f"No module named {__name__!r}", name=__name__)


def _whole() -> ModuleType:
    """The package itself, which takes the place of this module."""
    if sys.modules.get(__name__) is _this:
        del sys.modules[__name__]
    return importlib.import_module(__name__)


_this = sys.modules[__name__]


def is_valid_syntax(*arguments: object, **more: object) -> object:  # as the package has it
    """Call the package's function."""
    found: object = _whole().is_valid_syntax(*arguments, **more)
    return found


def __getattr__(name: str) -> object:  # whatever the package has
    if name.startswith("__"):
        raise AttributeError(name)
    found: object = getattr(_whole(), name)
    return found
