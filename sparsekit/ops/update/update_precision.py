"""Optimizer steps of float16 weights that are computed on a float32 copy of them, ``weight32``."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import DTypeError
from ...core import cost, infer
from ...storage import RowSparse
from .update import STORES, Update, UpdateRule, apply_step, first_type, rows_for, rows_of, rows_written
from .update_adaptive import (
    FirstPhase,
    adamw_attrs,
    adamw_update,
    lamb_phase1,
    lamb_phase2,
    lamb_update_phase1,
    lamb_update_phase2,
    rescaled_shape,
)
from .update_momentum import nag_mom_update, sgd_mom_update, sgd_update

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...base.types import Array, Attrs, DType, Indices
    from ...core.op import Op
    from ...kernels.types import Kernels
    from ...storage.types import Weight
    from .. import samples

_SAID = ", computed on ``weight32``, a float32 copy of the float16 weight, which gets the result too."


def _widened(grad: Weight, dtype: DType) -> Weight:
    """The gradient in the type of the copy."""
    if isinstance(grad, RowSparse):
        return RowSparse(grad.data.astype(dtype, copy=False), grad.indices, grad.shape, check=False)
    return grad.astype(dtype, copy=False)


def _copied(k: Kernels, weight: Weight, copy: Weight, rows: Indices | slice) -> None:
    """Give the weight the values of its copy."""
    values, exact = rows_of(k, weight), rows_of(k, copy)
    values[rows] = exact[rows]  # beyond 65,504 is infinite, as in any float16 operation


def step_precisely(k: Kernels, step: UpdateRule, attrs: Attrs, weight: Weight, grad: Weight, states: Sequence[Weight],
                   copy: Weight) -> None:
    """Run a step on the copy of a weight, and give the weight the result."""
    if copy.dtype.itemsize < weight.dtype.itemsize:
        raise DTypeError(f"weight32 is {copy.dtype}, less precise than the {weight.dtype} weight.", hint="it is a float32 copy.")
    rows = rows_written(step, attrs, copy, grad, states)
    apply_step(k, step, attrs, copy, _widened(grad, copy.dtype), states)
    _copied(k, weight, copy, rows)


def _halved(plain: Op, states: int) -> Callable[[], samples.Samples]:
    """Samples of a step as float16 weight and gradient, with the float32 copy behind the states."""

    def make() -> samples.Samples:
        return [([arrays[0].astype(np.float16), arrays[1].astype(np.float16), *arrays[2:2 + states], arrays[0],
                  *arrays[2 + states:]], attrs) for arrays, attrs in plain.sample()]

    return make


def _declare(plain: Update, states: str) -> Update:
    count = len(states.split())
    update = Update(
        f"mp_{plain.name}", " ".join(["weight grad", states, "weight32"]), attrs=plain.attrs, shape=infer.same_shape,
        dtype=first_type, lane="update", cost=cost.update, mutates=(0, *range(2, 3 + count)), sample=_halved(plain, count),
        doc=f"``{plain.name}``{_SAID}\n\n{plain.doc}", step=plain.step, on_copy=True)

    def run(k: Kernels, weight: Weight, grad: Weight, *arrays_and_attrs: *tuple[*tuple[Weight, ...], Weight, Attrs]) -> Weight:
        *arrays, copy, attrs = arrays_and_attrs
        step_precisely(k, update.step, attrs, weight, grad, arrays, copy)
        return weight

    rows_for(update, 2 + count, run)
    return update


@functools.cache
def precise(plain: Update) -> Update:
    """The operator that runs a step on ``weight32``, a float32 copy of a float16 weight, and gives the weight the result.

    It is not listed, and takes ``weight32`` behind the arrays of the step, as the listed ``mp_`` operators do.
    """
    count = len(plain.inputs) - 2
    update = Update(
        f"_mp_{plain.name.removeprefix('_contrib').removeprefix('_sparse').removeprefix('_')}",
        " ".join([*plain.inputs, "weight32"]), attrs=plain.attrs,
        shape=lambda shapes, attrs: plain.shape([shapes[-1], *shapes[1:-1]], attrs), dtype=first_type, lane="update",
        cost=cost.update, mutates=(0, *range(2, 3 + count)), random=plain.random, listed=False, sample=_halved(plain, count),
        doc=f"``{plain.name}``{_SAID}", step=plain.step, on_copy=True, whole=(count + 2,) if plain.whole else ())
    for rule in plain.rules:
        update.forward(f"{', '.join([*rule.inputs, rule.inputs[0]])} -> {rule.outputs[0]}")(
            _on_copy(rule.function, plain.step, count))
    update.by_numbers = None if plain.by_numbers is None else _on_copy(plain.by_numbers, plain.step, count)
    return update


def _on_copy(run_step: Callable[..., Weight], step: UpdateRule, states: int) -> Callable[..., Weight]:
    """The kernel of a step on the copy of a weight, which is behind the states."""

    def run(k: Kernels, weight: Weight, grad: Weight, *arrays_and_attrs: *tuple[*tuple[Weight, ...], Attrs]) -> Weight:
        *arrays, attrs = arrays_and_attrs
        copy = arrays.pop(states)
        rows = rows_written(step, attrs, copy, grad, arrays[:states])
        run_step(k, copy, _widened(grad, copy.dtype), *arrays, attrs)
        _copied(k, weight, copy, rows)
        return weight

    return run


mp_sgd_update = _declare(sgd_update, "")
mp_sgd_mom_update = _declare(sgd_mom_update, "mom")
mp_nag_mom_update = _declare(nag_mom_update, "mom")

mp_adamw_update = Update(
    "_contrib_mp_adamw_update", "weight grad mean var weight32 rescale_grad", attrs=adamw_update.attrs, shape=rescaled_shape,
    input_rule=None,
    dtype=first_type, lane="update", cost=cost.update, mutates=(0, 2, 3, 4), aliases=("_mp_adamw_update",),
    sample=_halved(adamw_update, 2), doc=f"``adamw_update``{_SAID}\n\n{adamw_update.doc}", step=adamw_update.step,
    on_copy=True)


def _adamw(k: Kernels, weight: Weight, grad: Weight, mean: Weight, var: Weight, copy: Weight, rescale: Array,
           attrs: Attrs) -> Weight:
    step_attrs = adamw_attrs(attrs, rescale)
    if step_attrs is not None:
        step_precisely(k, mp_adamw_update.step, step_attrs, weight, grad, (mean, var), copy)
    return weight


rows_for(mp_adamw_update, 4, _adamw, "default")

mp_lamb_update_phase1 = FirstPhase(
    "mp_lamb_update_phase1", "weight grad mean var weight32", attrs=lamb_update_phase1.attrs, shape=infer.same_shape,
    dtype=lambda dtypes, attrs: dtypes[4], lane="update", cost=cost.update, mutates=(2, 3), asked=lamb_update_phase1.asked,
    sample=_halved(lamb_update_phase1, 2),
    doc="``lamb_update_phase1`` by ``weight32``, a float32 copy of the float16 weight; the step is float32.\n\n"
        + lamb_update_phase1.doc)


def _phase1(k: Kernels, _weight: Weight, grad: Weight, mean: Weight, var: Weight, copy: Weight, attrs: Attrs) -> Weight:
    return lamb_phase1(k, copy, _widened(grad, copy.dtype), mean, var, attrs)


_REST = ", ".join([STORES] * 3)
mp_lamb_update_phase1.forward(f"{STORES}, row_sparse, {_REST} -> row_sparse", lazy_update=True)(_phase1)
mp_lamb_update_phase1.forward(f"{STORES}, {STORES}, {_REST} -> default")(_phase1)


def _ratio_sample() -> samples.Samples:
    return [([arrays[0].astype(np.float16), *arrays[1:], arrays[0]], attrs) for arrays, attrs in lamb_update_phase2.sample()]


mp_lamb_update_phase2 = Update(
    "mp_lamb_update_phase2", "weight g r1 r2 weight32", input_rule=None,
    attrs=lamb_update_phase2.attrs, shape=lamb_update_phase2.shape,
    dtype=first_type, lane="update", cost=cost.update, mutates=(0, 4), sample=_ratio_sample, on_copy=True,
    doc=f"``lamb_update_phase2``{_SAID}  (MXNet leaves ``weight32`` as it was.)\n\n{lamb_update_phase2.doc}")


def _phase2(k: Kernels, weight: Weight, step: Weight, norm: Array, step_norm: Array, copy: Weight, attrs: Attrs) -> Weight:
    lamb_phase2(k, copy, step, norm, step_norm, attrs)
    _copied(k, weight, copy, step.indices if isinstance(step, RowSparse) else slice(None))
    return weight


for _stype in ("default", "row_sparse"):
    mp_lamb_update_phase2.forward(f"{_stype}, {STORES}, default, default, {STORES} -> {_stype}")(_phase2)
