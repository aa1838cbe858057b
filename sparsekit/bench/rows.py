"""A declarative benchmark: rows say what is set up, by whom, what is measured, and what all must compute alike."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from statistics import median
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import SparsekitError
from .harness import Session, Values, Worker, require_same, start_own, start_rivals

#: The numbers that tell results apart, by operation and form.
Totals = dict[str, dict[str, list[float]]]


class Who(NamedTuple):
    """A process of this library: further words of ``load``, environment variables, and its Python."""

    words: tuple[object, ...] = ()
    settings: Mapping[str, str] = MappingProxyType({})
    python: str = sys.executable


class Table(NamedTuple):
    """What is measured of a row, or counted.

    Attributes
    ----------
    heading, unit : str
        The heading is formatted with what ``Row.write`` returned.
    operation : str
        Operation of the case.
    forms : tuple of str, optional
        Forms of this library that take part; all by default.
    under : mapping of str to str
        Profilers that watch the first process, by the name of their row; in place of contenders.
    once : str
        A command that counts bytes, for a table in MB of values that are asked once, in place of ``operation``.
    amount : str
        If given, the fact whose value is divided by seconds, for a unit such as MB/s.
    turn : float
        Milliseconds that a measurement takes at least, by repeating it.
    against : str
        Row that others are compared with; by default the first, if there are rivals.
    fact : callable, optional
        What makes the line below the table of an ``Around``.
    rounds : int
        How many times as many measurements as others it has.
    added : bool
        Whether a second table has what each row adds to an operator, compared with the first row.
    """

    heading: str
    operation: str = ""
    unit: str = "ms"
    forms: tuple[str, ...] | None = None
    under: Mapping[str, str] = MappingProxyType({})
    once: str = ""
    amount: str = ""
    turn: float = 0.0
    against: str = ""
    fact: Callable[[Around], str] | None = None
    rounds: int = 1
    added: bool = False


class Row(NamedTuple):
    """A workload.

    Attributes
    ----------
    case : str
        The module and function of this package that sets it up.
    tables : tuple of Table
    write : callable, optional
        Writes what all read to a path, and returns facts for headings.
    words : tuple
        Further words of ``load``, for rivals too.
    own : mapping of str to Who
        Processes of this library, by name.
    rivals : str
        Kind of the scripts of rivals, such as ``"arrays"``; empty if none can take part.
    joint : str
        What is between the name of a process and that of a form.
    rtol, atol : float
        How far results may be apart; ``atol`` is a share of the last number.
    oracle : callable, optional
        Gives the numbers of an operation's result by numpy and scipy, or None.
    formed : bool
        Whether the names of rivals say what they use.
    smaller : str
        Ending of a smaller file that is loaded first, whose peak of memory is subtracted.
    """

    case: str
    tables: tuple[Table, ...]
    write: Callable[[str], Mapping[str, Any] | None] | None = None
    words: tuple[object, ...] = ()
    own: Mapping[str, Who] = MappingProxyType({"sparsekit": Who()})
    rivals: str = ""
    joint: str = " "
    rtol: float = 1e-3
    atol: float = 0.0
    oracle: Callable[[str, Mapping[str, Any]], Sequence[float] | None] | None = None
    formed: bool = False
    smaller: str = ""


class Around(NamedTuple):
    """What a fact may use: the measurements of the table, the first process, the path of the data, and facts."""

    session: Session
    values: Values
    worker: Worker
    table: Table
    path: str
    facts: Mapping[str, Any]

    @property
    def first(self) -> tuple[str, float]:
        """The first contender, and the median of its measurements."""
        name, values = next(iter(self.values.items()))
        return name, median(values)

    @property
    def parts(self) -> Mapping[str, Any]:
        """The arrays of the row."""
        stored: Mapping[str, Any] = np.load(self.path)
        return stored


def run_rows(session: Session, rows: Sequence[Row]) -> None:
    """Measure every row with processes of its own, and add its tables to the report."""
    for row in rows:
        path = str(session.folder / "data.npz")
        facts = dict((row.write(path) if row.write else None) or {})
        with ExitStack() as stack:
            workers = {name: stack.enter_context(start_own(who.settings, who.python)) for name, who in row.own.items()}
            words = {name: (row.case, *who.words) for name, who in row.own.items()}
            others = {}
            for name, worker in (start_rivals(session.rivals, stack, row.rivals) if row.rivals else {}).items():
                info = worker.ask("info")
                session.note_versions(name, info)
                others[f"{name} {info['form']}" if row.formed else name] = worker
            before = dict.fromkeys([*workers, *others], 0.0)
            if row.smaller:
                _load(row, workers, others, words, path + row.smaller)
                before = {name: worker.ask("peak") for name, worker in {**workers, **others}.items()}
            loaded = _load(row, workers, others, words, path)
            session.report.notes += [f"{name} cannot do {operation}: {why}" for name, answer in loaded.items()
                                     for operation, why in answer["failed"].items()]
            forms: dict[str, Totals] = {name: answer["forms"] for name, answer in loaded.items()}
            check(row, forms, path)
            for table in row.tables:
                _add(session, row, table, {**workers, **others}, forms, path, facts, before)


def _load(row: Row, own: Mapping[str, Worker], others: Mapping[str, Worker], words: Mapping[str, tuple[object, ...]],
          path: str) -> dict[str, Any]:
    """Load a path in all processes, and return their answers by name."""
    return {**{name: worker.ask("load", words[name][0], path, *row.words, *words[name][1:]) for name, worker in own.items()},
            **{name: worker.ask("load", path, *row.words) for name, worker in others.items()}}


def check(row: Row, forms: Mapping[str, Totals], path: str = "") -> None:
    """Raise ``SparsekitError`` if a process computes another result than the first, or the first than the oracle."""
    first, *_ = forms.values()
    for operation, forms_of_own in first.items():
        expected = next(iter(forms_of_own.values()))
        right = row.oracle(operation, np.load(path)) if row.oracle else None
        if right is not None and not np.allclose(right, expected, row.rtol, row.atol * abs(right[-1])):
            raise SparsekitError(f"sparsekit returns {expected} for {operation}, numpy and scipy {list(right)}.",
                                 hint="this is a defect of the kernels: please report it with the name of the device.")
        for name, totals in forms.items():
            for form, numbers in totals.get(operation, {}).items():
                if numbers and expected:
                    require_same(f"{name} {form}".strip(), f"returns for {operation}", numbers, expected, row.rtol,
                                 row.atol * abs(expected[-1]))


def _add(session: Session, row: Row, table: Table, workers: Mapping[str, Worker], forms: Mapping[str, Totals], path: str,
         facts: Mapping[str, Any], before: Mapping[str, float]) -> None:
    """Measure the contenders of one table and add it."""
    heading, first = table.heading.format(**facts), next(iter(workers.values()))
    if table.once:
        words = table.once.split()
        values = {name: (worker.ask(*words) - before[name]) / 1e6 for name, worker in workers.items()}
        session.once(heading, "MB", values, table.against or (session.against if session.against in values else ""))
        return
    if table.under:
        measures = {name: partial(first.ask, "under", profiler, table.operation, *(table.forms or ())) for name, profiler in
                    table.under.items()}
    else:
        measures = {}
        for name, worker in workers.items():
            for form in forms[name].get(table.operation, {}):
                if table.forms is None or name not in row.own or form in table.forms:
                    words = [*(("mean", table.turn) if table.turn else ()), "time", table.operation, form.replace(" ", "_")]
                    shown = form.replace("_", " ")
                    measures[f"{name}{row.joint}{shown}" if shown else name] = partial(worker.ask, *words)
    if table.amount:
        measures = {name: partial(_rate, facts[table.amount], measure) for name, measure in measures.items()}
    compared = table.against or (next(iter(measures)) if (session.rivals and row.rivals) and len(measures) > 1 else "")

    def fact(values: Values) -> str:
        return table.fact(Around(session, values, first, table, path, facts)) if table.fact else ""

    timed = session.table(heading, table.unit, measures, compared, fact, rounds=table.rounds * session.report.rounds)
    if table.added:
        _add_added(session, heading, timed, first.ask("operators", table.operation), compared)


def _rate(amount: float, measure: Callable[[], float]) -> float:
    return amount / measure()


def _add_added(session: Session, heading: str, values: Values, operators: int, against: str) -> None:
    """Add a table of what each contender adds to an operator of the first."""
    plain, *others = values
    costs = {name: [1000 * (own - base) / operators for own, base in zip(values[name], values[plain], strict=True)]
             for name in others}
    session.report.add(f"what recording adds to an operator, {heading.removeprefix('a step, ')}", "µs", costs, against=against,
                       fact=f"the difference to a step without a profiler, {median(values[plain]):.3f} ms, by its {operators} "
                            "operators")
