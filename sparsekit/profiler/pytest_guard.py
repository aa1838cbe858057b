"""What the pytest plugin does: profile a test, hold it to the contracts of its markers, make the rows of a table.

The plugin, ``pytest_sparsekit``, imports this for the first test that is profiled; nothing here imports pytest.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..base.errors import ContractError, ProfilerError, SparsekitError, UnknownNameError, expected
from ..base.formatting import format_bytes, format_count, format_duration
from .arguments import check_arguments
from .contracts import CONTRACTS, Expectation, expect
from .profiler import Profiler, check_options
from .table import Table

if TYPE_CHECKING:
    from ..base.types import JSON
    from .types import Record

#: Options that the marker ``sparse_profile`` takes.
OPTIONS = ("capacity", "lines", "torch")

#: Pieces of advice that a broken contract shows.
ADVICE = 3

_COLUMNS = (("test", "test", str), ("operators", "operators", format_count), ("in operators", "time", format_duration),
            ("peak", "peak", format_bytes), ("densified", "densified", format_count), ("first densification", "first", str))


class Mark(Protocol):
    """A marker of pytest."""

    name: str
    args: tuple[object, ...]  # object: what the user gave, as below
    kwargs: Mapping[str, object]


class Asked(NamedTuple):
    """One contract: the name of a method of ``Expectation``, and its arguments."""

    name: str
    args: tuple[Any, ...]  # Any: arguments that have been checked, as below
    kwargs: dict[str, Any]


def mistake(mark: Mark) -> str:
    """What is wrong with the arguments of a marker; empty if nothing is."""
    try:
        _options(mark) if mark.name == "sparse_profile" else _contracts(mark)
    except SparsekitError as error:
        return f"{mark.name}({_written(mark)}): {error}"
    return ""


def _written(mark: Mark) -> str:
    return ", ".join([*map(repr, mark.args), *(f"{name}={value!r}" for name, value in mark.kwargs.items())])


def _by_name(mark: Mark) -> None:
    if mark.args or not mark.kwargs:
        raise ProfilerError(f"The marker {mark.name} takes at least one argument, and each by its name.",
                            hint='@pytest.mark.sparse_contract(no_densify=True, peak_below="2 MB"), for instance.')


def _options(mark: Mark) -> dict[str, Any]:  # Any: options of Profiler, which checks them
    _by_name(mark)
    for name in mark.kwargs:
        UnknownNameError.check("option", name, OPTIONS)
    check_options(**mark.kwargs)
    return dict(mark.kwargs)


def _contracts(mark: Mark) -> list[Asked]:
    """The contracts that a marker asks for.

    The value of a name is the argument of the contract, a tuple or a dict of its arguments, True if it takes none, or a list of
    such values.
    """
    _by_name(mark)
    asked = []
    for name, value in mark.kwargs.items():
        if name == "torch":
            if value is not None and not isinstance(value, bool):
                raise ProfilerError(expected("torch", "True, False or None", value),
                                    hint="None records PyTorch if it is imported.")
        else:
            UnknownNameError.check("contract", name, (*CONTRACTS, "torch"))
            asked += [_asked(name, item) for item in (value if isinstance(value, list) else [value])]
    if not asked:
        raise ProfilerError("The marker sparse_contract has no contract.", hint=f"contracts are {', '.join(CONTRACTS)}.")
    return asked


def _asked(name: str, value: object) -> Asked:  # object: what the user gave
    if value is False:
        raise ProfilerError(f"{name}=False promises nothing.", hint=f"leave {name} out.")
    # object: as above
    args: tuple[object, ...] = value if isinstance(value, tuple) else () if value is True or isinstance(value, dict) else (value,)
    kwargs = value if isinstance(value, dict) else {}
    method = getattr(Expectation, name)
    try:
        check_arguments(method, args, kwargs)
    except TypeError as error:
        taken = ", ".join(str(parameter) for parameter in list(inspect.signature(method).parameters.values())[1:])
        raise ProfilerError(f"The arguments of {name} do not fit: {error}.", hint=f"it takes ({taken}): one value, a tuple or a "
                            "dict of them; True for none.") from None
    return Asked(name, args, kwargs)


class _Background(Profiler):
    """Records a test that did not ask for it: it pauses while a profiler of the test's own records."""

    _gives_way = True


