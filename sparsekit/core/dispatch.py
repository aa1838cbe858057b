"""The dispatch of operators on arrays with values."""

from __future__ import annotations

import copy
import functools
import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..base.config import config
from ..base.context import HOST, Context, current_context
from ..base.dtypes import element_type
from ..base.errors import (
    DensificationError,
    DTypeError,
    GradientError,
    SparsekitError,
    StorageFallbackWarning,
    StorageTypeError,
    named,
)
from ..base.faults import internal, is_a_handlers, is_internal
from ..base.warn import warn_user
from ..kernels import for_device
from ..kernels.cpu import jit
from ..storage import RowSparse, convert, densify, stype_of
from ..storage.check import PLENTY, check_memory, check_room
from . import hooks
from .arrays import array_types, require_arrays, wrap
from .device import beside, placed
from .graph import Node
from .op import REMEMBERED, Call, Op, Rule, find, joining

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from ..base.types import Array, Attrs, Shape
    from ..kernels.types import Kernels
    from ..storage.types import Sparse, Store
    from .types import ArrayObject, Numbered


__all__ = ["KERNEL_ERRORS", "Plan", "allowed", "array_types", "compute", "convert_store", "dense_kind", "densified", "fits",
           "invoke", "made_dense", "named_error", "natural_remedy", "note", "note_results", "plan_for", "recorded", "remedy_for",
           "resolve", "run", "wrap", "written_dense"]

#: Errors of numpy and Python inside kernels; users get a named error that is also an instance of one of these.
KERNEL_ERRORS = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, MemoryError, AssertionError, NameError)

#: Bytes of a dense result up to which the free memory is not checked again at the next call.
LARGE = 1 << 22

_clock = time.perf_counter_ns
_new = object.__new__


def _compiled(name: str, start: int, end: int) -> None:
    if hooks.sink is not None:
        label = name if name.startswith("import") else f"compile {name}"
        hooks.sink.span(label, "compile", start, end, {})


jit.listeners.append(_compiled)


class Plan:
    """How a call runs for given storage types on a given device: resolved once, then reused.

    Attributes
    ----------
    op : Op
    attrs : dict
    rule : Rule
        The row whose kernel runs.
    fallback : bool
        Whether inputs become dense first because no row fits.
    cast : str or None
        Storage type that the result is cast to afterwards, if the row gives another.
    stype : str
        Storage type of the (first) result.
    dense : str
        Kind of densification if a dense result holds all of a sparse input: ``hooks.NATURAL`` or ``hooks.ASKED``;
        empty if no input is sparse, if no result is dense, or if the row has a reason for the dense result.
    makes_dense : bool
        Whether the kernel's own (first) result is dense, before it is cast.
    ufunc : str
        Function of ``k.xp`` that may be called directly; empty if there is none.
    training : bool
        Whether layers behave as in training.
    """

    __slots__ = ("attrs", "call", "cast", "dense", "fallback", "function", "k", "makes_dense", "op", "rule", "stype", "takes_out",
                 "training", "ufunc")

    def __init__(self, call: Call, rule: Rule, fallback: bool, cast: str | None, k: Kernels, dense: str = "") -> None:
        self.call, self.op, self.attrs, self.rule, self.k = call, call.op, call.attrs, rule, k
        self.fallback, self.cast, self.dense = fallback, cast, dense
        self.function, self.takes_out, self.ufunc = rule.function, rule.takes_out, rule.ufunc
        self.stype, self.makes_dense = cast or rule.stype(0), rule.stype(0) == "default"
        self.training = hooks.state.training

    def with_function(self, function: Callable[..., Any]) -> Plan:  # Any: as in Rule
        """The plan, with another kernel."""
        self.function = function
        return self

    def on(self, k: Kernels) -> Plan:
        """The same on other kernels, as a new plan."""
        plan = copy.copy(self)
        plan.k = k
        return plan

    def joined(self, places: slice) -> Plan:
        """The plan, with a kernel that gets the inputs at these places in their joint element type."""
        self.function, self.takes_out, self.ufunc = joining(self.function, places), False, ""
        return self


