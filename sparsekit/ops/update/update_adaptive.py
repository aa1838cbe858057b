"""Optimizer steps with a learning rate of each element, and the two phases of LAMB."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, overload

import numpy as np

from ...base.errors import ShapeError
from ...core import cost, infer
from ...core.op import REQUIRED, Op, Visits
from ...storage import RowSparse
from ..limits import dense_inside
from .update import (
    STORES,
    Update,
    UpdateRule,
    apply_step,
    declare,
    example,
    first_type,
    numbers_of,
    rows_for,
    rows_of,
)
from .update_momentum import sgd_update

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...base.types import Array, Attrs, DType, Shape
    from ...core.cost import Meta
    from ...kernels.types import Kernels
    from ...storage.types import Weight
    from .. import samples

_TAIL = {"wd": 0.0, "rescale_grad": 1.0, "clip_gradient": -1.0}
_LAZY, _ALL = {**_TAIL, "lazy_update": True}, {**_TAIL, "lazy_update": False}
_BETAS = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
_DECAYED = "Weight decay is added to ``g`` first: the operator bounds and averages ``g + wd * weight``."


def _moments(beta1: float, beta2: float) -> tuple[float, ...]:
    return beta1, 1 - beta1, beta2, 1 - beta2


adam_update = declare(
    "adam_update", "mean var", "adam_step", {"lr": REQUIRED, **_BETAS, **_LAZY},
    lambda lr, wd, epsilon, beta1, beta2: (lr, wd, epsilon, *_moments(beta1, beta2)),
    "Adam: mean and var are moving means of ``g`` and ``g * g``; ``weight -= lr * mean / (sqrt(var) + epsilon)``, "
    "without bias correction, which belongs in ``lr``.", signs=" +", order=_DECAYED)

adamw_rows_update = declare(
    "_adamw_rows_update", "mean var", "adamw_step", {"lr": REQUIRED, **_BETAS, **_LAZY},
    lambda lr, wd, epsilon, beta1, beta2: (lr, wd, epsilon, *_moments(beta1, beta2)),
    "AdamW, whose weight decay is apart: mean and var as Adam's; ``weight -= lr * mean / (sqrt(var) + epsilon) + wd * weight``, "
    "without bias correction, which belongs in ``lr``.", signs=" +", order="Weight decay is not part of ``g``.")

adamax_update = declare(
    "adamax_update", "mean var", "adamax_step", {"lr": REQUIRED, "beta1": 0.9, "beta2": 0.999, **_ALL},
    lambda lr, wd, beta1, beta2: (lr, wd, beta1, 1 - beta1, beta2),
    "Adam by the largest gradient: ``var = max(beta2 * var, |g|); weight -= lr * mean / var``; elements whose gradient was "
    "always zero do not change.", signs=" +", order=_DECAYED)

nadam_update = declare(
    "nadam_update", "mean var", "nadam_step",
    {"lr": REQUIRED, **_BETAS, "t": REQUIRED, "momentum": REQUIRED, "next_momentum": REQUIRED, "schedule": REQUIRED, **_ALL},
    lambda lr, wd, epsilon, beta1, beta2, t, momentum, next_momentum, schedule: (
        lr * (1 - momentum) / (1 - schedule), lr * next_momentum / (1 - schedule * next_momentum), wd, epsilon,
        1 / (1 - beta2**t), *_moments(beta1, beta2)),
    "Adam with Nesterov's momentum at step ``t``: ``weight -= lr * ((1 - momentum) * g / (1 - schedule) + next_momentum * "
    "mean / (1 - schedule * next_momentum)) / (sqrt(var / (1 - beta2**t)) + epsilon)``; ``schedule`` is the product of all "
    "momenta so far.", signs=" +", order=_DECAYED,
    sample=example(2, " +", lr=0.1, t=2, momentum=0.45, next_momentum=0.46, schedule=0.2))

adagrad_update = declare(
    "_sparse_adagrad_update", "history", "adagrad_step", {"lr": REQUIRED, "epsilon": 1e-7, **_LAZY},
    lambda lr, wd, epsilon: (lr, wd, epsilon),
    "AdaGrad: ``history += g * g; weight -= lr * (g / sqrt(history + epsilon) + wd * weight)``.", signs="+",
    idle=lambda attrs: bool(attrs["wd"] == 0), aliases=("adagrad_update",))


def _one_a_row(shapes: list[Shape], attrs: Attrs) -> Shape:
    weight = infer.same_shape(shapes[:2], attrs)
    if len(weight) != 2 or tuple(shapes[2]) != (weight[0], 1):
        raise ShapeError(f"the weight has shape {tuple(weight)} and the history {tuple(shapes[2])}.",
                         hint="the weight has two dimensions, and the history one number per row: (rows, 1).")
    return weight


def _group_sample() -> samples.Samples:
    return [([*arrays[:2], arrays[2][:, :1].copy()], {name: value for name, value in attrs.items() if name != "wd"})
            for arrays, attrs in example(1, "+", lr=0.1)()]


group_adagrad_update = declare(
    "_contrib_group_adagrad_update", "history", "group_adagrad_step",
    {"lr": REQUIRED, "rescale_grad": 1.0, "clip_gradient": -1.0, "epsilon": 1e-5, "lazy_update": True},
    lambda lr, epsilon: (lr, epsilon),
    "AdaGrad with one rate per row: ``history += mean(g * g, axis=1); weight -= lr * g / sqrt(history + epsilon)``.  There is "
    "no weight decay.", idle=lambda attrs: True, flat=False, shape=_one_a_row, sample=_group_sample)

_CLIPPED = {**_ALL, "clip_weights": -1.0}
_CLIPPED = {name: _CLIPPED[name] for name in ("wd", "rescale_grad", "clip_gradient", "clip_weights", "lazy_update")}


def _limit(bound: float) -> float:
    return bound if bound >= 0 else math.inf


rmsprop_update = declare(
    "rmsprop_update", "n", "rmsprop_step", {"lr": REQUIRED, "gamma1": 0.95, "epsilon": 1e-8, **_CLIPPED},
    lambda lr, wd, epsilon, gamma1, clip_weights: (lr, wd, epsilon, gamma1, 1 - gamma1, _limit(clip_weights)),
    "RMSProp (Tieleman and Hinton): n is the moving mean of ``g * g``; ``weight -= lr * g / sqrt(n + epsilon)``; "
    "``clip_weights`` then bounds the weight.", signs="+", order=_DECAYED)

rmspropalex_update = declare(
    "rmspropalex_update", "n g delta", "centered_rmsprop_step",
    {"lr": REQUIRED, "gamma1": 0.95, "gamma2": 0.9, "epsilon": 1e-8, **_CLIPPED},
    lambda lr, wd, epsilon, gamma1, gamma2, clip_weights: (
        lr, wd, epsilon, gamma1, 1 - gamma1, _limit(clip_weights), gamma2),
    "RMSProp (Graves): n and the state g are moving means of ``g * g`` and ``g``; ``delta = gamma2 * delta - lr * g / "
    "sqrt(n - g * g + epsilon); weight += delta``; ``clip_weights`` then bounds the weight.", order=_DECAYED,
    sample=lambda: [([weight, grad, np.abs(square) + 5, mean, delta], attrs)
                    for (weight, grad, square, mean, delta), attrs in example(3, lr=0.1)()])

ftrl_update = declare(
    "ftrl_update", "z n", "ftrl_step", {"lr": REQUIRED, "lamda1": 0.01, "beta": 1.0, **_LAZY},
    lambda lr, wd, lamda1, beta: (lr, wd, lamda1, beta),
    "Follow the regularized leader: ``z += g - (sqrt(n + g * g) - sqrt(n)) * weight / lr; n += g * g``; ``weight = "
    "(sign(z) * lamda1 - z) / ((beta + sqrt(n)) / lr + wd)``, zero where ``|z| <= lamda1``.  With ``lr=0`` nothing changes; "
    "MXNet gives nan.\n\nMXNet leaves absent rows alone only where the weight is row_sparse too; here ``lazy_update`` says.",
    signs=" +", divides=True)

ftml_update = declare(
    "ftml_update", "d v z", "ftml_step",
    {"lr": REQUIRED, "beta1": 0.6, "beta2": 0.999, "epsilon": 1e-8, "t": REQUIRED, "wd": 0.0, "rescale_grad": 1.0,
     "clip_grad": -1.0, "lazy_update": False},
    lambda lr, wd, epsilon, t, beta1, beta2: (
        (1 - beta1**t) / lr, 1 / (1 - beta2**t), wd, epsilon, *_moments(beta1, beta2)),
    "Follow the moving leader, at step ``t``: v is the moving mean of ``g * g``, ``d = (1 - beta1**t) / lr * (sqrt(v / (1 - "
    "beta2**t)) + epsilon); z = beta1 * z + (1 - beta1) * g - (d - beta1 * d_before) * weight; weight = -z / d``.  With "
    "``lr=0`` nothing changes; MXNet gives nan.", signs="++", order=_DECAYED, bound="clip_grad", divides=True)

adadelta_update = declare(
    "adadelta_update", "acc_g acc_delta", "adadelta_step", {"rho": 0.9, "epsilon": 1e-5, **_ALL},
    lambda wd, epsilon, rho: (wd, epsilon, rho, 1 - rho),
    "AdaDelta: acc_g and acc_delta are moving means of ``g * g`` and ``delta * delta``; ``delta = sqrt(acc_delta + epsilon) / "
    "sqrt(acc_g + epsilon) * g; weight -= delta + wd * weight``.", signs="++", rests=lambda attrs: True)


# AdamW: the factor of the gradient is an array; the step is skipped if it is zero, infinite or nan


def rescaled_shape(shapes: list[Shape], attrs: Attrs) -> Shape:
    """Shape of the weight; the last input is the gradient's factor, one number."""
    if math.prod(shapes[-1]) != 1:
        raise ShapeError(f"rescale_grad must be one number, got shape {tuple(shapes[-1])}.", hint="it is one number.")
    return infer.same_shape(shapes[:-1], attrs)


