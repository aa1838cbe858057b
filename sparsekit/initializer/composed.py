"""Initializers that combine other initializers, and initialization from saved arrays."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.context import cpu
from ..base.errors import DTypeError, InitializationError, ParameterError, ShapeError, UnknownNameError, expected
from ..core.dispatch import wrap
from ..ndarray.files import load
from ..ops.recurrent import recurrent
from .base import InitDesc, Initializer, InitLike, create, put, register, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..ndarray.ndarray import NDArray


@register
class Load(Initializer):
    """Fill with the array that has the name of the parameter in a file or a dict.

    Parameters
    ----------
    param : str or dict of str to NDArray
        A file of named arrays, or the arrays.  The prefixes ``arg:`` and ``aux:`` of names are removed.
    default_init : Initializer, optional
        Initializer for all other names.  Without it, they raise ``InitializationError``.
    verbose : bool
        Log for each parameter whether it was loaded.  Default False.
    """

    def __init__(self, param: Mapping[str, NDArray] | str, default_init: Callable[..., None] | None = None,
                 verbose: bool = False) -> None:
        super().__init__()
        arrays = load(param) if isinstance(param, str) else param
        if not isinstance(arrays, dict):
            raise DTypeError(expected("param", "a dict of named arrays", type(arrays)), hint="save a dict of arrays by name.")
        self.param = {name[4:] if name.startswith(("arg:", "aux:")) else name: array for name, array in arrays.items()}
        self.default_init, self.verbose = default_init, verbose

    def __call__(self, name: InitDesc | str, arr: NDArray) -> None:
        """Fill one array."""
        if name in self.param:
            loaded = self.param[name]
            if tuple(arr.shape) != tuple(loaded.shape):
                raise ShapeError(f"Parameter {name} cannot be initialized from loading: its shape is {tuple(arr.shape)}, but "
                                 f"the loaded array has shape {tuple(loaded.shape)}.", hint="load a file of the same model.")
            put(arr, loaded)
        elif self.default_init is None:
            raise InitializationError(f"Cannot initialize {name}: there is no loaded array of this name, and no default_init.",
                                      hint="pass default_init, such as mx.init.Uniform().")
        else:
            self.default_init(name, arr)
        if self.verbose:
            logging.info("Initialized %s by %s", name, "loading" if name in self.param else "default")

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if name in self.param or self.default_init is None:
            self(name, arr)
        else:
            _fill_as_weight(self.default_init, name, arr)


def _fill_as_weight(initializer: Callable[..., Any], name: str, arr: NDArray) -> None:
    """Fill the array of a Gluon parameter, for which the suffix of the name is irrelevant."""
    getattr(initializer, "_init_weight", initializer)(name, arr)


@register
class Mixed(Initializer):
    """Fill by the first initializer whose regular expression matches the beginning of the parameter's name.

    Parameters
    ----------
    patterns : list of str
        Regular expressions.
    initializers : list of Initializer, str or callable
        One for each pattern.

    Raises
    ------
    SparsekitError
        If the numbers of patterns and initializers differ.
    UnknownNameError
        When called for a name that no pattern matches.

    Examples
    --------
    >>> init = mx.init.Mixed([".*embed.*", ".*"], [mx.init.Normal(0.1), mx.init.Xavier()])
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Any]) -> None:
        super().__init__()
        if len(patterns) != len(initializers):
            raise ParameterError(f"{len(patterns)} patterns need as many initializers, got {len(initializers)}.",
                                 hint="pass one initializer for each pattern.")
        self.map = [(re.compile(pattern), create(initializer) if isinstance(initializer, (str, type)) else initializer)
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
        _fill_as_weight(self._chosen(name), name, arr)


@register
class FusedRNN(Initializer):
    """Fill the packed parameters of the operator ``RNN``, the weights and biases of each gate by ``init``.

    Parameters
    ----------
    init : Initializer or str, or None
        None for the initializer of the whole model.
    num_hidden, num_layers : int
    mode : {"rnn_relu", "rnn_tanh", "lstm", "gru"}
    bidirectional : bool
    forget_bias : float
        Value of both biases of the forget gate of an LSTM.  Default 1.

    Raises
    ------
    UnknownNameError
        If ``mode`` is unknown.
    ShapeError
        When called for an array whose length fits no number of inputs.
    InitializationError
        When called without any initializer.
    """

    def __init__(self, init: InitLike, num_hidden: int, num_layers: int, mode: str, bidirectional: bool = False,
                 forget_bias: float = 1.0) -> None:
        init = None if init is None else create(init)
        super().__init__(init=None if init is None else init.dumps(), num_hidden=num_hidden, num_layers=num_layers, mode=mode,
                         bidirectional=bidirectional, forget_bias=forget_bias)
        UnknownNameError.check("mode", mode, recurrent.MODES)
        self._init, self._forget_bias = init, forget_bias
        self._sizes = recurrent.Sizes(mode, 0, num_hidden, num_hidden, num_layers, 1 + bool(bidirectional), False, False)

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        chosen = self._init if self._init is not None else getattr(desc, "global_init", None)
        if chosen is None:
            raise InitializationError(f"{self!r} has no initializer for {str(desc)!r}.",
                                      hint="pass init=, or an initializer for the model.")
        with values_of(arr) as values:
            inputs = recurrent.inputs_for(self._sizes, values.size)
            if inputs is None:
                raise ShapeError(f"{self!r} cannot have {values.size} parameters for any number of inputs.",
                                 hint="the array must be the vector of all parameters.")
            flat = np.zeros(values.size, values.dtype)
            for name, piece in recurrent.gates_in(self._sizes._replace(inputs=inputs), flat):
                if name.endswith("_f_bias"):
                    piece[...] = self._forget_bias
                else:
                    chosen(InitDesc(name, global_init=chosen), wrap(piece, cpu()))
            values[...] = flat.reshape(values.shape)
