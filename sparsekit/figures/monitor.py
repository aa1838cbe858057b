"""A monitor of a training loop: what it records of each step, and when its live view is updated."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from ..base import checks
from ..base.errors import MissingPackageError, ParameterError, UnknownNameError, UnsupportedError, expected
from ..base.formatting import number
from .training import training_figure

if TYPE_CHECKING:
    from .figure import Figure

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
    """Watch a training loop: the loss of each step, and with a trainer the rows, the density and the bytes of its gradients.

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
        A context manager.  After the loop it shows the picture and the table; ``figure()`` gives the figure.

    Examples
    --------
    >>> with sparsekit.figures.monitor(trainer) as m:
    ...     for batch in batches:
    ...         with mx.autograd.record():
    ...             loss = loss_of(net(batch.data[0]), batch.label[0])
    ...         loss.backward()
    ...         trainer.step(batch_size)
    ...         m.step(loss)
    """
    for name, value, needed in (("trainer", trainer, "step"), ("profile", profile, "timeline")):
        if value is not None and not hasattr(value, needed):
            raise ParameterError(expected(name, "a gluon.Trainer" if name == "trainer" else "a Profiler", value),
                                 hint="leave it out, or monitor(trainer, profile=prof).")
    checks.text("title", title)
    checks.amount_of("every", every, 0)
    if live is not None:
        checks.flag("live", live)
    return TrainingMonitor(trainer, title, live, every, profile)


class TrainingMonitor:
    """The result of ``monitor``: collects one point per step, and shows the points live if requested.

    Attributes
    ----------
    data : dict
        The collected data, as plain data.
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
        #: For each row_sparse gradient: the last step that stored each row, -1 for none, and in how many steps.
        self._rows: dict[str, tuple[np.ndarray, np.ndarray]] = {}
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
            ``rows``, ``density`` and ``bytes`` of the gradients, for a monitor without a trainer.
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
        figures.kit.Figure

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
        figure: Figure = self.profile.timeline(f"Step {wanted}", (begin, end))
        return figure

    def _add(self, point: dict[str, Any]) -> None:
        self._pending.append(point)
        if len(self._pending) >= self._weight:
            self._points.append(_merge(self._pending))
            self._pending = []
        if len(self._points) >= 2 * MOST_POINTS:
            self._points = [_merge(self._points[i : i + 2]) for i in range(0, len(self._points), 2)]
            self._weight *= 2

    def _look(self) -> dict[str, float]:
        """Rows, stored values and bytes of the gradients; each is known, nothing is counted."""
        rows = all_rows = stored = size = held = 0
        sparse = False
        for name, gradient in _gradients(self.trainer):
            amount = math.prod(gradient.shape)
            size += amount
            held += gradient.nbytes
            if gradient.stype == "row_sparse":
                if not sparse:  # rows of dense gradients are not counted with these
                    rows = all_rows = 0
                sparse = True
                self._note_rows(name, gradient.indices.asnumpy(), gradient.shape[0])
                count = int(gradient.indices.shape[0])
                rows, all_rows, stored = rows + count, all_rows + gradient.shape[0], stored + gradient.nnz
            else:
                stored += amount
                if not sparse and gradient.shape:
                    rows, all_rows = rows + gradient.shape[0], all_rows + gradient.shape[0]
        return {"rows": rows, "all_rows": all_rows, "density": stored / size, "bytes": held} if size else {}

    def _note_rows(self, name: str, touched: np.ndarray, rows: int) -> None:
        if name not in self._rows or len(self._rows[name][0]) != rows:
            self._rows[name] = np.full(rows, -1, np.int32), np.zeros(rows, np.int32)
        last, times = self._rows[name]
        last[touched] = self._steps
        times[touched] += 1

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
            "bytes": [point.get("bytes") for point in points],
            "first": self._first * 1e6,
            "took": self._later * 1e6 / max(1, self._steps - 1),
            "strange": list(self._strange),
            "slowest": [self._slowest[1], self._slowest[0] * 1e6] if self.profile is not None else [],
        }

    def figure(self) -> Figure:
        """The figure of the data so far."""
        return training_figure(self.data, self.title)

    def row_ages(self, parameter: str) -> np.ndarray:
        """How many steps ago the gradient of a parameter stored each row: 0 for the last step, -1 for never.

        What counts is the gradient that the parameter has at the end of a step: one that no backward pass wrote since then counts
        again, as the trainer would take it again.

        Parameters
        ----------
        parameter : str
            Its name; its gradient is row_sparse.

        Returns
        -------
        numpy.ndarray
            int64, a value for each row; ``row_age_figure`` draws it.

        Raises
        ------
        UnknownNameError
            If no step had a row_sparse gradient of this parameter.
        """
        last, _ = self._rows_of(parameter)
        return np.where(last < 0, -1, self._steps - last.astype(np.int64))

    def row_counts(self, parameter: str) -> np.ndarray:
        """In how many steps the gradient of a parameter stored each row; as ``row_ages``."""
        return self._rows_of(parameter)[1].astype(np.int64)

    def _rows_of(self, parameter: str) -> tuple[np.ndarray, np.ndarray]:
        if not self._rows:
            raise UnknownNameError("No step of this monitor had a row_sparse gradient.",
                                   hint="monitor(trainer), with a parameter whose gradient is row_sparse (sparse_grad=True, "
                                        "or weight_grad_stype='row_sparse'); a dense gradient has all rows.")  # fmt: skip
        if parameter not in self._rows:
            raise UnknownNameError.of("parameter with a row_sparse gradient", parameter, self._rows)
        return self._rows[parameter]

    def _show(self) -> None:
        try:
            from IPython.display import display

            self._widget = self.figure().live()
            self._handle = display(self._widget, display_id=True)
        except (ImportError, MissingPackageError):
            if self._live:
                raise
            self._widget = None

    def _send(self, last: bool = False) -> None:
        """Update the live view, at most as often as requested, and so rarely that it takes a twentieth of the time."""
        if self._widget is None:
            return
        start = time.perf_counter()
        if not last and start - self._sent < max(self.every, self._wait):
            return
        try:
            self._widget.show(self.figure())
            if last and self._handle is not None:
                # Shown once more, so that what is saved with the notebook has the final picture.
                self._handle.update(self._widget)
        except Exception:  # the front end may be gone; training goes on
            self._widget = None
        self._sent = time.perf_counter()
        self._wait = 20 * (self._sent - start)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return self.figure()._repr_mimebundle_()

    def __repr__(self) -> str:
        return f"<TrainingMonitor: {self.figure().finding}>"


def _in_notebook() -> bool:
    """Whether this process is a Jupyter kernel."""
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get() if get else None
    return shell is not None and getattr(shell, "kernel", None) is not None


def _gradients(trainer: object) -> Iterator[tuple[str, Any]]:
    for parameter in getattr(trainer, "_params", None) or ():
        try:
            if parameter.grad_req != "null":
                yield from ((parameter.name, gradient) for gradient in parameter.list_grad()[:1])
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
    for name in ("loss", "rows", "all_rows", "density", "bytes"):
        values = [point[name] for point in points if point.get(name) is not None]
        merged[name] = sum(values) / len(values) if values else None
    return merged
