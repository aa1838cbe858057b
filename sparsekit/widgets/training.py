"""A monitor of a training loop: loss, rows touched, density of the gradients, and time by phase, step by step."""

from __future__ import annotations

import functools
import math
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol, Self, overload

from ..base import displays
from ..base.errors import MissingPackageError, ParameterError, UnsupportedError, expected
from ..base.formatting import format_count, format_density, format_duration, format_share, number
from ..base.scoped import Scoped
from .charts import Line
from .display import Display
from .pack import plain
from .plots import DASHES, Sheet, drawing_on, legend_words, lines_on, number_axis, plain_text
from .svg import is_narrow, page_width, text_width
from .theme import MUTED, OTHER, PAPER, SERIES, ink_on

if TYPE_CHECKING:
    from types import ModuleType

    from matplotlib.axes import Axes

    from .live import TimelineWidget


__all__ = ["MOST_POINTS", "TrainingMonitor", "monitor", "monitor_figure", "monitor_payload"]

#: Points a curve may have; above twice that many, neighbours are merged into their mean.
MOST_POINTS = 400
#: Phases in the order in which they are drawn; others follow as they come, what no phase covers is last.
PHASES = ("read", "forward", "backward", "update")
REST = "rest"


class _Profile(Protocol):
    """What is used of a profiler."""

    @property
    def records(self) -> list[Any]: ...

    def step(self) -> None: ...


def monitor(trainer: object = None, title: str = "Training", live: bool | None = None, every: float = 0.5,
            profile: _Profile | None = None) -> TrainingMonitor:
    """Watch a training loop: detect its forward and backward passes, and with a trainer its updates.

    Parameters
    ----------
    trainer : gluon.Trainer, optional
        The monitor reads the trainer's gradients at each step, and counts the time of the step as "update".
    title : str, optional
    live : bool, optional
        Show a live view while the loop runs.  The default is True in a notebook if anywidget is installed.
    every : float
        Least number of seconds between two updates of the live view.  It is longer if updates are slow.
    profile : Profiler, optional
        Profiler that records the loop; each step of the monitor also ends a step of the profiler.  ``m.timeline(17)`` then opens
        the timeline of step 17, and ``m.timeline()`` that of the slowest step.

    Returns
    -------
    TrainingMonitor
        A context manager.  After the loop it shows the picture and the table.

    Examples
    --------
    >>> with sparsekit.widgets.monitor(trainer) as m:
    ...     for batch in m.watch(batches):
    ...         with mx.autograd.record():
    ...             loss = loss_of(net(batch.data[0]), batch.label[0])
    ...         loss.backward()
    ...         trainer.step(batch_size)
    ...         m.step(loss)
    """
    return TrainingMonitor(trainer, title, live, every, profile)


