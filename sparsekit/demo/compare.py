"""The comparison of the variants: the table, the verdict on the losses, the conclusion."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..base.formatting import format_bytes, format_duration, format_ratio
from .training import Outcome, Trained

__all__ = ["TOLERANCE", "Verdict", "conclusion", "disturbed", "headline", "judge", "table", "times"]

#: Relative difference that losses may have: float32 sums in another order round differently, and training amplifies that.
TOLERANCE = 1e-4
#: Cores that other programs may use without a warning: measurements take all that there are.
BUSY = 0.3
#: By how much the accuracy must exceed that of predicting the majority class.
MARGIN = 0.05

_LANES = (("io", "· read"), ("convert", "· make dense"), ("forward", "· forward"), ("backward", "· backward"),
          ("update", "· update"), ("other", "· everything else"))


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


def times(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Return the rows of the table about time: a label, then one figure for each variant."""
    rows = [["time of the median batch", *(format_duration(outcome.batch) for outcome in outcomes)]]
    if any(outcome.spread[1] > 0 for outcome in outcomes):
        rows.append(["shortest to longest", *(" to ".join(map(format_duration, outcome.spread)) for outcome in outcomes)])
    for lane, name in _LANES:
        if any(outcome.lanes.get(lane, 0.0) > 0 for outcome in outcomes):
            rows.append([name, *(_duration(outcome.lanes.get(lane, 0.0)) for outcome in outcomes)])
    if len(outcomes) > 1:
        slowest = outcomes[0]
        rows.append([f"faster than {slowest.variant.name}",
                     *("" if outcome is slowest else _ratio(slowest, outcome) for outcome in outcomes)])
    return rows


def table(outcomes: Sequence[Outcome], timed: bool = True) -> tuple[list[str], list[list[str]]]:
    """Return column names and rows of the whole table, without times unless they were ``timed`` reliably."""
    rows = [["gradient, the largest", *(format_bytes(outcome.gradient) for outcome in outcomes)],
            ["rows in the gradient", *(f"{outcome.rows:,}" for outcome in outcomes)],
            ["weight", *(format_bytes(outcome.weight) for outcome in outcomes)],
            ["peak memory", *(format_bytes(outcome.peak) for outcome in outcomes)], *(times(outcomes) if timed else [])]
    rows.append(["loss, first batch", *(f"{outcome.losses[0]:.6f}" for outcome in outcomes)])
    rows.append([f"loss, batch {len(outcomes[0].losses)}", *(f"{outcome.losses[-1]:.6f}" for outcome in outcomes)])
    return ["", *(outcome.variant.name for outcome in outcomes)], rows


def _duration(microseconds: float) -> str:
    return format_duration(microseconds) if microseconds > 0 else "-"


def _ratio(slow: Outcome, fast: Outcome) -> str:
    return format_ratio(slow.batch / fast.batch) if fast.batch > 0 else "-"


def disturbed(measured: Iterable[Outcome | Trained]) -> str:
    """Warn if other programs used the processor while something was measured; empty if they hardly did."""
    others = max((one.others or 0.0 for one in measured), default=0.0)
    if others < BUSY:
        return ""
    return (f"Other programs used {others:.1f} of the machine's {os.cpu_count() or 1} cores while this was measured, so its "
            "times are unreliable and left out. The bytes are exact. Repeat it when nothing else runs.")


def headline(outcomes: Sequence[Outcome]) -> tuple[str, str]:
    """One number, and what it says: by bytes, of the largest gradient of the batches that were run."""
    first, last = outcomes[0], outcomes[-1]
    if last.gradient >= first.gradient:
        return format_bytes(last.gradient), f"for the gradient of the {last.variant.name}"
    words = (f"{format_bytes(last.gradient)} instead of {format_bytes(first.gradient)}: the gradient of one batch, if it "
             "stores only the rows that the batch touches")
    return f"{format_ratio(first.gradient / last.gradient)} smaller", words


def conclusion(outcomes: Sequence[Outcome], trained: Trained, same: bool, timed: bool = True) -> str:
    """Summarize memory, loss and, if it was ``timed`` reliably, time of the last variant beside the first."""
    first, last = outcomes[0], outcomes[-1]
    if first is last:
        took = f"{format_duration(last.batch)} and " if timed else ""
        return f"With a {last.variant.name} a batch takes {took}{format_bytes(last.peak)}."
    loss = "for the same loss" if same else "but the losses differ"
    words = (f"With a {last.variant.name} the gradient takes {format_bytes(last.gradient)} instead of "
             f"{format_bytes(first.gradient)}, and training {format_bytes(last.peak)} at its peak instead of "
             f"{format_bytes(first.peak)}, {loss}.")
    return f"{words} {_speed(first, last, trained)}" if timed else words


def _speed(first: Outcome, last: Outcome, trained: Trained) -> str:
    """What a batch and the training take, beside the first variant."""
    faster = _ratio(first, last)
    compared = f"{faster} the speed: at this size it does not pay off"
    if first.batch > last.batch:
        compared = f"{faster} faster than {first.variant.name}"
    whole = first.batch * 1e-6 * trained.batches
    return (f"A batch takes {format_duration(last.batch)} instead of "
            f"{format_duration(first.batch)} ({compared}). Training on {trained.batches:,} batches took "
            f"{format_duration(1e6 * trained.seconds)}; at the speed of {first.variant.name} it would take "
            f"{format_duration(1e6 * whole)}.")
