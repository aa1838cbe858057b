"""Code shared by the examples: data splits, training, the comparison of dense and sparse storage, settings, command line.

``--choose`` selects settings by their score on validation data.  The test data are used once, after training.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from .. import autograd, gluon, nd, profiler, random
from ..base.config import config
from ..base.epoch_loop import EpochLoop
from ..base.errors import ShapeError, SparsekitError, expected
from ..base.formatting import format_ratio
from ..cli import check_writable
from ..profiler.turns import SAME
from .beside import WIDEST, Beside, beside, measure

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..gluon.block import HybridBlock
    from ..ndarray.ndarray import NDArray
    from ..profiler.turns import Comparison

#: Rounds of steps in turn.
TIMED_ROUNDS = 12

#: Share of the training data that is used for validation.
VALIDATION_SHARE = 0.2


class Split(NamedTuple):
    """Data in three parts; each is a tuple of columns of equal length, the last of which has the labels.

    Attributes
    ----------
    train, validation, test : tuple
    facts : dict
        Sizes and names that the model needs, such as the number of users.
    """

    train: tuple[Any, ...]
    validation: tuple[Any, ...]
    test: tuple[Any, ...]
    facts: dict[str, Any]


def split_validation(columns: Sequence[Any], test: Sequence[Any], **facts: object) -> Split:
    """Split off the last fifth of the training data, whose rows must be in random order, for validation."""
    rows = columns[-1].shape[0]
    cut = rows - round(rows * VALIDATION_SHARE)
    return Split(tuple(column[:cut] for column in columns), tuple(column[cut:] for column in columns), tuple(test), facts)


class Example(EpochLoop[Any, Any]):
    """A model, its data and its training; each example is a subclass.

    Subclasses define ``load``, ``build`` and ``describe``, and may override the rest.  An epoch is a loop over ``batches`` that
    calls ``step``.

    Parameters
    ----------
    data : Split
        The result of ``load(options)``.
    options : argparse.Namespace
        ``batch_size``, ``learning_rate``, ``seed``, ``hybridize`` and the options of the example.
    sparse : bool
        Whether batches, weights and gradients are sparse where the model allows it, or all dense.
    """

    #: Name of the score, and whether larger scores are better.
    score_name, more_is_better = "accuracy", True
    #: Defaults of the options, and those that ``--quick`` replaces.
    defaults: ClassVar[dict[str, Any]] = {}
    quick: ClassVar[dict[str, Any]] = {}
    #: Values that ``choose`` tries in every combination, each with 1 to ``2 * epochs`` epochs.
    candidates: ClassVar[dict[str, tuple[Any, ...]]] = {"learning_rate": (0.02, 0.05, 0.1, 0.2, 0.4)}
    #: AdaGrad's sparse steps equal its dense steps, since a zero gradient leaves weight and state unchanged.
    optimizer = "adagrad"

    def __init__(self, data: Split, options: argparse.Namespace, sparse: bool = True) -> None:
        self.data, self.options, self.sparse = data, options, sparse
        random.seed(options.seed)
        self.model: Any = self.build()  # Any: the model class of the example, with its own attributes
        if options.hybridize:
            self.model.hybridize()
        self.trainer = gluon.Trainer(self.model.collect_params(), self.optimizer, {"learning_rate": options.learning_rate})

    @staticmethod
    @abstractmethod
    def load(options: argparse.Namespace) -> Split:
        """Read and split the data."""

    @abstractmethod
    def build(self) -> HybridBlock:
        """Build and initialize the model, with the same initial values for dense and sparse storage."""

    def loss(self) -> HybridBlock:
        """Return the loss of predictions and labels; by default for log-odds of two classes."""
        return gluon.loss.SigmoidBinaryCrossEntropyLoss()

    @property
    def trainer(self) -> gluon.Trainer:
        """The trainer; another one is what the next steps use."""
        return self._trainer

    @trainer.setter
    def trainer(self, trainer: gluon.Trainer) -> None:
        self._trainer = trainer
        self.train = self.build_step()

    def build_step(self) -> gluon.TrainStep:
        """Return what ``step`` calls: forward pass, loss, backward pass and update."""
        return gluon.TrainStep(self.model, self.loss(), self.trainer)

    def arrays(self, part: Sequence[Any]) -> tuple[Any, ...]:
        """Return the columns of a part of the data as arrays; by default csr rows and labels."""
        *rows, label = part
        return *rows, nd.array(label)

    def inputs(self, *columns: NDArray) -> tuple[Any, ...]:
        """Return what the model takes of the columns of a batch without its labels; by default all."""
        return columns

    def batches(self) -> Iterator[Any]:
        """Yield the batches of one epoch: inputs of the model, the first of which is dense unless ``sparse``, then labels."""
        rows = gluon.data.ArrayDataset(*self.arrays(self.data.train))
        for *columns, label in gluon.data.DataLoader(rows, self.options.batch_size, shuffle=True, last_batch="discard"):
            first, *others = self.inputs(*columns)
            yield first if self.sparse else first.tostype("default"), *others, label

    def predict(self, part: Sequence[Any]) -> tuple[Any, Any]:
        """Return what the model says of a part of the data, and its labels, as arrays of numpy."""
        *columns, label = self.arrays(part)
        with autograd.predict_mode():
            return self.model(*self.inputs(*columns)).asnumpy()[:, 0], label.asnumpy()

    def evaluate(self, columns: Sequence[Any]) -> float:
        """Return the score of the model on one part of the data; by default the share of rows that are classified correctly."""
        odds, label = self.predict(columns)
        return float(np.mean((odds > 0) == (label > 0)))

    @staticmethod
    def trivial(data: Split) -> float:
        """Return the best test score without inputs: by default the share of the majority class of the test data."""
        share = float(np.mean(data.test[-1] > 0))
        return max(share, 1 - share)

    @staticmethod
    @abstractmethod
    def describe(data: Split) -> str:
        """Describe the data in a line."""

    def step(self, batch: Sequence[Any]) -> NDArray:
        """Run forward, backward and update, and return the loss of each example."""
        *data, label = batch
        with config.set(tables=config.tables and self.options.hybridize):
            loss: NDArray = self.train(data, label, label.shape[0])
        return loss

    def gradient_bytes(self) -> int:
        """Return the bytes of all gradients."""
        return sum(int(parameter.grad()._store.nbytes) for parameter in self.model.collect_params().values()
                   if parameter.grad_req != "null")

    def epoch_begin(self) -> None:
        """Begin the mean of the loss."""
        self._total, self._count = 0.0, 0

    def batch_end(self, batch: Sequence[Any], outcome: NDArray) -> None:
        """Add the losses of a batch."""
        self._total += float(outcome.sum().asscalar())
        self._count += outcome.size

    def epoch(self) -> float:
        """Train on every batch once and return the mean loss."""
        self.run_epoch()
        return self._total / max(self._count, 1)


class Result(NamedTuple):
    """The results of a run of an example.

    Attributes
    ----------
    compared : Beside or None
        None with ``--steps 0``.
    losses : list of float
        Mean loss of each epoch.
    scores : list of float
        Validation score after each epoch.
    score : float
        Test score after training.
    trivial : float
        Best test score of a predictor without inputs.
    example : Example
        The trained example.
    """

    compared: Beside | None
    losses: list[float]
    scores: list[float]
    score: float
    trivial: float
    example: Example


def compare(kind: type[Example], data: Split, options: argparse.Namespace) -> Beside:
    """Train some steps in dense and in sparse storage, from the same initial values and on the same batches; then time steps."""
    return beside({name: partial(_made, kind, data, options, sparse) for name, sparse in (("dense", False), ("sparse", True))},
                  TIMED_ROUNDS)


def _made(kind: type[Example], data: Split, options: argparse.Namespace, sparse: bool) -> tuple[Example, list[Any]]:
    example = kind(data, options, sparse)
    random.seed(options.seed)
    return example, list(itertools.islice(example.batches(), options.steps))


def table(compared: Beside) -> str:
    """Return the comparison as text."""
    dense, sparse = compared.measured.values()
    times = compared.times
    assert times is not None  # of two kinds
    rows = [
        ("", "dense", "sparse", ""),
        ("bytes of gradients", f"{dense.gradient:,}", f"{sparse.gradient:,}", f"{dense.gradient / sparse.gradient:.1f}×"),
        (f"loss at step {len(dense.losses)}", f"{dense.losses[-1]:.6f}", f"{sparse.losses[-1]:.6f}", ""),
        _time_row(times),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(f"  {row[0]:<{widths[0]}}" + "".join(
        f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)).rstrip() for row in rows)


def _time_row(times: Comparison) -> tuple[str, str, str, str]:
    """The times of steps in turn, with the interval of their ratio, or why they are not told."""
    name, row = "time per step in ms", times["sparse"]
    if times.disturbed:
        return name, "-", "-", "other programs ran"
    low, high = row["low"], row["high"]
    assert low is not None  # as of all kinds but the first
    assert high is not None
    if high > WIDEST * low:
        return name, "-", "-", "varies too much here"
    dense, sparse = (f"{row_of_kind['time'] / 1e3:.2f}" for row_of_kind in times.rows)
    return name, dense, sparse, (row["verdict"] if row["verdict"] == SAME else
                                 f"{format_ratio(1 / high)} to {format_ratio(1 / low)} as fast")


#: Help texts of the options that examples have.
OPTIONS = {
    "seed": "seed of initial values, orders and samples", "epochs": "number of epochs", "batch_size": "size of a batch",
    "steps": "number of steps that compare dense with sparse storage, 0 for none", "learning_rate": "learning rate of AdaGrad",
    "features": "number of columns that words are hashed into", "factors": "length of the vectors",
    "movielens": "MovieLens data set to download instead, such as 100k", "words": "size of the vocabulary",
    "width": "length of the embedding vectors", "hidden": "number of hidden units",
    "projection": "size that the LSTM's output is projected to, 0 for none", "samples": "number of sampled classes per batch",
    "length": "number of words of each column of a batch", "clip": "largest norm of the gradients of all parameters",
}


def parser(kind: type[Example], name: str, text: str) -> argparse.ArgumentParser:
    """Return the parser of an example, with an option for each of its ``defaults``."""
    command = argparse.ArgumentParser(prog=f"python -m sparsekit.examples.{name}", description=text)
    for option, value in {"seed": 0, **kind.defaults}.items():
        default = f" (default: {value})" if value != "" else ""
        command.add_argument(f"--{option.replace('_', '-')}", type=type(value),
                             help=f"{OPTIONS.get(option, '')}{default}".strip())
    command.add_argument("--quick", action="store_true", help="train a small model for a few epochs, in some seconds")
    command.add_argument("--hybridize", action=argparse.BooleanOptionalAction, default=True,
                         help="run training steps as compiled tables of calls (default: yes)")
    command.add_argument("--choose", action="store_true", help="choose settings by validation score, without testing")
    command.add_argument("--profile", type=Path, metavar="FILE", help="write a profile of the sparse steps: .npz, .html or .json")
    return command


def settings(kind: type[Example], words: argparse.Namespace) -> argparse.Namespace:
    """Fill in the defaults, and raise ``ShapeError`` for sizes that are not positive."""
    for option, value in {"seed": 0, **kind.defaults, **(kind.quick if words.quick else {})}.items():
        chosen = getattr(words, option)
        setattr(words, option, value if chosen is None else chosen)
        least = 0 if option in ("seed", "steps", "epochs") else 1
        if isinstance(value, int) and getattr(words, option) < least:
            raise ShapeError(expected(f"--{option.replace('_', '-')}", f"at least {least}", chosen), hint=f"{value} by default.")
    if words.profile:
        check_writable(words.profile)
    return words


def run(kind: type[Example], options: argparse.Namespace, say: Callable[[str], object] = print) -> Result:
    """Compare storage, train, validate and test; pass each line of the report to ``say``."""
    data = kind.load(options)
    say(kind.describe(data))
    compared = compare(kind, data, options) if options.steps else None
    if compared:
        say(table(compared))
    example, losses, scores = kind(data, options), [], []
    if options.profile:
        with profiler.Profiler() as profile:
            measure(example, list(itertools.islice(example.batches(), options.steps or 10)))
        profile.save(options.profile)
        say(f"Wrote {options.profile}")
    for number in range(options.epochs):
        losses.append(example.epoch())
        scores.append(example.evaluate(data.validation))
        say(f"epoch {number + 1}: loss {losses[-1]:.4f}, validation {kind.score_name} {scores[-1]:.4f}")
    score, trivial = example.evaluate(data.test), kind.trivial(data)
    say(f"Test {kind.score_name}: {score:.4f}; the best predictor that ignores its inputs reaches {trivial:.4f}.")
    return Result(compared, losses, scores, score, trivial, example)


class Choice(NamedTuple):
    """Settings and their validation score."""

    settings: dict[str, Any]
    score: float


def choose(kind: type[Example], data: Split, options: argparse.Namespace, say: Callable[[str], object] = print) -> Choice:
    """Train with every combination of the candidates, and return the one with the best validation score."""
    best = None
    for values in itertools.product(*kind.candidates.values()):
        settings = dict(zip(kind.candidates, values, strict=True))
        example = kind(data, argparse.Namespace(**{**vars(options), **settings}))
        scores = []
        for _ in range(max(1, 2 * options.epochs)):
            example.epoch()
            scores.append(example.evaluate(data.validation))
        choice = Choice(settings, max(scores) if kind.more_is_better else min(scores))
        choice.settings["epochs"] = scores.index(choice.score) + 1
        say(f"{', '.join(f'{name} {value}' for name, value in choice.settings.items())}: {kind.score_name} {choice.score:.4f}")
        if best is None or (choice.score > best.score) == kind.more_is_better:
            best = choice
    assert best is not None
    words = " ".join(f"--{name} {value}".replace("_", "-") for name, value in best.settings.items())
    say(f"Best validation score: {words}")
    return best


def main(kind: type[Example], name: str, text: str | None, argv: Sequence[str] | None = None) -> int:
    """Run an example from the command line, and return 0, or 2 after a named error."""
    try:
        options = settings(kind, parser(kind, name, (text or "").strip().splitlines()[0]).parse_args(argv))
        if options.choose:
            choose(kind, kind.load(options), options)
        else:
            run(kind, options)
    except SparsekitError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
