"""What the prose of the course claims is what its cells compute: every number, and no time that is not measured in turns."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sparsekit.course.questions import questions

from .notebooks import NAMES, QUIZ, cells, code, printed, prose

NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w]*\.ipynb)")

#: Numbers that no cell has as they are: the claim -> an expression of numbers that cells have.
CLAIMS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("claims.toml").read_text(encoding="utf-8"))

#: Whole numbers up to this one count things of the text itself.
SMALL = 12


def numbers(text: str) -> list[str]:
    """The numbers of a text, as they are written."""
    return [found.rstrip(",") for found in NUMBER.findall(re.sub(r"(?<=\d)_(?=\d)", "", text))]


def value(written: str) -> float:
    return float(written.replace(",", ""))


def places(written: str) -> int:
    """How many decimal places a number is written with."""
    return len(written.partition(".")[2].partition("e")[0])


def known(name: str, quiz: bool = True) -> set[float]:
    """Every number in the code of a notebook and in what it printed; a percentage also as a share."""
    every = [cell for cell in code(name) if quiz or not QUIZ.search(cell.source)]
    shown = [text for cell in every for text in (cell.source, printed(cell))]
    shares = {float(found) / 100 for text in shown for found in re.findall(r"(\d+(?:\.\d+)?) ?%", text)}
    return shares | {value(found) for text in shown for found in numbers(text)}


def holds(written: str, found: set[float]) -> bool:
    """Whether a number is among others, rounded to as many places as it has."""
    wanted = value(written)
    return (abs(wanted) <= SMALL and wanted == int(wanted)) or any(round(one, places(written)) == wanted for one in found)


@pytest.mark.parametrize("name", NAMES)
def test_every_number_of_the_prose_is_in_a_cell_or_follows_from_one(name):
    found = known(name)
    free = {written for text in prose(name) for written in numbers(text) if not holds(written, found)}
    assert free <= set(CLAIMS.get(name, {})), f"no cell has these numbers: {sorted(free)}"


def texts(name: str) -> list[str]:
    """The questions and explanations of a notebook's predictions."""
    return [text for entry in questions(name)["predict"].values() for text in (entry["question"], entry.get("because", ""))]


@pytest.mark.parametrize("name", NAMES)
def test_every_number_of_a_question_is_in_a_cell_or_follows_from_one(name):
    found = known(name, quiz=False)
    free = {written for text in texts(name) for written in numbers(text) if not holds(written, found)}
    assert free <= set(CLAIMS.get(f"{name} questions", {})), f"no cell has these numbers: {sorted(free)}"


@pytest.mark.parametrize(("where", "claim"), [(where, claim) for where, claims in CLAIMS.items() for claim in claims])
def test_a_number_that_follows_from_others_does(where, claim):
    name, _, of_questions = where.partition(" ")
    rule = CLAIMS[where][claim]
    assert any(claim in numbers(text) for text in (texts(name) if of_questions else prose(name))), "no text has this number"
    assert all(holds(one, known(name, quiz=not of_questions)) for one in numbers(rule)), f"{rule} has a number that no cell has"
    digits = len(claim.replace(",", "").replace(".", "").strip("0")) or 1
    result = eval(rule, {"__builtins__": {}})
    assert float(f"{result:.{digits - 1}e}") == value(claim), result


def test_a_number_without_a_source_is_found():
    assert not holds("1.84", {1.05, 12.0})
    assert holds("1.8", {1.84})
    assert holds("12,800,000", {12800000.0})
    assert not holds("40", {41.2})


#: Ways to claim a time.  An interleaved comparison prints the time with its interval.
TIMED = re.compile(r"times as (fast|long|slow)|faster|slower|\bhundreds? (of )?times|thousands? of times|hardly at all"
                   r"|less time than|\bspeed-?up\b|\d\s*(ms|µs|seconds|milliseconds|microseconds)\b", re.IGNORECASE)

#: Sentences about time that claim no measurement.
FREE_TO_SAY = {
    "04_train_symbol_module": ("all rows are fetched, which is slower but correct",),
    "05_embeddings_language_model": ("is the row-sparse model faster?",),
    "08_profiling": ("a machine that becomes slower",),
    "10_gpu": ("A step on the device takes 200 µs",),
    "12_many_machines": ("or how many times as fast the machines were", "two machines are slower than one",
                         "A faster processor makes the cable more important: with a GPU that computes ten times as fast"),
}

@pytest.mark.parametrize("name", NAMES)
def test_prose_claims_no_time(name):
    text = "\n".join(cell.source for cell in cells(name) if cell.cell_type == "markdown")
    text = re.split(r"^## Notes on ", text, flags=re.MULTILINE)[0]
    for said in FREE_TO_SAY.get(name, ()):
        assert said in text, said
        text = text.replace(said, "")
    assert [found[0] for found in TIMED.finditer(text)] == []


def cell_with(name: str, source: str) -> Any:
    (cell,) = (cell for cell in code(name) if source in cell.source)
    return cell


def test_a_loop_compared_with_itself_has_no_detectable_difference():
    assert "no detectable difference" in printed(cell_with("08_profiling", "'the same again'"))


def test_the_loops_that_differ_are_told_apart():
    assert "as fast as log(1 + x)" in printed(cell_with("08_profiling", "compare({'log(1 + x)'"))


def test_two_counts_of_the_same_batch_agree():
    name = "05_embeddings_language_model"
    average = numbers(printed(cell_with(name, "mx.reveal('batch_words'")))[0]
    (line,) = re.findall(r"^ +320 .*$", printed(cell_with(name, "for rows in (1, 5, 20, 80, 320)")), re.MULTILINE)
    assert line.split()[1] == average


def test_the_gradient_is_there_from_the_start_as_the_text_says():
    assert re.search(r"before the first step:.*gradient", printed(cell_with("09_memory", "before the first step")))


def test_two_gradients_at_the_peak_are_twice_one():
    one = value(numbers(printed(cell_with("00_start_here", "mx.reveal('start_gradient_kb'")))[0])
    bars = printed(cell_with("00_start_here", "memory_bars("))
    gradient = value(re.search(r"row-sparse gradient +\S+ MB +([\d.]+) kB", bars)[1])
    assert gradient == pytest.approx(2 * one, rel=0.05)


def test_lazy_ftrl_is_not_called_exact():
    said = printed(cell_with("07_optimizers_lazy_or_not", "print('exact:'"))
    assert re.search(r"^exact: SGD, AdaGrad$", said, re.MULTILINE)


def test_no_winner_within_two_standard_errors():
    source = cell_with("06_recommenders", "too close to call").source
    assert "2 * error" in source
    shares = printed(cell_with("06_recommenders", "too close to call"))
    found = sorted(float(share) for share in re.findall(r"([\d.]+)% of unseen pairs correct", shares))
    error = float(re.search(r"standard error of ([\d.]+)%", shares)[1])
    answer = printed(cell_with("06_recommenders", "mx.reveal('wide_deep_best'"))
    assert ("too close to call" in answer) == (found[-1] - found[-2] <= 2 * error)
