"""Outlines: what an operator's rule gets for arrays while it is lowered.

An outline has shape, element type and strides, and no values.  What numpy would do with the array is noted as rows of the
table.  Whatever has no row raises ``Refused``; in particular nothing can read a value, so none is frozen in a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from ...base.refusal import Refused

if TYPE_CHECKING:
    from ...base.types import Array, DType, DTypeLike, Scalar
    from .builder import Builder, Origin

    #: A length: a number, or what is known while the table runs.
    Length: TypeAlias = "int | Size"

    #: One length, or several.
    Lengths: TypeAlias = "Length | Sequence[Length]"

    #: An axis, several, or all.
    Axes: TypeAlias = int | tuple[int, ...] | None

    #: What a ufunc takes.
    Operand: TypeAlias = "Outline | Scalar"

#: What notes a function of numpy, by the function; ``numpy_calls`` fills it.  Any: numpy's functions have many signatures.
FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}


class Size:
    """A number that is known while the table runs: how much a sparse array stores.

    Attributes
    ----------
    word : int
        The word of the table that holds the number.
    roots : tuple of int
        The inputs whose lengths bound it: the word is at most their sum plus ``bound``.
    factor : int
        The size is the word times this.
    bound : int
    """

    __slots__ = ("bound", "builder", "factor", "roots", "word")
    __hash__ = None  # type: ignore[assignment]  # a cache keyed by it would outlive the table

    def __init__(self, builder: Builder, word: int, roots: tuple[int, ...], factor: int = 1, bound: int = 0) -> None:
        self.builder, self.word, self.roots, self.factor, self.bound = builder, word, roots, factor, bound

    def __eq__(self, other: object) -> bool:  # object: as of every class
        if isinstance(other, Size):
            if other.word != self.word:
                raise Refused("it compares two sizes that are known while the table runs")
            return other.factor == self.factor
        raise Refused("it compares a size that is known while the table runs")

    def __mul__(self, factor: int) -> Size:
        if type(factor) is not int or factor < 1:
            return self._refuse()
        return Size(self.builder, self.word, self.roots, self.factor * factor, self.bound)

    __rmul__ = __mul__

    def __add__(self, other: Size) -> Size:
        if not isinstance(other, Size) or self.factor != 1 or other.factor != 1:
            return self._refuse()
        return self.builder.total(self, other)

    def _refuse(self, *others: object) -> NoReturn:  # object: whatever it would be computed with
        raise Refused("it computes with a size that is known while the table runs")

    __radd__ = __sub__ = __rsub__ = __floordiv__ = __mod__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __bool__ = __int__ = __index__ = __float__ = __truediv__ = __rtruediv__ = _refuse


def static(length: Length) -> int:
    """The length, which must be a number."""
    if isinstance(length, Size):
        raise Refused("it needs a size that is known while the table runs")
    return int(length)


def likely(length: Length) -> int:
    """The length, or the most that it could be in the run that the table is made after."""
    if isinstance(length, Size):
        return length.factor * (length.bound + sum(length.builder.examples[root] for root in length.roots))
    return int(length)


def contiguous_strides(shape: Sequence[Length], itemsize: int) -> tuple[int, ...]:
    """Strides in bytes of an array in row-major order; a ``Size`` may be the length of the first axis only."""
    strides, step = [], itemsize
    for place in reversed(range(len(shape))):
        strides.append(step)
        if place:
            step *= max(1, static(shape[place]))
    return tuple(reversed(strides))


class _Flags:
    """The flags of an array, as far as rules ask for them."""

    def __init__(self, contiguous: bool) -> None:
        self.c_contiguous = self.carray = self.contiguous = contiguous

    def __getitem__(self, name: str) -> bool:
        if name in ("C_CONTIGUOUS", "CARRAY"):
            return self.c_contiguous
        raise Refused(f"it asks for the flag {name}")


class Outline(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of a table.

    Attributes
    ----------
    builder : Builder
    origin : Origin
        The memory that it lies in.
    offset : int
        Bytes from there to the first element.
    positions : bool
        Whether the elements are known to be positions inside an axis, cut to whole numbers by a cast.
    """

    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]  # a cache keyed by it would outlive the table
    stype = "default"

    def __init__(self, builder: Builder, dtype: DTypeLike, shape: Sequence[Length], strides: Sequence[int] | None, origin: Origin,
                 offset: int = 0) -> None:
        self.builder, self.origin, self.offset = builder, origin, offset
        self.positions = False
        self.dtype: DType = np.dtype(dtype)
        self.shape: tuple[Length, ...] = tuple(shape)
        self.strides = contiguous_strides(self.shape, self.dtype.itemsize) if strides is None else tuple(strides)

    # what it is

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def size(self) -> Length:
        """Number of elements."""
        if self.dynamic:
            return self.shape[0] * math.prod(map(static, self.shape[1:]))
        return math.prod(map(static, self.shape))

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return static(self.size) * self.itemsize

    @property
    def dynamic(self) -> bool:
        """Whether the length of the first axis is known while the table runs only."""
        return bool(self.shape) and isinstance(self.shape[0], Size)

    @property
    def selects(self) -> bool:
        """Whether its length is that of what an input of the table stores."""
        return bool(self.shape) and isinstance(self.shape[0], Size) and bool(self.shape[0].roots)

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie in row-major order."""
        step = self.itemsize
        for place in reversed(range(self.ndim)):
            length = self.shape[place]
            if isinstance(length, Size):
                return self.strides[place] == step and not place
            if length != 1 and self.strides[place] != step:
                return any(isinstance(size, int) and not size for size in self.shape)
            step *= length
        return True

    @property
    def flags(self) -> _Flags:
        """``c_contiguous`` and its like."""
        return _Flags(self.contiguous)

    def same_memory(self, other: Outline) -> bool:
        """Whether both are the same elements in the same order."""
        return (self.origin is other.origin and self.offset == other.offset and self.strides == other.strides
                and self.shape == other.shape and self.dtype == other.dtype)

    # views

    def view_as(self, shape: Sequence[Length], strides: Sequence[int] | None = None, offset: int = 0) -> Outline:
        """The same memory as another array."""
        return Outline(self.builder, self.dtype, shape, strides, self.origin, self.offset + offset)

    @property
    def T(self) -> Outline:
        """The transpose."""
        return self.transpose()

    def transpose(self, *axes: int | Sequence[int] | None) -> Outline:
        """The axes in another order."""
        flat_axes: list[int] = []
        for item in axes:
            flat_axes += [item] if isinstance(item, int) else item or ()
        order = [axis % self.ndim for axis in flat_axes] if flat_axes else list(range(self.ndim))[::-1]
        return self.view_as([self.shape[axis] for axis in order], [self.strides[axis] for axis in order])

    def reshape(self, *shape: Any, order: str = "C") -> Outline:  # Any: as above
        """The elements in another shape; copied if their strides do not allow a view."""
        lengths = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        if order != "C":
            raise Refused("it reshapes in another order")
        if self.dynamic or any(isinstance(length, Size) for length in lengths):
            return self._reshaped_dynamic(lengths)
        wanted = [int(length) for length in lengths]
        total = static(self.size)
        if -1 in wanted:
            product = -math.prod(wanted)
            wanted[wanted.index(-1)] = total // product if product else 0
        if math.prod(wanted) != total:
            raise ValueError(f"cannot reshape array of size {total} into shape {tuple(wanted)}")
        if self.contiguous:
            return self.view_as(wanted)
        strides = self._strides_as(wanted)
        return self.copy().view_as(wanted) if strides is None else self.view_as(wanted, strides)

    def _reshaped_dynamic(self, lengths: Sequence[Any]) -> Outline:  # Any: lengths
        shape = list(lengths)
        if len(shape) and isinstance(shape[0], int) and shape[0] == -1 and self.contiguous:
            inner, new_inner = math.prod(map(static, self.shape[1:])), math.prod(map(static, shape[1:]))
            if self.dynamic and new_inner and inner % new_inner == 0:
                return self.view_as([self.shape[0] * (inner // new_inner), *shape[1:]])
        if not self.contiguous or not shape or not isinstance(shape[0], Size) or not isinstance(self.shape[0], Size):
            raise Refused("it reshapes an array whose size is known while the table runs")
        before, after = self.size, shape[0] * math.prod(map(static, shape[1:]))
        if before != after:
            raise Refused("it reshapes an array whose size is known while the table runs")
        return self.view_as(shape)

    def _strides_as(self, shape: Sequence[int]) -> tuple[int, ...] | None:
        """The strides that numpy finds for a view of another shape; None if it would copy."""
        if any(step < 0 for step in self.strides):
            return None
        span = sum(step * (static(length) - 1) for step, length in zip(self.strides, self.shape, strict=True))
        memory = np.empty(max(span, 0) + self.itemsize, np.uint8)
        probe: Array = np.ndarray(tuple(map(static, self.shape)), self.dtype, memory, 0, self.strides)
        view = probe.reshape(shape)
        return view.strides if np.shares_memory(view, memory) else None

    def ravel(self) -> Outline:
        """In one axis."""
        return self.reshape(-1)

    def squeeze(self, axis: Axes = None) -> Outline:
        """Without axes of length 1."""
        axes = range(self.ndim) if axis is None else [place % self.ndim for place in ((axis,) if isinstance(axis, int) else axis)]
        gone = {place for place in axes if isinstance(self.shape[place], int) and self.shape[place] == 1}
        kept = [place for place in range(self.ndim) if place not in gone]
        return self.view_as([self.shape[place] for place in kept], [self.strides[place] for place in kept])

    def swapaxes(self, first: int, second: int) -> Outline:
        """With two axes exchanged."""
        order = list(range(self.ndim))
        order[first], order[second] = order[second], order[first]
        return self.transpose(order)

    def __getitem__(self, key: Any) -> Outline:  # Any: whatever may index an array
        if isinstance(key, Outline):
            return self.builder.rows_at(self, key)
        keys = list(key) if isinstance(key, tuple) else [key]
        if any(not (index is None or index is Ellipsis or isinstance(index, (slice, int, np.integer))) or isinstance(index, bool)
               for index in keys):
            raise Refused("it indexes by an array")
        taken = sum(index is not None and index is not Ellipsis for index in keys)
        if Ellipsis in keys:
            at = keys.index(Ellipsis)
            keys[at: at + 1] = [slice(None)] * (self.ndim - taken)
        else:
            keys += [slice(None)] * (self.ndim - taken)
        shape: list[Length] = []
        strides, offset, axis = [], 0, 0
        for index in keys:
            if index is None:
                shape.append(1)
                strides.append(0)
                continue
            length, step = self.shape[axis], self.strides[axis]
            axis += 1
            if isinstance(index, slice):
                if index.start is None and index.step is None and (index.stop is None or isinstance(index.stop, Size)):
                    shape.append(length if index.stop is None else index.stop)
                    strides.append(step)
                    continue
                start, stop, by = index.indices(static(length))
                shape.append(len(range(start, stop, by)))
                strides.append(step * by)
                offset += start * step
            else:
                place = int(index)
                if not -static(length) <= place < static(length):
                    raise IndexError(f"index {place} is out of bounds for axis {axis - 1} with size {length}")
                offset += place % static(length) * step
        return self.view_as(shape, strides, offset)

    def __len__(self) -> int:
        return static(self.shape[0])

    def __iter__(self) -> Iterator[Outline]:
        return iter([self[place] for place in range(static(self.shape[0]))])

    # what is noted

    def __setitem__(self, key: Any, value: Operand) -> None:  # Any: as of a numpy array
        if isinstance(key, Outline):
            self.builder.put_rows(self, key, value)
        else:
            self.builder.assign(self[key], value)

    def fill(self, value: Scalar) -> None:
        """Set all elements."""
        self.builder.assign(self, value)

    def copy(self, order: str = "C") -> Outline:
        """A copy in row-major order."""
        out = self.builder.empty(self.shape, self.dtype)
        self.builder.assign(out, self)
        return out

    def astype(self, dtype: DTypeLike, order: str = "K", copy: bool = True) -> Outline:
        """In another element type."""
        if np.dtype(dtype) == self.dtype:
            return self.copy() if copy else self
        out = self.builder.empty(self.shape, np.dtype(dtype))
        self.builder.assign(out, self)
        return out

    def take(self, indices: Outline, axis: int | None = None, mode: str = "raise") -> Outline:
        """``numpy.take``."""
        part: Outline = np.take(self, indices, axis=axis, mode=mode)  # type: ignore[call-overload]  # it is handed to numpy_calls
        return part

    def sum(self, axis: Axes = None, dtype: DTypeLike = None, out: Outline | None = None, keepdims: bool = False) -> Outline:
        """``numpy.sum``."""
        return self.builder.reduce(np.add, self, out, axis, dtype, keepdims)

    def max(self, axis: Axes = None, keepdims: bool = False) -> Outline:
        """``numpy.max``."""
        return self.builder.reduce(np.maximum, self, None, axis, None, keepdims)

    def min(self, axis: Axes = None, keepdims: bool = False) -> Outline:
        """``numpy.min``."""
        return self.builder.reduce(np.minimum, self, None, axis, None, keepdims)

    # Any, in both: as numpy calls them
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: tuple[Any, ...] = (), **options: Any) -> Any:
        return self.builder.ufunc(ufunc, method, inputs, out, options)

    # object, Any: as numpy calls it
    def __array_function__(self, function: Callable[..., Any], types: object, args: tuple[Any, ...],
                           kwargs: dict[str, Any]) -> Any:  # Any: what the function gives
        noted = FUNCTIONS.get(function)
        if noted is None:
            raise Refused(f"it calls numpy's {function.__name__}")
        return noted(self.builder, *args, **kwargs)

    # what would read values

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:  # object: whatever it is called with
        raise Refused("it reads values")

    __array__ = __bool__ = __int__ = __float__ = __index__ = __complex__ = __contains__ = _refuse
    item = tolist = tobytes = any = all = nonzero = argsort = argmax = argmin = searchsorted = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Refused(f"it asks an array for {name}")