def resolve(op: Op, stypes: tuple[str, ...], attrs: Attrs) -> tuple[Rule, bool, str | None]:
    """The row for these storage types, whether it is the dense fallback, and the cast it needs.

    Raises
    ------
    StorageTypeError
        If no row fits and the operator has no dense row either.
    """
    rule = op.find_rule(stypes, attrs)
    if rule is not None:
        return rule, False, None
    asked = attrs.get(op.sparse_output) if op.sparse_output else None
    plain = {**attrs, op.sparse_output: None} if op.sparse_output else attrs
    rule = op.find_rule(("default",) * len(stypes), plain)
    if rule is None:
        rows = "; ".join(map(repr, op.rules))
        raise StorageTypeError(f"{op.label} takes no inputs of storage types {', '.join(stypes)}.",
                               hint=f"convert with tostype(); its rows are: {rows}.")
    return rule, any(stype != "default" for stype in stypes), asked if asked != rule.stype(0) else None


def dense_kind(call: Call, rule: Rule, fallback: bool, stypes: Sequence[str]) -> str:
    """The kind of densification of a dense result of this row for these storage types; see ``Plan.dense``."""
    if fallback or all(stype == "default" for stype in stypes):
        return ""
    if all(rule.stype(place) != "default" for place in range(call.visible)):
        return ""
    if call.op.lane == "convert":
        return hooks.ASKED
    return "" if rule.asked else hooks.NATURAL


# Any: stores, or what stands for them in a trace; and one of these, or None
def made_dense(stores: Sequence[Any], sizes: Sequence[int]) -> Any:
    """The largest of the sparse arrays that have at most as many elements as one of the dense results."""
    largest = max(sizes, default=-1)
    held = [store for store in stores if stype_of(store) != "default" and math.prod(store.shape) <= largest]
    return max(held, key=lambda store: math.prod(store.shape), default=None)


def plan_for(call: Call, stypes: tuple[str, ...], ctx: Context, places: slice | None = None) -> Plan:
    """Make the plan of a call for these storage types on this device; ``places`` as ``Op.meeting`` gives them."""
    if ctx.device_type == "trace":
        noted: Plan = ctx.plan(call, stypes)  # type: ignore[attr-defined]  # the context of traces has this
        return noted
    rule, fallback, cast = resolve(call.op, stypes, call.attrs)
    plan = Plan(call, rule, fallback, cast, for_device(ctx.device_type), dense_kind(call, rule, fallback, stypes))
    if places is not None:
        plan.joined(places)
    return plan.with_function(placed(plan.function, call.op.name, ctx)) if ctx.device_type == "gpu" else plan


def _describe(call: Call, stores: Sequence[Store]) -> str:
    return ", ".join(f"{stype_of(store)} {tuple(store.shape)} {store.dtype}" for store in stores)


def run(plan: Plan, stores: Sequence[Store], out: Array | None = None, node: Numbered | None = None
        ) -> Any:  # Any: as ``compute``
    """Run a plan on stores, reporting it to the recorder if there is one.

    Parameters
    ----------
    out : store, optional
        Written directly if the kernel can and its type fits; the caller compares identity.

    Returns
    -------
    store or tuple of stores
    """
    sink = hooks.sink
    if plan.dense and config.densify == "error":
        _refuse(plan, stores)
    if sink is None:
        result = _run(plan, stores, out)
    else:
        start = _clock()
        result = _run(plan, stores, out)
        sink.op(plan, start, _clock(), stores, result if isinstance(result, tuple) else (result,),
                node or hooks.state.node)
    if plan.dense:
        note_results(plan, stores, result)
    return result


def compute(plan: Plan, stores: Sequence[Store], out: Array | None = None) -> Any:  # Any: a store, or a tuple of several
    """Call the plan's kernel, which writes to ``out`` if that is given."""
    return plan.function(plan.k, *stores, plan.attrs, **({} if out is None else {"out": out}))


