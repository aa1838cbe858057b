"""Context managers that put back what they changed, also when Ctrl-C arrives while Python enters or leaves the block."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, Generic, TypeVar

from .errors import DTypeError, expected

T = TypeVar("T")


class _Hold:
    """One ``with`` block of a scope.

    Attributes
    ----------
    scope : Scoped
    before : object
        What the scope puts back.
    entered : bool
        Whether the scope has something to put back.
    watch : weakref or None
        Watches the object that the ``with`` statement holds until the block is over.
    """

    __slots__ = ("before", "entered", "scope", "watch")

    def __init__(self, scope: Scoped) -> None:
        self.scope, self.entered = scope, False
        self.before: Any = None  # Any: each scope knows what it puts back
        self.watch: weakref.ref[functools.partial[None]] | None = None

    def gone(self, _: weakref.ref[functools.partial[None]]) -> None:
        """The block is over, and ``__exit__`` may not have run to its end."""
        self.watch = None
        if _thread.latest is self:
            _thread.latest = None
        if self.entered:
            self.scope._leave(self.before, KeyboardInterrupt)
            self.entered = False


class _Thread(threading.local):
    """The block that the calling thread is about to enter, and those that it entered without a ``with`` statement."""

    def __init__(self) -> None:
        self.latest: _Hold | None = None
        self.by_hand: list[_Hold] = []


_thread = _Thread()


class _Exit:
    """``__exit__`` of a scope."""

    def __get__(self, scope: Scoped | None, owner: type[Scoped] | None = None) -> Callable[..., None]:
        if scope is None:  # contextlib.ExitStack looks the method up on the class
            return _exit_by_hand
        hold = _Hold(scope)
        # Python's own object: unlike a function of ours, no frame in the traceback of an interrupt refers to it.
        leave = functools.partial(_exit, hold)
        hold.watch = weakref.ref(leave, hold.gone)
        _thread.latest = hold
        return leave


class Scoped:
    """A context manager whose changes end with its block, whatever interrupts it.

    Python looks for signals before the first line of each function.  An interrupt that arrives at the end of a block
    therefore raises before ``__exit__`` has done anything, and Python does not call ``__exit__`` again.  The ``with``
    statement itself holds what it found as ``__exit__`` from before ``__enter__`` until after the block.  Here that is an
    object which is watched: when it goes and the scope has not been left, the scope is left then.

    Subclasses override ``_before``, ``_enter``, ``_leave`` and ``_after``.
    """

    __slots__ = ()
    __exit__ = _Exit()

    def __enter__(self) -> Any:  # Any: a subclass says what ``as`` names
        hold = _thread.latest
        if hold is None or hold.scope is not self or hold.entered:
            hold = _Hold(self)
            _thread.by_hand.append(hold)
        else:
            _thread.latest = None
        hold.before = self._before()
        hold.entered = True
        try:
            return self._enter(hold.before)
        except BaseException:
            self._leave(hold.before, KeyboardInterrupt)
            hold.entered = False
            raise

    def _before(self) -> Any:  # Any: for the subclass alone, which gets it back below
        """What ``_leave`` puts back; changes nothing."""

    def _enter(self, before: Any) -> Any:  # Any: what the subclass's _before gave, and what ``as`` names
        """Make the changes, and give what ``as`` names."""
        return self

    # Any: what the subclass's _before gave
    def _leave(self, before: Any, kind: type[BaseException] | None) -> None:
        """Put back what was before; it may be called twice in a row."""

    # Any: what the subclass's _before gave
    def _after(self, before: Any, kind: type[BaseException] | None) -> None:
        """What is done once when the block has been left, such as calling a function of the user's."""


# object: Python also passes the error and its traceback, which no scope needs
def _exit(hold: _Hold, kind: type[BaseException] | None = None, *rest: object) -> None:
    if hold.entered:
        hold.scope._leave(hold.before, kind)
        hold.entered = False
        hold.watch = None
        hold.scope._after(hold.before, kind)
    else:  # the method was not found by the ``with`` statement, or whatever else called ``__enter__`` after that
        _exit_by_hand(hold.scope, kind)


# object: as in _exit
def _exit_by_hand(scope: Scoped, kind: type[BaseException] | None = None, *rest: object) -> None:
    holds = _thread.by_hand
    for place in reversed(range(len(holds))):
        if holds[place].scope is scope:
            _exit(holds.pop(place), kind)
            return


class Assigned(Scoped, ContextDecorator):
    """Attributes of an object that have other values inside a block.

    Parameters
    ----------
    target : object
    **values
        The attributes.
    """

    def __init__(self, target: object, **values: object) -> None:  # object: attributes of any object are set
        self._target, self._values = target, values

    def _before(self) -> dict[str, object]:  # object: the values of those attributes
        return {name: getattr(self._target, name) for name in self._values}

    def _enter(self, before: dict[str, object]) -> object:  # object: the target, and the values before
        for name, value in self._values.items():
            setattr(self._target, name, value)
        return self._target

    # object: the values before
    def _leave(self, before: dict[str, object], kind: type[BaseException] | None) -> None:
        for name, value in before.items():
            setattr(self._target, name, value)


class Innermost(Generic[T]):
    """An attribute of a class of scopes: the innermost scope of the calling thread.  Setting it replaces that scope."""

    def __init__(self, stack: Callable[[], list[T]], doc: str) -> None:
        self.stack, self.__doc__ = stack, doc

    def __get__(self, instance: object, owner: type) -> T:  # object: an instance of that class, or None
        return self.stack()[-1]


class _Scopes(type):
    """The class of classes of scopes, whose ``Innermost`` can be set."""

    def __setattr__(cls, name: str, value: object) -> None:  # object: as in object itself
        held = cls.__dict__.get(name)
        if not isinstance(held, Innermost):
            return super().__setattr__(name, value)
        if not issubclass(type(value), cls):
            raise DTypeError(expected(f"{cls.__name__}.{name}", f"a {cls.__name__}", type(value)),
                             hint=f"make one: {cls.__name__}(…).")
        held.stack()[-1] = value


class Pushed(Scoped, metaclass=_Scopes):
    """Something that is on a stack inside its block; ``_stack`` gives the stack, ``_pushed`` what is put there."""

    __slots__ = ()
    _stack: Callable[[], list[Any]]  # Any: a list of the subclass, which list[Pushed] is not

    def _pushed(self) -> Pushed:
        return self

    def _before(self) -> int:
        return len(self._stack())

    def _enter(self, before: int) -> Pushed:
        self._stack().append(self._pushed())
        return self

    def _leave(self, before: int, kind: type[BaseException] | None) -> None:
        del self._stack()[before:]
