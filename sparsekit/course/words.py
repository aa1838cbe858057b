"""Short texts as plain text and as HTML, and how they reach the reader."""

from __future__ import annotations

import re
import sys
from typing import Any

from ..widgets.svg import escape

__all__ = ["Said", "in_notebook", "rich", "say"]


def rich(text: str) -> str:
    """A text as HTML: escaped, and what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


class Said:
    """A text that a notebook shows as HTML and a terminal as it is."""

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
    """Whether a kernel runs this, to which live views can speak."""
    return getattr(_shell(), "kernel", None) is not None


def say(said: Said) -> None:
    """Show a text below the cell that runs, or print it."""
    if _shell() is None:
        print(said.text)
    else:
        from IPython.display import display

        display(said)  # type: ignore[no-untyped-call]
