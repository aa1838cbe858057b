"""The dense array, base of the sparse ones."""

from __future__ import annotations

import contextlib
import math
import operator
import time
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ..base.context import HOST, Context, num_gpus, require
from ..base.dtypes import element_type
from ..base.entry import entry
from ..base.errors import DTypeError, GradientError, ParameterError, RowIndexError, ShapeError, UnsupportedError, shown
from ..base.lazy import add_lazy_names
from ..core import device, hooks
from ..core.arrays import Layout, array_types, wrap
from ..core.dispatch import convert_store, invoke, written_dense
from ..core.graph import CustomNode, Variable
from ..core.op import find
from ..kernels import for_device
from ..ops.creation import empty_store
from ..ops.sparse.cast import check_stype
from ..storage import CSR, RowSparse, within_memory
from ..storage.memory import handed_out
from . import arithmetic
from .backward import run_backward
from .indexing import assignable, numpy_key, split_key, stacked
from .interchange import Interchange
from .numpy_protocol import NumpyProtocol, matmul, operand
from .why_dense import WhyDense, why_dense

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..base.types import Array, DType, DTypeLike
    from ..storage.types import Sparse, Store
    from .array_methods import ArrayMethods
    from .sparse import CSRNDArray, RowSparseNDArray
else:
    ArrayMethods = object

__all__ = ["NDArray"]

add_lazy_names(globals())

CPU = Context("cpu", 0)


