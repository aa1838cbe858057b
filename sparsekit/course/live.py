"""The anywidget form of a question in a notebook, imported on first display."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.optional import optional_import
from ..figures.answers import keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .predictions import Question

anywidget = optional_import("anywidget", "lab", "A form for predictions")
traitlets = optional_import("traitlets", "lab", "A form for predictions")
Base: Any = anywidget.AnyWidget
_STATIC = Path(__file__).parent / "static"


class QuestionWidget(Base):  # type: ignore[misc]
    """A question with a text field or options, a button, and the verdict on the guess.

    Parameters
    ----------
    question : Question
    """

    _esm = keys() + (_STATIC / "question.js").read_text(encoding="utf-8")
    _css = (_STATIC / "question.css").read_text(encoding="utf-8")
    text = traitlets.Unicode("").tag(sync=True)
    unit = traitlets.Unicode("").tag(sync=True)
    options = traitlets.List(traitlets.Unicode()).tag(sync=True)
    said = traitlets.Unicode("").tag(sync=True)
    state = traitlets.Unicode("open").tag(sync=True)
    status = traitlets.Unicode("").tag(sync=True)
    #: The number of times a guess was sent, and the guess; the number lets the same guess be sent again.
    sent = traitlets.List().tag(sync=True)

    def __init__(self, question: Question) -> None:
        self._question = question
        super().__init__(text=question.text, unit=question.unit, options=list(question.options), said=question.said,
                         state=question.state, status=question.status)
        self.observe(self._on_sent, names=["sent"])

    def show(self, question: Question) -> None:
        """Show the guess and what is said about it, in one message: the form never shows a state without its words."""
        with self.hold_sync():
            self.said, self.state, self.status = question.said, question.state, question.status

    def _on_sent(self, change: Mapping[str, Any]) -> None:
        if change["new"]:
            self._question.answer(change["new"][-1])
