"""The graph of recorded calls, and the backward pass over it."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..base.errors import GradientError
from . import device, hooks
from .op import Call, Want

if TYPE_CHECKING:
    from ..base.context import Context
    from ..base.types import Array
    from ..storage.types import Store
    from .cached_op import CachedOp
    from .types import ArrayFunctions, ArrayObject, Entry, Slots
    from .workspace import Workspace

    #: Makes an array of a saved store.
    Wrap: TypeAlias = Callable[[Store, Context, Entry | None], ArrayObject]

    #: Gradients that wait at nodes.  Any: an array, or a list of one or None for each output of a node that has several.
    Waiting: TypeAlias = dict["Node", Any]

_numbers = itertools.count(1)

#: The first numbers of reserved ranges; no process makes as many nodes, and no program has as many operators.
_reserved = itertools.count(1 << 40, 1 << 24)


def number() -> int:
    """A sequence number between those of all earlier nodes and those of all later ones."""
    return next(_numbers)


def reserve() -> int:
    """Reserve a range of sequence numbers for a program, which no node gets, and return the first."""
    return next(_reserved)


class Node:
    """One operator that was called; subclasses are variables and functions of the user's own.

    A node keeps its input arrays, but only the stores of its results: a result array refers to its node, and such
    a cycle would delay the release of the graph.

    Attributes
    ----------
    call : Call or None
        None for a variable.
    inputs : tuple of (Node, int) or None
        Where each input came from; None for one that no gradient flows to.
    values, results : tuple or None
        The input arrays and the result stores that the gradient needs.
    layer : str
        Layer that the operator ran in.
    id : int
        Running number; the link between forward and backward in a profile.
    """

    __slots__ = ("__weakref__", "call", "ctx", "id", "inputs", "layer", "outputs", "results", "values")

    # Of a node of the user's own, or of a program.  Any: their arguments differ, as ``ProgramNode`` says.
    function: Callable[..., Any] | None = None
    grad: Any = None  # Any: a variable's array, or the ``Buffer`` of one while tracing
    grad_req = "null"
    fresh = False
    #: The form of the gradient at a node that is not a variable.
    wanted = Want()

    def __init__(self, call: Call | None, inputs: Sequence[Entry | None], values: tuple[ArrayObject, ...] | None, ctx: Context,
                 layer: str = "") -> None:
        self.call, self.inputs, self.values, self.ctx, self.layer = call, inputs, values, ctx, layer
        self.id = next(_numbers)
        self.outputs = 1 if call is None else call.outputs
        # Stores; of ``invoke`` also the mark of the one array.  Any: stores of all kinds.
        self.results: tuple[Any, ...] | None = None


class Variable(Node):
    """An array that gradients flow to: its buffer ``grad``, what to do with it, and whether it is new.

    ``fresh`` is set by a backward pass that reaches the variable, and reset by the update that uses the gradient.  ``late``
    writes a gradient to the buffer of the variable that a table has computed and nobody has read.
    """

    __slots__ = ("fresh", "grad", "grad_req", "late")

    def __init__(self, grad: Any, grad_req: str, ctx: Context) -> None:  # Any: an array, or a ``Buffer`` while tracing
        super().__init__(None, (), None, ctx)
        self.grad, self.grad_req, self.fresh = grad, grad_req, False
        self.late: Callable[[Variable], None] | None = None

    def settle(self) -> None:
        """Have the buffer hold the latest gradient, if that has not been written yet."""
        if self.late is not None:
            self.late(self)
            self.late = None


def lost_gradient(variable: Variable) -> None:
    """What is in ``late`` of a variable whose gradient a later step has overwritten before it was read.

    Raises
    ------
    GradientError
        Always.
    """
    raise GradientError("The gradient of the last step was not read before a later step, which failed, and is lost.",
                        hint="read grad() before that step, or call zero_grad().")


class CustomNode(Node):
    """A function of the user's own; ``function(gradients)`` gives those of its inputs."""

    __slots__ = ("function",)

    # Any: sequences of arrays, of this package or of the user
    def __init__(self, function: Callable[..., Any], inputs: Sequence[Entry | None], outputs: int, ctx: Context) -> None:
        super().__init__(None, inputs, None, ctx, hooks.state.layer)
        self.function, self.outputs = function, outputs


