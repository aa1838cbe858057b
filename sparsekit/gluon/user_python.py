"""Which blocks run Python of their user's at every call, so that no program may stand for them.

What a block computes in ``hybrid_forward`` is traced, as in MXNet.  Everything else that a user may have written must run at
every call: an own ``forward`` or ``__call__``, of a class or of one block, the function of a ``Lambda``, hooks and monitors.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .marks import with_children

if TYPE_CHECKING:
    from .block import Block

_OURS = __name__.partition(".")[0]

_WHAT = {"forward": "overrides forward", "__call__": "overrides __call__",
         "_func_impl": "calls a function that is not the library's"}


def is_ours(function: object) -> bool:
    """Whether a function or method is defined in this library, and all that it wraps and is wrapped by."""
    wrapped = getattr(function, "__func__", function)
    while wrapped is not None:
        variables = getattr(wrapped, "__globals__", None)
        if variables is None or str(variables.get("__name__")).partition(".")[0] != _OURS:
            return False
        wrapped = getattr(wrapped, "__wrapped__", None)
    return True


def reason_of(block: Block) -> str:
    """Why each call of a block, without those below it, must run in Python; empty if a program may stand for it."""
    for name in block._called:
        if not is_ours(getattr(block, name)):
            return f"{block.name}, of class {type(block).__name__}, {_WHAT[name]}, and its Python runs at every call"
    if block._forward_hooks or block._forward_pre_hooks:
        return f"{block.name} has forward hooks, which run at every call"
    return "" if block._monitor is None else f"{block.name} has a monitor, which is shown the values of every call"


def reason_in(blocks: Iterable[Block]) -> str:
    """The first reason of these blocks and of all below them.

    Blocks in lists and objects are not children and are not found here.  A trace that calls one of them stops.
    """
    return next((reason for block in blocks for descendant in with_children(block) if (reason := reason_of(descendant))), "")
