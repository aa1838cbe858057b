"""The live form of ``million_rows``: Python computes what the page asks for, and the page draws it and counts bytes up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..base.errors import SparsekitError
from ..base.formatting import format_bytes, number
from ..figures.answers import keys, shown
from ..figures.array import stored_value_figure
from ..figures.live import LiveFigure, traitlets
from ..figures.palette import style_sheet
from .touched_rows import LEAST_ROWS, MOST_LETTERS, MOST_ROWS, UNITS, Touched, figure_of, measured

_STATIC = Path(__file__).parent / "static"
#: Words of which the page knows the rows, and stored rows that it draws.
MOST_SHOWN = 5000
#: Pixels of the picture of a row.
NARROWEST, WIDEST = 240.0, 760.0


class MillionRows(LiveFigure):
    """What a text changes in a weight of a million rows, as a film; a page without a kernel has its picture.

    Parameters
    ----------
    touched : Touched
    """

    kept = "the picture and the table of its first text"
    _esm = keys() + (_STATIC / "flood.js").read_text(encoding="utf-8")
    _css = style_sheet() + (_STATIC / "flood.css").read_text(encoding="utf-8")
    data = traitlets.Dict().tag(sync=True)

    def __init__(self, touched: Touched) -> None:
        self.touched = touched
        super().__init__(figure_of(touched))
        self.data = _sent(touched, 0, film=True)

    def answer(self, message: object) -> None:  # object: a page may send anything
        """Compute the gradients of another text or number of rows, or tell of a row."""
        asked = message if isinstance(message, Mapping) else {}
        try:
            if asked.get("ask") == "text":
                rows = min(max(int(number(asked.get("rows"), self.touched.rows)), LEAST_ROWS), MOST_ROWS)
                self._show(measured(str(asked.get("text", ""))[:MOST_LETTERS], rows), bool(asked.get("film")))
            elif asked.get("ask") == "row":
                self.details = ""  # a page that has closed it hears of the same row again
                self.details = self._told(int(number(asked.get("row"), -1.0)), number(asked.get("width"), WIDEST))
        except SparsekitError as error:  # a text without words
            self._fail(str(error).partition("\n")[0])
        except Exception as error:  # whatever it is, the reader has asked and waits
            self._fail(f"{type(error).__name__}: {error}")
        self.answered += 1

    def _fail(self, words: str) -> None:
        self.data = {**self.data, "error": words, "answered": self.answered}  # the same words again are news too

    def _show(self, touched: Touched, film: bool) -> None:
        self.touched, self.figure = touched, figure_of(touched)
        with self.hold_sync():
            self.table, self.data, self.details = self.figure.table.folded, _sent(touched, self.answered, film), ""

    def _told(self, row: int, width: float) -> str:
        """A row of the row-sparse gradient in the inspector, as HTML."""
        touched = self.touched
        stored = touched.stored
        if row not in stored:
            return shown(f"Row {row:,} is not stored: no word of the text has it.")
        place = stored.index(row)
        words = [f"“{word}”" for word, at in touched.words.items() if at == row]
        of_row = {"words of this row": " and ".join(words), "row": f"{row:,} of {touched.rows:,}",
                  "found by": f"indices[{place}] = {row:,}: its values are data[{place}]",
                  "bytes": f"{UNITS} values and one index, {format_bytes(touched.gradient.nbytes / len(stored))}",
                  "values": f"{touched.gradient.data[place].asnumpy()[0]:g}: how often the text has these words"}  # fmt: skip
        drawn = stored_value_figure(touched.gradient, place * UNITS, "The row-sparse gradient")
        return shown([of_row, drawn], min(max(width, NARROWEST), WIDEST))


def _sent(touched: Touched, answered: int, film: bool) -> dict[str, Any]:
    """The data of the page: numbers, words and places; ``answered`` makes the data of each answer a change.

    ``film`` says whether the page plays it from its beginning.
    """
    words, stored = dict(list(touched.words.items())[:MOST_SHOWN]), touched.stored
    return {"title": touched.title, "text": touched.text, "rows": touched.rows, "units": UNITS, "made": touched.made,
            "words": list(words), "places": list(words.values()), "stored": stored[:MOST_SHOWN],
            "count": len(stored), "stored_bytes": touched.gradient.nbytes, "dense_bytes": touched.dense_bytes, "error": "",
            "answered": answered, "film": film}  # fmt: skip
