"""The kernel of an embedding's gradient."""

from __future__ import annotations

from .jit import kernel


@kernel
def sum_rows_grouped(data, starts, places, targets, out):
    """``out[targets[i]]`` = sum of the rows of data in group i: ``data[places[starts[i]:starts[i + 1]]]``.

    Groups as ``group_columns`` gives them, none empty, as many as targets; the other rows of out (rows, width) stay as they
    are.
    """
    for rank in range(targets.shape[0]):
        target, source = targets[rank], places[starts[rank]]
        for column in range(data.shape[1]):
            out[target, column] = data[source, column]
        for place in range(starts[rank] + 1, starts[rank + 1]):
            source = places[place]
            for column in range(data.shape[1]):
                out[target, column] += data[source, column]
