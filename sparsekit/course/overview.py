"""A learner's progress, as a picture and a table."""

from __future__ import annotations

from typing import NamedTuple

from ..base.errors import ParameterError, expected
from ..figures.drawing import add_rows
from ..figures.kit import Figure, Rect, Table
from . import record
from .contents import contents

ROW = 24.0
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
    names = {path.stem for path in place.glob("*.json")} if place is not None and place.is_dir() else set()
    names |= {name for name in record._memory if record._memory[name]}
    return [*sorted(contents()), *sorted(names - set(contents()))]


def progress(notebook: str | None = None) -> Figure:
    """Show the predictions made and the exercises solved so far; ``sparsekit.course.forget`` deletes them.

    Parameters
    ----------
    notebook : str, optional
        Show only this notebook, such as ``"05_embeddings_language_model"``; by default all with predictions or exercises.

    Returns
    -------
    figures.kit.Figure
        Bars of what is done, filled, of what there is, outlined; and the table.

    Raises
    ------
    ParameterError
        If ``notebook`` is no text.
    """
    if notebook is not None and not isinstance(notebook, str):
        raise ParameterError(expected("notebook", "the name of a notebook", notebook), hint='mx.progress("01_csr"), for example.')
    rows = [standing(name) for name in ([notebook] if notebook else _notebooks())]
    guessed, right, solved = (sum(getattr(row, name) for row in rows) for name in ("made", "right", "solved"))
    words = (f"{guessed} of {sum(row.predictions for row in rows)} predictions made, {right} of them right; "
             f"{solved} of {sum(row.exercises for row in rows)} exercises solved.")
    cells = [(row.notebook, f"{row.made} of {row.predictions}", str(row.right), f"{row.solved} of {row.exercises}")
             for row in rows]
    figure = Figure("Your progress", words, table=Table(COLUMNS, cells, "Your progress"))
    _bars(figure, "predictions made", {row.notebook: (row.made, row.predictions) for row in rows})
    _bars(figure, "exercises solved", {row.notebook: (row.solved, row.exercises) for row in rows})
    return figure


def _bars(figure: Figure, subject: str, standings: dict[str, tuple[int, int]]) -> None:
    """A panel with a bar for each notebook that has any, filled by the share of what is done."""
    names = [name for name, (_, there) in standings.items() if there]
    counts = [standings[name] for name in names]
    labels = [(name, f"{done} of {there}") for name, (done, there) in zip(names, counts, strict=True)]
    number = add_rows(figure, ROW, max([1.0, *(float(there) for _, there in counts)]), labels, subject.capitalize())
    for place, (done, there) in enumerate(counts):
        words = f"{done} of {there} {subject}"
        figure.add(Rect(number, "outline", 0.0, float(there), place + 0.2, place + 0.8, words, f"{subject} {place}"))
        if done:
            figure.add(Rect(number, "muted", 0.0, float(min(done, there)), place + 0.2, place + 0.8, words, f"{subject} {place}"))
