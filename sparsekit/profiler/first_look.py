"""Where to look first in a PyTorch program: the largest dense thing that need not be dense, its share, and what to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..base.formatting import counted, format_bytes, format_count, format_percent
from .torch_gradients import RETURNED, counted_rows
from .torch_operands import zero_operands
from .torch_operators import is_torch
from .torch_twin import TRIED

if TYPE_CHECKING:
    from .profile import Profile
    from .types import ArrayRecord, Record

#: Smaller things are not worth a look.
SMALL = 4096

#: Characters of the longer bar.
WIDTH = 40

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
    candidates = [*_gradients(profile, operators), *_conversions(profile, operators), *_operands(profile, operators)]
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
            f"{format_percent(sparse / moved if moved else 0.0)} of all bytes.")


def _gradients(profile: Profile, operators: list[Record]) -> list[FirstLook]:
    tried = {record["attrs"].get("parameter"): record["attrs"] for record in profile.records if record["name"] == TRIED}
    looks = []
    for gradient in counted_rows(profile.records):
        if gradient.mostly_zero and gradient.bytes - gradient.as_rows > SMALL:
            told = tried.get(gradient.parameter, {})
            remedy = str(told.get("way") or f"PyTorch takes no sparse gradient here: {told.get('why') or 'none was tried'}.")
            layer, shape = gradient.parameter.rpartition(".")[0], list(gradient.shape)
            line = next((record["line"] for record in operators if record["lane"] == "forward" and record["line"]
                         and (record["layer"] == layer if layer else _has(record["inputs"], shape))), "")
            rows = f"{format_count(gradient.most)} of {format_count(gradient.length)} {gradient.axis}"
            name = f"the gradient of {gradient.parameter}, with values in {rows},"
            looks.append(FirstLook(name, line, gradient.bytes, gradient.as_rows,
                                   *_shares(operators, shape, ("backward", "update")), remedy))
    return looks


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
                                       *_shares(operators, list(dense["shape"]), ()), finding.remedy))
    return looks


def _operands(profile: Profile, operators: list[Record]) -> list[FirstLook]:
    looks = []
    for operand in zero_operands(profile.records):
        if operand.bytes - operand.needed > SMALL:
            remedy = (f"Make it sparse once, before the loop, with {operand.way}: products take it." if operand.way
                      else f"No sparse one is advised: {operand.why}.")
            name = (f"a matrix of {' × '.join(map(format_count, operand.shape))} with {format_count(operand.stored)} values that "
                    "are not zero")
            looks.append(FirstLook(name, operand.line, operand.bytes, operand.needed,
                                   *_shares(operators, list(operand.shape), ()), remedy))
    return looks


def _has(arrays: list[ArrayRecord], shape: list[int]) -> bool:
    return any(list(array["shape"]) == shape and array["stype"] == "default" for array in arrays)


def _shares(operators: list[Record], shape: list[int], lanes: tuple[str, ...]) -> tuple[float, float]:
    """The share that operators on dense arrays of a shape have of all bytes moved, and of the time."""
    own = [call for call in operators
           if (not lanes or call["lane"] in lanes) and _has([*call["inputs"], *call["outputs"]], shape)]
    moved, time = (sum(call["bytes"] for call in operators), sum(call["duration"] for call in operators))
    return (sum(call["bytes"] for call in own) / moved if moved else 0.0,
            sum(call["duration"] for call in own) / time if time else 0.0)
