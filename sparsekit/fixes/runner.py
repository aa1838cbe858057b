"""The process that a step runs in, apart from the user's: it reads a request from its input, answers, and ends.

``sparsekit.fixes.processes`` starts ``python -m sparsekit.fixes.runner`` and speaks with it.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
import threading
import warnings
from typing import TYPE_CHECKING, BinaryIO

from ..base.errors import SparsekitError
from . import torch_programs
from .effects import watched
from .observe import Run, run, turn
from .states import put

if TYPE_CHECKING:
    from .send import Variant
    from .torch_programs import Sizes

__all__ = ["Failure", "main", "observed"]

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
    found = run(opened(program), steps)
    if turned:
        try:
            found.turned = run(opened(program), max(2, steps), turned=True)
        except (Exception, SystemExit):  # a batch that cannot be another one, or no more batches
            found.turned = None
        found.states = _states(program)
    return found


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


def main() -> None:
    """Answer one request.  The input that it comes by closes when the process that asks is gone."""
    asked, answer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    arguments = pickle.load(asked)
    threading.Thread(target=_end_with, args=(asked,), daemon=True).start()
    sys.stderr = sys.stdout
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    try:
        found: object = observed(*arguments)
    except BaseException as error:
        found = Failure(_why(error))
    pickle.dump(found, answer)
    answer.flush()
    os._exit(0)  # whatever the step has started


def _end_with(pipe: BinaryIO) -> None:
    pipe.read(1)
    os._exit(1)


def _why(error: BaseException) -> str:
    """Why a step was refused, from the error that it met."""
    line = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, MemoryError) or type(error).__name__ in _NO_MEMORY:
        return f"There is not enough memory for a copy and its run: {line}"
    return line if isinstance(error, SparsekitError) else f"The step raises {type(error).__name__}: {line}"


if __name__ == "__main__":
    from sparsekit.fixes import runner  # whose classes another process knows by this name

    runner.main()
