"""Operators for loops and branches, which contain graphs.

Files have the graphs as ``subgraphs`` of a node, and the indices of their inputs among those of the node, as in MXNet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...base.errors import FileFormatError, ShapeError, StorageTypeError, expected
from ...core.partial_shapes import Partial, complete, merged, to_user
from ...core.spec import Spec
from ...ndarray.creation import zeros
from ...symbol import attr_text
from ...symbol.node import Entry
from ..ndarray.control import joined
from .composite import Composite, Graph

if TYPE_CHECKING:
    from ...base.context import Context
    from ...core.op import Call
    from ...ndarray.ndarray import NDArray


class _Control(Composite):
    """Base of loops and branches; ``places`` has, for each graph, the indices of its inputs among those of the operator."""

    def __init__(self, name: str, graphs: list[Graph], places: list[list[int]], count: int, outputs: int) -> None:
        suffixes = [f"output{place}" for place in range(outputs)] if outputs > 1 else ["output"]
        states = {place for graph, where in zip(graphs, places, strict=True) for place in (where[at] for at in graph.states)}
        super().__init__(name, [f"data{place}" for place in range(count)], suffixes, sorted(states), graphs)
        self.places, self.count = places, count

    def inputs_of(self, number: int, items: Sequence[Any]) -> list[Any]:
        """The inputs of one graph, from those of the operator."""
        return [items[place] for place in self.places[number]]

    def learned(self, shapes: list[Partial], inferred: list[list[Partial]]) -> list[Partial]:
        """The shapes of the inputs, merged with the shapes that the graphs infer."""
        result = list(shapes)
        for where, inside in zip(self.places, inferred, strict=True):
            for place, shape in zip(where, inside, strict=True):
                result[place] = merged(result[place], shape)
        return result

    def infer_dtypes(self, dtypes: list[Any]) -> list[Any]:
        """Infer element types from the graphs."""
        return self.graphs[-1].dtypes(self.inputs_of(-1, dtypes))

    def infer_stypes(self, stypes: tuple[str, ...]) -> list[str]:
        """Infer storage types from the graphs."""
        return self.graphs[-1].stypes(self.inputs_of(-1, stypes))

    def gradient_stypes(self, specs: list[Spec], outputs: list[Spec]) -> list[str]:
        """Infer storage types of gradients from the graphs."""
        stypes: list[str | None] = [None] * len(specs)
        for number, graph in enumerate(self.graphs):
            for place, stype in zip(self.places[number], graph.gradient_stypes(self.inputs_of(number, specs)), strict=True):
                stypes[place] = stype if stypes[place] in (None, stype) else "default"
        return [stype or "default" for stype in stypes]


class ForEach(_Control):
    """A loop that runs a graph for each entry along the first axis of its data, and passes states from step to step."""

    def __init__(self, graph: Graph, places: list[int], count: int, data: int, states: int, outputs: int) -> None:
        super().__init__("_foreach", [graph], [places], count, outputs + states)
        self.data, self.carried, self.collected = data, states, outputs

    def infer_shapes(self, shapes: list[Partial]) -> tuple[list[Partial], list[Partial]]:
        """Infer shapes from the graphs."""
        length = self._length(shapes)
        items = [*[None if shape is None else shape[1:] for shape in shapes[:self.data]], *shapes[self.data:]]
        inside, heads = self.graphs[0].shapes(self.inputs_of(0, items))
        for place, shape in enumerate(heads[self.collected:], self.data):  # the shape of a state is constant
            items[place] = merged(items[place], shape)
        learned = self.learned(items, [inside])
        outer = [shape if shape is None else (length, *shape) for shape in learned[:self.data]]
        return [*outer, *learned[self.data:]], [None if shape is None else (length, *shape)
                                                for shape in heads[:self.collected]] + heads[self.collected:]

    def _length(self, shapes: list[Partial]) -> int | None:
        lengths = {shape[0] for shape in shapes[:self.data] if shape}
        if () in shapes[:self.data]:
            raise ShapeError("The data of foreach must have at least one axis, got shape ().", hint="reshape the scalar to (1,).")
        sizes = lengths - {None}
        if len(sizes) > 1:
            raise ShapeError(f"foreach requires arrays of one length, got lengths {sorted(sizes)}.", hint="slice the arrays.")
        return sizes.pop() if sizes else None

    def infer_stypes(self, stypes: tuple[str, ...]) -> list[str]:
        """Infer storage types from the graphs."""
        if any(stype != "default" for stype in stypes[:self.data]):
            raise StorageTypeError(f"The data of foreach must be dense, got storage types {', '.join(stypes[:self.data])}.",
                                   hint="pass sparse arrays as states, or use them in the body from outside.")
        outputs = super().infer_stypes(stypes)
        return ["default" if place < self.collected else stype for place, stype in enumerate(outputs)]

    def gradient_stypes(self, specs: list[Spec], outputs: list[Spec]) -> list[str]:
        """Infer storage types of gradients from the graphs."""
        items = [spec._replace(shape=spec.shape[1:]) if place < self.data else spec for place, spec in enumerate(specs)]
        gradients = super().gradient_stypes(items, outputs)
        return ["default" if place < self.data else stype for place, stype in enumerate(gradients)]

    def invoke(self, call: Call, arrays: tuple[Any, ...], out: object, ctx: Context) -> object:
        """Compute the outputs."""
        items: list[Any] = list(arrays)
        steps = []
        for step in range(arrays[0].shape[0]):
            items[:self.data] = [array[step] for array in arrays[:self.data]]
            results = self.graphs[0].run(self.inputs_of(0, items), ctx)
            steps.append(results[:self.collected])
            items[self.data:self.data + self.carried] = results[self.collected:]
        if not steps:
            raise ShapeError("foreach requires arrays of one length of at least 1, got 0.", hint="pass at least one entry.")
        outputs = [*joined(steps, len(steps)), *items[self.data:self.data + self.carried]]
        return outputs if len(outputs) > 1 else outputs[0]


class WhileLoop(_Control):
    """A loop that runs one graph while the result of another graph is nonzero."""

    def __init__(self, condition: Graph, body: Graph, places: list[list[int]], count: int, variables: list[int], most: int,
                 outputs: int) -> None:
        super().__init__("_while_loop", [condition, body], places, count, outputs + len(variables))
        self.variables, self.most, self.collected = variables, most, outputs

    def infer_shapes(self, shapes: list[Partial]) -> tuple[list[Partial], list[Partial]]:
        """Infer shapes from the graphs."""
        tested, _ = self.graphs[0].shapes(self.inputs_of(0, shapes))
        inside, heads = self.graphs[1].shapes(self.inputs_of(1, shapes))
        outputs = [None if shape is None else (self.most, *shape) for shape in heads[:self.collected]]
        learned = self.learned(shapes, [tested, inside])
        for place, shape in zip(self.variables, heads[self.collected:], strict=True):  # the shape of a variable is constant
            learned[place] = merged(learned[place], shape)
        return learned, outputs + heads[self.collected:]

    def infer_stypes(self, stypes: tuple[str, ...]) -> list[str]:
        """Infer storage types from the graphs."""
        return ["default" if place < self.collected else stype for place, stype in enumerate(super().infer_stypes(stypes))]

    def invoke(self, call: Call, arrays: tuple[Any, ...], out: object, ctx: Context) -> object:
        """Compute the outputs."""
        items: list[Any] = list(arrays)
        steps: list[list[Any]] = []
        while len(steps) < self.most and _holds(self.graphs[0].run(self.inputs_of(0, items), ctx)[0]):
            results = self.graphs[1].run(self.inputs_of(1, items), ctx)
            steps.append(results[:self.collected])
            for place, value in zip(self.variables, results[self.collected:], strict=True):
                items[place] = value
        outputs = joined(steps, self.most) if steps else self._nothing(arrays, ctx)
        outputs = [*outputs, *[items[place] for place in self.variables]]
        return outputs if len(outputs) > 1 else outputs[0]

    def _nothing(self, arrays: tuple[Any, ...], ctx: Context) -> list[Any]:
        """The outputs of a loop without steps: zeros."""
        _, shapes = self.infer_shapes([array.shape for array in arrays])
        dtypes = self.infer_dtypes([array.dtype for array in arrays])
        return [zeros(to_user(shape), ctx, dtype) for shape, dtype in zip(shapes[:self.collected], dtypes, strict=False)]


class Cond(_Control):
    """A branch that runs one of two graphs, depending on the result of a third graph."""

    def __init__(self, graphs: list[Graph], places: list[list[int]], count: int, outputs: int) -> None:
        super().__init__("_cond", graphs, places, count, outputs)

    def infer_shapes(self, shapes: list[Partial]) -> tuple[list[Partial], list[Partial]]:
        """Infer shapes from the graphs."""
        inferred = [graph.shapes(self.inputs_of(number, shapes)) for number, graph in enumerate(self.graphs)]
        then, otherwise = inferred[1][1], inferred[2][1]
        for first, other in zip(then, otherwise, strict=True):
            if complete(first) and complete(other) and first != other:
                raise ShapeError(f"the branches of cond must have the same shapes, got {to_user(first)} and {to_user(other)}.",
                                 hint="reshape the result of one branch.")
        inside = [leaves for leaves, _ in inferred]
        return self.learned(shapes, inside), [merged(*pair) for pair in zip(then, otherwise, strict=True)]

    def infer_stypes(self, stypes: tuple[str, ...]) -> list[str]:
        """Infer storage types from the graphs."""
        then, otherwise = (self.graphs[number].stypes(self.inputs_of(number, stypes)) for number in (1, 2))
        if then != otherwise:
            raise StorageTypeError(f"The branches of cond must have the same storage types, "
                                   f"got {', '.join(then)} and {', '.join(otherwise)}.",
                                   hint="convert one with cast_storage.")
        return then

    def invoke(self, call: Call, arrays: tuple[Any, ...], out: object, ctx: Context) -> object:
        """Compute the outputs."""
        chosen = 1 if _holds(self.graphs[0].run(self.inputs_of(0, arrays), ctx)[0]) else 2
        results = self.graphs[chosen].run(self.inputs_of(chosen, arrays), ctx)
        return results if len(results) > 1 else results[0]


def _holds(array: NDArray) -> bool:
    if array.size != 1:
        raise ShapeError(expected("The shape of the condition", "(1,)", array.shape),
                         hint="reduce the condition to one element, for example with sum().")
    return bool(array.asnumpy().reshape(-1)[0])


# from files


def _whole(params: dict[str, str], name: str) -> int:
    value = attr_text.parse(params.get(name, ""), 0, name)
    if type(value) is not int or value < 0:
        raise FileFormatError(f"{name} must be an integer of at least 0, got {params.get(name)!r:.60}.",
                              hint="the file is damaged.")
    return value


def _locations(params: dict[str, str], name: str, count: int, below: int) -> list[int]:
    """Indices of inputs in a file, all less than ``below``; exactly ``count`` of them if ``count`` is not negative."""
    locations = attr_text.parse(params.get(name, "()"), (), name)
    locations = (locations,) if type(locations) is int else locations
    if not isinstance(locations, tuple) or not all(type(item) is int and 0 <= item < below for item in locations) or (
            count >= 0 and len(locations) != count):
        raise FileFormatError(f"{name} must be a tuple of integers from 0 to {below - 1}, got {params.get(name)!r:.60}.",
                              hint="the file is damaged.")
    return list(locations)


def _graphs(graphs: list[list[Entry]], count: int, name: str) -> list[Graph]:
    if len(graphs) != count:
        raise FileFormatError(f"{name} must have {count} graphs, got {len(graphs)}.", hint="the file is damaged.")
    return [Graph(heads) for heads in graphs]


def read_foreach(params: dict[str, str], graphs: list[list[Entry]], count: int) -> Composite:
    """Make the operator of a ``foreach`` node from a file."""
    graph, = _graphs(graphs, 1, "_foreach")
    inside = len(graph.leaves)
    groups = [_locations(params, name, -1, inside) for name in ("in_data_locs", "in_state_locs", "remain_locs")]
    flat = [leaf for part in groups for leaf in part]
    outputs = _whole(params, "num_out_data")
    if sorted(flat) != list(range(inside)) or inside != count or not groups[0] or (
            len(graph.heads) != outputs + len(groups[1]) or _whole(params, "num_outputs") != len(graph.heads)):
        raise FileFormatError("The inputs or outputs of _foreach do not match its graph.", hint="the file is damaged.")
    return ForEach(graph, [flat.index(leaf) for leaf in range(inside)], count, len(groups[0]), len(groups[1]), outputs)


def read_while_loop(params: dict[str, str], graphs: list[list[Entry]], count: int) -> Composite:
    """Make the operator of a ``while_loop`` node from a file."""
    condition, body = _graphs(graphs, 2, "_while_loop")
    places = [_locations(params, name, len(graph.leaves), count) for name, graph in
              (("cond_input_locs", condition), ("func_input_locs", body))]
    inner = _locations(params, "func_var_locs", -1, len(body.leaves))
    outputs = _whole(params, "num_out_data")
    if len(condition.heads) != 1 or len(body.heads) != outputs + len(inner) or not inner:
        raise FileFormatError("The outputs of _while_loop do not match its graphs.", hint="the file is damaged.")
    return WhileLoop(condition, body, places, count, [places[1][leaf] for leaf in inner], _whole(params, "max_iterations"),
                      outputs)


def read_cond(params: dict[str, str], graphs: list[list[Entry]], count: int) -> Composite:
    """Make the operator of a ``cond`` node from a file."""
    bodies = _graphs(graphs, 3, "_cond")
    names = ("cond_input_locs", "then_input_locs", "else_input_locs")
    places = [_locations(params, name, len(graph.leaves), count) for name, graph in zip(names, bodies, strict=True)]
    if len(bodies[0].heads) != 1 or len(bodies[1].heads) != len(bodies[2].heads):
        raise FileFormatError("The outputs of _cond do not match its graphs.", hint="the file is damaged.")
    return Cond(bodies, places, count, len(bodies[1].heads))