class NDArray(NumpyProtocol, Interchange, ArrayMethods):
    """A dense array on a context, with MXNet's methods.

    ``mx.nd.array``, ``mx.nd.zeros``, the other creation functions and operators make such arrays.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
        Element type.  It compares equal to scalar types such as ``np.float32``, which MXNet returns instead.
    context, ctx : Context
    stype : str
        Storage type: ``"default"``, ``"row_sparse"`` or ``"csr"``.
    grad : NDArray or None
        Gradient buffer, after ``attach_grad``.
    """

    __slots__ = ("__weakref__", "_entry", "_layout", "_seen", "_store")
    _entry: Any
    _layout: Layout
    #: Mark by which a recorder recognizes the array; 0 if no recorder saw it.
    _seen: int
    _store: Any
    __array_priority__ = 1000.0
    __hash__ = object.__hash__
    stype = "default"

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise UnsupportedError(f"{type(self).__name__} is not constructed directly.",
                               hint="use mx.nd.array, mx.nd.sparse.csr_matrix or mx.nd.sparse.row_sparse_array.")

    if not TYPE_CHECKING:  # type checkers are to know what an array does not have
        def __getattr__(self, name: str) -> object:  # object: a store
            # An array lends its store while its rows miss steps of an exact lazy update (``optimizer.missed``).
            missed = self._layout.missed if name == "_store" else None
            return object.__getattribute__(self, name) if missed is None else missed.up_to_date(self)

    # what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self._layout.shape

    @property
    def dtype(self) -> DType:
        """Element type."""
        missed = self._layout.missed
        return self._store.dtype if missed is None else missed.store_of(self).dtype

    @property
    def context(self) -> Context:
        """Where the array lives."""
        return self._layout.ctx

    ctx = _ctx = context

    @property
    def device(self) -> Context:
        """The context, under the name that the array API standard has for it."""
        return self._layout.ctx

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._layout.shape)

    @property
    def size(self) -> int:
        """Number of elements, absent zeros of a sparse array counted."""
        return math.prod(self._layout.shape)

    @property
    def nbytes(self) -> int:
        """Bytes that the components take together."""
        missed = self._layout.missed
        return int((self._store if missed is None else missed.store_of(self)).nbytes)

    @property
    def T(self) -> NDArray:
        """The array with its axes reversed."""
        return self.transpose()

    def __len__(self) -> int:
        if not self.shape:
            raise DTypeError("len() of an array without axes.", hint="float(x) is its value.")
        return self.shape[0]

    def __repr__(self) -> str:
        summary = f"<{type(self).__name__} {'x'.join(map(str, self.shape))} @{self._ctx}>"
        return summary if self._ctx.device_type == "trace" else f"\n{self.asnumpy()!s}\n{summary}"

    # values out

    def asnumpy(self) -> Array:
        """A numpy array with a copy of the values; sparse arrays are converted to dense.

        Raises
        ------
        InsufficientMemoryError
            If the dense copy of a sparse array needs more memory than is available.
        """
        start = time.perf_counter_ns() if hooks.sink is not None else 0
        store = self._on_host()
        if not isinstance(store, np.ndarray):
            store = within_memory(store, "default")
        elif store is self._store:
            store = store.copy()
        if start:
            hooks.copied(self._ctx, "numpy", start, store.nbytes)
        return store

    def _on_host(self) -> Store:
        """The store with components of numpy, copied from a GPU if they lie there."""
        if hooks.state.tracing:
            from ..core.trace import refuse  # needs the array classes, and is not needed before a block is traced

            raise refuse()
        return self._store if self._ctx.device_type in HOST else _map_components(self._store, lambda part: part.get())

    def asscalar(self) -> Any:
        """The only element as a numpy scalar.

        Raises
        ------
        ShapeError
            If the array does not have exactly one element.
        """
        if self.size != 1:
            raise ShapeError(f"An array of shape {self.shape} is not a scalar.", hint="index one element first: x[0].")
        return self.asnumpy().reshape(-1)[0]

    item = asscalar

    def toarray(self) -> Array:
        """``asnumpy`` under the name that scipy has for it: a dense numpy array with a copy of the values."""
        return self.asnumpy()

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers."""
        return self.asnumpy().tolist()

    def __float__(self) -> float:
        return float(self.asscalar())

    def __int__(self) -> int:
        return int(self.asscalar())

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise DTypeError(f"An array used as an index must hold integers, got {self.dtype}.",
                             hint="cast it with astype('int64').")
        return int(self.asscalar())

    def __format__(self, spec: str) -> str:
        """An array of one element as its number, ``f"{loss:.3f}"``; any array as its text without a format."""
        if not spec:
            return str(self)
        if self.size != 1:
            raise ShapeError(f"The format {spec!r} is for one number, not for an array of shape {self.shape}.",
                             hint="format elements one by one, or reduce the array first.")
        return format(self.asscalar().item(), spec)

    def __bool__(self) -> bool:
        if self.size == 0:
            return False
        if self.size > 1:
            raise ShapeError(f"The truth of an array of shape {self.shape} is ambiguous.",
                             hint="reduce it first, for instance with .sum() or .max().")
        return bool(self.asscalar())

    def wait_to_read(self) -> None:
        """Wait until the values are computed; on a CPU this is the case when an operator returns."""
        device.wait(self._ctx)

    # copies and conversions

    def copy(self) -> NDArray:
        """A deep copy on the same context."""
        return invoke(find("identity").bind({}), (self,))

    def astype(self, dtype: DTypeLike, copy: bool = True) -> NDArray:
        """The values in another element type; the array itself if ``copy=False`` and it has that type.

        Raises
        ------
        DTypeError
            If NDArrays do not support the element type.
        """
        kind = element_type(dtype)
        if not copy and kind == self.dtype:
            return self
        return invoke(find("Cast").bind({"dtype": kind.name}), (self,))

    @overload
    def tostype(self, stype: Literal["csr"]) -> CSRNDArray: ...
    @overload
    def tostype(self, stype: Literal["row_sparse"]) -> RowSparseNDArray: ...
    @overload
    def tostype(self, stype: str) -> NDArray: ...
    def tostype(self, stype: str) -> NDArray:
        """A copy of the values in another storage type, or in the same, as in MXNet.

        Raises
        ------
        UnknownNameError
            If there is no such storage type.
        InsufficientMemoryError
            If the result needs more memory than is available.
        """
        return invoke(find("cast_storage").bind({"stype": check_stype(stype)}), (self,))

    def as_in_context(self, ctx: Context) -> NDArray:
        """The array on another context; itself if it is there already."""
        return self if ctx is self._ctx else self._moved(require(ctx))

    as_in_ctx = as_in_context

    def _moved(self, ctx: Context) -> NDArray:
        start = time.perf_counter_ns() if hooks.sink is not None else 0
        target = for_device(ctx.device_type)
        if self._ctx.device_type == "trace" and self._ctx.stands_for(ctx):  # type: ignore[attr-defined]
            return self
        if self._ctx.device_type == ctx.device_type == "gpu":
            device.wait(self._ctx)  # streams of different GPUs are not ordered
        with device.current(ctx):
            store = _map_components(self._store, lambda part: _to_device(part, target.xp))
        if start:
            hooks.copied(self._ctx, ctx, start, self.nbytes)
        if not hooks.state.recording or self._entry is None:
            return wrap(store, ctx)
        origin = self._ctx
        node = CustomNode(lambda gradients: [gradients[0].as_in_context(origin)], (self._entry,), 1, ctx)
        return wrap(store, ctx, (node, 0))

    def copyto(self, other: NDArray | Context) -> NDArray:
        """Copy the values into an array, whose storage type and element type stay, or to a context."""
        if isinstance(other, Context):
            return self.copy() if other is self._ctx else self._moved(require(other))
        if not isinstance(other, NDArray):
            raise DTypeError(f"copyto takes an array or a context, not {type(other).__name__}.",
                             hint="asnumpy() gives a numpy array.")
        if other.shape != self.shape:
            raise ShapeError(f"copyto: shapes {self.shape} and {other.shape} differ.", hint="make a target of that shape.")
        start = time.perf_counter_ns() if hooks.sink is not None and other._ctx is self._ctx else 0
        if other is not self and not other._take_recorded(self):
            other._receive(self if self.stype == "default" else self.__copy__())
            if start:  # between contexts it is noted where the values move
                hooks.copied(self._ctx, other._ctx, start, self.nbytes)
        return other

    def _take_recorded(self, source: NDArray) -> bool:
        """While recording, take over the values and the graph entry of a recorded array; return False for other arrays.

        Raises
        ------
        GradientError
            If this array already has a graph entry, which it would lose.
        """
        if not hooks.state.recording:
            return False
        if self._entry is not None:
            raise GradientError("A recorded array cannot be assigned to while recording.",
                                hint="assign under autograd.pause(), or compute a new array.")
        if source._entry is None:
            return False
        invoke(find("identity").bind({}), (source.as_in_context(self._ctx),), self)
        return True

    def detach(self) -> NDArray:
        """The same values outside the recorded graph."""
        array: NDArray = wrap(self._store, self._ctx)
        array._seen = self._seen
        return array

    def _check_traced(self) -> None:
        """Refuse, before anything is written, an array that a block which is traced has from outside: no program repeats that."""
        if hooks.state.tracing and self._layout.ctx.device_type != "trace":
            from ..core.trace import refuse  # as in ``_on_host``

            raise refuse("a hybridized block writes to an array from outside.",
                         hint="write to it outside of hybrid_forward; or leave out hybridize().")

    def _check_writable(self) -> None:
        if not getattr(self._store.flags, "writeable", True):  # cupy's arrays always are
            raise UnsupportedError(f"This array of shape {self.shape} is the indices of a sparse array, which cannot be "
                                   "written to.", hint="change a copy(), and make a new sparse array of it.")

    def _receive(self, other: NDArray, add: bool = False, by: str = "assignment") -> None:
        """Take over the values of ``other``, in this array's own storage type and element type, on behalf of the call ``by``.

        Components of a sparse array are taken, not copied: a caller whose array lives on gives a copy.
        """
        self._check_traced()
        if self._layout.ctx.device_type == "gpu":
            with device.current(self._ctx):
                self._take(other, add, by)
        else:
            self._take(other, add, by)

    def _take(self, other: NDArray, add: bool, by: str) -> None:
        if add:
            other = arithmetic.add(self.detach(), other)
        elif other._layout is self._layout and self.stype == "default" and other._store.dtype == self._store.dtype:
            self._check_writable()
            np.copyto(self._store, other._store)
            if hooks.densified or (hooks.sink is not None and hooks.state.lane != "backward"):
                hooks.flowed(other._store, self._store)
            return
        own, others = self._layout, other._layout
        if others.shape != own.shape:
            raise ShapeError(f"An array of shape {own.shape} cannot take values of shape {others.shape}.",
                             hint="the target must have the shape of the result.")
        if others.ctx is not own.ctx:
            other = other._moved(own.ctx)
        store = other._store
        if self.stype == "default":
            self._check_writable()
            if other.stype == "default":
                hooks.ignore_fp_errors(np.copyto, self._store, store, casting="unsafe")
                if hooks.densified or (hooks.sink is not None and hooks.state.lane != "backward"):
                    hooks.flowed(store, self._store)
            else:
                self._fill_from_sparse(store, by)
            return
        if other.stype != self.stype:
            store = convert_store(store, self.stype, for_device(self._ctx.device_type))
        held = self._store
        if store.data.dtype != held.data.dtype:
            store = _map_components(store, lambda part: part if part.dtype.kind in "iu" and part is not store.data
                                    else hooks.ignore_fp_errors(part.astype, held.data.dtype))
        held.replace(store)
        if hooks.sink is not None and id(self) in hooks.owned:
            _, role, owner = hooks.owned[id(self)]
            hooks.sink.assign(self, role, owner, store._seen)

    def _written(self, value: NDArray) -> Array:
        """A sparse array's values as the dense ones that are to be written into a part of this array."""
        return written_dense("assignment", value._store, for_device(value._ctx.device_type),
                             f"the array that a {value.stype} array is written to is dense")

    def why_dense(self) -> WhyDense:
        """Why this array is dense: the operator, the line and the conversion of a sparse array that it came from.

        The library keeps this information for each array that an operator, an assignment or a conversion makes dense.  Only a
        profiler also tracks the arrays that are computed from such an array.  To ask for these, call this method in the
        ``with Profiler()`` block, or afterwards as long as that profile is the latest one.

        Returns
        -------
        WhyDense
            It prints as a sentence.  Its ``kind`` is ``"fallback"``, ``"dense by nature"``, ``"asked"``, ``"created"``,
            ``"unknown"`` or ``"sparse"``.  ``op``, ``line``, ``source``, ``shape`` and ``remedy`` give the details.

        Examples
        --------
        >>> import sparsekit as mx
        >>> x = mx.nd.array([[0, 2], [0, 0]]).tostype("csr")
        >>> (x + 1).why_dense().kind
        'dense by nature'
        """
        return why_dense(self)

    def _fill_from_sparse(self, store: Sparse, by: str) -> None:
        """Write a sparse store into this dense buffer, without a temporary of that size."""
        # The storage type of a gradient buffer is what the user declared.
        kind = hooks.ASKED if by == "backward" else hooks.NATURAL
        written_dense(by, store, for_device(self._ctx.device_type),
                      f"the array that a {store.stype} array is written to is dense", self._store, kind)

    # gradients

    @property
    def grad(self) -> Any:  # Any: None before attach_grad(), and sparse by its own storage type
        """The gradient buffer, if the array is a variable."""
        entry = self._entry
        if entry is None:
            return None
        node = entry[0]
        if isinstance(node, Variable) and node.late is not None:
            node.settle()
        return node.grad

    @property
    def _fresh_grad(self) -> bool:
        """Whether a backward pass has computed the gradient since it was set to False: trainers of programs for MXNet do so."""
        return self._entry is not None and self._entry[0].fresh

    @_fresh_grad.setter
    def _fresh_grad(self, value: bool) -> None:
        if self._entry is not None and isinstance(self._entry[0], Variable):
            self._entry[0].fresh = bool(value)

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Make a gradient buffer, so that ``backward`` fills it.

        Parameters
        ----------
        grad_req : {"write", "add", "null"}
            Whether ``backward`` overwrites the buffer, adds to it, or computes no gradient.
        stype : str, optional
            Storage type of the buffer; by default that of the array.
        """
        xp = for_device(self._ctx.device_type).xp
        with device.current(self._ctx):
            buffer = empty_store(xp, check_stype(self.stype if stype is None else stype), self.shape, self.dtype)
        self._mark(wrap(buffer, self._ctx), grad_req)

    def _mark(self, grad: NDArray, grad_req: str) -> None:
        """Become a variable with this gradient buffer."""
        if not isinstance(grad_req, str) or grad_req not in ("write", "add", "null"):
            raise ParameterError(f"grad_req={shown(grad_req)} is unknown.", hint="it is 'write', 'add' or 'null'.")
        if grad.shape != self.shape:
            raise ShapeError(f"The gradient buffer has shape {grad.shape}, but the variable has shape {self.shape}.",
                             hint="they must be equal.")
        before = None if self._entry is None else self._entry[0]
        if isinstance(before, Variable):
            with contextlib.suppress(GradientError):  # one that is lost
                before.settle()
        self._entry = (Variable(grad, grad_req, self._ctx), 0)

    def backward(self, out_grad: NDArray | None = None, retain_graph: bool = False, train_mode: bool = True) -> None:
        """Send gradients from this array to the variables it was computed from.

        Parameters
        ----------
        out_grad : NDArray, optional
            Gradient at this array; ones by default.
        retain_graph : bool
            Keep the graph for another backward pass.
        """
        run_backward([self], None if out_grad is None else [out_grad], retain_graph, train_mode)

    # arithmetic

    def __neg__(self) -> NDArray:
        return invoke(find("negative").bind({}), (self,))

    def __abs__(self) -> NDArray:
        return invoke(find("abs").bind({}), (self,))

    def __matmul__(self, other: object) -> NDArray:
        if isinstance(other, NDArray):
            return invoke(find("dot").bind({}), (self, other))
        return matmul(self, operand(other, self._ctx))

    # indexing

    def __getitem__(self, key: object) -> NDArray:
        """Part of the array, as numpy indexes.

        ``x[:]`` is ``x`` itself.  Numbers, other slices, None and Ellipsis give a view where the part lies in one run of
        memory, which writes through to this array; other parts, and indexing by lists, arrays or masks, give copies.

        Raises
        ------
        RowIndexError
            If the key is not a valid index, or out of range.
        """
        if type(key) is int and not hooks.state.recording and self.ndim > 1 and self._ctx.device_type in HOST:
            try:
                return wrap(self._store[key], self._ctx)
            except IndexError:
                raise RowIndexError(f"Index {key} is outside axis 0, which has {self.shape[0]} entries.",
                                    hint="indices run from -size to size - 1.") from None
        if isinstance(key, slice) and key == slice(None) and self.ndim:
            return self
        parts, arrays = split_key(key, self.shape)
        if not arrays:
            return invoke(find("_getitem").bind({"key": parts}), (self,))
        places = device.onto(stacked(arrays), self._ctx)
        return invoke(find("_index").bind({"key": parts}), (self, wrap(places, self._ctx)))

    def __setitem__(self, key: object, value: Any) -> None:  # Any: a store or a numpy array, once it is read
        if hooks.state.recording and self._entry is not None:
            raise GradientError("A recorded array cannot be assigned to while recording.",
                                hint="assign under autograd.pause(), or compute a new array.")
        self._check_traced()
        self._check_writable()
        start = 0
        if isinstance(value, NDArray):
            if is_whole(key) and value.shape == self.shape and value is not self and self._take_recorded(value):
                return
            check_no_part(value)
            with device.current(value._ctx):
                value = value._store if value.stype == "default" else self._written(value)
            if hooks.densified or (hooks.sink is not None and hooks.state.lane != "backward"):
                hooks.flowed(value, self._store)
        else:
            value = assignable(value)
            start = time.perf_counter_ns() if hooks.sink is not None and value.size > 1 else 0
        if value.size == 1:
            value = value.reshape(())
        try:
            with device.current(self._ctx):
                key_here, value = self._on_my_device(numpy_key(key, self.shape), value)
                hooks.ignore_fp_errors(operator.setitem, self._store, key_here, value)
            if start:
                hooks.copied("numpy", self._ctx, start, value.nbytes)
        except RowIndexError:
            raise
        except IndexError as error:
            raise RowIndexError(f"{shown(key)} does not index shape {self.shape}: {error}.",
                                hint="indices run from -size to size - 1.") from None
        except ValueError as error:
            raise ShapeError(f"A value of shape {tuple(value.shape)} does not fit there: {error}.",
                             hint="its shape must broadcast to that of the indexed part.") from None

    def _on_my_device(self, key: Any, value: Array) -> tuple[Any, Any]:
        """Move an index, after a bounds check that GPUs do not make, or a value to the context of this array."""
        if self._ctx.device_type in HOST:
            return key, value if isinstance(value, np.ndarray) else value.get()
        np.broadcast_to(np.int8(0), self.shape)[key]
        return key, for_device("gpu").xp.asarray(value)

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    # copying and pickling go through plain components

    def __copy__(self) -> NDArray:
        with device.current(self._ctx):
            return wrap(self._store.copy(), self._ctx)

    def __deepcopy__(self, memo: dict[int, Any]) -> NDArray:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        store = self._on_host()
        if isinstance(store, np.ndarray):
            parts: tuple[Any, ...] = (handed_out(store, read_only=not store.flags.writeable),)
        else:
            parts = tuple(handed_out(getattr(store, name), read_only=name != "data") for name in store.components)
        return _rebuild, (self.stype, parts, self.shape, self._ctx)


def is_whole(key: object) -> bool:
    """Whether a key is ``[:]`` or ``[...]``."""
    return key is Ellipsis or (isinstance(key, slice) and key == slice(None))


def check_no_part(value: NDArray) -> None:
    """Raise if a recorded array is assigned to a part of another one while recording: an array has one graph entry."""
    if hooks.state.recording and value._entry is not None:
        raise GradientError("Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with autograd: the "
                            "gradient of a recorded array that is written into a part of another one would be lost.",
                            hint="join parts with mx.nd.concat, choose with mx.nd.where, or work under autograd.pause().")


def _rebuild(stype: str, parts: tuple[Any, ...], shape: tuple[int, ...], ctx: Context = CPU) -> NDArray:
    """An array from its components, validated like any other input; on the CPU if its GPU is not here.

    Indices are copied before they are checked: the buffers of a pickle may be shared memory.
    """
    store, *indices = parts
    store = store if store.flags.writeable and store.flags.c_contiguous else store.copy()
    indices = [part.copy() for part in indices]
    if stype == "csr":
        store = CSR(store, indices[0], indices[1], tuple(shape))
    elif stype == "row_sparse":
        store = RowSparse(store, indices[0], tuple(shape))
    element_type(store.dtype)
    array: NDArray = wrap(store, CPU)
    return array.as_in_context(ctx) if ctx.device_type in HOST or ctx.device_id < num_gpus() else array


def _to_device(part: Any, xp: Any) -> Array:
    if isinstance(part, np.ndarray):
        return part.copy() if xp is np else xp.asarray(part)
    return part.get() if xp is np else xp.array(part)  # the latter from one GPU to another


def _map_components(store: Store, function: Callable[[Any], Any]) -> Any:
    if isinstance(store, CSR):
        return CSR(function(store.data), function(store.indices), function(store.indptr), store.shape, check=False)
    if isinstance(store, RowSparse):
        return RowSparse(function(store.data), function(store.indices), store.shape, check=False)
    return function(store)


for _name in ("asnumpy", "as_in_context", "astype", "attach_grad", "copyto", "tostype", "__copy__", "__setitem__"):
    setattr(NDArray, _name, entry(getattr(NDArray, _name)))

array_types[np.ndarray] = NDArray
