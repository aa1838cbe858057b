"""Initializers that hand arrays, or parts of them, to others."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.context import cpu
from ..base.errors import DTypeError, InitializationError, ShapeError, SparsekitError, UnknownNameError, expected
from ..core.dispatch import wrap
from ..ndarray.files import load
from ..ops.recurrent import recurrent
from .base import InitDesc, Initializer, create, put, register, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..ndarray.ndarray import NDArray
    from .types import InitLike


__all__ = ["FusedRNN", "Load", "Mixed"]


@register
class Load(Initializer):
    """The values that a file or a dict has under the parameter's name.

    Parameters
    ----------
    param : str or dict of str to NDArray
        A file of named arrays; ``arg:`` and ``aux:`` before names are taken off.
    default_init : Initializer, optional
        For names that are not among them.
    verbose : bool
        Log what comes from where.
    """

    def __init__(self, param: Mapping[str, NDArray] | str, default_init: Callable[..., None] | None = None,
                 verbose: bool = False) -> None:
        super().__init__()
        given = load(param) if isinstance(param, str) else param
        if not isinstance(given, dict):
            raise DTypeError(expected("param", "a dict of named arrays", type(given)), hint="save them as a dict of names.")
        self.param = {name[4:] if name.startswith(("arg:", "aux:")) else name: array for name, array in given.items()}
        self.default_init, self.verbose = default_init, verbose

    def __call__(self, name: InitDesc | str, arr: NDArray) -> None:
        """Fill one array."""
        if name in self.param:
            found = self.param[name]
            if tuple(arr.shape) != tuple(found.shape):
                raise ShapeError(f"Parameter {name} cannot be initialized from loading: it has shape {tuple(arr.shape)}, and "
                                 f"what was loaded {tuple(found.shape)}.", hint="load what the same model saved.")
            put(arr, found)
        elif self.default_init is None:
            raise InitializationError(f"Cannot initialize {name}: it is not among the loaded, and there is no default_init.",
                                      hint="give default_init=mx.init.Uniform(), for instance.")
        else:
            self.default_init(name, arr)
        if self.verbose:
            logging.info("Initialized %s by %s", name, "loading" if name in self.param else "default")

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if name in self.param or self.default_init is None:
            self(name, arr)
        else:
            _fill_whatever_it_is_called(self.default_init, name, arr)


def _fill_whatever_it_is_called(initializer: Callable[..., Any], name: str, arr: NDArray) -> None:
    """Fill the array of a Gluon parameter, whose name's ending decides nothing."""
    getattr(initializer, "_init_weight", initializer)(name, arr)


def _made(initializer: Any) -> Callable[..., Any]:
    """The initializer that a name stands for; whatever else can be called is one."""
    found: Callable[..., Any] = create(initializer) if isinstance(initializer, (str, type)) else initializer
    return found


@register
class Mixed(Initializer):
    """Several initializers; the first whose regular expression matches the beginning of the name fills the array.

    Parameters
    ----------
    patterns : list of str
    initializers : list of Initializer

    Examples
    --------
    >>> init = mx.init.Mixed([".*embed.*", ".*"], [mx.init.Normal(0.1), mx.init.Xavier()])
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Any]) -> None:
        super().__init__()
        if len(patterns) != len(initializers):
            raise SparsekitError(f"{len(patterns)} patterns and {len(initializers)} initializers were given.",
                                 hint="give as many.")
        self.map = [(re.compile(pattern), _made(initializer))
                    for pattern, initializer in zip(patterns, initializers, strict=True)]

    def __call__(self, name: InitDesc | str, arr: NDArray) -> None:
        """Fill one array."""
        self._chosen(name)(name, arr)

    def _chosen(self, name: str) -> Callable[..., Any]:
        """The first initializer whose pattern matches."""
        for pattern, initializer in self.map:
            if pattern.match(name):
                return initializer
        raise UnknownNameError(f"Parameter name {name} did not match any pattern.",
                               hint="add the pattern '.*' at the end, with a default initializer.")

    def _init_weight(self, name: str, arr: NDArray) -> None:
        _fill_whatever_it_is_called(self._chosen(name), name, arr)


@register
class FusedRNN(Initializer):
    """The packed parameters of the operator ``RNN``: each gate's weights as ``init`` says, biases with zeros.

    Parameters
    ----------
    init : Initializer or str, optional
        That of the whole model if None.
    num_hidden, num_layers : int
    mode : {"rnn_relu", "rnn_tanh", "lstm", "gru"}
    bidirectional : bool
    forget_bias : float
        Both biases of an lstm's forget gate.
    """

    def __init__(self, init: InitLike, num_hidden: int, num_layers: int, mode: str, bidirectional: bool = False,
                 forget_bias: float = 1.0) -> None:
        init = None if init is None else create(init)
        super().__init__(init=None if init is None else init.dumps(), num_hidden=num_hidden, num_layers=num_layers, mode=mode,
                         bidirectional=bidirectional, forget_bias=forget_bias)
        if mode not in recurrent.MODES:
            raise UnknownNameError.of("mode", mode, recurrent.MODES)
        self._init, self._forget_bias = init, forget_bias
        self._sizes = recurrent.Sizes(mode, 0, num_hidden, num_hidden, num_layers, 1 + bool(bidirectional), False, False)

    def _sizes_for(self, size: int) -> recurrent.Sizes:
        """The sizes with the number of inputs that a vector of this length has room for."""
        rest = size - recurrent.parameter_count(self._sizes)
        inputs, left = divmod(rest, self._sizes.sums * self._sizes.directions)
        if left or inputs < 1:
            raise ShapeError(f"{size} numbers do not fit the parameters of {self!r} for any number of inputs.",
                             hint="the array is the vector of all parameters.")
        return self._sizes._replace(inputs=inputs)

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        chosen = self._init if self._init is not None else getattr(desc, "global_init", None)
        if chosen is None:
            raise InitializationError(f"{self!r} has no initializer for {str(desc)!r}.", hint="give it init=, or the model one.")
        with values_of(arr) as values:
            sizes = self._sizes_for(values.size)
            flat = np.zeros(values.size, values.dtype)
            for place, parts in enumerate(recurrent.parameters_in(sizes, flat)):
                layer, direction = divmod(place, sizes.directions)
                self._fill(f"{'lr'[direction]}{layer}_", parts, chosen)
            values[...] = flat.reshape(values.shape)

    def _fill(self, prefix: str, parts: recurrent.Weights, chosen: Callable[..., Any]) -> None:
        gates = {"lstm": "ifco", "gru": "rzo"}.get(self._sizes.mode, "")
        for name, whole in (("i2h_weight", parts.inputs), ("h2h_weight", parts.recurrent), ("i2h_bias", parts.bias_inputs),
                            ("h2h_bias", parts.bias_recurrent)):
            for gate, piece in zip(gates or [""], np.split(whole, max(1, len(gates))), strict=True):
                kind, _, what = name.partition("_")
                desc = InitDesc(prefix + (f"{kind}_{gate}_{what}" if gate else name), global_init=chosen)
                if gate == "f" and what == "bias":
                    piece[...] = self._forget_bias
                else:
                    chosen(desc, wrap(piece, cpu()))
