"""Marks of the latest changes: what was derived from blocks and parameters need not look at them again while its marks stay."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class _Changes:
    """What is another object after each change.

    Each block, parameter and ``MarkedDict`` also has the mark of its own latest change, in the attribute ``_mark``: a tuple with
    the name of what has changed.

    Attributes
    ----------
    mark : object
        Of any of them.
    settings : object
        Of what the updates of any optimizer depend on beside the count of steps: its attributes, those of updaters and trainers,
        and which states there are.
    """

    __slots__ = ("mark", "settings")

    def __init__(self) -> None:
        self.mark, self.settings = object(), object()


changes = _Changes()


class MarkedDict(dict[Any, Any]):  # Any: keys and values of any kind
    """A dict of a block's, which marks its changes."""

    def _note(self, name: str) -> None:
        vars(self)["_mark"] = changes.mark = (name,)


class SettingsDict(dict[Any, Any]):  # Any: as above
    """A dict of an optimizer's or an updater's, which marks its changes."""

    def _note(self, name: str) -> None:
        changes.settings = (name,)


def _marking(name: str) -> Callable[..., object]:  # object: what the method of dict gives
    plain = getattr(dict, name)

    @functools.wraps(plain)  # object: whatever the method of dict takes and gives
    def method(self: MarkedDict | SettingsDict, *args: object, **kwargs: object) -> object:
        try:
            return plain(self, *args, **kwargs)
        finally:
            self._note(name)

    return method


for _name in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(MarkedDict, _name, _marking(_name))
    setattr(SettingsDict, _name, _marking(_name))
