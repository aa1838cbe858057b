"""Makes a graph that shows a defect as small as it gets while it shows the same one."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import reference
from graphs import Graph, Input, Node, rounded


def smallest(thing: Any, smaller: Callable[[Any], Iterator[Any]], shows: Callable[[Any], bool], seconds: float = 20.0) -> Any:
    """Take the first smaller thing that still shows the defect, until there is none."""
    end = time.monotonic() + seconds
    again = True
    while again:
        again = False
        for candidate in smaller(thing):
            if time.monotonic() > end:
                return thing
            try:
                found = shows(candidate)
            except Exception:
                found = False  # a candidate that makes no sense
            if found:
                thing, again = candidate, True
                break
    return thing


def smaller_graphs(graph: Graph) -> Iterator[Graph]:
    """Graphs with less in them, those that drop most first."""
    for place in range(len(graph.nodes)):  # all but one call, on the values that it was given
        yield from _alone(graph, place)
    for place in reversed(range(len(graph.nodes) if len(graph.nodes) > 1 else 0)):
        yield pruned(graph.inputs, graph.nodes[:place] + graph.nodes[place + 1 :])
    for place in range(len(graph.nodes)):
        yield from _cut(graph, place)
    for name, one in graph.inputs.items():
        for other in _smaller_inputs(one):
            yield Graph({**graph.inputs, name: other}, graph.nodes)
    yield from _shorter(graph)
    for place, node in enumerate(graph.nodes):
        for name in node.attrs:
            attrs = {key: value for key, value in node.attrs.items() if key != name}
            yield Graph(graph.inputs, (*graph.nodes[:place], dataclasses.replace(node, attrs=attrs), *graph.nodes[place + 1 :]))


def pruned(inputs: dict[str, Input], nodes: tuple[Node, ...]) -> Graph:
    """The graph without inputs that nothing uses."""
    used = {arg for node in nodes for arg in node.args}
    return Graph({name: one for name, one in inputs.items() if name in used}, tuple(nodes))


def _values(graph: Graph) -> dict[str, Any]:
    values = {name: one.array for name, one in graph.inputs.items()}
    for node in graph.nodes:
        if reference.table[node.op].value is None:
            continue
        if any(arg not in values for arg in node.args):
            continue
        made, kinds, _ = reference.table[node.op]([values[arg] for arg in node.args], node.attrs)
        for name, one, kind in zip(node.results(), made, kinds, strict=True):
            values[name] = rounded(one, kind)
    return values


def _with_value(graph: Graph, args: Any) -> Iterator[dict[str, Input]]:
    """Inputs in the place of results, dense or sparse."""
    values = _values(graph)
    if any(arg not in values for arg in args):
        return  # it comes from an operator without a reference
    for stype in ("default", "csr", "row_sparse"):
        inputs = dict(graph.inputs)
        for arg in args:
            if arg not in inputs:
                if stype == "csr" and values[arg].ndim != 2:
                    break
                inputs[arg] = Input(values[arg], stype)
        else:
            yield inputs


def _renamed(inputs: dict[str, Input], node: Node) -> Graph:
    names = {arg: (arg if arg.isidentifier() else arg.replace("[", "_").replace("]", "")) for arg in node.args}
    return pruned({names.get(arg, arg): one for arg, one in inputs.items()},
                  (dataclasses.replace(node, args=tuple(names[arg] for arg in node.args)),))


def _alone(graph: Graph, place: int) -> Iterator[Graph]:
    if len(graph.nodes) > 1:
        node = graph.nodes[place]
        for inputs in _with_value(graph, node.args):
            yield _renamed(inputs, node)


def _cut(graph: Graph, place: int) -> Iterator[Graph]:
    """The graph with one call replaced by its value."""
    node = graph.nodes[place]
    if len(graph.nodes) > 1 and node.count == 1:
        for inputs in _with_value(graph, [node.name]):
            yield pruned(inputs, graph.nodes[:place] + graph.nodes[place + 1 :])


def _smaller_inputs(one: Input) -> Iterator[Input]:
    x = one.array
    if one.stype != "default":
        yield Input(x)
    if one.stored is not None:
        yield dataclasses.replace(one, stored=None)
    if one.index != "int64":
        yield dataclasses.replace(one, index="int64")
    if one.layout != "plain":
        yield dataclasses.replace(one, layout="plain")
    if x.dtype not in (np.float32, bool):
        yield dataclasses.replace(one, array=x.astype(np.float32))
    if x.dtype not in (np.float32, np.int32, bool):
        yield dataclasses.replace(one, array=x.astype(np.int32))
    for value in (0, 1, 2) if x.dtype.kind != "f" else (0, 1, 2, 0.5):
        if x.size and (x == value).all():
            break  # only simpler ones, so that there is an end
        yield dataclasses.replace(one, array=np.full_like(x, value))
    for place in np.ndindex(*x.shape) if x.size <= 24 else ():
        for value in (0, 1, round(float(x[place])) if np.isfinite(float(x[place])) else 0):
            if x[place] != value and x[place] not in (0, 1):
                y = x.copy()
                y[place] = value
                yield dataclasses.replace(one, array=y)


def _shorter(graph: Graph) -> Iterator[Graph]:
    """A size taken down by one wherever it occurs: in one input, or in all."""
    sizes = sorted({size for one in graph.inputs.values() for size in one.array.shape if size > 1}, reverse=True)
    for size in sizes:
        for new in (1, size - 1):
            yield Graph({name: _resized(one, size, new) for name, one in graph.inputs.items()}, graph.nodes)
    for name, one in graph.inputs.items():
        for size in sorted({size for size in one.array.shape if size > 1}):
            yield Graph({**graph.inputs, name: _resized(one, size, size - 1)}, graph.nodes)


def _resized(one: Input, size: int, new: int) -> Input:
    cut = tuple(slice(0, new if length == size else length) for length in one.array.shape)
    return dataclasses.replace(one, array=one.array[cut].copy(), stored=None if one.stored is None else one.stored[cut])
