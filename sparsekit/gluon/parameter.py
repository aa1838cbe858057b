"""Parameters, and dictionaries of them: ``mx.gluon.parameter``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from ..base.context import Context
from ..base.errors import ParameterError, ParameterNameError
from ..base.lazy import add_lazy_names
from ..initializer import create as create_initializer
from ..ndarray.files import load as load_arrays
from ..ndarray.files import save as save_arrays
from ..ndarray.ndarray import NDArray
from .parameter_base import Constant, DeferredInitializationError, Parameter

if TYPE_CHECKING:
    from collections.abc import ItemsView, KeysView, Mapping, Sequence, ValuesView
    from pathlib import Path

    from ..base.types import ShapeLike
    from ..initializer.base import InitLike
    from .types import LayerParameterOptions, ParameterOptions


__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict", "tensor_types"]

add_lazy_names(globals())

#: Arrays that forward passes take.
tensor_types = (NDArray,)

#: Attributes that a second ``get`` may repeat.  As in MXNet, whoever makes the parameter chooses ``grad_stype``.
_ATTRIBUTES = ("grad_req", "dtype", "lr_mult", "wd_mult", "init", "stype")


class ParameterDict:
    """Parameters by name, in the order they were made.

    Parameters
    ----------
    prefix : str
        Prefix of the names that are passed to ``get``.
    shared : ParameterDict, optional
        Dictionary that is searched before a new parameter is made.
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None) -> None:
        self._prefix, self._shared = prefix, shared
        self._params: dict[str, Parameter] = {}

    @property
    def prefix(self) -> str:
        """The prefix of the names given to ``get``."""
        return self._prefix

    def __repr__(self) -> str:
        body = "\n".join(f"  {parameter}" for parameter in self.values())
        return f"{self._prefix}{' ' if self._prefix else ''}(\n{body}\n)"

    def __getitem__(self, key: str) -> Parameter:
        try:
            return self._params[key]
        except KeyError:
            raise ParameterNameError.of("parameter", key, self._params) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def __contains__(self, name: object) -> bool:
        return name in self._params

    def items(self) -> ItemsView[str, Parameter]:
        """Names and parameters."""
        return self._params.items()

    def keys(self) -> KeysView[str]:
        """Names."""
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        """Parameters."""
        return self._params.values()

    # making

    def _find(self, name: str) -> Parameter | None:
        """The parameter of that full name, here or in the shared dictionary."""
        parameter = self._params.get(name)
        if parameter is None and self._shared is not None:
            parameter = self._shared._params.get(name)
            if parameter is not None:
                self._params[name] = parameter
        return parameter

    def get(self, name: str, **kwargs: Unpack[LayerParameterOptions]) -> Parameter:
        """The parameter ``prefix + name``: the one here, the shared one, or a new one.

        Parameters
        ----------
        name : str
        **kwargs
            Arguments of ``Parameter``.  They must agree with those of an existing parameter, except for ``grad_stype``: the
            first call chooses it, and dense and row-sparse gradients of one parameter are added.  Unknown sizes of the shape
            are filled in.  Layers also pass ``transposed``, whether they hold the array transposed.

        Raises
        ------
        ParameterError
            If the parameter exists and differs from the arguments.
        """
        name = self._prefix + name
        parameter = self._find(name)
        transposed = kwargs.pop("transposed", None)
        if parameter is None:
            parameter = self._params[name] = Parameter(name, **cast("ParameterOptions", kwargs))  # without what was taken out
            parameter._is_transposed = bool(transposed)
            return parameter
        if transposed is not None and transposed != parameter._is_transposed:
            raise ParameterError(f"Parameter '{parameter.name}' is shared by a Dense(weight_grad_stype='row_sparse'), which "
                                 "holds its weight transposed, and a layer that does not.",
                                 hint="for tied weights leave weight_grad_stype out: Embedding(sparse_grad=True) makes the "
                                 "gradient of the shared weight row_sparse.")
        if (shape := kwargs.get("shape")) is not None:
            _agree_on_shape(parameter, shape)
        for key in _ATTRIBUTES:
            if key in kwargs:
                _agree(parameter, key, kwargs.get(key))
        return parameter

    def get_constant(self, name: str, value: NDArray | None = None) -> Parameter:
        """The constant ``prefix + name``: the one here, the shared one, or a new one of that value.

        Raises
        ------
        ParameterNameError
            If the constant does not exist, and no value is given.
        ParameterError
            If the constant has another value, or a parameter of that name is not a constant.
        """
        name = self._prefix + name
        constant = self._find(name)
        if constant is None:
            if value is None:
                raise ParameterNameError(f"No constant named '{name}'.", hint="give its value to make one.")
            constant = self._params[name] = Constant(name, value)
        elif value is not None:
            _check_constant(constant, value)
        return constant

    def update(self, other: ParameterDict | Mapping[str, Parameter]) -> None:
        """Add the parameters of another dictionary.

        Raises
        ------
        ParameterError
            If two different parameters have the same name.
        """
        for name, parameter in other.items():
            if self._params.get(name, parameter) is not parameter:
                raise ParameterError(f"Cannot update self with other because they have different Parameters with the same "
                                     f"name '{name}'.", hint="give the blocks different prefixes.")
        self._params.update(other.items())

    def select(self, pattern: str) -> ParameterDict:
        """The parameters whose names match a regular expression from their start."""
        selected = ParameterDict(self._prefix)
        selected._params = {name: parameter for name, parameter in self.items() if re.match(pattern, name)}
        return selected

    # all at once

    def initialize(self, init: InitLike = None, ctx: Context | Sequence[Context] | None = None, verbose: bool = False,
                   force_reinit: bool = False) -> None:
        """Give every parameter its initial values.

        Parameters
        ----------
        init : Initializer or str, optional
            Initializer of the parameters that have none of their own; ``Uniform(0.07)`` by default.
        ctx : Context or list of Context, optional
        verbose : bool
            Let the initializer log its work, if it supports this.
        force_reinit : bool
            Initialize parameters again that already have values.
        """
        default = create_initializer(init)
        if verbose and hasattr(default, "set_verbosity"):
            default.set_verbosity(verbose=verbose)
        for parameter in self.values():
            parameter.initialize(None, ctx, default, force_reinit=force_reinit)

    def zero_grad(self) -> None:
        """Set all gradients to zero."""
        for parameter in self.values():
            parameter.zero_grad()

    def reset_ctx(self, ctx: Context | Sequence[Context]) -> None:
        """Move all parameters to other contexts."""
        for parameter in self.values():
            parameter.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """The contexts that hold any of the parameters."""
        return list(dict.fromkeys(ctx for parameter in self.values() for ctx in parameter.list_ctx()))

    def setattr(self, name: str, value: object) -> None:
        """Set an attribute of every parameter, for instance ``setattr("grad_req", "null")``."""
        for parameter in self.values():
            setattr(parameter, name, value)

    # files

    def save(self, filename: str | Path, strip_prefix: str = "") -> None:
        """Write all parameters to a file, under their names.

        Parameters
        ----------
        filename : str or path
        strip_prefix : str
            Prefix that is removed from the names.

        Raises
        ------
        ParameterError
            If a name does not begin with ``strip_prefix``.
        """
        for name, parameter in self.items():
            if not parameter.name.startswith(strip_prefix):
                raise ParameterError(f"Prefix '{strip_prefix}' is to be stripped before saving, but Parameter's name '{name}' "
                                     f"does not start with '{strip_prefix}'.",
                                     hint="blocks that share parameters, or were made outside name_scope(), have other prefixes.")
        save_arrays(filename, {parameter.name.removeprefix(strip_prefix): parameter._for_file() for parameter in self.values()})

    def load(self, filename: str | Path, ctx: Context | Sequence[Context] | None = None, allow_missing: bool = False,
             ignore_extra: bool = False, restore_prefix: str = "", cast_dtype: bool = False,
             dtype_source: str = "current") -> None:
        """Read parameters from a file, of MXNet too.

        Parameters
        ----------
        filename : str or path
        ctx : Context or list of Context, optional
            Contexts of the parameters that have no values yet; the CPU by default.
        allow_missing : bool
            Leave parameters that are not in the file unchanged, instead of raising an error.
        ignore_extra : bool
            Ignore arrays in the file that the dictionary does not have, instead of raising an error.
        restore_prefix : str
            Prefix that is added to the names in the file.
        cast_dtype : bool
            Allow the element types in the file to differ from those of the parameters.
        dtype_source : {"current", "saved"}
            With ``cast_dtype``, whether a parameter keeps its current element type or takes that of the file.

        Raises
        ------
        ParameterError
            If names, shapes or element types do not match.
        """
        self.load_dict(load_arrays(filename), ctx, allow_missing, ignore_extra, restore_prefix, filename, cast_dtype,
                       dtype_source)

    def load_dict(self, param_dict: list[Any] | dict[str, Any], ctx: Context | Sequence[Context] | None = None,
                  allow_missing: bool = False,
                  ignore_extra: bool = False, restore_prefix: str = "", filename: str | Path | None = None,
                  cast_dtype: bool = False, dtype_source: str = "current") -> None:
        """Take over values from a dict of names to arrays; ``arg:`` and ``aux:`` before a name are left out."""
        source = f"file: {filename}" if filename is not None else "param_dict"
        outside = [name for name in self.keys() if not name.startswith(restore_prefix)]
        if outside:
            raise ParameterError(f"restore_prefix is '{restore_prefix}' but Parameter's name '{outside[0]}' does not start "
                                 f"with it.", hint="leave it out, or give the prefix of all names.")
        if isinstance(param_dict, list) and not param_dict:
            param_dict = {}  # an empty file has no names either
        if not isinstance(param_dict, dict):
            raise ParameterError(f"The arrays of {source} have no names.", hint="save a dict of them.")
        arrays = {restore_prefix + re.sub("^(arg|aux):", "", name): values for name, values in param_dict.items()}
        load_all(self._params, arrays, source, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source)


