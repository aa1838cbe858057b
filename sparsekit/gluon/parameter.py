"""Parameters and dictionaries of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..autograd import pause
from ..base.context import Context, cpu, current_context, require
from ..base.errors import InitializationError, ShapeError, SparsekitError, UnknownNameError
from ..core import hooks
from ..core.dispatch import wrap
from ..initializer import Constant as ConstantInitializer
from ..initializer import create as create_initializer
from ..ndarray.creation import array, to_device
from ..ops.cast import check_stype
from ..storage import RowSparse

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict"]


class DeferredInitializationError(InitializationError):
    """A parameter is used before its shape is known."""


class Parameter:
    """A named array that training changes, with its gradient.

    Parameters
    ----------
    name : str
    grad_req : {"write", "add", "null"}
        Whether a backward pass overwrites the gradient, adds to it, or leaves it.
    shape : tuple of int or int
        Zeros stand for sizes that the first input will tell.
    init : Initializer or str, optional
        Initial values; those of ``initialize()`` if left out.
    stype, grad_stype : {"default", "row_sparse", "csr"}
        Storage types of the values and of the gradient.
    lr_mult, wd_mult : float
        Factors of the learning rate and the weight decay.
    """

    def __init__(self, name: str, grad_req: str = "write", shape: Any = None, dtype: Any = np.float32, lr_mult: float = 1.0,
                 wd_mult: float = 1.0, init: Any = None, allow_deferred_init: bool = False, differentiable: bool = True,
                 stype: str = "default", grad_stype: str = "default") -> None:
        self.name, self.lr_mult, self.wd_mult, self.init = name, lr_mult, wd_mult, init
        self.dtype = np.dtype(dtype)
        self._shape = None if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
        self._stype, self._grad_stype = check_stype(stype), check_stype(grad_stype)
        self._allow_deferred = allow_deferred_init
        self._differentiable = differentiable
        self._arrays: dict[Context, Any] = {}
        self._grads: dict[Context, Any] = {}
        self._deferred: tuple[Any, list[Context]] | None = None
        self._grad_req = "null"
        self.grad_req = grad_req if differentiable else "null"

    def __repr__(self) -> str:
        return f"Parameter {self.name} (shape={self.shape}, dtype={self.dtype})"

    @property
    def shape(self) -> Any:
        """Shape; zeros stand for sizes not known yet."""
        return self._shape

    @shape.setter
    def shape(self, shape: tuple[int, ...]) -> None:
        known = self._shape
        if known is not None and (len(known) != len(shape)
                                  or any(old not in (0, -1, new) for old, new in zip(known, shape, strict=True))):
            raise ShapeError(f"Parameter {self.name} has shape {known}, not {tuple(shape)}.",
                             hint="the input has another number of features than the layer was made for.")
        self._shape = tuple(int(size) for size in shape)

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
        """What a backward pass does to the gradient: "write", "add" or "null"."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, request: str) -> None:
        if request not in ("write", "add", "null"):
            raise UnknownNameError.of("grad_req", request, ("write", "add", "null"))
        self._grad_req = request
        if self._arrays:
            self._attach()

    def _known(self) -> bool:
        return self._shape is not None and all(size > 0 for size in self._shape)

    def initialize(self, init: Any = None, ctx: Any = None, default_init: Any = None, force_reinit: bool = False) -> None:
        """Give the parameter its initial values, on one or several contexts.

        Raises
        ------
        InitializationError
            If the shape is unknown and nothing will tell it.
        """
        if self._arrays and not force_reinit:
            return
        contexts = [ctx or current_context()] if not isinstance(ctx, (list, tuple)) else list(ctx)
        chosen = init if init is not None else self.init if self.init is not None else default_init
        own = init is not None or self.init is not None
        if self._known():
            self._fill(chosen, own, contexts)
        elif self._allow_deferred:
            self._deferred = ((chosen, own), contexts)
        else:
            raise InitializationError(f"Parameter {self.name} has the unknown shape {self._shape}.",
                                      hint="give every size, or pass allow_deferred_init=True.")

    def _fill(self, chosen: Any, own: bool, contexts: list[Context]) -> None:
        values = np.zeros(self._shape or (), self.dtype)
        initializer = create_initializer(chosen)
        if own:
            initializer.fill(self.name, values)
        else:
            initializer(self.name, values)
        self._arrays = {}
        for place, ctx in enumerate(contexts):
            require(ctx)
            self._arrays[ctx] = self._holder(values if place == 0 else values.copy(), ctx)
        self._deferred = None
        self._attach()

    def _holder(self, values: Any, ctx: Context) -> Any:
        """The array of the values; a row_sparse one holds all rows."""
        values = to_device(values, ctx)
        if self._stype == "default":
            return wrap(values, ctx)
        if self._stype == "row_sparse":
            return wrap(RowSparse(values, np.arange(values.shape[0]), values.shape, check=False), ctx)
        return wrap(values, ctx).tostype(self._stype)

    def _attach(self) -> None:
        """Make gradient buffers and note the arrays' roles for the profiler."""
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
        if self._deferred is not None and self._known():
            (chosen, own), contexts = self._deferred
            with pause():
                self._fill(chosen, own, contexts)

    def _of(self, held: dict[Context, Any], ctx: Context | None) -> Any:
        if not held:
            self._explain_absence()
        if ctx is None:
            if len(held) == 1:
                return next(iter(held.values()))
            ctx = current_context()
        found = held.get(ctx)
        if found is None:
            raise InitializationError(f"Parameter {self.name} is not on {ctx}, but on {', '.join(map(str, held))}.",
                                      hint="initialise it there: net.initialize(ctx=[…]).")
        return found

    def _explain_absence(self) -> None:
        if self._deferred is not None:
            raise DeferredInitializationError(
                f"Parameter {self.name} has no values yet: its shape {self._shape} is known at the first forward pass.",
                hint="run the network once, or give in_units.")
        raise InitializationError(f"Parameter {self.name} has not been initialised.", hint="call net.initialize() first.")

    def data(self, ctx: Context | None = None) -> Any:
        """The values on a context; the only one by default."""
        if ctx is not None:
            found = self._arrays.get(ctx)
            if found is not None:
                return found
        return self._of(self._arrays, ctx)

    def row_sparse_data(self, row_id: Any) -> Any:
        """The given rows of a row_sparse parameter, as a row_sparse array."""
        if self._stype != "row_sparse":
            raise SparsekitError(f"Parameter {self.name} is {self._stype}.", hint="use data() for it.")
        return self._of(self._arrays, row_id.context).retain(row_id)

    def grad(self, ctx: Context | None = None) -> Any:
        """The gradient on a context; the only one by default."""
        if self._arrays and self._grad_req == "null":
            raise InitializationError(f"Parameter {self.name} has no gradient: grad_req is 'null'.", hint="set grad_req='write'.")
        return self._of(self._grads, ctx)

    def list_data(self) -> list[Any]:
        """The values on every context."""
        if not self._arrays:
            self._explain_absence()
        return list(self._arrays.values())

    def list_grad(self) -> list[Any]:
        """The gradients on every context."""
        if not self._arrays:
            self._explain_absence()
        return list(self._grads.values())

    def list_ctx(self) -> list[Context]:
        """The contexts that hold the parameter."""
        if self._deferred is not None and not self._arrays:
            return self._deferred[1]
        if not self._arrays:
            self._explain_absence()
        return list(self._arrays)

    def set_data(self, data: Any) -> None:
        """Replace the values on every context, keeping storage type and element type."""
        if not hasattr(data, "_store"):
            data = array(data)
        self.shape = data.shape
        if not self._arrays:
            if self._deferred is None:
                self._explain_absence()
            self._deferred = ((ConstantInitializer(data), True), self._deferred[1])  # type: ignore[index]
            self._finish_deferred_init()
            return
        for values in self._arrays.values():
            if values.stype == "row_sparse":
                dense = np.array(data.asnumpy(), values.dtype)
                values._store.replace(RowSparse(dense, np.arange(dense.shape[0]), dense.shape, check=False))
            else:
                values._receive(data)

    def zero_grad(self) -> None:
        """Set the gradients to zero; sparse ones then store nothing."""
        for gradient in self._grads.values():
            if gradient.stype == "default":
                gradient._store.fill(0)
            else:
                gradient._store.replace(type(gradient._store)(*_no_entries(gradient._store), gradient.shape, check=False))

    def reset_ctx(self, ctx: Any) -> None:
        """Move the parameter to other contexts."""
        contexts = [ctx] if isinstance(ctx, Context) else list(ctx)
        if self._arrays:
            first = next(iter(self._arrays.values())).detach()
            self._arrays = {place: self._holder(first.as_in_context(cpu()).asnumpy(), require(place)) for place in contexts}
            self._attach()

    def cast(self, dtype: Any) -> None:
        """Change the element type of values and gradients."""
        self.dtype = np.dtype(dtype)
        if self._arrays:
            self._arrays = {ctx: values.detach().astype(dtype) for ctx, values in self._arrays.items()}
            self._attach()


