"""The graph of a PyTorch program's first forward pass, from the events: which operator took what which other one made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.formatting import format_shape
from . import describe
from .event_buffer import Assignment, Densified, Note, Operation
from .torch_operators import TorchPlan

if TYPE_CHECKING:
    from ..base.types import JSON, Plain
    from ..core.hooks import Densification
    from .allocations import Allocation, Entry

#: Operators that the graph has at most.
MOST_OPERATORS = 400

#: Lanes of a forward pass.
_FORWARD = ("forward", "convert")


#: What autograd itself runs in a forward pass: for tensors that it keeps, and before the backward pass.
_KEPT, _SEED = "detach", "aten::ones_like"


class TorchGraph:
    """Takes the events of a run in their order; what comes after the first backward pass or update began adds no operators.

    Attributes
    ----------
    nodes : list of dict
        As ``figures.graph.graph_figure`` takes them: variables have no ``op``.
    """

    def __init__(self) -> None:
        self.nodes: list[Plain] = []
        self._complete = False
        self._operators = self._inputs = 0
        # What wrote some memory last, and what made arrays of other shapes in it since: number of the node and of its output.
        self._filled: dict[Allocation, tuple[int, int]] = {}
        self._views: dict[Allocation, dict[tuple[int, ...], tuple[int, int]]] = {}
        self._variables: dict[Allocation, int] = {}
        # Places of operators by autograd's number, and of the operator before, which a densification belongs to.
        self._numbered: dict[int, int] = {}
        self._latest: int | None = None
        self._backward = False

    def add(self, event: Operation | Note) -> None:
        """Take an event; those that are not PyTorch's are left out."""
        if isinstance(event, Operation):
            if isinstance(event.plan, TorchPlan):
                self._operator(event, event.plan)
        elif isinstance(event.content, Assignment):
            self._assigned(event.content)
        elif isinstance(event.content, Densified) and self._latest is not None:
            self._densified(event.content.record, self.nodes[self._latest])

    def data(self) -> list[Plain]:
        """The nodes with the names that their variables have by now."""
        for allocation, place in self._variables.items():
            if allocation.given is not None:
                self.nodes[place]["name"] = allocation.given[1] or self.nodes[place]["name"]
        return [dict(node) for node in self.nodes]

    def _operator(self, event: Operation, plan: TorchPlan) -> None:
        self._latest = None if event.node is None else self._numbered.get(event.node)
        self._backward = event.lane == "backward"
        if event.lane in ("backward", "update") and self._operators and not self._complete:
            self._end()
        if self._complete or event.lane not in _FORWARD or self._operators >= MOST_OPERATORS or plan.op.short == _KEPT:
            return
        inputs: list[JSON] = [[*self._source(entry), ""] for entry in event.inputs]
        outputs = event.outputs if isinstance(event.outputs, list) else [event.outputs]
        place = self._latest = len(self.nodes)
        self._operators += 1
        self.nodes.append({"name": event.layer or plan.op.short, "op": plan.op.name, "inputs": inputs,
                           "outputs": [_described(entry) for entry in outputs]})
        if event.node is not None:
            self._numbered.setdefault(event.node, place)
        taken = {owner for entry in event.inputs for owner, _ in entry.owners()}
        for number, entry in enumerate(outputs):
            for owner, _ in entry.owners()[:1]:
                if owner in taken and plan.op.view:
                    self._views.setdefault(owner, {})[tuple(entry.shape)] = place, number
                else:
                    self._filled[owner] = place, number
                    self._views.pop(owner, None)

    def _end(self) -> None:
        """The forward pass has ended; a backward pass begins with a gradient of ones."""
        self._complete = True
        if self.nodes[-1]["op"] == _SEED:
            self.nodes.pop()

    def _source(self, entry: Entry) -> tuple[int, int]:
        """The node and its output that made an array; a variable, if no operator of the graph did."""
        owner = next((owner for owner, _ in entry.owners()), None)
        if owner is not None:
            origin = self._views.get(owner, {}).get(tuple(entry.shape)) or self._filled.get(owner)
            if origin is not None:
                return origin
        place = len(self.nodes)
        self._inputs += owner is None or owner.given is None
        self.nodes.append({"name": f"input{self._inputs}", "op": "", "inputs": [], "outputs": [_described(entry)]})
        if owner is not None:
            self._variables[owner] = place
            self._filled[owner] = place, 0
        return place, 0

    def _assigned(self, content: Assignment) -> None:
        if content.role == "gradient":
            for allocation, place in self._variables.items():
                if allocation.given == ("parameter", content.owner):
                    self.nodes[place]["gradient"] = content.entry.stype

    def _densified(self, record: Densification, node: Plain) -> None:
        change: Plain = {"what": f"{record.source} {format_shape(record.shape)}", "bytes": record.bytes_after,
                       "remedy": record.remedy}
        if self._backward:
            node.setdefault("backward", []).append(change)
        else:
            node["result"] = change


def _described(entry: Entry) -> Plain:
    key = describe.key_of(entry)
    if key is None:
        return {"shape": list(entry.shape), "dtype": "", "stype": entry.stype}
    record = describe.describe(key)
    return {"shape": list(record["shape"]), "dtype": record["dtype"], "stype": record["stype"], "bytes": record["bytes"]}
