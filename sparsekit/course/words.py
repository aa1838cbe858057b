"""Messages as plain text and as HTML, and showing them."""

from __future__ import annotations

import re
import sys
from typing import Any

from ..base.tables import escape


def rich(text: str) -> str:
    """Convert a text to HTML: escape it, and mark parts in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


class Message:
    """A text that a notebook shows as HTML and a terminal as plain text."""

    def __init__(self, text: str, html: str) -> None:
        self.text, self.html = text, html

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": self.text, "text/html": self.html}

    def __repr__(self) -> str:
        return self.text


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def in_notebook() -> bool:
    """Return whether an IPython kernel runs this process, as live views need."""
    return getattr(_shell(), "kernel", None) is not None


def show(message: object) -> None:   # object: a message, a question
    """Show a message below the running cell, or print it."""
    if _shell() is None:
        print(message)
    else:
        from IPython.display import display

        display(message)  # type: ignore[no-untyped-call]
