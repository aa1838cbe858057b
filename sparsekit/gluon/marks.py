"""Whether the blocks and parameters that a program was traced from are as they were.

Each of them has a mark, which is another object after each change: an attribute that is set, a child, a hook, new arrays.  What
else ``hybrid_forward`` reads while it is traced is a constant of the program, as in MXNet.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..base.changes import MarkedDict, changes
from .parameter import Parameter

if TYPE_CHECKING:
    from .block import Block


def with_children(block: Block) -> list[Block]:
    """A block and all below it."""
    return [block, *[descendant for child in block._children.values() for descendant in with_children(child)]]


class Marks:
    """What some blocks and parameters were.

    Their attributes are kept, and not they themselves: a block that holds its own marks is freed as soon as nobody needs it.

    Parameters
    ----------
    met : iterable of Block or Parameter
        What a trace has met.  All blocks below these and all their parameters belong to it.
    others : Marks, optional
        What else belongs to it.

    Attributes
    ----------
    parameters : list of Parameter
    latest : object
        What ``changes.mark`` was when they were last as they had been: while it is the same, nothing at all has changed.
    """

    def __init__(self, met: Iterable[Any], others: Marks | None = None) -> None:
        # Any: attributes.  By their number, with the name of what has them
        held: dict[int, tuple[str, dict[str, Any]]] = {} if others is None else dict(others._held)
        parameters: dict[int, Parameter] = {} if others is None else {id(parameter): parameter for parameter in others.parameters}
        for item in met:
            if isinstance(item, Parameter):
                parameters[id(item)] = item
                continue
            for block in [] if id(vars(item)) in held else with_children(item):
                held[id(vars(block))] = block.name, vars(block)
                for name in _DICTS:
                    if isinstance(marked := vars(block)[name], MarkedDict):
                        held[id(vars(marked))] = f"{block.name}.{name}", vars(marked)
                parameters.update((id(parameter), parameter)
                                  for parameter in (*block._reg_params.values(), *block.params.values()))
        held.update((id(vars(parameter)), (parameter.name, vars(parameter))) for parameter in parameters.values())
        self.parameters: list[Parameter] = list(parameters.values())
        self._held: dict[int, tuple[str, dict[str, Any]]] = held
        self.latest, self._known = changes.mark, self._now()

    def _now(self) -> list[object]:
        return [attributes.get("_mark") for _, attributes in self._held.values()]

    def owners(self) -> dict[int, Parameter]:
        """The parameters by the numbers of their arrays."""
        return {id(array): parameter for parameter in self.parameters for array in parameter._arrays.values()}

    def hold(self) -> bool:
        """Whether they are as they were."""
        latest = changes.mark
        if latest is not self.latest:
            if not all(map(operator.is_, self._now(), self._known)):
                return False
            self.latest = latest
        return True

    def difference(self) -> str:
        """The first that has changed, and which of its attributes, for a warning."""
        for (name, attributes), mark_before in zip(self._held.values(), self._known, strict=True):
            mark = attributes.get("_mark")
            if mark is not mark_before and mark is not None:
                return f"{name}.{mark[0]}"
        return ""


#: Attributes of a block that mark changes of their own.
_DICTS = ("_children", "_reg_params", "_forward_hooks", "_forward_pre_hooks")
