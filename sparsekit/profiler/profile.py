"""A finished profile: records, totals, memory, and the ways to look at them."""

from __future__ import annotations

import os
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base import displays
from ..base.entry import entry
from ..base.errors import ProfilerError, UnknownNameError, expected
from ..base.files import failures_named, written
from ..base.formatting import counted, format_bytes, format_duration, format_percent
from ..base.tables import folded
from ..core import hooks
from . import table as tables
from .advice import advise, paragraphs
from .arguments import flag, most_rows, text, whole
from .differences import diff
from .distributed import distributed
from .group_by_line import PLACES, cell_memory, unplaced
from .groups import grouped
from .parts import combined
from .profile_file import ENDING, PAGE, check_name, write_columns
from .run_memory import RunMemory
from .stored import Stored
from .table import GROUPS, SORTS, Table, aggregate, totals_table
from .torch_gradients import gradients_table
from .trace import write_trace
from .what_if import what_if

if TYPE_CHECKING:
    from collections.abc import Callable

    from .advice import Advice
    from .columns import Columns
    from .differences import Diff
    from .distributed import Distributed
    from .source import RecordedRun
    from .stored import Process
    from .types import DeviceRow, MarkRecord, Record, TotalRow

#: Operators shorter than so many times what recording one takes are measured roughly.
SHORT = 20

#: What ``Profile.table`` tells of.
TABLES = ("operators", "ledger", "conversions", "transfers", "gradients", "devices")

#: Rows of a report's table of lines.
MOST_LINES = 50