def _run(plan: Plan, stores: Sequence[Store], out: Array | None) -> Any:  # Any: as ``compute``
    inputs = stores
    if plan.fallback:
        stores = [_fall_back(plan, store, stores) for store in stores]
    if out is not None and plan.takes_out and plan.cast is None and fits(out, plan, stores):
        return hooks.ignore_fp_errors(compute, plan, stores, out)
    result = hooks.ignore_fp_errors(compute, plan, stores)
    if plan.fallback:
        if plan.op.mutates:
            _write_back(plan, inputs, stores)
        _pass_on(inputs, stores, result)
    if plan.cast is not None:
        before = result
        result = convert_store(result, plan.cast, plan.k)
        # No sparse array became dense, so the ledger gets no entry.
        _warn(f"{plan.op.label} computes a dense result, but {plan.cast} was requested", before, result,
              f"leave out {plan.op.sparse_output}={plan.cast!r}", _combination(plan))
    return result


def _pass_on(inputs: Sequence[Store], dense: Sequence[Store], result: Any) -> None:  # Any: as ``compute``
    """Note for the dense results of a fallback which conversion made its inputs dense."""
    record = next((hooks.made_from(after) for before, after in zip(inputs, dense, strict=True) if after is not before), None)
    for store in result if isinstance(result, tuple) else (result,):
        if record is not None and stype_of(store) == "default" and not any(store is source for source in inputs):
            hooks.note_made(store, record)


# Any: what is sparse can be replaced, and what it became is dense
def _write_back(plan: Plan, inputs: Sequence[Any], dense: Sequence[Any]) -> None:
    """Write the new values back to the sparse inputs that were made dense for an operator that writes to them."""
    for place in plan.op.written(plan.attrs):
        before, after = inputs[place], dense[place]
        if isinstance(before, RowSparse):  # with all rows, zeros included, like weights
            before.replace(RowSparse(after, plan.k.xp.arange(after.shape[0]), after.shape, check=False))
        elif before is not after:
            before.replace(convert(after, stype_of(before), plan.k.xp))


def fits(out: Array, plan: Plan, stores: Sequence[Store]) -> bool:
    """Whether the kernel may write its result straight into ``out``."""
    if not stype_of(out) == plan.stype == "default":
        return False
    if not (out.flags.carray if isinstance(out, np.ndarray) else out.flags.c_contiguous):
        return False
    if out.dtype != plan.op.dtype([store.dtype for store in stores], plan.attrs):
        return False
    if out.shape != tuple(plan.call.infer_shape([store.shape for store in stores])):
        return False
    return not any(stype_of(store) == "default" and np.may_share_memory(out, store) for store in stores)


def convert_store(store: Store, stype: str, k: Kernels, kind: str = "") -> Store:
    """Change a store's type, as an event of its own in the convert lane.

    ``kind`` marks that event as a densification, where no operator's own event is marked so.
    """
    sink = hooks.sink
    if sink is None and k.device == "cpu":
        return convert(store, stype, k.xp)
    start = _clock()
    with beside(store, k):
        result = convert(store, stype, k.xp)
    if sink is not None:
        sink.op(_conversion(stype, kind), start, _clock(), (store,), (result,), None)
    return result


