"""Live views by one call each; the static picture of the same data comes along."""

from __future__ import annotations

from typing import Any

from ..figures.array import array_figure
from .gradient_xray import xray_figure, xray_payload

__all__ = ["inspect", "xray"]


def inspect(array: object, title: str = "Inside the array") -> Any:
    """A sparse array to edit or to step through: each stored value linked to its place and to the components.

    Parameters
    ----------
    array : csr or row_sparse array
        An array of this library, a csr matrix of scipy, or a mapping with ``stype``, ``shape`` and the components.  The amount of
        data that is sent to the page does not depend on the size of the array.  The numbers of a small array can be edited, and
        the components follow; the array itself stays as it is.
    title : str, optional

    Returns
    -------
    figures.live.LiveFigure
        Needs the extra ``lab``; ``array_figure`` gives the static picture without it.

    Raises
    ------
    UnsupportedError
        If ``array`` is not sparse.
    MissingPackageError
        If anywidget is not installed.
    """
    return array_figure(array, title).live()


def xray(batches: object, units: int | None = None, gradient: object = None, upstream: object = None,
         title: str = "What one batch does to the weight") -> Any:  # fmt: skip
    """Step through one batch: csr rows, touched weight rows, row-sparse gradient, lazy update.

    Parameters
    ----------
    batches, units, gradient, upstream
        As for ``xray_figure``.
    title : str, optional

    Returns
    -------
    XrayWidget
        Needs the extra ``lab``; ``xray_figure`` gives the static picture without it.

    Raises
    ------
    UnsupportedError, ShapeError, ParameterError
        If the batches are not csr arrays of the same width, or another argument does not match them.
    MissingPackageError
        If anywidget is not installed.
    """
    from .live import XrayWidget

    static = xray_figure(batches, units, gradient, upstream, title)
    return XrayWidget(xray_payload(batches, units, gradient, upstream), static, title)
