"""The base class and the registry of optimizers."""

from __future__ import annotations

import functools
import operator
import types
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.changes import SettingsDict, changes
from ..base.entry import entry
from ..base.errors import (
    ArgumentError,
    DTypeError,
    LazyUpdateWarning,
    LearningRateError,
    ParameterError,
    UnknownNameError,
    UnsupportedError,
    expected,
)
from ..base.lazy import add_lazy_names
from ..base.naming import changed_settings, settings
from ..base.warn import user_frame, warn_user
from ..core import device, hooks
from ..core.dispatch import invoke, wrap
from ..core.op import Call, Op
from ..kernels import for_device
from ..ops.creation import empty_store
from ..ops.update.update import Update, is_zero
from ..ops.update.update_precision import precise
from .missed import exact_step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..base.types import Shape
    from ..lr_scheduler import LRScheduler
    from ..ndarray.ndarray import NDArray
    from ..symbol.symbol import Symbol
    from .types import Factors, Index, Indices, Names, Parameters, State, Weights


__all__ = ["Collected", "Optimizer", "arguments_of", "create", "register", "registry"]

add_lazy_names(globals())

registry: dict[str, type[Optimizer]] = {}

#: Arguments that are kept in an attribute of another name.
_ATTRIBUTES = {"eps": "float_stable_eps"}
#: The optimizer that has said that its lazy steps differ from the standard update; MXNet says it once, too.
_told: list[str] = []
#: Attributes that no update depends on, or that ``_decisive`` leaves to others.
_COUNTERS = {"num_update", "_index_update_count", "_all_index_update_counts", "_calls", "_recorded_calls", "_collected",
             "_executing", "_half", "param_dict", "sym_info", "idx2name"}
#: Those of them that change from step to step; what updates depend on leaves a mark.
_UNMARKED = _COUNTERS - {"param_dict", "sym_info", "idx2name"}
#: Arguments that ``repr`` omits: the learning rate is shown separately, the others are not settings.
_NOT_SHOWN = ("learning_rate", "lr_scheduler", "param_idx2name", "sym", "param_dict")


class Decisive(NamedTuple):
    """What the attributes of all updates of an optimizer depend on.

    Attributes
    ----------
    attributes : int
        How many the optimizer has.
    values_of : callable
        Gives the values of those that decide.
    values : tuple
        Those values; dictionaries are copies.
    """

    attributes: int
    values_of: Callable[[dict[str, Any]], Any]  # Any: attributes
    values: tuple[object, ...]  # object: they are compared


class Collected(NamedTuple):
    """The update of one weight, as ``Optimizer._collect`` gives it.

    Attributes
    ----------
    key : int or str
        Index of the weight.
    op : Op
    arrays : tuple of NDArray
        Weight, gradient and states.
    attrs : dict
        Attributes of the operator.
    """

    key: Index
    op: Op
    arrays: tuple[NDArray, ...]
    attrs: dict[str, float]


def register(cls: type[Optimizer]) -> type[Optimizer]:
    """Register an optimizer class under its name in lower case; for use as a decorator."""
    registry[cls.__name__.lower()] = cls
    return cls


# object: anything but a name raises, as an unknown name; Any: the arguments of the class that it names
def create(name: object, **arguments: Any) -> Optimizer:
    """Make an optimizer by name.

    Parameters
    ----------
    name : str or Optimizer
        Name of the class, in any case.  An instance is returned unchanged.
    **arguments
        Arguments of the class.

    Raises
    ------
    UnknownNameError
        If no optimizer has this name.
    """
    if isinstance(name, Optimizer):
        return name
    kind = registry.get(str(name).lower())
    if kind is None:
        raise UnknownNameError.of("optimizer", name, registry)
    return kind(**arguments)


create, register = entry(create, callbacks=True), entry(register)


def arguments_of(params: object) -> dict[str, Any]:  # object: what a user gave; Any: the class of the optimizer checks the values
    """The arguments of an optimizer that are given as a dict, or as a list of pairs.

    Raises
    ------
    ParameterError
        If ``params`` is neither a dict nor a list of pairs, or the name of an argument is not a string.
    """
    try:
        arguments: dict[Any, Any] = dict(params)  # type: ignore[call-overload]  # Any: of a user; or it raises
    except (TypeError, ValueError):
        arguments = {None: None}
    if not all(isinstance(name, str) for name in arguments):
        raise ParameterError(expected("optimizer_params", "a dict of arguments of the optimizer", params),
                             hint='optimizer_params={"learning_rate": 0.1}, for example.')
    return arguments


