"""Live views by one call each; the static picture of the same data comes along."""

from __future__ import annotations

from typing import Any

from ..figures.array import array_figure

__all__ = ["inspect"]


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
