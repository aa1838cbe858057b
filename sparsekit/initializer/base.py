"""The base class of initializers, their registry, and how arrays are filled."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..base.errors import DTypeError, ShapeError, SparsekitError, UnknownNameError
from ..base.registry import Registry
from ..core import device
from ..core.dispatch import wrap
from ..ndarray.ndarray import NDArray
from ..random import generator
from ..storage import RowSparse

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base.types import Array


__all__ = ["InitDesc", "Initializer", "alias", "bilinear", "create", "draw_normal", "draw_uniform", "put", "register",
           "values_of"]


class InitDesc(str):
    """A parameter's name, with what else is known of it.

    Parameters
    ----------
    name : str
    attrs : dict, optional
        ``attrs["__init__"]`` names an initializer of the parameter's own, as ``dumps()`` writes it.
    global_init : Initializer, optional
        That of the whole model.
    """

    attrs: dict[str, Any]
    global_init: Any

    def __new__(cls, name: str, attrs: dict[str, Any] | None = None, global_init: object = None) -> Self:
        """The name, with these attributes."""
        made = super().__new__(cls, name)
        made.attrs, made.global_init = attrs or {}, global_init
        return made


@contextlib.contextmanager
def values_of(arr: NDArray | Array) -> Iterator[Any]:
    """A dense array to fill, whose values then go to ``arr`` in its storage type; a row_sparse one gets all rows."""
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
            raise ShapeError(f"Values of shape {np.shape(value)} do not fill an array of shape {arr.shape}.",
                             hint="give one number, or as many as the parameter has.") from None


def draw_uniform(arr: NDArray, scale: float) -> None:
    """Fill with numbers from -scale to scale, in place: a large parameter needs no second copy of itself."""
    with values_of(arr) as values:
        if values.dtype in (np.float32, np.float64) and values.flags.c_contiguous:
            generator().random(dtype=values.dtype, out=values)
        else:
            values[...] = generator().random(values.shape)
        values *= 2 * scale
        values -= scale


def draw_normal(arr: NDArray, sigma: float) -> None:
    """Fill with normal numbers of mean zero and standard deviation sigma."""
    with values_of(arr) as values:
        if values.dtype in (np.float32, np.float64) and values.flags.c_contiguous:
            generator().standard_normal(dtype=values.dtype, out=values)
        else:
            values[...] = generator().standard_normal(values.shape)
        values *= sigma


def _root_mean_square(arr: NDArray) -> str:
    values = arr.asnumpy()
    return str(math.sqrt(float(np.mean(np.square(values, dtype=np.float64)))))


def bilinear(shape: Sequence[int]) -> Array:
    """Weights (outputs, inputs, height, width) that enlarge an image."""
    if len(shape) != 4:
        raise ShapeError(f"Bilinear fills arrays of four dimensions; this one has shape {tuple(shape)}.",
                         hint="it is for the weight of a transposed convolution.")
    factor = math.ceil(shape[3] / 2)
    centre = (2 * factor - 1 - factor % 2) / (2.0 * factor)
    rows, columns = (1 - np.abs(np.arange(size) / factor - centre) for size in shape[2:])
    return np.broadcast_to(np.outer(rows, columns), shape)


def _plain(value: object) -> object:
    """An array or a number of numpy among an initializer's arguments, as JSON holds it."""
    if isinstance(value, (NDArray, np.ndarray, np.generic)):
        return value.tolist()
    raise DTypeError(f"A {type(value).__name__} cannot be written as JSON.", hint="give numbers, strings, lists or arrays.")


#: What names with these endings get, in the order in which they are tried: the name of a method.
_ENDINGS = {"weight": "_init_weight", "bias": "_init_bias", "gamma": "_init_gamma", "beta": "_init_beta", "min": "_init_zero",
            "max": "_init_one"}
#: The same for names that are plain strings, which older code uses.
_LEGACY = {"bias": "_init_bias", "gamma": "_init_gamma", "beta": "_init_beta", "weight": "_init_weight",
           "moving_mean": "_init_zero", "moving_var": "_init_one", "moving_inv_var": "_init_zero", "moving_avg": "_init_zero",
           "min": "_init_zero", "max": "_init_one"}


class Initializer:
    """Base of initializers: a subclass overrides ``_init_weight(name, arr)`` and writes to ``arr[:]``.

    ``initializer(InitDesc(name), arr)`` fills by the name's ending: ``weight`` as the subclass says, ``bias``, ``beta``
    and ``min`` with zeros, ``gamma`` and ``max`` with ones.  Any other name needs an initializer of its own, in
    ``InitDesc.attrs["__init__"]``.  A Gluon parameter is filled as a weight, whatever it is called.  Arrays are dense or
    sparse; a row_sparse one then stores every row, as a weight must.

    Parameters
    ----------
    **kwargs
        What ``dumps`` is to write.

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
        """Log each array filled, with ``print_func(arr)``; by default the root of its mean square."""
        self._verbose, self._print_func = verbose, print_func or _root_mean_square
        return self

    def _verbose_print(self, desc: str, init: object, arr: object) -> None:
        if self._verbose and self._print_func:
            logging.info("Initialized %s as %s: %s", desc, init, self._print_func(arr))

    def dumps(self) -> str:
        """The initializer as JSON that ``create`` reads: its name in lower case, and its arguments."""
        return json.dumps([type(self).__name__.lower(), self._kwargs], default=_plain)

    def __call__(self, desc: InitDesc | str, arr: NDArray) -> None:
        """Fill an array by the ending of its name, or by the initializer that its description names."""
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
        ending = next((ending for ending in _ENDINGS if desc.endswith(ending)), "")
        getattr(self, _ENDINGS.get(ending, "_init_default"))(desc, arr)
        self._verbose_print(desc, ending, arr)

    def _legacy_init(self, name: object, arr: object) -> None:
        warnings.warn("Calling an initializer with a plain name is deprecated; call init(mx.init.InitDesc(name), array).",
                      DeprecationWarning, stacklevel=3)
        if not isinstance(name, str) or not isinstance(arr, NDArray):
            raise DTypeError(f"An initializer takes a name and an array, not {type(name).__name__} and {type(arr).__name__}.",
                             hint="init(mx.init.InitDesc('fc_weight'), array)")
        method = next((_LEGACY[ending] for ending in _LEGACY if name.endswith(ending)), "_init_default")
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
        raise SparsekitError(f"{type(self).__name__} does not say how to fill {str(name)!r}.",
                             hint="override _init_weight(name, arr).")

    def _init_default(self, name: str, arr: NDArray) -> None:
        raise UnknownNameError(f"Unknown initialization pattern for {name}: names end in weight, bias, gamma or beta.",
                               hint="give the parameter an initializer of its own, init=mx.init.Uniform() for instance.")

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
    """The initializer that a name with arguments, JSON of ``dumps()``, a class or an instance stands for.

    ``None`` stands for ``Uniform(0.07)``.

    Raises
    ------
    UnknownNameError
        If no initializer has that name.
    """
    found: Initializer = _registry.create(*(("uniform",) if len(args) == 1 and args[0] is None else args), **kwargs)
    return found
