"""An operator is a record: inputs, attributes, rule rows, gradient, documentation.

Everything that needs to know an operator reads this one record: storage inference, the kernels,
the fallback, ``nd``, the gradient, the profiler's label and the test sweep.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

import numpy as np

from ..base.dtypes import MOST_AXES
from ..base.errors import ArgumentError, ShapeError, SparsekitError, UnknownNameError, named, shown
from ..base.faults import internal, is_a_handlers, is_internal
from ..base.forking import load
from ..base.literal import literal
from . import cost as costs
from . import infer

if TYPE_CHECKING:
    from _collections_abc import dict_items, dict_keys, dict_values
    from collections.abc import Container, Hashable
    from types import FrameType
    from typing import SupportsIndex

    from ..base.types import Array, Attrs, Decorator, DType, Shape
    from ..kernels.types import Kernels
    from .arrays import Layout
    from .dispatch import Plan
    from .partial_shapes import InputRule
    from .types import ArrayFunctions, ArrayObject

T = TypeVar("T")
Function = TypeVar("Function", bound=Callable[..., Any])  # Any: a gradient rule, given back as it is


class _Required:
    def __repr__(self) -> str:
        return "required"


#: Default of an attribute that a caller must give.
REQUIRED = _Required()


class _Registry(dict[str, "Op"]):
    """Every operator, by name and by alias; some are declared by modules that are imported when one of their names is looked up.

    Names are listed without importing anything; ``values()`` and ``items()`` import all.
    """

    def __init__(self) -> None:
        self._modules: dict[str, str] = {}

    def declared_in(self, module: str, names: Iterable[str]) -> None:
        """Say that importing the module declares the operators of these names."""
        self._modules.update(dict.fromkeys(names, module))

    def __missing__(self, name: str) -> Op:
        if name not in self._modules:
            raise KeyError(name)
        load(self._modules[name])
        return dict.__getitem__(self, name)

    def __contains__(self, name: object) -> bool:  # object: as in dict
        return dict.__contains__(self, name) or name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(list(dict.fromkeys((*dict.keys(self), *self._modules))))

    def __len__(self) -> int:
        return len({*dict.keys(self), *self._modules})

    @overload
    def get(self, name: str, default: None = None, /) -> Op | None: ...
    @overload
    def get(self, name: str, default: T, /) -> Op | T: ...
    def get(self, name: str, default: T | None = None, /) -> Op | T | None:
        try:
            return self[name]
        except KeyError:
            return default

    def keys(self) -> dict_keys[str, Op]:
        names: dict[str, Any] = dict.fromkeys(self)  # Any: None for each, as only the keys are given
        return names.keys()

    def values(self) -> dict_values[str, Op]:
        return self._complete().values()

    def items(self) -> dict_items[str, Op]:
        return self._complete().items()

    def _complete(self) -> dict[str, Op]:
        return {name: self[name] for name in self}


registry = _Registry()

#: Reasons for dense results that are not implicit conversions; see ``Rule.asked``.
PRODUCT = "a product, whose dense result is what the call asks for"
WRITES = "the result is an array that was dense before, which the step writes to"
SHAPE_ONLY = "only the shape of the sparse array is read, not its values"
REDUCED = "a reduction, which gives one value for many"
LOOKED_UP = "values or rows are looked up, as many as the dense array of places asks for"

#: How private names begin of operators that are functions of a namespace.
_GROUPS = {"_contrib_": "contrib.", "_linalg_": "linalg.", "_random_": "random.", "_sample_": "random.", "_sparse_": "sparse."}

#: How rule rows write a dense input.
DENSE = {"default", "default?", "default..."}

#: Combinations of attributes that are cached for each operator; a full cache is cleared.
REMEMBERED = 512


class Want(NamedTuple):
    """The form in which the backward pass wants the gradient of one input.

    Attributes
    ----------
    stype : str or None
        Storage type of the buffer the gradient goes to, None if the natural one will do.
    out : array or None
        Buffer that may be overwritten with the gradient.
    places : (rows, columns) of arrays, or None
        The only places of a matrix whose gradient is read, if the others are not.
    """

    stype: str | None = None
    out: ArrayObject | None = None
    places: tuple[ArrayObject, ArrayObject] | None = None


class Visits(NamedTuple):
    """The inputs that a call reads, and those that it writes to in place.

    Each has the place of the row_sparse input that stores the only rows visited, or None if all are.

    Attributes
    ----------
    reads, writes : dict of int to (int or None)
    """

    reads: dict[int, int | None]
    writes: dict[int, int | None]


class Rule:
    """One row of an operator's storage table, with the kernel that serves it.

    Attributes
    ----------
    inputs : tuple of str
        Storage types taken; ``"csr|row_sparse"`` takes either, ``"*"`` any, a final ``"?"`` marks an
        input that may be absent, a final ``"..."`` one or more of the same.
    outputs : tuple of str
        Storage types given; a final ``"..."`` means as many as the call has outputs.
    when : dict
        Attribute values that the row needs; a tuple lists alternatives, any other container says what is in it.
    ufunc : str
        Function of ``k.xp`` that the kernel consists of, so that it may be called directly; empty if there is none.
    asked : str
        Why a dense result of the size of its sparse inputs does not count as an implicit conversion; empty if it counts as
        one, of the kind "dense by nature".
    """

    __slots__ = ("asked", "function", "inputs", "outputs", "takes_out", "ufunc", "when")

    # Any: a kernel takes the stores of its row, and gives one or several
    def __init__(self, pattern: str, when: Attrs, function: Callable[..., Any], asked: str = "") -> None:
        left, arrow, right = pattern.partition("->")
        if not arrow:
            raise SparsekitError(f"The rule row {pattern!r} has no '->'.", hint="write 'csr, default -> default'.")
        self.inputs = tuple(word.strip() for word in left.split(",") if word.strip())
        self.outputs = tuple(word.strip() for word in right.split(","))
        # object: an attribute may have any value
        self.when: dict[str, Container[object]] = {
            name: value if hasattr(value, "__contains__") and not isinstance(value, str) else (value,)
            for name, value in when.items()}
        self.function, self.ufunc, self.asked = function, "", asked
        self.takes_out = "out" in _parameters(function)
        if self.takes_out and "out" not in _optional(function):
            raise SparsekitError(f"The kernel of the rule row {pattern!r} has an input named 'out'.",
                                 hint="out=None is the buffer that a kernel may write its result to; name the input otherwise.")

    def takes(self, stypes: tuple[str, ...]) -> bool:
        """Whether these storage types fit the row."""
        wanted = self.inputs
        if len(wanted) == 1 and wanted[0].endswith("..."):
            return bool(stypes) and all(_fits(wanted[0][:-3], stype) for stype in stypes)
        if len(stypes) > len(wanted) or any(not word.endswith("?") for word in wanted[len(stypes):]):
            return False
        return all(_fits(word.rstrip("?"), stype) for word, stype in zip(wanted, stypes, strict=False))

    def applies(self, attrs: Attrs) -> bool:
        """Whether these attribute values fit the row."""
        return all(attrs[name] in allowed for name, allowed in self.when.items())

    def stype(self, place: int) -> str:
        """Storage type of one output."""
        return self.outputs[min(place, len(self.outputs) - 1)].removesuffix("...")

    def __repr__(self) -> str:
        when = "".join(f", {name}={'|'.join(map(str, values)) if isinstance(values, tuple) else repr(values)}"
                       for name, values in self.when.items())
        return f"{', '.join(self.inputs)} -> {', '.join(self.outputs)}{when}"


def _fits(word: str, stype: str) -> bool:
    return word == "*" or stype in word.split("|")


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:  # Any: as in Rule
    """Names of a function's parameters; ``inspect.signature`` would take a tenth of the import."""
    code = function.__code__
    return tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _optional(function: Callable[..., Any]) -> tuple[str, ...]:  # Any: as in Rule
    """Names of a function's parameters that have defaults."""
    code = function.__code__
    count, keyword_only = len(function.__defaults__ or ()), function.__kwdefaults__ or ()
    return (*code.co_varnames[code.co_argcount - count: code.co_argcount], *keyword_only)


