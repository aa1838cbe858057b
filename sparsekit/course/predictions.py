"""Predictions: a question before a cell, and its comparison with the value that the cell measured."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ..base.errors import MissingPackageError, UnknownNameError
from . import record
from .answers import Verdict, compare, compare_choice, parse, quantity, sentence
from .contents import notebook_of
from .questions import filled, texts_of, wrong_answers
from .words import Message, in_notebook, rich, show

#: The questions of the quiz at the end of the course, in order, each with its answer.
FILE = Path(__file__).with_name("quiz.toml")

#: The questions of this session, by name, for ``reveal``.
_asked: dict[str, Question] = {}


class Question:
    """A question to answer before the next cell runs, created by ``predict``.

    As the last value of a cell it is shown as a form in a notebook with anywidget, and as plain HTML elsewhere.

    Attributes
    ----------
    name, text, unit : str
    options : tuple of str
        Possible answers; empty if the answer is a number.
    said : str
        The guess as it was typed; empty without one.
    guess : float, str or None
        The parsed guess; None without one, or if it is unclear.
    status : str
        Sentence about the guess.
    state : {"open", "kept", "unclear", "right", "wrong"}
    facts : dict
        What the cell passed for the texts of the question's file.
    """

    def __init__(self, name: str, text: str, unit: str = "", options: Sequence[Any] = (),
                 facts: Mapping[str, object] | None = None) -> None:  # object: numbers and texts
        self.name, self.text, self.unit = str(name), " ".join(str(text).split()), str(unit)
        self.options, self.facts = tuple(str(option) for option in options), dict(facts or {})
        self.said, self.status, self.state = "", "", "open"
        self.guess: float | str | None = None
        self._found: Revelation | None = None
        self._live: Any = None

    def answer(self, said: object) -> str:
        """Store a guess, unless it is unclear, and return a sentence about it."""
        self.said = " ".join(str(said).split())[:200]
        self.guess, trouble = self._read(self.said)
        if trouble:
            self.state, self.status = "unclear", trouble
        elif self._found is None:
            self.state, self.status = "kept", f"Saved: {self.words}. Run the next cells to see the answer."
            record.remember(self.name, "predict", self.said)
        else:
            self.judge()
        self._show()
        return self.status

    def _read(self, said: str) -> tuple[float | str | None, str]:
        if not self.options:
            return parse(said, self.unit)
        chosen = next((option for option in self.options if option.casefold() == said.casefold()), None)
        return chosen, "" if chosen is not None else f"Choose one of: {', '.join(self.options)}."

    @property
    def words(self) -> str:
        """The guess as text."""
        return quantity(self.guess, self.unit) if isinstance(self.guess, float) else str(self.guess)

    def judge(self, revelation: Revelation | None = None) -> Verdict | None:
        """Compare the guess with the measured value and store the verdict; return None without a guess."""
        self._found = revelation or self._found
        if self.guess is None or self._found is None:
            return None
        verdict = self._found.verdict(self.guess)
        self.state, self.status = "right" if verdict.right else "wrong", f"{verdict.words} {self._found.because}".rstrip()
        record.remember(self.name, "predict", self.said, verdict.right)
        self._show()
        return verdict

    def recall(self) -> None:
        """Load the guess of an earlier session."""
        entry = record.read(notebook_of(self.name)).get(self.name, {})
        said = entry.get("said")
        if isinstance(said, str) and said:
            self.guess, trouble = self._read(said)
            if not trouble:
                self.said, self.state = said, "kept"
                self.status = f"You said {self.words}. Run the next cells to see the answer."

    # ---- display

    def _show(self) -> None:
        if self._live is not None:
            self._live.show(self)

    @property
    def asks_for(self) -> str:
        """The kind of answer that is expected."""
        return "one of these" if self.options else f"a number, in {self.unit}" if self.unit else "a number"

    def __repr__(self) -> str:
        lines = [f"Predict: {self.text} ({self.asks_for})", *(f"  - {option}" for option in self.options)]
        return "\n".join([*lines, self.status] if self.status else lines)

    def _html(self) -> str:
        options = "".join(f"<li>{rich(option)}</li>" for option in self.options)
        choice = f"<details><summary>Possible answers</summary><ul>{options}</ul></details>" if options else ""
        status = f"<p>{rich(self.status)}</p>" if self.status else ""
        kind = "" if options else f" <em>({rich(self.asks_for)})</em>"
        return f"<p><strong>Predict.</strong> {rich(self.text)}{kind}</p>{choice}{status}"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Any:
        static = {"text/plain": repr(self), "text/html": self._html()}
        if not in_notebook():
            return static
        try:
            from .live import QuestionWidget
        except MissingPackageError:
            return static
        self._live = QuestionWidget(self)
        bundle = self._live._repr_mimebundle_()
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, **static}, metadata


class Revelation(Message):
    """The measured value and its comparison with the prediction, created by ``reveal``.

    Attributes
    ----------
    value : float or str
        The measured value; in a tie, the first of the tied options.
    tied : tuple of str
        The options that are too close to call; empty if one leads.
    right : bool or None
        Whether the prediction is right; None without one.
    """

    def __init__(self, question: Question, value: float | str, wrong: Mapping[Any, str], within: float, because: str,
                 tied: Sequence[str] = ()) -> None:
        self.question, self.value, self.wrong, self.within, self.tied = question, value, wrong, within, tuple(tied)
        self.because = sentence(because) if because else ""
        verdict = question.judge(self)
        self.right = verdict.right if verdict else None
        super().__init__(self._text(verdict), self._html(verdict))

    def verdict(self, guess: float | str) -> Verdict:
        """Compare a guess with the value."""
        if guess in self.tied:
            return Verdict(True, f"Right: {guess}. But {self.measured}.")
        if self.tied:
            return Verdict(False, f"You said “{guess}”, but {self.measured}.")
        if isinstance(self.value, str):
            return compare_choice(str(guess), self.value, self.wrong)
        return compare(float(guess), self.value, self.question.unit, self.wrong, self.within)

    @property
    def measured(self) -> str:
        """The value as text."""
        if self.tied:
            return f"{' and '.join(self.tied)} are too close to call on this machine"
        return self.value if isinstance(self.value, str) else quantity(self.value, self.question.unit)

    def _mistakes(self) -> list[tuple[str, str]]:
        unit = self.question.unit
        return [(said if isinstance(said, str) else quantity(float(said), unit), sentence(text))
                for said, text in self.wrong.items() if said not in self.tied]

    def _text(self, verdict: Verdict | None) -> str:
        plain = f"The answer: {self.measured}." if isinstance(self.value, str) else f"It is {self.measured}."
        first = verdict.words if verdict else plain
        mistakes = [] if verdict else [f"If you say {said}: {text}" for said, text in self._mistakes()]
        return "\n".join([f"{first} {self.because}".rstrip(), *mistakes])

    def _html(self, verdict: Verdict | None) -> str:
        because = f" {rich(self.because)}" if self.because else ""
        if verdict:
            mark, word = ("✔", "Right") if verdict.right else ("✘", "Not so")
            said = verdict.words.removeprefix("Right: ")
            return f"<p><strong>{mark} {word}.</strong> {rich(said[:1].upper() + said[1:])}{because}</p>"
        mistakes = "".join(f"<li>If you say {rich(said)}: {rich(text)}</li>" for said, text in self._mistakes())
        listed = f"<ul>{mistakes}</ul>" if mistakes else ""
        return (f"<details><summary>Show the answer</summary>"
                f"<p><strong>{rich(self.measured)}.</strong>{because}</p>{listed}</details>")


# object: what a text of the question's file mentions, a number or a text
def predict(name: str, question: str = "", *, unit: str = "", options: Sequence[Any] = (), guess: object = None,
            **facts: object) -> Question:
    """Ask the learner to predict a value before it is measured.

    The questions of the course are in its files (``sparsekit/course/questions``), so a cell of the course has only the name.

    Parameters
    ----------
    name : str
        Name of the prediction, for ``reveal`` and for the learner's progress.
    question : str, optional
        The question of a notebook of your own, with code in backticks.
    unit : str, optional
        Unit of the number to predict, such as ``"MB"``.  Guesses in other units of bytes or of time are converted.
    options : sequence, optional
        Possible answers; by default the answer is a number.
    guess : number or str, optional
        The prediction, if it is written into the cell instead of the form.
    **facts
        Numbers that a question of the course mentions and that depend on the data.

    Returns
    -------
    Question
        A form that the notebook shows if it is the last value of the cell.
    """
    asked = _question(str(name), question, unit, options, facts)
    asked.recall()
    _asked[asked.name] = asked
    if guess is not None:
        asked.answer(guess)
    return asked


# object: options and facts become text
def _question(name: str, text: str, unit: str, options: Sequence[object], facts: Mapping[str, object]) -> Question:
    """A question as the cell has it, else as the course's file has it."""
    kept = texts_of("predict", name)
    text = text or filled(kept.get("question", ""), facts) or name.replace("_", " ")
    return Question(name, text, unit or kept.get("unit", ""), options or kept.get("options", ()), facts)


