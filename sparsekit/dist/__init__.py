"""Training on several machines: servers that hold the values, and workers that push gradients to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.lazy import lazy as _lazy

_LAZY = {"connect": "dist.launch:connect", "disconnect": "dist.launch:disconnect", "run": "dist.launch:run"}

__all__ = ["connect", "disconnect", "run"]


if TYPE_CHECKING:
    from .launch import connect, disconnect, run
else:
    __getattr__ = _lazy(globals(), _LAZY)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
