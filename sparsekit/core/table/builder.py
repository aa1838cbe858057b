"""The layout of a table: words, rows and memory, while operators are lowered one after another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ...base.forking import load
from ...base.refusal import Refused
from .arrays import Outline, Size, static
from .machine import Loop, compiled, inner_loop

if TYPE_CHECKING:
    from ...base.types import Array, DType, DTypeLike, Scalar
    from ...kernels.cpu.jit import Kernel
    from .arrays import Axes, Length, Lengths, Operand

    #: What a kernel takes.
    Argument: TypeAlias = Outline | Size | Scalar | Kernel | tuple[Outline, ...]


class Origin:
    """Memory that outlines lie in.

    Attributes
    ----------
    kind : str
        ``"buffer"``: the table's own; ``"input"``: an array that is bound while it runs; ``"target"``: one that is bound and
        written to; ``"constant"``: an array that is kept.
    pointers : list of (int, int)
        Words that hold an address in it, and the offset of each in bytes.
    first, last : int
        Operators that use it, from and to.
    kept : bool
        Whether something reads it after the run.
    nbytes : int
        Bytes of a buffer; for each unit of its size, if that is known while the table runs only.
    roots : tuple of int
        The inputs that bound that size; none for a fixed size.
    more : int
        Units that such a buffer has beyond those of its roots.
    number : int
        Of an input: its place among all.
    array : ndarray or None
        Of a constant.
    """

    __slots__ = ("array", "first", "kept", "kind", "last", "more", "nbytes", "number", "pointers", "roots")

    def __init__(self, kind: str, nbytes: int = 0, roots: tuple[int, ...] = (), number: int = -1, array: Array | None = None,
                 more: int = 0) -> None:
        self.kind, self.nbytes, self.roots, self.number, self.array, self.more = kind, nbytes, roots, number, array, more
        self.pointers: list[tuple[int, int]] = []
        self.first, self.last, self.kept = 1 << 60, -1, False

    def used(self, operator: int) -> None:
        """Note that an operator uses it."""
        self.first, self.last = min(self.first, operator), max(self.last, operator)


class Row(NamedTuple):
    """A call of a function by address.

    Attributes
    ----------
    function, context, extra : int
        Addresses; function 0 is a stop, where Python does something.
    data, dimensions, strides : int
        Words whose addresses the function gets; -1 for none.
    operator : int
        Number of the operator that it belongs to, or ``PAUSE``.
    copied : int
        Pointers to operands, which the function may change: it gets a copy of so many words, made behind them.
    size : int
        Word of the size that the call finds; -1 for none.
    """

    function: int
    context: int
    data: int
    dimensions: int
    strides: int
    extra: int
    operator: int
    copied: int
    size: int


class Patch(NamedTuple):
    """``word = source * factor``, once the source is known."""

    word: int
    source: int
    factor: int


#: In place of an operator's number: Python only handles signals there.
PAUSE = -1

#: Elements of a large array that the rows or stored values of a sparse one select, about.
SELECTED = 1 << 16

#: Words for the dimensions and steps of an inner loop with its operands.
_OPERANDS = 4


class Builder:
    """A table while it is made.

    Attributes
    ----------
    words : list of int
        Values of the table's words, as far as they are the same at every run.
    rows : list of Row
    origins : list of Origin
    own : list of (int, int)
        Words that hold the address of another word, and the offset of that one in bytes.
    operator : int
        Number of the operator that is lowered.
    patches : dict of int to list of Patch
        By the word that holds a size: what depends on it.
    work : int
        Elements that the rows since the last pause touch, as far as that is known.
    examples : dict of int to int
        By root, the length of that input in the run that the table is made after.
    """

    def __init__(self) -> None:
        self.words: list[int] = [0]
        self.rows: list[Row] = []
        self.origins: list[Origin] = []
        self.own: list[tuple[int, int]] = []
        self.operator = 0
        self.patches: dict[int, list[Patch]] = {}
        self.work = 0
        self.examples: dict[int, int] = {}
        self._kernels: Any = load("sparsekit.kernels.cpu.table_rows")  # Any: a module of kernels
        self._numba: Any = load("numba")  # Any: it has no types

    # words and memory

    def word(self, value: int = 0) -> int:
        """A new word."""
        return self.block([value])

    def block(self, values: Sequence[int]) -> int:
        """New words behind one another; the first."""
        self.words.extend(values)
        return len(self.words) - len(values)

    def _origin(self, origin: Origin) -> Origin:
        self.origins.append(origin)
        return origin

    def empty(self, shape: Lengths, dtype: DTypeLike) -> Outline:
        """A new array of the table's own."""
        lengths: list[Length] = [shape] if isinstance(shape, (int, Size)) else list(shape)
        kind = np.dtype(dtype)
        if kind.kind not in "biuf":
            raise Refused(f"it makes an array of {kind}")
        if lengths and isinstance(lengths[0], Size):
            first = lengths[0]
            nbytes = first.factor * math.prod(map(static, lengths[1:])) * kind.itemsize
            origin = (Origin("buffer", nbytes, first.roots, more=first.bound) if first.roots
                      else Origin("buffer", nbytes * first.bound))
            return Outline(self, kind, lengths, None, self._origin(origin))
        sizes = [static(length) for length in lengths]
        return Outline(self, kind, sizes, None, self._origin(Origin("buffer", math.prod(sizes) * kind.itemsize)))

    def input(self, number: int, dtype: DTypeLike, shape: Sequence[Length]) -> Outline:
        """An array that each run brings."""
        return Outline(self, dtype, shape, None, self._origin(Origin("input", number=number)))

    def constant(self, value: Scalar | Array, dtype: DTypeLike = None) -> Outline:
        """An array whose values are the same at every run."""
        array = np.asarray(value, dtype, order="C")
        return Outline(self, array.dtype, array.shape, None, self._origin(Origin("constant", array=array)))

    def size(self, roots: tuple[int, ...], bound: int = 0) -> Size:
        """A size that a row or an input will give."""
        size = Size(self, self.word(), roots, bound=bound)
        self.patches[size.word] = []
        return size

    def total(self, first: Size, second: Size) -> Size:
        """The sum of two sizes."""
        like = Size(self, 0, first.roots + second.roots, bound=first.bound + second.bound)
        return self.count(self._kernels.sum_of, first, second, like=like)

    def point(self, word: int, array: Outline) -> None:
        """Have a word hold the address of an array."""
        array.origin.pointers.append((word, array.offset))
        array.origin.used(self.operator)

    def put(self, word: int, length: Length) -> None:
        """Have a word hold a length."""
        if isinstance(length, Size):
            self.patches[length.word].append(Patch(word, length.word, length.factor))
        else:
            self.words[word] = length

    def outline(self, value: Operand, dtype: DTypeLike = None) -> Outline:
        """The value as an array of the table, in that element type."""
        if isinstance(value, Outline):
            return value if dtype is None else value.astype(dtype, copy=False)
        if isinstance(value, (bool, int, float, np.generic)):
            return self.constant(value, dtype)
        raise Refused(f"it uses a {type(value).__name__} that was made while it was lowered")

    # rows

    def _emit(self, function: int, context: int, data: int, dimensions: int = -1, strides: int = -1, extra: int = 0,
              copied: int = 0, size: int = -1) -> None:
        self.rows.append(Row(function, context, data, dimensions, strides, extra, self.operator, copied, size))

    def stop(self, operator: int) -> None:
        """Note that Python does something at this place: the operator, or nothing if that is ``PAUSE``."""
        self.rows.append(Row(0, 0, -1, -1, -1, 0, operator, 0, -1))

    def call(self, kernel: Kernel, *arguments: Argument, status: bool = False, like: Length | None = None, ignored: bool = False
             ) -> Size | None:
        """Note the call of a kernel.

        Parameters
        ----------
        *arguments : Outline, Size or number
        status : bool
            Whether the kernel returns whether Python must run the operator instead.
        like : int or Size, optional
            What bounds the integer that the kernel returns.
        ignored : bool
            Whether nothing depends on that integer.

        Returns
        -------
        Size or None
            That integer.
        """
        signature = tuple(self._type_of(argument) for argument in arguments)
        code = compiled(kernel, signature, status)
        start = len(self.words)
        # What stored values select is little of a large array; how many there are, a kernel that takes them looks at itself.
        arrays = [part for argument in arguments for part in (argument if isinstance(argument, tuple) else (argument,))
                  if isinstance(part, Outline)]
        most = SELECTED if any(array.selects for array in arrays) else 1 << 62
        self.work += sum(min(static(array.size), most) for array in arrays if not array.dynamic)
        for argument in arguments:
            self._argument(argument)
        size = None
        if code.returns and ignored:
            self.word()
        elif code.returns:
            if like is None:
                raise Refused(f"the kernel {kernel.py_func.__name__} returns a number")
            roots, bound = (like.roots, like.bound) if isinstance(like, Size) else ((), like)
            size = self.size(roots, bound)  # the word behind the arguments
        self._emit(code.adapter, code.target, start, size=-1 if size is None else size.word)
        return size

    def count(self, kernel: Kernel, *arguments: Argument, like: Length) -> Size:
        """Note the call of a kernel that returns a size."""
        size = self.call(kernel, *arguments, like=like)
        if size is None:
            raise Refused(f"the kernel {kernel.py_func.__name__} returns nothing")
        return size

    def _type_of(self, argument: Argument) -> Any:  # Any: numba's type of it
        types = self._numba.types
        if isinstance(argument, tuple):
            return types.BaseTuple.from_types([self._type_of(part) for part in argument])
        if isinstance(argument, Outline):
            return types.Array(self._numba.from_dtype(argument.dtype), argument.ndim, "C" if argument.contiguous else "A")
        if isinstance(argument, (bool, np.bool)):
            return types.boolean
        if isinstance(argument, (Size, int)):
            return types.int64
        if isinstance(argument, np.generic):
            return self._numba.from_dtype(argument.dtype)
        if isinstance(argument, float):
            return types.float64
        if hasattr(argument, "dispatcher"):
            return types.Dispatcher(argument.dispatcher)
        raise Refused(f"a kernel gets a {type(argument).__name__}")

    def _argument(self, argument: Argument) -> None:
        """Lay out an argument as numba's functions take it."""
        if isinstance(argument, tuple):
            for part in argument:
                self._argument(part)
        elif isinstance(argument, Outline):
            at = self.block([0] * (5 + 2 * argument.ndim))
            self.put(at + 2, argument.size)
            self.words[at + 3] = argument.itemsize
            self.point(at + 4, argument)
            for axis, (length, step) in enumerate(zip(argument.shape, argument.strides, strict=True)):
                self.put(at + 5 + axis, length)
                self.words[at + 5 + argument.ndim + axis] = step
        elif isinstance(argument, Size):
            self.put(self.word(), argument)
        elif isinstance(argument, (float, np.floating)):
            kind = np.float32 if isinstance(argument, np.float32) else np.float64
            self.word(int(np.array(argument, kind).view(np.int32 if kind is np.float32 else np.int64)))
        elif hasattr(argument, "dispatcher"):
            self.word()  # numba knows the kernel from its type
        else:
            self.word(int(argument))

    # object: what numpy was given
    def ufunc(self, ufunc: np.ufunc, method: str, inputs: Sequence[Operand], out: tuple[object, ...],
              options: dict[str, Any]) -> Outline:  # Any: numpy's own arguments
        """Note a call of a ufunc, as ``__array_ufunc__`` gets it."""
        target = out[0] if out else None
        if options.pop("where", True) is not True:
            raise Refused(f"{ufunc.__name__} is computed for some elements only")
        if method == "reduce":
            if not isinstance(inputs[0], Outline) or target is not None:
                raise Refused(f"it calls {ufunc.__name__}.reduce in a way that has no row")
            return self.reduce(ufunc, inputs[0], None, **options)
        if method != "__call__" or ufunc.nout != 1 or options:
            raise Refused(f"it calls {ufunc.__name__}.{method} with {', '.join(options) or 'several results'}")
        if target is not None and not isinstance(target, Outline):
            raise Refused("it writes to an array that was made while it was lowered")
        if ufunc is np.matmul:
            return self.matmul(inputs[0], inputs[1], target)
        if ufunc.signature is not None:
            raise Refused(f"it calls {ufunc.__name__}")
        loop = inner_loop(ufunc, tuple([_given(value) for value in inputs]))
        arrays = [self.outline(value, kind) for value, kind in zip(inputs, loop.dtypes, strict=False)]
        shape = self.joint_shape([array.shape for array in arrays])
        result = target if target is not None and target.dtype == loop.dtypes[-1] else self.empty(shape, loop.dtypes[-1])
        if result.shape != shape:
            raise Refused("it broadcasts into a larger result")
        arrays = [self._apart(array, result) for array in arrays]
        self.each(loop, [*[self.broadcast(array, shape) for array in arrays], result], shape)
        if target is not None and target is not result:
            self.assign(target, result)
        return result if target is None else target

    def _apart(self, array: Outline, target: Outline) -> Outline:
        """The array, copied if the target overlaps it and is not the same."""
        return array.copy() if array.origin is target.origin and not array.same_memory(target) else array

    def joint_shape(self, shapes: Sequence[tuple[Length, ...]]) -> tuple[Length, ...]:
        """The shape that arrays of these shapes broadcast to."""
        count = max(map(len, shapes))
        joint: list[Length] = []
        for axis in range(count):
            lengths = [shape[axis - count + len(shape)] for shape in shapes if axis - count + len(shape) >= 0]
            sizes = [length for length in lengths if isinstance(length, Size)]
            others = {length for length in lengths if isinstance(length, int) and length != 1}
            if any(size != sizes[0] for size in sizes[1:]) or len(others) + bool(sizes) > 1:
                raise Refused("shapes do not broadcast, as far as they are known")
            joint.append(sizes[0] if sizes else others.pop() if others else 1)
        return tuple(joint)

    def broadcast(self, array: Outline, shape: tuple[Length, ...]) -> Outline:
        """The array repeated along axes of length 1."""
        lead = len(shape) - array.ndim
        if lead < 0:
            raise ValueError("an array of more axes cannot be broadcast to fewer")
        strides = [0] * lead
        for length, step, wanted in zip(array.shape, array.strides, shape[lead:], strict=True):
            same = isinstance(length, Size) == isinstance(wanted, Size) and length == wanted
            if not same and not (isinstance(length, int) and length == 1):
                raise ValueError(f"could not broadcast a length of {length} to {wanted}")
            strides.append(step if same else 0)
        return array.view_as(shape, strides)

    def each(self, loop: Loop, arrays: Sequence[Outline], shape: tuple[Length, ...]) -> None:
        """Note an inner loop over all elements of arrays of one shape, the last of which is written."""
        axes = _merged([(length, tuple([array.strides[axis] for array in arrays])) for axis, length in enumerate(shape)])
        if any(isinstance(length, int) and length == 0 for length, _ in axes):
            return
        self._nested(loop, arrays, axes or [(1, tuple([array.itemsize for array in arrays]))])

    def _nested(self, loop: Loop, arrays: Sequence[Outline], axes: Sequence[tuple[Length, tuple[int, ...]]]) -> None:
        """Note an inner loop over the last of these axes, for each element of the others."""
        if len(axes) > 3 or len(arrays) > _OPERANDS:
            raise Refused("it runs over more than three axes that do not lie behind one another")
        self.work += math.prod(length for length, _ in axes if isinstance(length, int))
        length, steps = axes[-1]
        dimensions, strides = self.word(), self.block(steps)
        self.put(dimensions, length)
        if len(axes) == 1:
            data = self.block([0] * (2 * len(arrays)))
            for place, array in enumerate(arrays):
                self.point(data + place, array)
            self._emit(loop.function, loop.context, data, dimensions, strides, loop.extra, len(arrays))
            return
        rows = self._kernels
        block = self.block([0] * rows.NESTED)
        outer, inner = axes[0] if len(axes) == 3 else (1, (0,) * len(arrays)), axes[-2]
        self.words[block + rows.LOOP], self.words[block + rows.COUNT] = loop.function, len(arrays)
        self.put(block + rows.OUTER, outer[0])
        self.put(block + rows.INNER, inner[0])
        for place, array in enumerate(arrays):
            self.point(block + rows.POINTERS + place, array)
            self.words[block + rows.OUTER_STEPS + place] = outer[1][place]
            self.words[block + rows.INNER_STEPS + place] = inner[1][place]
        self.own_address(block + rows.LENGTHS, dimensions)
        self.own_address(block + rows.STEPS, strides)
        integer = self._numba.types.int64
        code = compiled(rows.nested_loop, (integer, integer, integer), status=True)
        data = self.block([0, loop.context, loop.extra])
        self.own_address(data, block)
        self._emit(code.adapter, code.target, data)

    def own_address(self, word: int, target: int) -> None:
        """Have a word hold the address of another word."""
        self.own.append((word, 8 * target))

    def reduce(self, ufunc: np.ufunc, array: Outline, out: Outline | None, axis: Axes = 0, dtype: DTypeLike = None,
               keepdims: bool = False, initial: Scalar | None = None) -> Outline:
        """Note ``ufunc.reduce``, in the order in which numpy adds."""
        if initial is not None or array.dynamic or (out is not None and keepdims):
            raise Refused(f"it calls {ufunc.__name__}.reduce in a way that has no row")
        dimensions = range(array.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
        axes = sorted({dimension % array.ndim for dimension in dimensions})
        kind = np.dtype(dtype) if dtype is not None else _reduced_type(ufunc, array.dtype)
        array = array.astype(kind, copy=False)
        loop = inner_loop(ufunc, (array.dtype, array.dtype))
        if loop.dtypes[-1] != array.dtype:
            raise Refused(f"{ufunc.__name__}.reduce changes the element type")
        shape = [static(length) for length in array.shape]
        kept = [1 if dimension in axes else length for dimension, length in enumerate(shape)]
        result = self.empty(kept, array.dtype)
        self._reduce_into(ufunc, loop, array, shape, [dimension for dimension in axes if shape[dimension] != 1], result,
                          math.prod(shape[dimension] for dimension in axes))
        if keepdims:
            return result
        result = result.view_as([length for dimension, length in enumerate(kept) if dimension not in axes])
        if out is not None:
            self.assign(out, result)
        return result if out is None else out

    def _reduce_into(self, ufunc: np.ufunc, loop: Loop, array: Outline, shape: list[int], long: list[int], result: Outline,
                     count: int) -> None:
        identity = _identity(ufunc, array.dtype)
        if count == 0:
            if identity is None:
                raise Refused(f"{ufunc.__name__}.reduce of nothing")
            self.assign(result, identity)
            return
        if len(long) > 1:
            if long != list(range(long[0], long[-1] + 1)) or not array.contiguous:
                raise Refused("it reduces over axes that do not lie behind one another")
            shape = [*shape[: long[0]], math.prod(shape[dimension] for dimension in long), *shape[long[-1] + 1:]]
            array = array.reshape(shape)
        flat = result.view_as([1 if long and place == long[0] else length for place, length in enumerate(shape)])
        if not long:
            self.assign(result, array.view_as(result.shape, [0 if length == 1 else step for length, step in
                                                             zip(result.shape, array.strides, strict=True)]))
            if identity is not None:  # 0 + x: of a signed zero the sum is another
                self.each(loop, [result, self.broadcast(self.constant(identity, result.dtype), result.shape), result],
                          result.shape)
            return
        axis = long[0]
        if identity is None:
            before = (slice(None),) * axis
            self.assign(flat, array[(*before, slice(0, 1))])
            array = array[(*before, slice(1, None))]
        else:
            self.assign(flat, identity)
        lengths = [static(length) for length in array.shape]
        spread = flat.view_as(lengths, [0 if dimension == axis else step for dimension, step in enumerate(flat.strides)])
        others = [dimension for dimension in range(len(lengths)) if dimension != axis and lengths[dimension] != 1]
        inside = all(abs(array.strides[axis]) <= abs(array.strides[dimension]) for dimension in others)
        order = [*others, axis] if inside else [axis, *others]
        operands = (spread, array, spread)
        axes = [(lengths[dimension], tuple([operand.strides[dimension] for operand in operands])) for dimension in order]
        if math.prod(lengths) == 0:
            return
        self._nested(loop, operands, [axes[0], *_merged(axes[1:])] if not inside else [*_merged(axes[:-1]), axes[-1]])

    def matmul(self, left: Operand, right: Operand, out: Outline | None) -> Outline:
        """Note a product of two matrices, or of several and one."""
        left, right = self.outline(left), self.outline(right)
        if left.ndim not in (2, 3) or right.ndim != 2 or left.dynamic or right.dynamic:
            raise Refused("it multiplies other than matrices of known sizes")
        loop = inner_loop(np.matmul, (left.dtype, right.dtype))
        left, right = left.astype(loop.dtypes[0], copy=False), right.astype(loop.dtypes[1], copy=False)
        rows, inner = map(static, left.shape[-2:])
        columns, several = static(right.shape[1]), tuple(map(static, left.shape[:-2]))
        if inner != static(right.shape[0]):
            raise ValueError(f"matmul: shapes {left.shape} and {right.shape} do not fit")
        result = out if out is not None and out.dtype == loop.dtypes[2] else self.empty((*several, rows, columns), loop.dtypes[2])
        if tuple(map(static, result.shape)) != (*several, rows, columns):
            raise ValueError(f"matmul: a result of shape {(*several, rows, columns)} does not fit into {result.shape}")
        left, right = self._apart(left, result), self._apart(right, result)
        if left.origin is result.origin or right.origin is result.origin:
            raise Refused("a product is written over its operand")
        if math.prod(map(static, result.shape)):
            count = math.prod(several)
            self.work += count * rows * inner * columns // 8
            data, dimensions = self.block([0] * 6), self.block([count, rows, inner, columns])
            outer = [0, 0, 0] if not several else [left.strides[0], 0, result.strides[0]]
            strides = self.block([*outer, *left.strides[-2:], *right.strides, *result.strides[-2:]])
            for place, array in enumerate((left, right, result)):
                self.point(data + place, array)
            self._emit(loop.function, loop.context, data, dimensions, strides, loop.extra, 3)
        if out is not None and out is not result:
            self.assign(out, result)
        return result if out is None else out

    def inner(self, left: Outline, right: Outline) -> Outline:
        """Note the inner product of two vectors, which numpy computes as it does a product of a row and a column."""
        length = self.joint_shape([left.shape, right.shape])[0]
        loop = inner_loop(np.matmul, (left.dtype, right.dtype))
        product = self.empty((1,), left.dtype)
        data, dimensions = self.block([0] * 6), self.block([1, 1, 0, 1])
        self.put(dimensions + 2, length)
        step = left.itemsize
        strides = self.block([0, 0, 0, step, left.strides[0], right.strides[0], step, step, step])
        for place, array in enumerate((left, right, product)):
            self.point(data + place, array)
        self._emit(loop.function, loop.context, data, dimensions, strides, loop.extra, 3)
        return product.view_as(())

    def assign(self, target: Outline, value: Operand) -> None:
        """Note that values are written to an array, cast to its element type."""
        if not isinstance(value, Outline):
            if not isinstance(value, (bool, int, float, np.generic)):
                raise Refused(f"it writes a {type(value).__name__} that was made while it was lowered")
            value = self.constant(np.asarray(value).astype(target.dtype))
        if value.same_memory(target):
            return
        while value.ndim > target.ndim and isinstance(value.shape[0], int) and value.shape[0] == 1:
            value = value.view_as(value.shape[1:], value.strides[1:])
        positions = value.positions
        value = self.broadcast(self._apart(value, target), target.shape)
        value.positions = positions
        if value.dtype == target.dtype:
            views = [_bits(array) for array in (value, target)]  # bit by bit, whatever the values are
            self.each(inner_loop(np.positive, (views[0].dtype,)), views, target.shape)
        elif target.dtype == np.bool:
            loop = inner_loop(np.not_equal, (value.dtype, value.dtype))
            zero = self.broadcast(self.constant(0, value.dtype), target.shape)
            self.each(loop, [value, zero, target], target.shape)
        else:
            self._cast(value, target)

    def flat(self, array: Outline) -> Outline:
        """The elements in one axis."""
        return (array if array.contiguous else array.copy()).reshape(-1)

    def _cast(self, value: Outline, target: Outline) -> None:
        half = np.dtype(np.float16)
        single = np.dtype(np.float32)
        between = {value.dtype, target.dtype} == {half, single}
        if not between and (half in (value.dtype, target.dtype)
                            or (value.dtype.kind == "f" and target.dtype.kind != "f" and not value.positions)):
            raise Refused(f"it casts {value.dtype} to {target.dtype}")
        if not value.contiguous:
            value = value.copy()  # whose values are those that have been checked
        if not target.contiguous:
            contiguous = self.empty(target.shape, target.dtype)
            self._cast(value, contiguous)
            self.assign(target, contiguous)
            return
        if between:
            kernel = self._kernels.halves_of if target.dtype == half else self._kernels.singles_of
            self.call(kernel, _bits(value).reshape(-1), _bits(target).reshape(-1))
        else:
            self.call(self._kernels.cast_values, value.reshape(-1), target.reshape(-1))

    def rows_at(self, array: Outline, rows: Outline) -> Outline:
        """Note ``array[rows]``; where a row is not one of the array, Python runs the operator."""
        width = self._check_rows(array, rows)
        result, source = self.empty((*rows.shape, *array.shape[1:]), array.dtype), array if array.contiguous else array.copy()
        self.call(self._kernels.take_rows, _bits(source).reshape((array.shape[0], width)), rows,
                  _bits(result).reshape((*rows.shape, width)))
        return result

    def put_rows(self, array: Outline, rows: Outline, value: Operand) -> None:
        """Note ``array[rows] = value``; where a row is not one of the array, Python runs the operator."""
        width, source = self._check_rows(array, rows), self.outline(value, array.dtype)
        if not array.contiguous or source.shape != (*rows.shape, *array.shape[1:]):
            raise Refused("it writes to rows in a way that has no row")
        source = source if source.contiguous else source.copy()
        self.call(load("sparsekit.kernels.cpu.row_sparse").copy_rows, _bits(source).reshape((*rows.shape, width)), rows,
                  _bits(array).reshape((array.shape[0], width)))

    def _check_rows(self, array: Outline, rows: Outline) -> int:
        """Note a look at the numbers of rows; returns how many elements a row has."""
        if rows.ndim != 1 or rows.dtype != np.int64 or not rows.contiguous or not array.ndim or array.dynamic:
            raise Refused("it indexes by an array")
        width = math.prod(map(static, array.shape[1:]))
        if not width:
            raise Refused("it indexes an array without elements")
        self.call(load("sparsekit.kernels.cpu.group")._outside_rows, rows, static(array.shape[0]), status=True)
        return width


def _bits(array: Outline) -> Outline:
    """The elements as unsigned integers of their size."""
    return Outline(array.builder, np.dtype(f"u{array.itemsize}"), array.shape, array.strides, array.origin, array.offset)


def _given(value: Operand) -> DType | type:
    if isinstance(value, (Outline, np.generic)):
        return value.dtype
    if isinstance(value, bool):
        return np.dtype(np.bool)
    if isinstance(value, (int, float)):
        return type(value)
    raise Refused(f"it uses a {type(value).__name__} that was made while it was lowered")


def _merged(axes: Sequence[tuple[Length, tuple[int, ...]]]) -> list[tuple[Length, tuple[int, ...]]]:
    """The axes without those of length 1; axes that lie behind one another in all arrays become one."""
    merged: list[tuple[Length, tuple[int, ...]]] = []
    for length, steps in axes:
        if isinstance(length, int) and length == 1:
            continue
        if merged and isinstance(length, int) and all(
                before == step * length for before, step in zip(merged[-1][1], steps, strict=True)):
            merged[-1] = merged[-1][0] * length, steps
        else:
            merged.append((length, steps))
    return merged


#: Whether numpy's sum of nothing but -0.0 is -0.0.
_NEGATIVE_ZERO = bool(np.signbit(np.add.reduce(np.array([-0.0]))))


def _identity(ufunc: np.ufunc, dtype: DType) -> Scalar | None:
    """What numpy begins a reduction with; None if that is the first element."""
    if ufunc is np.add and dtype.kind == "f" and _NEGATIVE_ZERO:
        return -0.0
    identity: Scalar | None = ufunc.identity
    return identity


def _reduced_type(ufunc: np.ufunc, dtype: DType) -> DType:
    """The element type that numpy reduces in, if none is asked for."""
    if ufunc in (np.add, np.multiply) and dtype.kind in "biu" and dtype.itemsize < np.dtype(np.intp).itemsize:
        return np.dtype(np.uintp if dtype.kind == "u" else np.intp)
    return dtype