def _rescaled_sample(states: int, signs: str) -> Callable[[], samples.Samples]:
    def make() -> samples.Samples:
        cases = []
        for arrays, attrs in example(states, signs, lr=0.1, eta=0.5)():
            del attrs["rescale_grad"]
            cases.append(([*arrays, np.array([0.5], np.float32)], attrs))
        return cases

    return make


_ADAMW = {"lr": REQUIRED, "eta": REQUIRED, **_BETAS, "wd": 0.0, "clip_gradient": -1.0, "lazy_update": False}
_ADAMW_STEP = UpdateRule(
    "adamw_step", numbers_of(lambda lr, eta, wd, epsilon, beta1, beta2: (
        eta * lr, eta * wd, epsilon, *_moments(beta1, beta2))), lambda attrs: False)

adamw_update = Update(
    "_contrib_adamw_update", "weight grad mean var rescale_grad", attrs=_ADAMW, shape=rescaled_shape, dtype=first_type,
    input_rule=None, lane="update", cost=cost.update,
    mutates=(0, 2, 3), aliases=("_adamw_update",), sample=_rescaled_sample(2, " +"),
    doc="Adam with weight decay apart: mean and var as Adam's; ``weight -= eta * (lr * mean / (sqrt(var) + epsilon) + wd * "
        "weight)``.\n\n``g`` is the gradient times ``rescale_grad``, an array of one number; where that is zero, infinite or "
        "nan nothing changes.  ``clip_gradient`` bounds ``g``.  With a row_sparse gradient, ``lazy_update=True`` changes only "
        "the rows it stores; otherwise absent rows are zeros.", step=_ADAMW_STEP)


