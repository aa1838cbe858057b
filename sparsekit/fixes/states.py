"""What a program shares with the rest of the process, put back: random numbers, settings, output, log, names."""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import random
import warnings
from collections.abc import Callable, Iterator

import numpy as np

from ..base import naming, rng
from ..base.config import config
from ..core import dispatch

__all__ = ["STATES", "apart", "taken"]

#: The seed of the library's numbers where the program has drawn none yet and set no seed: those would differ on every run.
UNSEEDED = 0


def _of_library() -> Callable[[], None]:
    shared = rng._shared
    state = {} if shared is None else copy.deepcopy(shared.bit_generator.state)

    def put() -> None:
        rng._shared = shared
        if shared is not None:
            shared.bit_generator.state = copy.deepcopy(state)
    return put


def _of_numpy() -> Callable[[], None]:
    state = np.random.get_state()  # programs draw from it
    return lambda: np.random.set_state(state)  # as above


def _of_python() -> Callable[[], None]:
    state = random.getstate()
    return lambda: random.setstate(state)


def _of_settings() -> Callable[[], None]:
    before = {name: getattr(config, name) for name in config.__slots__}

    def put() -> None:
        for name, value in before.items():
            setattr(config, name, value)
    return put


def _of_warnings() -> Callable[[], None]:
    said = set(dispatch._warned)

    def put() -> None:
        dispatch._warned.clear()
        dispatch._warned.update(said)
    return put


def _of_names() -> Callable[[], None]:
    stack = naming._local.stack
    counts = [(names, dict(names._counts)) for names in stack]

    def put() -> None:
        for names, before in counts:
            names._counts.clear()
            names._counts.update(before)
    return put


#: Functions that note a state and give a function that puts it back; other libraries add theirs.
STATES: list[Callable[[], Callable[[], None]]] = [_of_library, _of_numpy, _of_python, _of_settings, _of_warnings,
                                                  _of_names]


def taken() -> Callable[[], None]:
    """Note all states; the result puts them back, as often as it is called."""
    puts = [take() for take in STATES]

    def put() -> None:
        for one in puts:
            one()
    return put


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """A block after which every shared state is as before; its output and log are not shown, and its numbers can be repeated."""
    put, disabled = taken(), logging.root.manager.disable
    try:
        if rng._shared is None:
            rng._shared = np.random.default_rng(UNSEEDED)
        logging.disable(logging.CRITICAL)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
        put()
