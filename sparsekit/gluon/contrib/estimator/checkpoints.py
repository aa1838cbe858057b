"""Checkpoints of a training run, from which it goes on as if it had not ended."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Unpack

from ....base.errors import FileFormatError, ParameterError, expected
from ....base.files import failures_named, path_of, write_whole
from ....base.warn import warn_user
from ....metric import EvalMetric
from ....ndarray import state_files
from ... import symbolic
from ...hybrid import Programs
from .events import BatchEnd, EpochEnd, TrainBegin
from .utils import better, larger_is_better

if TYPE_CHECKING:
    from os import PathLike

    from .estimator import Estimator
    from .types import BatchEvent

#: What is written before a checkpoint has its name.
UNFINISHED = ".params.tmp"


class Found(NamedTuple):
    """A checkpoint in a folder; the last one is the largest."""

    generation: int
    epoch: int
    batch: int
    prefix: str


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Writes parameters, the trainer's states and the state of the run at intervals of epochs or batches.

    A killed run that is restarted with ``resume_from_checkpoint=True`` continues from the last complete checkpoint.  Its final
    weights are bitwise equal to those of an uninterrupted run.  For this the checkpoint has the optimizer's states, the
    position in the epoch, the order of the data, the counters of all handlers (``EventHandler.resumed``), the sums of the
    metrics, and the states of the random generators of the library, ``numpy.random`` and ``random``.  Data loaders draw their
    order from these generators.  A sampler with a generator of its own starts from the beginning.

    Reading a checkpoint executes no code.  A checkpoint is complete or absent, because its parameter file is renamed to its
    final name last.

    Parameters
    ----------
    model_dir : str or path
        Folder for the files; it is made if there is none.
    model_prefix : str
        Start of the file names: ``model-epoch0batch8.params``, ``.states`` and ``.run``; ``model-symbol.json``, if the
        network is hybridized; ``model-best.params`` and ``.states``.
    monitor : EvalMetric, optional
        Metric that ``save_best`` compares.
    verbose : int
        1 logs each checkpoint.
    save_best : bool
        Also keep the best parameters.
    mode : {"auto", "min", "max"}
        Whether smaller or larger values are better.  "auto" goes by ``larger_is_better`` of the metric's class, and
        warns.  MXNet's "auto" always prefers larger values, even for a loss.
    epoch_period : int or None
        Number of epochs between checkpoints.
    batch_period : int, optional
        Number of batches between checkpoints.  It may be combined with ``epoch_period``.  MXNet cannot resume a run of
        ``epochs`` that has a ``batch_period``; sparsekit can.
    max_checkpoints : int
        Number of checkpoints that are kept, besides the best one.  Older ones are removed.
    resume_from_checkpoint : bool
        Continue from the last checkpoint, if there is one.  ``epochs`` and ``batches`` of ``fit`` then count the whole run.

    Raises
    ------
    ParameterError
        If ``save_best`` has no metric.  When training begins: if the checkpoint is that of a finished run.
    DataFileError
        If a file cannot be written.
    """

    resumed: ClassVar[tuple[str, ...]] = ("best", "current_batch", "current_epoch")

    def __init__(self, model_dir: str | PathLike[str], model_prefix: str = "model", monitor: EvalMetric | None = None,
                 verbose: int = 0, save_best: bool = False, mode: str = "auto", epoch_period: int | None = 1,
                 batch_period: int | None = None, max_checkpoints: int = 5, resume_from_checkpoint: bool = False) -> None:
        if save_best and not isinstance(monitor, EvalMetric):
            raise ParameterError(expected("monitor", "a metric, to save the best parameters by it", type(monitor)),
                                 hint="give one of estimator.train_metrics or estimator.val_metrics.")
        self.model_dir, self.model_prefix = path_of(model_dir), model_prefix
        with failures_named(self.model_dir):
            os.makedirs(self.model_dir, exist_ok=True)
        self.monitor, self.verbose, self.save_best = monitor, verbose, save_best
        self.epoch_period, self.batch_period, self.max_checkpoints = epoch_period, batch_period, max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        self.current_batch = self.current_epoch = self._generation = 0
        self.saved_checkpoints: list[str] = []
        self._has_begun = False
        self._larger = save_best and monitor is not None and larger_is_better("ModelCheckpoint", monitor, mode)
        self.best = -math.inf if self._larger else math.inf

    # events

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Begin to count, or continue from the last checkpoint."""
        self.current_batch = self.current_epoch = 0
        self.best = -math.inf if self._larger else math.inf
        checkpoints = self._found()
        self._generation = max((checkpoint.generation for checkpoint in checkpoints), default=0) + 1
        self.saved_checkpoints, self._has_begun = [], False
        if self.resume_from_checkpoint:
            self._resume(estimator, checkpoints)

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: Unpack[BatchEvent]) -> None:
        """Write a checkpoint if it is time, and the network's symbol after the first batch."""
        if not self._has_begun:
            self._has_begun = True
            self._save_symbol(estimator)
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save_checkpoint(estimator, amid=True)
        self.current_batch += 1

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Write a checkpoint if it is time."""
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save_checkpoint(estimator)
        self.current_epoch += 1

    # writing

    def _file(self, name: str) -> str:
        return os.path.join(self.model_dir, name)

    def _save_symbol(self, estimator: Estimator) -> None:
        file, net = self._file(self.model_prefix + "-symbol.json"), estimator.net
        if isinstance(getattr(net, "_programs", None), Programs):
            symbolic.trace(net).save(file, False)
        else:
            estimator.logger.info("Model architecture(symbol file) is not saved, please use HybridBlock to construct your model, "
                                  "and call net.hybridize() before passing to Estimator in order to save model architecture as "
                                  "%s.", file)

    def _save_checkpoint(self, estimator: Estimator, amid: bool = False) -> None:
        prefix = f"{self.model_prefix}-epoch{self.current_epoch}batch{self.current_batch}"
        estimator.net.save_parameters(self._file(prefix + UNFINISHED))
        estimator.trainer.save_states(self._file(prefix + ".states"))
        estimator._afterwards(lambda: self._complete(estimator, prefix))
        if self.verbose > 0:
            estimator.logger.info("[Epoch %d] CheckpointHandler: trained total %d batches, saving model at %s with prefix: %s",
                                  self.current_epoch, self.current_batch + 1, self.model_dir, prefix)
        if self.save_best:
            self._save_best(estimator, amid)

    def _complete(self, estimator: Estimator, prefix: str) -> None:
        """Write the state of the run, which other handlers have changed meanwhile, and give the checkpoint its name."""
        loop = estimator._loop
        assert loop is not None  # which completes checkpoints
        state = {"generation": self._generation, **loop.kept(),
                 "digests": {kind: _digest(self._file(prefix + kind)) for kind in (UNFINISHED, ".states")}}
        arrays = state.pop("arrays")
        write_whole(self._file(prefix + ".run"), state_files.pack(state, arrays))
        with failures_named(self._file(prefix + ".params")):
            os.replace(self._file(prefix + UNFINISHED), self._file(prefix + ".params"))
        if prefix in self.saved_checkpoints:
            self.saved_checkpoints.remove(prefix)
        self.saved_checkpoints.append(prefix)
        while len(self.saved_checkpoints) > self.max_checkpoints:
            self._remove(self.saved_checkpoints.pop(0))

    def _remove(self, prefix: str) -> None:
        for kind in (".params", ".states", ".run", UNFINISHED):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self._file(prefix + kind))

    def _save_best(self, estimator: Estimator, amid: bool) -> None:
        """Write the parameters if they are the best; in an epoch, there may be no validation yet."""
        assert self.monitor is not None
        name, value = self.monitor.get()
        if math.isnan(value) and amid:
            return
        if math.isnan(value):
            warn_user(f"Skipping save best because {name} is not updated, make sure you pass one of the metric objects "
                          "estimator.train_metrics and estimator.val_metrics as monitor", RuntimeWarning)
            return
        if not better(value, self.best, self._larger):
            if self.verbose > 0:
                estimator.logger.info("[Epoch %d] CheckpointHandler: %s did not improve from %0.5f, skipping updating best model",
                                      self.current_batch, name, self.best)
            return
        prefix, before, self.best = self.model_prefix + "-best", self.best, value
        estimator.net.save_parameters(self._file(prefix + ".params"))
        estimator.trainer.save_states(self._file(prefix + ".states"))
        if self.verbose > 0:
            estimator.logger.info("[Epoch %d] CheckpointHandler: %s improved from %0.5f to %0.5f, updating best model at %s with "
                                  "prefix: %s", self.current_epoch, name, before, value, self.model_dir, prefix)

    # resuming

    def _found(self) -> list[Found]:
        """The complete checkpoints in the folder, in the order of their runs and positions."""
        name = re.compile(re.escape(self.model_prefix) + r"-epoch(\d+)batch(\d+)\.params")
        matches = [match for match in map(name.fullmatch, os.listdir(self.model_dir)) if match]
        checkpoints = []
        for match in matches:
            prefix = match[0].removesuffix(".params")
            generation = self._generation_of(prefix)
            if generation is not None:
                checkpoints.append(Found(generation, int(match[1]), int(match[2]), prefix))
        return sorted(checkpoints)

    def _generation_of(self, prefix: str) -> int | None:
        """The number of the run that wrote a checkpoint, 0 if MXNet did; None if the checkpoint is not whole."""
        if not os.path.exists(self._file(prefix + ".states")):
            return None
        if not os.path.exists(self._file(prefix + ".run")):
            return 0
        try:
            return int(self._read(prefix)["generation"])
        except (FileFormatError, KeyError, TypeError, ValueError):
            return None

    def _read(self, prefix: str) -> dict[str, Any]:
        """The state of the run in a checkpoint, whose files are those that it was written with."""
        try:
            with open(self._file(prefix + ".run"), "rb") as file:
                about, arrays = state_files.unpack(file.read())
            state: dict[str, Any] = {**about, "arrays": arrays}
            digests = state["digests"]
            matching = (digests[UNFINISHED] == _digest(self._file(prefix + ".params"))
                        and digests[".states"] == _digest(self._file(prefix + ".states")))
        except (OSError, FileFormatError, KeyError, TypeError) as error:
            raise FileFormatError(f"{self._file(prefix + '.run')} cannot be read: {error}.",
                                  hint="resume from an earlier checkpoint.") from error
        if not matching:
            raise FileFormatError(f"The files of the checkpoint {self._file(prefix)} do not belong together.",
                                  hint="resume from an earlier checkpoint.")
        return state

    def _resume(self, estimator: Estimator, checkpoints: list[Found]) -> None:
        if not checkpoints:
            goal = f"{estimator.max_batch} batches" if estimator.max_batch else f"{estimator.max_epoch} epochs"
            estimator.logger.info("CheckpointHandler: No checkpoint found, training from scratch for %s", goal)
            return
        last = checkpoints[-1]
        state = self._read(last.prefix) if last.generation else _of_mxnet(last, bool(estimator.max_epoch))
        left = self._left(estimator, state)
        self.saved_checkpoints = [checkpoint.prefix for checkpoint in checkpoints if checkpoint.generation == last.generation]
        self._generation = max(last.generation, 1)
        estimator.net.load_parameters(self._file(last.prefix + ".params"), ctx=estimator.context)
        estimator.trainer.load_states(self._file(last.prefix + ".states"))
        estimator._continue_from(state)
        estimator.logger.warning("CheckpointHandler: Checkpoint resumed from epoch %d batch %d, continue to train for %s ",
                                 last.epoch, last.batch, left)

    @staticmethod
    def _left(estimator: Estimator, state: dict[str, Any]) -> str:
        """How much of the run is left; refuses one that is finished."""
        most, done, unit = ((estimator.max_epoch, state["epoch"], "epoch") if estimator.max_epoch
                            else (estimator.max_batch or 0, state["total"], "batch"))
        if done >= most:
            raise ParameterError(f"Found checkpoint with maximum number of {unit} {most} reached.",
                                 hint="give fit a larger number, or resume_from_checkpoint=False to train from scratch.")
        if state.get("stopped"):
            raise ParameterError(f"The checkpoint belongs to a run that {' and '.join(state['stopped'])} ended.",
                                 hint="resume_from_checkpoint=False trains from scratch.")
        return f"{most - done} {'epochs' if unit == 'epoch' else 'batches'}"


def _of_mxnet(checkpoint: Found, by_epoch: bool) -> dict[str, Any]:
    """The position of a checkpoint that MXNet wrote, which has no state of a run and counts from 0."""
    if by_epoch:
        return {"epoch": checkpoint.epoch + 1, "batch": 0, "total": checkpoint.batch}
    return {"epoch": checkpoint.epoch, "batch": 0, "total": checkpoint.batch + 1}


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
