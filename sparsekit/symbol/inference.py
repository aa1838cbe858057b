"""Shapes, element types and storage types of every array in a symbol's graph, before anything is bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import DTypeError, ShapeError, SparsekitError, StorageTypeError
from ..core import infer as rules
from ..core.op import Call
from ..core.partial_shapes import Partial, complete, merged, to_user
from ..core.spec import Spec, infer_dtypes, infer_shapes, infer_storage
from . import attr_text
from .node import Entry, SymbolNode, order
from .shapes import declared, from_user, input_shapes

#: Sizes that stand for unknown ones when an operator's shapes are tried; what follows them is unknown too.
_PROBES = (5_040, 7_560)

#: A size that is shorter than what ``slice`` and others cut off at the end of an axis.
_SHORT = 1

#: Element types that stand for unknown ones; outputs that have the same type with both have it with any.
_TYPE_PROBES = (np.dtype(np.float32), np.dtype(np.float64))


def _calls(node: SymbolNode) -> str:
    call: Any = node.call
    return f"{node.name} ({call.op.name})"


class _Knowledge:
    """The known sizes of each entry's shape, and the node that determined them."""

    def __init__(self, nodes: Sequence[SymbolNode], lenient: bool = False) -> None:
        self.nodes, self.lenient = nodes, lenient
        self.shapes: dict[Entry, Partial] = {}
        self.said: dict[Entry, str] = {}
        self.changed = False

    def learn(self, entry: Entry, shape: Partial, source: str) -> None:
        """Add to what is known of an entry; an error for a contradiction names both operators."""
        before = self.shapes.get(entry)
        if shape is None or shape == before:
            return
        try:
            after = merged(before, shape)
        except ShapeError:
            raise ShapeError(f"{entry[0].name} has shape {to_user(before)} by {self.said[entry]}, and {to_user(shape)} by "
                             f"{source}.", hint="the two operators need the same shape; check their inputs and sizes.") from None
        if after != before:
            self.shapes[entry], self.said[entry], self.changed = after, source, True

    def described(self, node: SymbolNode) -> str:
        """The inputs of a node: what each is called, its shape, where it comes from, and which operator decided it."""
        inputs = []
        for name, entry in zip(node.input_names(), node.inputs, strict=False):
            said = self.said.get(entry, "")
            by = f" (which {said} needs)" if entry[0].call is None and said.endswith(")") and said != _calls(node) else ""
            inputs.append(f"{name} {to_user(self.shapes.get(entry))} from {entry[0].name}{by}")
        return ", ".join(inputs)

    def visit(self, node: SymbolNode) -> None:
        """Carry what is known through one operator, forwards and backwards."""
        try:
            self._visit(node)
        except ShapeError:
            if not self.lenient:
                raise

    def _visit(self, node: SymbolNode) -> None:
        call: Any = node.call
        ins = [self.shapes.get(entry) for entry in node.inputs]
        if not all(map(complete, ins)):
            self._guess(node, ins)
            ins = [self.shapes.get(entry) for entry in node.inputs]
        if all(map(complete, ins)):
            outputs = self._infer(node, ins)
        else:
            outputs = _tried(call, ins)
        for place, shape in enumerate(outputs or ()):
            self.learn((node, place), shape, _calls(node))

    def _guess(self, node: SymbolNode, ins: list[Partial]) -> None:
        try:
            shapes = input_shapes(node.call, ins, self._output(node), node.one_shape)  # type: ignore[arg-type]
        except ShapeError as error:
            raise ShapeError(f"{_calls(node)} cannot take shapes that differ, {error.message}: it has "
                             f"{self.described(node)}.", hint="elementwise operators need equal shapes; broadcast_* "
                             "take shapes that broadcast.") from None
        for entry, shape in zip(node.inputs, shapes, strict=False):  # what would have no values stays unknown, as in MXNet
            partial = shape and tuple(None if isinstance(size, int) and size < 1 else size for size in shape)
            self.learn(entry, partial, _calls(node))

    def _output(self, node: SymbolNode) -> Partial:
        """What is known of the first output; of equal parts, what is known of any of them."""
        call: Any = node.call
        shape = self.shapes.get((node, 0))
        for place in range(1, call.outputs if call.op.name == "SliceChannel" else 1):
            shape = merged(shape, self.shapes.get((node, place)))
        return shape

    def _infer(self, node: SymbolNode, ins: list[Any]) -> Sequence[Partial] | None:
        call: Any = node.call
        if _creates_unknown(call):
            return [from_user(call.attrs["shape"], node.name)]
        try:
            return infer_shapes(call, [tuple(shape) for shape in ins])
        except ShapeError as error:
            raise ShapeError(f"{_calls(node)} cannot take {self.described(node)}: {error.message}",
                             hint=error.hint) from None


