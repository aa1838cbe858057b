"""Checks of the course's exercises that take more than one value: a function for each, by the exercise's name.

A check gets the ``Task`` and what the cell passes to ``mx.check``: the answer, then the measured values to compare it with.
Checks of one value are in ``sparsekit/course/questions``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .. import autograd, ndarray, optimizer
from ..core.op import Op
from ..gluon import nn
from ..ndarray import sparse
from ..profiler import expect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..base.types import Array
    from ..ndarray import CSRNDArray, NDArray, RowSparseNDArray
    from ..profiler import Profile
    from .tasks import Task

    #: Functions that a learner wrote.
    Numbers = Callable[..., float]
    Arrays = Callable[..., Array]

#: What is said of a function without ``return``.
RETURNS_NOTHING = "the function returns nothing: end it with `return`"

#: The checks by name.
CHECKS: dict[str, Callable[..., None]] = {}


def _checks(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Enter a function into ``CHECKS``."""
    def entered(function: Callable[..., None]) -> Callable[..., None]:
        CHECKS[name] = function
        return function
    return entered


@_checks("start_bytes")
def _start_bytes(task: Task, gradient_bytes: Numbers) -> None:
    task.equal(gradient_bytes(100, 32), 13600, "gradient_bytes(100, 32)", unit="bytes",
               wrong={12800: "the row indices are missing, 8 bytes each", 800: "the values are missing",
                      13200: "a row index has 8 bytes, not 4"})
    task.equal(gradient_bytes(125, 128), 65000, "gradient_bytes(125, 128)", unit="bytes")


@_checks("components")
def _components(task: Task, data: list[float], indices: list[int], indptr: list[int]) -> None:
    task.expect(len(data) == len(indices), f"{len(data)} values and {len(indices)} columns: each value needs one column")
    task.expect(len(indptr) == 4, f"three rows need four entries of `indptr`, and it has {len(indptr)}")
    answer = sparse.csr_matrix((data, indices, indptr), shape=(3, 3))
    task.equal(answer.asnumpy(), np.array([[0, 0, 3], [0, 0, 0], [1, 0, 2]]), "the matrix")


@_checks("center")
def _center(task: Task, answer: NDArray, x: CSRNDArray) -> None:
    task.expect(getattr(answer, "stype", None) != "default", "the result is dense: zeros were changed as well")
    values = x.asnumpy()
    task.equal(answer, sparse.csr_matrix(np.where(values != 0, values - values.mean(axis=0), 0)))


@_checks("gradient_rows")
def _gradient_rows(task: Task, answer: Sequence[int], gradient: RowSparseNDArray) -> None:
    task.expect(list(answer) != [0, 1], "those are the rows of the *batch* that store values; look at its columns")
    task.expect(list(answer) != [1, 4, 4], "column 4 occurs twice and has one row")
    task.equal(list(answer), gradient.indices.asnumpy().tolist(), "the list of rows")


@_checks("adam_moves")
def _adam_moves(task: Task, lazy_update: bool, three_steps: Arrays) -> None:
    task.expect(isinstance(lazy_update, bool), f"`True` or `False`, not {lazy_update!r}")
    moved = three_steps(optimizer.Adam(learning_rate=0.1, lazy_update=lazy_update))[0]
    task.expect(abs(moved - 0.9) < 1e-4, f"row 0 moved on to {moved:.3f}; one step is 0.1")


@_checks("gradient_bound")
def _gradient_bound(task: Task, bound: int, rows: int) -> None:
    task.expect(bound != 1_000_000, "that is the dense gradient")
    task.expect(bound % 100 == 0, f"{bound} is not a multiple of 100")
    task.expect(bound >= rows, f"the gradient stores {rows} rows, one for every feature that occurs in the batch")
    task.expect(bound - 100 < rows, "that holds, but a smaller multiple of 100 holds as well")


@_checks("module_rows")
def _module_rows(task: Task, count: int, batch: CSRNDArray, gradient: RowSparseNDArray) -> None:
    rows = gradient.indices.size
    task.expect(count != batch.nnz or count == rows, "those are the stored values; a feature that occurs twice has one row")
    task.equal(count, rows, "the count", wrong={gradient.shape[0]: "that is the dense gradient",
                                                batch.shape[0]: "that is the number of samples"})