def joining(function: Callable[..., T], places: slice = slice(None)) -> Callable[..., T]:
    """Wrap a kernel so that it gets the inputs at ``places`` in their joint element type."""

    def run(k: Kernels, *arguments: Any) -> T:  # Any: stores, and then the attributes
        met = arguments[:-1][places]
        first = met[0].dtype
        for store in met:
            if store.dtype != first:
                break
        else:
            return function(k, *arguments)
        dtype = infer.same([store.dtype for store in met], {})
        stores = list(arguments[:-1])
        stores[places] = [store if store.dtype == dtype else store.astype(dtype) for store in met]
        return function(k, *stores, arguments[-1])

    return run


class Op:
    """The record of one operator, which is complete when it is made: only rule rows and the gradient's function are added.

    Parameters
    ----------
    name : str
    inputs : str
        Names of the array inputs; a final ``?`` marks one that may be left out, ``*name`` takes any number.
    attrs : mapping, optional
        Attributes with their defaults; ``REQUIRED`` for those without.
    shape : callable
        ``shape(shapes, attrs)`` gives the output shape (a list of them if there are several outputs), or
        raises ``ShapeError``.
    dtype : callable
        ``dtype(dtypes, attrs)`` gives the output's element type.
    sample : callable
        Gives example inputs and attributes, which the test sweep runs through every rule row.
    doc : str
        What the operator computes.
    label : str
        What users write for it, which errors and warnings say; by default it follows from the name.
    expression : str
        How a call is written that is not a function's, such as ``"data - scalar"``; the sign is the label.
    lane : str, optional
        The profiler lane that the operator always belongs to.
    cost : callable, optional
        ``cost(attrs, inputs, outputs)`` gives useful and dense-equivalent floating-point operations.
    selects : int, optional
        Position of the input of which only what the result holds is read, such as the table of a look-up.
    rows_read : mapping
        For inputs of which a call reads some rows alone: ``rows_read[place](inputs, attrs, rows)`` gives these, given how many
        rows there are, or None if it reads all.
    mutates : tuple of int or callable
        Inputs that the operator writes to; ``mutates(attrs)`` if the attributes decide.
    nondifferentiable : tuple of int
        Inputs that no gradient ever flows to, such as indices.
    saves : tuple of str, optional
        What the gradient's function reads: names of inputs, and ``"out"`` for the results; everything by default.  The
        inputs are kept for the backward pass if any of them is named, the results if they are; ``None`` arrives otherwise.
    sparse_output : str, optional
        Attribute that may name the storage type of the result.
    outputs : int or callable
        How many arrays the kernel gives; ``outputs(attrs)`` if the attributes decide.
    visible : int or callable, optional
        How many of them the caller gets, all by default; the gradient sees the rest too.
    unlimited : bool
        Whether a dense result has no byte limit if an input is dense, as for products.
    asked : str
        Why a dense result of sparse inputs does not count as an implicit conversion, for all rows; see ``Rule``.
        Products, and steps that write to their inputs, have a reason of their own.
    own_gradient : bool
        Whether the gradient is the operator's own, whatever arrives from above, as that of an output layer is.
    gradient_hint : str
        For an operator without gradient: what to use where one is needed.
    settle : callable, optional
        ``settle(call, shapes)`` gives the call whose rows run, where they depend on how many axes the inputs have.
    joined : slice, optional
        Inputs whose values meet in one element type, ``joint_type`` of all of them.  A row with a sparse input gets them
        in that type; dense rows are numpy's functions, which do the same, or use ``joining``.  Where numpy's would
        give a type that arrays do not have, every row gets them in that type.
    reference : callable, optional
        ``reference(*arrays, **attrs)``: the result, or a list of several, by numpy or scipy alone on dense arrays, which the
        tests hold the rows and the gradient to.  The library's own operators have theirs in ``tests/references``.
    input_rule : callable, optional
        ``input_rule(shapes, out, attrs)``: the shapes of the inputs as far as they follow from each other and from the first
        result, with None for sizes that are not known.  By default it follows from ``shape`` being ``infer.same_shape`` or
        ``infer.unchanged``.
    own_dtype : tuple of int
        Inputs whose element type has nothing to do with that of the others, such as indices.
    input_dtype : callable, optional
        ``input_dtype(place, dtype, attrs)``: the element type of an input without one in a symbol, given that of the others or
        None; by default it is the same.
    wants : callable, optional
        ``wants(attrs, name)``: whether a symbol's call takes the optional input of this name if it is not given.
    initial : mapping
        Initializers of inputs, by name, of which a symbol makes variables: a name and its arguments, as files have them.
    random : bool or callable
        Whether a kernel draws random numbers: the same inputs need not give the same twice.  May be a function of the
        attributes and of whether layers behave as in training; ``draws`` gives the answer for a call.
    reads_back : str
        Why a graph on a GPU cannot have it, if it reads something back from the device; else an empty string.
    listed : bool
        Whether the registry has it; an operator of one symbol is not listed.

    Raises
    ------
    SparsekitError
        If the name is taken, or an attribute of the record is set later.
    UnknownNameError
        If ``saves`` names what is neither an input nor ``"out"``.
    """

    name: str
    doc: str
    label: str
    expression: str
    lane: str | None
    inputs: tuple[str, ...]
    needed: int
    variadic: bool
    attrs: Attrs
    aliases: tuple[str, ...]
    shape: Callable[..., Any]  # Any: a shape, several, or None if the values decide; see ``Call.infer_shape``
    dtype: Callable[..., Any]  # Any: what numpy takes for an element type, or a list of it for several outputs
    sample: Callable[[], Iterable[Any]]  # Any: inputs of all kinds, and attributes
    cost: Callable[..., tuple[int, int]]
    selects: int | None
    rows_read: Mapping[int, Callable[[Sequence[ArrayObject], Attrs, int], Array | None]]
    settle: Callable[[Call, Sequence[Shape | None]], Call] | None
    mutates: tuple[int, ...] | Callable[..., Iterable[int]]
    outputs: int | Callable[..., int]
    visible: int | Callable[..., int] | None
    sparse_output: str | None
    nondifferentiable: tuple[int, ...]
    own_gradient: bool
    gradient_hint: str
    gradient_function: Callable[..., Any] | None  # Any: one gradient, or one for each input; see ``gradients``
    saves_inputs: bool
    saves_outputs: bool
    unlimited: bool
    joined: slice | None
    asked: str
    random: bool | Callable[[Attrs, bool], bool]
    input_rule: InputRule | None
    own_dtype: tuple[int, ...]
    input_dtype: Callable[..., Any] | None  # Any: an element type, None if the others' is not known
    wants: Callable[[Attrs, str], bool] | None
    initial: Mapping[str, tuple[str, Attrs]]
    reference: Callable[..., Any] | None  # Any: an array of numpy's, several, or a number
    reads_back: str
    rules: list[Rule]
    #: Of an update that takes its numbers as an array: the operator that computes them from its attributes.
    plain: Op | None = None
    _calls: dict[Hashable, Call]
    _module: dict[str, Any]  # Any: the variables of a module

    def __init__(
        self, name: str, inputs: str, *, attrs: Attrs | None = None,
        # Any: as the attributes of these names above
        shape: Callable[..., Any], dtype: Callable[..., Any] = infer.same, sample: Callable[[], Iterable[Any]],
        doc: str, label: str = "", expression: str = "", lane: str | None = None,
        cost: Callable[..., tuple[int, int]] = costs.elementwise,
        selects: int | None = None, mutates: tuple[int, ...] | Callable[..., Iterable[int]] = (), aliases: tuple[str, ...] = (),
        sparse_output: str | None = None, outputs: int | Callable[..., int] = 1,
        visible: int | Callable[..., int] | None = None, nondifferentiable: tuple[int, ...] = (),
        saves: tuple[str, ...] | None = None, own_gradient: bool = False, gradient_hint: str = "", unlimited: bool = False,
        joined: slice | None = None,
        asked: str | None = None, random: bool | Callable[[Attrs, bool], bool] = False, listed: bool = True,
        settle: Callable[[Call, Sequence[Shape | None]], Call] | None = None,
        reference: Callable[..., Any] | None = None,  # Any: as the attribute above
        rows_read: Mapping[int, Callable[[Sequence[ArrayObject], Attrs, int], Array | None]] | None = None,
        input_rule: InputRule | None = None, own_dtype: tuple[int, ...] = (), wants: Callable[[Attrs, str], bool] | None = None,
        initial: Mapping[str, tuple[str, Attrs]] | None = None, reads_back: str = "",
        input_dtype: Callable[..., Any] | None = None,  # Any: as the attribute above
    ) -> None:
        parameters = {key: value for key, value in locals().items() if key in Op.__annotations__}
        words = inputs.split()
        names = tuple([word.strip("*?") for word in words])
        for saved in saves or ():
            if saved not in names and saved != "out":
                raise UnknownNameError.of(f"input or result of {name}", saved, (*names, "out"))
        vars(self).update(
            parameters, inputs=names, label=label or (expression.split()[1] if expression else _regular_label(name)),
            needed=sum(not word.endswith("?") for word in words), variadic=bool(words) and words[0].startswith("*"),
            attrs=dict(attrs or ()), initial=initial or {}, rows_read=rows_read or {},
            asked=asked if asked is not None else PRODUCT if unlimited else WRITES if mutates else "",
            saves_inputs=saves is None or any(saved != "out" for saved in saves), saves_outputs=saves is None or "out" in saves,
            gradient_function=None, rules=[], _calls={}, _module=_module_being_run())
        for key in (name, *aliases) if listed else ():
            if dict.__contains__(registry, key) and not registry[key]._is_left_over():
                raise SparsekitError(f"Two operators are named {key!r}.", hint="rename one.")
            registry[key] = self

    def __setattr__(self, name: str, value: object) -> None:  # object: as in object itself
        if name in vars(self) and any(name in vars(kind).get("__annotations__", ()) for kind in type(self).__mro__):
            raise SparsekitError(f"{name} of the operator {self.name} cannot be set after its declaration.",
                                 hint=f"give it to the constructor: Op(…, {name}=…).")
        super().__setattr__(name, value)

    def with_numbers(self) -> Op:
        """The same operator with numbers of an optimizer's step as its last input, if it is one that has such; else itself."""
        return self

    def _is_left_over(self) -> bool:
        """Whether an interrupted import declared the operator, and the module is imported again."""
        module = sys.modules.get(self._module.get("__name__", ""))
        return module is not None and module.__dict__ is not self._module

    # object: an attribute may have any value
    def forward(self, pattern: str, *, asked: str | None = None, **when: object) -> Decorator:
        """Declare the kernel of one row: ``function(k, *stores, attrs)``, with ``out=None`` if it can write there.

        ``asked`` says why a dense result does not count as an implicit conversion; by default the operator's reason.
        """

        def declare(function: Callable[..., Any]) -> Callable[..., Any]:  # Any: as in Rule
            unknown = set(when) - set(self.attrs)
            if unknown:
                raise UnknownNameError.of(f"attribute of {self.name}", unknown.pop(), self.attrs)
            rule = Rule(pattern, when, function, self.asked if asked is None else asked)
            if self.joined is not None and not set(rule.inputs) <= DENSE:
                rule.function = joining(function, self.joined)
            self.rules.append(rule)
            self._changed()
            return function

        return declare

    def forward_ufunc(self, pattern: str, name: str) -> None:
        """Declare a row of dense arrays whose kernel is numpy's function of that name, and nothing else."""

        def run(k: Kernels, *stores: Any, out: Array | None = None) -> Array:  # Any: arrays, and then the attributes
            return getattr(k.xp, name)(*stores[:-1], out=out)  # type: ignore[no-any-return]  # a function of numpy's arrays

        self.forward(pattern)(run)
        self.rules[-1].ufunc = name

    def gradient(self, function: Function) -> Function:
        """Declare the gradient: ``function(F, g, *inputs, out, attrs, want)`` gives one gradient an input.

        ``None`` arrives in the place of what ``saves`` leaves out.
        """
        vars(self)["gradient_function"] = function
        self._changed()
        return function

    def draws(self, attrs: Attrs, training: bool) -> bool:
        """Whether a call with these attributes draws random numbers, in training or in prediction."""
        return self.random(attrs, training) if callable(self.random) else self.random

    def gradients(self, F: ArrayFunctions, out_gradients: ArrayObject | Sequence[ArrayObject | None],
                  inputs: Sequence[ArrayObject | None] | None, out: ArrayObject | Sequence[ArrayObject] | None, attrs: Attrs,
                  want: list[Want | None]) -> Sequence[ArrayObject | None]:
        """Run the gradient rule: one gradient for each input; ``inputs`` is None if the rule needs none."""
        rule: Any = self.gradient_function  # Any: both callers ask first whether there is one
        count = len(want)
        if self.variadic:
            result = rule(F, out_gradients, inputs or [None] * count, out, attrs, want)
        else:
            absent = len(self.inputs) - count
            if inputs is None:
                inputs = (None,) * (count + absent)
            elif absent:
                inputs = (*inputs, *(None,) * absent)
            result = rule(F, out_gradients, *inputs, out, attrs, want + [None] * absent if absent else want)
        return result if type(result) is tuple or type(result) is list else (result,)

    def _changed(self) -> None:
        """Drop the plans of calls that were made before this declaration."""
        for call in self._calls.values():
            call.plans.clear()
            call.ready.clear()
            call.recorded = self.recorded

    def meeting(self, dtypes: Sequence[DType]) -> slice | None:
        """The inputs that a row gets in their joint type, because arrays do not support numpy's joint type."""
        places = self.joined
        if places is None and self.dtype is infer.same and not self.mutates:
            places = infer.EVERY
        return places if places is not None and infer.apart(dtypes[places]) else None

    @property
    def recorded(self) -> bool:
        """Whether calls have a place in a graph; a step that only writes to its inputs has none."""
        return self.gradient_function is not None or not self.mutates

    def written(self, attrs: Attrs) -> Iterable[int]:
        """The places of the inputs that a call with these attributes writes to."""
        places = self.mutates
        return places(attrs) if callable(places) else places

    def visits(self, attrs: Attrs, stypes: Sequence[str], training: bool) -> Visits:
        """What a call on inputs of these storage types reads, and writes in place; in training, or in prediction."""
        return Visits(dict.fromkeys(range(len(stypes))), dict.fromkeys(self.written(attrs)))

    def bind(self, attrs: Attrs) -> Call:
        """The operator with these attributes; missing ones take their defaults."""
        check_depth(attrs.values())
        try:
            key = tuple(attrs.items())
            call = self._calls.get(key)
        except TypeError:
            attrs = {name: _hashable(value) for name, value in attrs.items()}
            key = tuple(attrs.items())
            call = self._calls.get(key)
        if call is None:
            if _negative_zero(attrs, attrs):
                return Call(self, self._complete(attrs))
            if len(self._calls) >= REMEMBERED:
                self._calls.clear()
            call = self._calls[key] = Call(self, self._complete(attrs))
        elif call.zeros and _negative_zero(attrs, call.zeros):
            return Call(self, self._complete(attrs))
        return call

    def _complete(self, attrs: Attrs) -> dict[str, Any]:  # Any: as Attrs
        if "ctx" in attrs and not self.attrs:  # zeros_like(x, ctx=…): the result is where x is, as in MXNet
            attrs = {name: value for name, value in attrs.items() if name != "ctx"}
        unknown = [name for name in attrs if name not in self.attrs]
        if unknown:
            raise ArgumentError.of(f"argument of {self.label}", unknown[0], (*self.inputs, *self.attrs, "out", "name"))
        complete = {**self.attrs, **{name: _value(value, self.attrs[name]) for name, value in attrs.items()}}
        missing = [name for name, value in complete.items() if value is REQUIRED]
        if missing:
            raise SparsekitError(f"{self.label} needs the argument {missing[0]!r}.", hint=f"{self.label}(…, {missing[0]}=…)")
        return complete

    # Any: what the user gave, which the interpreter checks
    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Split a call's arguments into input arrays and attributes."""
        if self.variadic:
            arrays = tuple(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
            return arrays, kwargs
        names = (*self.inputs, *self.attrs)
        if len(args) > len(names):
            raise SparsekitError(f"{self.label} takes at most {len(names)} arguments, {len(args)} were given.",
                                 hint=f"its arguments are {', '.join(names)}.")
        values = dict(zip(names, args, strict=False))
        twice = values.keys() & kwargs.keys()
        if twice:
            raise SparsekitError(f"{self.label} was given the argument {twice.pop()!r} twice.", hint="give it once.")
        values.update(kwargs)
        arrays = tuple(values.pop(name, None) for name in self.inputs)
        while arrays and arrays[-1] is None and len(arrays) > self.needed:
            arrays = arrays[:-1]
        for name, array in zip(self.inputs, arrays, strict=False):
            if array is None:
                raise SparsekitError(f"{self.label} needs the array {name!r}.", hint=f"{self.label}({', '.join(self.inputs)}, …)")
        return arrays, values

    def find_rule(self, stypes: tuple[str, ...], attrs: Attrs) -> Rule | None:
        """The first row that fits, or None: then the call falls back to the dense row."""
        return next((rule for rule in self.rules if rule.takes(stypes) and rule.applies(attrs)), None)

    def with_rules(self, rules: list[Rule]) -> Op:
        """The operator with these rows alone, for calls that the others do not fit; the registry keeps the whole one."""
        op = object.__new__(Op)  # copy.copy would give the registry's own record, see __reduce__
        vars(op).update(vars(self), rules=rules, settle=None, _calls={})
        return op

    def __repr__(self) -> str:
        return f"<Op {self.name}: {len(self.rules)} rule rows>"

    def __reduce__(self) -> tuple[Callable[[str], Op], tuple[str]]:
        return find, (self.name,)  # a copy or a pickle names the one record


class Call:
    """An operator with its attributes fixed, and the plans made for it so far.

    ``plans`` are by context and kind of store; ``ready`` are by their shapes too, which have been checked.

    Attributes
    ----------
    outputs, visible : int
        How many arrays the kernel gives, and how many of them the caller.
    recorded : bool
        Whether the call has a place in a graph; a step that only writes to its inputs has none.
    zeros : tuple of str
        The attributes that are zero, which as keys equal the negative one.
    """

    __slots__ = ("attrs", "op", "outputs", "plans", "ready", "recorded", "visible", "zeros")

    def __init__(self, op: Op, attrs: dict[str, Any]) -> None:  # Any: as Attrs, and optimizers set new numbers
        self.op, self.attrs = op, attrs
        self.zeros = tuple([name for name, value in attrs.items() if type(value) in (int, float, bool) and value == 0])
        try:
            self.outputs: int = operator.index(op.outputs(attrs)) if callable(op.outputs) else op.outputs
        except TypeError as error:
            raise named(error, f"the number of outputs of {self!r} could not be computed") from error
        visible = op.visible(attrs) if callable(op.visible) else op.visible
        self.visible: int = self.outputs if visible is None else visible
        self.recorded = op.recorded
        self.plans: dict[Hashable, Plan] = {}
        # A plan, its function, the kernels to call that with, attributes and the result's layout.  Any: a kernel's result.
        self.ready: dict[Hashable, tuple[Plan, Callable[..., Any], Kernels | None, Attrs, Layout]] = {}

    def settled(self, shapes: Sequence[Shape | None]) -> Call:
        """The call whose rule row runs for inputs of these shapes, None for those that are not known.

        An operator has ``settle(call, shapes)`` where its row depends on how many axes its inputs have.
        """
        settle = self.op.settle
        return self if settle is None else settle(self, shapes)

    # Any: a shape, a list of them or None, and ``outputs`` tells the caller which
    def infer_shape(self, shapes: Sequence[Shape]) -> Any:
        """Output shape for these input shapes, a list for several outputs; None if values decide it.

        Raises
        ------
        ShapeError
            If the attributes do not go with the shapes; the error names the operator.
        """
        try:
            result = self.op.shape(shapes, self.attrs)
            if result is None:
                return None
            return _sizes(result) if self.outputs == 1 else [_sizes(shape) for shape in result]
        except ShapeError as error:
            raise ShapeError(f"{self.op.label}: {error.message}", hint=error.hint) from None
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, MemoryError, AssertionError,
                NameError) as error:
            if is_a_handlers(error, [self.op.shape]):
                raise
            if is_internal(error, (*shapes, *self.attrs.values())):
                raise internal(error, f"{self!r} failed") from error
            raise named(error, f"{self!r} does not go with arrays of shapes {', '.join(map(str, shapes))}") from error

    def __repr__(self) -> str:
        if self.op.expression:
            return self.op.expression.replace("scalar", shown(self.attrs["scalar"]))
        return f"{self.op.label}({', '.join(f'{key}={shown(value)}' for key, value in self.attrs.items())})"