class Profile:
    """What a profiler recorded, or a trace file holds.

    Times are in microseconds.  Points in time count from the start and leave out the time in which the profiler was paused.
    ``self`` times are never negative, and those of one thread never add up to more than ``wall``.
    """

    #: File, text and globals of the cell that was profiled.  object: any value
    _cell: tuple[str, str, dict[str, object]] | None = None

    def __init__(self, source: RecordedRun | Stored) -> None:
        self._source: RecordedRun | Stored = source

    def _data(self) -> Stored:
        return self._source.refresh()

    @property
    def tables(self) -> Columns:
        """All data of the profile as tables of columns, numpy arrays by name: ``prof.tables.events.duration``.

        ``prof.tables.strings`` has the texts that columns of numbers stand for; ``SCHEMA`` of ``profiler.columns`` describes each
        table.  Times are in nanoseconds.  The arrays belong to the profile: copy one before you change it.
        """
        return self._data().columns

    @property
    def records(self) -> list[Record]:
        """Every event that was kept, sorted by start, an event before those it contains.

        ``start``, ``duration`` and ``self`` are in microseconds.  Records share the descriptions of their arrays and
        attributes: copy a record before you change it.
        """
        return self._data().records

    @property
    def wall(self) -> float:
        """Time that was profiled, in microseconds."""
        return float(self._data().wall)

    @property
    def accounted(self) -> float:
        """Share of the wall time covered by operators, spans of the library and the profiler itself, 0 to 1."""
        return float(self._data().accounted)

    @property
    def events(self) -> int:
        """Number of events, including those folded into totals."""
        return int(self._data().events)

    @property
    def environment(self) -> dict[str, str]:
        """Versions of the packages that took part."""
        return dict(self._data().environment)

    @property
    def totals(self) -> list[TotalRow]:
        """Exact totals by operator and lane.

        Keys: ``name lane calls total self min max mean bytes flops dense_flops``; times are in microseconds.  ``total``
        includes the operators called inside, and ``self`` does not.  Compilation is an event of its own, so no operator's
        times include it.
        """
        return aggregate(self.tables, ("name", "lane"))

    @property
    def ledger(self) -> list[hooks.Densification]:
        """Each implicit conversion of a sparse array to a dense one, as ``Densification``; the first 100,000.

        ``kind`` is ``"fallback"`` if no kernel takes the storage types.  It is ``"dense by nature"`` if the operator has a
        dense result for a sparse input, such as ``csr + 1``.  The ledger has no explicit conversions, such as ``tostype``, and
        no products, reductions and look-ups, whose dense result is intended.  ``asnumpy`` and ``asscipy`` copy data out of the
        library: they are events of the transfer lane, with their bytes.
        """
        return [record for _, _, record in self._data().densifications]

    @property
    def densified(self) -> int:
        """Number of implicit conversions from sparse to dense, including those that the ledger does not keep in full."""
        return int(self._data().densified)

    @property
    def _densified_by_kind(self) -> dict[str, int]:
        """The same by kind; a kind that a file says and nobody knows counts as ``"fallback"``."""
        tables, counts = self.tables, dict.fromkeys(hooks.KINDS, 0)
        for kind, times in zip(tables.texts(tables.ledger.kind), tables.ledger.times.tolist(), strict=True):
            counts[kind if kind in counts else hooks.FALLBACK] += times
        return counts

    @property
    def marks(self) -> list[MarkRecord]:
        """Markers and counter values: ``kind name time value unit thread line``; the first 100,000 of them.

        ``time`` is in microseconds.  Marks of a ``profiler.Domain`` are named ``domain::name``.
        """
        return list(self._data().marks)

    @property
    def memory(self) -> RunMemory:
        """Memory as plain data: ``peak_bytes peak_time samples idle_bytes at_peak process_peak_bytes``.

        In a notebook it shows itself; ``memory.figure()`` gives the figure.

        It counts the arrays of the library that took part in the run.  ``idle_bytes`` is the size of the parameters and other
        arrays that existed but were not used.  ``process_peak_bytes`` is the peak of the whole process since its start, or
        None if the system does not report it.  If compiled steps ran, ``table_bytes`` is the memory that they keep
        between runs; an array in this memory counts while it is in use.
        """
        return RunMemory(Profile(self._data()))

    def diff(self, other: Profile | list[Profile] | tuple[Profile, ...]) -> Diff:
        """What changed in a later run, in calls, bytes and storage types: ``before.diff(after)``; see ``profiler.diff``."""
        return diff(self, other)

    what_if = what_if

    def advice(self) -> Advice:
        """Findings of fixed rules in this profile: the event, the reason, the expected saving, and a lesson to read."""
        return advise(self)

    # object: whatever the step returns; Any: Fixes, a layer above
    def try_fixes(self, step: Callable[[], object] | None = None, *, steps: int = 3, tolerance: float = 1e-4,
                  timeout: float = 600.0) -> Any:  # Any: as above
        """Try the remedies of the advice on the text of the program, and return the fixes, their savings and a patch.

        The edited text runs in processes of its own, and the program itself does not change.  See
        ``sparsekit.fixes.try_fixes``.

        Parameters
        ----------
        step : callable, optional
            A function without arguments that runs one step of training, or a loop of several.  The default is the cell that
            ``%%profile`` ran.
        steps, tolerance, timeout
            As in ``sparsekit.fixes.try_fixes``.

        Returns
        -------
        Fixes
            ``table()`` and ``figure()`` show the savings.  ``patch`` is a unified diff, and ``apply()`` applies it.
            ``contract()`` is the text of a test.

        Raises
        ------
        ProfilerError
            If no step is given and the profile knows none.
        """
        return displays.call("try_fixes", self._step_of(step), self, steps=steps, tolerance=tolerance, timeout=timeout)

    def _remember(self, file: str, text: str, names: dict[str, object]) -> None:  # object: globals
        """Keep the cell that was profiled, for ``try_fixes()`` without a step."""
        self._cell = file, text, names

    def _step_of(self, step: Callable[[], object] | None) -> Callable[[], object]:  # object: as above
        if step is not None:
            return step
        if self._cell is None:
            raise ProfilerError("This profile does not know the code that it recorded.",
                                hint="give the step: prof.try_fixes(step), a function without arguments.")
        cell: Callable[[], object] = displays.call("cell_step", *self._cell)  # object: as above
        return cell

    @property
    def gradient_rows(self) -> dict[str, int]:
        """Most rows that a row_sparse gradient stored, by parameter."""
        return dict(self._data().gradient_rows)

    def table(self, sort_by: str = "self", group_by: str = "op", ascending: bool | None = None,
              rows: int | None = None, of: str = "operators") -> Table:
        """Aggregate the events, or tell of some of them.

        ``moved`` is the bytes that operators read and write, from the sizes of arrays.  Each array that an operator reads counts
        once, with its indices if it is sparse, and each array that it writes counts once.  An array that it reads and writes,
        such as the weight and the states of an optimizer's step, counts twice.  A lazy step counts the rows that it visits.

        Parameters
        ----------
        sort_by : {"self", "total", "avg", "min", "max", "count", "bytes", "flops", "name"}
        group_by : {"op", "layer", "lane", "storage", "op+layer", "line", "cell", "process", "op+process"}
            ``"line"`` is the line of your code that called the operator.  A backward operator has the line of its forward
            operator.  ``"cell"`` is the notebook cell (``In [3]``) or the file of that line.  Its rows also have the peak of the
            memory in the cell, and the bytes that its operators allocated and did not free.  The lines of folded events are no
            longer known: these events share one row, and the footer says so.
            ``"process"`` has one row for each process and lane of a merged profile.
        ascending : bool, optional
            By default numbers are sorted in descending order, and names in ascending order.
        rows : int, optional
            Show only the first rows.
        of : {"operators", "ledger", "conversions", "transfers", "gradients", "devices"}
            ``"ledger"``: sparse arrays that silently became dense, by operator, line, storage types and shape, with what to do.
            ``"conversions"``: all changes of storage type, those that the program asks for too.
            ``"transfers"``: copies between devices, from and to Python, numpy and scipy, and reads of data, with their rates.
            ``"gradients"``: nonzero rows of PyTorch's gradients by parameter, as ``Profiler(torch=True)`` counts them: for dense
            gradients of two axes or more and 4 kB or more, after the first, second, fourth, eighth … backward pass, and columns
            where a weight has more columns than rows; for a sparse gradient the stored rows, of which some may be the same.
            ``"devices"``: time on GPUs, measured there by events, by operator and context.  The call waits for unfinished work.
            The time is that from the start of an operator's first work to the end of its last.  ``queuing`` is the time that the
            processor took to queue this work; where the time is not longer, the device waited for the processor in between.
            The other parameters are for operators.

        Raises
        ------
        UnknownNameError
            If ``sort_by``, ``group_by`` or ``of`` is not one of those.
        ProfilerError
            If another table than that of operators is to be sorted or grouped, ``ascending`` is neither True nor False, or
            ``rows`` is not an integer of at least 0.
        """
        UnknownNameError.check("table", of, TABLES)
        UnknownNameError.check("grouping", group_by, GROUPS)
        UnknownNameError.check("sort key", sort_by, SORTS)
        if ascending is not None:
            flag("ascending", ascending)
        most_rows(rows)
        if of != "operators":
            if (sort_by, group_by, ascending, rows) != ("self", "op", None, None):
                raise ProfilerError(f"The table of {of!r} has its own order and rows, and cannot be sorted, grouped or cut.",
                                    hint="sort its rows: table(of=…).rows is a list of dict.")
            return self._special_table(of)()
        columns, footer, memory = self.tables, self._footer(), None
        own = None if "process" in group_by else self._own_cost(group_by)
        if group_by in PLACES:
            memory = cell_memory(columns) if group_by == "cell" else None
            footer = f"{footer} {unplaced(columns)}".strip()
        return totals_table(columns, sort_by, group_by, ascending, rows, footer, memory, own)

    def _special_table(self, of: str) -> Callable[[], Table]:
        data = self._data()
        return {"ledger": lambda: tables.ledger_table(data), "conversions": lambda: tables.conversions_table(data.records),
                "transfers": lambda: tables.transfers_table(self.totals), "gradients": lambda: gradients_table(data.records),
                "devices": lambda: tables.devices_table(self._device_rows())}[of]

    def _device_rows(self) -> list[DeviceRow]:
        """Time on GPUs; only a profiler measures it."""
        return []

    @property
    def processes(self) -> list[Process]:
        """The processes of a merged profile: ``name kind number offset error about``; other profiles have none.

        ``error`` is the largest error of a process's clock in microseconds, relative to the first server.
        """
        return [part.process for part in self._data().parts]

    def process(self, name: str) -> Profile:
        """One process of a merged profile, such as ``"worker 0"``; its times are still those of the merged profile.

        Raises
        ------
        UnknownNameError
            If there is no process of that name.
        """
        parts = {part.process.name: part for part in self._data().parts}
        UnknownNameError.check("process", name, parts)
        return Profile(Stored(combined([parts[name]])))

    def distributed(self) -> Distributed:
        """Bytes that a distributed run moved between workers and servers, by process, key and server, and the waiting times.

        It shows itself as a picture of the rows that cross in a step, at true scale against the whole table, and tables.

        Raises
        ------
        ProfilerError
            If the profile has no exchange with a server.
        """
        return distributed(self._data())

    def _own_cost(self, group_by: str) -> TotalRow | None:
        """The row of what the profiler itself took, as if each event had taken the same; None if nothing was recorded."""
        data = self._data()
        if not data.events:
            return None
        each = data.overhead / data.events
        names: TotalRow = {"line": "(the profiler)", "cell": "(the profiler)"} if group_by in PLACES else {
            "name": "recording", "lane": "profiler", "layer": "", "storage": ""}
        return {**names, "calls": data.events, "total": data.overhead, "self": data.overhead, "min": each, "max": each,
                "mean": each, "bytes": 0, "flops": 0, "dense_flops": 0}

    def _footer(self) -> str:
        data = self._data()
        if not data.wall and not data.events:
            return f"Nothing was recorded.{self._idle()}"
        text = f"{format_duration(data.wall)} of wall time, {format_percent(data.accounted)} accounted for."
        if data.overhead:
            text += f" The profiler's own cost is estimated at {format_duration(data.overhead)}"
            each = data.overhead / max(1, data.events)
            calls, short = self._shorter_than(SHORT * each)
            text += (f", {format_duration(each)} an event: {format_percent(short / calls)} of the operators take less than "
                     f"{SHORT} times that, so rely on their sums rather than on single times." if short > calls / 2 else ".")
        if data.folded:
            text += f" {counted(data.folded, 'older event', 'are')} in these totals only."
        if data.more_marks:
            text += f" {counted(data.more_marks, 'later mark', 'are')} not kept."
        if data.more_densifications:
            number = sum(data.more_densifications.values())
            text += f" {counted(number, 'later densification', 'are')} in the ledger's table only."
        return text + self._idle()

    def _shorter_than(self, time: float) -> tuple[int, int]:
        """Number of operators, and of those whose mean is below ``time`` microseconds."""
        groups = grouped(self.tables, "name", "lane", "layer", "storage")
        calls = groups["calls"] * (groups["storage"] > 0)
        return int(calls.sum()), int(calls[groups["total"] < time * 1000 * groups["calls"]].sum())

    def timeline(self, title: str = "", window: tuple[float, float] | None = None, rows: int = 12) -> Any:  # Any: a layer above
        """A picture of when each operator ran, on a true scale of time.

        Colour says what the arrays of an operator are: dense, stored sparse, or none that matters.  An arrow goes from an
        operator that made a sparse array dense to each that reads it.  Runs that ``profiler.merge`` put together begin
        together; workers and servers of a run on many machines are on one clock.

        Parameters
        ----------
        title : str, optional
        window : pair of float, optional
            Show only what began between two times, in microseconds as in ``records``.
        rows : int
            Rows of operators in the table.

        Returns
        -------
        figures.kit.Figure
            The picture and its table; ``live()`` gives the same timeline to zoom, to search in and to ask.

        Raises
        ------
        ProfilerError
            If ``title`` is not a text, such as another profile, ``window`` no pair of times, or ``rows`` no number of rows.

        Examples
        --------
        >>> import sparsekit as mx
        >>> with mx.Profiler() as prof:
        ...     _ = mx.nd.ones((2, 3)) + 1
        >>> prof.timeline().title
        'Where the time goes'
        """
        title = text("title", title, "mx.profiler.merge({'one': prof, 'other': another}).timeline() draws several runs.")
        whole("rows", rows)
        if window is not None and not (isinstance(window, (tuple, list)) and len(window) == 2
                                       and all(isinstance(end, Real) for end in window) and window[0] < window[1]):
            raise ProfilerError(expected("window", "a pair of times in microseconds, the earlier one first", window),
                                hint="window=(0, prof.wall) is all of it.")
        return displays.call("timeline_figure", self.tables, title, window, int(rows))

    def graph(self, title: str = "") -> Any:  # Any: a display, a layer above
        """A picture of the first forward pass of a PyTorch program: layouts and bytes of all tensors, and what became dense.

        It has at most 400 operators, and ends where the first backward pass or update begins.

        Returns
        -------
        figures.kit.Figure
            The picture and its table; ``live()`` gives the same graph to search in and to ask.

        Raises
        ------
        ProfilerError
            If the profile has no graph, or ``title`` is not a text.
        """
        title = text("title", title)
        nodes = self._data().graph
        if not nodes:
            raise ProfilerError("There is no graph in this profile.",
                                hint="Profiler(torch=True) records the graph of a PyTorch program; net.graph(batch) draws a "
                                     "block of this library.")
        return displays.call("graph_figure", {"nodes": nodes}, title=title or "The first forward pass")

    @entry
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the profile to a file, completely or not at all.

        Parameters
        ----------
        path : path
            Its ending says what is written.  ``.npz``: all of the profile, the columns of ``tables``, which ``mx.profiler.load``
            and ``numpy.load`` read.  ``.html``: a report with timeline, memory and tables that needs neither network nor kernel.
            ``.json`` or ``.json.gz``: a Chrome trace, which Perfetto and other viewers open.

        Returns
        -------
        pathlib.Path
            ``path``.

        Raises
        ------
        DataFileError
            If the name has another ending, or the file cannot be written.
        """
        name = check_name(path)
        with failures_named(path), written(path) as stream:
            if name.endswith(PAGE):
                stream.write(displays.call("html_page", "Profile", self._report()).encode())
            elif name.endswith(ENDING):
                write_columns(self.tables, stream)
            else:
                write_trace(self, stream, name.endswith(".gz"))
        return Path(path)

    def _report(self) -> list[tuple[str, object]]:  # object: a report shows text, tables and displays
        """The sections of a report; where nothing was recorded there is only a summary, which says why."""
        if not self._data().events and not self.marks:
            return [("Summary", self.summary())]
        # Memory and lines are looked up in the records; what follows needs none, and takes memory of its own.
        there = Profile(self._data().aside())
        memory = there.memory.figure()
        places = [there.table(group_by=by, rows=MOST_LINES).plain() for by in ("cell", "line")
                  if any(record["line"] for record in there.records)]
        advice, gradients = there.advice(), there.table(of="gradients")
        advised = paragraphs(advice)
        del there, advice
        sections: list[tuple[str, object]] = [  # object: as above
            ("Summary", self._above_the_fold()), ("Memory", memory),
            ("Operators", self.table().plain()), ("By storage types", self.table(group_by="storage").plain())]
        if self._data().parts:
            sections.append(("By process", self.table(group_by="process").plain()))
            if any(record["lane"] == "exchange" for record in self.records):
                sections.append(("Exchanged", self.distributed().sections()))
        if places:
            sections.append(("By cell or file, and line", places))
        if self.densified:
            sections.append(("Became dense", self.table(of="ledger").plain()))
        if gradients.rows:
            sections.append(("Gradients", gradients.plain()))
        sections.append(("Advice", advised))
        return sections

    def _above_the_fold(self) -> list[object]:  # object: a report shows text, tables and displays
        """The one number of a report, its words and its picture."""
        moved = format_bytes(sum(row["bytes"] for row in self.totals))
        return [{"headline": f"{moved} moved", "words": self.summary()}, self.timeline()]

    def summary(self) -> str:
        """The profile in two sentences."""
        data = self._data()
        if not data.wall and not data.events:
            return f"Nothing was recorded.{self._idle()}"
        peak = data.memory.get("peak_bytes", 0)
        dense = f"{counted(data.densified, 'sparse array')} silently became dense"
        natural = self._densified_by_kind[hooks.NATURAL]
        if natural:
            dense += f", {natural:,} of them by nature" if natural < data.densified else ", by nature"
        return (f"{counted(data.events, 'event')} in {format_duration(data.wall)}, "
                f"{format_percent(data.accounted)} of it accounted for. "
                f"Arrays held at most {format_bytes(peak)}; {dense}.{self._idle()}")

    def _idle(self) -> str:
        """Why there is nothing to see, where no operator ran."""
        return f" {displays.NO_OPERATORS}" if all(row["lane"] in displays.IDLE for row in self.totals) else ""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # object: IPython's, not used
        bundle = {"text/plain": f"{self.summary()}\n\n{self.table(rows=12)!r}"}
        try:
            bundle["text/html"] = self._html()
        except Exception:  # a display must not raise: fall back to text
            return bundle
        return bundle

    def _html(self) -> str:
        parts = [self.timeline().html(), self.memory.figure().html(),
                 folded(self.table(rows=12).html, "The operators as a table")]
        if self.densified:
            parts.append(folded(self.table(of="ledger").html, "What became dense, as a table"))
        gradients = Profile(self._data().aside()).table(of="gradients")
        if gradients.rows:
            parts.append(folded(gradients.html, "Gradients as a table"))
        return "\n".join(parts)