@_checks("touched_rows")
def _touched_rows(task: Task, touched_rows: Arrays) -> None:
    batch = np.array([[5, 2], [5, 9]])
    rows = touched_rows(batch)
    task.expect(rows is not None, RETURNS_NOTHING)
    task.expect(len(rows) != 4, "word 5 occurs twice and has one row, so there are 3 rows, not 4")
    task.expect(list(rows) == sorted(rows), "the rows are not in ascending order")
    task.equal(np.asarray(rows), np.array([2, 5, 9]), "touched_rows([[5, 2], [5, 9]])")
    layer = nn.Embedding(12, 2, sparse_grad=True)
    layer.initialize()
    with autograd.record():
        loss = layer(ndarray.array(batch, dtype="int32")).sum()
    loss.backward()
    task.equal(np.asarray(rows), layer.weight.grad().indices.asnumpy(), "your result, compared with the gradient,")


@_checks("billion_words")
def _billion_words(task: Task, dense_mb: float, sparse_mb: float) -> None:
    task.equal(dense_mb, 1638.4, "dense_mb", unit="MB",
               wrong={409.6: "a number has 4 bytes", 4.096: "that is the row-sparse gradient, without its row indices"})
    task.equal(sparse_mb, 4.112, "sparse_mb", unit="MB", within=1e-4,
               wrong={4.096: "the row indices are missing, 8 bytes per row", 4.104: "row indices have 8 bytes, not 4"})


@_checks("candidate_rows")
def _candidate_rows(task: Task, candidate_rows: Callable[..., NDArray]) -> None:
    rows = candidate_rows(np.array([7, 3, 7]), np.array([3, 11, 0]))
    task.expect(hasattr(rows, "asnumpy"), f"it returns {type(rows).__name__}, but an `mx.nd` array is expected")
    task.expect(rows.shape != (6,), "words 3 and 7 occur twice, but each needs only one row")
    task.equal(rows, ndarray.array([0, 3, 7, 11], dtype="int64"), "candidate_rows([7, 3, 7], [3, 11, 0])")
    task.expect(rows.dtype == np.int64, f"row indices are int64, because {rows.dtype} cannot represent all large indices")


@_checks("fm_interactions")
def _fm_interactions(task: Task, interactions: Numbers) -> None:
    columns, values = np.array([0, 2, 4]), np.array([1.0, 2.0, 3.0])
    vectors = np.random.default_rng(0).normal(size=(5, 4))
    wanted = sum(values[i] * values[j] * float(vectors[columns[i]] @ vectors[columns[j]]) for i in range(3) for j in range(i))
    got = interactions(columns, values, vectors)
    task.expect(got is not None, RETURNS_NOTHING)
    task.expect(np.ndim(got) == 0, "it returns a vector: sum over the factors as well")
    square_of_sum = float(((vectors[columns] * values[:, None]).sum(axis=0) ** 2).sum())
    task.equal(float(got), float(wanted), "the result", within=1e-4,
               wrong={square_of_sum: "the squares of the single vectors are not subtracted",
                      2 * float(wanted): "every pair is counted twice: multiply by 0.5"})


@_checks("cold_start")
def _cold_start(task: Task, fallback: Arrays) -> None:
    got = fallback(np.array([0.1, -2.0, 0.7, 0.0, 0.3, 0.9, -0.5]))
    task.expect(got is not None, RETURNS_NOTHING)
    task.expect(len(got) == 5, "five numbers are expected")
    task.expect(list(got) != [1, 6, 3, 0, 4], "those are the five smallest biases; return the largest, in descending order")
    task.expect(max(got) < 7 and min(got) >= 0, "return the indices of the words, not their biases")
    task.equal(np.asarray(got), np.array([5, 2, 4, 0, 3]), "the result")


@_checks("momentum_limit")
def _momentum_limit(task: Task, distance: Numbers, follow: Callable[..., list[float]]) -> None:
    task.equal(distance(0.1, 0.9, True), 0.1, "distance(0.1, 0.9, lazy=True)",
               wrong={1.0: "that is the full update: a lazy one stops after the first step"})
    task.equal(distance(0.1, 0.9, False), 1.0, "distance(0.1, 0.9, lazy=False)",
               wrong={0.1: "that is the first step only", 0.19: "those are the first two steps",
                      0.9: "the first step counts as well"})
    measured = 1 - follow(optimizer.SGD(learning_rate=0.05, momentum=0.8, lazy_update=False), steps=100)[-1]
    task.equal(distance(0.05, 0.8, False), measured, "distance(0.05, 0.8, lazy=False), compared with the measured one,",
               within=1e-3)


