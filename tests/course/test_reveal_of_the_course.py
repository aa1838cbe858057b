"""Answers that cells only name: facts in questions, lists, yes and no, several options measured at once, and ties."""

from __future__ import annotations

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import UnknownNameError
from sparsekit.course import questions

FILE = {
    "predict": {
        "words": {"question": "Of {words:,} words, how many?", "unit": "words", "within": 0,
                  "because": "there are {words:,}", "wrong": [[5, "too few"], ["{words}", "all of them"]]},
        "part": {"question": "Which?", "options": ["forward", "backward", "update"], "tie": 0.1,
                 "wrong": [["forward", "little"], ["backward", "half"]]},
        "is": {"question": "Is it?", "options": ["yes", "no"]},
        "rows": {"question": "Which rows?", "options": ["0, 2", "0", "none"]},
    },
    "exercise": {"bytes": {"answer": 68, "what": "the size", "right": "as it is", "wrong": [[60, "without the index"]]}},
}


@pytest.fixture(autouse=True)
def course(monkeypatch):
    monkeypatch.setattr(questions, "questions", lambda notebook: FILE)


def test_facts_are_put_into_the_question_and_its_misconceptions():
    asked = mx.predict("words", words=1200)
    assert (asked.text, asked.unit) == ("Of 1,200 words, how many?", "words")
    asked.answer("1200")
    shown = mx.reveal("words", 7)
    assert shown.text == "You said 1,200 words, it is 7 words: 171 times as much. All of them. There are 1,200."


def test_without_its_question_an_answer_is_shown_as_far_as_it_is_known():
    assert mx.reveal("words", 7).text == "It is 7 words.\nIf you say 5 words: Too few."


@pytest.mark.parametrize(("value", "said"), [(True, "yes"), (False, "no"), (np.bool_(True), "yes")])
def test_yes_and_no(value, said):
    mx.predict("is")
    assert mx.reveal("is", value).value == said


@pytest.mark.parametrize(("value", "said"), [(np.array([0, 2]), "0, 2"), (mx.nd.array([0], dtype="int64"), "0"), ([], "none")])
def test_lists(value, said):
    mx.predict("rows")
    assert mx.reveal("rows", value).value == said


def test_the_largest_of_several_is_the_answer_and_others_do_not_count():
    mx.predict("part").answer("backward")
    shown = mx.reveal("part", {"forward": 1, "backward": 50, "update": 100, "profiler": 1000})
    assert (shown.value, shown.right) == ("update", False)
    assert shown.text == "You said “backward”, but the answer is “update”. Half."


def test_a_tie_is_said_and_either_is_right():
    values = {"forward": 1, "backward": 95, "update": 100}
    mx.predict("part")
    assert mx.reveal("part", values).text == (
        "The answer: update and backward are too close to call on this machine.\nIf you say forward: Little.")
    for said, right in (("update", True), ("backward", True), ("forward", False)):
        mx.predict("part").answer(said)
        shown = mx.reveal("part", values)
        assert shown.right is right
        assert "too close to call" in shown.text
        assert "too close to call" in shown.html


def test_measured_options_that_the_question_does_not_have_are_refused():
    mx.predict("part")
    with pytest.raises(UnknownNameError, match="answer to 'part'"):
        mx.reveal("part", {"elsewhere": 3})


@pytest.mark.parametrize(("answer", "said"), [(..., "Open. Nothing is filled in yet"), (68, "Right. As it is."),
                                              (60, "Not yet. The size is 60: without the index."), (None, "Not yet. ")])
def test_an_exercise_is_checked_by_its_name(answer, said, capsys):
    mx.check("bytes", answer)
    assert capsys.readouterr().out.startswith(said)


def test_an_unknown_exercise_is_refused():
    with pytest.raises(UnknownNameError, match="'nothing'"):
        mx.check("nothing", 3)
