"""Training a variant under the profiler, and reading time and memory of a batch off the profile."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import autograd, gluon
from ..base import machine
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

__all__ = ["LANES", "Outcome", "Trained", "measured", "spans", "train", "train_on_all", "warm_up"]

#: Lanes of a batch, in their order.
LANES = ("io", "convert", "forward", "backward", "update")
#: Number of batches at the start that are not measured, since they load kernels and touch pages for the first time.
WARM_UP_BATCHES = 2
#: Seconds that the comparison of the slowest variant may take.
TIME_LIMIT = 30.0


class Outcome(NamedTuple):
    """The results of training one variant.

    Attributes
    ----------
    variant : Variant
    losses : list of float
        Mean loss of each batch.
    batch : float
        Time of the median batch in microseconds, without the first ``WARM_UP_BATCHES``.
    lanes : dict of str to float
        Median own time of each lane in a batch, in microseconds; ``"other"`` is the rest, such as Python and freeing memory.
    weight, gradient : int
        Bytes of the first weight, and most bytes of its gradient.
    rows : int
        Most rows that the gradient stored, a row for each feature.
    peak : int
        Peak bytes of all arrays.
    seconds : float
        Time of all batches.
    profile : Profiler
    spread : tuple of two floats
        Shortest and longest batch of those measured, in microseconds.
    others : float or None
        Cores that other programs used meanwhile; None if that is unknown.
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
    spread: tuple[float, float] = (0.0, 0.0)
    others: float | None = None


class Trained(NamedTuple):
    """The results of training on all the data.

    Attributes
    ----------
    accuracies : list of float
        Test accuracy after each epoch, from 0 to 1.
    losses : list of float
        Mean loss of each epoch.
    batches : int
        Number of batches of all epochs.
    seconds : float
        Time of all epochs, without testing.
    others : float or None
        Cores that other programs used meanwhile; None if that is unknown.
    """

    accuracies: list[float]
    losses: list[float]
    batches: int
    seconds: float
    others: float | None = None


class TrainingRun:
    """A model, its trainer and its loss; ``step`` trains on one batch."""

    def __init__(self, variant: Variant, settings: Settings) -> None:
        self.variant, self.batch_size = variant, settings.batch_size
        self.model = build(variant, settings)
        self.trainer = gluon.Trainer(self.model.collect_params(), "sgd", {"learning_rate": LEARNING_RATE})
        self.loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()

    def predict(self, batch: DataBatch) -> NDArray:
        """Return the log-odds of each row, of shape (rows, 1)."""
        data = batch.data[0]
        found: NDArray = self.model(data.tostype("default") if self.variant.dense_batch else data)
        return found

    def step(self, batch: DataBatch) -> NDArray:
        """Run forward, backward and update, and return the loss of each row."""
        with autograd.record():
            loss = self.loss(self.predict(batch), batch.label[0])
        loss.backward()
        self.trainer.step(self.batch_size)
        found: NDArray = loss
        return found

    def gradient(self) -> NDArray:
        """Return the gradient of the first weight."""
        found: NDArray = self.model[0].weight.grad()
        return found


def reader(path: str, settings: Settings, testing: bool = False) -> DataIter:
    """Return an iterator over a LibSVM file; it fills the last batch with the first rows, or when testing with padding."""
    return LibSVMIter(data_libsvm=path, data_shape=(settings.features,), batch_size=settings.batch_size,
                      round_batch=not testing, data_name="batch")


