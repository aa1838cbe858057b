"""What the examples share: data in three parts, a training step, dense beside sparse storage, settings, the command line.

Settings are chosen by the score on a part of the training data that is not trained on (``--choose``); the data for testing
are looked at once, when training is over.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from .. import autograd, gluon, random
from ..base.errors import ShapeError, SparsekitError, expected
from ..cli import check_writable
from ..profiler import Profiler

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.types import Functions, Tensor
    from ..gluon.block import HybridBlock
    from ..ndarray.ndarray import NDArray

__all__ = ["Choice", "Example", "Objective", "Outcome", "Result", "Split", "carve", "choose", "compare", "main", "run", "table"]

#: Steps at the start that are not measured: they load kernels and touch pages for the first time.
FIRST = 2


#: Share of the training data that settings are chosen by.
VALIDATION = 0.2


class Split(NamedTuple):
    """Data in three parts; each is a tuple of columns of one length, the last of them what is to be predicted.

    Attributes
    ----------
    train, validation, test : tuple
    facts : dict
        What else a model must know, such as numbers of users.
    """

    train: tuple[Any, ...]
    validation: tuple[Any, ...]
    test: tuple[Any, ...]
    facts: dict[str, Any]


def carve(columns: Sequence[Any], test: Sequence[Any], **facts: object) -> Split:
    """Keep the last fifth of the training data, whose rows are in random order, to choose settings by."""
    rows = columns[-1].shape[0]
    cut = rows - round(rows * VALIDATION)
    return Split(tuple(column[:cut] for column in columns), tuple(column[cut:] for column in columns), tuple(test), facts)


class Objective(gluon.HybridBlock):
    """A model and its loss in one block, so that ``hybridize()`` makes one program of both.

    Its inputs are those of the model and then the labels; it gives the loss of each example.
    """

    def __init__(self, model: Callable[..., Any], loss: Callable[..., Any]) -> None:
        super().__init__()
        self.model, self.loss = model, loss

    def hybrid_forward(self, F: Functions, *batch: Tensor) -> Tensor:
        """The loss of each example."""
        found: Tensor = self.loss(self.model(*batch[:-1]), batch[-1])
        return found


class Example(ABC):
    """A model, its data, and how it is trained; each example is a subclass.

    A subclass says what ``load`` reads, which model ``build`` makes of it, which ``batches`` it is trained on, how it is
    ``evaluate`` tells of it on a part of the data, and what a ``trivial`` predictor can reach at best.

    Parameters
    ----------
    data : Split
        What ``load(options)`` gave.
    options : argparse.Namespace
        ``batch_size``, ``learning_rate``, ``seed``, ``hybridize`` and what the example adds.
    sparse : bool
        Whether batches, weights and gradients are sparse where they can be, or all dense.
    """

    #: What the score is called, and whether more of it is better.
    score_name, more_is_better = "accuracy", True
    #: The options' defaults; ``quick`` ones replace them for a first look.
    defaults: ClassVar[dict[str, Any]] = {}
    quick: ClassVar[dict[str, Any]] = {}
    #: What ``choose`` tries of some options, every combination; and of epochs every number up to the default's double.
    candidates: ClassVar[dict[str, tuple[Any, ...]]] = {"learning_rate": (0.02, 0.05, 0.1, 0.2, 0.4)}
    #: AdaGrad: its sparse steps are exactly its dense ones, since a gradient of zero changes nothing.
    optimizer = "adagrad"

    def __init__(self, data: Split, options: argparse.Namespace, sparse: bool = True) -> None:
        self.data, self.options, self.sparse = data, options, sparse
        random.seed(options.seed)
        self.model: Any = self.build()  # Any: a model of the example's own, with parts of its own
        self.objective = self.build_objective()
        if options.hybridize:
            self.objective.hybridize()
        self.trainer = gluon.Trainer(self.model.collect_params(), self.optimizer, {"learning_rate": options.learning_rate})

    @staticmethod
    @abstractmethod
    def load(options: argparse.Namespace) -> Split:
        """Read the data."""

    @abstractmethod
    def build(self) -> HybridBlock:
        """Make the model and its initial values, the same ones dense and sparse."""

    def loss(self) -> HybridBlock:
        """The loss of a prediction and a label: of two classes, by the logarithm of the odds."""
        return gluon.loss.SigmoidBinaryCrossEntropyLoss()

    def build_objective(self) -> HybridBlock:
        """The block that ``step`` runs, model and loss together; it is what is hybridized."""
        return Objective(self.model, self.loss())

    @abstractmethod
    def batches(self) -> Iterator[Any]:
        """The batches of one epoch, in a new order each time: inputs of the model, then labels."""

    @abstractmethod
    def evaluate(self, columns: Sequence[Any]) -> float:
        """How good the model is on one part of the data."""

    def accuracy(self, odds: NDArray, label: NDArray) -> float:
        """Share of rows whose class is predicted, given the logarithms of their odds, (rows, 1)."""
        return float(np.mean((odds.asnumpy()[:, 0] > 0) == (label > 0)))

    @staticmethod
    def trivial(data: Split) -> float:
        """The best score that is possible without looking at any input, even knowing the test labels: the more frequent class."""
        share = float(np.mean(data.test[-1] > 0))
        return max(share, 1 - share)

    @staticmethod
    @abstractmethod
    def describe(data: Split) -> str:
        """The data in a line."""

    def step(self, batch: Sequence[Any]) -> NDArray:
        """Forward, backward, update; the loss of each example."""
        with autograd.record():
            loss = self.objective(*batch)
        loss.backward()
        self.trainer.step(loss.size)
        found: NDArray = loss
        return found

    def gradient_bytes(self) -> int:
        """Bytes of the gradients of all parameters."""
        return sum(int(one.grad()._store.nbytes) for one in self.model.collect_params().values() if one.grad_req != "null")

    def epoch(self) -> float:
        """Train on every batch once; the mean loss."""
        total, count = 0.0, 0
        for batch in self.batches():
            loss = self.step(batch)
            total, count = total + float(loss.sum().asscalar()), count + loss.size
        return total / max(count, 1)


class Outcome(NamedTuple):
    """What a few steps of training cost.

    Attributes
    ----------
    seconds : float
        Median time of a step; the first ones do not count.
    gradient : int
        Bytes of all gradients, at most.
    losses : list of float
        Mean loss of each step.
    """

    seconds: float
    gradient: int
    losses: list[float]


class Result(NamedTuple):
    """What a run of an example gave.

    Attributes
    ----------
    outcomes : dict of str to Outcome
        ``"dense"`` and ``"sparse"``; empty if no steps were to be compared.
    losses : list of float
        Mean loss of each epoch.
    scores : list of float
        On the part that settings are chosen by, after each epoch.
    score : float
        On the data for testing, at the end.
    trivial : float
        What a trivial predictor can reach at best.
    example : Example
        The trained one.
    """

    outcomes: dict[str, Outcome]
    losses: list[float]
    scores: list[float]
    score: float
    trivial: float
    example: Example


def measure(example: Example, batches: Sequence[Any]) -> Outcome:
    """Train on the batches, and watch."""
    times, gradient, losses = [], 0, []
    for batch in batches:
        start = time.perf_counter()
        loss = example.step(batch)
        losses.append(float(loss.mean().asscalar()))
        times.append(time.perf_counter() - start)
        gradient = max(gradient, example.gradient_bytes())
    return Outcome(statistics.median(times[FIRST:] or times), gradient, losses)


def compare(kind: type[Example], data: Split, options: argparse.Namespace) -> dict[str, Outcome]:
    """Train the first steps in dense and in sparse storage, from the same initial values, on the same batches."""
    outcomes = {}
    for name, sparse in (("dense", False), ("sparse", True)):
        example = kind(data, options, sparse)
        random.seed(options.seed)
        outcomes[name] = measure(example, [batch for batch, _ in zip(example.batches(), range(options.steps), strict=False)])
    return outcomes


def table(outcomes: dict[str, Outcome]) -> str:
    """The comparison as text."""
    dense, sparse = outcomes["dense"], outcomes["sparse"]
    rows = [
        ("", "dense", "sparse", ""),
        ("milliseconds a step", f"{dense.seconds * 1e3:.2f}", f"{sparse.seconds * 1e3:.2f}",
         f"{dense.seconds / sparse.seconds:.1f} x"),
        ("bytes of gradients", f"{dense.gradient:,}", f"{sparse.gradient:,}", f"{dense.gradient / sparse.gradient:.1f} x"),
        (f"loss at step {len(dense.losses)}", f"{dense.losses[-1]:.6f}", f"{sparse.losses[-1]:.6f}", ""),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(f"  {row[0]:<{widths[0]}}" + "".join(
        f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)).rstrip() for row in rows)


def parser(kind: type[Example], name: str, text: str) -> argparse.ArgumentParser:
    """The command line of an example; its options are its ``defaults``."""
    made = argparse.ArgumentParser(prog=f"python -m sparsekit.examples.{name}", description=text)
    shared = {"epochs": "rounds over the training data", "steps": "steps to compare dense with sparse storage over, 0 for none",
              "seed": "of initial values, orders and samples"}
    for option, value in {"seed": 0, **kind.defaults}.items():
        known = shared.get(option, "")
        made.add_argument(f"--{option.replace('_', '-')}", type=type(value), help=f"{known} (default: {value})".strip())
    made.add_argument("--packages", nargs="+", metavar="NAME", help="installed packages whose documentation is the data")
    made.add_argument("--quick", action="store_true", help="little data and a small model: seconds, for a first look")
    made.add_argument("--hybridize", action=argparse.BooleanOptionalAction, default=True,
                      help="run the model as a compiled program (default: yes)")
    made.add_argument("--choose", action="store_true", help="choose settings by their score in validation, and test nothing")
    made.add_argument("--profile", type=Path, metavar="FILE", help="write a Chrome trace of the sparse steps")
    return made


def settings(kind: type[Example], words: argparse.Namespace) -> argparse.Namespace:
    """Fill in the defaults; sizes that are not positive are refused."""
    for option, value in {"seed": 0, **kind.defaults, **(kind.quick if words.quick else {})}.items():
        given = getattr(words, option)
        setattr(words, option, value if given is None else given)
        least = 0 if option in ("seed", "steps", "epochs") else 1
        if isinstance(value, int) and getattr(words, option) < least:
            raise ShapeError(expected(f"--{option.replace('_', '-')}", f"at least {least}", given), hint=f"{value} is usual.")
    if words.profile:
        check_writable(words.profile)
    return words


def run(kind: type[Example], options: argparse.Namespace, say: Callable[[str], object] = print) -> Result:
    """Compare, train, test, and say what came out."""
    data = kind.load(options)
    say(kind.describe(data))
    outcomes = compare(kind, data, options) if options.steps else {}
    if outcomes:
        say(table(outcomes))
    example, losses, scores = kind(data, options), [], []
    if options.profile:
        with Profiler() as profile:
            measure(example, [batch for batch, _ in zip(example.batches(), range(options.steps or 10), strict=False)])
        profile.save_trace(options.profile)
        say(f"Wrote {options.profile}")
    for number in range(options.epochs):
        losses.append(example.epoch())
        scores.append(example.evaluate(data.validation))
        say(f"epoch {number + 1}: loss {losses[-1]:.4f}, {kind.score_name} in validation {scores[-1]:.4f}")
    score, trivial = example.evaluate(data.test), kind.trivial(data)
    say(f"On the data for testing: {kind.score_name} {score:.4f}; no trivial predictor has a better one than {trivial:.4f}.")
    return Result(outcomes, losses, scores, score, trivial, example)


class Choice(NamedTuple):
    """Settings, and the score in validation that they were chosen for."""

    settings: dict[str, Any]
    score: float


def choose(kind: type[Example], data: Split, options: argparse.Namespace, say: Callable[[str], object] = print) -> Choice:
    """Train with every combination of the candidates, and choose by the score in validation; nothing is tested."""
    best = None
    for values in itertools.product(*kind.candidates.values()):
        settings = dict(zip(kind.candidates, values, strict=True))
        example = kind(data, argparse.Namespace(**{**vars(options), **settings}))
        scores = []
        for _ in range(max(1, 2 * options.epochs)):
            example.epoch()
            scores.append(example.evaluate(data.validation))
        found = Choice(settings, max(scores) if kind.more_is_better else min(scores))
        found.settings["epochs"] = scores.index(found.score) + 1
        say(f"{', '.join(f'{name} {value}' for name, value in found.settings.items())}: {kind.score_name} {found.score:.4f}")
        if best is None or (found.score > best.score) == kind.more_is_better:
            best = found
    assert best is not None
    words = " ".join(f"--{name} {value}".replace("_", "-") for name, value in best.settings.items())
    say(f"Best in validation: {words}")
    return best


def main(kind: type[Example], name: str, text: str | None, argv: Sequence[str] | None = None) -> int:
    """Run an example from the command line; 0 when all went well, 2 for a mistake that the message explains."""
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
