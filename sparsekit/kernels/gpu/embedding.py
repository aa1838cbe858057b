"""The kernel of an embedding's gradient; the device functions are in ``grouped.cu``."""

from __future__ import annotations

from .grouped import sum_groups


def sum_rows_grouped(data, starts, places, targets, out):
    """``out[targets[i]]`` = sum of the rows of data in group i: ``data[places[starts[i]:starts[i + 1]]]``.

    Groups as ``group_columns`` gives them, none empty; the other rows of out (rows, width) stay as they are.
    """
    sum_groups(data, (targets, starts, places), out, data.shape[1], False)
