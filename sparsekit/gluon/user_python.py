"""Which blocks run Python of their user's at every call, so that no program may stand for them.

What a block computes in ``hybrid_forward`` is traced, as in MXNet.  Everything else that a user may have written must run at
every call: an own ``forward`` or ``__call__``, of a class or of one block, the function of a ``Lambda``, hooks and monitors.
"""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from .watch import LONG, Outside, is_the_users

if TYPE_CHECKING:
    from .block import Block

__all__ = ["is_ours", "reason_below", "reason_in", "reason_of"]

_OURS = __name__.partition(".")[0]

_WHAT = {"forward": "overrides forward", "__call__": "overrides __call__",
         "_func_impl": "calls a function that is not the library's"}


def is_ours(function: object) -> bool:
    """Whether a function or method is defined in this library; what wraps one of the library's is not."""
    variables = getattr(getattr(function, "__func__", function), "__globals__", None)
    return variables is not None and str(variables.get("__name__")).partition(".")[0] == _OURS


def reason_of(block: Block) -> str:
    """Why each call of a block, without those below it, must run in Python; empty if a program may stand for it."""
    for name in block._called:
        if not is_ours(getattr(block, name)):
            return f"{block.name}, of class {type(block).__name__}, {_WHAT[name]}, and its Python runs at every call"
    if block._forward_hooks or block._forward_pre_hooks:
        return f"{block.name} has forward hooks, which run at every call"
    return "" if block._monitor is None else f"{block.name} has a monitor, which is shown the values of every call"


def reason_below(block: Block) -> str:
    """The first reason of a block that another one can reach, of which its own forward is not asked."""
    return _search(block._children.values(), _parts_of(block), {id(block): block})


def reason_in(blocks: Iterable[Block]) -> str:
    """The first reason of these blocks and of all that they can reach."""
    return _search(blocks, [], {})


def _search(blocks: Iterable[object], others: list[object], seen: dict[int, object]) -> str:
    """The first reason of blocks and their children, and then of what else they hold."""
    waiting = collections.deque(blocks)
    while waiting or others:
        value = waiting.popleft() if waiting else others.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if "_reg_params" not in getattr(value, "__dict__", ()):
            others += _held_by(value)
            continue
        block = cast("Block", value)
        reason = reason_of(block)
        if reason:
            return reason
        waiting += block._children.values()
        others += _parts_of(block)
    return ""


def _parts_of(block: Block) -> list[object]:
    """The attributes of a block, and the functions of its user's classes."""
    functions = [one for kind in type(block).__mro__ if is_the_users(kind) for one in vars(kind).values()]
    return [*vars(block).values(), *functions]


def _held_by(value: object) -> Iterable[object]:
    """What a block that has a value as an attribute may call by it."""
    if isinstance(value, (dict, list, tuple, set, frozenset, collections.deque)):
        items = value.values() if isinstance(value, dict) else value
        return list(items) if len(value) <= LONG else []
    if isinstance(value, types.MethodType):
        return [value.__self__, value.__func__]
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, (property, staticmethod, classmethod)):
        return [getattr(value, name, None) for name in ("fget", "__func__")]
    if isinstance(value, types.FunctionType):
        return [*Outside(value), value.__defaults__, value.__kwdefaults__] if is_the_users(value) else []
    if isinstance(value, (type, types.ModuleType)) or not hasattr(value, "__dict__"):
        return []
    return list(vars(value).values()) if is_the_users(type(value)) or isinstance(value, types.SimpleNamespace) else []