# Any: an array, or a list of them, as ``outputs`` and ``visible`` of the call say
def invoke(call: Call, inputs: tuple[Any, ...], out: ArrayObject | None = None, ctx: Context | None = None) -> Any:
    """Run an operator on arrays: resolve its plan, check the shapes, run, record.

    Parameters
    ----------
    call : Call
        The operator with its attributes.
    inputs : tuple of NDArray
        All on one context.
    out : NDArray or list of NDArray, optional
        Receives the result, cast to its storage type and element type.
    ctx : Context
        Where to create, for an operator without inputs.

    Returns
    -------
    NDArray or list of NDArray
    """
    count = len(inputs)
    try:
        if count == 2:
            left, right = inputs
            ready = call.ready.get((left._layout, right._layout))
        elif count == 1:
            ready = call.ready.get(inputs[0]._layout)
        else:
            ready = call.ready.get(tuple([array._layout for array in inputs]) or ctx)
    except AttributeError:
        raise not_an_array(call, inputs) from None
    here = hooks.state.__dict__  # read once, which is cheaper than attributes
    node = None
    if here["recording"] and call.recorded:
        op = call.op
        entries = [left._entry, right._entry] if count == 2 else [array._entry for array in inputs]
        for place in op.nondifferentiable:
            if place < count:
                entries[place] = None
        if entries.count(None) != count:
            node = Node(call, entries, inputs if op.saves_inputs else None, inputs[0]._layout.ctx, here["layer"])
    if ready is None or out is not None:
        return _invoke_slow(call, inputs, out, ctx, node)
    plan, function, k, attrs, layout = ready
    sink, ignore_fp_errors = hooks.sink, here["ignore_fp_errors"]
    try:
        if sink is not None:
            start = _clock()
        if k is None:  # by number of inputs: to build one tuple of arguments takes longer
            result = ignore_fp_errors(function, left._store, right._store)
        elif count == 2:
            result = ignore_fp_errors(function, k, left._store, right._store, attrs)
        elif count == 1:
            result = ignore_fp_errors(function, k, inputs[0]._store, attrs)
        else:
            result = ignore_fp_errors(function, k, *[array._store for array in inputs], attrs)
        if sink is not None:
            end = _clock()
    except SparsekitError:
        raise
    except KERNEL_ERRORS as error:
        raise named_error(call, inputs, error) from error
    except RuntimeError as error:
        if not hooks.interrupts(error):
            raise
        return _invoke_slow(call, inputs, out, ctx, node)
    array = _new(layout.cls)
    array._store, array._layout, array._seen = result, layout, 0  # three at once take no tuple, four would
    if node is None:
        array._entry = None
    else:
        array._entry = (node, 0)
        if op.saves_outputs:
            node.results = (result,)
    if sink is not None:
        sink.call(plan, start, end, inputs, array, node)
        if node is not None and node.results:
            node.results = result, array._seen
    return array


# Any: as ``invoke``
def recorded(call: Call, inputs: tuple[ArrayObject, ...], results: Sequence[Store], ctx: Context) -> Any:
    """The arrays that ``invoke`` would return if it recorded and the kernel returned these results."""
    entries = [array._entry for array in inputs]
    for place in call.op.nondifferentiable:
        if place < len(inputs):
            entries[place] = None
    node = None
    if call.recorded and any(entries):
        node = Node(call, entries, inputs if call.op.saves_inputs else None, ctx, hooks.state.layer)
        node.results = tuple(results) if call.op.saves_outputs else None
    return _visible(call, tuple(results), ctx, node) if call.outputs > 1 else wrap(
        results[0], ctx, None if node is None else (node, 0))


# Any: as ``invoke``, whose out may be anything until it is checked
def _invoke_slow(call: Call, inputs: tuple[ArrayObject, ...], out: Any, ctx: Context | None, node: Node | None) -> Any:
    """Run a call that is new, written to ``out``, falls back, or gives several arrays."""
    ctx = inputs[0]._ctx if inputs else ctx or current_context()
    if any(array._ctx is not ctx for array in inputs):
        return invoke(call, _on_one_context(call, inputs), out)
    stores = tuple([array._store if array._layout.missed is None else array._layout.missed.store_for(call, inputs, place)
                    for place, array in enumerate(inputs)])
    try:
        plan = _prepare(call, stores, ctx)
        if out is not None:
            _check_out(call, out)
        result = run(plan, stores, None if out is None or call.outputs > 1 else out._store, node)
        for store in result if type(result) is tuple else (result,):
            element_type(store.dtype)  # numpy returns objects where a number does not fit in 64 bits
    except SparsekitError:
        raise
    except KERNEL_ERRORS as error:
        raise named_error(call, inputs, error) from error
    if node is not None and call.op.saves_outputs:
        node.results = result if type(result) is tuple else (result,)
    if out is not None:
        name = call.op.name
        return _into(name, out, result, ctx, node) if call.visible == 1 else _into_each(name, out, result, ctx, node)
    if type(result) is tuple:
        return _visible(call, result, ctx, node)
    array = wrap(result, ctx, None if node is None else (node, 0))
    if not plan.fallback and plan.cast is None and not plan.dense:
        _remember(call, plan, inputs, array)
    return array