# object: any of the values that are listed
def reveal(name: str, value: object = None, *, wrong: Mapping[Any, str] | None = None, within: float | None = None,
           because: str = "") -> Revelation:
    """Compare a prediction with the measured value.

    Misconceptions, tolerances and explanations of the course's questions are in its files, so a cell of the course has only
    the name and the value.

    Parameters
    ----------
    name : str
        Name of the prediction.
    value : number, str, bool, array or mapping
        The measured value, in the unit of the question, or the right option.  A bool stands for the options ``yes`` and
        ``no``.  An array of integers stands for their list, such as ``0, 2``, or ``none``.  A mapping has a measured number for
        each option: the option with the largest number is the answer, and options within the tolerance of the question tie with
        it.  The value may be left out if nothing is measured and the course's file has the answer.
    wrong : mapping, optional
        Known misconceptions.  The key is the answer that shows one, and the value is a sentence for the learner:
        ``{512: "you counted the dense gradient"}``.
    within : float, optional
        Relative tolerance of a right number, by default 0.1; 0 for exact counts.
    because : str, optional
        Sentence that explains the value.

    Returns
    -------
    Revelation
        The answer, which the notebook shows if it is the last value of the cell; without a prediction it is folded.

    Raises
    ------
    UnknownNameError
        If the value is not a finite number, or with options not one of them.
    """
    asked = str(name) in _asked  # False if the cell of the question did not run
    question = _asked[str(name)] if asked else _question(str(name), "", "", (), {})
    kept = texts_of("predict", question.name)
    value = kept.get("answer") if value is None else value
    tied = _leaders(question, value, kept.get("tie", 0.0)) if isinstance(value, Mapping) else []
    measured = tied[0] if tied else value
    answer = _option(question, measured) if question.options else _finite(question, measured, asked)
    misconceptions = wrong_answers(kept.get("wrong"), question.facts) if wrong is None else wrong
    return Revelation(question, answer, misconceptions, kept.get("within", 0.1) if within is None else within,
                      because or filled(kept.get("because", ""), question.facts), tied if len(tied) > 1 else ())


