"""The state that a hybridized block was traced with: attributes, children, hooks, settings.

A program repeats operators and does not look at blocks again, so a block that has changed must be traced anew.  Before
each run, what tracing could read is compared with what it was.  Blocks mark that one of them has changed, so that their
attributes are compared only after such a mark; changes of other objects leave no mark, so these are compared at every run.
"""

from __future__ import annotations

import collections
import dis
import functools
import itertools
import operator
import sys
import types
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.changes import MarkedDict, changes
from .parameter import Parameter, ParameterDict

if TYPE_CHECKING:
    from collections.abc import Sized
    from types import CellType

    from ..base.types import Array
    from .block import Block


__all__ = ["Watch"]

#: Elements up to which a container's elements are watched; of a longer one the length is.
LONG = 10_000

_END = (object(),)
_SIMPLE = frozenset({int, float, complex, bool, str, bytes, type(None)})
_SEQUENCES = (list, set, collections.deque)
_chain, _same = itertools.chain.from_iterable, operator.is_
_contents_of = operator.attrgetter("cell_contents")


class _Outside:
    """The variables that a function has from outside: those of functions around it, and of its module."""

    def __init__(self, function: types.FunctionType) -> None:
        self.cells = [cell for cell in function.__closure__ or () if _is_set(cell)]
        self.used = tuple(sorted(_globals_of(function.__code__)))
        self.get = function.__globals__.get

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain(map(_contents_of, self.cells), map(self.get, self.used))


def _is_set(cell: CellType) -> bool:
    try:
        return bool(cell.cell_contents) or True
    except ValueError:
        return False


def _globals_of(code: types.CodeType) -> set[str]:
    """The module's names that a function reads, those of functions inside it too."""
    found = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return found.union(*(_globals_of(one) for one in code.co_consts if isinstance(one, types.CodeType)))


class _Length:
    """The length of a container that is too long to be compared element by element."""

    def __init__(self, container: Sized) -> None:
        self.container = container

    def __iter__(self) -> Iterator[Any]:
        yield len(self.container)


class _Views:
    """Iterables whose elements must stay the same objects, or numbers and strings of the same value."""

    def __init__(self) -> None:
        self.views: list[Iterable[Any]] = []
        self.labels: list[tuple[str, Any]] = []
        self.known: list[Any] = []

    def add(self, view: Iterable[Any], label: str, names: object = None) -> None:
        """Add one; ``names`` are what its elements are called."""
        self.views.append(view)
        self.labels.append((label, names))

    def now(self) -> Iterator[Any]:
        """All elements, and a last one that is nowhere else."""
        return itertools.chain(_chain(self.views), _END)

    def keep(self) -> None:
        """Remember what the elements are."""
        self.known = [*self.now()]

    def hold(self) -> bool:
        """Whether they still are."""
        if all(map(_same, self.now(), self.known)):
            return True
        now = [*self.now()]
        if len(now) != len(self.known) or not all(map(_alike, now, self.known)):
            return False
        self.known = now
        return True

    def difference(self) -> str:
        """Which element is the first that is not; "" if all are."""
        known = iter(self.known)
        for view, (label, names) in zip(self.views, self.labels, strict=True):
            for number, value in enumerate(view):
                if not _alike(value, next(known, None)):
                    return label if names is None else f"{label}.{list(names)[number]}"
        return ""