# Any: arrays by name, as a file has them
def load_all(wanted: Mapping[str, Parameter], arrays: Mapping[str, Any], source: str, ctx: Context | Sequence[Context] | None,
             allow_missing: bool, ignore_extra: bool, cast_dtype: bool, dtype_source: str) -> None:
    """Take over values by name; raise if parameters are missing in a file, or it has others, unless that is allowed."""
    there = {wanted[name] for name in arrays if name in wanted}  # under one of their names
    missing = [name for name, parameter in wanted.items() if parameter not in there]
    if missing and not allow_missing:
        raise ParameterError(f"Parameter '{missing[0]}' is missing in {source}, which contains parameters: {brief(arrays)}.",
                             hint="set allow_missing=True to ignore missing parameters; networks that exchange files need "
                             "the same prefix.")
    extra = [name for name in arrays if name not in wanted]
    if extra and not ignore_extra:
        raise ParameterError(f"Parameter '{extra[0]}' loaded from {source} is not present in ParameterDict, choices are: "
                             f"{brief(wanted)}.", hint="set ignore_extra=True to ignore it.")
    for name, values in arrays.items():
        if name in wanted:
            wanted[name]._load_init(values, ctx, cast_dtype, dtype_source)


def brief(names: Iterable[str]) -> str:
    """Names in quotes, of many the first and the last."""
    quoted = [f"'{name}'" for name in names]
    return ", ".join([*quoted[:3], "...", *quoted[-3:]] if len(quoted) > 7 else quoted)