def _creates_unknown(call: Call) -> bool:
    """Whether a call makes an array of which some sizes are for its users to say, as the states of a recurrent cell."""
    shape = call.attrs.get("shape")
    return not call.op.inputs and isinstance(shape, tuple) and any(size in (0, -1) for size in shape)


def leaves_open(heads: Iterable[Entry]) -> bool:
    """Whether a graph has operators that leave sizes for their users to say."""
    return any(node.call is not None and _creates_unknown(node.call) for node in order(heads))


def adjusted_call(call: Call, shape: Partial) -> Call:
    """The call with the shape that was inferred for it, if it left sizes open."""
    return call.op.bind({**call.attrs, "shape": shape}) if _creates_unknown(call) and complete(shape) else call


def _tried(call: Call, ins: list[Partial]) -> list[Partial] | None:
    """What can be said of the outputs with some sizes unknown: those that do not depend on them.

    The shape rule is run with several sizes in the place of the unknown; sizes that come out equal are known.  A rule that
    refuses the short size, such as that of ``topk``, does not cut at ends.
    """
    if any(shape is None for shape in ins):
        return None
    outcomes = []
    for probe in (*_PROBES, _SHORT):
        try:
            shapes = infer_shapes(call, [tuple(probe if size is None else size for size in shape or ()) for shape in ins])
        except SparsekitError:
            if probe == _SHORT:
                continue
            return None
        if shapes is None:
            return None
        outcomes.append(shapes)
    return [tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes_of_one, strict=True))
            if len({len(shape) for shape in shapes_of_one}) == 1 else None for shapes_of_one in zip(*outcomes, strict=True)]


def shapes_of(heads: Iterable[Entry], variable_shapes: dict[SymbolNode, Partial], lenient: bool = False) -> dict[Entry, Partial]:
    """The shape of every entry, as far as it follows from those given and those that variables declare.

    A shape given takes the place of the one declared.  The last pass changes nothing: it puts every operator's own rule to
    the shapes that were found, also to those that came from its outputs.

    Parameters
    ----------
    heads : iterable of (SymbolNode, int)
    variable_shapes : dict
        Shapes of variables.
    lenient : bool
        Leave out operators that cannot take their inputs, in the place of an error.

    Raises
    ------
    ShapeError
        If shapes contradict each other; the error names the operators.
    """
    nodes = order(heads)
    knowledge = _Knowledge(nodes, lenient)
    for node in nodes:
        if node.call is None:
            written, shape = node.attrs.get("__shape__"), variable_shapes.get(node)
            if written is not None and not complete(shape):
                knowledge.learn((node, 0), declared(written, node.name), f"its declaration as {written!r}")
            knowledge.learn((node, 0), shape, "the shape given")
    operators = [node for node in nodes if node.call is not None]
    knowledge.changed = True
    while knowledge.changed:
        knowledge.changed = False
        for node in operators:
            knowledge.visit(node)
        if not all(complete(knowledge.shapes.get((node, 0))) for node in nodes):
            for node in reversed(operators):
                knowledge.visit(node)
    return knowledge.shapes


# element types

def dtypes_of(heads: Iterable[Entry], variable_dtypes: dict[SymbolNode, Any]) -> dict[Entry, Any]:
    """The element type of every entry, as far as it follows from those given and those that variables declare."""
    nodes = order(heads)
    dtypes: dict[Entry, Any] = {}
    for node in nodes:
        if node.call is None:
            dtype = variable_dtypes.get(node)
            if dtype is None and "__dtype__" in node.attrs:
                dtype = attr_text.dtype_of(node.attrs["__dtype__"])
            if dtype is not None:
                dtypes[node, 0] = dtype
    operators = [node for node in nodes if node.call is not None]
    count = -1
    while count != len(dtypes):
        count = len(dtypes)
        for node in (*operators, *reversed(operators)):
            _carry_types(node, dtypes)
    return dtypes


def _carry_types(node: SymbolNode, dtypes: dict[Entry, Any]) -> None:
    call: Any = node.call
    op = call.op
    ins = [dtypes.get(entry) for entry in node.inputs]
    if any(dtype is None for dtype in ins):  # numpy takes None for float64, so `None in ins` would find that
        alike = next((dtype for place, dtype in enumerate(ins) if dtype is not None and place not in op.own_dtype), None)
        if alike is None and op.dtype is rules.same:
            alike = dtypes.get((node, 0))
        for place, entry in enumerate(node.inputs):
            if ins[place] is None and place not in op.own_dtype:
                input_dtype = alike if op.input_dtype is None else op.input_dtype(place, alike, call.attrs)
                if input_dtype is not None:
                    dtypes[entry] = ins[place] = input_dtype
    if (node, 0) not in dtypes:
        dtypes.update({(node, place): dtype for place, dtype in enumerate(_tried_types(node, ins)) if dtype is not None})


