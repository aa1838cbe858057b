"""Training the variants: all on the same first batches, beside each other, and the last one on all the data."""

from __future__ import annotations

import gc
import itertools
import statistics
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import autograd, gluon
from ..base.epoch_loop import EpochLoop
from ..examples.beside import Beside, beside
from ..io import LibSVMIter
from .interrupt import check
from .settings import LEARNING_RATE, Settings
from .variants import FLOAT_BYTES, ROW_NUMBER_BYTES, Variant, build

if TYPE_CHECKING:
    from ..io.data import DataBatch, DataIter
    from ..ndarray.ndarray import NDArray
    from .interrupt import Advance

#: Lanes of a batch, in their order.
LANES = ("convert", "forward", "backward", "update")
#: Rounds in which steps of the variants take turns, the fewest with which three have intervals of 99 %.
ROUNDS = 9


class Outcome(NamedTuple):
    """The results of training one variant on the first batches.

    Attributes
    ----------
    variant : Variant
    losses : list of float
        Mean loss of each batch.
    weight, gradient : int
        Bytes of the first weight, and most bytes of its gradient.
    rows : int
        Most rows that the gradient stored, a row for each feature.
    peak : int
        Peak bytes of all arrays.
    moved : dict of str to int
        Bytes that each lane reads and writes in a batch, on average.
    profile : Profiler
    time : float or None
        Microseconds of a batch, in turn with those of the other variants; None if there are none.
    ratio : tuple of three floats, or None
        The time by that of the first variant, and its interval; None for the first, and without times.
    """

    variant: Variant
    losses: list[float]
    weight: int
    gradient: int
    rows: int
    peak: int
    moved: dict[str, int]
    profile: Any
    time: float | None = None
    ratio: tuple[float, float, float] | None = None


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
    gradient, rows : int
        Most bytes and most rows of the first weight's gradient: the largest of all batches of the first epoch.
    """

    accuracies: list[float]
    losses: list[float]
    batches: int
    gradient: int
    rows: int


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
        prediction: NDArray = self.model(data.tostype("default") if self.variant.dense_batch else data)
        return prediction

    def step(self, batch: DataBatch) -> NDArray:
        """Run forward, backward and update, and return the loss of each row."""
        check()
        with autograd.record():
            loss = self.loss(self.predict(batch), batch.label[0])
        loss.backward()
        self.trainer.step(self.batch_size)
        computed: NDArray = loss
        return computed

    def gradient_bytes(self) -> int:
        """Return the bytes of the gradient of the first weight."""
        return int(self.model[0].weight.grad()._store.nbytes)


def reader(path: str, settings: Settings, testing: bool = False) -> DataIter:
    """Return an iterator over a LibSVM file; it fills the last batch with the first rows, or when testing with padding."""
    return LibSVMIter(data_libsvm=path, data_shape=(settings.features,), batch_size=settings.batch_size,
                      round_batch=not testing, data_name="batch")


def compare(chosen: Sequence[Variant], path: str, settings: Settings, advance: Advance, timed: bool
            ) -> tuple[list[Outcome], float | None]:
    """Train the variants on the first batches of a file under the profiler, then, if ``timed``, time steps in turn.

    Gives also how many cores other programs used while steps were timed, if that is known.

    Raises
    ------
    KeyboardInterrupt
        After a signal, see ``interrupt``.
    """
    batches = list(itertools.islice(reader(path, settings), settings.batches))
    kinds = {variant.name: partial(_made, variant, settings, batches) for variant in chosen}
    measurements = beside(kinds, ROUNDS if timed else 0, profiled=True, after=lambda loss: advance(f"loss {loss:.3f}"))
    return ([_outcome(variant, measurements, settings) for variant in chosen],
            measurements.times.others if measurements.times else None)


def _made(variant: Variant, settings: Settings, batches: Sequence[DataBatch]) -> tuple[TrainingRun, Sequence[DataBatch]]:
    return TrainingRun(variant, settings), batches


def _outcome(variant: Variant, measurements: Beside, settings: Settings) -> Outcome:
    """Take the figures of a variant from what was measured."""
    losses, profile = measurements.measured[variant.name].losses, measurements.measured[variant.name].profile
    moved = {lane: sum(row["bytes"] for row in profile.totals if row["lane"] == lane) // len(losses) for lane in LANES}
    gradient, width = measurements.measured[variant.name].gradient, FLOAT_BYTES * settings.units
    rows = gradient // (width + ROW_NUMBER_BYTES) if variant.gradient == "row_sparse" else settings.features
    peak = int(profile.memory["peak_bytes"])
    outcome = Outcome(variant, losses, width * settings.features, gradient, rows, peak, moved, profile)
    if measurements.times is None:
        return outcome
    row = measurements.times[variant.name]
    ratio = None if row["ratio"] is None else (row["ratio"], row["low"] or 0.0, row["high"] or float("inf"))
    return outcome._replace(time=row["time"], ratio=ratio)


def train_on_all(variant: Variant, train_path: str, test_path: str, settings: Settings, advance: Advance) -> Trained:
    """Train a new model on all the data for ``settings.epochs`` epochs, and test it after each.

    The model is new so that its accuracy does not depend on the number of batches that were compared.
    """
    gc.collect()
    run = _WholeRun(variant, settings, train_path, test_path, advance)
    run.run(settings.epochs)
    return Trained(run.accuracies, run.losses, run.steps_done, run.gradient, run.rows)


class _WholeRun(TrainingRun, EpochLoop["DataBatch", "NDArray"]):
    """Trains on all batches of a file, and tests after each epoch."""

    def __init__(self, variant: Variant, settings: Settings, train_path: str, test_path: str, advance: Advance) -> None:
        super().__init__(variant, settings)
        self.source, self.tests, self.advance = reader(train_path, settings), reader(test_path, settings, testing=True), advance
        self.accuracies: list[float] = []
        self.losses: list[float] = []
        self.gradient = self.rows = 0

    def batches(self) -> Iterable[DataBatch]:
        """The batches of the file."""
        self.source.reset()
        self._means: list[float] = []
        return self.source

    def batch_end(self, batch: DataBatch, outcome: NDArray) -> None:
        """Note the loss, and in the first epoch the gradient; the next ones begin elsewhere in the data."""
        self._means.append(float(outcome.asnumpy().mean()))
        if not self.epochs_done:
            self.gradient = max(self.gradient, self.gradient_bytes())
            self.rows = max(self.rows, self.model[0].weight.grad().indices.size)

    def epoch_end(self) -> None:
        """Test the model."""
        self.losses.append(statistics.fmean(self._means))
        self.accuracies.append(accuracy(self.predict, self.tests))
        self.advance(f"epoch {self.epochs_done}: test accuracy {100 * self.accuracies[-1]:.1f} %")


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
