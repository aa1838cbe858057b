"""What learners type, and what they are told about it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsekit.course.answers import compare, parse, quantity


@pytest.mark.parametrize(
    ("said", "unit", "value"),
    [
        ("512", "MB", 512), (" 512 MB ", "MB", 512), ("0.065mb", "MB", 0.065), ("65 kB", "MB", 0.065),
        ("1,000", "rows", 1000),
        ("1 000 000", "", 1e6), ("1e6", "", 1e6), ("1_000", "", 1000), ("2 s", "ms", 2000), ("30 us", "ms", 0.03),
        (".5", "", 0.5),
        ("-3", "", -3), ("1 GiB", "bytes", 2**30), ("10 rows", "rows", 10),
    ],
)
def test_numbers_are_read_with_and_without_units(said, unit, value):
    assert parse(said, unit) == (pytest.approx(value), "")


@pytest.mark.parametrize("said", ["", "many", "nan", "inf", "1e999", "1,00", "--1", "5 ms", "0x10", "<b>5</b>", "9" * 5000,
                                  "\u0663", "1e6e6"])
def test_what_is_no_number_in_the_unit_is_said_to_be_none(said):
    value, trouble = parse(said, "MB")
    assert value is None
    assert trouble.endswith(".")


@given(st.text(max_size=60), st.sampled_from(["", "MB", "ms", "rows"]))
def test_any_text_is_read_or_refused(said, unit):
    value, trouble = parse(said, unit)
    assert (value is None) == bool(trouble)


def test_close_is_right_and_exact_may_be_asked_for():
    assert compare(105, 100).right
    assert not compare(105, 100, within=0).right
    assert compare(100, 100, within=0).words == "Right: you said 100, it is 100, exactly."


def test_the_misconception_is_named():
    wrong = {512.0: "you counted the dense gradient: 1,000,000 × 128 × 4 bytes"}
    verdict = compare(512, 0.065, "MB", wrong)
    assert not verdict.right
    assert verdict.words.startswith("You said 512 MB, it is 0.0650 MB: 7,877 times as much.")
    assert verdict.words.endswith(" You counted the dense gradient: 1,000,000 × 128 × 4 bytes.")


@pytest.mark.parametrize(
    ("guess", "said"),
    [(65, "factor of 1,000"), (65_000, "factor of 1,000,000"), (0.52, "eight"), (0.1, "1.5 times as much"),
     (0.03, "2.2 times as much as you said"), (0.08, "23% too much"),
     (0.05, "30% more than you said"), (0, "too little"), (-1, "too little")],
)
def test_other_guesses_are_told_how_far_they_are_off(guess, said):
    assert said in compare(guess, 0.065, "MB").words


@pytest.mark.parametrize(("value", "said"), [(512.0, "512 MB"), (0.065, "0.0650 MB"), (1e6, "1,000,000 MB"), (123.456, "123 MB"),
                                            (0, "0 MB"), (1.5e-7, "1.50e-07 MB"), (9.87, "9.87 MB")])
def test_quantities_in_words(value, said):
    assert quantity(value, "MB") == said


@pytest.mark.parametrize(("unit", "said"), [("rows", "1 row"), ("times", "1 time"), ("ms", "1 ms"), ("", "1"), ("%", "1 %")])
def test_one_is_singular(unit, said):
    assert quantity(1.0, unit) == said
