"""Where to look first in a PyTorch program: the largest dense thing that need not be dense, its share, and what to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..base.formatting import counted, format_bytes, format_count, format_percent
from .torch_gradients import RETURNED, counted_rows
from .torch_operands import MOST_STORED, of_three_axes, zero_operands
from .torch_operands import SMALLEST as MATRIX
from .torch_operators import ALIKE, is_torch
from .torch_twin import TRIED

if TYPE_CHECKING:
    from .profile import Profile
    from .torch_gradients import CountedRows
    from .torch_operands import ZeroOperand
    from .types import ArrayRecord, Record

#: Smaller things are not worth a look.
SMALL = 4096

#: Characters of the longer bar.
WIDTH = 40

#: What is said of a gradient for which there is no remedy.
_REFUSED = "PyTorch takes no sparse gradient here"

#: Rules whose event makes a dense array of a sparse one.
_RULES = ("became_dense", "dense_by_nature", "masked_product")


class FirstLook(NamedTuple):
    """The largest dense thing that need not be dense.

    Attributes
    ----------
    what, line : str
        What it is, and the line of the program that uses it.
    bytes, needed : int
        What it takes, and what its values that are not zero would take.
    moved, time : float
        The share that operators on it have of all bytes moved, and of the time of all operators.
    remedy : str
    """

    what: str
    line: str
    bytes: int
    needed: int
    moved: float
    time: float
    remedy: str

    def __str__(self) -> str:
        at = f" ({self.line})" if self.line else ""
        sizes = format_bytes(self.bytes), format_bytes(self.needed)
        head = (f"Look here first: {self.what} is dense{at}: {sizes[0]}, where {sizes[1]} would do; what reads and writes it is "
                f"{format_percent(self.moved)} of all bytes moved and {format_percent(self.time)} of the time of operators. "
                f"{self.remedy}")
        stored = max(1, round(WIDTH * self.needed / self.bytes))
        return f"{head}\n\n  {'▨' * WIDTH} {sizes[0]} dense\n  {'■' * stored} {sizes[1]} needed"


def first_look(profile: Profile) -> FirstLook | None:
    """The largest dense thing in a profile that need not be dense; None if there is none, or no operator of PyTorch."""
    operators = [record for record in profile.records if is_torch(record)]
    gradients = _gradients(profile, operators)
    candidates = [*gradients, *_conversions(profile, operators), *_operands(profile, operators, gradients)]
    return max(candidates, key=lambda look: look.bytes - look.needed, default=None)


def nothing_to_see(profile: Profile) -> str:
    """That no gradient or sparse tensor of PyTorch need be less dense, and how much is sparse; empty if PyTorch did not run."""
    operators = [record for record in profile.records if is_torch(record)]
    if not operators:
        return ""
    moved = sum(call["bytes"] for call in operators)
    sparse = sum(call["bytes"] for call in operators
                 if any(part["stype"] != "default" for part in [*call["inputs"], *call["outputs"]]))
    gradients = counted_rows(profile.records)
    seen = (f"of {counted(len(gradients), 'gradient')} of {format_bytes(SMALL)} or more, none is dense and mostly zero"
            if gradients else f"no backward pass left a gradient of {format_bytes(SMALL)} or more in a parameter"
            + (f" ({RETURNED})" if any(call["lane"] == "backward" for call in operators) else ""))
    head = "Look at the first advice. Beside it" if profile.advice() else "Nothing to look at first"
    return (f"{head}: {seen}, and no sparse tensor became dense. Operators on sparse tensors move "
            f"{format_percent(sparse / moved if moved else 0.0)} of all bytes. No input matrix of {format_bytes(MATRIX)} or more "
            f"that was multiplied was {format_percent(1 - MOST_STORED)} zero.")


def left_dense(profile: Profile, everything: bool) -> list[str]:
    """What is dense and need not be, and that no fix is tried for: how large, and why, or what to write by hand.

    ``everything`` says that no fix was tried at all: the largest such thing is told of, and not only gradients for which PyTorch
    takes no sparse ones.
    """
    looks = [look for look in _gradients(profile, [record for record in profile.records if is_torch(record)])
             if look.remedy.startswith(_REFUSED)]
    largest = None if looks or not everything else first_look(profile)
    return [look.what[0].upper() + look.what[1:] + f" is dense{f' ({look.line})' if look.line else ''}: "
            f"{format_bytes(look.bytes)}, where {format_bytes(look.needed)} would do. {look.remedy}"
            for look in [*looks, *([largest] if largest else [])]]


def _gradients(profile: Profile, operators: list[Record]) -> list[FirstLook]:
    tried = {record["attrs"].get("parameter"): record["attrs"] for record in profile.records if record["name"] == TRIED}
    looks = []
    for gradient in counted_rows(profile.records):
        if gradient.mostly_zero and gradient.bytes - gradient.as_rows > SMALL:
            told = tried.get(gradient.parameter, {})
            remedy = str(told.get("way") or f"{_REFUSED}: {told.get('why') or 'none was tried'}.")
            rows = f"{format_count(gradient.most)} of {format_count(gradient.length)} {gradient.axis}"
            name = f"the gradient of {gradient.parameter}, with values in {rows},"
            looks.append(FirstLook(name, _line_of(operators, gradient), gradient.bytes, gradient.as_rows,
                                   *_shares_of_gradient(operators, list(gradient.shape), gradient.parameter), remedy))
    return looks


def _line_of(operators: list[Record], gradient: CountedRows) -> str:
    """The line that computes with a parameter: a line of its layer, or else the first line that reads it.

    An initialization writes to the parameter, and does not count as reading it.
    """
    layer = gradient.parameter.rpartition(".")[0]
    forward = [call for call in operators if call["lane"] == "forward" and call["line"]]
    of_layer = (call["line"] for call in forward if layer and call["layer"] == layer)
    reading = (call["line"] for call in forward if not call["name"].endswith("_")
               and call["name"].rpartition("::")[2] not in ALIKE
               and any(array.get("owner") == gradient.parameter and array.get("role") == "parameter" for array in call["inputs"]))
    node = gradient.event["attrs"].get("node")
    of_node = (call["line"] for call in operators if call["line"] and node is not None and call["node"] == node)
    return next(of_layer, "") or next(reading, "") or next(of_node, "")


def _conversions(profile: Profile, operators: list[Record]) -> list[FirstLook]:
    looks = []
    for finding in profile.advice():
        event = finding.event
        if finding.rule in _RULES and event is not None and is_torch(event):
            arrays = [*event["inputs"], *event["outputs"]]
            dense = max((array for array in arrays if array["stype"] == "default"),
                        key=lambda array: array["bytes"], default=None)
            stored = max((array for array in arrays if array["stype"] != "default"),
                         key=lambda array: array["bytes"], default=None)
            if dense is not None and stored is not None and dense["bytes"] - stored["bytes"] > SMALL:
                name = f"what {event['name']} takes and makes of a {stored['stype']} tensor"
                looks.append(FirstLook(name, event["line"], dense["bytes"], stored["bytes"],
                                       *_shares(operators, list(dense["shape"])), finding.remedy))
    return looks


def _operands(profile: Profile, operators: list[Record], gradients: list[FirstLook]) -> list[FirstLook]:
    looks = []
    for operand in zero_operands(profile.records):
        if operand.bytes - operand.needed > SMALL:
            remedy = _sparse_operand(operand) if operand.way else f"No sparse one is advised: {operand.why}."
            if not operand.kept:
                # A layer that takes the places of the values needs neither the matrix nor a dense gradient.
                remedy = next((look.remedy for look in gradients if look.line == operand.line and "sparse=True" in look.remedy),
                              remedy)
            among = f", one of {format_count(operand.made)} that this line multiplies," if operand.made > 1 else ""
            name = (f"a matrix of {' × '.join(map(format_count, operand.shape))} with {format_count(operand.stored)} values that "
                    f"are not zero{among}")
            looks.append(FirstLook(name, operand.line, operand.bytes, operand.needed,
                                   *_shares(operators, list(operand.factor)), remedy))
    return looks


def _sparse_operand(operand: ZeroOperand) -> str:
    """How to make a matrix sparse."""
    if operand.kept:
        return f"Make it sparse once, before the loop, with {operand.way}: products with @ take it.{of_three_axes(operand)}"
    return (f"Make it with torch.sparse_csr_tensor from the places of its values, or once with {operand.way} if it stays as it "
            f"is: products with @, torch.mm and nn.Linear take it.{of_three_axes(operand)}")


def _has(arrays: list[ArrayRecord], shape: list[int]) -> bool:
    return any(list(array["shape"]) == shape and array["stype"] == "default" for array in arrays)


def _shares(operators: list[Record], shape: list[int]) -> tuple[float, float]:
    """The share that operators on dense arrays of a shape have of all bytes moved, and of the time."""
    return _parts_of(operators, [(call, 1.0) for call in operators if _has([*call["inputs"], *call["outputs"]], shape)])


def _shares_of_gradient(operators: list[Record], shape: list[int], parameter: str) -> tuple[float, float]:
    """The same of those that a dense gradient causes: its writing, what reads it, and the update of its parameter.

    Arrays of its shape that belong to no parameter, as an optimizer's intermediate results, are divided among the gradients of
    that shape, in proportion to what else is done with each.
    """
    own: list[Record] = []
    nobodys: list[Record] = []
    others: list[Record] = []
    for call in operators:
        arrays = [array for array in [*call["inputs"], *call["outputs"]]
                  if array["shape"] == shape and array["stype"] == "default"]
        owners = {array.get("owner", "") for array in arrays}
        if call["lane"] not in ("backward", "update") and not any(array.get("role") == "gradient" for array in arrays):
            continue  # as the look-up of rows; clipping reads gradients between the passes
        if parameter in owners:
            own.append(call)
        elif owners - {""}:
            others.append(call)
        elif arrays:
            nobodys.append(call)
    mine, theirs = (sum(call["bytes"] for call in calls) for calls in (own, others))
    part = mine / (mine + theirs) if mine else 0.0
    return _parts_of(operators, [*((call, 1.0) for call in own), *((call, part) for call in nobodys)])


def _parts_of(operators: list[Record], parts: list[tuple[Record, float]]) -> tuple[float, float]:
    """The share of all bytes moved, and of the time of operators, that some of them have, each to a part."""
    moved, time = sum(call["bytes"] for call in operators), sum(call["duration"] for call in operators)
    return (sum(part * call["bytes"] for call, part in parts) / moved if moved else 0.0,
            sum(part * call["duration"] for call, part in parts) / time if time else 0.0)
