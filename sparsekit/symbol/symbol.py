"""Symbols: expressions that are declared first, and computed when arrays are bound to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..base.context import Context, current_context
from ..base.dtypes import element_type
from ..base.errors import (
    DTypeError,
    NotImplementedForSymbol,
    ParameterError,
    RowIndexError,
    ShapeError,
    SparsekitError,
    StorageTypeError,
    UnknownNameError,
    UnsupportedError,
    shown,
)
from ..base.lazy import add_lazy_names
from ..base.warn import warn_user
from ..core.partial_shapes import complete, meaning, to_user
from . import attr_text, binding, files, inference
from .compose import checked_attributes
from .executor import Executor
from .node import Entry, SymbolNode, copied, order, rebuilt, variables
from .shapes import from_user

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ..base.types import Shape
    from ..core.partial_shapes import Partial
    from ..core.types import Tensor
    from ..ndarray.ndarray import NDArray
else:
    Tensor = object

__all__ = ["Symbol", "load_json"]

add_lazy_names(globals())


class Symbol(Tensor):
    """One or several outputs of a graph of operators and variables.

    The functions of ``mx.sym``, methods and Python's operators make new symbols; ``mx.sym.Variable`` makes variables.  Calling a
    symbol replaces its variables by other symbols: ``net(data=other)``.

    Examples
    --------
    >>> data = mx.sym.Variable("data")
    >>> net = mx.sym.FullyConnected(data, num_hidden=4, name="fc1")
    >>> net.list_arguments()
    ['data', 'fc1_weight', 'fc1_bias']
    >>> net.infer_shape(data=(2, 3))
    ([(2, 3), (4, 3), (4,)], [(2, 4)], [])
    """

    __slots__ = ("__weakref__", "_entries")
    __array_priority__ = 1000.0

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries

    # what it is

    @property
    def name(self) -> str | None:
        """Name of the operator or variable; None for a group of several."""
        nodes = {node for node, _ in self._entries}
        return self._entries[0][0].name if len(nodes) == 1 else None

    def __repr__(self) -> str:
        name = self.name
        return f"<{type(self).__name__} group [{', '.join(node.name for node, _ in self._entries)}]>" if name is None \
            else f"<{type(self).__name__} {name}>"

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Symbol]:
        return (Symbol([entry]) for entry in self._entries)

    def __getitem__(self, index: int | str | slice) -> Symbol:
        """One output by number or by its listed name, or several by a slice."""
        if isinstance(index, slice):
            return Symbol(self._entries[index])
        if isinstance(index, str):
            places = [place for place, name in enumerate(self.list_outputs()) if name == index]
            if not places:
                raise UnknownNameError(f'Cannot find output that matches name "{index}".',
                                       hint=f"outputs: {_brief(self.list_outputs())}.")
            if len(places) > 1:
                raise SparsekitError(f'There are multiple outputs with name "{index}".', hint="index by number.")
            index = places[0]
        if not isinstance(index, (int, np.integer)):
            raise DTypeError("Symbol only support integer index to fetch i-th output.", hint="or the output's name.")
        if not 0 <= index < len(self._entries):
            raise RowIndexError(f"Output {index} of {len(self._entries)} does not exist.", hint="outputs count from 0.")
        return Symbol([self._entries[int(index)]])

    def list_arguments(self) -> list[str]:
        """Names of the variables that are inputs and parameters, in the order in which arrays are bound."""
        return [node.name for node in self._variables()[0]]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the variables that operators write to, such as the averages of BatchNorm."""
        return [node.name for node in self._variables()[1]]

    def list_inputs(self) -> list[str]:
        """Names of all variables."""
        return [node.name for node in order(self._entries) if node.call is None]

    def list_outputs(self) -> list[str]:
        """Names of the outputs, as ``fc1_output``."""
        return [node.output_names()[place] for node, place in self._entries]

    def _variables(self) -> tuple[list[SymbolNode], list[SymbolNode]]:
        return variables(order(self._entries))

    def get_internals(self) -> Symbol:
        """A group of every output in the graph: ``net.get_internals()["fc1_output"]`` is a separate network."""
        return Symbol([(node, place) for node in order(self._entries) for place in range(node.visible)])

    def get_children(self) -> Symbol | None:
        """A group of the inputs of these operators; None for a variable."""
        entries = [entry for node in dict.fromkeys(node for node, _ in self._entries) for entry in node.inputs]
        return Symbol(entries) if entries else None

    def debug_str(self) -> str:
        """The graph as text: operators, what they are given, and their attributes."""
        lines = ["Symbol Outputs:"] + [f"\toutput[{number}]={node.name}({place})"
                                       for number, (node, place) in enumerate(self._entries)]
        for node in order(self._entries):
            if node.call is None:
                lines.append(f"Variable:{node.name}")
                continue
            lines += ["-" * 20, f"Op:{node.written}, Name={node.name}", "Inputs:"]
            lines += [f"\targ[{number}]={source.name}({place})" + (" version=0" if source.call is None else "")
                      for number, (source, place) in enumerate(node.inputs)]
            attrs = {**node.params, **node.attrs}
            lines += ["Attrs:", *(f"\t{name}={attrs[name]}" for name in sorted(attrs))] if attrs else []
        return "\n".join(lines) + "\n"

    # attributes

    def attr(self, key: str) -> str | None:
        """One attribute as text, None if the symbol does not have it."""
        return self.list_attr().get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """The symbol's attributes, those of its operator among them; ``attr_dict`` has those of the whole graph."""
        if recursive:
            raise UnsupportedError("Symbol.list_attr with recursive=True has been deprecated.", hint="use attr_dict().")
        return self._entries[0][0].listed_attributes() if self.name is not None else {}

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """The attributes of all symbols of the graph, by name."""
        attributes = {node.name: node.listed_attributes() for node in order(self._entries)}
        return {name: attrs for name, attrs in attributes.items() if attrs}

    def _set_attr(self, **kwargs: str) -> None:
        """Set attributes, which are text."""
        for node in {node for node, _ in self._entries}:
            node.attrs.update(checked_attributes(kwargs))

    # composition

    def __call__(self, *args: Symbol, name: str | None = None, **kwargs: Symbol) -> Symbol:
        """The same graph with other symbols in the place of its variables; this one stays as it is.

        Parameters
        ----------
        *args : Symbol
            In the order of ``list_arguments()``; or keywords, by name, not both.
        name : str, optional
            New name of the result.
        """
        if args and kwargs:
            raise DTypeError("compose only accept input Symbols either as positional or keyword arguments, not both.",
                             hint="name them all.")
        names = self.list_arguments() if args else self.list_inputs()
        if len(args) > len(names):
            raise SparsekitError(f"{len(args)} symbols were given for {len(names)} arguments.", hint=f"{', '.join(names)}")
        replacements = dict(zip(names, args, strict=False)) if args else kwargs
        for key, value in replacements.items():
            if not isinstance(value, Symbol):
                raise DTypeError(f"Compose expect `Symbol` as arguments, but {key} is a {type(value).__name__}.",
                                 hint="mx.sym.Variable makes one.")
            if key not in names:
                raise UnknownNameError.of("argument", key, names)
            if len(value) != 1:
                raise ShapeError(f"{key} is given a symbol of {len(value)} outputs.", hint="take one by number, x[0].")

        def replace(node: SymbolNode, inputs: list[Entry]) -> Entry | SymbolNode:
            if node.call is None:
                return replacements[node.name]._entries[0] if node.name in replacements else node
            copy = copied(node, inputs)
            if name and node is self._entries[0][0]:
                copy.name = name
            return copy

        return Symbol(rebuilt(self._entries, replace))

    def _compose(self, *args: Symbol, name: str | None = None, **kwargs: Symbol) -> None:
        """Put other symbols in the place of this graph's variables, in place; see ``__call__``."""
        self._entries = self(*args, name=name, **kwargs)._entries

    def __copy__(self) -> Symbol:
        return Symbol(rebuilt(self._entries, copied))

    def __deepcopy__(self, memo: dict[int, Any]) -> Symbol:
        return self.__copy__()

    def __reduce__(self) -> tuple[Callable[[str], Symbol], tuple[str]]:
        return load_json, (files.write(self._entries, remove_amp_cast=False),)

    # inference

    def _by_variable(self, args: tuple[Any, ...], kwargs: dict[str, Any], what: str) -> dict[SymbolNode, Any]:
        """What is given, by position or by name, for each variable."""
        arguments, states = self._variables()
        if args and kwargs:
            raise ParameterError(f"Can only specify known argument {what} either by positional or kwargs way.", hint="name them.")
        if args:
            if len(args) > len(arguments):
                raise SparsekitError(f"{len(args)} {what} were given for {len(arguments)} arguments.",
                                     hint=f"they are {', '.join(node.name for node in arguments)}.")
            return {node: value for node, value in zip(arguments, args, strict=False) if value is not None}
        leaves = [*arguments, *states]
        names = {node.name for node in leaves}
        for name in kwargs:
            if name not in names:
                raise UnknownNameError.of("argument", name, names)
        return {node: kwargs[node.name] for node in leaves if kwargs.get(node.name) is not None}

    def _three(self, of: Callable[[Entry], Any]) -> tuple[list[Any], list[Any], list[Any]]:
        arguments, states = self._variables()
        return [of((node, 0)) for node in arguments], [of(entry) for entry in self._entries], [of((node, 0)) for node in states]

    def infer_shape(self, *args: Sequence[int] | None, **kwargs: Sequence[int] | None) -> tuple[Any, Any, Any]:
        """Shapes of arguments, outputs and auxiliary states, inferred forwards and backwards from those given.

        Parameters
        ----------
        *args, **kwargs : tuple of int
            Shapes of arguments by position or by name.  Sizes of 0 or -1 are unknown.

        Returns
        -------
        arg_shapes, out_shapes, aux_shapes : list of tuple, or None
            All three are None, with a warning, if a shape cannot be determined.

        Raises
        ------
        ShapeError
            If shapes contradict each other.  The error names the operators.
        """
        shapes = self._shapes(args, kwargs)
        result = self._three(lambda entry: _shown(shapes.get(entry)))
        names = [*self.list_arguments(), *self.list_auxiliary_states()]
        leaves = [(node, 0) for group in variables(order(self._entries)) for node in group]
        unknown = [(name, shape) for name, entry, shape in zip(names, leaves, [*result[0], *result[2]], strict=True)
                   if not complete(shapes.get(entry)) or (not shape and not meaning.zero_is_a_size)]
        # An output without axes is known, a variable without axes is one of which nothing is known, unless () is a scalar.
        if not unknown and all(complete(shapes.get(entry)) for entry in self._entries):
            return result
        lines = "".join(f"\n\t{name}: {shape}" for name, shape in unknown)
        warn_user("Cannot decide shape for the following arguments (0s in shape means unknown dimensions). "
                      f"Consider providing them as input:{lines}")
        return None, None, None

    def infer_shape_partial(self, *args: object, **kwargs: Sequence[int] | None) -> tuple[list[Any], list[Any], list[Any]]:
        """As ``infer_shape``, with 0 for sizes that cannot be decided, and () if nothing is known.

        Inside ``mx.util.np_shape``, -1 and None take their place.
        """
        shapes = self._shapes(args, kwargs)
        return self._three(lambda entry: _shown(shapes.get(entry)))

    def _shapes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[Entry, Any]:
        variable_shapes = {node: from_user(shape, node.name) for node, shape in self._by_variable(args, kwargs, "shapes").items()}
        return inference.shapes_of(self._entries, variable_shapes)

    def infer_type(self, *args: object, **kwargs: object) -> tuple[Any, Any, Any]:
        """Element types of arguments, outputs and auxiliary states, from those given; all None if some cannot be decided."""
        result = self.infer_type_partial(*args, **kwargs)
        unknown = [name for name, dtype in zip([*self.list_arguments(), *self.list_auxiliary_states()],
                                               [*result[0], *result[2]], strict=True) if dtype is None]
        if not unknown and all(dtype is not None for dtype in result[1]):
            return result
        warn_user("Cannot decide type for the following arguments. Consider providing them as input:"
                      + "".join(f"\n\t{name}: None" for name in unknown))
        return None, None, None

    def infer_type_partial(self, *args: object, **kwargs: object) -> tuple[list[Any], list[Any], list[Any]]:
        """As ``infer_type``, with None for types that cannot be decided."""
        variable_dtypes = {}
        for node, dtype in self._by_variable(args, kwargs, "types").items():
            try:
                variable_dtypes[node] = element_type(dtype)
            except DTypeError as error:
                raise DTypeError(f"{node.name} is given {shown(dtype)}: {error.message}", hint=error.hint) from None
        dtypes = inference.dtypes_of(self._entries, variable_dtypes)
        return self._three(lambda entry: dtypes[entry].type if entry in dtypes else None)

    def infer_storage_type(self, *args: str, **kwargs: object) -> tuple[list[str], list[str], list[str]]:
        """Storage types of arguments, outputs and auxiliary states, before anything is bound.

        ``net.get_internals().infer_storage_type(…)`` gives the storage types of single operators.

        Parameters
        ----------
        *args, **kwargs : {"default", "row_sparse", "csr"}
            Storage types of variables by position or by name.  Other variables have the declared storage type, or "default".
            If the number of axes matters and is not declared, arrays are assumed to be matrices.

        Raises
        ------
        StorageTypeError
            If an operator does not accept these storage types.
        """
        variable_stypes = self._by_variable(args, kwargs, "storage types")
        for node, stype in variable_stypes.items():
            if not isinstance(stype, str) or stype not in attr_text.STYPE_CODES:
                raise StorageTypeError(f"{node.name} was given the unknown storage type {shown(stype)}.",
                                       hint=f"known: {', '.join(attr_text.STYPE_CODES)}.")
        shapes = None
        if any(node.call is not None and node.call.op.settle is not None for node in order(self._entries)):
            shapes = inference.shapes_of(self._entries, {}, lenient=True)
        stypes, _ = inference.storage_of(self._entries, variable_stypes, shapes)
        return self._three(lambda entry: stypes[entry])

    def graph(self, *args: object, **kwargs: object) -> Any:
        """A picture of the graph: storage type, shape and bytes of every array, and what would become dense, at what cost.

        Nothing runs, and properties that are neither given nor inferred are shown as unknown.

        Parameters
        ----------
        *args, **kwargs : tuple of int, str, dtype, NDArray, or a tuple of several
            Known properties of variables by position or by name: shapes, storage types and element types, such as
            ``data=("csr", (64, 1000000))``, or an array that has them all.  Other properties are those that the variables
            declare; the default element type is float32.  All variables except csr ones, which are data, are assumed to have
            gradients.

        Returns
        -------
        figures.kit.Figure
            Notebooks show it.  ``save("graph.svg")`` writes the picture, ``table`` has the same as a table, and
            ``live()`` is a view to search and to ask.

        Raises
        ------
        ShapeError
            If shapes contradict each other.  The error names the operators.
        StorageTypeError
            If an operator does not accept these storage types.

        Examples
        --------
        >>> data = mx.sym.Variable("data", stype="csr")
        >>> mx.sym.log(data, name="log1").graph(data=(10, 1000)).alt
        'The one operator falls back ...'
        """
        from .inspection import figure

        return figure(self._entries, self._by_variable(args, kwargs, "shapes or types"))

    # running

    def simple_bind(self, ctx: Context, grad_req: str | Sequence[str] | Mapping[str, str] = "write",
                    type_dict: dict[str, Any] | None = None, stype_dict: dict[str, str] | None = None,
                    group2ctx: object = None, shared_arg_names: Sequence[str] | None = None, shared_exec: Executor | None = None,
                    shared_buffer: dict[str, NDArray] | None = None, **kwargs: Any) -> Executor:
        """An executor with new arrays of zeros for all arguments, gradients and states.

        Parameters
        ----------
        ctx : Context
        grad_req : str, list or dict of {"write", "add", "null"}
            Whether a backward pass overwrites gradients, adds to them, or computes none: one value for all arguments, a list in
            their order, or a dict by name.
        type_dict, stype_dict : dict, optional
            Element types and storage types of arguments by name.  The defaults are those that the variables declare, else
            float32 and "default".
        group2ctx : dict, optional
            Contexts of CPUs for the groups of ``AttrScope(ctx_group=…)``, on which arrays are said to be.
        shared_exec : Executor, optional
            Executor whose arrays are shared if they match; ``shared_arg_names`` limits this to some arguments.
        shared_buffer : dict of NDArray, optional
            Dictionary from which matching arrays are taken by name, and to which new arrays are added.
        **kwargs : tuple of int
            Shapes of arguments; the others are inferred.

        Returns
        -------
        Executor
            An executor whose gradients have the storage types that the backward pass produces.

        Raises
        ------
        ShapeError
            If a shape cannot be determined, or shapes contradict each other.
        """
        executor = binding.simple_bind(self._entries, ctx, grad_req, type_dict, stype_dict, group2ctx, shared_arg_names,
                                       shared_exec, shared_buffer, kwargs)
        executor._symbol = self
        return executor

    def bind(self, ctx: Context, args: Sequence[NDArray] | Mapping[str, NDArray],
             args_grad: Sequence[NDArray | None] | Mapping[str, NDArray] | None = None,
             grad_req: str | Sequence[str] | Mapping[str, str] = "write",
             aux_states: Sequence[NDArray] | Mapping[str, NDArray] | None = None, group2ctx: object = None,
             shared_exec: Executor | None = None) -> Executor:
        """An executor on the arrays given.

        Parameters
        ----------
        ctx : Context
        args : list or dict of NDArray
            Arguments in the order of ``list_arguments()``, or by name.
        args_grad : list or dict of NDArray, optional
            Gradient arrays of any storage type.  Arguments without one get no gradient.
        grad_req : str, list or dict of {"write", "add", "null"}
        aux_states : list or dict of NDArray, optional

        Raises
        ------
        ParameterError
            If an array is missing, or on another context.
        StorageTypeError
            If an array has another storage type than its variable declares.
        """
        executor = binding.bind(self._entries, ctx, args, args_grad, grad_req, aux_states, group2ctx, shared_exec)
        executor._symbol = self
        return executor

    def eval(self, ctx: Context | None = None, **kwargs: NDArray) -> list[Any]:
        """The outputs for these arrays, computed at once: a forward pass without training.

        Parameters
        ----------
        ctx : Context, optional
            The current context by default.
        **kwargs : NDArray
            Values of all variables by name.
        """
        states = self.list_auxiliary_states()
        args = {name: array for name, array in kwargs.items() if name not in states}
        aux = {name: array for name, array in kwargs.items() if name in states}
        return self.bind(ctx or current_context(), args, aux_states=aux or None, grad_req="null").forward()

    def gradient(self, wrt: object) -> NoReturn:
        """Not available, as in MXNet 1.9.1."""
        raise UnsupportedError("A symbol of gradients cannot be made.", hint="bind() with args_grad, and call backward().")

    def optimize_for(self, backend: str, args: object = None, aux: object = None, ctx: Context | None = None,
                     shape_dict: object = None, type_dict: object = None, stype_dict: object = None, skip_infer: bool = False,
                     **kwargs: object) -> Symbol:
        """Not available: there are no backends that rewrite graphs."""
        return self.get_backend_symbol(backend)

    def get_backend_symbol(self, backend: str) -> Symbol:
        """Not available: there are no backends that rewrite graphs."""
        raise UnsupportedError(f"There is no backend {backend!r}, nor any other.", hint="leave it out: the symbol runs as it is.")

    # files

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The graph as JSON, which MXNet 1.9.1 reads too."""
        return files.write(self._entries, remove_amp_cast)

    def save(self, fname: str | Path, remove_amp_cast: bool = True) -> None:
        """Write the graph as JSON to a file; by convention it is named ``…-symbol.json``."""
        files.write_file(fname, self._entries, remove_amp_cast)

    # methods of arrays that symbols do not have

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol("__bool__", "bool", hint="a symbol has no value: bind it first; compare names with "
                                      "a.name == b.name, and identity with `is`.")

    def as_nd_ndarray(self) -> Symbol:
        """The symbol itself."""
        return self


def _shown(shape: Partial) -> Shape | None:
    return None if shape is None and meaning.zero_is_a_size else to_user(shape)


def _brief(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 8 else f"{', '.join(names[:4])} … {', '.join(names[-4:])}"


def _only_on_arrays(name: str) -> Callable[..., Any]:
    def method(self: Symbol) -> NoReturn:
        raise NotImplementedForSymbol(name, hint="bind the symbol, and take the outputs of its executor.")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Only arrays have it."
    return method


for _name in ("wait_to_read", "asnumpy", "asscalar", "copy", "as_in_context", "detach", "backward", "as_np_ndarray"):
    setattr(Symbol, _name, _only_on_arrays(_name))


def load_json(json_str: str) -> Symbol:
    """The symbol that a JSON text describes, ours or MXNet's."""
    return Symbol(files.read(json_str))