def _tried_types(node: SymbolNode, ins: list[Any]) -> list[Any]:
    """The element types of the outputs, None for those that depend on inputs whose type is not known."""
    call: Any = node.call  # Any: a call, as of _calls
    errors = TypeError, ValueError, SyntaxError, OverflowError
    if all(dtype is not None for dtype in ins):
        try:
            return list(infer_dtypes(call, ins))
        except errors as error:
            raise DTypeError(f"{_calls(node)} has no element type: {error}.", hint="check its dtype, as 'float32'.") from None
    try:
        dtypes = [infer_dtypes(call, [probe if dtype is None else dtype for dtype in ins]) for probe in _TYPE_PROBES]
    except errors:  # some operators take few types, and say so when theirs are known
        return []
    return [first if first == other else None for first, other in zip(*dtypes, strict=True)]


# storage types


class NodeStorage(NamedTuple):
    """Storage types of one operator's inputs and outputs, and whether its inputs become dense first.

    Attributes
    ----------
    node : SymbolNode
    inputs, outputs : tuple of str
    fallback : bool
        Whether no kernel takes these storage types, so that sparse inputs are made dense.
    cast : str or None
        Storage type that the dense result is cast to.
    """

    node: SymbolNode
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    fallback: bool
    cast: str | None


def storage_of(heads: Iterable[Entry], variable_stypes: dict[SymbolNode, str], shapes: dict[Entry, Partial] | None = None
               ) -> tuple[dict[Entry, str], list[NodeStorage]]:
    """The storage type of every entry, and of each operator how it comes by them.

    A few operators give another storage type for matrices than for arrays of other axes; without ``shapes`` their inputs
    are taken to be matrices.

    Raises
    ------
    StorageTypeError
        If an operator takes no such inputs.
    """
    by_entry: dict[Entry, str] = {}
    storages: list[NodeStorage] = []
    for node in order(heads):
        if node.call is None:
            by_entry[node, 0] = variable_stypes.get(node) or declared_stype(node) or "default"
            continue
        stypes = tuple(by_entry[entry] for entry in node.inputs)
        try:
            storage = infer_storage(node.call, stypes, [(shapes or {}).get(entry) for entry in node.inputs])
        except StorageTypeError as error:
            sources = ", ".join(f"{name} from {entry[0].name}" for name, entry in
                                zip(node.input_names(), node.inputs, strict=False))
            raise StorageTypeError(f"{_calls(node)} with {sources}: {error.message}", hint=error.hint) from None
        for place, stype in enumerate(storage.outputs):
            by_entry[node, place] = stype
        storages.append(NodeStorage(node, stypes, *storage))
    return by_entry, storages


def declared_stype(node: SymbolNode) -> str | None:
    """The storage type that a variable was declared with."""
    code = node.attrs.get("__storage_type__")
    return None if code is None else attr_text.stype_of(code)


class InferredGraph:
    """Shapes, element types and storage types of a whole graph, from those of variables.

    Only where nothing else follows is a variable float32.
    """

    def __init__(self, heads: Sequence[Entry], shapes: dict[SymbolNode, Partial], dtypes: dict[SymbolNode, Any],
                 stypes: dict[SymbolNode, str]) -> None:
        self.nodes = order(heads)
        self.shapes = shapes_of(heads, shapes)
        self.dtypes = dtypes_of(heads, dtypes)
        missing = {node: np.dtype(np.float32) for node in self.nodes if node.call is None and (node, 0) not in self.dtypes}
        if missing:
            self.dtypes = dtypes_of(heads, {**missing, **dtypes})
        self.stypes, self.storages = storage_of(heads, stypes, self.shapes)
        self.entries = [(node, place) for node in self.nodes for place in range(1 if node.call is None else node.call.outputs)]

    def spec(self, entry: Entry) -> Spec:
        """All that is known of one array."""
        return Spec(to_user(self.shapes.get(entry)), self.dtypes.get(entry, np.dtype(np.float32)), self.stypes[entry])

    def specs(self) -> dict[Entry, Spec]:
        """The same of all of them."""
        return {entry: self.spec(entry) for entry in self.entries}
