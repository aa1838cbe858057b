"""What a live view is given as plain data, and what it shows of an answer, in a notebook and in a page without Python."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..base.formatting import number
from .drawing import Drawing
from .interaction import Values, checked, declared
from .marks import Table
from .svg import to_svg
from .text import markup

#: Marks of which a page without Python holds the details, and letters of all these.
MOST_DETAILS, MOST_LETTERS = 400, 250_000


@cache
def script() -> str:
    """The enhancer, a JavaScript module."""
    return keys() + (Path(__file__).parent / "enhance.js").read_text(encoding="utf-8")


@cache
def keys() -> str:
    """The function of JavaScript that keeps a notebook from taking the keys of a view."""
    return (Path(__file__).parent / "keys.js").read_text(encoding="utf-8")


@cache
def style() -> str:
    """The style sheet of the controls of live views."""
    return (Path(__file__).parent / "enhance.css").read_text(encoding="utf-8")


def shown(answer: object, width: float = 640.0) -> str:
    """What is shown of an answer, as HTML.

    Parameters
    ----------
    answer : str, mapping, Table, Figure, or list of these
        Anything else is shown as text, and None as nothing.
    width : float
        Pixels of a figure.
    """
    if answer is None:
        return ""
    if isinstance(answer, (list, tuple)):
        return "".join(shown(part, width) for part in answer)
    if isinstance(answer, Drawing):
        return to_svg(answer, width)
    if isinstance(answer, Table):
        return answer.html
    if isinstance(answer, Mapping):
        return f"<dl>{''.join(f'<dt>{markup(name)}</dt><dd>{markup(value, 2000)}</dd>' for name, value in answer.items())}</dl>"
    return f"<p>{markup(answer, 2000)}</p>"


def told(figure: Drawing, key: str, values: Values) -> str:
    """What is shown of the mark that was chosen, or why nothing is, as HTML."""
    if figure.interaction.select is None:
        return ""
    try:
        return shown(figure.interaction.select(key, values))
    except Exception as error:  # whatever it is, the reader has asked and waits
        return shown(f"{type(error).__name__}: {error}")


def given(figure: Drawing, width: float) -> dict[str, Any]:
    """What the enhancer is told at its start, as plain data."""
    asked = figure.interaction
    return {"inputs": declared(asked.inputs), "draws": asked.draw is not None, "selects": asked.select is not None,
            "frames": [to_svg(frame, width, live=True) for frame in asked.frames], "seconds": asked.seconds}  # fmt: skip


def prepared(figure: Drawing, width: float) -> dict[str, Any]:
    """The same for a page without Python, with answers computed now: the details of marks, and other values of inputs."""
    asked = figure.interaction
    data = {**given(figure, width), "inputs": [], "draws": False, "selects": False}
    values = checked(asked.inputs, {})
    data["details"] = _details(figure, figure, values)
    data["answers"] = {}
    for name, some in asked.answers.items() if asked.draw else ():
        chosen = checked(asked.inputs, {**values, **some})
        drawn = asked.draw(None, chosen) if asked.draw else figure
        data["answers"][name] = {"svg": to_svg(drawn, width, live=True), "table": drawn.table.folded,
                                 "details": _details(figure, drawn, chosen)}  # fmt: skip
    return data


def pictures(figure: Drawing, width: float) -> dict[str, Any]:
    """The pictures of ``prepared`` for a page of another width."""
    asked = figure.interaction
    drawn = {name: asked.draw(None, checked(asked.inputs, some)) for name, some in asked.answers.items()} if asked.draw else {}
    return {"svg": to_svg(figure, width, live=True), "frames": [to_svg(frame, width, live=True) for frame in asked.frames],
            "answers": {name: to_svg(picture, width, live=True) for name, picture in drawn.items()}}  # fmt: skip


def _details(figure: Drawing, drawn: Drawing, values: Values) -> dict[str, str]:
    """What is shown of each mark that is drawn, by its key, as far as there is room for it."""
    if figure.interaction.select is None:
        return {}
    details: dict[str, str] = {}
    letters = 0
    for key in list(dict.fromkeys(mark.key for mark in drawn.shapes if mark.key))[:MOST_DETAILS]:
        details[key] = told(figure, key, values)
        letters += len(details[key])
        if letters > MOST_LETTERS:
            break
    return details


def window_of(message: Mapping[str, Any]) -> tuple[float, float] | None:
    """The part of x that a page asks for; None for all of it, and for what makes no sense."""
    sent = message.get("window")
    if not isinstance(sent, list) or len(sent) != 2 or not all(isinstance(end, (int, float)) for end in sent):
        return None
    first, last = (number(end, float("nan")) for end in sent)
    return (first, last) if first < last else None