def named_error(call: Call, inputs: Sequence[ArrayObject | Store], error: Exception) -> Exception:
    """The named error for an error of numpy in a kernel: element types, values out of their range, or a shape."""
    if isinstance(error, SparsekitError) or is_a_handlers(error, [rule.function for rule in call.op.rules]):
        return error
    if is_internal(error, (*call.attrs.values(), *inputs)):
        return internal(error, f"{call!r} failed")
    if isinstance(error, (AssertionError, NameError)):  # of the user's own code
        return error
    operands = ", ".join(f"{array.dtype} of shape {array.shape}" for array in inputs) or "nothing"
    return named(error, f"{call!r} cannot be computed on {operands}")


def _prepare(call: Call, stores: tuple[Store, ...], ctx: Context) -> Plan:
    """The plan of a call for these stores, whose shapes have been checked."""
    shapes = call.infer_shape([tuple(store.shape) for store in stores])
    places = call.op.meeting([store.dtype for store in stores]) if len(stores) > 1 else None
    types = (ctx, places is None, bool(call.op.mutates) and hooks.state.training, *map(type, stores))
    if call.op.settle is not None:
        call = call.settled([store.shape for store in stores])
    plan = call.plans.get(types)
    if plan is None:
        if len(call.plans) >= REMEMBERED:
            call.plans.clear()  # of many inputs there are more combinations of storage types than a program has use for
        plan = call.plans[types] = plan_for(call, tuple(stype_of(store) for store in stores), ctx, places)
    if plan.makes_dense and shapes is not None:
        _check_size(plan, stores, shapes if call.outputs > 1 else [shapes])
    return plan


# Any: a store that is dense has a size
def _check_size(plan: Plan, stores: tuple[Any, ...], shapes: Sequence[Shape]) -> None:
    """Raise before a kernel starts if its dense result is larger than the dense inputs and too large to make.

    Raises
    ------
    DensificationError
        If an input is sparse and the result is beyond ``config.densify_limit``.
    InsufficientMemoryError
        If the machine has not as much memory free.
    """
    elements = [math.prod(shape) for shape in shapes]
    largest = max(elements)
    dense = [store.size for store in stores if stype_of(store) == "default"]
    sparse = len(dense) < len(stores)
    if largest * 8 <= (min(PLENTY, config.densify_limit) if sparse else PLENTY):
        return
    if max(dense, default=0) >= largest or plan.op.mutates:
        return
    if plan.op.lane == "convert":
        return  # which counts the pages that are written to
    dtype = plan.op.dtype([store.dtype for store in stores], plan.attrs)
    dtype = np.result_type(*dtype) if isinstance(dtype, (list, tuple)) else np.dtype(dtype)
    shape = tuple(shapes[elements.index(largest)])
    if sparse and not (dense and plan.op.unlimited):
        check_room(plan.op.label, shape, dtype)
    if plan.k.device == "gpu":
        return  # on a device with memory of its own
    check_memory(largest * dtype.itemsize, f"{plan.op.label}: the dense result of shape {shape}", "take a slice first.")


def _remember(call: Call, plan: Plan, inputs: tuple[ArrayObject, ...], output: ArrayObject) -> None:
    """Cache the plan for arrays of these layouts, and the layout of the result."""
    layout, result = output._layout, output._store
    if call.infer_shape([array.shape for array in inputs]) is None:
        return  # the values decide the shape
    if len(call.ready) >= REMEMBERED:
        call.ready.clear()
    if isinstance(result, np.ndarray) and result.nbytes > LARGE and not plan.op.mutates:
        return  # the free memory is checked at each call
    layouts = tuple([array._layout for array in inputs])
    if any(input_layout.missed is not None for input_layout in layouts):
        return  # its rows are brought up to date at each call
    key = layouts[0] if len(layouts) == 1 else layouts or layout.ctx
    simple = plan.ufunc and len(layouts) == 2 and plan.k.device == "cpu"
    direct = getattr(plan.k.xp, plan.ufunc) if simple else None
    call.ready[key] = (plan, direct or plan.function, None if direct else plan.k, plan.attrs, layout)


