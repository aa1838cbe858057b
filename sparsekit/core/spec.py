"""The abstract interpreter: what a call would give, without computing it.

Running a gradient rule under it infers the storage types of gradients, and ``Symbol`` infers shapes,
element types and storage types with it before anything is bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from ..base.scoped import Scoped
from .dispatch import dense_kind, made_dense, resolve
from .op import Call, Op, Want, find

__all__ = ["F", "Spec", "gradient_specs", "infer", "noted_fallbacks"]

#: Where operators of gradient rules that fall back are noted, with their inputs, while somebody wants to know.
_noted: ContextVar[list[tuple[Op, tuple[Spec, ...]]] | None] = ContextVar("noted", default=None)


class noted_fallbacks(Scoped):
    """Note the operators that would make sparse inputs dense, among those that abstract rules call inside."""

    def _before(self) -> Any:
        return _noted.get()

    def _enter(self, before: Any) -> list[tuple[Op, tuple[Spec, ...]]]:
        found: list[tuple[Op, tuple[Spec, ...]]] = []
        _noted.set(found)
        return found

    def _leave(self, before: Any, kind: type[BaseException] | None) -> None:
        _noted.set(before)


class Spec(NamedTuple):
    """Shape, element type and storage type of an array that need not exist."""

    shape: tuple[int, ...]
    dtype: Any
    stype: str = "default"
    fallback: bool = False


def infer(call: Call, inputs: tuple[Spec, ...]) -> Spec | tuple[Spec, ...]:
    """What ``call`` would give for such inputs."""
    call = call.settled([spec.shape for spec in inputs])
    rule, fallback, cast = resolve(call.op, tuple(spec.stype for spec in inputs), call.attrs)
    shapes = call.infer_shape([spec.shape for spec in inputs])
    dtype = call.op.dtype([spec.dtype for spec in inputs], call.attrs)
    if call.outputs == 1:
        return Spec(tuple(shapes), np.dtype(dtype), cast or rule.stype(0), fallback or cast is not None)
    dtypes = dtype if isinstance(dtype, (list, tuple)) else [dtype] * call.outputs
    return tuple(Spec(tuple(shape), np.dtype(dtype), rule.stype(place), fallback)
                 for place, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True)))


class _Arithmetic:
    """A ``Spec`` with the operators that gradient rules use."""

    __slots__ = ("spec",)

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape

    @property
    def dtype(self) -> Any:
        return self.spec.dtype

    @property
    def stype(self) -> str:
        return self.spec.stype

    @property
    def ndim(self) -> int:
        return len(self.spec.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.spec.shape))


def _makes_dense(call: Call, specs: tuple[Spec, ...], made: Spec | tuple[Spec, ...]) -> bool:
    """Whether a call within a gradient rule makes a sparse array dense: by a fallback, by nature, or by a conversion."""
    stypes = tuple(spec.stype for spec in specs)
    call = call.settled([spec.shape for spec in specs])
    rule, fallback, _ = resolve(call.op, stypes, call.attrs)
    results = [made] if isinstance(made, Spec) else list(made)[: call.visible]
    sizes = [math.prod(spec.shape) for spec in results if spec.stype == "default"]
    return fallback or (bool(dense_kind(call, rule, fallback, stypes)) and made_dense(specs, sizes) is not None)


class _Namespace:
    """Operators as functions of abstract arrays."""

    def __getattr__(self, name: str) -> Any:
        op = find(name)

        def call(*args: Any, **kwargs: Any) -> Any:
            kwargs.pop("out", None)
            arrays, attrs = op.arguments(args, kwargs)
            bound = op.bind(attrs)
            specs = tuple(array.spec for array in arrays)
            made = infer(bound, specs)
            noted = _noted.get()
            if noted is not None and _makes_dense(bound, specs, made):
                noted.append((op, specs))
            if isinstance(made, Spec):
                return _Arithmetic(made)
            given = [_Arithmetic(spec) for spec in made[: bound.visible]]
            return given[0] if bound.visible == 1 else given

        return call


F: Any = _Namespace()


def _binary(op_name: str, scalar_name: str, reverse_name: str | None = None) -> tuple[Any, Any]:
    def forward(self: Any, other: Any) -> Any:
        if isinstance(other, _Arithmetic):
            name = ("elemwise_" if self.shape == other.shape else "broadcast_") + op_name
            return getattr(F, name)(self, other)
        return getattr(F, scalar_name)(self, scalar=other)

    def backward(self: Any, other: Any) -> Any:
        return getattr(F, reverse_name or scalar_name)(self, scalar=other)

    return forward, backward


for _symbol, _names in {
    "add": ("add", "_plus_scalar", None), "sub": ("sub", "_minus_scalar", "_rminus_scalar"),
    "mul": ("mul", "_mul_scalar", None), "truediv": ("div", "_div_scalar", "_rdiv_scalar"),
}.items():
    _forward, _backward = _binary(*_names)
    setattr(_Arithmetic, f"__{_symbol}__", _forward)
    setattr(_Arithmetic, f"__r{_symbol}__", _backward)
setattr(_Arithmetic, "__neg__", lambda self: F.negative(self))  # noqa: B010 - the class has slots


def gradient_specs(op: Op, attrs: dict[str, Any], inputs: tuple[Spec, ...], head: Spec | None = None,
                   wanted: Sequence[bool] | None = None) -> list[Spec | None]:
    """Shapes and storage types of the gradients, by running the gradient rule abstractly.

    Parameters
    ----------
    wanted : sequence of bool, optional
        Of which inputs a gradient is wanted; of all if not given.
    """
    call = op.bind(attrs)
    out = infer(call, inputs)
    outs = (out,) if isinstance(out, Spec) else out
    heads = tuple(_Arithmetic(head or spec._replace(stype="default")) for spec in outs[: call.visible])
    arrays = [_Arithmetic(spec) for spec in inputs]
    gradient: Any = heads if len(heads) > 1 else heads[0]
    results: Any = _Arithmetic(out) if isinstance(out, Spec) else tuple(_Arithmetic(spec) for spec in out)
    rule: Any = op.gradient_function
    want = tuple(Want() if wanted is None or wanted[place] else None for place in range(len(arrays)))
    if op.variadic:
        made = rule(F, gradient, arrays, results, call.attrs, want)
    else:
        padding = (None,) * (len(op.inputs) - len(arrays))
        made = rule(F, gradient, *arrays, *padding, results, call.attrs, want + padding)
    made = made if isinstance(made, (tuple, list)) else (made,)
    return [None if array is None else array.spec for array in made[: len(arrays)]]
