"""Array objects: a store, and its immutable properties."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import DTypeError
from ..base.forking import across_fork

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..base.context import Context
    from ..base.types import Shape
    from ..storage.types import Store
    from .types import ArrayObject, Entry

#: Array class of each store class; the array front end fills it.
array_types: dict[type, type[ArrayObject]] = {}

#: Layouts that are cached; a full cache is cleared.
REMEMBERED = 4096


class Layout:
    """Context, kind of store, shape and element type of an array: they decide how an operator runs on it.

    Arrays of one layout share one object, so that a call finds its plan, and a block its program, by identity.

    Attributes
    ----------
    ctx : Context
    store_type : type
    shape : tuple of int
    number : int
        numpy's number of the element type.
    cls : type
        The array class.
    missed : object or None
        What the rows of an array have missed that an exact lazy update left alone (``optimizer.missed``).
    """

    __slots__ = ("__weakref__", "cls", "ctx", "number", "shape", "store_type")
    missed: Any = None  # Any: a class of a layer above

    def __init__(self, ctx: Context, store_type: type, shape: Shape, number: int) -> None:
        self.ctx, self.store_type, self.shape, self.number = ctx, store_type, tuple(shape), number
        # Any: as in wrap
        self.cls: type[Any] = array_types.get(store_type) or array_types[np.ndarray]  # a dense store may be cupy's


_layouts: dict[tuple[Context, type, Shape, int], Layout] = {}

#: Those that were in the cache when it was cleared, and that something still uses.
_used: dict[tuple[Context, type, Shape, int], weakref.ref[Layout]] = {}

_lock = threading.RLock()  # the garbage collector may run a finalizer that makes an array
across_fork(lambda: _lock)
_new = object.__new__


def _enter(key: tuple[Context, type, Shape, int]) -> Layout:
    """Put a layout into the cache: the one in use, or else a new one."""
    global _used
    with _lock:
        if len(_layouts) >= REMEMBERED:
            _used = {**_used, **{key: weakref.ref(layout) for key, layout in _layouts.copy().items()}}
            _layouts.clear()
            _used = {key: reference for key, reference in _used.items() if reference() is not None}
        reference = _used.get(key)
        return _layouts.setdefault(key, (reference and reference()) or Layout(*key))


# Any: a store, or what stands for one while tracing; and an NDArray, or a sparse one, whose classes lie in layers above
def wrap(store: Any, ctx: Context, entry: Entry | None = None) -> Any:
    """The array object of a store; ``entry`` is its place in a recorded graph."""
    key = (ctx, type(store), store.shape, store.dtype.num)
    layout = _layouts.get(key) or _enter(key)
    array = _new(layout.cls)
    array._store, array._layout, array._entry, array._seen = store, layout, entry, 0
    return array


def wrap_as(store: Store, layout: Layout) -> ArrayObject:
    """The same, where the layout is known."""
    array: ArrayObject = _new(layout.cls)
    array._store, array._layout, array._entry, array._seen = store, layout, None, 0
    return array


def require_arrays(values: Iterable[object], subject: str) -> None:  # object: what a user gave, which is checked
    """Raise ``DTypeError`` unless every value is an array of this library, or a buffer that stands for one while tracing."""
    for value in values:
        if not hasattr(value, "_check_traced"):
            raise DTypeError(f"{subject} is a {type(value).__name__}, not an NDArray.", hint="make one with mx.nd.array(…).")