def _visible(call: Call, result: tuple[Store, ...], ctx: Context, node: Node | None) -> ArrayObject | list[ArrayObject]:
    """The arrays of several outputs that the caller gets: a list, or the only one."""
    arrays = [wrap(store, ctx, None if node is None else (node, place))
              for place, store in enumerate(result[: call.visible])]
    return arrays[0] if call.visible == 1 and call.outputs > 1 else arrays


def _check_out(call: Call, out: Any) -> None:  # Any: what the user gave
    """Raise unless ``out`` is an array, or a list of as many arrays as the caller gets."""
    if call.visible != 1 and (not isinstance(out, (list, tuple)) or len(out) != call.visible):
        raise SparsekitError(f"{call.op.label} gives {call.visible} arrays, so out= must be a list of {call.visible} arrays.",
                             hint=f"give out= a list of {call.visible} arrays.")
    targets = [out] if call.visible == 1 else out
    require_arrays(targets, f"{call.op.label}: out")
    for target in targets:
        target._check_traced()


# Any: as ``compute``
def _into_each(name: str, out: Sequence[ArrayObject], result: Any, ctx: Context, node: Node | None) -> list[ArrayObject]:
    return [_into(name, target, store, ctx, node, place) for place, (target, store) in enumerate(zip(out, result, strict=False))]


# Any: as ``compute``
def _into(name: str, out: ArrayObject, result: Any, ctx: Context, node: Node | None, place: int = 0) -> ArrayObject:
    if type(result) is tuple:
        result = result[place]
    if out._entry is not None and node is not None:
        raise GradientError("A recorded array cannot be overwritten while recording.",
                            hint="leave out= out, or work under autograd.pause().")
    if result is not out._store:
        record = hooks.made_from(result) if stype_of(result) == "default" else None
        out._receive(wrap(result, ctx), by=name)
        if record is not None:
            hooks.note_made(out._store, record)
    if node is not None:
        out._entry = (node, place)
    return out


def _on_one_context(call: Call, inputs: tuple[ArrayObject, ...]) -> tuple[ArrayObject, ...]:
    """Return the inputs on one context; while tracing, lift outside arrays into the trace; else raise.

    All memory of the host is one memory: arrays of several contexts ``cpu(i)``, and pinned and shared arrays beside one of
    them, are taken as arrays of the first ``cpu(i)``, which is the context of the result, as in MXNet.
    """
    # Any: the context of traces, which lifts arrays
    traced: Any = next((array._ctx for array in inputs if array._ctx.device_type == "trace"), None)
    # Any: arrays, or None for one that it does not take, and then there is an error
    lifted: list[Any] = [_on_host(array, inputs) if traced is None else traced.lift(array) for array in inputs]
    if any(array is None for array in lifted):
        places = ", ".join(str(array._ctx) for array in inputs)
        raise SparsekitError(f"{call.op.label}: the inputs live on different contexts: {places}.",
                             hint="bring them together with as_in_context(ctx).")
    return tuple(lifted)


def _on_host(array: ArrayObject, inputs: tuple[ArrayObject, ...]) -> ArrayObject | None:
    """The array as one on the first CPU context of the inputs; None if there is none, or if the array is not in host memory."""
    ctx = next((source._ctx for source in inputs if source._ctx.device_type == "cpu"), None)
    if ctx is None or array._ctx.device_type not in HOST:
        return None
    return array if array._ctx is ctx else wrap(array._store, ctx, array._entry)


class _Conversion:
    """The attributes of a plan that the recorder reads, for an implicit conversion."""

    __slots__ = ("attrs", "dense", "fallback", "op")

    def __init__(self, stype: str, kind: str) -> None:
        self.op, self.attrs, self.fallback = find("cast_storage"), {"stype": stype}, kind == hooks.FALLBACK
        self.dense = kind if kind == hooks.NATURAL else ""


@functools.cache
def _conversion(stype: str, kind: str) -> _Conversion:
    return _Conversion(stype, kind)


_warned: set[Hashable] = set()