class PlacesNode(CustomNode):
    """A matrix made of values at places, of which ``function`` reads the gradient there and nowhere else."""

    __slots__ = ("wanted",)

    # Any: sequences of arrays, as above
    def __init__(self, function: Callable[..., Any], inputs: Sequence[Entry | None], ctx: Context,
                 places: tuple[ArrayObject, ArrayObject]) -> None:
        super().__init__(function, inputs, 1, ctx)
        self.wanted = Want(places=places)


class ProgramNode(Node):
    """Many operators that ran as one; what they have left is kept for the backward pass.

    ``function(node, gradients, buffers, retain, held, loans)`` gives the gradients of its inputs, those ``held`` already
    included, and may write some to the buffers of variables.

    Attributes
    ----------
    program : CachedOp
        What ran.
    arrays : sequence of NDArray
        Its inputs; None once released.
    stores : list of store
        The stores of all slots; None once released.
    workspace : Workspace
        The memory of the run.
    first : int
        Number of the node of the first operator.
    """

    __slots__ = ("arrays", "first", "function", "program", "stores", "workspace")

    def __init__(self, program: CachedOp, inputs: Sequence[Entry | None], outputs: int, arrays: Sequence[ArrayObject],
                 stores: Slots, workspace: Workspace, first: int) -> None:
        super().__init__(None, inputs, None, program.ctx, hooks.state.layer)
        self.program, self.function, self.outputs = program, program.send_back, outputs
        # Any: as given, and None once released; ``send_back`` refuses then, so that what it calls needs not ask again.
        self.arrays: Any = arrays
        self.stores: Any = stores  # Any: as above
        self.workspace, self.first = workspace, first


class Loans:
    """Gradients that programs send to programs in memory which their next runs use, so that nobody copies them.

    Parameters
    ----------
    shared : dict of int to store
        Stores that others have; those that are lent are added.

    Attributes
    ----------
    arrays : dict of int to array
        What is lent, by identity.
    entries : sequence of (Node, int) or None
        Where gradients go that a program sends back.
    ends : list of callable
        What is to be done when the backward pass is over.
    """

    __slots__ = ("_shared", "arrays", "ends", "entries")

    def __init__(self, shared: dict[int, Store]) -> None:
        self._shared = shared
        self.arrays: dict[int, Array] = {}
        self.entries: Sequence[Entry | None] = ()
        self.ends: list[Callable[[], None]] = []

    def lend(self, store: Store, parts: Iterable[Array]) -> None:
        """A gradient, and the arrays that it consists of, are the program's own."""
        self._shared[id(store)] = store
        self.arrays.update({id(part): part for part in parts})

    def close(self) -> None:
        """The backward pass is over."""
        for end in self.ends:
            end()


#: Stands in ``values`` of a node whose saved stores have been dropped.
RELEASED: Any = ("released",)


def release(heads: Iterable[Node]) -> None:
    """Give up what programs keep for another backward pass, so that their next run has the memory."""
    for node in order(heads)[0]:
        if isinstance(node, ProgramNode):
            node.program.release(node)


def order(heads: Iterable[Node]) -> tuple[list[Node], dict[Node, int]]:
    """Nodes reachable from ``heads``, latest first, and how often each variable among them is used.

    A node is made after its inputs, so their running numbers are a topological order.
    """
    uses: dict[Node, int] = {}
    stack = list(heads)
    seen = set(stack)
    while stack:
        for entry in stack.pop().inputs:
            if entry is not None:
                node = entry[0]
                if node.call is None:
                    uses[node] = uses.get(node, 0) + 1
                if node not in seen:
                    seen.add(node)
                    stack.append(node)
    return sorted(seen, key=_number, reverse=True), uses


_number, _node_of = operator.attrgetter("id"), operator.itemgetter(0)


