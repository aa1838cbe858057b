"""A symbol's graph as plain data for displays: properties of every array, and conversions to dense."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import displays
from ..base.config import config
from ..base.dtypes import element_type
from ..base.errors import DensificationError, DTypeError, ShapeError, StorageTypeError, expected
from ..core import hooks
from ..core.dispatch import dense_kind, natural_remedy, remedy_for, resolve
from ..core.op import Op
from ..core.partial_shapes import Partial, complete, to_user
from ..core.spec import Spec
from ..ndarray.ndarray import NDArray
from .attr_text import STYPE_CODES
from .gradients import Flow, gradient_stypes
from .inference import InferredGraph, NodeStorage
from .node import Entry, SymbolNode
from .shapes import from_user

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base.types import DType

Known = Mapping[SymbolNode, Any]
Facts = tuple[dict[SymbolNode, Partial], dict[SymbolNode, Any], dict[SymbolNode, str], dict[SymbolNode, int]]


def known_of(values: Known) -> Facts:
    """Shapes, element types, storage types and bytes out of what a caller gives for variables.

    Parameters
    ----------
    values : dict
        By variable: an array, a shape, a storage type, an element type, or a tuple of several of these.

    Raises
    ------
    DTypeError, StorageTypeError
        If a value is something else.
    """
    shapes: dict[SymbolNode, Partial] = {}
    dtypes: dict[SymbolNode, Any] = {}
    stypes: dict[SymbolNode, str] = {}
    sizes: dict[SymbolNode, int] = {}
    for node, value in values.items():
        if isinstance(value, NDArray):
            shapes[node], dtypes[node], stypes[node], sizes[node] = value.shape, value.dtype, value.stype, int(value.nbytes)
            continue
        for fact in value if _several(value) else (value,):
            if isinstance(fact, (tuple, list)):
                shapes[node] = from_user(fact, node.name)
            elif isinstance(fact, str) and fact in STYPE_CODES:
                stypes[node] = fact
            else:
                dtypes[node] = _element_type(node.name, fact)
    return shapes, dtypes, stypes, sizes


def _several(value: str | tuple[Any, ...]) -> bool:
    return isinstance(value, tuple) and not all(isinstance(item, (int, np.integer)) or item is None for item in value)


def _element_type(name: str, fact: float | str) -> DType:
    hint = f"give a shape, a storage type ({', '.join(STYPE_CODES)}), an element type as 'float32', or a tuple of these."
    if isinstance(fact, (int, float)) or fact is None:
        raise DTypeError(expected(name, "described by a shape or a type", fact), hint=hint)
    try:
        return element_type(fact)
    except DTypeError:
        kind = StorageTypeError if isinstance(fact, str) else DTypeError
        raise kind(expected(name, "described by a shape, a storage type or an element type", fact), hint=hint) from None


def figure(heads: Sequence[Entry], values: Known, title: str = "", hide: Callable[[SymbolNode, str], bool] | None = None,
           gradients: Mapping[SymbolNode, str] | None = None, halves: int = 2) -> Any:
    """The display of a graph; ``hide(node)`` says which variables are left out, ``gradients`` their gradients' types.

    One of its ``halves`` is the forward pass.
    """
    return displays.call("graph_figure", graph_data(heads, values, hide, gradients, halves), title=title)


class _Graph(InferredGraph):
    """All that is known of a graph's arrays."""

    def __init__(self, heads: Sequence[Entry], values: Known) -> None:
        shapes, dtypes, stypes, self.sizes = known_of(values)
        super().__init__(heads, shapes, dtypes, stypes)
        self._check_axes()
        self.storage = {storage.node: storage for storage in self.storages}

    def _check_axes(self) -> None:
        for node in self.nodes:
            shape = self.shapes.get((node, 0))
            if node.call is None and shape is not None and self.stypes[node, 0] == "csr" and len(shape) != 2:
                raise ShapeError(f"{node.name} is csr, and has shape {to_user(shape)}.", hint="csr arrays have two axes.")

    def gradients(self, heads: Sequence[Entry], wanted: Container[SymbolNode]
                  ) -> tuple[dict[SymbolNode, str], dict[SymbolNode, list[dict[str, Any]]], list[Flow]]:
        """The storage types of gradients, what gradient rules make dense, and the way that gradients take.

        Nothing unless all shapes are known.
        """
        flows: list[Flow] = []
        if not all(complete(self.shapes.get(entry)) and entry in self.dtypes for entry in self.entries):
            return {}, {}, flows
        specs = self.specs()
        fallbacks: dict[SymbolNode, list[tuple[Op, tuple[Spec, ...]]]] = {}
        refused: dict[SymbolNode, DensificationError] = {}
        stypes = gradient_stypes(heads, specs, fallbacks, wanted, refused, flows)
        conversions = {node: [_dense(op, [(f"{name} of {op.label}", spec.stype, spec.shape, spec.dtype) for name, spec in
                                          zip(op.inputs * max(1, len(specs)), specs, strict=False)])
                              for op, specs in noted] for node, noted in fallbacks.items()}
        for node, error in refused.items():
            sparse = [(name, specs[entry]) for name, entry in zip(node.input_names(), node.inputs, strict=False)
                      if specs[entry].stype != "default"]
            conversions.setdefault(node, []).append({
                "what": ", ".join(f"the gradient of {name} {spec.stype}, dense by nature" for name, spec in sparse),
                "bytes": sum(math.prod(spec.shape) * np.dtype(spec.dtype).itemsize for _, spec in sparse),
                "remedy": f"{error.hint} grad_req='null' for what needs no gradient", "refused": True})
        return stypes, conversions, flows

    def array(self, entry: Entry) -> dict[str, Any]:
        """One array as plain data."""
        shape, dtype = self.shapes.get(entry), self.dtypes.get(entry)
        data = {"shape": None if shape is None else [None if size is None else int(size) for size in shape],
                "dtype": None if dtype is None else np.dtype(dtype).name, "stype": self.stypes[entry]}
        if entry[0] in self.sizes:
            data["bytes"] = self.sizes[entry[0]]
        return data

    def fallback(self, storage: NodeStorage) -> dict[str, Any] | None:
        """What an operator makes dense, at what cost, and what to do instead."""
        node, call = storage.node, storage.node.call
        if call is None or not (storage.fallback or storage.cast):
            return None
        named = [(name, stype, self.shapes.get(entry), self.dtypes.get(entry)) for name, stype, entry in
                 zip(node.input_names(), storage.inputs, node.inputs, strict=False)] if storage.fallback else []
        conversion = _dense(call.op, named)
        if storage.cast:
            cast = _dense(call.op, [("the result, asked for as", storage.cast, self.shapes.get((node, 0)),
                                     self.dtypes.get((node, 0)))])
            advice = f"leave out {call.op.sparse_output}={storage.cast!r}"
            if not storage.fallback:
                return {**cast, "remedy": advice}
            sizes = conversion["bytes"], cast["bytes"]
            conversion = {"what": f"{conversion['what']}, {cast['what']}", "bytes": None if None in sizes else sum(sizes),
                          "remedy": f"{conversion['remedy']}; {advice}", "refused": conversion["refused"] or cast["refused"]}
        return conversion


