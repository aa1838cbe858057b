"""What the prose of the course claims is what its cells compute: every number, and no time that is not measured in turns."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.course.questions import questions

from .notebooks import NAMES, QUIZ, WRITTEN, cells, code, printed, prose

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


@pytest.mark.parametrize("name", WRITTEN)
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


#: Ways to claim a time.  An interleaved comparison prints the time with its interval.
TIMED = re.compile(r"times as (fast|long|slow)|faster|slower|\bhundreds? (of )?times|thousands? of times|hardly at all"
                   r"|less time than|\bspeed-?up\b|\d\s*(ms|µs|seconds|milliseconds|microseconds)\b", re.IGNORECASE)

#: Sentences about time that claim no measurement.
FREE_TO_SAY = {
    "04_train_symbol_module": ("all rows are fetched, which is slower but correct",),
    "05_embeddings_language_model": ("is the row-sparse model faster?",),
    "08_profiling": ("a machine that becomes slower",),
    "10_gpu": ("A step on the device takes 200 µs",),
    "12_many_machines": ("or how many times as fast the machines were", "two machines can be slower than one",
                         "A faster processor makes the cable more important: with a GPU that computes ten times as fast"),
}

@pytest.mark.parametrize("name", WRITTEN)
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


def test_the_network_of_the_original_does_not_learn_and_another_does():
    """The loss of the original is that of a guess; with two sigmoids it has a bound; with one and Adam it is far below ln 2."""
    said = printed(cell_with("03_train_gluon", "def learn("))
    found = {name.strip(): (float(loss), int(right)) for name, loss, right in re.findall(
        r"^(.*?) +loss ([\d.]+); +(\d+)% of unseen texts right", said, re.MULTILINE)}
    most, bound = map(float, re.search(r"probability of ([\d.]+) at most, a loss of ([\d.]+) at least", said).groups())
    guess, share, coin = map(float, re.search(r"loss ([\d.]+); +(\d+)% right; a coin: loss ([\d.]+)", said).groups())
    assert most == round(1 / (1 + math.exp(-1)), 2)
    assert coin == round(math.log(2), 2)
    assert guess == pytest.approx(-share / 100 * math.log(share / 100) - (1 - share / 100) * math.log(1 - share / 100), abs=0.01)
    loss, right = found["two sigmoids, sgd, as the original"]
    assert (loss > guess - 0.01, right) == (True, share)
    assert bound <= found["two sigmoids, adam"][0] < bound + 0.1
    loss, right = found["one sigmoid, adam"]
    assert loss < 0.3 * coin
    assert right > share + 20


def test_lines_that_are_the_same_function_are_told_from_those_that_are_not():
    """And where the dense arrays of each end: log(1 + x) makes the update no denser, x - mean does."""
    data = mx.nd.sparse.csr_matrix([[1.0, 0, 2], [0, 3, 0]])
    same = mx.nd.log1p(data).asnumpy(), mx.nd.log(1 + data).asnumpy()
    assert np.allclose(*same, atol=1e-6)
    assert not np.allclose((data - data.mean().asscalar()).asnumpy(), (data / 9).asnumpy(), atol=0.1)
    said = printed(cell_with("08_profiling", "def lanes_of("))
    found = {name.strip(): (float(update), value(rows)) for name, update, rows in re.findall(
        r"^(.*?) +forward .*update +([\d.]+) MB; +([\d,]+) rows", said, re.MULTILINE)}
    assert found["log(1 + x)"] == found["log1p(x)"] == found["x / 9"]
    assert found["x - mean"][0] > 10 * found["x / 9"][0]
    assert found["x - mean"][1] == 50_000 > 10 * found["x / 9"][1]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rows_on_the_cable_hardly_grow_with_the_vocabulary(seed):
    """Notebook 12 draws words so that frequent ones come first; its answer must hold for other seeds, too."""
    share = np.random.default_rng(seed).random(5120)
    few, many = (len(np.unique(np.expm1(share * np.log(words)).astype("int64"))) for words in (2_000_000, 20_000_000))
    assert 1 < many / few < 1.5
    assert "'by less than half' if growth > 1" in cell_with("12_many_machines", "mx.reveal('wire'").source


@pytest.mark.parametrize("name", ["08_profiling", "09_memory", "10_gpu"])
def test_explanations_hold_when_the_sizes_are_changed(name):
    """They stand beside numbers that a reader's own sizes give."""
    for entry in questions(name)["predict"].values():
        assert not [found for found in numbers(entry.get("because", "")) if value(found) > SMALL], entry["because"]
