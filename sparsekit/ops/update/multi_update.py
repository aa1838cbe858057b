"""Optimizer steps for several weights in one call, and sums and checks of several arrays for LARS and loss scaling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import ShapeError, SparsekitError
from ...core import cost, infer
from ...core.op import REDUCED, REQUIRED, Op, Visits
from ...storage import CSR, RowSparse
from .. import samples
from .update import Update, apply_step
from .update_adaptive import adamw_attrs, adamw_update, lamb_phase1, lamb_phase2, lamb_update_phase1
from .update_momentum import sgd_mom_update, sgd_update
from .update_precision import mp_sgd_mom_update, mp_sgd_update, step_precisely

if TYPE_CHECKING:

    from ...base.types import Array, Attrs, DType, Shape
    from ...core.cost import Meta
    from ...core.types import Given, GivenStores
    from ...kernels.types import ArrayModule, Kernels
    from ...storage.types import Store

_ANY = "default|row_sparse|csr"


# Any: as in Op, which takes functions of shapes or types
def _shape(name: str, group: int, counter: str, lists: tuple[str, ...], trailing: tuple[str, ...]) -> Callable[..., Any]:
    """Shape inference that checks the numbers of arrays and rates; ``trailing`` names the arrays after those of the weights."""

    def shape(shapes: list[Shape], attrs: Attrs) -> Shape | list[Shape]:
        count = attrs[counter]
        if not isinstance(count, (int, np.integer)) or count < 1:
            raise SparsekitError(f"{name}: {counter} must be a positive integer, got {count!r}.",
                                 hint="pass the number of weights.")
        wanted = count * group + len(trailing)
        if len(shapes) != wanted:
            raise ShapeError(f"{count} weights require {wanted} arrays, got {len(shapes)}.",
                             hint=f"pass all arrays of the first weight, then those of the second; {counter} counts weights.")
        sizes: dict[str, Shape] = {key: (len(attrs[key]),) for key in lists}
        sizes |= {key: tuple(size) for key, size in zip(trailing, shapes[count * group:], strict=True) if key != "rescale_grad"}
        for key, size in sizes.items():
            if size != (count,):
                raise ShapeError(f"{key} must have shape ({count},), got {size}.",
                                 hint="pass one number for each weight.")
        weight_shapes = [infer.same_shape(shapes[place:place + group], attrs) for place in range(0, count * group, group)]
        return weight_shapes[0] if count == 1 else weight_shapes

    return shape


# Any: as in _shape
def _types(group: int, counter: str) -> Callable[..., Any]:
    def types(dtypes: Sequence[DType], attrs: Attrs) -> DType | list[DType]:
        weight_types = [dtypes[place] for place in range(0, group * attrs[counter], group)]
        return weight_types[0] if len(weight_types) == 1 else weight_types

    return types


def _declare(name: str, group: int, counter: str, lists: tuple[str, ...], attrs: Attrs, step: Callable[..., None],
             # Any: arrays and attributes, as the samples of any operator
             doc: str, sample: Callable[[], Any], trailing: tuple[str, ...] = (), sparse: bool = False,
             on_copy: bool = False) -> None:
    """Declare an operator that calls ``step(k, attrs, own, arrays, trailing)`` for each weight.

    Parameters
    ----------
    lists : tuple of str
        Attributes with one number for each weight; ``own`` has the numbers of one weight.
    trailing : tuple of str
        Arrays after those of the weights.  ``own`` includes their numbers, except for ``rescale_grad``.
    sparse : bool
        Whether all arrays may be row_sparse.
    on_copy : bool
        Whether the arrays of a weight end with a copy of it.
    """
    op = Update(
        name, "*data", attrs={**dict.fromkeys(lists, REQUIRED), **attrs, counter: 1},
        shape=_shape(name, group, counter, lists, trailing), dtype=_types(group, counter), lane="update",
        cost=cost.updates(group, counter), group=group, counter=counter, sample=sample, doc=doc,
        mutates=lambda attrs: [place for place in range(group * attrs[counter]) if place % group != 1],
        outputs=lambda attrs: attrs[counter], on_copy=on_copy)

    def run(k: Kernels, *arrays_and_attrs: *Given) -> Array | tuple[Array, ...]:
        *arrays, call_attrs = arrays_and_attrs
        behind = arrays[call_attrs[counter] * group:]
        numbers = {key: call_attrs[key] for key in lists}
        numbers |= {key: array.tolist() for key, array in zip(trailing, behind, strict=True) if key != "rescale_grad"}
        for place in range(call_attrs[counter]):
            own = {key: values[place] for key, values in numbers.items()}
            step(k, call_attrs, own, arrays[place * group:(place + 1) * group], behind)
        weights = tuple(arrays[place] for place in op.weights(call_attrs))
        return weights[0] if len(weights) == 1 else weights

    op.forward("default... -> default...")(run)
    if sparse:
        op.forward("row_sparse... -> row_sparse...")(run)


# Any: as above
def _one_weight(plain: Update, preloaded: bool) -> Callable[[], Any]:
    """Samples with one weight, from the samples of the operator for one weight."""

    def make() -> samples.Samples:
        arrays, attrs = next(iter(plain.sample()))
        others = {name: value for name, value in attrs.items() if name not in ("lr", "wd", "lazy_update")}
        rates = [np.array([attrs[key]], np.float32) for key in ("lr", "wd")]
        lists = {} if preloaded else {"lrs": (attrs["lr"],), "wds": (attrs["wd"],)}
        return [([*arrays, *rates] if preloaded else arrays, {**lists, **others})]

    return make


def _declare_descent(plain: Update, precise: bool, preloaded: bool) -> None:
    rates = ("lrs", "wds")
    momentum = {"momentum": 0.0} if "momentum" in plain.attrs else {}

    def step(k: Kernels, attrs: Attrs, own: Attrs, arrays: Sequence[Array], trailing: Sequence[Array]) -> None:
        weight, grad, *states = arrays
        step_attrs = {**attrs, "lr": own["lrs"], "wd": own["wds"], "lazy_update": True}
        if precise:
            step_precisely(k, plain.step, step_attrs, weight, grad, states[:-1], states[-1])
        else:
            apply_step(k, plain.step, step_attrs, weight, grad, states)

    _declare(f"{'preloaded_' * preloaded}multi_{plain.name}", len(plain.inputs), "num_weights", () if preloaded else rates,
             {**momentum, "rescale_grad": 1.0, "clip_gradient": -1.0}, step,
             f"``{plain.name}`` for ``num_weights`` weights in one call: {', '.join(plain.inputs)} of the first, then of the "
             f"second, …{', then an array of learning rates and one of weight decays' if preloaded else ''}.  If all "
             f"arrays are row_sparse, only the rows that the gradients store are updated.\n\n" + plain.doc.partition("\n\n")[0],
             _one_weight(plain, preloaded), rates if preloaded else (), not preloaded, precise)


for _preloaded in (False, True):
    _declare_descent(sgd_update, False, _preloaded)
    _declare_descent(sgd_mom_update, False, _preloaded)
    _declare_descent(mp_sgd_update, True, _preloaded)
    _declare_descent(mp_sgd_mom_update, True, _preloaded)


def _adamw(k: Kernels, attrs: Attrs, own: Attrs, arrays: Sequence[Array], trailing: Sequence[Array]) -> None:
    weight, grad, mean, var, *copies = arrays
    step_attrs = adamw_attrs({**attrs, "lr": own["lrs"], "wd": own["wds"], "eta": own["etas"], "lazy_update": False}, trailing[0])
    if step_attrs is None:
        return
    if copies:
        step_precisely(k, adamw_update.step, step_attrs, weight, grad, (mean, var), copies[0])
    else:
        apply_step(k, adamw_update.step, step_attrs, weight, grad, (mean, var))


def _norm(xp: ArrayModule, array: Array) -> Array:
    flat = array.reshape(-1)
    return xp.sqrt(xp.dot(flat, flat)).reshape(1)


def _lamb(k: Kernels, attrs: Attrs, own: Attrs, arrays: Sequence[Array], trailing: Sequence[Array]) -> None:
    weight, grad, mean, var, *copies = arrays
    exact = copies[0] if copies else weight
    step_attrs = {**attrs, "lr": own["learning_rates"], "wd": own["wds"], "t": own["step_count"], "lazy_update": False}
    norm = _norm(k.xp, exact)
    step = lamb_phase1(k, exact, grad.astype(exact.dtype, copy=False), mean, var, step_attrs)
    lamb_phase2(k, exact, step, norm, _norm(k.xp, step), step_attrs)
    if copies:
        weight[...] = exact


# Any: as above
def _samples(plain: Op, lists: dict[str, str], precise: bool, extra: Attrs) -> Callable[[], Any]:
    """A sample with one weight, from the samples of the operator for one weight."""

    def make() -> samples.Samples:
        arrays, attrs = next(iter(plain.sample()))
        arrays = [np.array(array) for array in arrays]
        weight, grad, mean, var, *trailing = arrays
        kind = np.float16 if precise else np.float32
        inputs = [weight.astype(kind), grad.astype(kind), mean, var, *([weight] if precise else []), *trailing]
        merged = {**attrs, **extra}
        numbers = {key: (merged.pop(name),) for name, key in lists.items()}
        merged.pop("lazy_update", None)
        return [(inputs, {**merged, **numbers})]

    return make


_ADAMW_LISTS = {"lr": "lrs", "wd": "wds", "eta": "etas"}
_LAMB_LISTS = {"lr": "learning_rates", "wd": "wds", "t": "step_count"}
_WIDE = "  Steps are computed on the float32 copies that follow each float16 weight's arrays."
for _precise in (False, True):
    _mp, _group = "mp_" if _precise else "", 4 + _precise
    _declare(f"_multi_{_mp}adamw_update", _group, "num_weights", tuple(_ADAMW_LISTS.values()),
             {name: adamw_update.attrs[name] for name in ("beta1", "beta2", "epsilon", "clip_gradient")}, _adamw,
             "``adamw_update`` for ``num_weights`` weights in one call: weight, gradient, mean and var of the first, then of the "
             "second, …, and ``rescale_grad``, an array of one number." + _WIDE * _precise,
             _samples(adamw_update, _ADAMW_LISTS, _precise, {}), ("rescale_grad",), on_copy=_precise)
    _declare(f"_multi_{_mp}lamb_update", _group, "num_tensors", tuple(_LAMB_LISTS.values()),
             {**{name: lamb_update_phase1.attrs[name] for name in ("beta1", "beta2", "epsilon", "rescale_grad")},
              "lower_bound": -1.0, "upper_bound": -1.0, "clip_gradient": -1.0, "bias_correction": True}, _lamb,
             "Both phases of LAMB for ``num_tensors`` weights in one call: weight, gradient, mean and var of the first, then of "
             "the second, …  ``lower_bound`` and ``upper_bound`` limit the norm of a weight if they are not negative."
             + _WIDE * _precise, _samples(lamb_update_phase1, _LAMB_LISTS, _precise, {"lr": 0.1}), on_copy=_precise)


# Any: as above
def _two(**attrs: int) -> Callable[[], Any]:
    return lambda: [([samples.grid(), samples.grid(3, 2, seed=1)], dict(attrs))]


def _counted(shapes: Sequence[Shape], attrs: Attrs) -> None:
    if len(shapes) != attrs["num_arrays"]:
        raise ShapeError(f"num_arrays must be {len(shapes)}, got {attrs['num_arrays']}.", hint="pass the number of arrays.")


def _stored(store: Store) -> Array:
    return store.data if isinstance(store, (CSR, RowSparse)) else store


def _sums_shape(shapes: Sequence[Shape], attrs: Attrs) -> Shape | list[Shape]:
    _counted(shapes, attrs)
    return (len(shapes),)


def _squares_cost(attrs: Attrs, inputs: list[Meta], outputs: list[Meta]) -> tuple[int, int]:
    """A multiplication and an addition for each stored value of each array."""
    costs = [cost.each_taken(2)(attrs, [array], outputs) for array in inputs]
    return sum(useful for useful, _ in costs), sum(dense for _, dense in costs)


multi_sum_sq = Op(
    "multi_sum_sq", "*data", attrs={"num_arrays": REQUIRED}, shape=_sums_shape,
    dtype=lambda dtypes, attrs: np.dtype(np.float32), cost=_squares_cost, sample=_two(num_arrays=2),
    gradient_hint="square and sum",
    doc="The sum of squares of each of several arrays, as one float32 array.")


@multi_sum_sq.forward(f"{_ANY}... -> default", asked=REDUCED)
def _(k: Kernels, *arrays_and_attrs: *GivenStores) -> Array:
    flat = [_stored(store).reshape(-1) for store in arrays_and_attrs[:-1]]
    wide = [array.astype(np.float32) if array.dtype.itemsize < 4 else array for array in flat]
    return k.xp.asarray([float(k.xp.dot(array, array)) for array in wide], np.float32)


def _lars_sample() -> samples.Samples:
    rates, decays = np.array([0.1, 0.2, 0.3], np.float32), np.array([0.01, 0.0, 0.1], np.float32)
    return [([rates, np.array([4.0, 0.0, 2.0], np.float32), np.array([1.0, 3.0, 0.5], np.float32), decays],
             {"eta": 0.01, "eps": 1e-8, "rescale_grad": 0.5})]


multi_lars = Op(
    "multi_lars", "lrs weights_sum_sq grads_sum_sq wds", attrs={"eta": REQUIRED, "eps": REQUIRED, "rescale_grad": 1.0},
    shape=infer.same_shape, dtype=lambda dtypes, attrs: dtypes[0], cost=cost.elementwise, sample=_lars_sample,
    gradient_hint="elementwise operators",
    doc="Learning rates scaled by layer (LARS): ``lrs * eta * w / (g * rescale_grad + wds * w + eps)``, with w and g the roots "
        "of the sums of squares.  The rates of layers with w = 0 or g = 0 are unchanged.")


@multi_lars.forward("default, default, default, default -> default")
def _(k: Kernels, lrs: Array, weights: Array, grads: Array, wds: Array, attrs: Attrs) -> Array:
    weight, grad = k.xp.sqrt(weights), k.xp.sqrt(grads)
    below = grad * attrs["rescale_grad"] + wds * weight + attrs["eps"]
    moved = (weight > 0) & (grad > 0)
    return (lrs * k.xp.where(moved, attrs["eta"] * weight / k.xp.where(moved, below, 1), 1)).astype(lrs.dtype, copy=False)


def _all_finite(k: Kernels, *arrays_and_attrs: *GivenStores, out: Array | None = None) -> Array:
    *arrays, attrs = arrays_and_attrs
    fine = all(bool(k.xp.isfinite(_stored(store)).all()) for store in arrays)
    before = 1.0 if out is None or attrs["init_output"] else float(out[0])
    flag = k.xp.asarray([float(fine) * before], np.float32)
    if out is None:
        return flag
    out[...] = flag
    return out


_ALL_SAID = ("An array of one number: 1 if every value of {} is finite, else 0.  With ``init_output=False``, an ``out`` of 0 "
             "stays 0.")
all_finite = Op(
    "all_finite", "data", attrs={"init_output": True}, shape=lambda shapes, attrs: (1,),
    dtype=lambda dtypes, attrs: np.dtype(np.float32), cost=cost.none, sample=lambda: [([samples.grid()], {})],
    gradient_hint="isfinite", doc=_ALL_SAID.format("an array"))
all_finite.forward(f"{_ANY} -> default", asked=REDUCED)(_all_finite)


def _one_number(shapes: Sequence[Shape], attrs: Attrs) -> Shape:
    _counted(shapes, attrs)
    return (1,)


multi_all_finite = Op(
    "multi_all_finite", "*data", attrs={"num_arrays": 1, "init_output": True}, shape=_one_number,
    dtype=lambda dtypes, attrs: np.dtype(np.float32), cost=cost.none, sample=_two(num_arrays=2), gradient_hint="isfinite",
    doc=_ALL_SAID.format("several arrays"))
multi_all_finite.forward(f"{_ANY}... -> default", asked=REDUCED)(_all_finite)


def _no_outputs(shapes: Sequence[Shape], attrs: Attrs) -> list[Shape]:
    _counted(shapes, attrs)
    return []


class _Reset(Op):
    """The record of an operator that writes and does not read."""

    def visits(self, attrs: Attrs, stypes: Sequence[str], training: bool) -> Visits:
        return super().visits(attrs, stypes, training)._replace(reads={})


reset_arrays = _Reset(
    "reset_arrays", "*data", attrs={"num_arrays": REQUIRED}, shape=_no_outputs, dtype=lambda dtypes, attrs: [], cost=cost.none,
    mutates=lambda attrs: range(attrs["num_arrays"]), outputs=0, sample=_two(num_arrays=2),
    doc="Set several arrays to zero in place; sparse arrays store no values afterwards.")


@reset_arrays.forward(f"{_ANY}... -> default")
def _(k: Kernels, *arrays_and_attrs: *GivenStores) -> tuple[()]:
    for store in arrays_and_attrs[:-1]:
        if isinstance(store, RowSparse):
            store.replace(RowSparse(store.data[:0].copy(), store.indices[:0].copy(), store.shape, check=False))
        elif isinstance(store, CSR):
            store.replace(CSR(store.data[:0].copy(), store.indices[:0].copy(), k.xp.zeros_like(store.indptr), store.shape,
                              check=False))
        else:
            store[...] = 0
    return ()