def _dense_result(node: SymbolNode, graph: _Graph) -> dict[str, Any] | None:
    """A dense result of sparse inputs that no fallback makes: dense by nature, or a product that the limit does not allow."""
    call, storage = node.call, graph.storage.get(node)
    if call is None or storage is None or storage.cast or call.op.mutates or call.op.lane == "convert":
        return None
    dense = [graph.shapes.get(entry) for entry, stype in zip(node.inputs, storage.inputs, strict=True) if stype == "default"]
    if len(dense) == len(storage.inputs):
        return None
    results = [(graph.shapes.get((node, place)), graph.dtypes.get((node, place)))
               for place, stype in enumerate(storage.outputs) if stype == "default"]
    sizes = [(math.prod(shape) * np.dtype(dtype).itemsize, math.prod(shape)) for shape, dtype in results
             if shape is not None and complete(shape) and dtype is not None]
    size, elements = max(sizes, default=(0, 0))
    beyond = _beyond_limit(call.op, dense, size, elements)
    if storage.fallback and not _outgrows(node, storage, graph, elements):
        return None  # what falls back is said of its inputs
    if not beyond and not _by_nature(node, storage, graph, elements if len(sizes) == len(results) else None):
        return None
    remedy = "take a slice first, or raise sparsekit.config.densify_limit" if beyond else natural_remedy(call.op)
    what = "the result" if storage.fallback else "the result, dense by nature"
    return {"what": what, "bytes": size if len(sizes) == len(results) else None,
            "refused": beyond or config.densify == "error", "remedy": remedy}


def _outgrows(node: SymbolNode, storage: NodeStorage, graph: _Graph, elements: int) -> bool:
    """Whether a result has more elements than each sparse input, which is made dense before."""
    shapes = [graph.shapes.get(entry) for entry, stype in zip(node.inputs, storage.inputs, strict=True) if stype != "default"]
    return all(shape is not None and complete(shape) and math.prod(shape) < elements for shape in shapes)


def _beyond_limit(op: Op, dense: Sequence[Partial], size: int, elements: int) -> bool:
    """Whether ``dispatch`` refuses a dense result of that size, given the shapes of the dense inputs."""
    if (dense and op.unlimited) or not all(map(complete, dense)) or config.densify == "allow" or size <= config.densify_limit:
        return False
    return not any(math.prod(shape) >= elements for shape in dense if shape is not None)


def _by_nature(node: SymbolNode, storage: NodeStorage, graph: _Graph, elements: int | None) -> bool:
    """Whether the ledger will have the result as dense by nature; sizes that are not known are taken to be large."""
    call: Any = node.call
    call = call.settled([graph.shapes.get(entry) for entry in node.inputs])
    rule, fallback, _ = resolve(call.op, tuple(storage.inputs), call.attrs)
    if dense_kind(call, rule, fallback, storage.inputs) != hooks.NATURAL:
        return False
    for entry, stype in zip(node.inputs, storage.inputs, strict=True):
        shape = graph.shapes.get(entry)
        small = elements is not None and shape is not None and complete(shape) and math.prod(shape) > elements
        if stype != "default" and not small:
            return True
    return False


