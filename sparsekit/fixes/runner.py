"""The process that a step or a program runs in, apart from the user's: it reads a request from its input, answers, and ends.

``sparsekit.fixes.processes`` starts ``python -m sparsekit.fixes.runner`` and speaks with it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import sys
import threading
import warnings
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from ..base.errors import SparsekitError
from ..base.platform import end_group, place_of
from . import torch_programs
from .effects import watched
from .observe import Run, run, turn
from .states import put

if TYPE_CHECKING:
    from .send import Variant
    from .torch_programs import Sizes

#: Ends this process, whatever a program puts in the place of ``os._exit``.
_leave = os._exit

#: Steps of an optimizer after which the growth of its state is seen.
GROWTH_STEPS = 4

#: What remains of an error of memory: the class that cupy raises is not imported for it.
_NO_MEMORY = ("OutOfMemoryError", "InsufficientMemoryError")


class Failure(SparsekitError):
    """A step that could not be run; the message says why."""


def opened(program: bytes) -> Variant:
    """A program that was sent, ready for its first step."""
    variant: Variant = pickle.loads(program)
    for change in variant.changes:
        change()
    put(variant.states)
    return variant


def observed(program: bytes, steps: int, turned: bool) -> Run:
    """What some steps of a program give; ``turned`` looks at steps on other batches and at the states of optimizers too."""
    result = run(opened(program), steps)
    if turned:
        try:
            result.turned = run(opened(program), max(2, steps), turned=True)
        except (Exception, SystemExit):  # a batch that cannot be another one, or no more batches
            result.turned = None
        result.states = _states(program)
    return result


def _states(program: bytes) -> Sizes:
    """The bytes of the states of PyTorch's optimizers after each of some steps, from their beginning on if that is possible."""
    for fresh in (True, False):  # an optimizer that makes its state beforehand goes on with what it has
        sizes: Sizes = {}
        variant = opened(program)
        for _, optimizer in variant.optimizers if fresh else ():
            optimizer.state.clear()
        torch_programs.note_states(variant.optimizers, sizes)
        try:
            with watched():
                for number in range(GROWTH_STEPS if variant.optimizers else 0):
                    if number:
                        turn(variant)
                    variant.step()
        except StopIteration:
            pass  # there are no more batches
        except Exception:
            continue
        return sizes
    return {}


class _Pipe:
    """Where the answer is written: the process's own output as it was at the start."""

    place: str | int = ""
    #: A pipe with one byte, which the first of the processes that were forked from this one takes to answer.
    turn: tuple[int, int] | None = None


def pipe() -> str | int:
    """The path of what the answer is written to, for a process that answers in this one's place."""
    return _Pipe.place


def main() -> None:
    """Answer one request.  The input that it comes by closes when the process that asks is gone."""
    request = os.fdopen(os.dup(0), "rb")
    _Pipe.place, _Pipe.turn = place_of(os.dup(1)), os.pipe()
    os.write(_Pipe.turn[1], b"1")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    function, arguments = pickle.load(request)
    threading.Thread(target=_end_with, args=(request,), daemon=True).start()
    sys.stderr = sys.stdout
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    try:
        result: object = function(*arguments)
    except BaseException as error:
        result = failure(error)
    answer(result)


def answer(result: object) -> NoReturn:  # object: what can be pickled
    """Write the answer, and end this process and all that it has started."""
    text = pickle.dumps(result)
    _take_turn()
    with open(_Pipe.place, "wb") as pipe:
        pipe.write(text)
    end_group(0)
    _leave(0)


def _take_turn() -> None:
    """Wait, until this process is ended, if another one that was forked from the same answers."""
    if _Pipe.turn is not None:
        with contextlib.suppress(OSError):  # the program has closed what it had not opened
            os.read(_Pipe.turn[0], 1)


def answer_to(place: str | int) -> None:
    """Have a process that this one's process has started answer in its place."""
    _Pipe.place = place


def _end_with(request: BinaryIO) -> None:
    request.read(1)
    end_group(0)
    _leave(1)


def failure(error: BaseException) -> Failure:
    """What is answered in place of a result."""
    return Failure(_why(error))


def _why(error: BaseException) -> str:
    """Why a step was refused, from the error that it met."""
    line = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, MemoryError) or type(error).__name__ in _NO_MEMORY:
        return f"There is not enough memory for a copy and its run: {line}"
    if isinstance(error, SparsekitError):
        return line
    first = line.partition(". ")[0]  # PyTorch adds a page of what else there could be
    return f"The step raises {type(error).__name__}: {first}{'.' if first != line else ''}"


def words_of(error: BaseException) -> str:
    """The class of an error and the first sentence of what it says."""
    first = str(error).partition("\n")[0].partition(". ")[0]
    return f"{type(error).__name__}: {first.rstrip('.')}" if first else type(error).__name__


if __name__ == "__main__":
    from sparsekit.fixes import runner  # whose classes another process knows by this name

    runner.main()
