"""Optimizer steps as operators that write to their weights and states, so that updates show in a profile.

This module declares steps, and runs them on each kind of weight, gradient and state.
Families: ``update_momentum``, ``update_adaptive``, ``update_precision`` (float16 weights with a float32 copy)
and ``ops.update.multi_update`` (lists of weights in one call).
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...base.errors import DTypeError, SparsekitError
from ...core import cost, infer
from ...core.op import REQUIRED, Op, Visits
from ...core.partial_shapes import all_alike
from ...storage import RowSparse, densify, stype_of
from ...storage.check import check_room
from .. import samples
from ..limits import dense_inside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, DType, Indices, Shape
    from ...kernels.types import Kernels
    from ...storage.types import Weight

#: Storage types of weights, gradients and states.
STORES = "default|row_sparse"

_RULE = """

With a row_sparse gradient and ``lazy_update=True``, only the rows of the weight{states} that the gradient stores
change; the other rows get no weight decay.  ``lazy_update=False`` treats absent rows as zeros, which gives the dense
result.  So does any step whose states have another storage type than the weight.  If the result is the same, only
stored rows are computed.

``g`` is the gradient times ``rescale_grad``.  ``clip_gradient`` bounds its absolute value, and is off when negative.
{order}The result is the new weight; pass the weight as ``out`` to update it in place.{written}"""


#: The smallest learning rate that float32 holds together with its reciprocal.
SMALLEST = float(np.finfo(np.float32).tiny)


def is_zero(rate: object) -> bool:  # object: what is no number is refused later
    """Whether a learning rate is 0, or so small that it counts as 0."""
    return isinstance(rate, (int, float, np.floating, np.integer)) and abs(float(rate)) < SMALLEST


def never(attrs: Attrs) -> bool:
    """Whether something holds that holds with no attributes."""
    return False


class UpdateRule(NamedTuple):
    """The kernel of an update of one weight, and its numbers.

    Attributes
    ----------
    kernel : str
    numbers : callable
        ``numbers(dtype, attrs)`` gives the array of numbers that the kernel takes.
    idle : callable
        ``idle(attrs)``: whether a gradient of zero changes nothing.
    flat : bool
        Whether all elements are alike; otherwise rows are.
    rests : callable
        ``rests(attrs)``: whether optimizers leave the step out at a learning rate of 0, because the formula divides by the rate
        or does not have one.
    """

    kernel: str
    numbers: Callable[[DType, Attrs], Array]
    idle: Callable[[Attrs], bool]
    flat: bool = True
    rests: Callable[[Attrs], bool] = never


class Update(Op):
    """The record of an operator whose results are new weights, which its kernel writes in place.

    Attributes
    ----------
    step : UpdateRule, optional
        What the kernel runs for each weight.
    group : int
        Arrays a weight: with several weights, each is the first of so many inputs.
    counter : str
        Attribute that says how many weights there are then.
    on_copy : bool
        Whether the step is computed on a copy of the weight, which is then written without being read.
    whole : tuple of int
        Arrays that are read to the end even if only some of their rows are written to, as for a norm.
    """

    step: UpdateRule
    group: int
    counter: str
    on_copy: bool
    whole: tuple[int, ...]
    #: The kernel with the array of numbers behind the other arrays, which are then not computed from the attributes.
    by_numbers: Callable[..., Weight] | None = None

    def __init__(self, name: str, inputs: str, *, step: UpdateRule | None = None, group: int = 0, counter: str = "num_weights",
                 on_copy: bool = False, whole: tuple[int, ...] = (), **declared: Any) -> None:  # Any: what Op takes besides
        alike = not group and declared["shape"] is not infer.unchanged
        super().__init__(name, inputs, **{"input_rule": all_alike if alike else None, **declared})
        self.group, self.counter, self.on_copy, self.whole = group, counter, on_copy, whole
        if step is not None:
            self.step = step

    def weights(self, attrs: Attrs) -> range:
        """Places of the weights among the inputs, one a result."""
        return range(0, self.group * attrs[self.counter], self.group) if self.group else range(1)

    @functools.cache  # noqa: B019 - operators stay
    def with_numbers(self) -> Update:
        """The same update with its numbers as the last input; itself if its numbers are not known apart.

        A program of it runs with other learning rates without being made anew.
        """
        if self.by_numbers is None:
            return self
        update = Update(
            self.name, " ".join([*self.inputs, "numbers"]), attrs=self.attrs,
            shape=lambda shapes, attrs: self.shape(shapes[:-1], attrs), dtype=first_type, lane="update", mutates=self.mutates,
            random=self.random, listed=False, sample=self.sample, doc=self.doc, step=self.step, on_copy=self.on_copy,
            whole=self.whole)
        update.plain = self
        for rule in self.rules:
            update.forward(f"{', '.join([*rule.inputs, 'default'])} -> {rule.outputs[0]}")(self.by_numbers)
        return update

    def visits(self, attrs: Attrs, stypes: Sequence[str], training: bool) -> Visits:
        """A lazy step visits only the rows that the gradient stores, which is the input behind the weight."""
        touched = super().visits(attrs, stypes, training)
        for weight in self.weights(attrs):
            arrays = range(weight, weight + self.group) if self.group else range(len(stypes))
            written = [place for place in arrays if place in touched.writes]
            stepped = written[1:] if self.on_copy else written
            exact, states = (stepped[-1], stepped[:-1]) if self.on_copy else (weight, stepped[1:])
            if by_rows(getattr(self, "step", None), attrs, [stypes[place] for place in (exact, weight + 1, *states)]):
                touched.writes.update(dict.fromkeys(written, weight + 1))
                touched.reads.update({place: weight + 1 for place in stepped if place not in self.whole})
            if self.on_copy:
                del touched.reads[weight]
        return touched


def by_rows(step: UpdateRule | None, attrs: Attrs, stypes: Sequence[str]) -> bool:
    """Whether a step visits only the rows that the gradient stores: it is lazy, or absent rows would not change.

    ``stypes`` are those of weight, gradient and states.  As in MXNet, a lazy step needs states of the weight's storage type: a
    step on others is the dense one.
    """
    weight, grad, *states = stypes
    lazy = attrs.get("lazy_update", True) and all(state == weight for state in states)
    return grad == "row_sparse" and bool(lazy or (step is not None and step.idle(attrs)))


def first_type(dtypes: Sequence[DType], attrs: Attrs) -> DType:
    """The weight's element type."""
    return dtypes[0]


