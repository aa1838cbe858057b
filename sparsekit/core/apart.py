"""Why operators run by themselves: one list for tables on a CPU and for captured graphs on a GPU, which ``explain`` reads from.

What an operator's own rule refuses while it is lowered or captured has the words of that refusal (``base/refusal.py``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..base.config import config
from ..base.forking import load
from ..base.warn import warn_user

if TYPE_CHECKING:
    from .dispatch import Plan

CHANGES_STORAGE = "it changes storage types, which the ledger counts at every run"
DRAWS = "it draws random numbers"
READ_BACK = "how much its result stores is read back from the device"
WRITES = "it writes to its inputs"
DENSIFIES = "config.densify is 'error'"
NORM = "whether the norm of the gradients is finite is read back from the device"
NUMBERS = "its numbers are not known apart"
CATCHES = "its rule catches what a table or a graph refuses"
SIZES_CHANGE = "the number of values that an input stores changes from run to run"
BETWEEN = "it is between operators that run separately"
NOT_YET = "it has not run yet"


def reason_apart(plan: Plan, lane: str, inputs: Iterable[str], outputs: Iterable[str], draws: bool, device: str) -> str:
    """Why an operator of a program runs by itself, if that is known beforehand; else an empty string.

    Parameters
    ----------
    plan : Plan
    lane : str
        "update" for the update of a weight.
    inputs, outputs : iterable of str
        Storage types of its inputs and results.
    draws : bool
        Whether it draws random numbers in the mode that it runs in.
    device : {"cpu", "gpu"}
    """
    if draws:
        return DRAWS
    if plan.fallback or plan.cast is not None:
        return CHANGES_STORAGE
    on_gpu = device == "gpu"
    if lane == "update":
        if plan.op.plain is None:
            return NUMBERS
        return SIZES_CHANGE if on_gpu and any(stype != "default" for stype in inputs) else ""
    if on_gpu:
        if plan.op.reads_back:
            return plan.op.reads_back
        return READ_BACK if any(stype != "default" for stype in outputs) else CHANGES_STORAGE if plan.dense else ""
    if plan.op.mutates:
        return WRITES
    return DENSIFIES if plan.dense and config.densify == "error" else ""


#: Holds True once a warning has said that no table can run here.
_warned: list[bool] = []


def switched_off(device: str) -> str:
    """Why no operator of this device runs in a table or a graph now; empty if they do.

    Warns once if the versions of Python and numpy are the reason.
    """
    if device == "gpu":
        return "" if config.cuda_graphs else "config.cuda_graphs is False"
    if not config.tables:
        return "config.tables is False"
    machine = load("sparsekit.core.table.machine")
    reason: str = machine.reason_against_tables()
    if reason and not _warned and reason == machine.unknown_layout():
        _warned.append(True)
        warn_user(f"Compiled steps run operator by operator in Python, which is slower, because {reason}. Results are the same.",
                  RuntimeWarning)
    return reason
