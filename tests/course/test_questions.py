"""Questions, answers and checks of the course are in files, and the cells hold names and measured values only."""

from __future__ import annotations

import re

import pytest

from sparsekit.course.answers import compare
from sparsekit.course.checks import CHECKS
from sparsekit.course.contents import contents
from sparsekit.course.questions import questions

from .notebooks import NAMES, QUIZ, code, lines, printed

KEYS = {"predict": {"question", "answer", "unit", "options", "within", "tie", "because", "wrong"},
        "exercise": {"answer", "what", "unit", "within", "right", "wrong"}}
PREDICTIONS = [(name, key, entry) for name in NAMES for key, entry in questions(name)["predict"].items()]
IDS = [key for _, key, _ in PREDICTIONS]

#: Largest share of code lines in cells that ask, compare or check.
MOST = 0.1


def test_every_notebook_up_to_twelve_has_its_file():
    assert [name[:2] for name in NAMES[:13]] == [f"{number:02d}" for number in range(13)]


@pytest.mark.parametrize("name", NAMES)
def test_the_file_has_what_the_notebook_asks(name):
    found = {kind: sorted(entries) for kind, entries in questions(name).items()}
    assert found == {kind: sorted(names) for kind, names in contents()[name].items()}
    for kind, entries in questions(name).items():
        for key, entry in entries.items():
            assert set(entry) <= KEYS[kind], key
            if kind == "exercise":
                assert ("answer" in entry) != (key in CHECKS), key


def test_every_check_belongs_to_an_exercise():
    assert set(CHECKS) <= {key for name in NAMES for key in questions(name)["exercise"]}


@pytest.mark.parametrize("name", NAMES)
def test_a_cell_that_asks_or_compares_holds_nothing_else(name):
    for cell in code(name):
        if QUIZ.search(cell.source):
            assert lines(cell) <= 3, cell.source
            assert not re.search(r"\b(wrong|because|within|options|question|unit|right)=", cell.source), cell.source
        if "mx.reveal(" in cell.source:
            name_of, value = re.fullmatch(r"(?:%%needs \w+\n)?mx\.reveal\('(\w+)'(, .*)?\)", cell.source).groups()
            assert bool(value) != ("answer" in questions(name)["predict"][name_of])


def test_few_lines_are_of_the_quiz():
    every = [cell for name in NAMES for cell in code(name)]
    quiz = sum(lines(cell) for cell in every if QUIZ.search(cell.source))
    assert 0 < quiz <= MOST * sum(map(lines, every))


@pytest.mark.parametrize(("name", "key", "entry"), PREDICTIONS, ids=IDS)
def test_no_answer_is_a_time(name, key, entry):
    assert entry.get("unit", "") not in ("ns", "µs", "us", "ms", "s", "seconds", "min")
    (cell,) = (cell for cell in code(name) if f"mx.reveal('{key}'" in cell.source)
    assert not re.search(r"time|second|duration|'self'|elapsed", cell.source), cell.source


@pytest.mark.parametrize(("name", "key", "entry"), PREDICTIONS, ids=IDS)
def test_the_right_answer_is_no_misconception(name, key, entry):
    (cell,) = (cell for cell in code(name) if f"mx.reveal('{key}'" in cell.source)
    said = printed(cell)
    if entry.get("options"):
        found = re.match(r"The answer: (.*?)\. ?", said + " ")[1]
        right = [option for option in entry["options"] if said.startswith(f"The answer: {option}.")]
        assert right, found
        assert {wrong for wrong, _ in entry.get("wrong", ())} <= {*entry["options"]} - {*right}
    else:
        value = float(re.match(r"It is (-?[\d,.]+(?:e-?\d+)?)", said)[1].rstrip(".").replace(",", ""))
        for wrong, why in entry.get("wrong", ()):
            if not isinstance(wrong, str):
                assert not compare(wrong, value, within=entry.get("within", 0.1)).right, (value, wrong, why)