def example(states: int, signs: str = "", **attrs: float) -> Callable[[], samples.Samples]:
    """Samples of a step: weight, gradient and states, of which those marked ``+`` are positive; with few states lazy and not.
    """

    def make() -> samples.Samples:
        arrays = [samples.grid(seed=seed) for seed in range(2 + states)]
        for place, sign in enumerate(signs):
            arrays[2 + place] = np.abs(arrays[2 + place]) + np.float32(0.5) if sign == "+" else arrays[2 + place]
        return [(arrays, {"wd": 0.01, "rescale_grad": 0.5, "lazy_update": lazy, **attrs})
                for lazy in (True, False) if lazy or states < 2]

    return make


def numbers_of(function: Callable[..., tuple[float, ...]], bound: str = "clip_gradient") -> Callable[[DType, Attrs], Array]:
    """A function of a type and attributes that gives the numbers a step takes, as an array that is kept.

    ``function`` gets the attributes that its parameters name, and gives the numbers behind factor and bound.
    """
    code = function.__code__
    names = ("rescale_grad", bound, *code.co_varnames[: code.co_argcount])
    values_of = operator.itemgetter(*names)

    @functools.lru_cache(maxsize=256)
    def pack(kind: str, values: tuple[float, ...]) -> Array:
        kind = "f" if kind == "e" else kind  # a step of float16 arrays is computed on float32 copies
        try:
            # rounded first: 1 - beta of the rounded beta, so that the two add up to 1, as MXNet has them
            rescale, limit, *others = np.array(values, kind).tolist()
        except (TypeError, ValueError):
            rescale = None
        if rescale is None or None in values:
            raise DTypeError(f"An optimizer step takes numbers for {', '.join(names)}, not {values!r}.",
                             hint="pass each as a number, such as lr=0.1.")
        try:
            derived = function(*others)
        except ZeroDivisionError as error:  # a decay rate of 1, for instance
            named = ", ".join(f"{name}={value:g}" for name, value in zip(names[2:], others, strict=True))
            raise SparsekitError(f"An optimizer step divides by zero with {named}.", hint="change these numbers.") from error
        return np.array([rescale, limit if limit >= 0 else math.inf, *derived], kind)

    return lambda dtype, attrs: pack(dtype.char, values_of(attrs))


