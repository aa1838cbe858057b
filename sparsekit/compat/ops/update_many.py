"""Steps of several weights in one call, and what scaling by layer and loss scaling need to know of many arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.errors import ShapeError, SparsekitError, expected
from ...core import cost, infer
from ...core.op import REDUCED, REQUIRED, Op
from ...ops import samples
from ...ops.update.update import Update, apply_step
from ...ops.update.update_momentum import sgd_mom_update, sgd_update
from ...ops.update.update_precision import mp_sgd_mom_update, mp_sgd_update, step_precisely
from ...storage import CSR, RowSparse

__all__ = ["multi_all_finite", "multi_lars", "multi_sum_sq", "reset_arrays"]

_ANY = "default|row_sparse|csr"


def _groups(name: str, group: int, preloaded: bool) -> Callable[[Any, dict[str, Any]], Any]:
    """A shape function: the weights' shapes, after counting the arrays."""

    def shape(shapes: Any, attrs: dict[str, Any]) -> Any:
        count = attrs["num_weights"]
        if not isinstance(count, (int, np.integer)) or count < 1:
            raise SparsekitError(expected(f"{name}: num_weights", "an integer of at least 1", count),
                                 hint="it counts the weights.")
        wanted = count * group + 2 * preloaded
        if len(shapes) != wanted:
            raise ShapeError(f"{count} weights come with {wanted} arrays, not {len(shapes)}.",
                             hint="give the arrays of the first weight, then those of the second; num_weights counts weights.")
        rates = [shapes[-2], shapes[-1]] if preloaded else [(len(attrs[key]),) for key in ("lrs", "wds")]
        if any(tuple(size) != (count,) for size in rates):
            raise ShapeError(f"{count} weights take {count} learning rates and weight decays, not {rates}.",
                             hint="one of each for every weight.")
        found = [infer.same_shape(shapes[place:place + group], attrs) for place in range(0, count * group, group)]
        return found[0] if count == 1 else found

    return shape


def _types(group: int) -> Callable[[Any, dict[str, Any]], Any]:
    def types(dtypes: Any, attrs: dict[str, Any]) -> Any:
        found = [dtypes[place] for place in range(0, group * attrs["num_weights"], group)]
        return found[0] if len(found) == 1 else found

    return types


def _one_weight(plain: Update, preloaded: bool) -> Callable[[], Any]:
    """Samples with one weight, from those of the operator of one weight."""

    def make() -> Any:
        found = []
        for arrays, attrs in list(plain.sample())[:1]:
            rest = {name: value for name, value in attrs.items() if name not in ("lr", "wd", "lazy_update")}
            rates = [np.array([attrs[key]], np.float32) for key in ("lr", "wd")]
            given = {} if preloaded else {"lrs": (attrs["lr"],), "wds": (attrs["wd"],)}
            found.append(([*arrays, *rates] if preloaded else arrays, {**given, **rest}))
        return found

    return make


def _declare(plain: Update, precise: bool, preloaded: bool) -> Update:
    group = len(plain.inputs)
    name = ("preloaded_" if preloaded else "") + f"multi_{plain.name}"
    made = Update(
        name, "*data", shape=_groups(name, group, preloaded), dtype=_types(group), lane="update",
        cost=cost.updates(group, "num_weights"),
        mutates=lambda attrs: [place for place in range(group * attrs["num_weights"]) if place % group != 1],
        outputs=lambda attrs: attrs["num_weights"], sample=_one_weight(plain, preloaded),
        doc=f"``{plain.name}`` of ``num_weights`` weights in one call: {', '.join(plain.inputs)} of the first, then of the "
            f"second, …{', then an array of learning rates and one of weight decays' if preloaded else ''}.  Rows that "
            f"row_sparse gradients do not store rest, where all arrays are row_sparse.\n\n" + plain.doc.partition("\n\n")[0])
    momentum = {"momentum": 0.0} if "momentum" in plain.attrs else {}
    rates = {} if preloaded else {"lrs": REQUIRED, "wds": REQUIRED}
    made.attrs = {**rates, **momentum, "rescale_grad": 1.0, "clip_gradient": -1.0, "num_weights": 1}
    made.group = group

    def run(k: Any, *arrays_and_attrs: Any) -> Any:
        *arrays, attrs = arrays_and_attrs
        lrs, wds = (arrays[-2].tolist(), arrays[-1].tolist()) if preloaded else (attrs["lrs"], attrs["wds"])
        for number in range(attrs["num_weights"]):
            weight, grad, *states = arrays[number * group:(number + 1) * group]
            given = {**attrs, "lr": lrs[number], "wd": wds[number], "lazy_update": True}
            if precise:
                step_precisely(k, plain.step, given, weight, grad, states[:-1], states[-1])
            else:
                apply_step(k, plain.step, given, weight, grad, states)
        weights = tuple(arrays[place] for place in made.weights(attrs))
        return weights[0] if len(weights) == 1 else weights

    made.forward("default... -> default...")(run)
    if not preloaded:
        made.forward("row_sparse... -> row_sparse...")(run)
    return made


for _preloaded in (False, True):
    _declare(sgd_update, False, _preloaded)
    _declare(sgd_mom_update, False, _preloaded)
    _declare(mp_sgd_update, True, _preloaded)
    _declare(mp_sgd_mom_update, True, _preloaded)


def _two(**attrs: Any) -> Callable[[], Any]:
    return lambda: [([samples.grid(), samples.grid(3, 2, seed=1)], dict(attrs))]


def _counted(shapes: Any, attrs: dict[str, Any]) -> None:
    if len(shapes) != attrs["num_arrays"]:
        raise ShapeError(f"num_arrays={attrs['num_arrays']} does not count the {len(shapes)} arrays.", hint="give their number.")


