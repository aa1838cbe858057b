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

__all__ = ["FirstLook", "first_look", "nothing_to_see"]

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
    found = [*_gradients(profile, operators), *_conversions(profile, operators), *_operands(profile, operators)]
    return max(found, key=lambda one: one.bytes - one.needed, default=None)


def nothing_to_see(profile: Profile) -> str:
    """That no gradient or sparse tensor of PyTorch need be less dense, and how much is sparse; empty if PyTorch did not run."""
    operators = [record for record in profile.records if is_torch(record)]
    if not operators:
        return ""
    moved = sum(one["bytes"] for one in operators)
    sparse = sum(one["bytes"] for one in operators
                 if any(part["stype"] != "default" for part in [*one["inputs"], *one["outputs"]]))
    gradients = counted_rows(profile.records)
    seen = (f"of {counted(len(gradients), 'gradient')} of {format_bytes(SMALL)} or more, none is dense and mostly zero"
            if gradients else f"no backward pass left a gradient of {format_bytes(SMALL)} or more in a parameter"
            + (f" ({RETURNED})" if any(one["lane"] == "backward" for one in operators) else ""))
    head = "Look at the first advice. Beside it" if profile.advice() else "Nothing to look at first"
    return (f"{head}: {seen}, and no sparse tensor became dense. Operators on sparse tensors move "
            f"{format_percent(sparse / moved if moved else 0.0)} of all bytes.")


def _gradients(profile: Profile, operators: list[Record]) -> list[FirstLook]:
    tried = {record["attrs"].get("parameter"): record["attrs"] for record in profile.records if record["name"] == TRIED}
    made = []
    for one in counted_rows(profile.records):
        if one.mostly_zero and one.bytes - one.as_rows > SMALL:
            told = tried.get(one.parameter, {})
            remedy = str(told.get("way") or f"PyTorch takes no sparse gradient here: {told.get('why') or 'none was tried'}.")
            layer, shape = one.parameter.rpartition(".")[0], list(one.shape)
            line = next((record["line"] for record in operators if record["lane"] == "forward" and record["line"]
                         and (record["layer"] == layer if layer else _has(record["inputs"], shape))), "")
            rows = f"{format_count(one.most)} of {format_count(one.length)} {one.axis}"
            what = f"the gradient of {one.parameter}, with values in {rows},"
            made.append(FirstLook(what, line, one.bytes, one.as_rows, *_shares(operators, shape, ("backward", "update")), remedy))
    return made


def _conversions(profile: Profile, operators: list[Record]) -> list[FirstLook]:
    made = []
    for finding in profile.advice():
        event = finding.event
        if finding.rule in _RULES and event is not None and is_torch(event):
            arrays = [*event["inputs"], *event["outputs"]]
            dense = max((one for one in arrays if one["stype"] == "default"), key=lambda one: one["bytes"], default=None)
            stored = max((one for one in arrays if one["stype"] != "default"), key=lambda one: one["bytes"], default=None)
            if dense is not None and stored is not None and dense["bytes"] - stored["bytes"] > SMALL:
                what = f"what {event['name']} takes and makes of a {stored['stype']} tensor"
                made.append(FirstLook(what, event["line"], dense["bytes"], stored["bytes"],
                                      *_shares(operators, list(dense["shape"]), ()), finding.remedy))
    return made


def _operands(profile: Profile, operators: list[Record]) -> list[FirstLook]:
    made = []
    for one in zero_operands(profile.records):
        if one.bytes - one.needed > SMALL:
            remedy = (f"Make it sparse once, before the loop, with {one.way}: products take it." if one.way
                      else f"No sparse one is advised: {one.why}.")
            what = (f"a matrix of {' × '.join(map(format_count, one.shape))} with {format_count(one.stored)} values that are not "
                    "zero")
            made.append(FirstLook(what, one.line, one.bytes, one.needed, *_shares(operators, list(one.shape), ()), remedy))
    return made


def _has(arrays: list[ArrayRecord], shape: list[int]) -> bool:
    return any(list(one["shape"]) == shape and one["stype"] == "default" for one in arrays)


def _shares(operators: list[Record], shape: list[int], lanes: tuple[str, ...]) -> tuple[float, float]:
    """The share that operators on dense arrays of a shape have of all bytes moved, and of the time."""
    own = [one for one in operators if (not lanes or one["lane"] in lanes) and _has([*one["inputs"], *one["outputs"]], shape)]
    moved, time = (sum(one["bytes"] for one in operators), sum(one["duration"] for one in operators))
    return (sum(one["bytes"] for one in own) / moved if moved else 0.0,
            sum(one["duration"] for one in own) / time if time else 0.0)