def rows_of(k: Kernels, store: Weight) -> Array:
    """The values of a weight or a state, to be written in place; a row_sparse one gets its missing rows as zeros first.

    Raises
    ------
    DensificationError
        If a weight of which some rows are stored would take more than ``config.densify_limit`` with all of them; a state begins
        without rows, and is as large as its weight.
    """
    if isinstance(store, RowSparse):
        if store.data.shape[0] != store.shape[0]:
            if store.data.shape[0]:
                check_room("An optimizer's step, which needs every row of the weight", store.shape, store.dtype)
            store.replace(RowSparse(densify(store, k.xp), k.xp.arange(store.shape[0]), store.shape, check=False))
        return store.data
    return store


def _check_types(weight: Array, others: tuple[Weight, ...]) -> None:
    dtype = weight.dtype
    if dtype.kind != "f":
        raise DTypeError(f"An optimizer step takes floating-point weights, not {dtype}.", hint="cast it with astype('float32').")
    for other in others:
        if other.dtype != dtype:
            raise DTypeError(f"The weight is {dtype} and its gradient or a state is {other.dtype}.",
                             hint="they must be of one type; mp_ steps keep a float32 copy of a float16 weight.")


def rows_written(step: UpdateRule, attrs: Attrs, weight: Weight, grad: Weight, states: Sequence[Weight]) -> Indices | slice:
    """The rows that a step writes: those that a row_sparse gradient stores if it goes ``by_rows``; else all."""
    if isinstance(grad, RowSparse) and by_rows(step, attrs, [stype_of(store) for store in (weight, grad, *states)]):
        return grad.indices
    return slice(None)


def apply_step(k: Kernels, step: UpdateRule, attrs: Attrs, weight: Weight, grad: Weight, states: Sequence[Weight],
               lazy: bool | None = None, numbers: Array | None = None) -> None:
    """Run a step on a weight and its states, in place.

    Parameters
    ----------
    weight, states : store
        Dense, or row_sparse.
    grad : store
    lazy : bool, optional
        Skip rows that a row_sparse gradient does not store; by default as ``by_rows`` says.
    numbers : array, optional
        What the kernel takes, in the type of the weight, or float32 for a smaller one; by default as ``attrs`` say.
    """
    values, grown = rows_of(k, weight), [rows_of(k, state) for state in states]
    _check_types(values, (grad, *grown))
    lazy = bool(lazy) or not isinstance(rows_written(step, attrs, weight, grad, states), slice)
    if values.dtype.itemsize < 4 or not all(array.flags.c_contiguous for array in (values, *grown)):
        _through_copies(k, step, attrs, values, grad, grown, lazy, numbers)
        return
    kernel = getattr(k, step.kernel)
    numbers = step.numbers(values.dtype, attrs) if numbers is None else numbers
    if not isinstance(grad, RowSparse) and step.flat:
        k.update_dense(kernel, values.reshape(1, -1), grad.reshape(1, -1), numbers, [state.reshape(1, -1) for state in grown])
        return
    table, grown = _table(values), [_table(state) for state in grown]
    if not isinstance(grad, RowSparse):
        k.update_rows(kernel, table, _table(grad), k.xp.arange(table.shape[0]), numbers, grown)
        return
    k.update_rows(kernel, table, _table(grad.data), grad.indices, numbers, grown)
    if not lazy:
        k.update_other_rows(kernel, table, grad.indices, numbers, grown)


def _table(array: Array) -> Array:
    """The array as (rows, width)."""
    return array if array.ndim == 2 else array.reshape(array.shape[0], math.prod(array.shape[1:]))


def _through_copies(k: Kernels, step: UpdateRule, attrs: Attrs, values: Array, grad: Weight, states: list[Array],
                    lazy: bool, numbers: Array | None) -> None:
    """``apply_step`` on copies that a kernel can take: float16 as float32, strided as contiguous."""
    rows: Indices | slice = slice(None)
    if isinstance(grad, RowSparse):
        rows, grad = (grad.indices, grad.data) if lazy else (rows, dense_inside(k, grad, step.kernel))
    dtype = np.dtype(np.float32) if values.dtype.itemsize < 4 else values.dtype
    held = [k.xp.array(array[rows], dtype, order="C") for array in (values, *states)]
    apply_step(k, step, attrs, held[0], k.xp.ascontiguousarray(grad, dtype), held[1:], True, numbers)
    for array, new in zip((values, *states), held, strict=True):
        array[rows] = new  # beyond 65,504 is infinite, as in any float16 operation


