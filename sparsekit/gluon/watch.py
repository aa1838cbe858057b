"""The state that a hybridized block was traced with: attributes, children, hooks, settings.

A program repeats operators and does not look at blocks again, so a block that has changed must be traced anew.  Before
each run, what tracing could read is compared with what it was.  Blocks mark that one of them has changed, so that their
attributes are compared only after such a mark; changes of other objects leave no mark, so these are compared at every run.
Classes are compared only when the interpreter's own mark of them has changed, the version tag of its method cache.
"""

from __future__ import annotations

import collections
import ctypes
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
from ..base.layout import unknown_versions
from .parameter import Parameter, ParameterDict

if TYPE_CHECKING:
    from collections.abc import Sized
    from types import CellType

    from ..base.types import Array
    from .block import Block


__all__ = ["LONG", "Outside", "Watch", "is_the_users"]

#: Elements up to which a container's elements are watched; of a longer one the length is.
LONG = 10_000

#: Bytes of a word that compiled code compares.
WORD = 8

_END = (object(),)
_SIMPLE = frozenset({int, float, complex, bool, str, bytes, type(None)})
_SEQUENCES = (list, set, collections.deque)
_chain, _same = itertools.chain.from_iterable, operator.is_
_contents_of = operator.attrgetter("cell_contents")


class Outside:
    """The variables that a function has from outside: those of functions around it, and of its module, but for ``super()``."""

    def __init__(self, function: types.FunctionType) -> None:
        names, cells = function.__code__.co_freevars, function.__closure__ or ()
        self.cells = [cell for name, cell in zip(names, cells, strict=True) if name != "__class__" and _is_set(cell)]
        self.used = tuple(sorted(_globals_of(function.__code__) - {"super"}))
        self.get = function.__globals__.get

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain(map(_contents_of, self.cells), map(self.get, self.used))


def _is_set(cell: CellType) -> bool:
    try:
        return bool(cell.cell_contents) or True
    except ValueError:
        return False


@functools.lru_cache(4096)
def _globals_of(code: types.CodeType) -> set[str]:
    """The module's names that a function reads, those of functions inside it too."""
    found = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return found.union(*(_globals_of(one) for one in code.co_consts if isinstance(one, types.CodeType)))


@functools.cache
def _tag_offset() -> int:
    """Bytes from the beginning of a class to its version tag, which any change of it or of a base replaces; -1 if not found.

    The tag is 0 until an attribute is looked up.
    """
    if unknown_versions():
        return -1
    meta: Any = type  # Any: mypy takes the size of its instances for a property
    size: int = meta.__basicsize__
    places = set(range(0, size - 3, 4))
    for _ in range(3):
        kind = type("_Probe", (), {})
        states = []
        for number in range(3):
            setattr(kind, f"attribute_{number}", number)
            changed = ctypes.string_at(id(kind), size)
            getattr(kind, "absent", None)
            states.append((changed, ctypes.string_at(id(kind), size)))
        places = {place for place in places if _is_tag([[int.from_bytes(state[place: place + 4], sys.byteorder)
                                                         for state in pair] for pair in states])}
    return places.pop() if len(places) == 1 else -1


def _is_tag(found: list[list[int]]) -> bool:
    """Whether a word is 0 after each change and a larger number than before after each look."""
    seen = [looked for _, looked in found]
    return all(changed == 0 for changed, _ in found) and seen[0] > 0 and all(map(operator.lt, seen, seen[1:]))


class _Classes:
    """The user's classes, whose attributes must stay the same."""

    def __init__(self) -> None:
        self.views = _Views()
        self._kinds: list[type] = []
        self._tags: list[ctypes.c_uint32] = []
        self._versions: list[int] = []

    def add(self, kind: type) -> None:
        """Add one."""
        self.views.add(vars(kind).values(), kind.__name__, vars(kind))
        self._kinds.append(kind)
        if _tag_offset() >= 0:
            self._tags.append(ctypes.c_uint32.from_address(id(kind) + _tag_offset()))

    def keep(self) -> None:
        """Remember what their attributes are."""
        self.views.keep()
        self._mark()

    def _mark(self) -> None:
        for kind in self._kinds:
            getattr(kind, "absent", None)  # now it has a tag
        versions = [tag.value for tag in self._tags]
        self._versions = versions if all(versions) else []  # the interpreter has run out of them

    def words(self) -> list[int] | None:
        """Addresses of words of eight bytes that hold the version tags of all classes; None if a class has no tag."""
        if self._kinds and not self._versions:
            return None
        return [id(kind) + _tag_offset() // WORD * WORD for kind in self._kinds]

    def hold(self) -> bool:
        """Whether they still are."""
        if self._versions and [tag.value for tag in self._tags] == self._versions:
            return True
        if not self.views.hold():
            return False
        self._mark()
        return True


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
        self._blocks, self._objects, self._classes = _Views(), _Views(), _Classes()
        self._arrays: list[tuple[Any, bytes]] = []
        waiting: list[tuple[Any, str]] = [(one, one.name) for one in (*others, block)]
        while waiting:  # without recursion, whose limit deeply nested lists would exceed
            value, label = waiting.pop()
            if type(value) not in _SIMPLE and id(value) not in self._seen:
                self._seen.add(id(value))
                waiting += [(part, label) for part in self._parts(value, label)]
        self._blocks.keep()
        self._objects.keep()
        self._classes.keep()
        #: Whether changes that leave no mark must be looked for.
        self._unmarked = bool(self._objects.views or self._classes.views.views or self._arrays)

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
            if not self._classes.hold() or (self._objects.views and not self._objects.hold()):
                return False
        except (RuntimeError, ValueError):  # another thread is changing a container, or a variable was deleted
            return False
        return not self._arrays or all(_contents(array) == before for array, before in self._arrays)

    def settled(self) -> bool:
        """Whether nothing has changed, if the mark is known to be the same."""
        return not self._unmarked or self.holds()

    def words(self) -> list[int] | None:
        """Addresses of words that show every change that leaves no mark; None if words cannot show all of them."""
        return None if self._objects.views or self._arrays else self._classes.words()

    def difference(self) -> str:
        """What the first difference is, for a warning: an attribute of a block, if it is one."""
        return (self._blocks.difference() or self._classes.views.difference() or self._objects.difference()
                or "a numpy array")

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
            elif is_the_users(type(value)) or isinstance(value, types.SimpleNamespace):
                self._objects.add(attributes.values(), label, attributes)
            else:
                return []
            return [*self._classes_of(value), *attributes.values()]
        return []

    def _function(self, function: types.FunctionType, label: str) -> list[Any]:
        """What a function of the user's has from outside."""
        if not is_the_users(function):
            return []
        outside = Outside(function)
        if outside.cells or outside.used:
            self._objects.add(outside, label)
        return [*outside, function.__defaults__, function.__kwdefaults__]

    def _classes_of(self, value: object) -> list[Any]:
        """What the user's classes of an object hold: methods and settings."""
        found: list[Any] = []
        for kind in type(value).__mro__:
            if id(kind) not in self._seen and is_the_users(kind):
                self._seen.add(id(kind))
                self._classes.add(kind)
                found += vars(kind).values()
        return found


def is_the_users(kind: object) -> bool:
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
