"""A block that runs a symbol: networks from files, and parts of networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .. import symbol
from ..base.changes import MarkedDict
from ..base.errors import DTypeError, ParameterError, ShapeError
from ..base.nested import restore
from ..core.partial_shapes import Partial, complete, to_user
from ..core.trace import aside
from ..ndarray.functions import F
from ..ndarray.ndarray import NDArray
from ..symbol import Group, Symbol
from ..symbol.attr_text import parse
from ..symbol.inference import declared_stype, dtypes_of, shapes_of
from ..symbol.node import SymbolNode, order, variables
from ..symbol.program import SymbolProgram
from ..symbol.shapes import from_user
from .block import HybridBlock
from .parameter import ParameterDict
from .parameter_base import DeferredInitializationError
from .symbolic import flatten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..base.context import Context
    from ..base.types import DTypeLike
    from ..core.types import Functions


class SymbolBlock(HybridBlock):
    """Runs a symbol on arrays, or puts it into another symbol; all its variables but the inputs are parameters.

    Parameters
    ----------
    outputs : Symbol or list of Symbol
    inputs : Symbol or list of Symbol
        Variables of the outputs.
    params : ParameterDict, optional
        Parameters to share, such as ``net.collect_params()``.  Missing parameters are created.

    Raises
    ------
    ParameterError
        If an input is not a variable, or two inputs are the same.

    Examples
    --------
    >>> data = mx.sym.Variable("data")
    >>> internals = net(data).get_internals()
    >>> features = mx.gluon.SymbolBlock(internals["dense0_relu_fwd_output"], data, params=net.collect_params())
    """

    def __init__(self, outputs: Symbol | Sequence[Symbol], inputs: Symbol | Sequence[Any],
                 params: ParameterDict | None = None) -> None:
        super().__init__(prefix="")
        self._prefix, self._name, self._params = "", "symbolblock", ParameterDict("", params)
        several = list(inputs) if isinstance(inputs, Symbol) and len(inputs) > 1 else _alone(inputs)
        input_symbols, self._in_format = flatten(several, Symbol, "inputs")
        output_symbols, self._out_format = flatten(_alone(outputs), Symbol, "outputs")
        if len(output_symbols) == 1 and len(output_symbols[0]) > 1:
            _, self._out_format = flatten(list(output_symbols[0]), Symbol, "outputs")
        self._symbol = output_symbols[0] if len(output_symbols) == 1 else Group(output_symbols)
        self._inputs = [self._check_input(variable) for variable in input_symbols]
        if len(set(self._inputs)) < len(self._inputs):
            raise ParameterError(f"Inputs must have different names, got {', '.join(self._inputs)}.",
                                 hint="name each variable once.")
        self._program = SymbolProgram(self._symbol._entries)
        self._make_parameters()

    @staticmethod
    def _check_input(variable: Symbol) -> str:
        node, _ = variable._entries[0]
        if len(variable) != 1 or node.call is not None:
            raise ParameterError(f"Input symbols must be variable, but {variable} is an output of operators.",
                                 hint="mx.sym.Variable makes one; its name is what counts.")
        return node.name

    def _make_parameters(self) -> None:
        """Make a parameter for each variable that is not an input, with the variable's declarations."""
        entries = self._symbol._entries
        arguments, states = variables(order(entries))
        dtypes = dtypes_of(entries, {})
        for node in arguments + states:
            if node.name in self._inputs:
                continue
            shape = node.attrs.get("__shape__")
            declared = {"stype": declared_stype(node), "dtype": dtypes.get((node, 0)),
                        "shape": None if shape is None else to_user(from_user(parse(shape, (), node.name), node.name)),
                        "init": node.attrs.get("__init__"),
                        "lr_mult": _number(node, "__lr_mult__"), "wd_mult": _number(node, "__wd_mult__")}
            wanted: dict[str, Any] = {key: value for key, value in declared.items() if value is not None}
            if node in states:
                wanted["grad_req"] = "null"
            if node.name in self.params:
                wanted = {}
            shared = self.params._find(node.name)
            if shared is not None and shared._is_transposed and "shape" in wanted:
                wanted["shape"] = wanted["shape"][::-1]
            self.params.get(node.name, allow_deferred_init=True, **wanted)
        names = list(self.params.keys())
        start = _common(names) if len(names) > 1 else 0
        self._reg_params = MarkedDict({name[start:]: parameter for name, parameter in self.params.items()})
        self._keys = {name: name[start:] for name in names}

    @staticmethod
    def imports(symbol_file: str, input_names: Sequence[str] | str, param_file: str | None = None,
                ctx: Context | Sequence[Context] | None = None, allow_missing: bool = False,
                ignore_extra: bool = False) -> SymbolBlock:
        """The network that ``HybridBlock.export`` or ``Module.save_checkpoint``, ours or MXNet's, has written.

        Parameters
        ----------
        symbol_file : str or path
        input_names : str or list of str
        param_file : str or path, optional
            Without a file, the caller must initialize the parameters.
        ctx : Context or list of Context, optional
            Contexts of the parameters; the CPU by default.
        allow_missing, ignore_extra : bool
            Allow parameters that are not in the file, and arrays in the file that the network does not have.

        Raises
        ------
        DataFileError
            If a file is missing or damaged.
        """
        outputs = symbol.load(symbol_file)
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        unknown = [name for name in names if name not in outputs.list_inputs()]
        if unknown:
            raise ParameterError(f"{symbol_file} has no variable named {unknown[0]!r}.",
                                 hint=f"it has {', '.join(outputs.list_inputs()[:8])}.")
        block = SymbolBlock(outputs, [symbol.var(name) for name in names])
        if param_file is not None:
            block.collect_params().load(param_file, ctx, allow_missing, ignore_extra, cast_dtype=True, dtype_source="saved")
        return block

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n{self._symbol} : {len(self._inputs)} -> {len(self._symbol)}\n)"

    def forward(self, x: object, *args: object) -> object:
        """The outputs, for arrays or symbols in the structure of the inputs."""
        kind = Symbol if isinstance(x, Symbol) or (isinstance(x, (list, tuple)) and x and isinstance(x[0], Symbol)) else NDArray
        items, structure = flatten([x, *args] if args else x, kind, "The input")
        if structure != self._in_format:
            raise ShapeError(f"{len(items)} inputs were given in another structure than {', '.join(self._inputs)}.",
                             hint="give arrays in the structure of `inputs`.")
        if kind is Symbol:
            results = list(self._symbol(**dict(zip(self._inputs, items, strict=True))))
        else:
            results = self._compute(items)
        return restore(self._out_format, results)

    def _compute(self, items: list[NDArray]) -> list[NDArray]:
        ctx = items[0]._ctx
        try:
            values = self._values(ctx)
        except DeferredInitializationError:
            with aside():
                self._complete(*items)
            values = self._values(ctx)
        held = {name: F.transpose(values[key]) if self.params[name]._is_transposed else values[key]
                for name, key in self._keys.items()} | dict(zip(self._inputs, items, strict=True))
        return self._program.run([held[node.name] for node in self._program.variables], ctx)

    def _shapes(self, items: list[Any]) -> dict[tuple[SymbolNode, int], Partial]:
        by_name = dict(zip(self._inputs, (item.shape for item in items), strict=True))
        for name, parameter in self.params.items():
            if parameter.shape is not None:
                by_name[name] = parameter._outer_shape
        return shapes_of(self._program.heads, {node: from_user(by_name[node.name], node.name) for node in self._program.variables
                                                 if node.name in by_name})

    def reset_ctx(self, ctx: Context | Sequence[Context]) -> None:
        """Move all parameters to a context, or a list of them."""
        self.collect_params().reset_ctx(ctx)

    def infer_shape(self, *args: NDArray) -> None:
        """Complete the shapes of parameters from the inputs, by the symbol's inference."""
        shapes = self._shapes(list(args))
        for node in self._program.variables:
            shape = shapes.get((node, 0))
            if node.name in self.params and complete(shape):
                self.params[node.name]._learn(shape)

    def cast(self, dtype: DTypeLike) -> None:
        """Change the element type of the parameters; those of BatchNorm stay float32 where the rest is float16."""
        super().cast(dtype)
        if np.dtype(dtype) != np.float16:
            return
        for node in order(self._symbol._entries):
            if node.call is not None and node.call.op.name == "BatchNorm":
                for source, _ in node.inputs[1:]:
                    if source.name in self.params:
                        self.params[source.name].cast("float32")

    def hybrid_forward(self, F: Functions, x: object, *args: object, **parameters: object) -> NoReturn:
        """Not used: the symbol defines the computation."""
        raise DTypeError("A SymbolBlock has no hybrid_forward() of its own: it computes its symbol.",
                         hint="call it, or derive from HybridBlock.")


def _common(names: list[str]) -> int:
    """How many characters all names begin with alike."""
    first, last = min(names), max(names)
    return next((place for place, letter in enumerate(first) if letter != last[place]), len(first))


def _number(node: SymbolNode, key: str) -> float | None:
    value = node.attrs.get(key)
    return None if value is None else float(parse(value, 1.0, f"{node.name}.{key}"))


def _alone(value: object) -> object:
    """What a list of one holds; any other value as it is."""
    return value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value
