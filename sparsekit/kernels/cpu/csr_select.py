"""Kernels that read or rearrange a CSR matrix: elements, rows, columns, the transpose, two matrices place by place."""

from __future__ import annotations

import numpy as np

from .jit import kernel


@kernel
def csr_values_at(data, indices, indptr, rows, columns, out):
    """The elements at (rows[i], columns[i]) into out, already cleared, by bisection."""
    for place in range(rows.shape[0]):
        low, high, column = indptr[rows[place]], indptr[rows[place] + 1], columns[place]
        end = high
        while low < high:
            middle = (low + high) >> 1
            if indices[middle] < column:
                low = middle + 1
            else:
                high = middle
        if low < end and indices[low] == column:
            out[place] = data[low]


@kernel
def csr_transpose(data, indices, indptr, out, out_indices, out_indptr):
    """The transpose by counting; out_indptr (columns + 1,) already cleared."""
    columns = out_indptr.shape[0] - 1
    for place in range(indices.shape[0]):
        out_indptr[np.uint64(indices[place]) + np.uint64(1)] += 1
    for number in range(columns):
        out_indptr[number + 1] += out_indptr[number]
    for row in range(indptr.shape[0] - 1):
        for place in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            column = np.uint64(indices[place])
            target = np.uint64(out_indptr[column])
            out[target], out_indices[target] = data[place], row
            out_indptr[column] += 1
    for number in range(columns, 0, -1):
        out_indptr[number] = out_indptr[number - 1]
    out_indptr[0] = 0


@kernel
def csr_union(data, indices, indptr, right_data, right_indices, right_indptr, out, right_out, out_indices, out_indptr):
    """The places that either matrix stores, with the value of each there, 0 where it has none; returns how many.

    Without a branch on which side comes first, which no processor could foresee.
    """
    count, zero, right_zero = 0, out.dtype.type(0), right_out.dtype.type(0)
    out_indptr[0] = 0
    for row in range(indptr.shape[0] - 1):
        left, right = indptr[row], right_indptr[row]
        left_end, right_end = indptr[row + 1], right_indptr[row + 1]
        while left < left_end and right < right_end:
            column, other = indices[left], right_indices[right]
            out_indices[count] = min(column, other)
            out[count] = data[left] if column <= other else zero
            right_out[count] = right_data[right] if other <= column else right_zero
            left += column <= other
            right += other <= column
            count += 1
        for place in range(left, left_end):
            out_indices[count], out[count], right_out[count] = indices[place], data[place], right_zero
            count += 1
        for place in range(right, right_end):
            out_indices[count], out[count], right_out[count] = right_indices[place], zero, right_data[place]
            count += 1
        out_indptr[row + 1] = count
    return count


@kernel
def csr_copy_rows(data, indices, starts, out_indptr, shift, out, out_indices):
    """The values from ``starts[row]`` on into ``out_indptr[row]:out_indptr[row + 1]``, ``shift`` added to their columns."""
    for row in range(starts.shape[0]):
        first, target = np.uint64(starts[row]), np.uint64(out_indptr[row])
        for place in range(np.uint64(out_indptr[row + 1]) - target):
            out[target + place] = data[first + place]
            out_indices[target + place] = indices[first + place] + shift


@kernel
def csr_put_rows(data, indices, indptr, shift, targets, out, out_indices):
    """Each row behind what its row of out holds already, ``shift`` added to its columns; moves ``targets`` on."""
    for row in range(targets.shape[0]):
        first, target = np.uint64(indptr[row]), np.uint64(targets[row])
        count = np.uint64(indptr[row + 1]) - first
        for place in range(count):
            out[target + place] = data[first + place]
            out_indices[target + place] = indices[first + place] + shift
        targets[row] += indptr[row + 1] - indptr[row]


@kernel
def csr_column_bounds(indices, indptr, low, high, starts, ends):
    """Where the columns from ``low`` up to, not including, ``high`` start and end in each row, by bisection."""
    for row in range(starts.shape[0]):
        first, last = indptr[row], indptr[row + 1]
        starts[row] = first + np.searchsorted(indices[first:last], low)
        ends[row] = first + np.searchsorted(indices[first:last], high)


@kernel
def csr_column_steps(data, indices, starts, ends, low, step, out, out_indices, out_indptr):
    """Of the stored values between starts and ends those in every ``step``-th column from ``low``; returns how many."""
    count = 0
    out_indptr[0] = 0
    for row in range(starts.shape[0]):
        for place in range(starts[row], ends[row]):
            moved = indices[place] - low
            rank = moved // step
            out[count], out_indices[count] = data[place], rank
            count += rank * step == moved
        out_indptr[row + 1] = count
    return count


@kernel
def csr_count_columns(indices, indptr, offsets, out_indptr):
    """Where each row starts when column j is taken ``offsets[j + 1] - offsets[j]`` times."""
    count = 0
    out_indptr[0] = 0
    for row in range(indptr.shape[0] - 1):
        for place in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            column = np.uint64(indices[place])
            count += offsets[column + np.uint64(1)] - offsets[column]
        out_indptr[row + 1] = count