def _module_being_run() -> dict[str, Any]:  # Any: whatever a module may define
    """The variables of the module whose own code runs, rather than a function's."""
    frame: FrameType = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame.f_globals


def _value(value: object, default: object) -> object:  # object: an attribute of any kind
    """An attribute as it is computed with.

    MXNet's attributes are text, so the text of a number or a tuple stands for it.  Python's numbers take the place of
    numpy's, whose arithmetic overflows and which equal them as keys.
    """
    if type(value) is str and not isinstance(default, str):
        return literal(value)
    if isinstance(value, np.generic):
        return value.item()
    return tuple([_value(item, "") for item in value]) if type(value) is tuple else value


def _sizes(shape: Iterable[SupportsIndex]) -> Shape:
    """An inferred shape as Python integers, whose products do not overflow."""
    sizes = tuple(map(operator.index, shape))
    if min(sizes, default=0) < 0 or len(sizes) > MOST_AXES:
        raise ShapeError(f"the result must have a valid shape, got {shown(sizes)}.",
                         hint=f"a shape has at most {MOST_AXES} sizes, none of them negative.")
    return sizes


def _negative_zero(attrs: Attrs, names: Iterable[str]) -> bool:
    """Whether one of the attributes of these names is the float -0.0."""
    for name in names:
        value = attrs.get(name)
        if type(value) is float and value == 0 and math.copysign(1, value) < 0:
            return True
    return False


