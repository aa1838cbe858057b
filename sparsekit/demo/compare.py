"""The comparison of the variants: the table, the verdict on the losses, the conclusion."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..base.formatting import format_bytes, format_duration, format_ratio
from ..base.machine import BUSY
from ..examples.beside import WIDEST
from .training import LANES, Outcome

#: Relative difference that losses may have: float32 sums in another order round differently, and training amplifies that.
TOLERANCE = 1e-4
#: By how much the accuracy must exceed that of predicting the majority class.
MARGIN = 0.05

_NAMES = {"convert": "· made dense", "forward": "· forward", "backward": "· backward", "update": "· update"}


class Verdict(NamedTuple):
    """Whether the losses are the same up to rounding, their largest relative difference, and a sentence about it."""

    same: bool
    apart: float
    text: str


def judge(outcomes: Sequence[Outcome]) -> Verdict:
    """Compare the loss of every batch with that of the first variant."""
    first = np.array(outcomes[0].losses)
    apart = max((float(np.max(np.abs(np.array(other.losses) - first) / np.abs(first))) for other in outcomes[1:]),
                default=0.0)
    same = bool(np.isfinite(first).all() and apart <= TOLERANCE)
    if len(outcomes) == 1:
        return Verdict(same, apart, "Only one variant ran, so there is nothing to compare its loss with.")
    names = {2: "both", 3: "the three"}.get(len(outcomes), "all")
    if same and not apart:
        return Verdict(same, apart, f"Same loss: over {len(first)} batches {names} agree to the last digit.")
    if same:
        return Verdict(same, apart, f"Same loss: over {len(first)} batches {names} differ by a relative {apart:.0e} at most, "
                                    f"which is rounding ({TOLERANCE:.0e} is allowed).")
    return Verdict(same, apart, f"The losses differ by a relative {apart:.0e}, more than the {TOLERANCE:.0e} that rounding "
                                "explains: something is wrong. Please report this with the file results.json.")


def table(outcomes: Sequence[Outcome], timed: bool = True) -> tuple[list[str], list[list[str]]]:
    """Return column names and rows of the whole table, without times unless they are reliable."""
    rows = [["gradient, the largest", *(format_bytes(outcome.gradient) for outcome in outcomes)],
            ["rows in it", *(f"{outcome.rows:,}" for outcome in outcomes)],
            ["weight", *(format_bytes(outcome.weight) for outcome in outcomes)],
            ["peak memory", *(format_bytes(outcome.peak) for outcome in outcomes)],
            ["moved in a batch", *(format_bytes(sum(outcome.moved.values())) for outcome in outcomes)]]
    rows += [[_NAMES[lane], *(format_bytes(outcome.moved[lane]) if outcome.moved[lane] else "-" for outcome in outcomes)]
             for lane in LANES if any(outcome.moved[lane] for outcome in outcomes)]
    if timed:
        rows += [["time of a batch", *(format_duration(outcome.time or 0.0) for outcome in outcomes)],
                 [f"beside {outcomes[0].variant.name}", *(_speed(outcome) for outcome in outcomes)]]
    rows.append(["loss, first batch", *(f"{outcome.losses[0]:.6f}" for outcome in outcomes)])
    rows.append([f"loss, batch {len(outcomes[0].losses)}", *(f"{outcome.losses[-1]:.6f}" for outcome in outcomes)])
    return ["", *(outcome.variant.name for outcome in outcomes)], rows


def _speed(outcome: Outcome) -> str:
    """How many times as fast as the first a variant is, as an interval."""
    if outcome.ratio is None:
        return ""
    _, low, high = outcome.ratio
    return f"{format_ratio(1 / high)} to {format_ratio(1 / low)} as fast"


def unreliable(outcomes: Sequence[Outcome], others: float | None) -> str:
    """Say why there are no times: other programs used the processor, or intervals are too wide; empty if they are reliable."""
    if others is not None and others >= BUSY:
        return (f"Other programs used {others:.1f} of the machine's {os.cpu_count() or 1} cores while this was measured, so its "
                "times are unreliable and left out. The bytes are exact. Repeat it when nothing else runs.")
    if len(outcomes) < 2:
        return ""
    if any(outcome.time is None for outcome in outcomes):
        return "The variants do not fit into memory together, so that steps in turn, and with them times, are left out."
    if any(outcome.ratio and outcome.ratio[2] > WIDEST * outcome.ratio[1] for outcome in outcomes):
        return ("The times of steps in turn vary too much here, so they are unreliable and left out. The bytes are exact. Repeat "
                "it when nothing else runs.")
    return ""


def headline(outcomes: Sequence[Outcome]) -> tuple[str, str]:
    """One number, and what it says: by bytes, of the largest gradient of all batches of the data."""
    first, last = outcomes[0].gradient, outcomes[-1].gradient
    if last >= first:
        return format_bytes(last), f"for the gradient of the {outcomes[-1].variant.name}"
    return f"{format_ratio(first / last)} smaller", (
        f"{format_bytes(last)} instead of {format_bytes(first)}: the gradient of one batch, if it stores only the rows that the "
        "batch touches")


def conclusion(outcomes: Sequence[Outcome], same: bool, timed: bool = True) -> str:
    """Summarize memory, loss and, if it is reliable, time of the last variant beside the first."""
    first, last = outcomes[0], outcomes[-1]
    if first is last:
        return f"With a {last.variant.name} training takes {format_bytes(last.peak)} at its peak."
    loss = "for the same loss" if same else "but the losses differ"
    words = (f"With a {last.variant.name} the gradient takes {format_bytes(last.gradient)} instead of "
             f"{format_bytes(first.gradient)}, and training {format_bytes(last.peak)} at its peak instead of "
             f"{format_bytes(first.peak)}, {loss}.")
    if not timed or last.ratio is None:
        return words
    _, low, high = last.ratio
    if low <= 1 <= high:
        return f"{words} In steps in turn no difference in time is detected."
    pays = "" if high < 1 else ": at this size it does not pay off"
    return f"{words} In steps in turn it is {_speed(last)} as {first.variant.name}{pays}."
