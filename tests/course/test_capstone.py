"""The capstone grades what a program does, and not on which instance; the quiz has right answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import autograd, gluon
from sparsekit.course import capstone, predictions
from sparsekit.course.predictions import quiz, quiz_questions
from sparsekit.profiler.turns import Comparison, Turn

from .notebooks import code

ANSWERS, CONVERSIONS, PEAK, MOVED = range(4)


def solution() -> Any:
    """The function ``train`` of the teachers' guide."""
    (cell,) = (cell for cell in code("90_teachers_guide") if "def train(task)" in cell.source)
    names: dict[str, Any] = {}
    exec(cell.source.rpartition("\n")[0], names)
    return names["train"]


def learner() -> Any:
    """The function that the notebook gives."""
    (cell,) = (cell for cell in code("13_capstone") if "def train(task)" in cell.source)
    names: dict[str, Any] = {"gluon": gluon, "autograd": autograd}
    exec(cell.source, names)
    return names["train"]


pytestmark = pytest.mark.filterwarnings("ignore::sparsekit.StorageFallbackWarning")   # conversions are looked for


@pytest.fixture
def small(monkeypatch):
    """Instances of the same kind that take less time."""
    for name, value in (("BATCHES", 3), ("ROWS", 32), ("HELD_OUT", 64), ("COLUMNS", (40_000, 50_000)), ("ROUNDS", 2),
                        ("CONFIDENCE", 0.5)):
        monkeypatch.setattr(capstone, name, value)


@pytest.fixture
def untimed(monkeypatch, small):
    """What is not about time takes none."""
    monkeypatch.setattr(capstone, "compare", lambda *_, **__: None)
    monkeypatch.setattr(capstone, "_time", lambda _: capstone.Row("time", "not measured", True))


@pytest.fixture
def take(monkeypatch):
    """``take(share)``: on a simulated machine, the program that is graded takes this share of the given one's time."""

    def take(share):
        monkeypatch.setattr(capstone, "compare", lambda programs, rounds, confidence, profile: Comparison(
            list(programs), [1, 1], [[Turn(place, share if place else 1.0) for place in (0, 1, 1, 0)] for _ in range(rounds)],
            confidence, []))

    return take


@pytest.mark.thorough
@pytest.mark.slow
def test_the_solution_of_the_guide_reaches_everything_on_an_instance_that_was_drawn(take):
    """Its time is that of a simulated machine; the certificate that the guide shows was measured."""
    take(0.02)
    certificate = capstone.grade(solution())
    assert certificate.reached, certificate
    assert capstone.task(certificate.seed).columns == capstone.task(certificate.seed).weights[0].shape[1]
    assert "all of 5 reached" in repr(certificate)
    assert certificate.html.count("✔") == 5


def test_the_given_program_has_right_answers_and_nothing_else(small, take):
    take(1.0)
    certificate = capstone.grade(learner(), seed=3)
    assert [row.reached for row in certificate.rows] == [True, True, False, False, False], certificate
    assert not certificate.reached
    assert certificate.title == "Instance 3: 2 of 5 reached"


def changed(old: str, new: str) -> Any:
    """The solution with a change."""
    (cell,) = (cell for cell in code("90_teachers_guide") if "def train(task)" in cell.source)
    source = cell.source.rpartition("\n")[0]
    assert old in source
    names: dict[str, Any] = {"np": np, "mx": mx}
    exec(source.replace(old, new), names)
    return names["train"]


@pytest.mark.parametrize(("old", "new", "broken"), [
    ("'adagrad'", "'sgd'", ANSWERS),                                       # another optimizer
    ("task.batches]", "task.batches[:-1]]", ANSWERS),                      # a batch less
    ("net(task.held_out)", "net(task.held_out) * float('nan')", ANSWERS),
    ("net(task.held_out)", "net(task.held_out)[:8]", ANSWERS),
    ("net(task.held_out)", "net(task.held_out + 1 - 1)", CONVERSIONS),
    ("weight_grad_stype='row_sparse'", "weight_grad_stype='default'", PEAK),
    ("weight_grad_stype='row_sparse'", "weight_grad_stype='default'", MOVED),
], ids=["optimizer", "batch", "nan", "shape", "converted", "peak", "moved"])
def test_a_worse_program_fails_the_condition_that_it_breaks(untimed, old, new, broken):
    certificate = capstone.grade(changed(old, new), seed=4)
    assert not certificate.rows[broken].reached, certificate
    assert not certificate.reached


@pytest.mark.parametrize("share", [0.15, 1.0, 7.0])
def test_a_slow_program_fails_by_its_time_alone(small, take, share):
    take(share)
    certificate, fast = capstone.grade(solution(), seed=5), share < 1 / capstone.FASTER
    assert [row.reached for row in certificate.rows] == [True, True, True, True, fast]
    assert certificate.reached == fast == ("all of 5 reached" in repr(certificate))
    assert certificate.html.count("✔") == 4 + fast


def test_an_instance_follows_from_its_seed():
    one, same, other = capstone.task(7), capstone.task(7), capstone.task(8)
    assert (one.batches[0][0].asnumpy() == same.batches[0][0].asnumpy()).all()
    assert all((a == b).all() for a, b in zip(one.weights, same.weights, strict=True))
    assert one.columns != other.columns
    assert all(60_000 <= task.columns < 90_000 for task in (one, other))
    assert one.held_out.shape == (256, one.columns)
    assert one.budget == 3 * one.weights[0].nbytes == 3 * 32 * 4 * one.columns
    assert all(set(label.asnumpy().ravel()) == {0, 1} for _, label in one.batches)