class Optimizer:
    """Base of all optimizers.

    A subclass overrides ``create_state(index, weight)`` and ``update(index, weight, grad, state)``.

    Parameters
    ----------
    rescale_grad : float
        Factor of every gradient; the Trainer divides it by the batch size.
    param_idx2name : dict of int to str, optional
        Names of the weights; weights whose names do not end in ``_weight`` or ``_gamma`` then get no weight decay.
    wd : float
        Weight decay; the formula of each optimizer shows where it enters.
    clip_gradient : float, optional
        Bound of the absolute value of the rescaled gradient; None or 0 for no bound.
    learning_rate : float, optional
        Default 0.01 without ``lr_scheduler``.  With a schedule, it replaces the ``base_lr`` of the schedule; as in MXNet,
        ``PolyScheduler`` and ``CosineScheduler`` keep to the ``base_lr`` that they were made with.  At a rate of 0, also by
        ``lr_mult`` or at the end of a schedule, gradient and decay do not move a weight; what is left of momentum does.
    lr_scheduler : LRScheduler, optional
        Computes the learning rate from the number of updates.
    sym : Symbol, optional
        Symbol whose arguments may have the attributes ``__lr_mult__`` and ``__wd_mult__``, factors of the two rates.
    begin_num_update : int
        Number of updates before this training.  Default 0.
    multi_precision : bool
        Keep a float32 copy of each float16 weight and update the copy.  Default False.
    param_dict : dict of int to Parameter, optional
        Parameters whose ``lr_mult`` and ``wd_mult`` replace the factors by index and name.

    Raises
    ------
    UnknownNameError
        If an argument is unknown.
    DTypeError
        If a rate or the scale is not a number, or the schedule cannot be called.
    """

    #: Whether each update of a weight is one call of an operator, whose attributes do not depend on what it computes.
    _one_call = False
    #: Whether those attributes depend on nothing but settings, the learning rate and the factors of the weight.
    _timeless = False
    #: Why an update is several calls, of an optimizer of the library.
    _why_not = ""
    #: Whether the attributes depend on values of gradients all the same, which must have been computed before.
    _needs_gradients = False
    #: Attributes that each update changes, beside the counts of updates by weight; they are saved with the states.
    _counted: tuple[str, ...] = ("num_update",)
    #: Sums of gradients that wait for the next step, by device and weight.
    _sums: dict[int, dict[Index, NDArray]]
    #: What the step of an element depends on: the ``"element"`` of weight, gradient and state, their ``"row"``, or the whole
    #: ``"weight"``.  Servers of a distributed run hold parts of a weight only where it is one of the first two.  A class
    #: inherits it within the library alone; elsewhere a class that does not say it is taken to look at the whole weight.
    sums_over = "weight"
    #: Whether steps of several weights must be made in the program's order, by one server: they draw random numbers, or what
    #: one of them leaves in the optimizer is read by the next.  It is inherited as ``sums_over`` is.
    in_order = True
    #: What a step with given attributes does to a row without a gradient, where ``lazy_update="exact"`` is supported.
    _missed: Any = None  # Any: a function of the attributes, which gives what ``missed.Missed`` takes
    #: What a step changes in a row without a gradient, beside momentum and weight decay.
    _idle = ""
    #: Weights that one call of ``update`` may take, in lists; 0 if lists are not supported.
    aggregate_num = 0
    #: Whether the state of a float16 weight is ``(state, float32 copy)``, as mp_ operators take it; else the copy is first.
    _copy_last = False
    #: The classes by the names that ``create`` takes.
    opt_registry = registry

    def __init__(self, rescale_grad: float = 1.0, param_idx2name: Names | None = None, wd: float = 0.0,
                 clip_gradient: float | None = None, learning_rate: float | None = None, lr_scheduler: LRScheduler | None = None,
                 sym: Symbol | None = None, begin_num_update: int = 0, multi_precision: bool = False,
                 param_dict: Parameters | None = None, **unknown: object) -> None:  # object: only their names are read
        if unknown:
            raise ArgumentError.of(f"argument of {type(self).__name__}", next(iter(unknown)), settings(type(self)))
        for name, value in (("rescale_grad", rescale_grad), ("wd", wd), ("learning_rate", learning_rate)):
            if not hasattr(value, "__float__") and not (value is None and name == "learning_rate"):
                raise DTypeError(expected(name, "a number", value), hint=f"{name}=0.1, for example.")
        if lr_scheduler is not None and not callable(lr_scheduler):
            raise DTypeError(expected("lr_scheduler", "a schedule", lr_scheduler),
                             hint="lr_scheduler=mx.lr_scheduler.FactorScheduler(step=100, factor=0.9), for example.")
        if lr_scheduler is None:
            learning_rate = 0.01 if learning_rate is None else learning_rate
        elif learning_rate is not None and lr_scheduler.base_lr != learning_rate:
            kept = ", which starts all the same at the one that it was made with" if hasattr(lr_scheduler, "base_lr_orig") else ""
            warn_user(f"learning_rate={learning_rate} replaces base_lr={lr_scheduler.base_lr} of lr_scheduler{kept}; "
                          "pass equal values.")
            lr_scheduler.base_lr = learning_rate
        self.lr: Any = learning_rate  # Any: a number, or None with a schedule, which computes the learning rate
        self.lr_scheduler = lr_scheduler
        self.rescale_grad, self.wd, self.clip_gradient, self.multi_precision = rescale_grad, wd, clip_gradient, multi_precision
        self.begin_num_update = self.num_update = begin_num_update
        self.idx2name: Names = dict(param_idx2name or {})
        self.param_dict: Parameters = param_dict or {}
        self.sym_info = (sym.attr_dict(), sym.list_arguments()) if sym is not None else ()
        self._all_index_update_counts: dict[int, dict[Index, int]] = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]
        self._device = 0
        self._collected: list[Collected] | None = None
        self._executing = False
        self._half: NDArray | None = None  # the float16 weight of the copy that ``update`` gets
        self._calls: dict[tuple[Index, Op, float | None], Call] = {}
        self._recorded_calls: dict[tuple[Index, Op], tuple[dict[str, float], Call]] = {}
        self.lr_mult: dict[Index, float] = {}
        self.wd_mult: dict[Index, float] = {}
        self.set_lr_mult({})
        self.set_wd_mult({})

    def __repr__(self) -> str:
        rate = f"lr_scheduler={self.lr_scheduler!r}" if self.lr_scheduler is not None else f"learning_rate={self.lr!r}"
        return f"{type(self).__name__}({', '.join([rate, *changed_settings(self, _ATTRIBUTES, _NOT_SHOWN)])})"

    # object: a setting of any kind
    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)
        if name not in _UNMARKED and name not in self._counted:
            changes.settings = object()

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        changes.settings = object()

    def __getstate__(self) -> dict[str, Any]:  # Any: attributes
        """What a copy or a pickle has of an optimizer: calls are planned anew."""
        return {**vars(self), "_calls": {}, "_recorded_calls": {}, "_collected": None, "_half": None}

    register = staticmethod(register)
    create_optimizer = staticmethod(create)

    @property
    def learning_rate(self) -> float:
        """The current learning rate."""
        return float(self.lr_scheduler(self.num_update) if self.lr_scheduler is not None else self.lr)

    def set_learning_rate(self, lr: float) -> None:
        """Change the learning rate.

        Raises
        ------
        LearningRateError
            If there is an ``lr_scheduler``.  The class is a ``UserWarning``, as in MXNet.
        """
        if self.lr_scheduler is not None:
            raise LearningRateError("set_learning_rate has no effect: lr_scheduler decides the learning rate.",
                                    hint="replace the attribute lr_scheduler of the optimizer.")
        self.lr = lr

    def set_lr_mult(self, args_lr_mult: Factors) -> None:
        """Set the factor of the learning rate of some weights, by name or index."""
        self.lr_mult = SettingsDict({**self._symbol_factors("__lr_mult__"), **args_lr_mult})

    def set_wd_mult(self, args_wd_mult: Factors) -> None:
        """Set the factor of the weight decay of some weights, by name or index."""
        free: dict[Index, float] = {name: 0.0 for name in self.idx2name.values() if not name.endswith(("_weight", "_gamma"))}
        self.wd_mult = SettingsDict({**free, **self._symbol_factors("__wd_mult__"), **args_wd_mult})

    def _symbol_factors(self, key: str) -> dict[Index, float]:
        """The factors that arguments of the symbol have in the attribute ``key``, by argument name."""
        if not self.sym_info:
            return {}
        attrs, names = self.sym_info
        factors: dict[Index, float] = {}
        for name in names:
            if key in attrs.get(name, {}):
                try:
                    factors[name] = float(attrs[name][key])
                except ValueError:
                    raise DTypeError(f"{key[2:-2]} of {name} must be a number, got {attrs[name][key]!r:.60}.",
                                     hint="mx.sym.Variable(name, lr_mult=0.5)") from None
        return factors

    # states

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The initial state of a weight: None, an array or a tuple of arrays."""
        return None

    def create_state_multi_precision(self, index: Index, weight: NDArray) -> State:
        """``create_state``; under ``multi_precision``, the state of a float16 weight includes a float32 copy of it.

        Raises
        ------
        UnsupportedError
            If ``lazy_update`` is "exact" and the optimizer has no such update.
        SparsekitError
            If ``lazy_update`` is another text.
        """
        self._check_lazy()
        if weight.dtype != np.float16:
            return self.create_state(index, weight)
        if not self.multi_precision:
            warn_user("Accumulating in float16 is inexact and may not converge; multi_precision=True keeps a float32 "
                          "copy of the weight.")
            return self.create_state(index, weight)
        copy = weight.astype(np.float32)
        state = self.create_state(index, copy)
        return (state, copy) if self._copy_last else (copy, state)

    def _check_lazy(self) -> None:
        """Raise if ``lazy_update`` is a value that there is not, or not for this optimizer."""
        lazy = getattr(self, "lazy_update", False)
        if isinstance(lazy, str) and lazy != "exact":
            raise ParameterError(expected("lazy_update", "True, False or 'exact'", lazy),
                                 hint="'exact' gives the result of False at the cost of True, for SGD and AdamW.")
        if self._is_exact and self._missed is None:
            raise UnsupportedError(f"{type(self).__name__} has no lazy_update='exact'.",
                                   hint="SGD and AdamW have it; lazy_update=False updates all rows at each step.")

    @staticmethod
    def _zeros(weight: NDArray, stype: str | None = None, shape: Shape | None = None) -> NDArray:
        """An array of zeros with the dtype and context of the weight, and by default its storage type and shape."""
        xp = for_device(weight.context.device_type).xp
        with device.current(weight.context):
            store = empty_store(xp, stype or weight.stype, shape or weight.shape, weight.dtype)
        zeros: NDArray = wrap(store, weight.context)
        return zeros

    # steps

    # Any: the result of ``create_state`` for the weight, or a list of these; its type depends on the subclass
    def update(self, index: Indices, weight: Weights, grad: Weights, state: Any) -> None:
        """Make one step of a weight, or of each weight of a list, which writes to weight and state; for subclasses to override.

        Parameters
        ----------
        index : int, str or list of them
        weight, grad : NDArray or list of NDArray
        state : NDArray, tuple, None or list of these
            Results of ``create_state``.
        """
        if isinstance(index, (list, tuple)):
            for arguments in zip(index, weight, grad, state, strict=True):
                self.update(*arguments)
        else:
            self._update(index, weight, grad, state)  # type: ignore[arg-type]  # one index has one weight and gradient

    # Any: as in ``update``
    def _update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Make one step of one weight."""
        raise UnsupportedError(f"{type(self).__name__} does not define update().", hint="override update().")

    # Any: as in ``update``; one index has one weight, which is an array
    def update_multi_precision(self, index: Indices, weight: Any, grad: Any, state: Any) -> None:
        """``update``; under ``multi_precision``, the step of a float16 weight is computed on its float32 copy."""
        if isinstance(index, (list, tuple)):
            for arguments in zip(index, weight, grad, state, strict=True):
                self.update_multi_precision(*arguments)
        elif self.multi_precision and weight.dtype == np.float16:
            copy, own = state
            if not self._calls_once:
                self.update(index, copy, grad.astype(np.float32), own)
                weight._receive(copy)
                return
            self._half = weight
            try:
                self.update(index, copy, grad, own)
            finally:
                self._half = None
        else:
            self.update(index, weight, grad, state)

    def _run(self, op: Op, index: Index, arrays: tuple[NDArray, ...], **attrs: float) -> NDArray:
        """Run an operator with these attributes, ``rescale_grad`` and ``clip_gradient``."""
        attrs["rescale_grad"], attrs["clip_gradient"] = self.rescale_grad, self.clip_gradient or -1.0
        return self._call(op, index, arrays, attrs)

    def _call(self, op: Op, index: Index, arrays: tuple[NDArray, ...], attrs: dict[str, float]) -> NDArray:
        """Run an operator on the arrays of one weight, reusing the plans of the last step.

        Learning rates change from step to step, and a call with new attributes needs a new plan.  So this keeps the
        call and changes its attributes.  A recorder reads the attributes later: its calls are never changed, but
        replaced when an attribute changes.

        At a learning rate of 0, an operator whose formula divides by the rate, or does not have one, does not run.
        """
        if isinstance(op, Update) and op.step.rests(attrs) and is_zero(attrs["lr"] if "lr" in attrs else self._get_lr(index)):
            return arrays[0]
        if not _told and arrays[1].stype == "row_sparse" and attrs.get("lazy_update") and not self._is_exact:
            self._tell(attrs)
        if self._half is not None:
            op, arrays = precise(op), (self._half, *arrays[1:], arrays[0])
        if self._is_exact:
            self._check_lazy()
            return exact_step(self, op, index, arrays, attrs)
        if self._collected is not None:
            self._collected.append(Collected(index, op, arrays, attrs))
            if not self._executing:
                return arrays[0]
        return self._invoke(op, index, arrays, attrs)

    def _tell(self, attrs: dict[str, float]) -> None:
        """Warn once that lazy steps leave out what the standard update does to rows without a gradient, if it does something.

        A server of a distributed run has no program of the user's to point at, and says nothing.
        """
        parts = (("momentum", attrs.get("momentum")), ("weight decay", attrs.get("wd")), (self._idle, self._idle))
        left_out = " and ".join(name for name, value in parts if value)
        if not left_out or user_frame(of_program=True) is None:
            return
        _told.append(type(self).__name__)
        exact = "lazy_update='exact' gives the results of the standard update at the cost of stored rows" if self._missed else (
            "SGD and AdamW have lazy_update='exact', which gives the results of their standard update")
        warn_user("Optimizer with lazy_update = True detected. Be aware that lazy update with row_sparse gradient is different "
                  f"from standard update, and may lead to different empirical results: {type(self).__name__} leaves out the "
                  f"{left_out} of rows without a gradient. Hint: lazy_update=False updates all rows at each step; {exact}. "
                  "(Shown once.)", LazyUpdateWarning)

    def _invoke(self, op: Op, index: Index, arrays: tuple[NDArray, ...], attrs: dict[str, float]) -> NDArray:
        """Run an operator whose update is not collected."""
        if hooks.sink is not None:
            recorded = self._recorded_calls.get((index, op))
            if recorded is None or recorded[0] != attrs:
                recorded = self._recorded_calls[index, op] = attrs, op.bind(attrs)
            result: NDArray = invoke(recorded[1], arrays)
            return result
        key = (index, op, attrs.get("lazy_update"))  # lazy_update may select the rule
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = Call(op, dict(op.bind(attrs).attrs))
        else:
            call.attrs.update(attrs)
        result = invoke(call, arrays)
        return result

    @property
    def _calls_once(self) -> bool:
        """Whether each update of a weight is one call of an operator, as ``_one_call`` says of the library's own optimizers."""
        return (self._one_call and not self._is_exact and type(self) in registry.values() and self._of_library
                and self._is_as_defined)

    @property
    def _is_as_defined(self) -> bool:
        """Whether no method of the class has been replaced in this one object."""
        return _methods(type(self)).isdisjoint(vars(self))  # type: ignore[arg-type]  # mypy asks objects for __hash__

    @property
    def _is_exact(self) -> bool:
        """Whether rows without a gradient make up for the steps that they miss."""
        return getattr(self, "lazy_update", False) == "exact"

    @property
    def _of_library(self) -> bool:
        """Whether the class is one of the library's own, which keep what their bases declare."""
        return type(self).__module__.startswith(__package__ or "")

    @property
    def _looks_at(self) -> str:
        """``sums_over``, of a user's class as it says itself."""
        return self.sums_over if self._of_library or "sums_over" in vars(type(self)) else "weight"

    @property
    def _keeps_order(self) -> bool:
        """``in_order``, of a user's class as it says itself."""
        return self.in_order if self._of_library or "in_order" in vars(type(self)) else True

    def _changes_stored_rows_alone(self, weight: NDArray, state: State) -> bool:
        """Whether a step by a row_sparse gradient changes no rows of the weight but those that the gradient stores."""
        lazy = self._of_library and getattr(self, "lazy_update", False) and not self._is_exact
        return bool(lazy) and _all_of(state, weight.stype)

    def _collect(self, update: Callable[[], None], execute: bool = False) -> list[Collected]:
        """The updates that a function makes; unless ``execute``, it counts them and computes their attributes only."""
        collected: list[Collected] = []
        try:
            try:
                self._executing = execute
                self._collected = collected
                update()
            finally:
                self._collected = None
        except BaseException:  # an interrupt may have hit the line before
            self._collected = None
            raise
        return collected

    @property
    def _decisive(self) -> Decisive | None:
        """What the attributes of all updates depend on; None if they depend on the number of updates."""
        if not self._timeless or self.lr_scheduler is not None:
            return None
        names = [name for name in vars(self) if name not in _COUNTERS]
        values_of = operator.itemgetter(*names)
        return Decisive(len(vars(self)), values_of, tuple([dict(value) if isinstance(value, dict) else value
                                                           for value in values_of(vars(self))]))

    def _decided_by(self, before: Decisive) -> bool:
        """Whether the attributes of all updates still depend on the same."""
        held = vars(self)
        return len(held) == before.attributes and before.values_of(held) == before.values

    def _set_current_context(self, device_id: int) -> None:
        """Select the update counts of a device."""
        self._device = device_id
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    def _update_count(self, index: Indices) -> None:
        """Count a step of one or several weights."""
        counts, latest = self._index_update_count, self.num_update
        for key in index if isinstance(index, (list, tuple)) else (index,):
            count = counts[key] = counts.get(key, self.begin_num_update) + 1
            if count > latest:
                self.num_update = latest = count

    def _factor_of(self, index: Index, factors: dict[Index, float]) -> float:
        """The factor of a weight by its index, or by its name."""
        return factors[index] if index in factors else factors.get(self.idx2name.get(index, ""), 1.0)

    def _get_lr(self, index: Index) -> float:
        """The learning rate of a weight.

        Raises
        ------
        LearningRateError
            If it is infinite or nan.
        """
        rate: float = self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)
        return self._check_rate(index, self._rate_of(index, rate))

    def _get_wd(self, index: Index) -> float:
        """The weight decay of a weight."""
        parameter = self.param_dict.get(index)
        return self.wd * (self._factor_of(index, self.wd_mult) if parameter is None else parameter.wd_mult)

    def _check(self, index: Index) -> None:
        """Raise if the next step of a weight cannot be made; this is called for all weights before the first is updated."""
        self._check_rate(index, self._rate_of(index, 1.0 if self.lr is None else self.lr))

    @staticmethod
    def _check_rate(index: Index, rate: float) -> float:
        if rate - rate != 0:
            raise LearningRateError(f"The learning rate of weight {index!r} is {rate}.",
                                    hint="check learning_rate, lr_mult and lr_scheduler.")
        return rate

    def _rate_of(self, index: Index, rate: float) -> float:
        """The learning rate of a weight, from that of all weights."""
        parameter = self.param_dict.get(index)
        return rate * (self._factor_of(index, self.lr_mult) if parameter is None else parameter.lr_mult)

    def _get_lrs(self, indices: Sequence[Index]) -> list[float]:
        """The learning rates of several weights."""
        return [self._get_lr(index) for index in indices]

    def _get_wds(self, indices: Sequence[Index]) -> list[float]:
        """The weight decays of several weights."""
        return [self._get_wd(index) for index in indices]


@functools.cache
def _methods(kind: type[Optimizer]) -> frozenset[str]:
    """Names of the methods of a class and of its bases."""
    return frozenset(name for base in kind.__mro__ for name, value in vars(base).items() if isinstance(value, types.FunctionType))


def _all_of(state: State, stype: str) -> bool:
    """Whether all arrays of a state have this storage type; steps are lazy where they have that of the weight."""
    if isinstance(state, (tuple, list)):
        return all(_all_of(part, stype) for part in state)
    return state is None or state.stype == stype