#: Tuples in tuples that an attribute may have.
DEEPEST = 10


# object: what a user gave for an attribute
def check_depth(values: Iterable[object], depth: int = -1) -> None:
    """Raise if lists or tuples are nested too deeply: to hash a million tuples in one another ends the interpreter."""
    for item in values:
        if isinstance(item, (tuple, list)):
            if depth == DEEPEST:
                raise SparsekitError(f"An operator's attribute has more than {DEEPEST} lists or tuples in one another.",
                                     hint="attributes are numbers, strings, tuples and element types.")
            check_depth(item, depth + 1)


def _hashable(value: object) -> Hashable:  # object: what a user gave for an attribute
    if isinstance(value, list):
        return tuple(_hashable(item) for item in value)
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu":
        return tuple(value.tolist())
    try:
        hash(value)
    except TypeError:
        raise SparsekitError(f"{shown(value)} of type {type(value).__name__} cannot be an operator's attribute.",
                             hint="attributes are numbers, strings, tuples and element types.") from None
    return value


def find(name: str) -> Op:
    """The operator of that name or alias."""
    try:
        return registry[name]
    except KeyError:
        raise UnknownNameError.of("operator", name, registry) from None


def label_of(name: str) -> str:
    """What users write for the operator of a name, listed or not."""
    op = registry.get(name)
    return _regular_label(name) if op is None else op.label


def _regular_label(name: str) -> str:
    """What users write for an operator whose name MXNet formed like most others."""
    if not name.startswith("_"):
        return name
    if name.endswith("_backward"):
        return f"the gradient of {_regular_label(name.removesuffix('_backward'))}"
    for prefix, group in _GROUPS.items():
        if name.startswith(prefix):
            return group + name.removeprefix(prefix)
    return name.strip("_").removesuffix("_scalar")