@pytest.mark.parametrize("returned", [None, 3, (1, 2, 3), ([0.5], [0.5]), (["a"], mx.nd.ones((1,)))])
def test_a_program_that_returns_something_else_is_told_what_to_return(returned):
    with pytest.raises(mx.UnknownNameError, match=r"must return a list of losses and an array of scores"):
        capstone.grade(lambda task: returned, seed=1)


@pytest.mark.parametrize("seed", [-1, 2.5, "7", True, np.nan])
def test_a_seed_is_an_integer_of_at_least_0(seed):
    with pytest.raises(mx.ShapeError, match=r"seed must be an integer of at least 0, got .*\nHint: seed=1, for example\."):
        capstone.task(seed)
    with pytest.raises(mx.ShapeError, match=r"seed must be"):
        capstone.grade(learner(), seed=seed)


def test_a_result_is_no_function():
    with pytest.raises(mx.UnknownNameError, match=r"Hint: pass train, not train\(task\)\."):
        capstone.grade(([], None), seed=1)


# ---- the quiz

def rows_touched() -> int:
    batch = mx.nd.sparse.csr_matrix((np.ones(400), np.arange(400) * 7, np.arange(0, 401, 40)), shape=(10, 1_000_000))
    return mx.nd.dot(batch, mx.nd.ones((10, 2)), transpose_a=True).indices.size


def keeps_zeros(name: str) -> bool:
    return getattr(mx.nd, name)(mx.nd.sparse.csr_matrix([[1, 0]])).stype == "csr"


def same_lazily(name: str, **options: Any) -> bool:
    """Whether two steps, the second without a gradient for row 0, give the same weights lazily and in full."""
    found = []
    for lazy in (True, False):
        laziness = {} if name == "adagrad" else {"lazy_update": lazy}
        optimizer = mx.optimizer.create(name, **laziness, **options)
        weight, update = mx.nd.ones((2, 2)), mx.optimizer.get_updater(optimizer)
        for rows in ([0], [1]):
            gradient = mx.nd.sparse.row_sparse_array((np.ones((1, 2), 'float32'), rows), shape=(2, 2))
            update(0, gradient if lazy else gradient.tostype("default"), weight)
        found.append(weight.asnumpy())
    return bool(np.allclose(*found))


def most_bytes() -> str:
    dense = mx.nd.ones((50, 8))
    sparse = dense.tostype("row_sparse")
    return "more" if sparse.nbytes > dense.nbytes else "as many" if sparse.nbytes == dense.nbytes else "fewer"


def adam_megabytes() -> float:
    weight = gluon.Parameter("weight", shape=(500, 50))
    weight.initialize()
    trainer = gluon.Trainer([weight], "adam")
    with autograd.record():
        loss = weight.data().sum()
    with mx.Profiler() as prof:
        loss.backward()
        trainer.step(1)
    states = sum(row["bytes"] for row in prof.memory["at_peak"] if row["role"] == "optimizer state")
    return (states + 2 * weight.data().nbytes) / weight.data().nbytes * 100


COMPUTED = {
    "quiz_csr_bytes": lambda: mx.nd.sparse.csr_matrix(
        (np.ones(5000, "float32"), np.tile(np.arange(5), 1000), np.arange(0, 5001, 5)), shape=(1000, 90)).nbytes,
    "quiz_gradient_rows": rows_touched,
    "quiz_plus_one": lambda: (mx.nd.sparse.csr_matrix([[1, 0]]) + 1).stype,
    "quiz_transposed_product": lambda: mx.nd.dot(mx.nd.sparse.csr_matrix([[1, 0]]), mx.nd.ones((1, 2)), transpose_a=True).stype,
    "quiz_keeps_zeros": lambda: next(name for name in quiz_questions()["quiz_keeps_zeros"]["options"] if keeps_zeros(name)),
    "quiz_adam_megabytes": adam_megabytes,
    "quiz_lazy_momentum": lambda: "no" if not same_lazily("sgd", momentum=0.9) else "yes",
    "quiz_exact_lazy": lambda: next(said for said, found in (
        ("SGD with momentum", same_lazily("sgd", momentum=0.9)), ("Adam", same_lazily("adam")),
        ("AdaGrad", same_lazily("adagrad"))) if found),
    "quiz_every_row": most_bytes,
    "quiz_interval": lambda: "no detectable difference" if 0.97 <= 1 <= 1.04 else "",
}


@pytest.mark.parametrize("name", COMPUTED)
def test_an_answer_of_the_quiz_is_what_the_library_does(name):
    kept = quiz_questions()[name]
    assert COMPUTED[name]() == kept["answer"]
    assert kept["because"]
    if "options" in kept:
        assert kept["answer"] in kept["options"]
        assert {said for said, _ in kept["wrong"]} <= set(kept["options"]) - {kept["answer"]}


def test_a_guess_gets_its_verdict_at_once():
    quiz()
    asked = predictions._asked["quiz_plus_one"]
    assert asked.answer("csr").startswith("You said “csr”")
    assert asked.state == "wrong"
    assert asked.answer("default").startswith("Right")
    assert asked.state == "right"
