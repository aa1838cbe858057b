"""Optional packages, imported on first use."""

from __future__ import annotations

import functools
from types import ModuleType

from .errors import MissingPackageError
from .forking import load
from .signal_safe import undisturbed


def whole_import(name: str) -> ModuleType:
    """Import a package completely, whatever signals arrive: many packages cannot be imported again after half an import.

    Parameters
    ----------
    name : str
        Its absolute name.
    """
    package: ModuleType = undisturbed(lambda: load(name))
    return package


@functools.cache
def scipy_part(name: str) -> ModuleType:
    """A package of scipy, ``"sparse"`` or ``"special"``, imported on first use."""
    return whole_import(f"scipy.{name}")


def optional_import(name: str, extra: str | None, purpose: str) -> ModuleType:
    """Import ``name``, or raise the error that says which extra installs it.

    Parameters
    ----------
    name : str
        Module to import, such as ``"anywidget"``.
    extra : str, optional
        Extra of the sparsekit package that installs it, such as ``"lab"``; None if the package is installed by its own name.
    purpose : str
        What needs it, as the subject of a sentence: ``"The live timeline"``.

    Raises
    ------
    MissingPackageError
        If the package is not installed.
    """
    try:
        return whole_import(name)
    except ImportError as error:
        package = name.split(".")[0]
        raise MissingPackageError(
            f"{purpose} needs the package {package!r}, which cannot be imported ({error}).",
            hint=f"python -m pip install {package}" if extra is None else f"python -m pip install 'sparsekit[{extra}]'",
        ) from error
