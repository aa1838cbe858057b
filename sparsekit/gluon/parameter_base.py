"""One parameter: its values and gradients on each context."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from ..autograd import is_training, pause
from ..base.changes import changes
from ..base.context import HOST, Context, cpu, current_context, require
from ..base.entry import within_memory
from ..base.errors import (
    DTypeError,
    InitializationError,
    ParameterError,
    ShapeError,
    SparsekitError,
    StorageTypeError,
    UnknownNameError,
    UnsupportedError,
    shown,
)
from ..base.warn import warn_user
from ..core import device, hooks
from ..core.dispatch import wrap
from ..core.graph import CustomNode, lost_gradient
from ..core.trace import current, meet, refuse
from ..initializer import Constant as ConstantInitializer
from ..initializer import InitDesc
from ..initializer import create as create_initializer
from ..ndarray.arguments import check_dense, shape_of
from ..ndarray.creation import array, to_device
from ..ndarray.functions import F
from ..ndarray.ndarray import NDArray
from ..ops.sparse.cast import check_stype
from ..storage import RowSparse
from ..symbol import var
from .utils import shape_is_known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..base.types import Array, DType, DTypeLike, Shape, ShapeLike
    from ..initializer.base import InitLike
    from ..ndarray.sparse import RowSparseNDArray
    from ..storage.types import Sparse
    from ..symbol.symbol import Symbol
    from .trainer import Trainer

REQUESTS = ("write", "add", "null")

#: Attributes that no program of a block depends on.
_OF_UPDATES = frozenset(("lr_mult", "wd_mult"))

#: Attributes of which a copy knows nothing.
_OF_THIS_ONE = frozenset(("_source", "_trained_by"))


class DeferredInitializationError(InitializationError):
    """A parameter is used before its shape is known."""


def contexts_of(ctx: Any) -> list[Context]:  # Any: what is not a context, ``require`` refuses
    """The contexts that an argument ``ctx`` stands for: one, several, or by default the current one."""
    contexts = [ctx or current_context()] if not isinstance(ctx, (list, tuple)) else list(ctx)
    if len(set(contexts)) != len(contexts):
        raise InitializationError(f"The contexts {', '.join(map(str, contexts))} are not all different.",
                                  hint="name each once; mx.cpu(0) and mx.cpu(1) are different contexts.")
    return contexts


def _sizes(name: str, shape: ShapeLike) -> tuple[int, ...]:
    """A shape as an argument gives it: numbers, of which 0 and -1 are not known yet, or one number."""
    try:
        sizes = tuple(map(operator.index, (shape,) if hasattr(shape, "__index__") else shape))
    except Exception:  # raised by a user's object
        sizes = (-2,)
    if any(size < -1 for size in sizes):
        raise ShapeError(f"Parameter {name} cannot have shape {shown(shape, 80)}.",
                         hint="give whole numbers, as shape=(2, 3); 0 and -1 stand for sizes not known yet.")
    return sizes


class Parameter:
    """A named array that training changes, with its gradient; on several contexts a copy of both on each.

    Parameters
    ----------
    name : str
    grad_req : {"write", "add", "null"}
        Whether a backward pass overwrites the gradient, adds to it, or computes none.
    shape : tuple of int or int, optional
        Sizes of 0 or -1 are unknown; they are inferred from the first input.
    dtype : str or numpy.dtype
    lr_mult, wd_mult : float
        Factors of the learning rate and the weight decay.
    init : Initializer or str, optional
        Initializer of this parameter; by default that of ``initialize()``.
    allow_deferred_init : bool
        Whether ``initialize()`` may wait until the shape is known.
    differentiable : bool
        False fixes ``grad_req`` at "null".
    stype, grad_stype : {"default", "row_sparse", "csr"}
        Storage types of the values and of the gradient.

    Attributes
    ----------
    name, lr_mult, wd_mult, init
        The arguments.  All but ``name`` may be changed.

    Raises
    ------
    UnknownNameError
        If ``grad_req`` is unknown.
    ParameterError
        If a storage type is unknown.

    Examples
    --------
    >>> weight = mx.gluon.Parameter("weight", shape=(2, 3), grad_stype="row_sparse")
    >>> weight.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)])
    >>> weight.list_grad()[1]
    <RowSparseNDArray 2x3 @cpu(1)>
    """

    #: The ``TrainerServers`` that hold the values, if there are any.  Any: its module imports this one
    _source: Any = None
    #: The trainer, which the parameter does not keep
    _trained_by: ref[Trainer] | None = None

    def __init__(self, name: str, grad_req: str = "write", shape: ShapeLike | None = None, dtype: DTypeLike = np.float32,
                 lr_mult: float = 1.0, wd_mult: float = 1.0, init: InitLike = None, allow_deferred_init: bool = False,
                 differentiable: bool = True, stype: str = "default", grad_stype: str = "default") -> None:
        self.name, self.lr_mult, self.wd_mult, self.init = name, lr_mult, wd_mult, init
        self._dtype = np.dtype(dtype)
        self._shape = None if shape is None else _sizes(name, shape)
        try:
            self._stype, self._grad_stype = check_stype(stype), check_stype(grad_stype)
        except SparsekitError as error:
            raise ParameterError(f"Parameter {name}: {error.message}", hint=error.hint) from None
        self._allow_deferred_init = allow_deferred_init
        self._differentiable = differentiable
        self._arrays: dict[Context, Any] = {}
        self._grads: dict[Context, Any] = {}
        self._deferred: tuple[Any, list[Context]] | None = None
        self._grad_req = "null"
        self._var: Any = None
        #: Whether the array is transposed in files and symbols: a layer may store it so that its gradient is row_sparse.
        self._is_transposed = False
        self.grad_req = grad_req

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)
        mark = changes.mark = (name,)
        if name not in _OF_UPDATES:
            self.__dict__["_mark"] = mark

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name} (shape={self.shape}, dtype={self.dtype})"

    # what it is

    @property
    def shape(self) -> Any:
        """Shape; 0 or -1 stands for a size not known yet."""
        return self._shape

    @shape.setter
    def shape(self, new_shape: tuple[int, ...]) -> None:
        declared = self._shape
        if declared is not None and not _fits(new_shape, declared):
            raise ShapeError(f"Parameter {self.name} has shape {declared}, not {tuple(new_shape)}.",
                             hint="the layer was made for a different number of features.")
        self._shape = tuple(int(size) for size in new_shape)

    @property
    def dtype(self) -> DType:
        """Element type; setting it casts values and gradients."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: DTypeLike) -> None:
        self.cast(dtype)

    @property
    def stype(self) -> str:
        """Storage type of the values."""
        return self._stype

    @property
    def grad_stype(self) -> str:
        """Storage type of the gradient."""
        return self._grad_stype

    @property
    def grad_req(self) -> str:
        """What a backward pass does to the gradient: "write", "add" or "null"; "null" frees its memory."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        UnknownNameError.check("grad_req", req, REQUESTS)
        req = req if self._differentiable else "null"
        if req != self._grad_req:
            self._grad_req = req
            self._attach()

    @property
    def _trainer(self) -> Trainer | None:
        """The trainer, by MXNet's name."""
        return None if self._trained_by is None else self._trained_by()

    def _set_trainer(self, trainer: Trainer | None) -> None:
        """Note the trainer, of which a sparse parameter has one at a time; None takes it away."""
        if self._stype != "default" and trainer is not None and self._trainer not in (None, trainer):
            raise UnsupportedError(
                f"Failed to set the trainer for Parameter '{self.name}' because it was already set. More than one trainers for "
                f"a {self._stype} Parameter is not supported.",
                hint="go on with the Trainer that it has, or delete that one first: `del trainer`.")
        vars(self)["_trained_by"] = None if trainer is None else ref(trainer)  # no program of a block depends on it

    # initial values

    def initialize(self, init: InitLike = None, ctx: Context | Sequence[Context] | None = None, default_init: InitLike = None,
                   force_reinit: bool = False) -> None:
        """Give the parameter its initial values, the same on every context.

        Parameters
        ----------
        init : Initializer or str, optional
            Initializer that takes precedence over the parameter's own ``init``.
        ctx : Context or list of Context, optional
            Contexts that each get a copy of the values; the current context by default.
        default_init : Initializer or str, optional
            Initializer that is used if neither ``init`` is given; ``Uniform(0.07)`` by default.
        force_reinit : bool
            Initialize again if the parameter already has values.  By default it keeps them, and a warning says so.

        Raises
        ------
        InitializationError
            If the shape is unknown and cannot be inferred later.
        """
        if self._arrays and not force_reinit:
            warn_user(f"Parameter '{self.name}' is already initialized, ignoring. Set force_reinit=True to "
                          "re-initialize.")
            return
        contexts = [require(place) for place in contexts_of(ctx)]
        own = init if init is not None else self.init
        chosen = (default_init if own is None else own, default_init)
        if shape_is_known(self._shape):
            self._fill(chosen, contexts)
        elif self._allow_deferred_init:
            self._arrays, self._grads, self._deferred = {}, {}, (chosen, contexts)
        else:
            raise InitializationError(f"Parameter {self.name} has the unknown shape {self._shape}.",
                                      hint="give every size, or pass allow_deferred_init=True.")

    @within_memory
    def _fill(self, chosen: tuple[Any, Any], contexts: list[Context]) -> None:
        """Make the values by an initializer, whatever the parameter is called; the default one logs it, if it is to."""
        initializer, default = chosen
        shape = shape_of(self._shape or ())
        check_dense(shape, np.dtype(self.dtype))
        values = np.zeros(shape, self.dtype)
        desc = InitDesc(self.name, {"__init__": create_initializer(initializer)})
        create_initializer(default)(desc, wrap(values, cpu()))
        self._hold(values, contexts)

    def _hold(self, values: Array, contexts: list[Context]) -> None:
        """Put dense values, which become the parameter's own, on these contexts, and make gradients."""
        self._arrays = {ctx: self._made(values if place == 0 else values.copy(), ctx) for place, ctx in enumerate(contexts)}
        self._deferred = None
        self._attach()

    def _made(self, values: Array, ctx: Context) -> NDArray:
        """The array of dense values in the parameter's storage type; a row_sparse one holds all rows."""
        if self._stype == "row_sparse":
            rows = RowSparse(values, np.arange(values.shape[0]), values.shape, check=False)
            return wrap(device.onto(rows, require(ctx)), ctx)
        dense = wrap(to_device(values, require(ctx)), ctx)
        return dense if self._stype == "default" else dense.tostype(self._stype)

    @within_memory
    def _attach(self) -> None:
        """Make gradient buffers, and note the arrays' roles for the profiler."""
        self._grads = {}
        for ctx, values in self._arrays.items():
            hooks.assign(values, "parameter", self.name)
            if self._grad_req == "null":
                values._entry = None
                continue
            values.attach_grad(self._grad_req, self._grad_stype)
            self._grads[ctx] = values.grad
            hooks.assign(values.grad, "gradient", self.name)

    def _finish_deferred_init(self) -> None:
        if self._deferred is not None and shape_is_known(self._shape):
            with pause():
                self._fill(*self._deferred)

    # values and gradients

    def _of(self, held: dict[Context, Any], ctx: Context | None) -> NDArray:
        if not held:
            self._explain_absence()
        if ctx is None:
            if len(held) == 1:
                return next(iter(held.values()))
            ctx = current_context()
        tracer = current() if ctx.device_type == "trace" else None
        wanted = ctx if tracer is None else tracer.ctx  # data(x.context), as blocks ask while they are traced
        values = held.get(cpu(wanted.device_id) if wanted not in held and wanted.device_type in HOST else wanted)
        if values is None:
            raise InitializationError(f"Parameter '{self.name}' was not initialized on context {ctx}. It was only initialized "
                                      f"on {', '.join(map(str, held))}.", hint="initialise it there: net.initialize(ctx=[…]).")
        return values

    def _explain_absence(self) -> None:
        if self._deferred is not None:
            raise DeferredInitializationError(
                f"Parameter '{self.name}' has no values yet: its shape {self._shape} is known at the first forward pass.",
                hint="run the network once, or give in_units, in_channels and the like.")
        raise InitializationError(f"Parameter '{self.name}' has not been initialized.",
                                  hint="call net.initialize() first; net.collect_params() has the parameters of all "
                                  "blocks below, net.params those of the block alone.")

    def data(self, ctx: Context | None = None) -> Any:
        """The values on a context; the only one by default, or the current one if there are several.

        Returns
        -------
        NDArray
            The parameter's own array, in its storage type.  If servers hold a row_sparse parameter, all rows are pulled
            into it first.

        Raises
        ------
        InitializationError
            If the context has no values.  A ``DeferredInitializationError`` means that the first forward pass will make them.
        """
        if self._source is not None:
            self._source.complete(self)
        meet(self)
        if ctx is not None:
            values = self._arrays.get(ctx)
            if values is not None:
                return values
        return self._of(self._arrays, ctx)

    # Programs ask these of MXNet's parameters: whether there are values, and whether there is a gradient.

    @property
    def _data(self) -> list[Any] | None:
        return list(self._arrays.values()) or None

    @property
    def _grad(self) -> list[Any] | None:
        return list(self._grads.values()) or None

    def list_data(self) -> list[Any]:
        """The values on every context, in the order of ``list_ctx()``."""
        if self._source is not None:
            self._source.complete(self)
        meet(self)
        if not self._arrays:
            self._explain_absence()
        return list(self._arrays.values())

    def row_sparse_data(self, row_id: NDArray) -> RowSparseNDArray:
        """The given rows of a row_sparse parameter, on the context of ``row_id``.

        If servers hold the parameter, only these rows are pulled from them.

        Parameters
        ----------
        row_id : NDArray
            Row numbers of any shape, in any order; repetitions are allowed.

        Returns
        -------
        RowSparseNDArray
            A copy of these rows, as they are now.  Gradients flow through it to these rows of the parameter, whether it is
            pulled before ``record()`` or inside.

        Raises
        ------
        StorageTypeError
            If the parameter is not row_sparse.
        DTypeError
            If ``row_id`` is not an NDArray.
        """
        self._check_row_sparse(row_id)
        if self._source is not None:
            self._source.pull_rows(self, row_id)
        return self._rows(self._of(self._arrays, row_id.context), row_id)

    def list_row_sparse_data(self, row_id: NDArray) -> list[Any]:
        """The given rows of a row_sparse parameter on every context, in the order of ``list_ctx()``."""
        self._check_row_sparse(row_id)
        if self._source is not None:
            self._source.pull_rows(self, row_id)
        if not self._arrays:
            self._explain_absence()
        return [self._rows(values, row_id.as_in_context(values.context)) for values in self._arrays.values()]

    def _check_row_sparse(self, row_id: NDArray) -> None:
        if self._stype != "row_sparse":
            raise StorageTypeError(f"Parameter '{self.name}' is {self._stype}, and has no row_sparse data.",
                                   hint="use data() or list_data().")
        if not isinstance(row_id, NDArray):
            raise DTypeError(f"row_id must have NDArray type, but {type(row_id).__name__} is given.",
                             hint="make one with mx.nd.array(rows, dtype='int64').")
        if hooks.state.tracing:
            raise refuse("row_sparse_data was called while a hybridized block was traced, and which rows it pulls depends on "
                         "values.", hint="pull the rows before the block, and give them to it as an input.")

    @staticmethod
    def _rows(values: NDArray, row_id: NDArray) -> RowSparseNDArray:
        """Rows of the values on one context, linked to them in the graph even if nothing is recorded yet, as in MXNet."""
        rows = F.reshape(row_id, shape=(-1,)).copy()
        with pause(train_mode=is_training()):
            part: RowSparseNDArray = F.sparse_retain(values, rows)
        if values._entry is not None:
            node = CustomNode(lambda gradients: [F.sparse_retain(F.cast_storage(gradients[0], stype="row_sparse"), rows)],
                              (values._entry,), 1, values._ctx)
            part._entry = (node, 0)
        return part

    def grad(self, ctx: Context | None = None) -> Any:
        """The gradient on a context; the only one by default, or the current one if there are several."""
        self._check_gradient()
        self._settle()
        return self._of(self._grads, ctx)

    def _settle(self, lost: Sequence[Context] = ()) -> None:
        """Have the gradients written that a ``TrainStep`` has computed and nobody has read, but for those that are lost."""
        for ctx, values in self._arrays.items():
            if ctx not in lost and values._entry is not None and values._entry[0].late is not None:
                values._entry[0].settle()

    def _settled(self) -> list[Context]:
        """Have the gradients written that a ``TrainStep`` has computed; gives the contexts of those that are lost."""
        lost = [ctx for ctx, values in self._arrays.items()
                if values._entry is not None and values._entry[0].late is lost_gradient]
        self._settle(lost)
        return lost

    def _attach_as(self, gradients: dict[Context, NDArray], lost: Sequence[Context]) -> None:
        """Make gradient buffers with the values of others, of which those on some contexts are lost."""
        self._attach()
        for ctx, gradient in gradients.items():
            self._grads[ctx]._receive(gradient)
        for ctx in lost:
            self._arrays[ctx]._entry[0].late = lost_gradient

    def __getstate__(self) -> object:  # object: as of every class
        lost = self._settled()  # a copy has the gradient
        return {**{name: value for name, value in vars(self).items() if name not in _OF_THIS_ONE}, "_lost": lost}

    def __setstate__(self, state: dict[str, Any]) -> None:  # Any: attributes
        vars(self).update(state)
        self._attach_as(self._grads, vars(self).pop("_lost", ()))

    def list_grad(self) -> list[Any]:
        """The gradients on every context, in the order of ``list_ctx()``."""
        self._check_gradient()
        if not self._arrays:
            self._explain_absence()
        self._settle()
        return list(self._grads.values())

    def _check_gradient(self) -> None:
        if self._arrays and self._grad_req == "null":
            raise InitializationError(f"Cannot get gradient array for Parameter '{self.name}' because grad_req='null'.",
                                      hint="set grad_req='write'.")

    def list_ctx(self) -> list[Context]:
        """The contexts that hold the parameter, or will."""
        if self._deferred is not None:
            return list(self._deferred[1])
        if not self._arrays:
            self._explain_absence()
        return list(self._arrays)

    def var(self) -> Symbol:
        """A symbol that stands for the parameter: the same one each time."""
        if self._var is None:
            self._var = var(self.name, shape=self._outer_shape, dtype=self.dtype, lr_mult=self.lr_mult, wd_mult=self.wd_mult,
                            init=self.init, stype=self._stype)
        return self._var

    # changes

    def set_data(self, data: object) -> None:
        """Replace the values on every context, keeping storage type and element type.

        Parameters
        ----------
        data : NDArray or numpy array
            The new values, with the parameter's shape.  Unknown sizes of the shape are filled in, and a deferred
            initialization is completed with these values.
        """
        if self._source is not None:
            self._source.refuse_new_values(self)
        if not isinstance(data, NDArray):
            data = array(data)
        self.shape = data.shape
        if not self._arrays:
            if self._deferred is None:
                self._explain_absence()
            else:
                self._hold(np.array(data.asnumpy(), self.dtype), self._deferred[1])
            return
        for values in self._arrays.values():
            if values.stype == "row_sparse":
                dense = np.array(data.asnumpy(), values.dtype)
                rows = RowSparse(dense, np.arange(dense.shape[0]), dense.shape, check=False)
                values._store.replace(device.onto(rows, values.context))
            else:
                values._receive(data)

    def zero_grad(self) -> None:
        """Set the gradients to zero; sparse ones then store nothing."""
        for gradient in self._grads.values():
            gradient._check_traced()
        for values in self._arrays.values():
            if values._entry is not None:
                values._entry[0].late = None
        for gradient in self._grads.values():
            with device.current(gradient.context):
                if gradient.stype == "default":
                    gradient._store.fill(0)
                else:
                    gradient._store.replace(type(gradient._store)(*_no_entries(gradient._store), gradient.shape, check=False))

    def reset_ctx(self, ctx: Context | Sequence[Context]) -> None:
        """Move the parameter to other contexts; gradients start from zero.

        Parameters
        ----------
        ctx : Context or list of Context
            The new contexts; each gets a copy of the values.
        """
        contexts = contexts_of(ctx)
        if self._arrays:
            self._hold(self._reduce().asnumpy(), contexts)
        elif self._deferred is not None:
            self._deferred = (self._deferred[0], contexts)
        else:
            self._explain_absence()

    def cast(self, dtype: DTypeLike) -> None:
        """Change the element type of values and gradients."""
        self._dtype = np.dtype(dtype)
        lost = self._settled()
        with pause():
            before = {ctx: gradient.astype(dtype) for ctx, gradient in self._grads.items()}
            self._arrays = {ctx: values.detach().astype(dtype) for ctx, values in self._arrays.items()}
            self._attach_as(before, lost)

    # files

    @property
    def _outer_shape(self) -> Shape | None:
        """The shape in files and symbols."""
        return self._shape[::-1] if self._is_transposed and self._shape is not None else self._shape

    def _learn(self, outer_shape: Shape) -> None:
        """Take over a shape from a file or a symbol."""
        self.shape = outer_shape[::-1] if self._is_transposed else outer_shape

    def _for_file(self) -> NDArray:
        """The array to save: the values on the CPU, of several contexts the mean."""
        return self._turned(self._reduce())

    def _turned(self, values: NDArray) -> NDArray:
        """Values of the parameter, or a state of them, as files have them, or as the parameter has those of a file."""
        return wrap(np.ascontiguousarray(values.asnumpy().T), cpu()) if self._is_transposed and values.ndim == 2 else values

    def _reduce(self) -> NDArray:
        """The values on the CPU: a copy, and of several contexts the mean."""
        held = [values.detach().as_in_context(cpu()) for values in self.list_data()]
        if len(held) == 1 or self._stype != "default":
            return held[0].copy()
        return F.add_n(*held) / len(held)

    def _load_init(self, data: NDArray, ctx: Context | Sequence[Context] | None, cast_dtype: bool = False,
                   dtype_source: str = "current") -> None:
        """Take over values from a file, and the contexts if there are no values yet."""
        UnknownNameError.check("dtype_source", dtype_source, ("current", "saved"))
        data = self._turned(data)
        self._check_loaded(data, cast_dtype)
        wanted = None if ctx is None else contexts_of(ctx)
        placed = bool(self._arrays) or self._deferred is not None
        if placed and wanted is not None and set(wanted) != set(self.list_ctx()):
            raise ParameterError(f"Failed to load Parameter '{self.name}' on {_listed(wanted)} because it was previously "
                                 f"initialized on {_listed(self.list_ctx())}.", hint="call reset_ctx(ctx) first.")
        if self.dtype != data.dtype and dtype_source == "saved":
            self.cast(data.dtype)
        if self._shape:
            self.shape = data.shape
        else:
            self._shape = data.shape
        if self._arrays:
            self.set_data(data)
        else:
            places = self._deferred[1] if self._deferred is not None else wanted or [cpu()]
            self._hold(np.array(data.asnumpy(), self.dtype), places)

    def _check_loaded(self, data: NDArray, cast_dtype: bool) -> None:
        if self._shape and not _fits(data.shape, self._shape):
            shape = data.shape[::-1] if self._is_transposed else data.shape
            raise ParameterError(f"Failed loading Parameter '{self.name}' from saved params: shape incompatible expected "
                                 f"{self._outer_shape} vs saved {shape}.", hint="the file belongs to a network of other sizes.")
        if self.dtype != data.dtype and not cast_dtype:
            raise ParameterError(f"Failed loading Parameter '{self.name}' from saved params: dtype incompatible expected "
                                 f"{self.dtype} vs saved {data.dtype}.",
                                 hint="set cast_dtype=True to cast the dtype of saved params.")


