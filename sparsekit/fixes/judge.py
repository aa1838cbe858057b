"""Whether a fix keeps the answer: losses, weights and gradients beside those of the original, within a stated tolerance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.formatting import counted, format_count

if TYPE_CHECKING:
    from .observe import Run, Weight

HOLDS, CHANGES, NO_GAIN, REFUSED = "holds", "changes the answer", "no gain", "refused"

#: Relative difference that rounding may make: of a loss, and of what the steps changed in a row of a weight.
TOLERANCE = 1e-4

#: Beside it, the share of the largest change of a weight that rounding may make in any row: sums that cancel.
CANCELLED = 1e-6

Values = npt.NDArray[Any]  # Any: numbers of any type

#: Differences that a verdict names; it counts the others.
NAMED = 3


class Answer(NamedTuple):
    """How two runs agree.

    Attributes
    ----------
    same : bool
        Whether all of it agrees within the tolerance.
    exact : bool
        Whether it agrees to the last bit.
    loss : float or None
        Largest relative difference of the losses; None if the step returns none.
    differences : tuple of str
        What differs by more than the tolerance: which, how many rows, by how much.
    note : str
        How the runs were made, if not as the program makes its steps.
    """

    same: bool
    exact: bool
    loss: float | None
    differences: tuple[str, ...]
    note: str = ""

    @property
    def words(self) -> str:
        """The comparison in words."""
        return f"{self._words()}{self.note}"

    def _words(self) -> str:
        if self.differences:
            others = len(self.differences) - NAMED
            return "; ".join(self.differences[:NAMED]) + (f"; and {counted(others, 'other difference')}" if others > 0 else "")
        if self.exact:
            return "to the last bit"
        if self.loss is None:
            return "weights within rounding"
        return f"losses within {self.loss:.0e}" if self.loss else "the same losses"


def identical(run: Run, other: Run) -> str:
    """What differs between two runs of one program, which should be the same to the bit; empty if nothing does."""
    answer = compare_answers(run, other, 0.0)
    return "" if answer.exact else answer.words if answer.differences else "losses differ"


def compare_answers(original: Run, fixed: Run, tolerance: float = TOLERANCE) -> Answer:
    """Compare the losses, weights and gradients of two runs.

    A loss may differ by ``tolerance`` of itself.  A row of a weight may differ by ``tolerance`` of what the original's steps
    changed in it, by ``CANCELLED`` of the largest change of the weight, and by the rounding of its element type in each step;
    so a row that the fix leaves alone and the original changes by more than rounding is always found.  A gradient may differ
    by ``tolerance`` of its largest value.

    Parameters
    ----------
    original, fixed : Run
    tolerance : float

    Returns
    -------
    Answer
    """
    loss, differences = _losses(original, fixed, tolerance)
    returned = any(original.losses)
    if not returned and not original.weights.keys() & fixed.weights.keys():
        differences.append("nothing is left that could be compared")
    for key, weight in original.weights.items():
        other = fixed.weights.get(key)
        if other is not None:
            differences += _weight(weight, other, original.start.get(key), tolerance, len(original.losses))
    return Answer(not differences, not differences and _equal(original, fixed), loss if returned else None,
                  tuple(differences))


def _losses(original: Run, fixed: Run, tolerance: float) -> tuple[float, list[str]]:
    largest = 0.0
    differences: list[str] = []
    counts = [len(run.losses) for run in (original, fixed)]
    if counts[0] != counts[1]:  # threads of a program that step when they like
        return np.inf, [f"{format_count(counts[0])} losses are computed in the one and {format_count(counts[1])} in the other"]
    for step, (expected, actual) in enumerate(zip(original.losses, fixed.losses, strict=True), 1):
        if [value.shape for value in expected] != [value.shape for value in actual]:
            return np.inf, [f"step {step} returns other shapes"]
        for first, second in zip(expected, actual, strict=True):
            apart = _apart(first, second)
            if not apart <= largest:
                largest = apart
            if not apart <= tolerance and not differences:
                differences.append(f"losses differ from step {step} on, there by a relative {apart:.0e}")
    return largest, differences


def _apart(first: Values, second: Values) -> float:
    """Largest difference of two arrays, by the largest value of the first; numbers that are not finite must be the same."""
    if not first.size:
        return 0.0
    expected, actual = first.astype(np.float64), second.astype(np.float64)
    finite = np.isfinite(expected)
    if not np.array_equal(expected[~finite], actual[~finite], equal_nan=True) or not np.isfinite(actual[finite]).all():
        return np.inf
    size = float(np.abs(expected[finite]).max(initial=0.0))
    apart = float(np.abs(expected[finite] - actual[finite]).max(initial=0.0))
    return apart / size if size else (np.inf if apart else 0.0)


def _weight(weight: Weight, other: Weight, start: Weight | None, tolerance: float, steps: int) -> list[str]:
    if weight.values.shape != other.values.shape:
        return [f"{weight.name} has shape {other.values.shape}, not {weight.values.shape}"]
    before = start.values if start is not None and start.values.shape == weight.values.shape else np.zeros_like(weight.values)
    differences = [text for text in [_rows(weight, other, before, tolerance, steps)] if text]
    if weight.gradient is not None and other.gradient is not None and not differences:
        apart = _apart(weight.gradient, other.gradient)
        if not apart <= tolerance:
            differences.append(f"the gradient of {weight.name} differs by a relative {apart:.0e}")
    return differences


def _rows(weight: Weight, other: Weight, before: Values, tolerance: float, steps: int) -> str:
    """What differs in the rows of a weight, in words; empty if nothing does beyond rounding."""
    first, second, began = (np.atleast_1d(values).astype(np.float64) for values in (weight.values, other.values, before))
    first, second, began = (values.reshape(len(values), -1) for values in (first, second, began))
    if not first.size or not np.issubdtype(weight.values.dtype, np.floating):
        return "" if np.array_equal(first, second) else f"{weight.name} differs"
    # A weight (units, inputs) whose columns the batch reaches is looked at by columns: they are what a fix may leave alone.
    if first.shape[1] > first.shape[0]:
        first, second, began = first.T, second.T, began.T
    apart, change = np.abs(first - second).max(axis=1), np.abs(first - began).max(axis=1)
    # Each step rounds a number once in each run, by half of its last place.
    rounding = max(2, steps) * np.finfo(weight.values.dtype).eps * np.abs(first).max(axis=1)
    allowed = tolerance * change + CANCELLED * float(change.max()) + rounding
    left = (np.abs(second - began).max(axis=1) == 0) & (apart > rounding)
    wrong = ~(apart <= allowed) | left
    if not wrong.any():
        return ""
    named = "columns" if weight.values.ndim > 1 and weight.values[0].size > len(weight.values) else "rows"
    text = (f"{format_count(int(wrong.sum()))} of {format_count(len(wrong))} {named} of {weight.name} differ, by at most "
            f"{np.nanmax(np.where(wrong, apart, 0)):.1e}, where the steps change the weight by at most {change.max():.1e}")
    alone = int(left.sum())
    return f"{text}; {'all' if alone == wrong.sum() else format_count(alone)} of them are unchanged" if alone else text


def _equal(original: Run, fixed: Run) -> bool:
    pairs = [pair for expected, actual in zip(original.losses, fixed.losses, strict=True)
             for pair in zip(expected, actual, strict=True)]
    for key, weight in original.weights.items():
        if key in fixed.weights:
            pairs.append((weight.values, fixed.weights[key].values))
    return all(np.array_equal(expected, actual, equal_nan=np.issubdtype(expected.dtype, np.inexact))
               for expected, actual in pairs)
