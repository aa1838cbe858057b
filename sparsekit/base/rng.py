"""The random numbers of the library: one shared generator, and what stands for it in ``rng=``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import DTypeError

__all__ = ["generator", "seed"]

_shared: Any = None


def seed(seed_state: int) -> None:
    """Restart the generator that is used where no ``rng`` is given."""
    global _shared
    _shared = np.random.default_rng(seed_state)


def generator(rng: Any = None) -> np.random.Generator:
    """The generator that ``rng`` stands for: a Generator, a seed, or the shared one for None.

    Raises
    ------
    DTypeError
        If it is anything else.
    """
    global _shared
    if rng is None:
        if _shared is None:
            _shared = np.random.default_rng()
        return _shared  # type: ignore[no-any-return]
    if isinstance(rng, (np.random.Generator, int, np.integer)):
        return np.random.default_rng(rng)
    raise DTypeError(f"rng is a Generator, a whole number or None, not {type(rng).__name__}.",
                     hint="np.random.default_rng(seed) makes a Generator.")
