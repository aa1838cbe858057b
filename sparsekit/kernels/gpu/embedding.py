"""The kernel of an embedding's gradient; the device function is in ``embedding.cu``."""

from __future__ import annotations

from .launch import Kernel

__all__ = ["sum_rows_grouped"]

_sum_grouped = Kernel("sum_grouped", "data place place place data* count count")


def sum_rows_grouped(data, starts, places, targets, out):
    """``out[targets[i]]`` = sum of the rows of data in group i: ``data[places[starts[i]:starts[i + 1]]]``.

    Groups as ``group_columns`` gives them, none empty; the other rows of out (rows, width) stay as they are.
    """
    groups, width = starts.shape[0] - 1, data.shape[1]
    _sum_grouped(groups * width, data, starts, places, targets, out, groups, width)