def _leaders(question: Question, values: Mapping[str, float], tie: float) -> list[str]:
    """The options with the largest number, and those that are as large within ``tie``; other keys do not count."""
    counted = {name: values[name] for name in question.options if name in values}
    if not counted:
        raise UnknownNameError.of(f"answer to {question.name!r}", ", ".join(map(str, values)), question.options)
    largest = max(counted.values())
    return [name for name in sorted(counted, key=lambda name: -counted[name]) if counted[name] >= largest * (1 - tie)]


def _option(question: Question, value: object) -> str:  # object: as in reveal
    """The option that a value stands for."""
    numbers: object = value.asnumpy() if hasattr(value, "asnumpy") else value
    numbers = numbers.tolist() if hasattr(numbers, "tolist") else numbers
    if isinstance(numbers, bool):
        numbers = "yes" if numbers else "no"
    if isinstance(numbers, Iterable) and not isinstance(numbers, str):
        numbers = ", ".join(str(number) for number in numbers) or "none"
    answer = str(numbers)
    if answer not in question.options:
        raise UnknownNameError.of(f"answer to {question.name!r}", answer, question.options)
    return answer


def _finite(question: Question, value: object, asked: bool) -> float | str:  # object: as in reveal
    """The number that was measured; a text only if the cell of the question did not run."""
    if isinstance(value, str) and not asked:
        return value
    try:
        answer = float(value)  # type: ignore[arg-type]  # whatever is not a number is refused
    except (TypeError, ValueError) as error:
        raise UnknownNameError(f"The answer to {question.name!r} must be a number, got {value!r}.") from error
    if not math.isfinite(answer):
        raise UnknownNameError(f"The answer to {question.name!r} must be a finite number, got {value!r}.")
    return answer


# ---- the quiz


@cache
def quiz_questions() -> dict[str, dict[str, Any]]:  # Any: TOML
    """Return the questions by name, in the order in which they are asked."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def quiz() -> None:
    """Ask the ten questions of the quiz; each answer is judged at once, with its explanation.

    In a notebook every question is a form with its answer folded below.  Elsewhere the text is printed.

    Examples
    --------
    >>> mx.course.quiz()   # doctest: +ELLIPSIS
    Predict: A csr array has 1,000 rows ...
    """
    for name, kept in quiz_questions().items():
        asked = predict(name, kept["question"], unit=kept.get("unit", ""), options=kept.get("options", ()))
        wrong = dict(kept["wrong"])
        answer = reveal(name, kept["answer"], wrong=wrong, within=kept.get("within"), because=kept["because"])
        show(asked)
        show(answer)
