"""Coding exercises: open, wrong with the reason, right; and that none of them stops a notebook."""

from __future__ import annotations

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.course import record
from sparsekit.course.tasks import unanswered


def checked(answer, *conditions, equal=None, **keywords):
    with mx.exercise("it", answer) as task:
        for condition, why in conditions:
            task.expect(condition, why)
        if equal is not None:
            task.equal(answer, equal, **keywords)
    return task


def dots(x):
    ...


def documented(x):
    """What it should do."""


def returns(x):
    """What it should do."""
    return 1


class Callable:
    def __call__(self): ...


@pytest.mark.parametrize("value", [..., [...], (1, [...]), {"a": ...}, dots, documented])
def test_three_dots_are_no_answer(value):
    assert unanswered(value)


@pytest.mark.parametrize("value", [None, 0, [], [1], returns, len, Callable(), np.zeros(3), lambda x: x])
def test_anything_else_is(value):
    assert not unanswered(value)


def test_an_open_exercise_says_so_and_fails_nowhere(capsys, kept):
    with mx.exercise("it", ...) as task:
        task.expect(int("not reached when open") > 3, "why")
    assert task.state == "open"
    assert "Nothing is filled in yet" in capsys.readouterr().out
    assert not kept.exists()


def test_the_first_check_that_does_not_hold_is_explained(capsys):
    task = checked(3, (True, "a"), (False, "the second does not hold"), (False, "nor the third"))
    assert (task.state, task.words, task.held) == ("wrong", "The second does not hold.", 1)
    assert capsys.readouterr().out == "Not yet. The second does not hold.\n"
    assert record.read("other notebooks")["it"] == {"kind": "exercise", "said": "wrong", "right": False}


def test_right_is_kept():
    task = checked(3, (True, "a"), equal=3)
    assert (task.state, task.words) == ("right", "2 checks passed.")
    assert record.read("other notebooks")["it"]["right"] is True


def test_an_error_in_the_answer_is_a_sentence():
    with mx.exercise("it", 3) as task:
        task.expect(mx.nd.zeros((2, 3)).reshape((4, 4)) is None, "why")
    assert task.state == "wrong"
    assert task.words.startswith("The answer could not be checked, ")
    with mx.exercise("it", 3) as task:
        raise ValueError("<b>" * 1000)
    assert len(task.words) < 400
    assert "<b>" not in task.html


def test_an_interruption_is_none_of_its_business():
    with pytest.raises(KeyboardInterrupt), mx.exercise("it", 3):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("got", "wanted", "words"),
    [
        (68, 68.0, None), (np.float32(68), 68, None), (70, 68, "The answer is not 70: that is too much."),
        (True, 1, "The answer is True, of type bool; a number is expected."), ("68", 68, "a number is expected"),
        (float("nan"), 1, "not a finite number"), ([0, 1], [0, 1], None),
        ([0, 2], [0, 1], "Entry 1 of the answer, 2, is not right."), ([0], [0, 1], "The answer has 1 entries, not 2."),
        ("csr", "csr", None), ("default", "csr", "The answer is not 'default'."),
        (5, "csr", "str is expected"), (5, [0], "a list is expected"), (True, True, None),
        (False, True, "The answer is not False."),
    ],
)
def test_values_are_compared(got, wanted, words):
    task = checked(got, equal=wanted)
    assert (task.state == "right") == (words is None)
    assert words is None or words in task.words


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: x, None), (lambda x: x.tostype("default"), "the storage type 'default', not 'csr'"),
        (lambda x: x[:1], "the shape (1, 3), not (2, 3)"),
        (lambda x: x * 2, "is 2 at [0, 1], where 1 is expected (2 of 6 values differ)"), (lambda x: [1], "an array is expected"),
    ],
)
def test_arrays_are_compared(change, words):
    wanted = mx.nd.sparse.csr_matrix([[0, 1, 0], [0, 0, 5]])
    task = checked(change(wanted), equal=wanted)
    assert (task.state == "right") == (words is None)
    assert words is None or words in task.words


def test_misconceptions_of_values_are_named():
    wrong = {4000: "that is the dense array", "dot": "that is the forward pass"}
    assert checked(4000, equal=128, unit="bytes", wrong=wrong).words == "The answer is 4000: that is the dense array."
    assert "forward pass" in checked("dot", equal="sgd_update", wrong=wrong).words
    assert "eight" in checked(1024, equal=128, unit="bytes").words
