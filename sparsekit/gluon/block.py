"""Blocks: layers and networks."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Self

from .. import ndarray
from ..base.errors import DTypeError, ShapeError, SparsekitError, UnsupportedError
from ..base.naming import current_names
from ..core import hooks
from ..ndarray.ndarray import NDArray
from .parameter import DeferredInitializationError, Parameter, ParameterDict

__all__ = ["Block", "HybridBlock"]


class _Scope:
    """Names inside one block: children made in its ``with`` block count from zero under its prefix."""

    _current = threading.local()

    def __init__(self, block: Block) -> None:
        # A strong reference would make a cycle, and a deleted network would keep its memory until a collection.
        self._block = weakref.ref(block)
        self._counts: dict[str, int] = {}
        self._outer: list[Any] = []

    @classmethod
    def create(cls, prefix: str | None, params: ParameterDict | None, hint: str) -> tuple[str, ParameterDict]:
        """Prefix and parameter dictionary of a new block."""
        scope = getattr(cls._current, "value", None)
        if scope is None:
            prefix = current_names().get(None, hint) + "_" if prefix is None else prefix
            return prefix, ParameterDict(prefix) if params is None else ParameterDict(params.prefix, params)
        if prefix is None:
            count = scope._counts.get(hint, 0)
            scope._counts[hint] = count + 1
            prefix = f"{hint}{count}_"
        parent = scope._block()
        prefix_in_parent = parent.params.prefix + prefix
        made = ParameterDict(prefix_in_parent, parent.params._shared) if params is None else ParameterDict(params.prefix, params)
        return parent.prefix + prefix, made

    def __enter__(self) -> Self:
        self._outer.append(getattr(_Scope._current, "value", None))
        _Scope._current.value = self
        return self

    def __exit__(self, *exception: object) -> None:
        _Scope._current.value = self._outer.pop()


class Block:
    """Base of layers and networks: override ``forward``.

    Parameters
    ----------
    prefix : str, optional
        Put before the names of parameters and children; made from the class name if left out.
    params : ParameterDict, optional
        Shared parameters.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        self._children: dict[str, Block] = {}
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks: list[Any] = []
        self._forward_pre_hooks: list[Any] = []
        self._prefix, self._params = _Scope.create(prefix, params, self._alias())
        self._name = self._prefix[:-1] if self._prefix.endswith("_") else self._prefix
        self._scope = _Scope(self)

    def _alias(self) -> str:
        """What automatic names of such blocks start with."""
        return type(self).__name__.lower()

    @property
    def prefix(self) -> str:
        """What the names of parameters and children start with."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without its final underscore."""
        return self._name

    @property
    def params(self) -> ParameterDict:
        """The block's own parameters, not those of its children."""
        return self._params

    def name_scope(self) -> _Scope:
        """``with self.name_scope():`` children and parameters made inside carry this block's prefix."""
        return self._scope

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            self._reg_params[name] = value
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        lines = "\n".join(f"  ({key}): {_indent(repr(child))}" for key, child in self._children.items())
        return f"{type(self).__name__}(\n{lines}\n)"

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Add a child, whose parameters then belong to this block too."""
        self._children[str(len(self._children)) if name is None else name] = block

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """Parameters of this block and all below, or those whose names match a regular expression."""
        found = ParameterDict(self._params.prefix)
        found.update(self._params if select is None else self._params.select(select))
        for child in self._children.values():
            found.update(child.collect_params(select))
        return found

    def initialize(self, init: Any = None, ctx: Any = None, verbose: bool = False, force_reinit: bool = False) -> None:
        """Give all parameters their initial values; ``Uniform(0.07)`` where nothing else is said."""
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def apply(self, fn: Any) -> Block:
        """Call ``fn`` on every block below and on this one."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def cast(self, dtype: Any) -> None:
        """Change the element type of all parameters."""
        for parameter in self.collect_params().values():
            parameter.cast(dtype)

    def register_forward_hook(self, hook: Any) -> None:
        """Call ``hook(block, inputs, output)`` after each forward pass."""
        self._forward_hooks.append(hook)

    def register_forward_pre_hook(self, hook: Any) -> None:
        """Call ``hook(block, inputs)`` before each forward pass."""
        self._forward_pre_hooks.append(hook)

    def hybridize(self, active: bool = True, **_options: Any) -> None:
        """Not available: blocks run eagerly.

        Raises
        ------
        UnsupportedError
            Unless ``active`` is False.
        """
        if active:
            raise UnsupportedError("hybridize() has nothing to compile to: blocks run eagerly in this version.",
                                   hint="leave the call out; the results are the same.")

    def __call__(self, *args: Any) -> Any:
        """Run the hooks and ``forward``."""
        for hook in self._forward_pre_hooks:
            hook(self, args)
        state = hooks.state
        outer = state.layer
        state.layer = self._name
        try:
            out = self.forward(*args)
        finally:
            state.layer = outer
        for hook in self._forward_hooks:
            hook(self, args, out)
        return out

    def forward(self, *args: Any) -> Any:
        """Compute the output; to be overridden."""
        raise SparsekitError(f"{type(self).__name__} has no forward().", hint="override forward(self, x).")


def _indent(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *("  " + line for line in rest)])


class HybridBlock(Block):
    """A block whose ``hybrid_forward(F, x, **parameters)`` is written once for every interpreter.

    ``F`` is ``mx.nd`` when arrays are given; the block's parameters arrive as keyword arguments under the
    names of the attributes that hold them.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, Block) and not isinstance(value, HybridBlock):
            raise DTypeError(f"{type(self).__name__} takes HybridBlocks as children; {name} is a {type(value).__name__}.",
                             hint="derive it from HybridBlock, or derive this one from Block.")

    def infer_shape(self, *args: Any) -> None:
        """Complete the shapes of parameters from the inputs; layers with deferred shapes override it."""
        unknown = [parameter.name for parameter in self._reg_params.values() if not parameter._known()]
        raise ShapeError(f"The shapes of {', '.join(unknown)} are not known.",
                         hint="give every size, or override infer_shape(self, *inputs) to set them.")

    def forward(self, x: Any, *args: Any) -> Any:
        """Call ``hybrid_forward`` with the parameters, completing deferred shapes first."""
        if not isinstance(x, NDArray):
            raise DTypeError(f"{self._name} takes NDArrays, not {type(x).__name__}.", hint="make one with mx.nd.array(…).")
        ctx = x._ctx
        try:
            values = {name: parameter.data(ctx) for name, parameter in self._reg_params.items()}
        except DeferredInitializationError:
            self.infer_shape(x, *args)
            for parameter in self._reg_params.values():
                parameter._finish_deferred_init()
            values = {name: parameter.data(ctx) for name, parameter in self._reg_params.items()}
        return self.hybrid_forward(ndarray, x, *args, **values)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **parameters: Any) -> Any:
        """Compute the output from operators of ``F``; to be overridden."""
        raise SparsekitError(f"{type(self).__name__} has no hybrid_forward().", hint="override hybrid_forward(self, F, x, …).")