def _dense(op: Op, arrays: Sequence[tuple[str, str, Partial, Any]]) -> dict[str, Any]:
    """What becomes dense of named arrays, each with its storage type, shape and element type."""
    sparse = [array for array in arrays if array[1] != "default"]
    sizes = [math.prod(shape) * np.dtype(dtype).itemsize if shape is not None and complete(shape) and dtype is not None else None
             for _, _, shape, dtype in sparse]
    known_sizes = [size for size in sizes if size is not None]
    refused = config.densify == "error" or (config.densify != "allow" and any(
        size > config.densify_limit for size in known_sizes))
    return {"what": ", ".join(f"{name} {stype}" for name, stype, _, _ in sparse),
            "bytes": sum(known_sizes) if len(known_sizes) == len(sizes) else None, "remedy": remedy_for(op), "refused": refused}


def graph_data(heads: Sequence[Entry], values: Known, hide: Callable[[SymbolNode, str], bool] | None = None,
               gradients: Mapping[SymbolNode, str] | None = None, halves: int = 2) -> dict[str, Any]:
    """The graph as ``sparsekit.figures.graph.graph_figure`` takes it.

    Without ``gradients``, all variables but csr ones, which are data, are taken to have some.
    """
    graph = _Graph(heads, values)
    wanted = gradients if gradients is not None else {node for node in graph.nodes
                                                     if node.call is None and graph.stypes[node, 0] != "csr"}
    inferred, backward, flows = graph.gradients(heads, wanted)
    into = inferred if gradients is None else gradients
    numbers: dict[SymbolNode, int] = {}
    nodes: list[dict[str, Any]] = []
    for node in graph.nodes:
        if hide is not None and node.call is None and hide(node, graph.stypes[node, 0]):
            continue
        numbers[node] = len(nodes)
        nodes.append(_plain(node, graph, numbers, into.get(node), backward.get(node, [])))
    nodes += _backward_half(heads, graph, numbers, flows, inferred) if halves > 1 else []
    return {"nodes": nodes, "heads": [[numbers[node], place] for node, place in heads if node in numbers]}


#: What nodes of the backward pass do not have.
_GRADIENT: dict[str, Any] = {"fallback": None, "result": None, "backward": [], "gradient": None, "attrs": {}}


def _backward_half(heads: Sequence[Entry], graph: _Graph, numbers: Mapping[SymbolNode, int], flows: Sequence[Flow],
                   inferred: Mapping[SymbolNode, str]) -> list[dict[str, Any]]:
    """The gradient of each operator that gradients pass through, in the order of the backward pass, then those of variables."""
    nodes: list[dict[str, Any]] = []
    makers: dict[Entry, list[list[Any]]] = {}
    for node, place in heads:
        if node in numbers:
            makers.setdefault((node, place), []).append([numbers[node], place, "begins at"])
    for node, specs in flows:
        arrived = [maker for place in range(node.visible) for maker in makers.get((node, place), ())]
        gradients = [(entry, spec) for entry, spec in zip(node.inputs, specs, strict=False) if spec is not None]
        if not arrived or not gradients:
            continue
        for place, (entry, _) in enumerate(gradients):
            makers.setdefault(entry, []).append([len(numbers) + len(nodes), place, "gradient"])
        call: Any = node.call  # Any: gradients pass through operators alone
        nodes.append({**_GRADIENT, "name": f"gradient of {node.name}", "op": f"{call.op.label}, backward", "inputs": arrived,
                      "of": numbers[node], "outputs": [{"shape": list(spec.shape), "dtype": np.dtype(spec.dtype).name,
                                                        "stype": spec.stype} for _, spec in gradients]})
    for node, number in numbers.items():
        if node.call is None and (node, 0) in makers and node in inferred:
            array = {**graph.array((node, 0)), "stype": inferred[node]}
            array.pop("bytes", None)
            nodes.append({**_GRADIENT, "name": f"gradient of {node.name}", "op": "gradient", "inputs": makers[node, 0],
                          "of": number, "outputs": [array]})
    return nodes


def _plain(node: SymbolNode, graph: _Graph, numbers: dict[SymbolNode, int], gradient: str | None,
           backward: list[dict[str, Any]]) -> dict[str, Any]:
    storage = graph.storage.get(node)
    data: dict[str, Any] = {
        "name": node.name, "op": None if node.call is None else node.call.op.label,
        "inputs": [[numbers[source], place, name] for name, (source, place) in
                   zip(node.input_names(), node.inputs, strict=False) if source in numbers],
        "outputs": [graph.array((node, place)) for place in range(node.visible)],
        "fallback": graph.fallback(storage) if storage is not None else None, "result": _dense_result(node, graph),
        "backward": backward,
        "gradient": gradient, "attrs": dict(node.params)}
    return data