@_checks("catch_up")
def _catch_up(task: Task, catch_up: Arrays, follow: Callable[..., list[float]]) -> None:
    got = catch_up(np.array([1.0, 2.0]), 3, 0.1, 0.2)
    task.expect(got is not None, RETURNS_NOTHING)
    task.expect(not np.allclose(got, np.array([1.0, 2.0]) * (1 - 3 * 0.1 * 0.2)),
                "that subtracts three times the first step, but each step takes its share of what is left")
    full = follow(optimizer.SGD(learning_rate=0.1, wd=0.2, lazy_update=False), steps=24, there=(0, 23))
    row = np.array([1 - 0.1 * (1 + 0.2)])  # the first visit
    row = catch_up(row, 22, 0.1, 0.2)
    row = row - 0.1 * (1 + 0.2 * row)  # the second visit
    task.equal(float(row[0]), full[-1], "the row after your function, compared with the full update,", within=1e-4)


@_checks("publish")
def _publish(task: Task, lazy_update: bool) -> None:
    task.expect(isinstance(lazy_update, bool), f"`True` or `False`, not {lazy_update!r}")
    task.expect(lazy_update is False, "a dense implementation also updates rows that have no gradient, and lazy Adam does not")


@_checks("culprit")
def _culprit(task: Task, culprit: str, prof: Profile) -> None:
    names = {row["name"] for row in prof.totals}
    task.expect(culprit in names, f"no operator of that name ran; these did: {', '.join(sorted(names))}")
    task.expect(culprit not in ("broadcast_mul", "elemwise_mul"), "the product is what the loop is for")
    task.equal(culprit, "cast_storage", "the operator")


@_checks("most_rows")
def _most_rows(task: Task, most_rows: int, prof: Profile, name: str) -> None:
    task.equal(most_rows, 64 * 40, "the bound",
               wrong={50_000: "that is every row of the weight: a dense gradient would pass",
                      40: "that is one text; a batch has 64", 64: "that is the number of texts; each has 40 words"})
    expect(prof).grad_rows(name, at_most=most_rows)


@_checks("what_fits")
def _what_fits(task: Task, pair: tuple[str, str]) -> None:
    task.expect(isinstance(pair, tuple) and len(pair) == 2, "give a pair of the gradient's storage and the optimizer's name")
    gradient_mb = {"dense": 128.0, "row_sparse": 0.3}
    states_mb = {"adam": 256.0, "momentum": 128.0, "groupadagrad": 4.0, "sgd": 0.0}
    task.expect(pair[0] in gradient_mb, f"storage is one of {', '.join(gradient_mb)}")
    task.expect(pair[1] in states_mb, f"optimizers here are {', '.join(states_mb)}")
    total = 128 + gradient_mb[pair[0]] + states_mb[pair[1]]
    task.expect(total < 150, f"that takes {total:.0f} MB: which array is the largest, apart from the weight?")


@_checks("soft_sign")
def _soft_sign(task: Task, declare: Callable[[], Op], sweep: Callable[[Op], None]) -> None:
    op = declare()
    task.expect(isinstance(op, Op), "return the record that `Op` creates")
    stypes = {rule.inputs[0] for rule in op.rules}
    task.expect("default" in stypes, "there is no row for dense arrays yet")
    task.expect({"csr", "row_sparse"} <= stypes,
                f"there are rows for {', '.join(sorted(stypes))}; zero stays zero, so add rows for csr and row_sparse")
    task.expect(op.gradient_function is not None, "it has no gradient yet")
    sweep(op)
    values = ndarray.array([-1.0, 0.0, 3.0])
    values.attach_grad()
    with autograd.record():
        result = getattr(ndarray, op.name)(values)
    result.backward()
    task.equal(values.grad, ndarray.array([0.25, 1.0, 0.0625]), "the gradient")