# Any: sparse, where ``stype_of`` does not say otherwise; and then dense
def _fall_back(plan: Plan, store: Any, stores: Sequence[Store]) -> Any:
    """Make one input dense, against policy and limit, and note it in the ledger."""
    if stype_of(store) == "default":
        return store
    reason = f"{plan.op.label} has no kernel for {_describe(plan.call, stores)}"
    return densified(plan.op.name, store, plan.k, reason, remedy_for(plan.op), _combination(plan), inside=True)


def _combination(plan: Plan) -> tuple[Hashable, ...]:
    """The key of a warning, without the numbers of the call."""
    switches = [str(item) for item in plan.attrs.items() if item[1] is None or isinstance(item[1], (bool, str))]
    return plan.op.name, tuple(sorted(switches))


def densified(name: str, store: Sparse, k: Kernels, reason: str, remedy: str, key: Hashable = None, inside: bool = False
              ) -> Array:
    """Make a dense copy of a sparse store implicitly: check policy and limit, add it to the ledger, and warn.

    Parameters
    ----------
    name, reason, remedy : str
        What needs the dense array, why, and what to do instead.
    key : hashable, optional
        The key of the warning, which is given once for each key; ``name`` by default.
    inside : bool
        Whether an operator's own event says for the profiler that a sparse array became dense.

    Raises
    ------
    DensificationError
        If the policy forbids it, or it would exceed the limit.
    """
    size = int(np.prod([int(size) for size in store.shape], dtype=object)) * store.dtype.itemsize
    if config.densify == "error" or (config.densify != "allow" and size > config.densify_limit):
        why = ("config.densify is 'error'" if config.densify == "error"
               else f"that would make {size:,} bytes dense, above config.densify_limit of {config.densify_limit:,}")
        raise DensificationError(f"{reason}, and {why}.", hint=remedy)
    # cast: dense, as asked
    result = cast("Array", convert_store(store, "default", k, "" if inside else hooks.FALLBACK))
    note(hooks.FALLBACK, name, store, result, reason, remedy)
    _warn(reason, store, result, remedy, key or name)
    return result


def written_dense(name: str, store: Sparse, k: Kernels, reason: str, out: Array | None = None, kind: str = hooks.NATURAL,
                  remedy: str = "make the array that takes the values of the same storage type") -> Array:
    """Convert a sparse store to the dense array that ``name`` needs: check the policy, add it to the ledger, do not warn.

    Written into ``out`` if given.  If ``kind`` is ``hooks.ASKED``, the policy is not checked and the ledger gets no entry.
    """
    if kind != hooks.ASKED:
        allowed(reason, remedy)
    if out is None:
        dense = cast("Array", convert_store(store, "default", k, kind))  # cast: dense, as asked
    else:
        start = _clock()
        dense = densify(store, k.xp, out=out)
        if hooks.sink is not None:
            hooks.sink.op(_conversion("default", kind), start, _clock(), (store,), (dense,), None)
    note(kind, name, store, dense, reason, remedy)
    return dense


def note(kind: str, name: str, before: Sparse, after: Array, reason: str, remedy: str) -> None:
    """Note that the dense store ``after`` was made of the sparse store ``before``; in the ledger unless it was explicit."""
    record = hooks.Densification(name, hooks.user_line(), stype_of(before), stype_of(after), tuple(before.shape),
                                 int(before.nbytes), int(after.nbytes), reason, remedy, kind)
    hooks.note_made(after, record)
    if kind == hooks.ASKED:
        return
    hooks.ledger.append(record)
    if hooks.sink is not None:
        hooks.sink.densify(record, after)


def allowed(reason: str, remedy: str) -> None:
    """Raise ``DensificationError`` if ``config.densify`` is "error": a sparse array is about to become dense implicitly."""
    if config.densify == "error":
        raise DensificationError(f"{reason}, and config.densify is 'error'.", hint=remedy)


