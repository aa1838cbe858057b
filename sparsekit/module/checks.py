"""What modules check before they begin, so that an error names what is wrong, and nothing has changed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..base.errors import DTypeError, ModuleStateError, ParameterError, ParameterNameError, ShapeError, UnsupportedError
from ..io import DataDesc

if TYPE_CHECKING:
    from ..symbol.symbol import Symbol


__all__ = ["check_input_names", "check_values", "described", "refuse_groups", "require", "warn_of_labels"]

#: What each step of the preparation is called, and the call that makes it.
STEPS = {"binded": ("is not bound", "call bind(data_shapes, label_shapes) first."),
         "params_initialized": ("has no parameters yet", "call init_params() first, after bind()."),
         "optimizer_initialized": ("has no optimizer yet", "call init_optimizer() first, after init_params()."),
         "inputs_need_grad": ("keeps no gradients of its data", "call bind(…, inputs_need_grad=True)."),
         "for_training": ("is bound for predicting", "call bind(…, for_training=True, force_rebind=True).")}

#: Endings of names of parameters, which are not suggested as names of data.
ENDINGS = ("_weight", "_bias", "_gamma", "_beta")


def require(module: object, *steps: str) -> None:
    """Raise unless a module is so far prepared.

    Raises
    ------
    ModuleStateError
    """
    for step in steps:
        if not getattr(module, step):
            what, hint = STEPS[step]
            raise ModuleStateError(f"The {type(module).__name__} {what}.", hint=hint)


def check_input_names(symbol: Symbol, names: list[str], kind: str, throw: bool) -> None:
    """Raise, or warn, if a symbol has no arguments of these names.

    Raises
    ------
    ParameterError
    """
    known = symbol.list_arguments()
    for name in names:
        if name in known:
            continue
        likely = [one for one in known if not one.endswith(ENDINGS)]
        message = (f"You created Module with Module(..., {kind}_names={names}) but input with name '{name}' is not found in "
                   "symbol.list_arguments().")
        if throw:
            raise ParameterError(message, hint=f"did you mean one of: {', '.join(likely)}?")
        listed = "\n\t".join(likely)
        warnings.warn(f"{message} Did you mean one of:\n\t{listed}", UserWarning, stacklevel=4)


def refuse_groups(group2ctxs: object, compression_params: object) -> None:
    """Raise for options that only several devices need."""
    if group2ctxs:
        raise UnsupportedError("group2ctxs would place parts of the network on several contexts, which a symbol here does not: "
                               "its whole graph runs on one.", hint="leave it out; context=[…] gives each context a part of "
                               "the batch.")
    if compression_params:
        raise UnsupportedError("Gradient compression is not supported: contexts of one machine share its memory.",
                               hint="leave compression_params out.")


def described(shapes: object, what: str) -> list[DataDesc]:
    """Shapes as descriptions; they may be pairs of a name and a shape.

    Raises
    ------
    DTypeError
        If they are something else.
    """
    found = []
    for one in shapes if isinstance(shapes, (list, tuple)) else [shapes]:
        if isinstance(one, DataDesc):
            found.append(one)
            continue
        if not isinstance(one, (list, tuple)) or not 2 <= len(one) <= 4 or not isinstance(one[0], str) \
                or not isinstance(one[1], (list, tuple)):
            raise DTypeError(f"Each description in {what} must be a name and a shape, got {one!r}.",
                             hint="it is a list of pairs of a name and a "
                             "shape, [('data', (32, 100))], such as an iterator's provide_data.")
        found.append(DataDesc(one[0], tuple(one[1]), *one[2:]))
    return found


def check_data(names: list[str], descriptions: list[DataDesc]) -> None:
    """Raise unless the descriptions are of the data that the module was made for.

    Raises
    ------
    ParameterError
    """
    given = [one.name for one in descriptions]
    if sorted(given) != sorted(names):
        raise ParameterError(f"Data provided by data_shapes don't match names specified by data_names ({descriptions} vs. "
                             f"{names}).", hint=_difference(names, given, "data_names"))


def _difference(names: Iterable[str], given: Iterable[str], argument: str) -> str:
    lacking, more = sorted(set(names) - set(given)), sorted(set(given) - set(names))
    said = [f"{', '.join(map(repr, lacking))} missing"] if lacking else []
    said += [f"{', '.join(map(repr, more))} not expected"] if more else []
    return f"{'; '.join(said) or 'a name occurs twice'}. Give the iterator's arrays these names, or Module other {argument}."


def warn_of_labels(names: list[str], descriptions: list[DataDesc]) -> None:
    """Warn if the labels are not those that the module was made for."""
    if sorted(names) != sorted(one.name for one in descriptions):
        warnings.warn(f"Data provided by label_shapes don't match names specified by label_names ({descriptions} vs. {names})",
                      UserWarning, stacklevel=4)


def check_labels(symbol: Symbol, names: list[str], descriptions: list[DataDesc]) -> list[DataDesc]:
    """The labels that the symbol has.

    Raises
    ------
    ParameterError
        If it has none of the names given, and others.
    """
    arguments = symbol.list_arguments()
    found = [one for one in descriptions if one.name in arguments]
    wanted = [name for name in names if name in arguments]
    if len(found) < len(descriptions) and wanted:
        given = [one.name for one in descriptions]
        raise ParameterError(f"The labels are named {given}, and the network's {wanted}.",
                             hint=_difference(wanted, given, "label_names"))
    return found


def check_values(held: dict[str, Any], given: object, what: str, allow_missing: bool, allow_extra: bool = True) -> None:
    """Raise unless values can be copied to what is held.

    Raises
    ------
    ParameterNameError
        If a name is missing, or is one too many.
    ShapeError
        If a shape differs.
    """
    if not isinstance(given, dict):
        raise DTypeError(f"{what}s are given as a {type(given).__name__}.", hint="give a dict of names and arrays.")
    missing = sorted(held.keys() - given.keys())
    if missing and not allow_missing:
        raise ParameterNameError(f"{missing[0]} is not presented; values are missing for {', '.join(missing)}.",
                                 hint="give them too, or set allow_missing=True.")
    extra = sorted(given.keys() - held.keys())
    if extra and not allow_extra:
        raise ParameterNameError(f'Find name "{extra[0]}" that is not in the {what}s.', hint="allow_extra=True passes over it.")
    for name in held.keys() & given.keys():
        if not hasattr(given[name], "stype"):
            raise DTypeError(f"The value of {name} is a {type(given[name]).__name__}, not an NDArray.", hint="mx.nd.array(…)")
    for name, array in held.items():
        if name in given and given[name].shape != array.shape:
            raise ShapeError(f"The value for {name} has shape {given[name].shape}, and the network's is {array.shape}.",
                             hint="the parameters are those of a network of other sizes.")