def warm_up(variants: list[Variant], path: str, settings: Settings) -> None:
    """Compile or load all kernels on a narrow model, so that no measured batch includes it."""
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
        If ``batches`` is 0, the number of batches is limited so that they take about ``TIME_LIMIT`` seconds.
    shown : Stage
        Progress bar.

    Returns
    -------
    Outcome
    """
    gc.collect()  # frees the arrays of the previous variant
    run = TrainingRun(variant, settings)
    losses: list[float] = []
    sizes: list[tuple[int, int]] = []
    source, load = iter(reader(path, settings)), machine.OtherLoad()
    batches, times = settings.batches or MOST_BATCHES, [time.monotonic()]
    with Profiler() as profile:
        while len(losses) < batches:
            with profile.span("batch"):
                loss = run.step(next(source))
            losses.append(float(loss.asnumpy().mean()))
            sizes.append(_size(run.gradient(), settings.features))
            times.append(time.monotonic())
            if not settings.batches and len(losses) == FEWEST_BATCHES:
                batches = _affordable(batches, float(np.median(np.diff(times))))
                shown.shorten(batches)
            shown.advance(f"loss {losses[-1]:.3f}")
    return _outcome(run, losses, max(sizes), profile)._replace(others=load.cores())


def _affordable(batches: int, seconds: float) -> int:
    """Return how many batches of ``seconds`` each fit ``TIME_LIMIT``."""
    return max(FEWEST_BATCHES, min(batches, int(TIME_LIMIT / max(seconds, 1e-9))))


def _outcome(run: TrainingRun, losses: list[float], gradient: tuple[int, int], profile: Profile) -> Outcome:
    """Take the figures from a finished profile."""
    batch, lanes = split(profile.records)
    weight = int(run.model[0].weight.data()._store.nbytes)
    lengths = [span["duration"] for span in measured(profile.records)]
    return Outcome(run.variant, losses, batch, lanes, weight, *gradient, int(profile.memory["peak_bytes"]),
                   profile.wall * 1e-6, profile, (min(lengths, default=0.0), max(lengths, default=0.0)))


def _size(gradient: NDArray, features: int) -> tuple[int, int]:
    """Return bytes and stored rows of a gradient; a dense one stores a row for each feature, whichever axis that is."""
    store = gradient._store
    return int(store.nbytes), int(store.data.shape[0]) if gradient.stype == "row_sparse" else features


def split(records: list[Record]) -> tuple[float, dict[str, float]]:
    """Return the time of the median batch, and the median time of each lane within a batch, in microseconds.

    Parameters
    ----------
    records : list of dict
        Events of a profile with a span named ``batch`` around each batch.
    """
    batches = measured(records)
    if not batches:
        return 0.0, {}
    parts = [_parts(records, span["start"], span["start"] + span["duration"]) for span in batches]
    found = {lane: statistics.median(part.get(lane, 0.0) for part in parts) for lane in LANES}
    rest = [span["duration"] - sum(part.get(lane, 0.0) for lane in LANES)
            for span, part in zip(batches, parts, strict=True)]
    return statistics.median_low(span["duration"] for span in batches), {**found, "other": statistics.median(rest)}


def spans(records: list[Record]) -> list[Record]:
    """Return the spans named ``batch``."""
    return [record for record in records if record["kind"] == "span" and record["name"] == "batch"]


def measured(records: list[Record]) -> list[Record]:
    """Return the spans of the batches that are measured: all but the first ``WARM_UP_BATCHES``."""
    return spans(records)[WARM_UP_BATCHES:] or spans(records)


def _parts(records: list[Record], start: float, end: float) -> dict[str, float]:
    """Sum the own times of each lane between two times."""
    parts: dict[str, float] = {}
    for record in records:
        if start <= record["start"] < end:
            parts[record["lane"]] = parts.get(record["lane"], 0.0) + record["self"]
    return parts


def train_on_all(variant: Variant, train_path: str, test_path: str, settings: Settings, shown: Stage) -> Trained:
    """Train a new model on all the data for ``settings.epochs`` epochs, and test it after each.

    The model is new so that its accuracy does not depend on the number of batches that were compared.
    """
    gc.collect()
    run = TrainingRun(variant, settings)
    source, tests = reader(train_path, settings), reader(test_path, settings, testing=True)
    accuracies: list[float] = []
    losses: list[float] = []
    batches, seconds, load = 0, 0.0, machine.OtherLoad()
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
        shown.advance(f"epoch {epoch + 1}: test accuracy {100 * accuracies[-1]:.1f} %")
    return Trained(accuracies, losses, batches, seconds, load.cores())


def accuracy(predict: Callable[[Any], Any], source: DataIter) -> float:
    """Return the share of rows that are classified correctly, without the padding of the last batch."""
    right = rows = 0
    source.reset()
    for batch in source:
        count = source.batch_size - (batch.pad or 0)
        said = predict(batch).asnumpy()[:count, 0] > 0
        right += int(np.sum(said == (batch.label[0].asnumpy()[:count] > 0)))
        rows += count
    return right / rows