def _reason(plan: Plan, stores: Sequence[Store]) -> tuple[str, str, str, str]:
    """Kind, name, reason and remedy of the dense result of a plan, as the ledger says them."""
    if plan.dense == hooks.ASKED and hooks.state.lane != "backward":
        return hooks.ASKED, plan.op.name, "it was asked for", "leave out the conversion"
    if plan.dense == hooks.ASKED:  # in a backward pass only gradient rules call conversions
        call = getattr(hooks.state.node, "call", None)
        name = plan.op.name if call is None else call.op.name
        return hooks.NATURAL, name, "its gradient takes a sparse array dense", _KEEP
    reason = f"{plan.op.label} gives a dense result for {_describe(plan.call, stores)}"
    return hooks.NATURAL, plan.op.name, reason, natural_remedy(plan.op)


def _refuse(plan: Plan, stores: Sequence[Store]) -> None:
    """Raise if a dense result of this call would hold a sparse input in full and the policy forbids it."""
    kind, _, reason, remedy = _reason(plan, stores)
    shapes = plan.call.infer_shape([tuple(store.shape) for store in stores])
    sizes = [math.prod(shape) for shape in (shapes if plan.call.outputs > 1 else [shapes])] if shapes is not None else []
    if kind != hooks.ASKED and made_dense(stores, sizes) is not None:
        allowed(reason, remedy)


def note_results(plan: Plan, stores: Sequence[Store], result: Any) -> None:  # Any: as ``compute``
    """Note the dense results that hold a sparse input in full."""
    for output in result if isinstance(result, tuple) else (result,):
        if stype_of(output) == "default" and not any(output is store for store in stores):
            source = made_dense(stores, [output.size])
            if source is not None:
                kind, name, reason, remedy = _reason(plan, stores)
                note(kind, name, source, output, reason, remedy)


def _warn(reason: str, before: Store, after: Store, remedy: str, key: Hashable) -> None:
    """Warn of a change of storage types, once for each key and pair of types."""
    key = (key, stype_of(before), stype_of(after))
    if config.densify == "warn" and key not in _warned:
        _warned.add(key)
        warn_user(f"{reason}; {int(before.nbytes):,} bytes of {stype_of(before)} became {int(after.nbytes):,} bytes "
                      f"of {stype_of(after)}. Hint: {remedy}. (Shown once per operator and combination; "
                      f"sparsekit.config.densify = 'error' raises an error here, 'allow' is silent.)",
                      StorageFallbackWarning)


def remedy_for(op: Op) -> str:
    """What to do instead of an operator's fallback."""
    sparse = [repr(rule) for rule in op.rules if any(word not in ("default", "default?", "default...")
                                                     for word in rule.inputs)]
    if sparse:
        return f"{op.label} has sparse kernels for: {'; '.join(sparse)}"
    return f"{op.label} has no sparse kernel; call .tostype('default') for an explicit conversion"


#: What helps where zeros do not stay zero.
_KEEP = "use functions that keep zero, such as log1p(x) for log(1 + x), or convert once with tostype('default') before"


def natural_remedy(op: Op) -> str:
    """The hint for an operator whose result is dense by nature: its rows with sparse results, if it has any."""
    return _natural_remedy(op, len(op.rules))


@functools.lru_cache(1024)
def _natural_remedy(op: Op, rows: int) -> str:
    """The same, cached by the number of rows, to which more may be added."""
    sparse = [repr(rule) for rule in op.rules if any(word.strip("?.") != "default" for word in rule.inputs)
              and "default" not in rule.outputs and "default..." not in rule.outputs and rule.when.get("scalar") != (0,)]
    return f"the operator {op.label} stays sparse for: {'; '.join(sparse)}; otherwise {_KEEP}" if sparse else _KEEP


def not_an_array(call: Call, inputs: Sequence[object]) -> SparsekitError:  # object: what the user gave
    """The error for an input that is not an array of this library."""
    for name, value in zip(call.op.inputs * max(1, len(inputs)), inputs, strict=False):
        if not hasattr(value, "_store"):
            return DTypeError(f"{call.op.label}: {name} is a {type(value).__name__}, not an NDArray.",
                              hint="make one with mx.nd.array(…), or mx.nd.sparse.csr_matrix(…) for scipy matrices.")
    return SparsekitError(f"{call!r} could not read its inputs.", hint="report this, it is a defect.")
