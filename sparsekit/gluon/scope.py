"""Names of blocks."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, Self

from ..base.naming import Prefix, current_names
from ..base.scoped import Scoped
from .parameter import ParameterDict

if TYPE_CHECKING:
    from .block import Block


class Scope(Scoped):
    """Names inside one block: children made in its ``with`` block count from zero under its prefix."""

    _current = threading.local()

    def __init__(self, block: Block) -> None:
        # A strong reference would make a cycle, and a deleted network would keep its memory until a collection.
        self._block = weakref.ref(block)
        self._counts: dict[str, int] = {}

    @classmethod
    def create(cls, prefix: str | None, params: ParameterDict | None, hint: str) -> tuple[str, ParameterDict]:
        """Prefix and parameter dictionary of a new block."""
        scope = getattr(cls._current, "value", None)
        if scope is None:
            prefix = current_names().get(None, hint) + "_" if prefix is None else prefix
            return prefix, ParameterDict(prefix) if params is None else ParameterDict(params.prefix, params)
        if prefix is None:
            count = scope._counts.get(hint, 0)
            scope._counts[hint] = count + 1
            prefix = f"{hint}{count}_"
        parent = scope._block()
        prefix_in_parent = parent.params.prefix + prefix
        parameters = (ParameterDict(prefix_in_parent, parent.params._shared) if params is None
                      else ParameterDict(params.prefix, params))
        return parent.prefix + prefix, parameters

    def _before(self) -> tuple[Any, int]:
        return getattr(Scope._current, "value", None), len(current_names()._stack())

    def _enter(self, before: object) -> Self:
        block = self._block()
        if block is not None and not block._empty_prefix:
            current_names()._stack().append(Prefix(block.prefix))  # of symbols and whatever else is named inside
            Scope._current.value = self
        return self

    def _leave(self, before: tuple[Any, int], kind: type[BaseException] | None) -> None:
        Scope._current.value, depth = before
        del current_names()._stack()[depth:]
