"""A million rows: the picture that opens the course."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.entry import entries
from .touched_rows import figure_of, measured

if TYPE_CHECKING:
    from ..figures.kit import Figure
    from .flood_view import MillionRows


def million_rows(text: str | None = None, rows: int = 1_000_000) -> MillionRows:
    """Show live what a text changes in a weight of a million rows: type a text, watch both gradients being written.

    Every row has its place in two squares, line by line, at true scale.  In the film the dense gradient fills its square, while
    the row-sparse one writes the rows of the words and is finished.  Both write as many bytes a second; the bytes are those of
    arrays that were computed, the speed is the film's.

    Parameters
    ----------
    text : str, optional
        At most 20,000 letters; each different word has a row.  Default: a paragraph of The Origin of Species, of the data set
        ``mx.datasets.read_books()``.
    rows : int
        Rows of the weight, 100 to 10,000,000; a row has 128 float32 values.

    Returns
    -------
    sparsekit.course.flood_view.MillionRows
        Needs the extra ``lab``; ``course.million_rows_figure`` gives the static picture without it.

    Raises
    ------
    ParameterError
        If the text has no words or too many letters, or ``rows`` is out of range.
    MissingPackageError
        If anywidget is not installed.

    Examples
    --------
    >>> mx.million_rows("the cat sat on the mat")      # doctest: +SKIP
    """
    touched = measured(text, rows)
    from .flood_view import MillionRows

    return MillionRows(touched)


def million_rows_figure(text: str | None = None, rows: int = 1_000_000) -> Figure:
    """Draw what a text changes in a weight of a million rows: the picture of ``million_rows``.

    Parameters
    ----------
    text, rows
        As for ``million_rows``.

    Returns
    -------
    figures.Figure

    Raises
    ------
    ParameterError
        If the text has no words or too many letters, or ``rows`` is out of range.
    """
    return figure_of(measured(text, rows))


entries(globals(), ["million_rows", "million_rows_figure"])
