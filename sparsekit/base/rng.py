"""The random numbers of the library: one shared generator, and what stands for it in ``rng=``."""

from __future__ import annotations

import random
import threading
from typing import Any, NamedTuple

import numpy as np

from .capture import refuse
from .errors import DTypeError, expected
from .forking import across_fork
from .scoped import Assigned

_shared: np.random.Generator | None = None


class _Override(threading.local):
    """The generator that this thread uses in place of the shared one."""

    generator: np.random.Generator | None = None


_override = _Override()

# Another thread may be drawing, and a lock that is held at a fork stays locked in the child.
across_fork(lambda: None if _shared is None else _shared.bit_generator.lock)


def seed(seed_state: int) -> None:
    """Restart the generator that is used where no ``rng`` is given.

    Raises
    ------
    DTypeError
        If the seed is not an integer.
    """
    global _shared
    if not isinstance(seed_state, (int, np.integer)) or isinstance(seed_state, bool):
        raise DTypeError(expected("The seed", "an integer", seed_state), hint="mx.random.seed(0) repeats the same numbers.")
    _shared = np.random.default_rng(int(seed_state) % 2**64)


def generator(rng: object = None) -> np.random.Generator:  # object: whatever the user gave, to be checked
    """The generator that ``rng`` stands for: a Generator, a seed, or the shared one for None.

    Raises
    ------
    DTypeError
        If it is anything else.
    """
    global _shared
    refuse("random numbers are drawn by the host")
    if rng is None:
        if _override.generator is not None:
            return _override.generator
        if _shared is None:
            _shared = np.random.default_rng()
        return _shared
    if isinstance(rng, (np.random.Generator, int, np.integer)):
        return np.random.default_rng(rng)
    raise DTypeError(expected("rng", "a Generator, an integer or None", type(rng)),
                     hint="np.random.default_rng(seed) makes a Generator.")


def using(rng: object) -> Assigned:  # object: generator() checks it
    """A block in which this thread draws from what ``rng`` stands for; None changes nothing."""
    return Assigned(_override) if rng is None else Assigned(_override, generator=generator(rng))


class States(NamedTuple):
    """The states of the generators: of the library, of ``numpy.random`` and of ``random``."""

    # Any: what each of them calls its state
    library: Any
    numpy: Any  # Any: as above
    python: Any  # Any: as above


def states() -> States:
    """The generators as they are."""
    return States(generator().bit_generator.state, np.random.get_state(legacy=True), random.getstate())


def restore(saved: States) -> None:
    """Bring the generators where they were."""
    generator().bit_generator.state = saved.library
    np.random.set_state(saved.numpy)
    random.setstate(saved.python)
