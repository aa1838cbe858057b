"""Runs random programs in two ways and compares everything that a user can see, bit for bit.

    python tests/steps/check.py --seed 7                 # one program
    python tests/steps/check.py --first 0 --count 1000   # many; what differs is printed as a small program
"""

import argparse
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from lines import Alarm, Training
from step_programs import Program, draw, smaller
from user_blocks import settings

import sparsekit as mx


def bits(array: Any) -> Any:
    """Storage type, shape, element types and bytes of an array, or of each of several; other things as they are.

    The bits of nan may differ.
    """
    if isinstance(array, (list, tuple)):
        return [type(array).__name__, *map(bits, array)]
    if not hasattr(array, "stype"):
        return array
    parts = [array] if array.stype == "default" else [array.indices, array.data]
    if array.stype == "csr":
        parts.append(array.indptr)
    held = [part.asnumpy() for part in parts]
    return array.stype, array.shape, [(str(part.dtype), np.where(np.isnan(part), part.dtype.type(np.nan), part).tobytes()
                                       if part.dtype.kind == "f" else part.tobytes()) for part in held]


def values(parameter: Any) -> Any:
    """The bits of a parameter; None if its shape is not known yet."""
    try:
        return bits(parameter.data())
    except mx.gluon.DeferredInitializationError:
        return None


def moved(training: Training) -> list[Any]:
    """What an update changes, by parameter: its values and its count of updates."""
    counts = training.trainer.optimizer._index_update_count
    number_of = {id(one): number for number, one in enumerate(training.trainer._params)}
    return [(values(one), counts.get(number_of[id(one)], 0)) for one in training.parameters]


def states(training: Training) -> bytes:
    """The file of optimizer states, for which a schedule has said its rate: it keeps what it has computed."""
    _ = training.trainer.learning_rate
    with tempfile.TemporaryDirectory() as folder:
        training.trainer.save_states(f"{folder}/states")
        with open(f"{folder}/states", "rb") as file:
            return file.read()


def gradients(training: Training) -> list[Any]:
    """The gradients, by parameter."""
    return [None if one.grad_req == "null" else bits(one.grad()) for one in training.parameters]


class Differs(Exception):
    """Two trainings differ; the message says in what."""


def same(what: str, one: Any, other: Any) -> None:
    """Raise ``Differs`` if two values are not the same."""
    if one != other:
        raise Differs(what)


def first_difference(one: Any, other: Any) -> tuple[Any, Any]:
    """The innermost parts in which two values differ first."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)) and len(one) == len(other):
        return next((first_difference(*pair) for pair in zip(one, other, strict=True) if pair[0] != pair[1]), (one, other))
    return one, other


def follow(plain: Training, other: Training) -> None:
    """Give the plain training what another has, by files; a gradient is of a step that perhaps one of them has made."""
    for training in (plain, other):
        for one in training.parameters:
            if one.grad_req != "null" and values(one) is not None:
                one.zero_grad()
    with tempfile.TemporaryDirectory() as folder:
        other.net.save_parameters(f"{folder}/parameters")
        plain.net.load_parameters(f"{folder}/parameters")
        other.trainer.save_states(f"{folder}/states")
        plain.trainer.load_states(f"{folder}/states")


def interrupted(plain: Training, other: Training, line: str) -> bool:
    """Interrupt a step of one; each parameter has moved as in the plain step, or not at all, with its count.

    Whether both then go on from the same is the result.
    """
    before = moved(plain)
    expected, found = _answer(plain, line), _answer(other, line)
    if found[0] is not None:
        same("the result", found, expected)
        return True
    for number, (was, became, has) in enumerate(zip(before, moved(plain), moved(other), strict=True)):
        if has not in (was, became):
            raise Differs(f"parameter {number} after an interrupt")
    if isinstance(expected, str):
        return False
    follow(plain, other)
    return True


def run(program: Program) -> str:
    """In what two ways of running a program differ, and after which line; or an empty text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, other = (Training(way, *program.arguments(), **dict(program.options)) for way in ("plain", program.way))
        for number, line in enumerate(program.lines):
            try:
                if not _step(plain, other, line):
                    break
            except Differs as difference:
                return f"{difference} after line {number}, {line}"
    return ""


