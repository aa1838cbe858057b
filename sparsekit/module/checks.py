"""Checks of modules before they change anything, with named errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..base.errors import DTypeError, ModuleStateError, ParameterError, ParameterNameError, ShapeError, expected
from ..base.warn import warn_user
from ..io import DataDesc

if TYPE_CHECKING:
    from ..base.context import Context
    from ..symbol.symbol import Symbol
    from .types import Callbacks

#: Attributes of a module that is prepared; the message if one is False, and the call that sets it.
STEPS = {"binded": ("is not bound", "call bind(data_shapes, label_shapes) first."),
         "params_initialized": ("has no parameters yet", "call init_params() first, after bind()."),
         "optimizer_initialized": ("has no optimizer yet", "call init_optimizer() first, after init_params()."),
         "inputs_need_grad": ("keeps no gradients of its data", "call bind(…, inputs_need_grad=True)."),
         "for_training": ("is bound for prediction only", "call bind(…, for_training=True, force_rebind=True).")}

#: Suffixes of parameter names, which are not suggested as names of data.
SUFFIXES = ("_weight", "_bias", "_gamma", "_beta")


def require(module: object, *steps: str) -> None:
    """Raise ``ModuleStateError`` if one of the attributes ``steps`` of a module is False."""
    for step in steps:
        if not getattr(module, step):
            missing, hint = STEPS[step]
            raise ModuleStateError(f"The {type(module).__name__} {missing}.", hint=hint)


def listed(callbacks: Callbacks) -> list[Any]:
    """Callbacks as a list."""
    if callbacks is None:
        return []
    return list(callbacks) if isinstance(callbacks, Iterable) else [callbacks]


def check_input_names(symbol: Symbol, names: list[str], kind: str, throw: bool) -> None:
    """Raise ``ParameterError`` if ``throw``, else warn, if a symbol lacks an argument with one of the names."""
    arguments = symbol.list_arguments()
    for name in names:
        if name in arguments:
            continue
        likely = [argument for argument in arguments if not argument.endswith(SUFFIXES)]
        message = (f"You created Module with Module(..., {kind}_names={names}) but input with name '{name}' is not found in "
                   "symbol.list_arguments().")
        if throw:
            raise ParameterError(message, hint=f"did you mean one of: {', '.join(likely)}?")
        listed = "\n\t".join(likely)
        warn_user(f"{message} Did you mean one of:\n\t{listed}", UserWarning)


def groups_of(group2ctxs: object, count: int) -> list[dict[str, Context] | None]:
    """``group2ctxs`` of a module for each of its contexts.

    Parameters
    ----------
    group2ctxs : dict, list of dict, or None
        Names of groups and their contexts: one context, or one for each context of the module.
    count : int
        Number of contexts of the module.

    Raises
    ------
    ParameterError
        If there is not one for each context of the module.
    """
    hint = "give one for each context of the module."
    if group2ctxs is None or isinstance(group2ctxs, (list, tuple)):
        groups = [None] * count if group2ctxs is None else list(group2ctxs)
        if len(groups) != count:
            raise ParameterError(f"There are {len(groups)} group2ctxs for {count} contexts.", hint=hint)
        return groups
    if not isinstance(group2ctxs, dict):
        raise DTypeError(expected("group2ctxs", "a dict or a list of dicts", group2ctxs), hint=hint)
    blocks = {name: group if isinstance(group, (list, tuple)) else [group] for name, group in group2ctxs.items()}
    for name, block in blocks.items():
        if len(block) not in (1, count):
            raise ParameterError(f"Group {name} has {len(block)} contexts, and the module has {count}.", hint=hint)
    return [{name: block[place % len(block)] for name, block in blocks.items()} for place in range(count)]


def described(shapes: object, argument: str) -> list[DataDesc]:
    """Convert descriptions or pairs of name and shape to descriptions; raises ``DTypeError`` for anything else."""
    descriptions = []
    for item in shapes if isinstance(shapes, (list, tuple)) else [shapes]:
        if isinstance(item, DataDesc):
            descriptions.append(item)
            continue
        if not isinstance(item, (list, tuple)) or not 2 <= len(item) <= 4 or not isinstance(item[0], str) \
                or not isinstance(item[1], (list, tuple)):
            raise DTypeError(f"Each description in {argument} must be a name and a shape, got {item!r}.",
                             hint="pass a list such as [('data', (32, 100))], or an iterator's provide_data.")
        descriptions.append(DataDesc(item[0], tuple(item[1]), *item[2:]))
    return descriptions


def check_data(names: list[str], descriptions: list[DataDesc]) -> None:
    """Raise ``ParameterError`` if the names of the descriptions are not the data names of the module."""
    provided = [description.name for description in descriptions]
    if sorted(provided) != sorted(names):
        raise ParameterError(f"Data provided by data_shapes don't match names specified by data_names ({descriptions} vs. "
                             f"{names}).", hint=_difference(names, provided, "data_names"))


def _difference(names: Iterable[str], provided: Iterable[str], argument: str) -> str:
    missing, unexpected = sorted(set(names) - set(provided)), sorted(set(provided) - set(names))
    parts = [f"{', '.join(map(repr, missing))} missing"] if missing else []
    parts += [f"{', '.join(map(repr, unexpected))} not expected"] if unexpected else []
    return f"{'; '.join(parts) or 'a name occurs twice'}. Rename the arrays of the iterator, or pass other {argument} to Module."


def warn_of_labels(names: list[str], descriptions: list[DataDesc]) -> None:
    """Warn if the names of the descriptions are not the label names of the module."""
    if sorted(names) != sorted(description.name for description in descriptions):
        warn_user(f"Data provided by label_shapes don't match names specified by label_names ({descriptions} vs. {names})",
                      UserWarning)


def check_labels(symbol: Symbol, names: list[str], descriptions: list[DataDesc]) -> list[DataDesc]:
    """The descriptions whose names are arguments of the symbol.

    Raises
    ------
    ParameterError
        If a description is not an argument, although the symbol has labels.
    """
    arguments = symbol.list_arguments()
    labels = [label for label in descriptions if label.name in arguments]
    wanted = [name for name in names if name in arguments]
    if len(labels) < len(descriptions) and wanted:
        provided = [description.name for description in descriptions]
        raise ParameterError(f"The labels are named {provided}, but the labels of the network are named {wanted}.",
                             hint=_difference(wanted, provided, "label_names"))
    return labels


def check_values(held: dict[str, Any], values: object, kind: str, allow_missing: bool, allow_extra: bool = True) -> None:
    """Raise if the arrays of ``values`` cannot be copied to the arrays of ``held``.

    Raises
    ------
    ParameterNameError
        If a name is missing or unexpected.
    DTypeError
        If ``values`` is not a dict of NDArrays.
    ShapeError
        If a shape differs.
    """
    if not isinstance(values, dict):
        raise DTypeError(f"The {kind}s must be a dict, not a {type(values).__name__}.", hint="pass a dict of arrays by name.")
    missing = sorted(held.keys() - values.keys())
    if missing and not allow_missing:
        raise ParameterNameError(f"{missing[0]} is not presented; values are missing for {', '.join(missing)}.",
                                 hint="pass them too, or set allow_missing=True.")
    extra = sorted(values.keys() - held.keys())
    if extra and not allow_extra:
        raise ParameterNameError(f"The network has no {kind} named {extra[0]!r}.", hint="allow_extra=True ignores it.")
    for name in held.keys() & values.keys():
        if not hasattr(values[name], "stype"):
            raise DTypeError(f"The value of {name} is a {type(values[name]).__name__}, not an NDArray.", hint="mx.nd.array(…)")
    for name, array in held.items():
        if name in values and values[name].shape != array.shape:
            raise ShapeError(f"The value for {name} has shape {values[name].shape}, but the network needs {array.shape}.",
                             hint="pass the parameters of a network of the same sizes.")
