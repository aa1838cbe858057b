"""What a step shares with the rest of its process, by value: random numbers, settings, names."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np

from ..base import naming, rng
from ..base.config import config
from . import torch_programs

#: The seed of the library's numbers where the program has drawn none yet and set no seed: those would differ on every run.
UNSEEDED = 0


def taken() -> dict[str, Any]:  # Any: of each kind its own
    """The states of this process."""
    return {"library": None if rng._shared is None else rng._shared.bit_generator.state,
            "numpy": np.random.get_state(),  # programs draw from it
            "python": random.getstate(), "settings": {name: getattr(config, name) for name in config._names},
            "names": dict(naming._local.stack[-1]._counter), "arguments": list(sys.argv), "torch": torch_programs.states()}


def put(states: dict[str, Any]) -> None:  # Any: as above
    """Have this process go on from states of another one."""
    rng._shared = np.random.default_rng(UNSEEDED)
    if states["library"] is not None:
        rng._shared.bit_generator.state = states["library"]
    np.random.set_state(states["numpy"])  # as above
    random.setstate(states["python"])
    for name, value in states["settings"].items():
        setattr(config, name, value)
    naming._local.stack[-1]._counter = dict(states["names"])
    sys.argv = list(states["arguments"])
    torch_programs.put_states(states["torch"])