def _step(plain: Training, other: Training, line: str) -> bool:
    """Run a line in both and compare; whether both then go on from the same."""
    before = [None if one is None else one.asnumpy() for one in _values_now(plain)]
    plain.infinite = plain.infinite or not all(np.isfinite(one).all() for one in before if one is not None)  # states are, too
    if line.startswith("interrupt"):
        return interrupted(plain, other, line)
    answers = [_answer(one, line) for one in (plain, other)]
    if answers[0] != answers[1]:
        raise Differs("the result, {!r:.200} against {!r:.200}".format(*first_difference(*answers)))
    same("values or counts", moved(plain), moved(other))
    if line.startswith("train") and "look=False" not in line:
        same("gradients", gradients(plain), gradients(other))
        _holds(plain, before)
        if not isinstance(answers[0], str):  # a step that failed may have computed what an optimizer keeps for the next one
            same("states", states(plain), states(other))
    return True


def _values_now(training: Training) -> list[Any]:
    return [None if values(one) is None else one.data() for one in training.parameters]


def _holds(plain: Training, before: list[Any]) -> None:
    """What holds for every step.

    Values are finite, a schedule has its last rate after its end, and with ``lazy_update`` no other rows move than the gradient
    stores.
    """
    optimizer = plain.trainer.optimizer
    schedule = optimizer.lr_scheduler
    if optimizer.num_update > getattr(schedule, "max_update", np.inf) and plain.trainer.learning_rate != schedule.final_lr:
        raise Differs("a schedule does not end")
    for one, was in zip(plain.parameters, before, strict=True):
        if one.grad_req == "null" or was is None:
            continue
        now, grad = one.data().asnumpy(), one.data().grad
        sane = not plain.infinite and plain.dtype != "float16"
        if sane and max(np.abs(grad.asnumpy()).max(), np.abs(was).max()) < 1e3 and not np.isfinite(now).all():
            raise Differs("values are not finite")
        # LBSGD may sum up several gradients.
        lazy = getattr(optimizer, "lazy_update", None) is True and plain.optimizer != "lbsgd"
        if lazy and one.grad_req == "write" and grad.stype == "row_sparse":
            others = np.setdiff1d(np.arange(now.shape[0]), grad.indices.asnumpy())
            if not np.array_equal(was[others], now[others], equal_nan=True):
                raise Differs("rows move that the gradient does not store")


def _answer(training: Training, line: str) -> Any:
    settings.calls = 0
    try:
        answer = eval(f"training.{line}", {"training": training, "Alarm": Alarm})
    except mx.SparsekitError as error:
        return type(error).__name__
    return bits(answer), f"{settings.calls} calls of the user's Python"


def smallest(program: Program, shows: Callable[[Program], bool], steps: int = 300) -> Program:
    """Leave out what can be left out while a program shows its defect."""
    again = True
    while again:
        again = False
        for candidate in smaller(program):
            steps -= 1
            if steps < 0:
                return program
            try:
                found = shows(candidate)
            except Exception:
                found = False  # the candidate makes no sense
            if found:
                program, again = candidate, True
                break
    return program


def check(seed: int) -> str:
    """What differs in the program of a seed, with the smallest program that differs so; or an empty text."""
    program = draw(seed)
    found = run(program)
    if not found:
        return ""
    small = smallest(program, lambda one: bool(run(one)))
    return f"seed {seed}: {run(small)}\n{small}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--without", nargs="*", default=[], help="leave out programs with one of these words")
    given = parser.parse_args()
    seeds = [given.seed] if given.seed is not None else range(given.first, given.first + given.count)
    differ = 0
    for seed in seeds:
        if any(word in str(draw(seed)) for word in given.without):
            continue
        if found := check(seed):
            differ += 1
            print(found, flush=True)
    print(f"{differ} of {len(seeds)} programs differ")
    return int(differ > 0)


if __name__ == "__main__":
    raise SystemExit(main())
