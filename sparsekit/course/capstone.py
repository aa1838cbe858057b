"""The task that ends the course: a program that wastes memory and time, and the measurement of a better one.

    from sparsekit.course import capstone

    capstone.grade(train, seed=1)      # practice
    capstone.grade(train)              # a new instance, which the program has not seen

``train(task)`` gets a ``Task``, trains a network on its batches, and returns the loss of every batch and the scores of the
texts held out.  ``given`` is such a program, and the one to improve.  A solution gives the same numbers, within bounds of
memory, bytes and time that are shares of what ``given`` takes on the same instance.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from .. import autograd, gluon, init, ndarray
from ..base.errors import ContractError, UnknownNameError
from ..base.formatting import format_bytes
from ..datasets import load_books
from ..gluon.utils import whole
from ..profiler import Profiler, compare, expect
from .words import Message, rich

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..gluon import Block
    from ..ndarray import CSRNDArray, NDArray
    from ..profiler import Profile
    from ..profiler.turns import Comparison

#: Columns into which the words of the books, and pairs of them, are hashed before an instance is drawn.
FEATURES = 2**18
BATCHES, ROWS, HELD_OUT, UNITS = 6, 128, 256, 32
#: Columns of an instance: from the first to below the second.
COLUMNS = (60_000, 90_000)

#: Bounds of a solution: bytes at the peak by those of the weight, bytes moved and time by those of ``given``.
PEAK, MOVED, FASTER = 3.0, 0.10, 5.0
#: Largest relative difference of losses and scores: the order of sums is free.
WITHIN = 1e-3
#: Blocks of the comparison, the fewest that allow the confidence.
ROUNDS, CONFIDENCE = 6, 0.95

#: A program to grade: (task) -> losses of the batches, scores of the texts held out.
Program = Callable[["Task"], tuple[Sequence[float], "NDArray"]]


class Task(NamedTuple):
    """One instance of the task.

    Attributes
    ----------
    seed : int
        Seed of the instance.
    columns : int
        Number of columns of the texts.
    batches : list of (CSRNDArray, NDArray)
        Batches of 128 texts for training, with labels of shape (128, 1).  The label is 1 for a paragraph of Darwin.
    held_out : CSRNDArray
        256 texts to score after training.
    weights : list of numpy.ndarray
        Initial values of the network's four parameters, float32, as ``start`` sets them.
    """

    seed: int
    columns: int
    batches: list[tuple[CSRNDArray, NDArray]]
    held_out: CSRNDArray
    weights: list[Any]   # Any: arrays of numpy

    def start(self, net: Block) -> None:
        """Initialize a network of two dense layers with the weights of the instance."""
        net.initialize(init.Zero())   # whose values are replaced
        for parameter, values in zip(net.collect_params().values(), self.weights, strict=True):
            parameter.set_data(values if values.shape == parameter.shape else values.T)   # for row-sparse gradients

    @property
    def budget(self) -> int:
        """Bytes that a solution may hold at its peak, this instance included: three times the bytes of the large weight."""
        return int(PEAK * self.weights[0].nbytes)


@cache
def _texts() -> tuple[Any, Any]:   # Any: a matrix of scipy, an array of numpy
    part = load_books(FEATURES, "Darwin", pairs=True).train
    return part.data.asscipy(), part.label


def task(seed: int) -> Task:
    """Draw an instance.

    Parameters
    ----------
    seed : int
        The same seed gives the same instance on every machine.

    Returns
    -------
    Task

    Raises
    ------
    ShapeError
        If the seed is not an integer of at least 0.
    """
    seed = whole("seed", seed)
    draw = np.random.default_rng(seed)
    columns = int(draw.integers(*COLUMNS))
    texts, labels = _texts()
    rows = draw.permutation(texts.shape[0])[:BATCHES * ROWS + HELD_OUT]
    chosen = texts[rows].tocoo()
    place = draw.permutation(FEATURES)[chosen.col] % columns
    folded = sparse.csr_array((chosen.data, (chosen.row, place)), shape=(len(rows), columns))   # columns that meet are added
    label = labels[rows].reshape(-1, 1)
    parts = [slice(start, start + ROWS) for start in range(0, BATCHES * ROWS, ROWS)]
    batches = [(ndarray.sparse.csr_matrix(folded[part]), ndarray.array(label[part])) for part in parts]
    weights = [draw.normal(0, 0.1, shape).astype("float32") for shape in ((UNITS, columns), (UNITS,), (1, UNITS), (1,))]
    return Task(seed, columns, batches, ndarray.sparse.csr_matrix(folded[BATCHES * ROWS:]), weights)


def given(task: Task) -> tuple[list[float], NDArray]:
    """The program to improve: texts become dense, the gradient has every row, and all scores are computed at once."""
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(UNITS, in_units=task.columns, activation="relu"), gluon.nn.Dense(1, in_units=UNITS))
    task.start(net)
    trainer = gluon.Trainer(net.collect_params(), "adagrad", {"learning_rate": 0.05})
    loss_of = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    losses = []
    for data, label in task.batches:
        dense = data.tostype("default")
        with autograd.record():
            loss = loss_of(net(dense), label)
        loss.backward()
        trainer.step(len(label))
        losses.append(loss.mean().asscalar())
    return losses, net(task.held_out.tostype("default"))


class Row(NamedTuple):
    """One line of a certificate: what is required, what was found, and whether that is enough."""

    required: str
    found: str
    reached: bool


class Certificate(Message):
    """What a program reached on one instance, created by ``grade``.

    Attributes
    ----------
    seed : int
        Seed of the instance; ``grade(train, seed=...)`` measures on the same instance again.
    rows : list of Row
        One row for each requirement.
    reached : bool
        Whether all requirements are met.
    """

    def __init__(self, seed: int, rows: list[Row]) -> None:
        self.seed, self.rows = seed, rows
        self.reached = all(row.reached for row in rows)
        self.title = f"Instance {seed}: {'all' if self.reached else sum(row.reached for row in rows)} of {len(rows)} reached"
        super().__init__(self._plain(), self._table())

    def _plain(self) -> str:
        width = max(len(row.required) for row in self.rows)
        lines = [f"{'yes' if row.reached else 'no':4}{row.required:{width}}  {row.found}" for row in self.rows]
        return "\n".join([self.title, *lines])

    def _table(self) -> str:
        left = 'style="text-align: left"'
        lines = "".join(f"<tr><td>{'✔' if row.reached else '✘'}</td><td {left}>{rich(row.required)}</td>"
                        f"<td {left}>{rich(row.found)}</td></tr>" for row in self.rows)
        return (f"<table><caption><strong>{rich(self.title)}</strong></caption>"
                f"<tr><th></th><th {left}>required</th><th {left}>found</th></tr>{lines}</table>")


def grade(train: Program, seed: int | None = None) -> Certificate:
    """Measure a program beside ``given`` on one instance.

    Both programs start from the same weights and train on the same texts.  Bytes come from a profile of one run.  Times come
    from ``mx.profiler.compare``, which interleaves the runs of both.

    Parameters
    ----------
    train : callable
        ``train(task)`` returns the loss of every batch, as a list of numbers, and the scores of the texts held out, an array
        of shape (256, 1).
    seed : int, optional
        Seed of the instance; by default a random one.

    Returns
    -------
    Certificate

    Raises
    ------
    UnknownNameError
        If ``train`` is not a function, or returns something else.
    ShapeError
        If the seed is not an integer of at least 0.
    """
    if not callable(train):
        raise UnknownNameError(f"grade() needs a function of one task, got {train!r}.", hint="pass train, not train(task).")
    seed = secrets.randbelow(10**6) if seed is None else whole("seed", seed)
    mine, yours = task(seed), task(seed)   # one for each, in case a program changes its arrays
    wanted, got = _run(given, mine), _run(train, yours)
    times = compare({"given": lambda: given(mine), "yours": lambda: train(yours)}, ROUNDS, confidence=CONFIDENCE, profile=False)
    return Certificate(seed, [_same(wanted, got), *_bytes(wanted.profile, got.profile, yours.budget), _time(times)])


class _Run(NamedTuple):
    """What a program returned, as arrays, and its profile."""

    losses: npt.NDArray[np.float64]
    scores: npt.NDArray[np.float64]
    profile: Profile


def _run(program: Program, task: Task) -> _Run:
    with Profiler() as profile:
        result = program(task)
    try:
        losses, scores = result
        return _Run(np.array([float(loss) for loss in losses]), scores.asnumpy().astype("float64"), profile)
    except (TypeError, ValueError, AttributeError) as error:
        raise UnknownNameError(f"train(task) must return a list of losses and an array of scores, got {type(result).__name__}.",
                               hint="return losses, scores, as capstone.given does.") from error


def _same(wanted: _Run, of_program: _Run) -> Row:
    required = f"the same losses and scores, within {WITHIN:.1%}"
    for name, right, got in (("losses", wanted.losses, of_program.losses), ("scores", wanted.scores, of_program.scores)):
        if right.shape != got.shape:
            return Row(required, f"{name} have the shape {got.shape}, but must have {right.shape}", False)
        apart = float(np.max(np.abs(got - right)) / np.max(np.abs(right)))
        if not apart <= WITHIN:   # nor if it is NaN
            return Row(required, f"{name} differ by {apart:.2g} of the largest", False)
    return Row(required, "equal", True)


def _bytes(wanted: Profile, profile: Profile, budget: int) -> list[Row]:
    limit = int(MOVED * _moved(wanted))
    rows = [("no implicit conversion to dense", lambda: expect(profile).no_densify(), f"{profile.densified} happened"),
            (f"a peak below {format_bytes(budget)}", lambda: expect(profile).peak_below(budget),
             f"{format_bytes(profile.memory['peak_bytes'])}; the given program {format_bytes(wanted.memory['peak_bytes'])}"),
            (f"less than {format_bytes(limit)} moved, {MOVED:.0%} of the given program's",
             lambda: expect(profile).bytes_moved_below(limit), format_bytes(_moved(profile)))]
    return [Row(required, said, _holds(contract)) for required, contract, said in rows]


def _moved(profile: Profile) -> int:
    return sum(row["bytes"] for row in profile.totals)


def _holds(contract: Callable[[], object]) -> bool:   # object: the contracts so far
    try:
        contract()
    except ContractError:
        return False
    return True


def _time(times: Comparison) -> Row:
    row = times["yours"]
    low, high = row["low"], row["high"]
    assert low is not None   # every program but the first has both
    assert high is not None
    said = f"{row['finding']}; {1 / high:.3g} to {1 / low:.3g} times as fast in {len(times.blocks)} interleaved rounds"
    return Row(f"at least {FASTER:g} times as fast, with {CONFIDENCE:.0%} confidence", said, high <= 1 / FASTER)
