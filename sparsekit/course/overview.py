"""A learner's progress, as a picture and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, overload

from ..widgets.display import Display
from ..widgets.plots import drawing_on, plain_text
from ..widgets.svg import Drawing, fit, heading, is_narrow, page_width
from ..widgets.theme import INK, MUTED, SERIES, STRIPE
from . import record
from .contents import contents

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["progress"]

ROW, LEFT = 40.0, 300.0
COLUMNS = ("notebook", "predictions made", "of which right", "exercises solved")


class Standing(NamedTuple):
    """Predictions and exercises of one notebook: how many are made, right and solved, and how many there are."""

    notebook: str
    made: int
    right: int
    predictions: int
    solved: int
    exercises: int


def standing(notebook: str) -> Standing:
    """Count the predictions and exercises of a notebook."""
    listed = contents().get(notebook, {})
    entries = record.read(notebook)
    predictions = {name: entry for name, entry in entries.items() if entry.get("kind") == "predict" and entry.get("said")}
    solved = sum(entry.get("kind") == "exercise" and entry.get("right") is True for entry in entries.values())
    tried = sum(entry.get("kind") == "exercise" for entry in entries.values())
    right = sum(entry.get("right") is True for entry in predictions.values())
    return Standing(notebook, len(predictions), right, max(len(listed.get("predict", ())), len(predictions)), solved,
                    max(len(listed.get("exercise", ())), tried))


def _notebooks() -> list[str]:
    """Return the notebooks of the course, and others with stored answers."""
    place = record.folder()
    found = {path.stem for path in place.glob("*.json")} if place is not None and place.is_dir() else set()
    found |= {name for name in record._memory if record._memory[name]}
    return [*sorted(contents()), *sorted(found - set(contents()))]


@overload
def progress(notebook: str | None = ..., ax: None = ...) -> Display: ...
@overload
def progress(notebook: str | None = ..., *, ax: Axes) -> Axes: ...
def progress(notebook: str | None = None, ax: Axes | None = None) -> Display | Axes:
    """Show the predictions made and the exercises solved so far; ``sparsekit.course.forget`` deletes them.

    Parameters
    ----------
    notebook : str, optional
        Show only this notebook, such as ``"05_embeddings_language_model"``; by default all with predictions or exercises.
    ax : matplotlib.axes.Axes, optional
        Draw bars with the percentages on these axes, in their own style.

    Returns
    -------
    Display or matplotlib.axes.Axes
        A picture and a table, or ``ax`` if it is given.
    """
    rows = [standing(name) for name in ([notebook] if notebook else _notebooks())]
    if ax is not None:
        return _on_axes(ax, rows)
    made, right, solved = (sum(getattr(row, name) for row in rows) for name in ("made", "right", "solved"))
    words = (f"{made} of {sum(row.predictions for row in rows)} predictions made, {right} of them right; "
             f"{solved} of {sum(row.exercises for row in rows)} exercises solved.")
    cells = [(row.notebook, f"{row.made} of {row.predictions}", str(row.right), f"{row.solved} of {row.exercises}")
             for row in rows]
    return Display(lambda: _picture(rows, words), words, COLUMNS, cells)


def _on_axes(ax: Axes, rows: list[Standing]) -> Axes:
    """Draw two bars for each notebook: the percentages of predictions made and of exercises solved."""
    with drawing_on():
        for above, what, color, shares in (
                (0.2, "predictions made", SERIES[0], [100 * row.made / max(1, row.predictions) for row in rows]),
                (-0.2, "exercises solved", SERIES[3], [100 * row.solved / max(1, row.exercises) for row in rows])):
            ax.barh([place - above for place in range(len(rows))], shares, 0.38, color=color, label=what)
        ax.set(xlim=(0, 100), xlabel="%")
        ax.set_yticks(range(len(rows)), [plain_text(row.notebook) for row in rows])
        ax.invert_yaxis()
        ax.legend()
    return ax


def _picture(rows: list[Standing], words: str) -> str:
    drawing = Drawing(page_width())
    top = heading(drawing, "Your progress", words) - 2
    above = 16.0 if is_narrow() else 0.0  # the name stands above its bars
    for row in rows:
        drawing.text(20, top + (13 if above else 19), fit(row.notebook, LEFT - 30, 13), 13)
        _bar(drawing, top + above + 4, row.made, row.predictions, "predictions made", SERIES[0])
        _bar(drawing, top + above + 19, row.solved, row.exercises, "exercises solved", SERIES[3])
        top += ROW + above
    return drawing.finish(top + 14, words)


def _bar(drawing: Drawing, top: float, done: int, total: int, what: str, color: str) -> None:
    """Draw one bar, filled by ``done / total``, with the figures beside it."""
    left, length = (20.0, 160.0) if is_narrow() else (LEFT, 340.0)
    drawing.rect(left, top, length, 10, STRIPE, stroke="#8b9096", stroke_width=0.6)
    if total and done:
        drawing.rect(left, top, length * min(done / total, 1.0), 10, color)
    drawing.text(left + length + 12, top + 9, f"{done} of {total} {what}", 11.5, INK if done else MUTED)