@kernel
def _sort_row(values, columns):
    """Shell's sort, which is insertion for a short row; numba takes seconds to compile numpy's."""
    count, gap = columns.shape[0], 1
    while 3 * gap < count:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(gap, count):
            column, value, target = columns[place], values[place], place
            while target >= gap and columns[target - gap] > column:
                columns[target], values[target] = columns[target - gap], values[target - gap]
                target -= gap
            columns[target], values[target] = column, value
        gap //= 3


@kernel
def csr_take_columns(data, indices, indptr, offsets, targets, ascending, out, out_indices, out_indptr):
    """Column j goes to the columns ``targets[offsets[j]:offsets[j + 1]]``; rows are sorted unless targets ascend."""
    count = 0
    for row in range(indptr.shape[0] - 1):
        for place in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            column = np.uint64(indices[place])
            for rank in range(offsets[column], offsets[column + np.uint64(1)]):
                out[count], out_indices[count] = data[place], targets[rank]
                count += 1
        if not ascending:
            _sort_row(out[out_indptr[row]: count], out_indices[out_indptr[row]: count])


@kernel
def csr_reshape(indices, indptr, columns, out_columns, out_indices, out_indptr):
    """Columns and row starts of the same elements in rows of ``out_columns``; only additions, for places ascend."""
    target, start, base = 0, 0, 0
    out_indptr[0] = 0
    for row in range(indptr.shape[0] - 1):
        for place in range(indptr[row], indptr[row + 1]):
            at = base + indices[place]
            if at - start >= out_columns:
                for passed in range(target + 1, at // out_columns + 1):
                    out_indptr[passed] = place
                target = at // out_columns
                start = target * out_columns
            out_indices[place] = at - start
        base += columns
    for passed in range(target + 1, out_indptr.shape[0]):
        out_indptr[passed] = indices.shape[0]


@kernel
def _chosen(truth, indices, values, columns, wanted, out, out_columns):
    """The values in the columns of one row where ``truth`` says so, or where it does not; returns how many.

    Each step writes, and moves on only if that is kept: no processor could foresee the branch.
    """
    count, place, other = 0, 0, 0
    while place < columns.shape[0] and other < indices.shape[0]:
        column, asked = columns[place], indices[other]
        out[count], out_columns[count] = values[place], column
        true = (column == asked) & (truth[other] != 0)
        count += (column <= asked) & (true == wanted) & ((column == asked) | (not wanted))
        place += column <= asked
        other += asked < column
    while place < columns.shape[0] and not wanted:
        out[count], out_columns[count] = values[place], columns[place]
        count += 1
        place += 1
    return count


@kernel
def _merged(left, left_columns, right, right_columns, out, out_columns):
    """The values of one row from two that share no column."""
    first, second, count = 0, 0, 0
    while first < left.shape[0] and second < right.shape[0]:
        column, other = left_columns[first], right_columns[second]
        out_columns[count] = min(column, other)
        out[count] = left[first] if column < other else right[second]
        first += column < other
        second += other < column
        count += 1
    for place in range(first, left.shape[0]):
        out[count], out_columns[count] = left[place], left_columns[place]
        count += 1
    for place in range(second, right.shape[0]):
        out[count], out_columns[count] = right[place], right_columns[place]
        count += 1


@kernel
def csr_where(data, indices, indptr, left_data, left_indices, left_indptr, right_data, right_indices, right_indptr,
              out, out_indices, out_indptr):
    """What left stores where the first matrix is not zero, what right stores elsewhere; returns the stored count."""
    left, left_columns = np.empty_like(left_data), np.empty_like(left_indices)
    right, right_columns = np.empty_like(right_data), np.empty_like(right_indices)
    count = 0
    out_indptr[0] = 0
    for row in range(indptr.shape[0] - 1):
        truth, columns = data[indptr[row]:indptr[row + 1]], indices[indptr[row]:indptr[row + 1]]
        start, end = left_indptr[row], left_indptr[row + 1]
        first = _chosen(truth, columns, left_data[start:end], left_indices[start:end], True, left, left_columns)
        start, end = right_indptr[row], right_indptr[row + 1]
        second = _chosen(truth, columns, right_data[start:end], right_indices[start:end], False, right, right_columns)
        _merged(left[:first], left_columns[:first], right[:second], right_columns[:second], out[count:], out_indices[count:])
        count += first + second
        out_indptr[row + 1] = count
    return count


@kernel
def csr_argmax(data, indices, indptr, columns, largest, out):
    """Column of the largest or smallest element of each row, absent zeros among them; of equal ones the first, nan first."""
    for row in range(indptr.shape[0] - 1):
        place, end = indptr[row], indptr[row + 1]
        best_column, best, absent = np.int64(-1), data.dtype.type(0), np.int64(0)
        while place < end:
            value, column = data[place], indices[place]
            if absent == column:
                absent += 1
            if value != value:
                best_column, best = column, value
                break
            if best_column < 0 or (value > best if largest else value < best):
                best_column, best = column, value
            place += 1
        zero = data.dtype.type(0)
        if best == best and absent < columns and (best_column < 0 or (best < zero if largest else best > zero)
                                                  or (best == zero and absent < best_column)):
            best_column = absent
        out[row] = best_column