def adamw_attrs(attrs: Attrs, rescale: Array) -> Attrs | None:
    """The attributes with the factor; None if the step is skipped."""
    factor = float(rescale.reshape(-1)[0])
    return {**attrs, "rescale_grad": factor} if factor != 0 and math.isfinite(factor) else None


def _adamw(k: Kernels, weight: Weight, grad: Weight, mean: Weight, var: Weight, rescale: Array, attrs: Attrs) -> Weight:
    step_attrs = adamw_attrs(attrs, rescale)
    if step_attrs is not None:
        apply_step(k, _ADAMW_STEP, step_attrs, weight, grad, (mean, var))
    return weight


rows_for(adamw_update, 3, _adamw, "default")


# LAMB: the first phase makes the step, the caller its and the weight's norm, the second phase takes it

_LAMB = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-6, "t": REQUIRED, "bias_correction": True, "wd": REQUIRED,
         "rescale_grad": 1.0, "clip_gradient": -1.0, "lazy_update": False}
_LAMB_STEP = UpdateRule(
    "lamb_step", numbers_of(lambda wd, epsilon, t, bias_correction, beta1, beta2: (
        *((1 / (1 - beta1**t), 1 / (1 - beta2**t)) if bias_correction else (1.0, 1.0)), wd, epsilon,
        *_moments(beta1, beta2))), lambda attrs: False)


class FirstPhase(Op):
    """The record of the first phase of LAMB, whose arrays are weight, gradient and states, and perhaps a copy of the weight."""

    def visits(self, attrs: Attrs, stypes: Sequence[str], training: bool) -> Visits:
        """A lazy step visits only the rows that the gradient stores; if there is a copy of the weight, the weight is not read."""
        touched = super().visits(attrs, stypes, training)
        if attrs["lazy_update"] and stypes[1] == "row_sparse":
            touched.reads.update({place: 1 for place in touched.reads if place != 1})
            touched.writes.update(dict.fromkeys(touched.writes, 1))
        if len(stypes) > 4:
            del touched.reads[0]
        return touched


