"""What tests of every folder do with a call: have it refused, or differentiate it; and blocks that are ready to be called."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from sparsekit import autograd
from sparsekit.base.errors import SparsekitError
from sparsekit.gluon import nn


def refused(error: Any, said: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """The error that a call has to raise, with what its message says, if that matters; one of this library has a hint, too."""
    with pytest.raises(error, match=said or None) as caught:
        function(*arguments, **named)
    try:
        assert not isinstance(caught.value, SparsekitError) or caught.value.hint, f"without a hint: {caught.value}"
        return caught.value
    finally:
        del caught  # else the error holds this frame and is held by it, with what all frames hold, such as sockets


def differentiated(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a recorded call gives, after its backward pass."""
    with autograd.record():
        made = function(*arguments)
    made.backward()
    return made


def initialized(block: Any, *arguments: Any, hybrid: bool = False, **named: Any) -> Any:
    """A block, or a parameter, with the values that ``initialize`` gives it."""
    block.initialize(*arguments, **named)
    if hybrid:
        block.hybridize()
    return block


def stack(*blocks: Any, kind: Any = nn.HybridSequential, **named: Any) -> Any:
    """A sequence of blocks, which keep their names."""
    made = kind(**named)
    made.add(*blocks)
    return made


def variable(array: Any, *arguments: Any, **named: Any) -> Any:
    """An array with a buffer for its gradient."""
    array.attach_grad(*arguments, **named)
    return array


def are_gone(references: Iterable[Callable[[], Any]]) -> bool:
    """Whether objects are no more, of which these are weak references.

    Those in cycles go with the garbage collector: first where it looks at new objects alone.  Where thousands of tests have run,
    it takes seconds to look at all.
    """
    held = list(references)
    for generation in range(3):
        if all(one() is None for one in held):
            break
        gc.collect(generation)
    return all(one() is None for one in held)


def alike(found: Any, expected: Any, **tolerance: float) -> None:
    """Arrays have to be the same, one by one, or close within a tolerance; those of this library and of numpy mix."""
    for one, other in zip(found, expected, strict=True):
        plain = [part.asnumpy() if hasattr(part, "asnumpy") else part for part in (one, other)]
        np.testing.assert_allclose(*plain, **{"rtol": 0.0, **tolerance})
