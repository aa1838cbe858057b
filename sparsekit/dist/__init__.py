"""Training on several machines: servers that hold the values, and workers that push gradients to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.lazy import add_lazy_names as _add_lazy_names

__all__ = ["connect", "disconnect", "kill_server", "run", "servers", "stop_servers"]

_LAZY = {name: f"dist.launch:{name}" for name in __all__}


if TYPE_CHECKING:
    from .launch import connect, disconnect, kill_server, run, servers, stop_servers

_add_lazy_names(globals(), _LAZY)