lamb_update_phase1 = FirstPhase(
    "lamb_update_phase1", "weight grad mean var", attrs=_LAMB, shape=infer.same_shape, dtype=first_type, lane="update",
    cost=cost.update, mutates=(2, 3), asked="the result is the step of a weight that is dense",
    sample=lambda: [(arrays, {**attrs, "lazy_update": lazy})
                    for arrays, attrs in example(2, " +", t=2)() for lazy in (True, False)],
    doc="First phase of LAMB, its step: ``mean / (1 - beta1**t) / (sqrt(var / (1 - beta2**t)) + epsilon) + wd * weight``, "
        "with mean and var as Adam's of the gradient times ``rescale_grad``, which ``clip_gradient`` bounds where it is not "
        "negative; without ``bias_correction`` not divided.\n\nWith a row_sparse gradient and "
        "``lazy_update=True`` the step is row_sparse, and absent rows of mean and var rest; otherwise absent rows are zeros.")


@overload
def _rounded(numbers: None, dtype: DType) -> None: ...
@overload
def _rounded(numbers: Array, dtype: DType) -> Array: ...
def _rounded(numbers: Array | None, dtype: DType) -> Array | None:
    """Numbers in the type in which a step of a weight of this type is computed."""
    return None if numbers is None else numbers.astype(np.float32 if dtype.itemsize < 4 else dtype)


@overload
def lamb_phase1(k: Kernels, weight: Weight, grad: Array, mean: Weight, var: Weight, attrs: Attrs,
                numbers: Array | None = None) -> Array: ...
@overload
def lamb_phase1(k: Kernels, weight: Weight, grad: Weight, mean: Weight, var: Weight, attrs: Attrs,
                numbers: Array | None = None) -> Weight: ...
def lamb_phase1(k: Kernels, weight: Weight, grad: Weight, mean: Weight, var: Weight, attrs: Attrs,
                numbers: Array | None = None) -> Weight:
    """The step of LAMB; mean and var are written."""
    partial = isinstance(weight, RowSparse) and weight.data.shape[0] != weight.shape[0]
    values = dense_inside(k, weight, "lamb_update_phase1") if partial else rows_of(k, weight)
    if not (isinstance(grad, RowSparse) and attrs["lazy_update"]):
        out = k.xp.empty(values.shape, values.dtype)
        apply_step(k, _LAMB_STEP, attrs, values, dense_inside(k, grad, "lamb_update_phase1"), (out, mean, var),
                   numbers=_rounded(numbers, values.dtype))
        return out
    rows, states = grad.indices, [rows_of(k, state) for state in (mean, var)]
    parts = [k.xp.ascontiguousarray(array[rows]) for array in (values, values, *states)]
    every = RowSparse(grad.data, k.xp.arange(rows.shape[0]), parts[0].shape, check=False)  # a table does not know how many
    apply_step(k, _LAMB_STEP, attrs, parts[0], every, parts[1:], True, _rounded(numbers, parts[0].dtype))
    for state, part in zip(states, parts[2:], strict=True):
        state[rows] = part
    return RowSparse(parts[1], rows.copy(), weight.shape, check=False)


lamb_update_phase1.forward(f"{STORES}, row_sparse, {STORES}, {STORES} -> row_sparse", lazy_update=True)(lamb_phase1)
lamb_update_phase1.forward(", ".join([STORES] * 4) + " -> default")(lamb_phase1)

_RATIO = """

``r1`` and ``r2`` are the norms of the weight and of the step ``g``, arrays of one number; the rate is ``lr * r1 / r2``,
or ``lr`` where one of them is zero.  ``lower_bound`` and ``upper_bound`` bound ``r1`` where they are not negative."""


def _ratio_shape(shapes: list[Shape], attrs: Attrs) -> Shape:
    for place in (2, 3):
        if math.prod(shapes[place]) != 1:
            raise ShapeError(f"r{place - 1} must be one number, got shape {tuple(shapes[place])}.",
                             hint="it is one number, the norm.")
    return infer.same_shape([*shapes[:2], *shapes[4:]], attrs)


def _ratio_sample(copies: int = 0) -> Callable[[], samples.Samples]:
    def make() -> samples.Samples:
        arrays = example(copies)()[0][0]
        norms = [np.array([value], np.float32) for value in (2.0, 4.0)]
        return [([*arrays[:2], *norms, *arrays[2:]], {"lr": 0.1, "lower_bound": lower, "upper_bound": upper})
                for lower, upper in ((-1.0, -1.0), (3.0, -1.0), (-1.0, 1.0))]

    return make