class Watch:
    """Everything that tracing a block could read, as it was.

    Watched are the attributes of the block, of its children and of what else ran; what these hold in lists, dicts, sets
    and objects of the user's classes; the user's classes; variables that their functions have from outside; and the
    contents of numpy arrays.  The values of NDArrays are not watched, since programs read them at each run.

    Parameters
    ----------
    block : Block
        The one that was traced.
    others : iterable of Block
        What else ran.
    """

    def __init__(self, block: Block, others: Iterable[Any]) -> None:
        self.parameters: list[Parameter] = []
        self._mark, self._seen = changes.mark, set[int]()
        self._blocks, self._objects = _Views(), _Views()
        self._arrays: list[tuple[Any, bytes]] = []
        waiting: list[tuple[Any, str]] = [(one, one.name) for one in (*others, block)]
        while waiting:  # without recursion, whose limit deeply nested lists would exceed
            value, label = waiting.pop()
            if type(value) not in _SIMPLE and id(value) not in self._seen:
                self._seen.add(id(value))
                waiting += [(part, label) for part in self._parts(value, label)]
        self._blocks.keep()
        self._objects.keep()
        #: Whether changes that leave no mark must be looked for.
        self._unmarked = bool(self._objects.views or self._arrays)

    def holds(self) -> bool:
        """Whether nothing has changed."""
        mark = changes.mark
        if mark is self._mark and not self._unmarked:
            return True
        try:
            if mark is not self._mark:
                if not self._blocks.hold():
                    return False
                self._mark = mark
            if not self._objects.hold():
                return False
        except (RuntimeError, ValueError):  # another thread is changing a container, or a variable was deleted
            return False
        return not self._arrays or all(_contents(array) == before for array, before in self._arrays)

    def settled(self) -> bool:
        """Whether nothing has changed, if the mark is known to be the same."""
        return not self._unmarked or self.holds()

    def difference(self) -> str:
        """What the first difference is, for a warning: an attribute of a block, if it is one."""
        return self._blocks.difference() or self._objects.difference() or "a numpy array"

    def _parts(self, value: Any, label: str) -> list[Any]:
        """Watch a value if it can change, and give what it holds."""
        if getattr(type(value), "unwatched", False):
            return []
        if isinstance(value, (dict, *_SEQUENCES)):
            views = self._blocks if type(value) is MarkedDict else self._objects
            if len(value) > LONG:
                views.add(_Length(value), label)
                return []
            if isinstance(value, dict):
                views.add(value.keys(), label)
                views.add(value.values(), label, value)
                return list(value.values())
            views.add(value, label)
            return list(value)
        if isinstance(value, (tuple, frozenset)):
            return list(value)
        if isinstance(value, np.ndarray):
            self._arrays.append((value, _contents(value)))
        elif isinstance(value, types.FunctionType):
            return self._function(value, label)
        elif isinstance(value, types.MethodType):
            return [value.__func__, value.__self__]
        elif isinstance(value, functools.partial):
            return [value.func, value.args, value.keywords]
        elif isinstance(value, (property, staticmethod, classmethod)):
            return [getattr(value, name, None) for name in ("fget", "__func__")]
        elif isinstance(value, Parameter):
            self.parameters.append(value)
        elif isinstance(value, ParameterDict):
            self.parameters += value.values()
        elif hasattr(value, "__dict__") and not isinstance(value, (type, types.ModuleType)):
            attributes = vars(value)
            if "_reg_params" in attributes:
                self._blocks.add(attributes.values(), value.name, attributes)
            elif _is_the_users(type(value)) or isinstance(value, types.SimpleNamespace):
                self._objects.add(attributes.values(), label, attributes)
            else:
                return []
            return [*self._classes_of(value), *attributes.values()]
        return []

    def _function(self, function: types.FunctionType, label: str) -> list[Any]:
        """What a function of the user's has from outside."""
        if not _is_the_users(function):
            return []
        outside = _Outside(function)
        if outside.cells or outside.used:
            self._objects.add(outside, label)
        return [*outside, function.__defaults__, function.__kwdefaults__]

    def _classes_of(self, value: object) -> list[Any]:
        """What the user's classes of an object hold: methods and settings."""
        found: list[Any] = []
        for kind in type(value).__mro__:
            if id(kind) not in self._seen and _is_the_users(kind):
                self._seen.add(id(kind))
                self._objects.add(vars(kind).values(), kind.__name__, vars(kind))
                found += vars(kind).values()
        return found


def _is_the_users(kind: object) -> bool:
    """Whether a class or function is neither ours, nor Python's, nor of an installed package."""
    return _is_the_users_module((kind.__module__ or "builtins").partition(".")[0])


@functools.cache
def _is_the_users_module(name: str) -> bool:
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    return name != "sparsekit" and name not in sys.stdlib_module_names and "-packages" not in file


def _contents(array: Array) -> bytes:
    return array.tobytes() if array.dtype != object else repr(array.tolist()).encode()


def _alike(one: object, other: object) -> bool:
    return one is other or (type(one) is type(other) and type(one) in _SIMPLE and repr(one) == repr(other))