class TrainingMonitor(Scoped):
    """The result of ``monitor``: collects one point per step, and shows the points live if requested.

    Attributes
    ----------
    data : dict
        The collected data, as plain data: for ``monitor_figure`` and reports.
    """

    def __init__(self, trainer: Any = None, title: str = "Training", live: bool | None = None,
                 every: float = 0.5, profile: _Profile | None = None) -> None:
        self.profile = profile
        self._slowest = (0.0, 0)  # seconds and number of the slowest step after the first
        self.trainer, self.title, self.every = trainer, str(title), max(0.05, number(every, 0.5))
        self._live = live
        self._widget: Any = None
        self._handle: Any = None
        self._points: list[dict[str, Any]] = []
        self._weight = 1  # steps that a full point stands for
        self._pending: list[dict[str, Any]] = []
        self._steps = 0
        self._strange: list[int] = []
        self._phases: dict[str, float] = {}
        self._totals: dict[str, float] = {}
        self._seen: dict[str, float] = {}
        self._began = self._sent = self._wait = self._first = 0.0
        #: Seconds of this step that phases have counted, how many are open, and the passes that are: when they began, and
        #: what was counted by then.
        self._counted, self._open = 0.0, 0
        self._passes: list[tuple[float, float]] = []
        self._thread = 0

    # ---- around the loop

    def _before(self) -> tuple[object, object]:
        """The trainer's own ``step``, or None if it is its class's, and who watches the passes."""
        return getattr(self.trainer, "__dict__", {}).get("step"), displays.call("passes_watcher")

    def _enter(self, before: tuple[object, object]) -> Self:
        self._began = time.perf_counter()
        self._thread = threading.get_ident()
        displays.call("watch_passes", self._passed)
        self._wrap()
        if self._live or (self._live is None and _in_notebook()):
            self._show()
        return self

    def _leave(self, before: tuple[object, object], kind: type[BaseException] | None) -> None:
        step, watcher = before
        displays.call("watch_passes", watcher)
        with suppress(AttributeError, TypeError):
            if step is None:
                del self.trainer.step
            else:
                self.trainer.step = step

    def _after(self, before: tuple[object, object], kind: type[BaseException] | None) -> None:
        self._send(last=True)

    def _wrap(self) -> None:
        """Time the trainer's steps for as long as this block runs, and look at the gradients they use."""
        if self.trainer is None or not callable(getattr(self.trainer, "step", None)):
            return
        original = self.trainer.step

        @functools.wraps(original)
        def step(*args: int, **keywords: object) -> object:
            with self.phase("update"):
                result = original(*args, **keywords)
            self._look()
            return result

        self.trainer.step = step

    # ---- inside the loop

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time of a block as ``name``: ``with m.phase("loss"): ...``; do not nest them.

        The times of ``autograd.record()`` and ``backward()`` are counted as "forward" and "backward" automatically.
        """
        start = time.perf_counter()
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self._count(name, time.perf_counter() - start)

    def _count(self, name: str, seconds: float) -> None:
        self._phases[name] = self._phases.get(name, 0.0) + seconds
        self._counted += seconds

    def _passed(self, name: str, begins: bool) -> None:
        """Count a pass, but for what phases inside it count; within a phase, that counts all."""
        now = time.perf_counter()
        if threading.get_ident() != self._thread:
            return
        if begins:
            self._passes.append((now, self._counted) if not self._open else (math.nan, 0.0))
        elif self._passes:
            start, counted = self._passes.pop()
            # A pass that began before this step belongs to the step before it as well.
            seconds = now - max(start, self._began) - (self._counted - counted)
            if seconds > 0:  # not of nan
                self._count(name, seconds)

    def watch(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Give the batches one by one, and count the time it takes to get each as "read"."""
        batches = iter(batches)
        while True:
            with self.phase("read"):
                batch = next(batches, _END)
            if batch is _END:
                return
            yield batch

    def step(self, loss: object = None, **more: float) -> None:
        """End a step of training.

        Parameters
        ----------
        loss : float or array, optional
            Loss of the step.  Of an array the mean is used, and the call waits until it is computed.
        **more : float
            ``rows`` and ``density`` of the gradients, for a monitor without a trainer.
        """
        now = time.perf_counter()
        self._steps += 1
        value = _mean(loss)
        if loss is not None and value is None and len(self._strange) < 1000:
            self._strange.append(self._steps)
        spent = dict(self._phases)
        spent[REST] = max(0.0, now - self._began - sum(spent.values()))
        if self._steps == 1:
            self._first = sum(spent.values())
        if self._steps > 1:
            self._slowest = max(self._slowest, (sum(spent.values()), self._steps))
        if self._steps == 2:
            self._totals = {}  # the first step compiles: it is kept apart as soon as there is another
        for name, seconds in spent.items():
            self._totals[name] = self._totals.get(name, 0.0) + seconds
        point = {"step": self._steps, "loss": value, **self._seen, **{k: number(v) for k, v in more.items()},
                 "times": {name: seconds * 1e6 for name, seconds in spent.items()}}  # fmt: skip
        self._add(point)
        self._phases, self._seen, self._counted = {}, {}, 0.0
        self._passes = [(start, 0.0) for start, _ in self._passes]
        if self.profile is not None:
            self.profile.step()
        self._send()
        self._began = time.perf_counter()

    def timeline(self, step: int | None = None) -> TimelineWidget:
        """The live timeline of one step, of those that ``profile`` recorded.

        Parameters
        ----------
        step : int, optional
            Number of the step, from 1.  The default is the slowest step after the first.

        Returns
        -------
        TimelineWidget

        Raises
        ------
        UnsupportedError
            If the monitor has no profile.
        ParameterError
            If the step does not exist, or the profile no longer has its events.
        MissingPackageError
            If anywidget is not installed.
        """
        if self.profile is None:
            raise UnsupportedError("This monitor has no profile, so it has no timelines.",
                                   hint="with mx.Profiler() as prof, monitor(trainer, profile=prof) as m: …")
        wanted = self._slowest[1] if step is None else step
        records = self.profile.records
        spans = {record["attrs"]["step"]: record for record in records if record["name"] == "step" and "step" in record["attrs"]}
        number = max(spans, default=0) - self._steps + wanted if type(wanted) is int and 1 <= wanted <= self._steps else None
        if number not in spans:
            raise ParameterError(expected("step", f"a step from 1 to {self._steps} whose events are kept", step),
                                 hint="Profiler(capacity=…) says how many events are kept.")
        begin, end = spans[number]["start"], spans[number]["start"] + spans[number]["duration"]
        inside = [record for record in records if begin <= record["start"] < end]
        found: TimelineWidget = displays.call("TimelineWidget", inside, title=f"Step {wanted}")
        return found

    def _add(self, point: dict[str, Any]) -> None:
        self._pending.append(point)
        if len(self._pending) >= self._weight:
            self._points.append(_merge(self._pending))
            self._pending = []
        if len(self._points) >= 2 * MOST_POINTS:
            self._points = [_merge(self._points[i : i + 2]) for i in range(0, len(self._points), 2)]
            self._weight *= 2

    def _look(self) -> None:
        """Rows and stored values of the gradients; each is known, nothing is counted."""
        rows = all_rows = stored = size = 0
        sparse = False
        for gradient in _gradients(self.trainer):
            amount = math.prod(gradient.shape)
            size += amount
            if gradient.stype == "row_sparse":
                if not sparse:  # rows of dense gradients are not counted with these
                    rows = all_rows = 0
                sparse = True
                count = int(gradient.indices.shape[0])
                rows, all_rows, stored = rows + count, all_rows + gradient.shape[0], stored + gradient.nnz
            else:
                stored += amount
                if not sparse and gradient.shape:
                    rows, all_rows = rows + gradient.shape[0], all_rows + gradient.shape[0]
        if size:
            self._seen = {"rows": rows, "all_rows": all_rows, "density": stored / size}

    # ---- what there is to see

    @property
    def data(self) -> dict[str, Any]:
        """Everything seen so far, as plain data."""
        points = [*self._points, *([_merge(self._pending)] if self._pending else [])]
        phases = _order(self._totals)
        return {
            "total": self._steps,
            "merged": self._weight,
            "steps": [point["step"] for point in points],
            "loss": [point.get("loss") for point in points],
            "rows": [point.get("rows") for point in points],
            "all_rows": max((point.get("all_rows") or 0 for point in points), default=0),
            "density": [point.get("density") for point in points],
            "times": {name: [point["times"].get(name, 0.0) for point in points] for name in phases},
            "totals": {name: self._totals[name] * 1e6 for name in phases},
            "first": self._first * 1e6,
            "strange": list(self._strange),
            "slowest": [self._slowest[1], self._slowest[0] * 1e6] if self.profile is not None else [],
        }

    @property
    def static(self) -> Display:
        """The static picture and table of the data so far."""
        return monitor_figure(self.data, self.title)

    def _show(self) -> None:
        try:
            from IPython.display import display

            from .live import MonitorWidget

            self._widget = MonitorWidget(monitor_payload(self.data), self.static, self.title)
            self._handle = display(self._widget, display_id=True)
        except (ImportError, MissingPackageError):
            if self._live:
                raise
            self._widget = None

    def _send(self, last: bool = False) -> None:
        """Update the live view, at most as often as requested, and so rarely that it takes a twentieth of the time."""
        start = time.perf_counter()
        if self._widget is None or not (last or start - self._sent >= max(self.every, self._wait)):
            return
        try:
            data = self.data
            self._widget.show(monitor_payload(data), monitor_figure(data, self.title))
            if last and self._handle is not None:
                # Shown once more, so that what is saved with the notebook has the final picture.
                self._handle.update(self._widget)
        except Exception:  # the front end may be gone; training goes on
            self._widget = None
        self._sent = time.perf_counter()
        self._wait = 20 * (self._sent - start)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return self.static._repr_mimebundle_()

    def __repr__(self) -> str:
        return f"<TrainingMonitor: {self.static.alt}>"


