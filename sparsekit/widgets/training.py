"""A monitor of a training loop: loss, rows touched and density of the gradients, step by step."""

from __future__ import annotations

import functools
import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, Self, overload

from ..base.errors import MissingPackageError, ParameterError, UnsupportedError, expected
from ..base.formatting import format_count, format_density, format_duration, number
from .charts import Line
from .display import Display
from .plots import Sheet, drawing_on, lines_on, number_axis, plain_text
from .svg import is_narrow, page_width
from .theme import MUTED, SERIES

if TYPE_CHECKING:
    from types import ModuleType

    from matplotlib.axes import Axes

    from ..figures import Figure


__all__ = ["MOST_POINTS", "TrainingMonitor", "monitor", "monitor_figure", "monitor_payload"]

#: Points a curve may have; above twice that many, neighbours are merged into their mean.
MOST_POINTS = 400


class _Profile(Protocol):
    """What is used of a profiler."""

    @property
    def records(self) -> list[Any]: ...

    def step(self) -> None: ...

    def timeline(self, title: str, window: tuple[float, float]) -> Figure: ...


def monitor(trainer: object = None, title: str = "Training", live: bool | None = None, every: float = 0.5,
            profile: _Profile | None = None) -> TrainingMonitor:
    """Watch a training loop: the loss of each step, and with a trainer the rows and the density of its gradients.

    Parameters
    ----------
    trainer : gluon.Trainer, optional
        The monitor reads its gradients at the end of each step.
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
    ...     for batch in batches:
    ...         with mx.autograd.record():
    ...             loss = loss_of(net(batch.data[0]), batch.label[0])
    ...         loss.backward()
    ...         trainer.step(batch_size)
    ...         m.step(loss)
    """
    return TrainingMonitor(trainer, title, live, every, profile)


class TrainingMonitor:
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
        self._began = self._sent = self._wait = self._first = self._later = 0.0

    # ---- around the loop

    def __enter__(self) -> Self:
        if self._live or (self._live is None and _in_notebook()):
            self._show()
        self._began = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        self._send(last=True)

    # ---- inside the loop

    def step(self, loss: object = None, **more: float) -> None:
        """End a step of training.

        Parameters
        ----------
        loss : float or array, optional
            Loss of the step.  Of an array the mean is used, and the call waits until it is computed.
        **more : float
            ``rows`` and ``density`` of the gradients, for a monitor without a trainer.
        """
        took = time.perf_counter() - self._began
        self._steps += 1
        value = _mean(loss)
        if loss is not None and value is None and len(self._strange) < 1000:
            self._strange.append(self._steps)
        if self._steps == 1:  # it compiles, and is kept apart
            self._first = took
        else:
            self._later += took
            self._slowest = max(self._slowest, (took, self._steps))
        self._add({"step": self._steps, "loss": value, **self._look(), **{k: number(v) for k, v in more.items()}})
        if self.profile is not None:
            self.profile.step()
        self._send()
        self._began = time.perf_counter()

    def timeline(self, step: int | None = None) -> Figure:
        """The timeline of one step, of those that ``profile`` recorded.

        Parameters
        ----------
        step : int, optional
            Number of the step, from 1.  The default is the slowest step after the first.

        Returns
        -------
        figures.Figure

        Raises
        ------
        UnsupportedError
            If the monitor has no profile.
        ParameterError
            If the step does not exist, or the profile no longer has its events.
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
        found: Figure = self.profile.timeline(f"Step {wanted}", (begin, end))
        return found

    def _add(self, point: dict[str, Any]) -> None:
        self._pending.append(point)
        if len(self._pending) >= self._weight:
            self._points.append(_merge(self._pending))
            self._pending = []
        if len(self._points) >= 2 * MOST_POINTS:
            self._points = [_merge(self._points[i : i + 2]) for i in range(0, len(self._points), 2)]
            self._weight *= 2

    def _look(self) -> dict[str, float]:
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
        return {"rows": rows, "all_rows": all_rows, "density": stored / size} if size else {}

    # ---- what there is to see

    @property
    def data(self) -> dict[str, Any]:
        """Everything seen so far, as plain data."""
        points = [*self._points, *([_merge(self._pending)] if self._pending else [])]
        return {
            "total": self._steps,
            "merged": self._weight,
            "steps": [point["step"] for point in points],
            "loss": [point.get("loss") for point in points],
            "rows": [point.get("rows") for point in points],
            "all_rows": max((point.get("all_rows") or 0 for point in points), default=0),
            "density": [point.get("density") for point in points],
            "first": self._first * 1e6,
            "took": self._later * 1e6 / max(1, self._steps - 1),
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


def _merge(points: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean of several points, at the step of the last."""
    if len(points) == 1:
        return points[0]
    merged: dict[str, Any] = {"step": points[-1]["step"]}
    for name in ("loss", "rows", "all_rows", "density"):
        known = [point[name] for point in points if point.get(name) is not None]
        merged[name] = sum(known) / len(known) if known else None
    return merged


def _numbers(values: Iterable[Any] | None, count: int) -> list[float | None]:
    found = [None if value is None else number(value, math.nan) for value in list(values or ())[:count]]
    found = [None if value is None or math.isnan(value) else value for value in found]
    return [*found, *([None] * (count - len(found)))]


def monitor_payload(data: Mapping[str, Any] | None) -> dict[str, Any]:
    """Give what a monitor saw with every entry readable and finite, as the live view takes it."""
    data = data if isinstance(data, Mapping) else {}
    steps = [number(step) for step in data.get("steps") or ()]
    return {
        "total": number(data.get("total"), len(steps)),
        "merged": max(1.0, number(data.get("merged"), 1.0)),
        "steps": steps,
        **{name: _numbers(data.get(name), len(steps)) for name in ("loss", "rows", "density")},
        "all_rows": number(data.get("all_rows")),
        **{name: max(0.0, number(data.get(name))) for name in ("first", "took")},
        "strange": [number(step) for step in list(data.get("strange") or ())[:1000]],
        "slowest": [number(value) for value in list(data.get("slowest") or ())[:2]],
    }


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
    if data["took"]:
        words += f". {format_duration(data['took'])} a step"
        if data["first"] > 3 * data["took"]:
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
    """Draw loss, rows touched and density of the gradients over the steps of a training loop.

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
        below = (660 if is_narrow() else 232) if found["steps"] else 8
        sheet = Sheet(matplotlib, page_width(), title, finding, below)
        if found["steps"]:
            _panels(matplotlib, sheet, found)
        return sheet.finish()


def _short(value: float) -> str:
    return f"{value:.3g}"


def series(found: Mapping[str, Any]) -> list[tuple[str, list[Line], Any]]:
    """The panels: heading, lines, how values are written."""
    return [("loss", [Line("loss", found["loss"], SERIES[0])], _short),
            ("rows touched", [Line("rows touched", found["rows"], SERIES[3])], format_count),
            ("density of the gradients", [Line("density", found["density"], SERIES[4])], format_density)]  # fmt: skip


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
    """A panel for each series."""
    steps = found["steps"]
    for i, (title, lines, label) in enumerate(series(found)):
        ax = sheet.axes(70, 42 + 214 * i, sheet.width - 94, 150) if is_narrow() else \
            sheet.axes(76 + 326 * i, 42, 248, 150)
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


def _rows(found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows = []
    for _, lines, label in series(found):
        for line in lines:
            known = [value for value in line.values if value is not None]
            if known:
                rows.append((line.name, *(label(value) for value in (known[0], known[-1], min(known), max(known)))))
    return rows
