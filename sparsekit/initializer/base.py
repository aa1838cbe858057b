"""The base class and the registry of initializers, and functions that fill arrays."""

from __future__ import annotations

import contextlib
import json
import logging
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from ..base.errors import DTypeError, ShapeError, UnknownNameError, UnsupportedError
from ..base.registry import Registry
from ..base.warn import warn_user
from ..core import device
from ..core.dispatch import wrap
from ..ndarray.ndarray import NDArray
from ..random import generator
from ..storage import RowSparse

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base.types import Array


class InitDesc(str):
    """The name of a parameter, with its attributes.

    Parameters
    ----------
    name : str
    attrs : dict, optional
        ``attrs["__init__"]`` is the initializer of this parameter, as ``dumps()`` writes it.
    global_init : Initializer, optional
        The initializer of the whole model.
    """

    attrs: dict[str, Any]
    global_init: Any

    def __new__(cls, name: str, attrs: dict[str, Any] | None = None, global_init: object = None) -> Self:
        """Make the string and set its attributes."""
        desc = super().__new__(cls, name)
        desc.attrs, desc.global_init = attrs or {}, global_init
        return desc


@contextlib.contextmanager
def values_of(arr: NDArray | Array) -> Iterator[Any]:
    """Yield a dense array to fill, then store it in ``arr`` in its storage type; a row_sparse ``arr`` stores all rows."""
    if not isinstance(arr, NDArray):
        yield arr
        return
    store = arr._store
    if isinstance(store, np.ndarray):
        yield store
        return
    values = np.zeros(arr.shape, arr.dtype)
    yield values
    if isinstance(store, RowSparse):
        store.replace(device.onto(RowSparse(values, np.arange(arr.shape[0]), arr.shape, check=False), arr._ctx))
    else:
        arr._receive(wrap(device.onto(values, arr._ctx), arr._ctx))


def put(arr: NDArray | Array, value: Any) -> None:
    """Fill an array with a number, or with the values of an array."""
    value = value.asnumpy() if isinstance(value, NDArray) else value
    with values_of(arr) as values:
        try:
            values[...] = value
        except ValueError:
            raise ShapeError(f"Values of shape {np.shape(value)} cannot be broadcast to an array of shape {arr.shape}.",
                             hint="pass one number, or an array of the parameter's shape.") from None


def _draw(values: Array, draw: Callable[..., Any]) -> None:
    """Fill with what a method of the generator draws, without a second copy of a float32 or float64 array."""
    if values.dtype in (np.float32, np.float64) and values.flags.c_contiguous:
        draw(dtype=values.dtype, out=values)
    else:
        values[...] = draw(values.shape)


def draw_uniform(arr: NDArray, scale: float) -> None:
    """Fill with uniform random numbers from -scale to scale."""
    with values_of(arr) as values:
        _draw(values, generator().random)
        values *= 2 * scale
        values -= scale


def draw_normal(arr: NDArray, sigma: float) -> None:
    """Fill with normal random numbers of mean zero and standard deviation sigma."""
    with values_of(arr) as values:
        _draw(values, generator().standard_normal)
        values *= sigma


def _root_mean_square(arr: NDArray) -> str:
    values = arr.asnumpy()
    return str(math.sqrt(float(np.mean(np.square(values, dtype=np.float64)))))


def bilinear(shape: Sequence[int]) -> Array:
    """Weights (outputs, inputs, height, width) of a transposed convolution that upsamples bilinearly."""
    if len(shape) != 4:
        raise ShapeError(f"Bilinear needs an array of four dimensions, not shape {tuple(shape)}.",
                         hint="use it for the weight of a transposed convolution.")
    factor = math.ceil(shape[3] / 2)
    centre = (2 * factor - 1 - factor % 2) / (2.0 * factor)
    rows, columns = (1 - np.abs(np.arange(size) / factor - centre) for size in shape[2:])
    return np.broadcast_to(np.outer(rows, columns), shape)


def _to_json(value: object) -> object:
    """Convert an array or a numpy number to a type that ``json`` can write."""
    if isinstance(value, (NDArray, np.ndarray, np.generic)):
        return value.tolist()
    raise DTypeError(f"A {type(value).__name__} cannot be written as JSON.", hint="pass numbers, strings, lists or arrays.")


#: Argument of ``create``; None for the default.  Any: a function of the user, which takes a description and an array.
InitLike: TypeAlias = "Initializer | type[Initializer] | str | Callable[..., Any] | None"

#: Methods by suffix of the name, in the order in which they are tried.
_SUFFIXES = {"weight": "_init_weight", "bias": "_init_bias", "gamma": "_init_gamma", "beta": "_init_beta", "min": "_init_zero",
             "max": "_init_one"}
#: The same for plain strings instead of ``InitDesc``, which older code passes.
_LEGACY = {"bias": "_init_bias", "gamma": "_init_gamma", "beta": "_init_beta", "weight": "_init_weight",
           "moving_mean": "_init_zero", "moving_var": "_init_one", "moving_inv_var": "_init_zero", "moving_avg": "_init_zero",
           "min": "_init_zero", "max": "_init_one"}