def _stored(store: Any) -> Any:
    return store.data if isinstance(store, (CSR, RowSparse)) else store


def _sums_shape(shapes: Any, attrs: dict[str, Any]) -> Any:
    _counted(shapes, attrs)
    return (len(shapes),)


def _squares_cost(attrs: Any, inputs: Any, outputs: Any) -> tuple[int, int]:
    """A multiplication and an addition for each stored value of each array."""
    found = [cost.each_taken(2)(attrs, [array], outputs) for array in inputs]
    return sum(useful for useful, _ in found), sum(dense for _, dense in found)


multi_sum_sq = Op(
    "multi_sum_sq", "*data", shape=_sums_shape, dtype=lambda dtypes, attrs: np.dtype(np.float32), cost=_squares_cost,
    sample=_two(num_arrays=2), instead="square and sum",
    doc="The sum of squares of each of several arrays, as one float32 array; of sparse ones over what is stored.")
multi_sum_sq.attrs = {"num_arrays": REQUIRED}


@multi_sum_sq.forward(f"{_ANY}... -> default", asked=REDUCED)
def _(k: Any, *arrays_and_attrs: Any) -> Any:
    flat = [_stored(store).reshape(-1) for store in arrays_and_attrs[:-1]]
    wide = [array.astype(np.float32) if array.dtype.itemsize < 4 else array for array in flat]
    return k.xp.asarray([float(k.xp.dot(array, array)) for array in wide], np.float32)


def _lars_sample() -> Any:
    rates, decays = np.array([0.1, 0.2, 0.3], np.float32), np.array([0.01, 0.0, 0.1], np.float32)
    return [([rates, np.array([4.0, 0.0, 2.0], np.float32), np.array([1.0, 3.0, 0.5], np.float32), decays],
             {"eta": 0.01, "eps": 1e-8, "rescale_grad": 0.5})]


multi_lars = Op(
    "multi_lars", "lrs weights_sum_sq grads_sum_sq wds", shape=infer.same_shape, dtype=lambda dtypes, attrs: dtypes[0],
    cost=cost.elementwise, sample=_lars_sample, instead="elementwise operators",
    doc="Learning rates scaled by layer (LARS): ``lrs * eta * w / (g * rescale_grad + wds * w + eps)``, with w and g the roots "
        "of the sums of squares; rates of layers where one of them is zero stay.")
multi_lars.attrs = {"eta": REQUIRED, "eps": REQUIRED, "rescale_grad": 1.0}


@multi_lars.forward("default, default, default, default -> default")
def _(k: Any, lrs: Any, weights: Any, grads: Any, wds: Any, attrs: Any) -> Any:
    weight, grad = k.xp.sqrt(weights), k.xp.sqrt(grads)
    below = grad * attrs["rescale_grad"] + wds * weight + attrs["eps"]
    moved = (weight > 0) & (grad > 0)
    return (lrs * k.xp.where(moved, attrs["eta"] * weight / k.xp.where(moved, below, 1), 1)).astype(lrs.dtype, copy=False)


def _all_finite(k: Any, *arrays_and_attrs: Any, out: Any = None) -> Any:
    *arrays, attrs = arrays_and_attrs
    fine = all(bool(k.xp.isfinite(_stored(store)).all()) for store in arrays)
    before = 1.0 if out is None or attrs["init_output"] else float(out[0])
    made = k.xp.asarray([float(fine) * before], np.float32)
    if out is None:
        return made
    out[...] = made
    return out


_ALL_SAID = ("One number, 1 if every value of {} is finite and 0 otherwise.  With ``init_output=False`` an ``out`` that "
             "holds 0 keeps it.")
all_finite = Op(
    "all_finite", "data", shape=lambda shapes, attrs: (1,), dtype=lambda dtypes, attrs: np.dtype(np.float32), cost=cost.none,
    sample=lambda: [([samples.grid()], {})], instead="isfinite", doc=_ALL_SAID.format("an array"))
all_finite.attrs = {"init_output": True}
all_finite.forward(f"{_ANY} -> default", asked=REDUCED)(_all_finite)


def _one_number(shapes: Any, attrs: dict[str, Any]) -> Any:
    _counted(shapes, attrs)
    return (1,)


multi_all_finite = Op(
    "multi_all_finite", "*data", shape=_one_number, dtype=lambda dtypes, attrs: np.dtype(np.float32), cost=cost.none,
    sample=_two(num_arrays=2), instead="isfinite", doc=_ALL_SAID.format("several arrays"))
multi_all_finite.attrs = {"num_arrays": 1, "init_output": True}
multi_all_finite.forward(f"{_ANY}... -> default", asked=REDUCED)(_all_finite)


def _no_outputs(shapes: Any, attrs: dict[str, Any]) -> Any:
    _counted(shapes, attrs)
    return []


reset_arrays = Op(
    "reset_arrays", "*data", shape=_no_outputs, dtype=lambda dtypes, attrs: [], cost=cost.none,
    mutates=lambda attrs: range(attrs["num_arrays"]), outputs=0,
    sample=_two(num_arrays=2), doc="Set several arrays to zero, in place; sparse ones then store nothing.")
reset_arrays.attrs = {"num_arrays": REQUIRED}


@reset_arrays.forward(f"{_ANY}... -> default")
def _(k: Any, *arrays_and_attrs: Any) -> Any:
    for store in arrays_and_attrs[:-1]:
        if isinstance(store, RowSparse):
            store.replace(RowSparse(store.data[:0].copy(), store.indices[:0].copy(), store.shape, check=False))
        elif isinstance(store, CSR):
            store.replace(CSR(store.data[:0].copy(), store.indices[:0].copy(), k.xp.zeros_like(store.indptr), store.shape,
                              check=False))
        else:
            store[...] = 0
    return ()
