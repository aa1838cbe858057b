"""AdamW and LAMB of several weights in one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.errors import ShapeError, SparsekitError, expected
from ...core import cost, infer
from ...core.op import REQUIRED
from ...ops.update.update import Update, apply_step
from ...ops.update.update_adaptive import adamw_attrs, adamw_update, lamb_phase1, lamb_phase2, lamb_update_phase1
from ...ops.update.update_precision import step_precisely

__all__: list[str] = []

_LISTS = {"lr": "learning_rates", "wd": "wds", "t": "step_count"}


def _shape(name: str, group: int, counter: str, lists: tuple[str, ...], rest: int) -> Callable[..., Any]:
    """The weights' shapes, after counting the arrays and the numbers."""

    def shape(shapes: Any, attrs: dict[str, Any]) -> Any:
        count = attrs[counter]
        if not isinstance(count, (int, np.integer)) or count < 1:
            raise SparsekitError(expected(f"{name}: {counter}", "an integer of at least 1", count), hint="it counts the weights.")
        if len(shapes) != count * group + rest:
            raise ShapeError(f"{count} weights come with {count * group + rest} arrays, not {len(shapes)}.",
                             hint="give lists of equal length.")
        for key in lists:
            if len(attrs[key]) != count:
                raise ShapeError(f"{key} has {len(attrs[key])} numbers for {count} weights.", hint="one for every weight.")
        found = [infer.same_shape(shapes[place:place + group], attrs) for place in range(0, count * group, group)]
        return found[0] if count == 1 else found

    return shape


def _types(group: int, counter: str) -> Callable[..., Any]:
    def types(dtypes: Any, attrs: dict[str, Any]) -> Any:
        found = [dtypes[place] for place in range(0, group * attrs[counter], group)]
        return found[0] if len(found) == 1 else found

    return types


def _declare(name: str, group: int, counter: str, lists: tuple[str, ...], attrs: dict[str, Any], step: Callable[..., None],
             doc: str, rest: int, sample: Callable[[], Any]) -> None:
    made = Update(
        f"_{name}", "*data", shape=_shape(name, group, counter, lists, rest), dtype=_types(group, counter), lane="update",
        cost=cost.updates(group, counter),
        mutates=lambda attrs: [place for place in range(group * attrs[counter]) if place % group != 1],
        outputs=lambda attrs: attrs[counter], sample=sample, doc=doc)
    made.attrs = {**dict.fromkeys(lists, REQUIRED), **attrs, counter: 1}
    made.group, made.counter = group, counter

    def run(k: Any, *arrays_and_attrs: Any) -> Any:
        *arrays, given = arrays_and_attrs
        for number in range(given[counter]):
            own = {key: given[key][number] for key in lists}
            step(k, given, own, arrays[number * group:(number + 1) * group], arrays[given[counter] * group:])
        weights = tuple(arrays[place] for place in made.weights(given))
        return weights[0] if len(weights) == 1 else weights

    made.forward("default... -> default...")(run)


def _adamw(k: Any, attrs: dict[str, Any], own: dict[str, Any], arrays: Any, rest: Any) -> None:
    weight, grad, mean, var, *copies = arrays
    given = adamw_attrs({**attrs, "lr": own["lrs"], "wd": own["wds"], "eta": own["etas"], "lazy_update": False}, rest[0])
    if given is None:
        return
    if copies:
        step_precisely(k, adamw_update.step, given, weight, grad, (mean, var), copies[0])
    else:
        apply_step(k, adamw_update.step, given, weight, grad, (mean, var))


def _norm(xp: Any, array: Any) -> Any:
    flat = array.reshape(-1)
    return xp.sqrt(xp.dot(flat, flat)).reshape(1)


def _lamb(k: Any, attrs: dict[str, Any], own: dict[str, Any], arrays: Any, rest: Any) -> None:
    weight, grad, mean, var, *copies = arrays
    exact = copies[0] if copies else weight
    given = {**attrs, "lr": own["learning_rates"], "wd": own["wds"], "t": own["step_count"], "lazy_update": False}
    norm = _norm(k.xp, exact)
    step = lamb_phase1(k, exact, grad.astype(exact.dtype, copy=False), mean, var, given)
    lamb_phase2(k, exact, step, norm, _norm(k.xp, step), given)
    if copies:
        weight[...] = exact


def _samples(plain: Any, lists: dict[str, str], precise: bool, extra: dict[str, Any]) -> Callable[[], Any]:
    """A sample with one weight, from those of the operator of one weight."""

    def make() -> Any:
        arrays, attrs = next(iter(plain.sample()))
        arrays = [np.array(array) for array in arrays]
        weight, grad, mean, var, *rest = arrays
        kind = np.float16 if precise else np.float32
        given = [weight.astype(kind), grad.astype(kind), mean, var, *([weight] if precise else []), *rest]
        known = {**attrs, **extra}
        numbers = {key: (known.pop(name),) for name, key in lists.items()}
        known.pop("lazy_update", None)
        return [(given, {**known, **numbers})]

    return make


_ADAMW_LISTS, _LAMB_LISTS = {"lr": "lrs", "wd": "wds", "eta": "etas"}, _LISTS
_WIDE = "  Steps are computed on the float32 copies that follow each float16 weight's arrays."
for _precise in (False, True):
    _mp, _group = "mp_" if _precise else "", 4 + _precise
    _declare(f"multi_{_mp}adamw_update", _group, "num_weights", tuple(_ADAMW_LISTS.values()),
             {name: adamw_update.attrs[name] for name in ("beta1", "beta2", "epsilon", "clip_gradient")}, _adamw,
             "``adamw_update`` of ``num_weights`` weights in one call: weight, gradient, mean and var of the first, then of the "
             "second, …, and the gradients' factor, an array of one number." + _WIDE * _precise, 1,
             _samples(adamw_update, _ADAMW_LISTS, _precise, {}))
    _declare(f"multi_{_mp}lamb_update", _group, "num_tensors", tuple(_LAMB_LISTS.values()),
             {**{name: lamb_update_phase1.attrs[name] for name in ("beta1", "beta2", "epsilon", "rescale_grad")},
              "lower_bound": -1.0, "upper_bound": -1.0, "clip_gradient": -1.0, "bias_correction": True}, _lamb,
             "Both phases of LAMB of ``num_tensors`` weights in one call: weight, gradient, mean and var of the first, then of "
             "the second, …  ``lower_bound`` and ``upper_bound`` bound a weight's norm where they are not negative."
             + _WIDE * _precise, 0, _samples(lamb_update_phase1, _LAMB_LISTS, _precise, {"lr": 0.1}))