def backward(
    heads: Sequence[Entry], gradients: Sequence[ArrayObject], F: ArrayFunctions, wrap: Wrap,
    retain: bool = False, variables: Sequence[Entry] | None = None,
) -> dict[Entry, ArrayObject | None]:
    """Send gradients from ``heads`` back to the variables.

    Parameters
    ----------
    heads : sequence of (Node, output number)
    gradients : sequence of arrays
        The gradient at each head.
    F : namespace
        Where gradient rules find operators.
    wrap : callable
        ``wrap(store, ctx, entry)`` makes an array of a saved store.
    retain : bool
        Keep the saved stores for another backward pass.
    variables : sequence of (Node, output number), optional
        Return the gradients of these instead of writing any to buffers; what does not lead to them is not
        computed.

    Returns
    -------
    dict
        Gradient of each requested variable that the heads depend on.
    """
    nodes, uses = order(map(_node_of, heads))
    useful = None if variables is None else _leading_to({node for node, _ in variables}, nodes)
    if useful is not None:
        uses = {}
    waiting: Waiting = {}
    result: dict[Entry, ArrayObject | None] = {}
    shared: dict[int, Store] = {}
    for (node, place), head in zip(heads, gradients, strict=True):
        _add(waiting, node, place, head)
        shared[id(head._store)] = head._store
    loans = Loans(shared)
    state = hooks.state
    here = state.__dict__  # written once a node, where that is cheaper than attributes
    lane, layer = state.lane, state.layer
    state.lane = "backward"
    told = hooks.sink is not None or state.recording or state.tracing
    try:
        for node in nodes:
            output_gradients = waiting.pop(node, None)
            if output_gradients is None:
                continue
            for wanted in variables or ():
                if wanted[0] is node:
                    result[wanted] = _own(output_gradients if node.outputs == 1 else output_gradients[wanted[1]], shared, wrap)
            if node.call is None and node.function is None:
                if variables is None:
                    _deliver(node, output_gradients, shared, wrap)
                continue
            if told:
                here["layer"], here["node"] = node.layer, node
            entries = node.inputs
            if useful is not None:
                if node not in useful:
                    continue
                entries = [entry if entry is not None and entry[0] in useful else None for entry in entries]
            if node.function is None:
                input_gradients = _gradients_of(node, entries, output_gradients, F, wrap, uses, retain)
            else:
                output_gradients = output_gradients if node.outputs > 1 else [output_gradients]
                if isinstance(node, ProgramNode):
                    held, loans.entries = _taken(waiting, entries) if node.program.part else (), entries
                    input_gradients = node.function(node, output_gradients, _buffers(entries, uses), retain, held, loans)
                else:
                    input_gradients = node.function(output_gradients)  # the user's own, who may keep what it gives
                    shared.update((id(gradient._store), gradient._store) for gradient in input_gradients if gradient is not None)
            for entry, gradient in zip(entries, input_gradients, strict=False):
                if entry is not None and gradient is not None:
                    source, place = entry
                    if source.outputs > 1 or source in waiting:
                        _add(waiting, source, place, gradient)
                    else:
                        waiting[source] = gradient
            if not retain:
                node.values, node.results = RELEASED, None
    finally:
        state.lane, state.layer, state.node = lane, layer, None
        loans.close()
    return result


def _leading_to(targets: set[Node], nodes: list[Node]) -> set[Node]:
    """The nodes, given latest first, that are computed from one of the targets, and these themselves."""
    dependents = set(targets)
    for node in reversed(nodes):
        if any(entry is not None and entry[0] in dependents for entry in node.inputs):
            dependents.add(node)
    return dependents


def _add(waiting: Waiting, node: Node, place: int, gradient: ArrayObject) -> None:
    """Add to the gradient that waits at one output: one array a node, or a list for several outputs."""
    if node.outputs == 1:
        held = waiting.get(node)
        waiting[node] = gradient if held is None else held + gradient
        return
    gradients = waiting.setdefault(node, [None] * node.outputs)
    held = gradients[place]
    gradients[place] = gradient if held is None else held + gradient


#: Bytes from which a gradient is computed straight into its buffer on a CPU; below, copying it there is cheaper.
LARGE = 1 << 16


def _want(node: Node, uses: dict[Node, int]) -> Want:
    """The wanted form of the gradient of a node: a variable's buffer decides it, other nodes take any form."""
    grad = node.grad
    if not uses:
        return node.wanted
    if grad.stype == "default" and is_written(grad) and node.grad_req == "write" and uses.get(node) == 1:
        return Want("default", grad)
    return Want(grad.stype)


def is_written(buffer: ArrayObject) -> bool:
    """Whether a dense gradient is computed straight into this buffer; on a GPU, a copy is one call more, whatever its size."""
    return buffer._store.nbytes >= LARGE or buffer._ctx.device_type == "gpu"


