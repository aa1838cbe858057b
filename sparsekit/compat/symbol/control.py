"""Loops and branches of symbols: ``mx.sym.contrib.foreach``, ``while_loop`` and ``cond``, as in ``mx.nd.contrib``.

The body of a loop becomes a graph inside one operator of ``loops``.  All symbols from outside that the body uses are inputs of
that operator, so that they receive gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...base.attributes import AttrScope, current_attributes
from ...base.errors import DTypeError, ParameterError
from ...base.naming import current_names
from ...base.nested import Opaque, flatten, restore
from ...symbol import attr_text
from ...symbol.compose import checked_attributes
from ...symbol.functions import F
from ...symbol.node import Entry, SymbolNode, copied, order
from ...symbol.symbol import Symbol
from .composite import Composite, Graph
from .loops import Cond, ForEach, WhileLoop

_SCOPE = "__subgraph_name__"


# nested lists of symbols


def _flatten(value: object, what: str) -> tuple[list[Symbol], Any]:
    """Flatten nested lists of symbols: return the symbols and their structure."""
    symbols: list[Symbol] = []
    try:
        return symbols, flatten(value, Symbol, symbols, apart=True)
    except Opaque as error:
        raise DTypeError(f"{what} should be a symbol or a nested list of symbols, not a {error}.",
                         hint="convert numbers to symbols with mx.sym.full.") from None


# tracing


class _Body(NamedTuple):
    """The graph of a traced function.

    Attributes
    ----------
    graph : Graph
    sources : list of int or entry
        For each variable of the graph, the index of an argument of the function, or an entry from outside.
    structures, counts : list
        Structure and number of symbols of each result.
    """

    graph: Graph
    sources: list[int | Entry]
    structures: list[Any]
    counts: list[int]


def _scope_name(name: str) -> str:
    outer = current_attributes().get(None).get(_SCOPE)
    name = f"{outer}${name}" if outer else name
    return current_names().get(None, name)


def _stand_in(symbol: Symbol) -> Symbol:
    """A variable that represents a symbol from outside."""
    node, place = symbol._entries[0]
    return Symbol([(SymbolNode(f"{node.name}-{place}", attrs=checked_attributes(None)), 0)])


def _traced(name: str, arguments: Sequence[Symbol], function: Callable[[list[Symbol]], Sequence[Any]], what: str) -> _Body:
    """Trace a function with variables that represent ``arguments``; the function returns several structures."""
    scope = _scope_name(name)
    with AttrScope(**{_SCOPE: scope}):
        inside = [_stand_in(symbol) for symbol in arguments]
        results = [_flatten(result, what) for result in function(inside)]
        heads: list[Entry] = []
        for symbols, _ in results:
            before = {node for node, _ in heads}  # as in MXNet, outputs and states have separate nodes
            heads += [entry if _belongs(entry[0], scope) and entry[0] not in before else F.identity(symbol)._entries[0]
                      for symbol in symbols for entry in symbol._entries]
    heads, outside = _cut(heads, scope)
    graph = Graph(heads)
    numbers: dict[SymbolNode, Any] = {variable._entries[0][0]: number for number, variable in enumerate(inside)}
    sources = [numbers[leaf] if leaf in numbers else outside.get(leaf, (leaf, 0)) for leaf in graph.leaves]
    return _Body(graph, sources, [structure for _, structure in results], [len(symbols) for symbols, _ in results])


def _belongs(node: SymbolNode, scope: str) -> bool:
    return node.call is not None and node.attrs.get(_SCOPE) == scope


def _cut(heads: list[Entry], scope: str) -> tuple[list[Entry], dict[SymbolNode, Entry]]:
    """Extract the part of a graph inside a scope, with variables for the outputs of operators outside."""
    outside: dict[SymbolNode, Entry] = {}
    variables: dict[Entry, SymbolNode] = {}
    copies: dict[SymbolNode, SymbolNode] = {}

    def inner(entry: Entry) -> Entry:
        node, place = entry
        if node.call is None:
            return entry
        if _belongs(node, scope):
            return copies[node], place
        if entry not in variables:
            variables[entry] = SymbolNode(node.output_names()[place])
            outside[variables[entry]] = entry
        return variables[entry], 0

    for node in order(heads):
        if _belongs(node, scope):
            copies[node] = copied(node, [inner(entry) for entry in node.inputs])
    return [inner(head) for head in heads], outside


def _call(op: Composite, sources: Sequence[Entry], params: dict[str, Any]) -> list[Symbol]:
    """Make a node of an operator; return a symbol for each output."""
    node = SymbolNode(current_names().get(None, op.name), op.bind({}), sources, op.name,
                      {key: attr_text.text(value) for key, value in params.items()}, checked_attributes(None))
    return [Symbol([(node, place)]) for place in range(node.visible)]


# the functions


def _together(bodies: Sequence[_Body], symbols: Sequence[Symbol], every: Sequence[str]) -> tuple[list[Entry], list[list[int]]]:
    """The inputs of an operator, and the indices of the inputs of each graph among them.

    The arguments come first, then the symbols from outside.

    Raises
    ------
    ParameterError
        If the last graph does not use an argument: the file format cannot represent this.
    """
    inputs = [symbol._entries[0] for symbol in symbols]
    captured = list(dict.fromkeys(source for body in bodies for source in body.sources if not isinstance(source, int)))
    places = [[source if isinstance(source, int) else len(inputs) + captured.index(source) for source in body.sources]
              for body in bodies]
    for number, label in enumerate(every):
        if number not in places[-1]:
            raise ParameterError(f"{label} ({symbols[number].name}) is not used in the loop's body.", hint="leave it out.")
    return inputs + captured, places


def foreach(body: Callable[[Any, Any], Any], data: Sequence[Symbol] | Symbol, init_states: Sequence[Symbol] | Symbol,
            name: str = "foreach") -> tuple[Any, Any]:
    """Call ``body`` for each entry along the first axis, and pass the states from each step to the next.

    Parameters
    ----------
    body : callable
        ``body(item, states)`` returns outputs and the next states.  It is called once, with variables.
    data : Symbol or list of Symbol
        Dense arrays of the same length along the first axis.
    init_states : Symbol or list of Symbol
        States of the first step.
    name : str

    Returns
    -------
    outputs : Symbol or list
        Outputs of all steps, stacked along a new first axis.
    states : Symbol or list
        States after the last step.

    Raises
    ------
    ParameterError
        If the body does not use an item or a state, or returns states of another structure.
    """
    items, item_structure = _flatten(data, "foreach data")
    states, state_structure = _flatten(init_states, "foreach init_states")
    count, symbols = len(items), [*items, *states]
    if not items:
        raise ParameterError("foreach requires data, got an empty list.", hint="pass a symbol to iterate over.")

    def run(inside: list[Symbol]) -> Sequence[Any]:
        return _pair(body(restore(item_structure, inside[:count]), restore(state_structure, inside[count:])), "foreach")

    traced = _traced(name, symbols, run, "the result of a foreach body")
    if traced.structures[1] != state_structure:
        raise ParameterError("The states that the body of foreach returns must have the structure of init_states.",
                             hint="return (outputs, states) with as many states as in init_states, nested in the same way.")
    inputs, (places,) = _together([traced], symbols, [
        f"data {i}" for i in range(count)] + [f"state {i}" for i in range(len(states))])
    op = ForEach(traced.graph, places, len(inputs), count, len(states), traced.counts[0])
    outputs = _call(op, inputs, {
        "in_data_locs": [places.index(place) for place in range(count)],
        "in_state_locs": [places.index(place) for place in range(count, len(symbols))],
        "num_args": len(inputs) + 1, "num_out_data": traced.counts[0], "num_outputs": sum(traced.counts),
        "remain_locs": [places.index(place) for place in range(len(symbols), len(inputs))]})
    return restore(traced.structures[0], outputs[:traced.counts[0]]), restore(state_structure, outputs[traced.counts[0]:])


def _pair(result: list[Any] | tuple[Any, ...], what: str) -> tuple[Any, Any]:
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise ParameterError(f"The body of {what} must return a pair, got {type(result).__name__}.",
                             hint="return (outputs, states).")
    return result[0], result[1]


def while_loop(cond: Callable[..., Any], func: Callable[..., Any], loop_vars: object, max_iterations: int | None = None,
               name: str = "while_loop") -> tuple[Any, Any]:
    """Call ``func`` while ``cond`` is true, at most ``max_iterations`` times.

    Parameters
    ----------
    cond, func : callable
        ``cond(*loop_vars)`` returns a scalar.  ``func(*loop_vars)`` returns outputs and the next loop variables.  Each is
        called once, with variables.
    loop_vars : Symbol or list of Symbol
        Variables of the first step.
    max_iterations : int
        Maximum number of steps; outputs are padded with zeros to this length.
    name : str

    Returns
    -------
    outputs, loop_vars : Symbol or list
    """
    if max_iterations is None or int(max_iterations) < 1:
        raise ParameterError("while_loop requires max_iterations of at least 1.", hint="pass the maximum number of steps.")
    variables, structure = _flatten(loop_vars, "while_loop loop_vars")
    if not variables:
        raise ParameterError("while_loop requires loop_vars, got an empty list.", hint="pass the symbols that func changes.")

    def arguments(inside: list[Symbol]) -> list[Any]:
        values = restore(structure, inside)
        return [values] if isinstance(structure, int) else values

    def run(inside: list[Symbol]) -> Sequence[Any]:
        outputs, following = _pair(func(*arguments(inside)), "while_loop")
        return [] if outputs is None else outputs, [] if following is None else following

    tested = _traced(f"{name}_cond", variables, lambda inside: [cond(*arguments(inside))], "the result of a while_loop condition")
    traced = _traced(f"{name}_func", variables, run, "the result of a while_loop body")
    if tested.counts != [1] or traced.counts[1] != len(variables):
        raise ParameterError(f"func must return {len(variables)} loop_vars, got {traced.counts[1]}; "
                             f"cond must return 1 symbol, got {tested.counts[0]}.",
                             hint="return (outputs, loop_vars) from func, and a scalar from cond.")
    inputs, places = _together([tested, traced], variables, [f"loop variable {number}" for number in range(len(variables))])
    op = WhileLoop(tested.graph, traced.graph, places, len(inputs), list(range(len(variables))), int(max_iterations),
                   traced.counts[0])
    outputs = _call(op, inputs, {
        "cond_input_locs": places[0], "func_input_locs": places[1],
        "func_var_locs": [places[1].index(place) for place in range(len(variables))], "max_iterations": int(max_iterations),
        "num_args": len(inputs) + 2, "num_out_data": traced.counts[0], "num_outputs": sum(traced.counts)})
    return restore(traced.structures[0], outputs[:traced.counts[0]]), restore(structure, outputs[traced.counts[0]:])


def cond(pred: Symbol, then_func: Callable[[], Any], else_func: Callable[[], Any], name: str = "cond") -> list[Symbol] | Symbol:
    """A symbol that computes ``then_func()`` if ``pred`` is nonzero, else ``else_func()``.

    Parameters
    ----------
    pred : Symbol
        Condition of one element.
    then_func, else_func : callable
        Functions that return a symbol or nested lists of symbols, of the same number and shapes.  Each is called once.
    name : str

    Returns
    -------
    Symbol or list
    """
    functions: Sequence[tuple[str, Callable[[], Any]]] = (("pred", lambda: pred), ("then", then_func), ("else", else_func))
    bodies = []
    for suffix, function in functions:
        def run(inside: list[Symbol], function: Callable[[], Any] = function) -> list[Any]:
            return [function()]

        bodies.append(_traced(f"{name}_{suffix}", [], run, f"the result of {suffix} of cond"))
    if bodies[0].counts != [1] or bodies[1].counts != bodies[2].counts:
        raise ParameterError(f"The branches of cond must return the same number of symbols, got {bodies[1].counts[0]} and "
                             f"{bodies[2].counts[0]}; pred must be 1 symbol, got {bodies[0].counts[0]}.",
                             hint="return the same number of symbols from then_func and else_func.")
    inputs, places = _together(bodies, [], [])
    op = Cond([body.graph for body in bodies], places, len(inputs), bodies[1].counts[0])
    outputs = _call(op, inputs, {
        "cond_input_locs": places[0], "else_input_locs": places[2], "num_args": len(inputs) + 3,
        "num_outputs": bodies[1].counts[0], "then_input_locs": places[1]})
    return restore(bodies[1].structures[0], outputs)