def _fits(shape: Shape, declared: Shape | None) -> bool:
    """Whether a shape is one whose unknown sizes are 0 or -1."""
    return declared is not None and len(declared) == len(shape) and all(
        ours in (0, -1, theirs) for ours, theirs in zip(declared, shape, strict=True))


def _listed(contexts: Iterable[Context]) -> str:
    return f"[{', '.join(map(str, contexts))}]"


def _no_entries(store: Sparse) -> list[Any]:
    """Components of the same store with nothing stored."""
    parts = [store.data[:0], store.indices[:0]]
    return [*parts, np.zeros_like(store.indptr)] if hasattr(store, "indptr") else parts


class Constant(Parameter):
    """A parameter that training does not change; ``set_data`` changes it.

    Parameters
    ----------
    name : str
    value : NDArray or array-like
    """

    def __init__(self, name: str, value: object) -> None:
        value = value if isinstance(value, NDArray) else array(value)
        self.value = value
        super().__init__(name, grad_req="null", shape=value.shape, dtype=value.dtype, init=ConstantInitializer(value))

    @property
    def grad_req(self) -> str:
        """Always "null"."""
        return "null"

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req != "null":
            warn_user(f'Constant parameter "{self.name}" does not support grad_req other than "null", and new value '
                          f'"{req}" is ignored.')
