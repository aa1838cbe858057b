"""Training one variant under the profiler, and what the profile says about a batch."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import autograd, gluon
from ..io import LibSVMIter
from ..profiler import Profiler
from .interrupt import check
from .progress import Stage
from .settings import FEWEST_BATCHES, LEARNING_RATE, MOST_BATCHES, Settings
from .variants import Variant, build

if TYPE_CHECKING:

    from ..io.data import DataBatch, DataIter
    from ..ndarray.ndarray import NDArray
    from ..profiler.profile import Profile
    from ..profiler.types import Record

__all__ = ["LANES", "Outcome", "Trained", "further", "spans", "train", "warm_up"]

#: Phases of a batch, in their order.
LANES = ("io", "convert", "forward", "backward", "update")
#: Batches at the start that are not measured: they touch pages and load kernels for the first time.
FIRST = 2
#: Seconds that the comparison of the slowest variant may take.
PATIENCE = 30.0


class Outcome(NamedTuple):
    """What training one variant gave.

    Attributes
    ----------
    variant : Variant
    losses : list of float
        Mean loss of each batch.
    batch : float
        Median time of a batch in microseconds, the first ones left out.
    lanes : dict of str to float
        Median own time of each lane in one batch, microseconds; ``"other"`` is everything else: Python, giving back memory.
    weight, gradient : int
        Bytes of the first weight and, at most, of its gradient.
    rows : int
        Rows that the gradient stored, at most.
    peak : int
        Bytes of all arrays at the moment when they were most.
    seconds : float
        For all batches.
    profile : Profiler
    """

    variant: Variant
    losses: list[float]
    batch: float
    lanes: dict[str, float]
    weight: int
    gradient: int
    rows: int
    peak: int
    seconds: float
    profile: Any


class Trained(NamedTuple):
    """What training on gave.

    Attributes
    ----------
    accuracies : list of float
        On the test data, after each epoch.
    losses : list of float
        Mean loss of each epoch.
    batches : int
    seconds : float
        For all epochs, without testing.
    """

    accuracies: list[float]
    losses: list[float]
    batches: int
    seconds: float


class TrainingRun:
    """A model, its trainer and its loss; ``step`` trains on one batch."""

    def __init__(self, variant: Variant, settings: Settings) -> None:
        self.variant, self.batch_size = variant, settings.batch_size
        self.model = build(variant, settings)
        self.trainer = gluon.Trainer(self.model.collect_params(), "sgd", {"learning_rate": LEARNING_RATE})
        self.loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()

    def predict(self, batch: DataBatch) -> NDArray:
        """Log-odds of each row, (rows, 1)."""
        data = batch.data[0]
        found: NDArray = self.model(data.tostype("default") if self.variant.dense_batch else data)
        return found

    def step(self, batch: DataBatch) -> NDArray:
        """Forward, backward, update; the loss of each row."""
        with autograd.record():
            loss = self.loss(self.predict(batch), batch.label[0])
        loss.backward()
        self.trainer.step(self.batch_size)
        found: NDArray = loss
        return found

    def gradient(self) -> NDArray:
        """Gradient of the first weight."""
        found: NDArray = self.model[0].weight.grad()
        return found


def reader(path: str, settings: Settings, testing: bool = False) -> DataIter:
    """The batches of a LibSVM file; the last one is filled up, for testing with rows that do not count."""
    return LibSVMIter(data_libsvm=path, data_shape=(settings.features,), batch_size=settings.batch_size,
                      round_batch=not testing, data_name="batch")


def warm_up(variants: list[Variant], path: str, settings: Settings) -> None:
    """Let every kernel compile, or load, on a narrow model, so that no measured batch waits for it."""
    batch = next(iter(reader(path, settings)))
    for variant in variants:
        run = TrainingRun(variant, settings._replace(units=2))
        run.step(batch).asnumpy()
        check()


def train(variant: Variant, path: str, settings: Settings, shown: Stage) -> Outcome:
    """Train a variant on the first batches of a file under the profiler.

    Parameters
    ----------
    variant : Variant
    path : str
    settings : Settings
        Where it does not say how many batches, as many are trained as fit ``PATIENCE``.
    shown : Stage

    Returns
    -------
    Outcome
    """
    gc.collect()  # what the variant before held must not count here
    run = TrainingRun(variant, settings)
    losses: list[float] = []
    sizes: list[tuple[int, int]] = []
    source = iter(reader(path, settings))
    batches, times = settings.batches or MOST_BATCHES, [time.monotonic()]
    with Profiler() as profile:
        while len(losses) < batches:
            with profile.span("batch"):
                loss = run.step(next(source))
            losses.append(float(loss.asnumpy().mean()))
            sizes.append(_size(run.gradient()))
            times.append(time.monotonic())
            if not settings.batches and len(losses) == FEWEST_BATCHES:
                batches = _affordable(batches, float(np.median(np.diff(times))))
                shown.shorten(batches)
            shown.advance(f"loss {losses[-1]:.3f}")
    return _outcome(run, losses, max(sizes), profile)


def _affordable(batches: int, seconds: float) -> int:
    """How many batches of ``seconds`` each fit ``PATIENCE``."""
    return max(FEWEST_BATCHES, min(batches, int(PATIENCE / max(seconds, 1e-9))))


def _outcome(run: TrainingRun, losses: list[float], gradient: tuple[int, int], profile: Profile) -> Outcome:
    """Read the figures off a finished profile."""
    batch, lanes = split(profile.records)
    weight = int(run.model[0].weight.data()._store.nbytes)
    return Outcome(run.variant, losses, batch, lanes, weight, *gradient, int(profile.memory["peak_bytes"]),
                   profile.wall * 1e-6, profile)


def _size(gradient: NDArray) -> tuple[int, int]:
    """Bytes and stored rows of a gradient."""
    store = gradient._store
    return int(store.nbytes), int(store.data.shape[0] if gradient.stype == "row_sparse" else store.shape[0])


def split(records: list[Record]) -> tuple[float, dict[str, float]]:
    """Median time of a batch, and of each lane within one, in microseconds.

    Parameters
    ----------
    records : list of dict
        A profile with a span named ``batch`` around each batch.
    """
    batches = spans(records)[FIRST:] or spans(records)
    if not batches:
        return 0.0, {}
    parts = [_parts(records, span["start"], span["start"] + span["duration"]) for span in batches]
    found = {lane: statistics.median(part.get(lane, 0.0) for part in parts) for lane in LANES}
    rest = [span["duration"] - sum(part.get(lane, 0.0) for lane in LANES)
            for span, part in zip(batches, parts, strict=True)]
    return statistics.median(span["duration"] for span in batches), {**found, "other": statistics.median(rest)}


def spans(records: list[Record]) -> list[Record]:
    """The records that say when each batch began and how long it took."""
    return [record for record in records if record["kind"] == "span" and record["name"] == "batch"]


def _parts(records: list[Record], start: float, end: float) -> dict[str, float]:
    """Own time of each lane between two times."""
    parts: dict[str, float] = {}
    for record in records:
        if start <= record["start"] < end:
            parts[record["lane"]] = parts.get(record["lane"], 0.0) + record["self"]
    return parts


def further(variant: Variant, train_path: str, test_path: str, settings: Settings, shown: Stage) -> Trained:
    """Train a new model on all the data, as often as the settings say, and test it after each epoch.

    It starts afresh so that its accuracy does not depend on how many batches were compared.
    """
    gc.collect()
    run = TrainingRun(variant, settings)
    source, tests = reader(train_path, settings), reader(test_path, settings, testing=True)
    accuracies: list[float] = []
    losses: list[float] = []
    batches, seconds = 0, 0.0
    for epoch in range(settings.epochs):
        source.reset()
        start = time.perf_counter()
        sums = []
        for batch in source:
            sums.append(float(run.step(batch).asnumpy().mean()))
            check()
        seconds += time.perf_counter() - start
        batches += len(sums)
        losses.append(statistics.fmean(sums))
        accuracies.append(accuracy(run.predict, tests))
        shown.advance(f"epoch {epoch + 1}: {100 * accuracies[-1]:.1f} % right")
    return Trained(accuracies, losses, batches, seconds)


def accuracy(predict: Callable[[Any], Any], source: DataIter) -> float:
    """Share of the rows whose class is predicted; rows that only fill up a batch do not count."""
    right = rows = 0
    source.reset()
    for batch in source:
        count = source.batch_size - (batch.pad or 0)
        said = predict(batch).asnumpy()[:count, 0] > 0
        right += int(np.sum(said == (batch.label[0].asnumpy()[:count] > 0)))
        rows += count
    return right / rows