def _buffers(entries: Sequence[Entry | None], uses: dict[Node, int]) -> list[ArrayObject | None]:
    """The dense buffers of variables that one gradient is written to, and none is added to."""
    buffers: list[ArrayObject | None] = []
    for entry in entries:
        grad = None
        if entry is not None and uses.get(entry[0]) == 1 and entry[0].grad_req == "write":
            grad = entry[0].grad
            if grad is not None and grad.stype != "default":
                grad = None
        buffers.append(grad)
    return buffers


def _taken(waiting: Waiting, entries: Sequence[Entry | None]) -> list[ArrayObject | None]:
    """The gradients that wait at these places, which no longer wait."""
    gradients: list[ArrayObject | None] = []
    for entry in entries:
        gradient = None
        if entry is not None:
            source, place = entry
            if source.outputs == 1:
                gradient = waiting.pop(source, None)
            elif source in waiting:
                gradient, waiting[source][place] = waiting[source][place], None
        gradients.append(gradient)
    return gradients


# Any: what waited at the node, as in ``Waiting``
def _gradients_of(node: Node, entries: Sequence[Entry | None], heads: Any, F: ArrayFunctions, wrap: Wrap,
                  uses: dict[Node, int], retain: bool) -> Sequence[ArrayObject | None]:
    call: Call = node.call  # type: ignore[assignment]  # only variables and functions have none
    op, inputs = call.op, node.values
    if inputs is RELEASED:
        raise GradientError("This graph was already used for a backward pass, and its saved arrays are gone.",
                            hint="call backward(retain_graph=True) the first time.")
    rule = op.gradient_function
    if rule is None:
        raise _no_gradient(node)
    want = [None if entry is None else entry[0].wanted if entry[0].grad is None else _want(entry[0], uses) for entry in entries]
    out: Any = node.results  # Any: stores, of which arrays are made
    if call.outputs > 1:
        if call.visible < call.outputs and any(gradient is not None for gradient in heads[call.visible:]):
            raise _no_gradient(node, " a second time")
        heads = tuple(heads[: call.visible]) if call.visible > 1 else heads[0]
        out = out and tuple([wrap(store, node.ctx, (node, place)) for place, store in enumerate(out)])
    elif out is not None:
        result, *seen = out
        out = wrap(result, node.ctx, (node, 0))
        if seen:
            out._seen = seen[0]
    if op.variadic or len(want) < len(op.inputs):
        return op.gradients(F, heads, inputs, out, call.attrs, want)
    gradients = rule(F, heads, *(inputs or [None] * len(want)), out, call.attrs, want)  # as op.gradients would, without its call
    return gradients if type(gradients) is tuple or type(gradients) is list else (gradients,)


def _no_gradient(node: Node, again: str = "") -> GradientError:
    """What was asked, on which storage types, and what is differentiable instead."""
    call: Call = node.call  # type: ignore[assignment]  # only variables and functions have none
    inputs = call.op.inputs if not call.op.variadic else call.op.inputs * len(node.values or ())
    stypes = ", ".join(f"{name} ({array.stype})" for name, array in zip(inputs, node.values or (), strict=False))
    return GradientError(f"The operator {call.op.label!r} has no gradient{again}, for {stypes} or any other storage types.",
                         hint=f"{call.op.gradient_hint or 'call .detach() on its result, or work under autograd.pause()'}.")


def _deliver(node: Node, gradient: ArrayObject | None, shared: dict[int, Store], wrap: Wrap) -> None:
    """Put a variable's gradient into its buffer; a sparse buffer takes the components over."""
    if node.grad is None or node.grad_req == "null":
        return
    node.fresh, node.late = True, None  # type: ignore[misc, attr-defined]  # slots of variables; no other node has a buffer
    if gradient is node.grad:
        return
    if node.grad.stype != "default":
        gradient = _own(gradient, shared, wrap)
    node.grad._receive(gradient, node.grad_req == "add", "backward")


def _own(gradient: ArrayObject | None, shared: dict[int, Store], wrap: Wrap) -> ArrayObject | None:
    """Return the gradient in memory of its own: a copy if another owner holds its store; note the new owner.

    The gradient of a sum is one array for all its terms, and may be the user's head gradient.
    """
    if gradient is None:
        return None
    store = gradient._store
    if id(store) in shared:
        with device.current(gradient._ctx):
            return wrap(store.copy(), gradient._ctx, gradient._entry)
    shared[id(store)] = store
    return gradient
