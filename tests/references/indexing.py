"""Elements, rows and parts of arrays, chosen and put back."""

import numpy as np

from . import add as _add
from . import always, first
from .shapes import tuple_of


def add(name, value, **more):
    """What is chosen has the type of the array that it is chosen from; numbers of places come as floats."""
    _add(name, value, **{"dtype": first, **more})


def places(index, size, mode="clip"):
    """Positions along an axis: a fraction is cut off, and what lies outside is clipped or wrapped."""
    whole = np.trunc(index).astype(np.int64)
    return whole % size if mode == "wrap" else np.clip(whole, 0, size - 1)


def _decoded(key, arrays=()):
    """An index as numpy takes it; ``("slice", …)`` and ``("array", n)`` stand for slices and index arrays."""
    made = []
    for one in tuple_of(key):
        if isinstance(one, tuple) and one[0] == "slice":
            made.append(slice(*one[1:]))
        elif isinstance(one, tuple) and one[0] == "array":
            made.append(arrays[one[1]])
        else:
            made.append(Ellipsis if one == "..." else one)
    return tuple(made)


def _added(shape, key, x):
    made = np.zeros(shape, x.dtype)
    np.add.at(made, key, x)
    return made


def _whole(array):
    return list(array.astype(np.int64))


add("_getitem", lambda x, key: x[_decoded(key)])
add("_setitem_zeros", lambda x, key, shape: _added(shape, _decoded(key), x))
add("_index", lambda x, places, key: x[_decoded(key, _whole(places))])
add("_index_add", lambda x, places, key, shape: _added(shape, _decoded(key, _whole(places)), x))
add("gather_nd", lambda x, indices: x[tuple(_whole(indices))])


def _named(shape, index, axis):
    return (slice(None),) * (axis % len(shape)) + (index != 0,)


add("_contrib_boolean_mask", lambda x, index, axis: x[_named(x.shape, index, axis)])
add("_boolean_mask_backward", lambda x, index, axis, shape: _added(shape, _named(shape, index, axis), x))


def _scattered(x, indices, shape, onto=None):
    made = np.zeros(shape) if onto is None else onto.copy()
    made[tuple(_whole(indices))] = x
    return made


add("scatter_nd", _scattered)
add("_backward_gather_nd", lambda x, indices, shape: _added(shape, tuple(_whole(indices)), x))
add("_scatter_set_nd", lambda x, values, indices, shape: _scattered(values, indices, None, x))
add("batch_take", lambda x, indices: np.array([row[place] for row, place in zip(
    x, places(indices.reshape(-1), x.shape[1]), strict=True)]))


def _fill(x, values, indices):
    made = x.copy()
    for row, (value, place) in enumerate(zip(values, indices.astype(int), strict=True)):
        made[row, place] = value
    return made


add("fill_element_0index", _fill)


def _one_hot(indices, depth, on_value, off_value, dtype):
    made = np.full((*indices.shape, depth), off_value, np.float64)
    for spot in np.ndindex(indices.shape):
        if 0 <= int(indices[spot]) < depth and indices[spot] > -1:
            made[(*spot, int(indices[spot]))] = on_value
    return made


add("one_hot", _one_hot, dtype=lambda dtypes, attrs: np.dtype(attrs["dtype"]), gradient=lambda g, indices, **attrs: [None])
add("ravel_multi_index", lambda x, shape: np.ravel_multi_index(tuple(_whole(x)), shape))
add("unravel_index", lambda x, shape: np.array(np.unravel_index(x.astype(int), shape)))


def _index_copy(old, index, new):
    made = old.copy()
    for place, row in zip(index.astype(int), new, strict=True):
        made[place] = row
    return made


add("_contrib_index_copy", _index_copy)


def box(begin, end, step, ndim):
    steps = tuple(step) + (None,) * (len(begin) - len(tuple(step)))
    return tuple(slice(*one) for one in zip(begin, end, steps, strict=True))


def _assigned(x, value, begin, end, step):
    made = x.copy()
    made[box(begin, end, step, x.ndim)] = value
    return made


add("slice", lambda x, begin, end, step: x[box(begin, end, step, x.ndim)])
add("_slice_backward", lambda g, shape, begin, end, step: _assigned(np.zeros(shape), g, begin, end, step))
add("_slice_assign", _assigned)
add("_slice_assign_scalar", lambda x, scalar, begin, end, step: _assigned(x, scalar, begin, end, step))
add("slice_axis", lambda x, axis, begin, end: np.take(x, range(*slice(begin, end).indices(x.shape[axis])), axis))
add("take", lambda x, indices, axis, mode: np.take(x, places(indices, x.shape[axis], mode), axis))