_END = object()


def _in_notebook() -> bool:
    """Whether this process is a Jupyter kernel."""
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get() if get else None
    return shell is not None and getattr(shell, "kernel", None) is not None


def _gradients(trainer: object) -> Iterator[Any]:
    for parameter in getattr(trainer, "_params", None) or ():
        try:
            if parameter.grad_req != "null":
                yield from parameter.list_grad()[:1]
        except Exception:  # a parameter without a gradient yet is skipped
            continue


def _mean(loss: Any) -> float | None:
    """A loss as one finite number, or None."""
    if hasattr(loss, "asnumpy"):
        loss = loss.asnumpy()
    with suppress(TypeError, ValueError, AttributeError):
        value = float(loss.mean()) if hasattr(loss, "mean") else float(loss)
        return value if math.isfinite(value) else None
    return None


def _order(names: Iterable[str]) -> list[str]:
    present = dict.fromkeys(names)
    known = [name for name in PHASES if name in present]
    return [*known, *(name for name in present if name not in (*PHASES, REST)), *([REST] if REST in present else [])]


def _merge(points: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean of several points, at the step of the last."""
    if len(points) == 1:
        return points[0]
    merged: dict[str, Any] = {"step": points[-1]["step"], "times": {}}
    for name in ("loss", "rows", "all_rows", "density"):
        known = [point[name] for point in points if point.get(name) is not None]
        merged[name] = sum(known) / len(known) if known else None
    for name in _order(name for point in points for name in point["times"]):
        merged["times"][name] = sum(point["times"].get(name, 0.0) for point in points) / len(points)
    return merged


def _numbers(values: Iterable[Any] | None, count: int) -> list[float | None]:
    found = [None if value is None else number(value, math.nan) for value in list(values or ())[:count]]
    found = [None if value is None or math.isnan(value) else value for value in found]
    return [*found, *([None] * (count - len(found)))]


def monitor_payload(data: Mapping[str, Any] | None) -> dict[str, Any]:
    """Give what a monitor saw with every entry readable and finite, as the live view takes it."""
    data = data if isinstance(data, Mapping) else {}
    steps = [number(step) for step in data.get("steps") or ()]
    times, totals = data.get("times"), data.get("totals")
    return {
        "total": number(data.get("total"), len(steps)),
        "merged": max(1.0, number(data.get("merged"), 1.0)),
        "steps": steps,
        **{name: _numbers(data.get(name), len(steps)) for name in ("loss", "rows", "density")},
        "all_rows": number(data.get("all_rows")),
        "times": {plain(str(k)): _numbers(v, len(steps)) for k, v in times.items()} if isinstance(times, Mapping) else {},
        "totals": {plain(str(k)): max(0.0, number(v)) for k, v in totals.items()} if isinstance(totals, Mapping) else {},
        "first": max(0.0, number(data.get("first"))),
        "strange": [number(step) for step in list(data.get("strange") or ())[:1000]],
        "slowest": [number(value) for value in list(data.get("slowest") or ())[:2]],
    }


def _outside(totals: Mapping[str, float]) -> str:
    """Say that most of the time is in no phase, and how the phases that are missing are made."""
    ways = {"read": "m.watch(batches) times reading", "update": "monitor(trainer) times the update"}
    missing = [way for name, way in ways.items() if name not in totals] + ["m.phase('name') times any other part"]
    return "in no phase" + (f" ({', '.join(missing)})" if missing else "")


def _finding(data: Mapping[str, Any]) -> str:
    if not data["steps"]:
        return "No step of training was seen."
    words = f"{format_count(data['total'])} step{'' if data['total'] == 1 else 's'}"
    loss = [value for value in data["loss"] if value is not None]
    if loss:
        words += f": the loss went from {loss[0]:.4g} to {loss[-1]:.4g}"
    rows = [value for value in data["rows"] if value is not None]
    if rows:
        whole_weight = f" of {format_count(data['all_rows'])}" if data["all_rows"] else ""
        words += f"; a step touched {format_count(sum(rows) / len(rows))}{whole_weight} rows"
    density = [value for value in data["density"] if value is not None]
    if density:
        words += f", and {format_density(sum(density) / len(density))} of the gradients was stored"
    whole = sum(data["totals"].values())
    if whole:
        name = max(data["totals"], key=lambda key: data["totals"][key])
        share = format_share(data["totals"][name], whole)
        each = whole / max(1, data["total"] - 1)
        words += f". {format_duration(each)} a step, {share} of it {_outside(data['totals']) if name == REST else name}"
        if data["first"] > 3 * each:
            words += f"; the first step, which compiles, took {format_duration(data['first'])}"
    if len(data["slowest"]) == 2 and data["slowest"][0]:
        step, took = data["slowest"]
        words += f". The slowest step after the first is step {format_count(step)}, {format_duration(took)}"
        words += ": m.timeline() opens it"
    if data["strange"]:
        first = format_count(data["strange"][0])
        count = len(data["strange"])
        words += f". The loss was not finite at {format_count(count)} step{'' if count == 1 else 's'}, first at {first}"
    return f"{words}."


@overload
def monitor_figure(data: Mapping[str, Any] | None, title: str = ..., ax: None = ...) -> Display: ...
@overload
def monitor_figure(data: Mapping[str, Any] | None, title: str = ..., *, ax: Axes) -> Axes: ...
def monitor_figure(data: Mapping[str, Any] | None, title: str = "", ax: Axes | None = None) -> Display | Axes:
    """Draw loss, rows touched, density of the gradients and time by phase over the steps of a training loop.

    Parameters
    ----------
    data : dict
        ``TrainingMonitor.data``.
    title : str, optional
    ax : matplotlib.axes.Axes, optional
        Draw the loss alone, on these axes, in their own style.

    Returns
    -------
    Display or matplotlib.axes.Axes
        The picture and a table of first, last, smallest and largest values; ``ax`` where it is given.

    Raises
    ------
    MissingPackageError
        If matplotlib is not installed.  Without ``ax``, the error is raised when the picture is shown.
    """
    found = monitor_payload(data)
    if ax is not None:
        with drawing_on(ax):
            ax.set_title(plain_text(title))
            ax.set(xlabel="step", ylabel="loss")
            lines_on(ax, found["steps"], series(found)[0][1])
        return ax
    finding, columns = _finding(found), ("", "first", "last", "smallest", "largest")
    # Drawn when it is looked at: a live view makes a new one many times a second, of which it needs the words.
    picture = functools.partial(_picture, found, str(title) or "Training", finding)
    return Display(picture, finding, columns, _rows(found), "Over the steps of training")


def _picture(found: Mapping[str, Any], title: str, finding: str) -> str:
    with drawing_on() as matplotlib:
        below = (1000 if is_narrow() else 504) if found["steps"] else 8
        sheet = Sheet(matplotlib, page_width(), title, finding, below)
        if found["steps"]:
            _panels(matplotlib, sheet, found)
        return sheet.finish()


def _short(value: float) -> str:
    return f"{value:.3g}"


def series(found: Mapping[str, Any]) -> list[tuple[str, list[Line], Any]]:
    """The four panels: heading, lines, how values are written."""
    names = list(found["times"])
    times = [Line(name, found["times"][name], SERIES[i] if i < len(SERIES) else OTHER) for i, name in enumerate(names)]
    return [("loss", [Line("loss", found["loss"], SERIES[0])], _short),
            ("rows touched", [Line("rows touched", found["rows"], SERIES[3])], format_count),
            ("density of the gradients", [Line("density", found["density"], SERIES[4])], format_density),
            ("time of a step, by phase", times, format_duration)]  # fmt: skip


def top_of(lines: Iterable[Line]) -> float:
    """How high a panel reaches: over all but rare spikes, such as a first step that compiles."""
    highest = 0.0
    for line in lines:
        known = sorted(value for value in line.values if value is not None)
        if known:
            usual = known[max(0, min(len(known) - 2, int(0.98 * len(known))))]
            highest = max(highest, known[-1] if known[-1] < 4 * usual or usual <= 0 else 1.5 * usual)
    return highest


def _panels(matplotlib: ModuleType, sheet: Sheet, found: Mapping[str, Any]) -> None:
    """A panel for each series, and below them how the whole time is split."""
    steps = found["steps"]
    for i, (title, lines, label) in enumerate(series(found)):
        ax = sheet.axes(70, 42 + 214 * i, sheet.width - 94, 150) if is_narrow() else \
            sheet.axes(76 + 498 * (i % 2), 42 + 214 * (i // 2), 400, 150)
        ax.set_title(title)
        known = [value for line in lines for value in line.values if value is not None]
        if not known:
            ax.set(frame_on=False, xticks=[], yticks=[])
            ax.text(0, 0.85, "not recorded", color=MUTED, transform=ax.transAxes)
            continue
        low, high = min([*known, *([] if title == "loss" else [0.0])]), top_of(lines)
        lines_on(ax, steps, lines, 1.8)
        top = high * 1.05 if high > 0 else high
        if math.isfinite(top - low) and top > low:
            ax.set_ylim(low, top)
        if steps[-1] > steps[0]:
            ax.set_xlim(steps[0], steps[-1])
        number_axis(matplotlib, ax.yaxis, label)
        number_axis(matplotlib, ax.xaxis, format_count, 6, whole=True)
        note = f"cut off: up to {label(max(known))}" if max(known) > high else "by step" if i == 0 else ""
        ax.set_title(note, loc="right", color=MUTED, size=8.25, weight="normal")
    _split(sheet, found)


def _split(sheet: Sheet, found: Mapping[str, Any]) -> None:
    """One bar of the whole time, by phase, and below it what each line means."""
    whole = sum(found["totals"].values())
    if not whole:
        return
    room = sheet.width - 40
    ax = sheet.axes(20, 868 if is_narrow() else 440, room, 24)
    ax.set(frame_on=False, xticks=[], yticks=[], xlim=(0, whole))
    done = 0.0
    for i, (name, amount) in enumerate(found["totals"].items()):
        color = SERIES[i] if i < len(SERIES) else OTHER
        ax.barh(0, amount, left=done, color=color, edgecolor=PAPER, linewidth=0.75)
        each = format_duration(amount / max(1.0, found["total"] - 1))
        ax.plot([], [], color=color, linestyle=DASHES[i % len(DASHES)], label=legend_words(f"{name} {each}"))
        words = f"{name} {format_share(amount, whole)}"
        if text_width(words, 12) < room * amount / whole - 8:
            ax.annotate(words, (done, 0), (4.5, 0), textcoords="offset points", color=ink_on(color), size=9,
                        verticalalignment="center")
        done += amount
    ax.legend(loc="upper left", bbox_to_anchor=(-0.006, -0.1), ncols=2 if is_narrow() else 8, columnspacing=1.5)


def _rows(found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows = []
    for _, lines, label in series(found):
        for line in lines:
            known = [value for value in line.values if value is not None]
            if known:
                rows.append((line.name, *(label(value) for value in (known[0], known[-1], min(known), max(known)))))
    return rows