class Initializer:
    """Base of initializers: a subclass overrides ``_init_weight(name, arr)`` and writes to ``arr[:]``.

    ``initializer(InitDesc(name), arr)`` selects the method by the suffix of the name: ``_init_weight`` for ``weight``, zeros
    for ``bias``, ``beta`` and ``min``, ones for ``gamma`` and ``max``.  Any other name needs an initializer in
    ``InitDesc.attrs["__init__"]``.  A Gluon parameter is filled like a weight, whatever its name.  Arrays may be dense or
    sparse; a row_sparse array then stores every row.

    Parameters
    ----------
    **kwargs
        Arguments of the subclass, which ``dumps`` writes and ``==`` compares.

    Examples
    --------
    >>> @mx.init.register
    ... class Halves(mx.init.Initializer):
    ...     def _init_weight(self, name, arr):
    ...         arr[:] = 0.5
    >>> weight = mx.nd.empty((2,))
    >>> mx.init.create("halves")(mx.init.InitDesc("fc_weight"), weight)
    """

    def __init__(self, **kwargs: object) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: Any = None

    def set_verbosity(self, verbose: bool = False, print_func: Callable[..., Any] | None = None) -> Initializer:
        """Log each array that is filled, with the result of ``print_func(arr)``; by default its root mean square."""
        self._verbose, self._print_func = verbose, print_func or _root_mean_square
        return self

    def _verbose_print(self, desc: str, init: object, arr: object) -> None:
        if self._verbose and self._print_func:
            logging.info("Initialized %s as %s: %s", desc, init, self._print_func(arr))

    def dumps(self) -> str:
        """Serialize the initializer as JSON for ``create``: its name in lower case, and its arguments."""
        self._kwargs = {name: value.tolist() if isinstance(value, (NDArray, np.ndarray)) else value
                        for name, value in self._kwargs.items()}
        return json.dumps([type(self).__name__.lower(), self._kwargs], default=_to_json)

    def __call__(self, desc: InitDesc | str, arr: NDArray) -> None:
        """Fill an array by the initializer in the attributes of ``desc``, or else by the suffix of the name."""
        if not isinstance(desc, InitDesc):
            self._legacy_init(desc, arr)
            return
        if desc.global_init is None:
            desc.global_init = self
        own = desc.attrs.get("__init__", "")
        if own:
            create(own)._init_weight(desc, arr)
            self._verbose_print(desc, own, arr)
            return
        suffix = next((suffix for suffix in _SUFFIXES if desc.endswith(suffix)), "")
        getattr(self, _SUFFIXES.get(suffix, "_init_default"))(desc, arr)
        self._verbose_print(desc, suffix, arr)

    def _legacy_init(self, name: object, arr: object) -> None:
        warn_user("Calling an initializer with a plain string is deprecated; call init(mx.init.InitDesc(name), array).",
                      DeprecationWarning)
        if not isinstance(name, str) or not isinstance(arr, NDArray):
            raise DTypeError(f"An initializer takes a name and an array, not {type(name).__name__} and {type(arr).__name__}.",
                             hint="init(mx.init.InitDesc('fc_weight'), array)")
        method = next((_LEGACY[suffix] for suffix in _LEGACY if name.endswith(suffix)), "_init_default")
        if name.startswith("upsampling"):
            method = "_init_bilinear"
        elif name.startswith("stn_loc") and name.endswith("weight"):
            method = "_init_zero"
        elif name.startswith("stn_loc") and name.endswith("bias"):
            method = "_init_loc_bias"
        getattr(self, method)(name, arr)

    def _init_zero(self, _: str, arr: NDArray) -> None:
        put(arr, 0)

    def _init_one(self, _: str, arr: NDArray) -> None:
        put(arr, 1)

    _init_bias = _init_beta = _init_zero
    _init_gamma = _init_one

    def _init_bilinear(self, _: str, arr: NDArray) -> None:
        put(arr, bilinear(arr.shape))

    def _init_loc_bias(self, _: str, arr: NDArray) -> None:
        put(arr, [1, 0, 0, 0, 1, 0])

    def _init_weight(self, name: str, arr: NDArray) -> None:
        raise UnsupportedError(f"{type(self).__name__} does not define _init_weight(), which {str(name)!r} needs.",
                               hint="override _init_weight(name, arr).")

    def _init_default(self, name: str, arr: NDArray) -> None:
        raise UnknownNameError(f"Unknown initialization pattern for {name}: names must end in weight, bias, gamma or beta.",
                               hint="set an initializer for this parameter, such as init=mx.init.Uniform().")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Initializer):
            return NotImplemented
        return type(self) is type(other) and bool(self._kwargs == other._kwargs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._kwargs.items())})"


_registry = Registry(Initializer, "initializer")
register, alias = _registry.register, _registry.alias


def create(*args: object, **kwargs: object) -> Initializer:
    """Make an initializer.

    Parameters
    ----------
    *args
        A name or a class and positional arguments of the class, or JSON of ``dumps()``.  None makes ``Uniform(0.07)``.  An
        instance is returned unchanged.
    **kwargs
        Keyword arguments of the class.

    Raises
    ------
    UnknownNameError
        If no initializer has this name.
    """
    initializer: Initializer = _registry.create(*(("uniform",) if len(args) == 1 and args[0] is None else args), **kwargs)
    return initializer