def _take_backward(g, indices, shape, axis, mode, sparse=False):
    made = np.zeros(shape)
    lines, lead = np.moveaxis(made, axis, 0), axis % len(shape)
    given = np.moveaxis(g, range(lead, lead + indices.ndim), range(indices.ndim)).reshape(-1, *lines.shape[1:])
    for place, value in zip(places(indices, shape[axis], mode).reshape(-1), given, strict=True):
        lines[place] += value
    return made


add("_take_backward", _take_backward)
add("pick", lambda x, index, axis, keepdims, mode: _picked(x, index, axis, keepdims, mode))


def _picked(x, index, axis, keepdims, mode):
    at = np.expand_dims(index, axis) if index.ndim < x.ndim else index
    made = np.take_along_axis(x, places(at, x.shape[axis], mode), axis)
    made = made if keepdims else made.squeeze(axis)
    return made.reshape(made.shape or (1,))


def _pick_backward(g, index, axis, mode, shape):
    made = np.zeros(shape)
    at = np.expand_dims(index.reshape(g.shape), axis) if g.ndim < len(shape) else index
    np.put_along_axis(made, places(at, shape[axis], mode), g.reshape(at.shape), axis)
    return made


add("_pick_backward", _pick_backward)
add("_values_at", lambda x, rows, columns: x[rows.astype(int), columns.astype(int)])
add("_place_values", lambda x, rows, columns, shape, stype: _added(shape, (rows.astype(int), columns.astype(int)), x))


def _retained(x, indices):
    kept = np.isin(np.arange(len(x)), np.trunc(indices))
    return np.where(kept.reshape(-1, *[1] * (x.ndim - 1)), x, 0)


add("_sparse_retain", _retained)
for _name in ("Embedding", "_contrib_SparseEmbedding"):
    add(_name, lambda data, weight, **attrs: weight[places(data, len(weight))], dtype=lambda dtypes, attrs: np.dtype(dtypes[1]))
add("_embedding_backward", lambda g, data, shape, sparse: _take_backward(g, data, shape, 0, "clip"))
add("_shuffle_backward", lambda g, order: _index_copy(np.zeros_like(g), order, g))

# sequences, whose time runs along ``axis``


def _lengths(x, sequence_length, axis):
    steps, batch = x.shape[axis], x.shape[1 - axis]
    found = [steps] * batch if not sequence_length else np.trunc(sequence_length[0]).astype(int)
    return np.clip(found, 0, steps)


def _by_time(function):
    """A function of (time, batch, …) and lengths, on arrays whose time runs along ``axis``."""

    def value(x, *sequence_length, use_sequence_length, axis, **attrs):
        lengths = _lengths(x, sequence_length, axis)
        made = function(x if axis == 0 else x.swapaxes(0, 1), lengths, **attrs)
        return made if axis == 0 or made.ndim < x.ndim else made.swapaxes(0, 1)

    return value


def _mask(x, lengths, value):
    made = x.copy()
    for sample, length in enumerate(lengths):
        made[length:, sample] = value
    return made


def _reversed(x, lengths):
    made = x.copy()
    for sample, length in enumerate(lengths):
        made[:length, sample] = x[:length, sample][::-1]
    return made


def _last(x, lengths):
    return np.array([x[max(length - 1, 0), sample] for sample, length in enumerate(lengths)])


def _last_backward(g, *sequence_length, use_sequence_length, axis, shape):
    made = np.zeros(shape)
    for sample, length in enumerate(_lengths(made, sequence_length, axis)):
        at = max(length - 1, 0)
        made[(at, sample) if axis == 0 else (sample, at)] = g[sample]
    return made


add("SequenceMask", _by_time(_mask))
add("SequenceReverse", _by_time(_reversed))
add("SequenceLast", _by_time(_last))
add("_sequence_last_backward", _last_backward)
_add("all_finite", lambda x, init_output: np.array([np.isfinite(x).all()]), dtype=always("float32"))
_add("multi_all_finite", lambda *arrays, num_arrays, init_output: np.array([all(np.isfinite(x).all() for x in arrays)]),
     dtype=always("float32"))
