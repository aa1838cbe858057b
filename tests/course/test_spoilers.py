"""No answer is to be read before its question: neither in what cells printed nor in their pictures."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from urllib.parse import unquote

import pytest

from .notebooks import NAMES, code

PICTURE = re.compile(r'src="data:image/svg\+xml;charset=utf-8,([^"]+)"')
ASKED, ANSWERED = (re.compile(rf"mx\.{call}\('(\w+)'") for call in ("predict", "reveal"))

#: Numbers that stand above a question by chance, and mean something else.
BY_CHANCE = {"caught_up"}


def seen(cell: Any) -> str:
    """The words that a cell shows at first sight, those of its pictures too; what is folded away is left out."""
    found = []
    for output in cell.outputs:
        html = re.sub(r"<details>.*?</details>", "", output.get("data", {}).get("text/html", ""), flags=re.DOTALL)
        pictures = [unquote(picture) for picture in PICTURE.findall(html)]
        found += [output.get("text", ""), *(unescape(re.sub(r"<[^>]*>", " ", text)) for text in (html, *pictures))]
        if not html:
            found.append(output.get("data", {}).get("text/plain", ""))
    return " ".join(found)


def forms(answer: float) -> set[str]:
    """How a number may be written: in full, and as bytes."""
    shown = {f"{answer:,.0f}", f"{answer:.3g}", f"{answer:.1f} MB", f"{answer:.1f} kB"}
    shown |= {f"{answer / 1e3:.3g} kB", f"{answer / 1e6:.3g} MB"} if answer > 999 else set()
    return {form for form in shown if len(re.sub(r"\D", "", form)) > 1}


def shows(text: str, answer: float) -> bool:
    """Whether a text has the number of an answer."""
    return any(re.search(rf"(?<![\d.,]){re.escape(form)}(?!\d)", text) for form in forms(answer))


@pytest.mark.parametrize("name", NAMES)
def test_no_answer_stands_above_its_question(name):
    above, questions, early = "", {}, []
    for cell in code(name):
        if found := ASKED.search(cell.source):
            questions[found[1]] = above
        elif found := ANSWERED.search(cell.source):
            answer = re.search(r"<strong>([\d,]+\.?\d*)", "".join(str(output.get("data", {})) for output in cell.outputs))
            value = float(answer[1].replace(",", "").rstrip(".")) if answer else 0.0
            if value and found[1] not in BY_CHANCE and shows(questions.get(found[1], ""), value):
                early.append(found[1])
        else:
            above += seen(cell) + "\n"
    assert early == []