def _agree_on_shape(parameter: Parameter, shape: ShapeLike) -> None:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    declared = parameter.shape
    if declared is None:
        parameter.shape = shape
        return
    if len(shape) != len(declared) or any(size != other and size > 0 and other > 0
                                          for size, other in zip(shape, declared, strict=True)):
        raise _differs(parameter, "shape", shape)
    parameter.shape = tuple(other if size <= 0 else size for size, other in zip(shape, declared, strict=True))


def _agree(parameter: Parameter, key: str, value: Any) -> None:  # Any: an attribute of the parameter
    held = getattr(parameter, key)
    if held is None:
        setattr(parameter, key, value)
    elif value is not None and value != held and not (key == "dtype" and np.dtype(value) == held):
        raise _differs(parameter, key, value)


def _differs(parameter: Parameter, key: str, value: object) -> ParameterError:
    return ParameterError(f"Cannot retrieve Parameter '{parameter.name}' because desired attribute does not match with stored "
                          f"for attribute '{key}': desired '{value}' vs stored '{getattr(parameter, key)}'.",
                          hint="blocks that share a parameter must ask for the same value.")


def _check_constant(constant: Parameter, value: object) -> None:
    if not isinstance(constant, Constant):
        raise ParameterError(f"Parameter '{constant.name}' already exists but it is not a constant.", hint="choose another name.")
    value = value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)
    if constant.shape != value.shape or not (constant.value.asnumpy() == value).all():
        raise ParameterError(f"Constant '{constant.name}' already exists but its value doesn't match new value.",
                             hint="choose another name, or set_data on the one there.")
