"""Training on several machines: servers that hold the values, and workers that push gradients to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.lazy import lazy as _lazy

__all__ = ["connect", "disconnect", "kill_server", "run", "servers", "stop_servers"]

_LAZY = {name: f"dist.launch:{name}" for name in __all__}


if TYPE_CHECKING:
    from .launch import connect, disconnect, kill_server, run, servers, stop_servers
else:
    __getattr__, __dir__ = _lazy(globals(), _LAZY)