class Guard:
    """Profiles one test, in the background if neither its markers nor its fixtures ask for that.

    Parameters
    ----------
    marks : iterable of Mark
        Those of the test named ``sparse_contract`` and ``sparse_profile``.
    fixture : bool
        Whether the test takes the fixture ``sparse_profile``.

    Attributes
    ----------
    profiler : Profiler
    """

    def __init__(self, marks: Iterable[Mark], fixture: bool) -> None:
        self._asked: list[Asked] = []
        torch, options = None, {}
        for mark in reversed(list(marks)):  # that of a function comes before that of its class or module
            if mark.name == "sparse_profile":
                options.update(_options(mark))
            else:
                self._asked += _contracts(mark)
                torch = mark.kwargs.get("torch") if torch is None else torch or bool(mark.kwargs.get("torch"))
        if torch is not None:
            options["torch"] = torch
        self._seen = bool(options.setdefault("torch", "torch" in sys.modules))
        self._torch_here = "torch" in sys.modules
        self.profiler = (Profiler if fixture or self._asked else _Background)(**options)

    def begin(self) -> None:
        """Record from now on, unless it has begun already."""
        if self.profiler.state == "new":
            try:
                self.profiler.start()
            except ProfilerError:  # a profiler of a fixture records
                if not self.profiler._gives_way:
                    raise

    def end(self) -> None:
        """Record no longer."""
        self.profiler.stop()

    def broken(self) -> str:
        """What contracts are broken, with events and remedies; empty if all hold."""
        if not self._asked:
            return ""
        if not self._seen and not self._torch_here and "torch" in sys.modules:
            return ("PyTorch was imported during the test, so its operators were not recorded.\n"
                    "Hint: import it at the top of the file, or say sparse_contract(torch=True); torch=False leaves it out.")
        said = [text for asked in self._asked if (text := _broken(self.profiler, asked))]
        return "\n".join([*said, *_advice(self.profiler)]) if said else ""

    def row(self) -> dict[str, JSON] | None:
        """The row of the test in the table, as plain data; None if no operator ran, or if nothing was recorded."""
        profile = self.profiler
        if profile.state == "new":
            return None
        totals = [row for row in profile.totals if row["lane"] not in ("user", "profiler", "compile", "io")]
        if not totals:
            return None
        first = next(iter(profile.ledger), None)
        return {"operators": sum(row["calls"] for row in totals), "time": sum(row["self"] for row in totals),
                "peak": profile.memory["peak_bytes"], "densified": profile.densified,
                "first": "" if first is None else f"{first.op} at {first.line or 'an unknown line'}"}


def _broken(profile: Profiler, asked: Asked) -> str:
    """What a broken contract says, with the event that counts for most; empty if it holds."""
    try:
        getattr(expect(profile), asked.name)(*asked.args, **asked.kwargs)
    except ContractError as error:
        event = None if "densify" in asked.name else _event(profile, asked)
        where = "" if event is None else f"\nEvent: {_place(event)}"
        return f"{error.message}{where}" + (f"\nHint: {error.hint}" if error.hint else "")
    return ""


def _event(profile: Profiler, asked: Asked) -> Record | None:
    """The event that a contract is broken by, for the most part."""
    operators = [record for record in profile.records if record["kind"] == "op"]
    if asked.name == "peak_below":
        until = float(profile.memory["peak_time"])
        return next((record for record in reversed(operators) if record["start"] <= until), None)
    arguments = {**dict(zip(_NAMES.get(asked.name, ()), asked.args, strict=False)), **asked.kwargs}
    records = [record for record in operators if arguments.get("op") in (None, record["name"])
               and arguments.get("lane") in (None, record["lane"])]
    if asked.name in ("grad_rows", "update_rows"):
        records = [record for record in records if record["lane"] == "update"]
    return max(records, key=lambda record: record["bytes"], default=None)


#: The first parameters of contracts that name an operator.
_NAMES = {"calls": ("op",), "storage": ("op",)}


def _place(event: Record) -> str:
    layer = f" in {event['layer']}" if event["layer"] else ""
    line = f" at {event['line']}" if event["line"] else ""
    return f"{event['name']} ({event['lane']}){layer}{line}, {format_bytes(event['bytes'])} read and written"


def _advice(profile: Profiler) -> list[str]:
    """What the profile advises, without what has to do with time."""
    findings = [finding for finding in profile.advice() if finding.rule not in ("compilation", "reading", "between_operators")]
    return [f"Advice: {finding.reason} {finding.where}. {finding.remedy}" for finding in findings[:ADVICE]]


def table(rows: list[dict[str, Any]]) -> str:  # Any: as in Guard.row
    """The table at the end of a run, as text."""
    footer = f"{format_count(len(rows))} tests ran operators; fixtures and profilers of a test's own are not included."
    return repr(Table.of(rows, _COLUMNS, footer)) if rows else "No test ran operators of sparsekit or of PyTorch."