def declare(name: str, states: str, step: str, attrs: Attrs, numbers: Callable[..., tuple[float, ...]], formula: str, *,
            signs: str = "", order: str = "", idle: Callable[[Attrs], bool] = never, flat: bool = True,
            rests: Callable[[Attrs], bool] = never, divides: bool = False,
            shape: Callable[[list[Shape], Attrs], Shape] = infer.same_shape, bound: str = "clip_gradient",
            sample: Callable[[], samples.Samples] | None = None, aliases: tuple[str, ...] = ()) -> Update:
    """Declare a step ``name(weight, grad, *states, **attrs)`` that the kernel ``step`` computes.

    Parameters
    ----------
    states : str
        Their names.
    attrs : dict
        Attributes, ``lazy_update`` among them.
    numbers : callable
        The numbers the kernel takes after factor and bound, from the attributes its parameters name.
    formula : str
        First sentence of the documentation.
    signs : str
        Which states of the sample are positive.
    order : str
        Said in the documentation about weight decay.
    idle : callable
        Whether, with these attributes, a gradient of zero changes nothing.
    flat : bool
        Whether all elements are alike; otherwise rows are.
    rests : callable
        As in ``UpdateRule``.
    divides : bool
        Whether the formula divides by the learning rate; at a rate of 0 the step then changes nothing.
    """
    count = len(states.split())
    chosen = UpdateRule(step, numbers_of(numbers, bound), idle, flat, (lambda attrs: True) if divides else rests)
    update = Update(
        name, " ".join(["weight grad", states]).strip(), attrs=attrs, shape=shape, dtype=first_type, lane="update",
        cost=cost.update, mutates=(0, *range(2, 2 + count)), aliases=aliases,
        sample=sample or example(count, signs, **{key: 0.1 if key == "lr" else 2
                                                  for key, value in attrs.items() if value is REQUIRED}),
        doc=formula + _RULE.format(
            states=" and the states" if states else "", order=f"{order}  " if order else "",
            written=f"  The states ({states.replace(' ', ', ')}) are always updated in place." if states else ""),
        step=chosen)

    def run(k: Kernels, weight: Weight, grad: Weight, *arrays_and_attrs: *tuple[*tuple[Weight, ...], Attrs]) -> Weight:
        *arrays, call_attrs = arrays_and_attrs
        if not (divides and is_zero(call_attrs["lr"])):
            apply_step(k, chosen, call_attrs, weight, grad, arrays)
        return weight

    def run_by_numbers(k: Kernels, weight: Weight, grad: Weight, *arrays_and_attrs: *tuple[*tuple[Weight, ...], Array, Attrs]
                       ) -> Weight:
        *arrays, numbers, call_attrs = arrays_and_attrs
        apply_step(k, chosen, call_attrs, weight, grad, arrays, numbers=numbers)
        return weight

    if flat:
        update.forward(", ".join(["default"] * (2 + count)) + " -> default")(_all_dense(chosen, run, divides))
    rows_for(update, 1 + count, run)
    update.by_numbers = run_by_numbers
    return update


def _all_dense(step: UpdateRule, run: Callable[..., Weight], divides: bool) -> Callable[..., Weight]:
    """A fast path of ``run`` for small dense arrays, of which a network has many."""
    kernel, numbers = step.kernel, step.numbers

    def run_dense(k: Kernels, weight: Array, grad: Array, *states_and_attrs: *tuple[*tuple[Array, ...], Attrs]) -> Weight:
        dtype = weight.dtype
        if dtype.char not in "fd" or grad.dtype is not dtype or not weight.flags.c_contiguous:
            return run(k, weight, grad, *states_and_attrs)
        *states, attrs = states_and_attrs
        if divides and is_zero(attrs["lr"]):
            return weight
        for state in states:
            if state.dtype is not dtype or not state.flags.c_contiguous:
                return run(k, weight, grad, *states_and_attrs)
        k.update_dense(getattr(k, kernel), weight.reshape(1, -1), grad.reshape(1, -1), numbers(dtype, attrs),
                       [state.reshape(1, -1) for state in states])
        return weight

    return run_dense


def rows_for(update: Update, others: int, run: Callable[..., Weight], last: str = "") -> None:
    """Declare a step's rows: a dense or row_sparse weight, with that many arrays of either kind, and ``last``."""
    for stype in ("default", "row_sparse"):
        update.forward(", ".join([stype, *[STORES] * others, *[last] * bool(last)]) + f" -> {stype}")(run)