lamb_update_phase2 = Update(
    "lamb_update_phase2", "weight g r1 r2", input_rule=None, attrs={"lr": REQUIRED, "lower_bound": -1.0, "upper_bound": -1.0},
    shape=_ratio_shape, dtype=first_type, lane="update", cost=cost.update, mutates=(0,), sample=_ratio_sample(),
    doc="Second phase of LAMB: ``weight -= lr * r1 / r2 * g``." + _RATIO)


_PLAIN = {"lr": 1.0, "wd": 0.0, "rescale_grad": 1.0, "clip_gradient": -1.0, "lazy_update": True}


def _rate_and_bounds(attrs: Attrs) -> tuple[float, float, float]:
    lower, upper = attrs["lower_bound"], attrs["upper_bound"]
    return attrs["lr"], lower if lower >= 0 else -math.inf, upper if upper >= 0 else math.inf


def lamb_phase2(k: Kernels, weight: Weight, step: Weight, norm: Array, step_norm: Array, attrs: Attrs,
                limits: Array | None = None) -> Weight:
    """Write the weight; ``limits`` has the rate and the bounds of the norm, by default ``attrs``."""
    rate, lower, upper = _rate_and_bounds(attrs) if limits is None else (limits[0], limits[1], limits[2])
    first, second = (array.reshape(-1)[0].astype(np.float64) for array in (norm, step_norm))
    first = k.xp.minimum(k.xp.maximum(first, lower), upper)
    numbers = k.xp.empty(4, np.float64)
    numbers[0], numbers[1], numbers[3] = 1.0, math.inf, 0.0
    numbers[2] = k.xp.where((first == 0) | (second == 0), 1.0, first / second) * rate
    apply_step(k, sgd_update.step, _PLAIN, weight, step, (), numbers=_rounded(numbers, weight.dtype))
    return weight


for _weight in ("default", "row_sparse"):
    lamb_update_phase2.forward(f"{_weight}, {STORES}, default, default -> {_weight}")(lamb_phase2)


# LAMB as one operator, with both phases and the norms between them


def _lamb_numbers(dtype: DType, attrs: Attrs) -> Array:
    """What both phases take, in float64, of which the first part is rounded to the weight's type."""
    return np.array([*_LAMB_STEP.numbers(dtype, attrs), *_rate_and_bounds(attrs)], np.float64)


def _lamb_cost(attrs: Attrs, inputs: Sequence[Meta], outputs: Sequence[Meta]) -> tuple[int, int]:
    """Both phases, and the norms of the weight and of the step."""
    return 10 * inputs[1]["nnz"] + 2 * inputs[0]["nnz"], 12 * math.prod(inputs[0]["shape"])


#: Not listed: MXNet has operators of the two phases only.
lamb_update = Update(
    "_lamb_update", "weight grad mean var", attrs={**lamb_update_phase2.attrs, **_LAMB}, shape=infer.same_shape, dtype=first_type,
    lane="update", cost=_lamb_cost, mutates=(0, 2, 3), whole=(0,), listed=False, sample=example(2, " +", lr=0.1, t=2),
    doc="Both phases of LAMB, with the norms of the weight and of the step between them.", step=_LAMB_STEP._replace(
        numbers=_lamb_numbers))


def _lamb(k: Kernels, weight: Weight, grad: Weight, mean: Weight, var: Weight, attrs: Attrs) -> Weight:
    step = lamb_phase1(k, weight, grad, mean, var, attrs)
    return lamb_phase2(k, weight, step, _norm(k, weight), _norm(k, step), attrs)


def _lamb_by_numbers(k: Kernels, weight: Weight, grad: Weight, mean: Weight, var: Weight, numbers: Array, attrs: Attrs) -> Weight:
    step = lamb_phase1(k, weight, grad, mean, var, attrs, numbers[:-3])
    return lamb_phase2(k, weight, step, _norm(k, weight), _norm(k, step), attrs, numbers[-3:])


def _norm(k: Kernels, store: Weight) -> Array:
    """The root of the sum of squares as ``multi_sum_sq`` rounds it."""
    flat = (store.data if isinstance(store, RowSparse) else store).reshape(-1)
    wide = flat.astype(np.float32) if flat.dtype.itemsize < 4 else flat
    return k.xp.sqrt(k.xp.dot(wide, wide).astype(np.float32))


rows_for(lamb_update, 3, _lamb)
lamb_update.by_numbers = _lamb_by_numbers
