"""Optimizer steps as operators that write to their first inputs, so that updates show in a profile."""

from __future__ import annotations

import functools
from typing import Any

from ..base.errors import StorageTypeError
from ..core import cost, infer
from ..core.op import REQUIRED, Op
from ..storage import RowSparse, densify
from . import samples

__all__ = ["momentum_update", "sgd_update"]

_SHARED = {"lr": REQUIRED, "wd": 0.0, "rescale_grad": 1.0, "clip_gradient": -1.0, "lazy_update": True}

_RULE = """

With a row_sparse gradient and ``lazy_update=True`` only the rows that the gradient stores change: absent rows get
no weight decay{also}.  ``lazy_update=False`` treats absent rows as zeros, which gives exactly the dense result.
``clip_gradient`` bounds the rescaled gradient and is off when negative.  Writes to weight{state} in place."""

sgd_update = Op(
    "sgd_update", "weight grad", shape=infer.same_shape, dtype=lambda dtypes, attrs: dtypes[0], lane="update",
    cost=cost.update, mutates=(0,),
    sample=lambda: [([samples.grid(), samples.grid(seed=1)],
                     {"lr": 0.1, "wd": 0.01, "rescale_grad": 0.5, "clip_gradient": clip, "lazy_update": lazy})
                    for clip in (-1.0, 0.4) for lazy in (True, False)],
    doc="Stochastic gradient descent: ``weight -= lr * (clip(rescale_grad * grad) + wd * weight)``."
        + _RULE.format(also="", state=""))
sgd_update.attrs = dict(_SHARED)

momentum_update = Op(
    "sgd_mom_update", "weight grad mom", shape=infer.same_shape, dtype=lambda dtypes, attrs: dtypes[0], lane="update",
    cost=cost.update, mutates=(0, 2),
    sample=lambda: [([samples.grid(), samples.grid(seed=1), samples.grid(seed=2)],
                     {"lr": 0.1, "momentum": 0.9, "wd": 0.01, "rescale_grad": 0.5, "lazy_update": lazy})
                    for lazy in (True, False)],
    doc="Gradient descent with momentum: ``mom = momentum * mom - lr * (clip(rescale_grad * grad) + wd * weight); "
        "weight += mom``." + _RULE.format(also=" and their momentum rests", state=" and mom"))
momentum_update.attrs = {**_SHARED, "momentum": 0.0}


@functools.lru_cache(maxsize=1024)
def _cast(kind: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([kind(value) for value in values])


def _numbers(weight: Any, attrs: dict[str, Any], *names: str) -> tuple[Any, ...]:
    """Attributes as scalars of the weight's type, so that kernels compute in that type."""
    return _cast(weight.dtype.type, tuple([attrs[name] for name in names]))


def _rows_of(store: Any, what: str) -> Any:
    """The values of an array as (rows, width), to be written in place; a row_sparse one must hold all rows."""
    if isinstance(store, RowSparse):
        if store.data.shape[0] != store.shape[0]:
            raise StorageTypeError(f"The row_sparse {what} stores {store.data.shape[0]} of its {store.shape[0]} rows.",
                                   hint="a weight must hold every row; initializers make such weights.")
        store = store.data
    return store.reshape(store.shape[0], -1)


def _state_rows(k: Any, store: Any) -> Any:
    """The state as (rows, width); a row_sparse one gets its missing rows as zeros first."""
    if isinstance(store, RowSparse) and store.data.shape[0] != store.shape[0]:
        store.replace(RowSparse(densify(store, k.xp), k.xp.arange(store.shape[0]), store.shape, check=False))
    return _rows_of(store, "state")


for _weight in ("default", "row_sparse"):
    @sgd_update.forward(f"{_weight}, row_sparse -> {_weight}")
    def _(k: Any, weight: Any, grad: Any, attrs: Any) -> Any:
        values = _rows_of(weight, "weight")
        rate, decay, rescale, clip = _numbers(weight, attrs, "lr", "wd", "rescale_grad", "clip_gradient")
        if decay and not attrs["lazy_update"]:
            values *= 1 - rate * decay
            decay *= 0
        k.row_sparse_sgd_update(values, grad.data.reshape(-1, values.shape[1]), grad.indices, rate, decay, rescale, clip)
        return weight

    @sgd_update.forward(f"{_weight}, default -> {_weight}")
    def _(k: Any, weight: Any, grad: Any, attrs: Any) -> Any:
        k.dense_sgd_update(_rows_of(weight, "weight").reshape(-1), grad.reshape(-1),
                           *_numbers(weight, attrs, "lr", "wd", "rescale_grad", "clip_gradient"))
        return weight

    for _state in ("default", "row_sparse"):
        @momentum_update.forward(f"{_weight}, row_sparse, {_state} -> {_weight}")
        def _(k: Any, weight: Any, grad: Any, state: Any, attrs: Any) -> Any:
            values = _rows_of(weight, "weight")
            step = k.row_sparse_sgd_momentum_update if attrs["lazy_update"] else k.row_sparse_sgd_momentum_standard_update
            step(values, grad.data.reshape(-1, values.shape[1]), grad.indices, _state_rows(k, state),
                 *_numbers(weight, attrs, "lr", "momentum", "wd", "rescale_grad", "clip_gradient"))
            return weight

        @momentum_update.forward(f"{_weight}, default, {_state} -> {_weight}")
        def _(k: Any, weight: Any, grad: Any, state: Any, attrs: Any) -> Any:
            k.dense_sgd_momentum_update(
                _rows_of(weight, "weight").reshape(-1), grad.reshape(-1), _state_rows(k, state).reshape(-1),
                *_numbers(weight, attrs, "lr", "momentum", "wd", "rescale_grad", "clip_gradient"))
            return weight