def _no_entries(store: Any) -> list[Any]:
    """Components of the same store with nothing stored."""
    parts = [store.data[:0], store.indices[:0]]
    return [*parts, np.zeros_like(store.indptr)] if hasattr(store, "indptr") else parts


class Constant(Parameter):
    """A parameter that training leaves alone."""

    def __init__(self, name: str, value: Any) -> None:
        value = value if hasattr(value, "_store") else array(value)
        self.value = value
        super().__init__(name, grad_req="null", shape=value.shape, dtype=value.dtype, init=ConstantInitializer(value))


class ParameterDict:
    """Parameters by name, in the order they were made.

    Parameters
    ----------
    prefix : str
        Put before the names that ``get`` is asked for.
    shared : ParameterDict, optional
        Looked in first.
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None) -> None:
        self._prefix, self._shared = prefix, shared
        self._params: dict[str, Parameter] = {}

    @property
    def prefix(self) -> str:
        """What is put before the names that ``get`` is asked for."""
        return self._prefix

    def __repr__(self) -> str:
        body = "\n".join(f"  {parameter}" for parameter in self.values())
        return f"{self._prefix}{' ' if self._prefix else ''}(\n{body}\n)"

    def __getitem__(self, name: str) -> Parameter:
        try:
            return self._params[name]
        except KeyError:
            raise UnknownNameError.of("parameter", name, self._params) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def __contains__(self, name: object) -> bool:
        return name in self._params

    def items(self) -> Any:
        """Names and parameters."""
        return self._params.items()

    def keys(self) -> Any:
        """Names."""
        return self._params.keys()

    def values(self) -> Any:
        """Parameters."""
        return self._params.values()

    def get(self, name: str, **arguments: Any) -> Parameter:
        """The parameter ``prefix + name``, made with these arguments if it is new."""
        full = self._prefix + name
        found = self._params.get(full) or (self._shared._params.get(full) if self._shared is not None else None)
        if found is None:
            found = Parameter(full, **arguments)
        elif arguments.get("shape") is not None:
            shape = arguments["shape"]
            found.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self._params[full] = found
        return found

    def get_constant(self, name: str, value: Any = None) -> Parameter:
        """The constant ``prefix + name``."""
        full = self._prefix + name
        if full not in self._params:
            self._params[full] = Constant(full, value)
        return self._params[full]

    def update(self, other: ParameterDict) -> None:
        """Add the parameters of another dictionary."""
        for name, parameter in other.items():
            if self._params.get(name, parameter) is not parameter:
                raise SparsekitError(f"Two parameters are named {name!r}.", hint="give the blocks different prefixes.")
            self._params[name] = parameter

    def initialize(self, init: Any = None, ctx: Any = None, verbose: bool = False, force_reinit: bool = False) -> None:
        """Give every parameter its initial values; ``init`` is for those without an initializer of their own."""
        default = create_initializer(init)
        for parameter in self.values():
            parameter.initialize(None, ctx, default, force_reinit=force_reinit)

    def zero_grad(self) -> None:
        """Set all gradients to zero."""
        for parameter in self.values():
            parameter.zero_grad()

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute of every parameter."""
        for parameter in self.values():
            setattr(parameter, name, value)

    def reset_ctx(self, ctx: Any) -> None:
        """Move all parameters to other contexts."""
        for parameter in self.values():
            parameter.reset_ctx(ctx)

    def select(self, pattern: str) -> ParameterDict:
        """The parameters whose names match a regular expression."""
        made = ParameterDict(self._prefix)
        made._params = {name: parameter for name, parameter in self.items() if re.match(pattern, name)}
        return made
