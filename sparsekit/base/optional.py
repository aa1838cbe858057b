"""Optional packages, imported on first use."""

from __future__ import annotations

import importlib
from types import ModuleType

from .errors import MissingPackageError

__all__ = ["optional_import"]


def optional_import(name: str, extra: str, purpose: str) -> ModuleType:
    """Import ``name``, or raise the error that says which extra installs it.

    Parameters
    ----------
    name : str
        Module to import, such as ``"anywidget"``.
    extra : str
        Extra of the sparsekit package that installs it, such as ``"lab"``.
    purpose : str
        What needs it, as the subject of a sentence: ``"The live timeline"``.

    Raises
    ------
    MissingPackageError
        If the package is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingPackageError(
            f"{purpose} needs the package {name.split('.')[0]!r}, which cannot be imported ({error}).",
            hint=f"python -m pip install 'sparsekit[{extra}]'",
        ) from error
