"""Sums, extremes, norms, orders and counts."""

import math

import numpy as np

from . import FLOATS, add, always, first
from .shapes import tuple_of


def axes_of(x, axis, exclude=False):
    if axis is None or axis == ():
        return tuple(range(x.ndim))
    chosen = {one % x.ndim for one in tuple_of(axis)}
    return tuple(one for one in range(x.ndim) if (one in chosen) != exclude)


def reduced(function):
    return lambda x, axis, keepdims, exclude=False: function(x, axis=axes_of(x, axis, exclude), keepdims=keepdims)


def _mean(x, axis, keepdims):
    return np.sum(x, axis=axis, keepdims=keepdims) / math.prod(x.shape[one] for one in axis)


for _name, _function in {"sum": np.sum, "mean": _mean, "prod": np.prod, "nansum": np.nansum, "nanprod": np.nanprod, "max": np.max,
                         "min": np.min,
                         "_square_sum": lambda x, axis, keepdims: np.sum(x * x, axis=axis, keepdims=keepdims)}.items():
    add(_name, reduced(_function))


def _norm(x, ord, axis, out_dtype, keepdims):
    size = np.abs(x) if ord == 1 else x * x
    made = np.sum(size, axis=axes_of(x, axis), keepdims=keepdims)
    return made if ord == 1 else np.sqrt(made)


add("norm", _norm, dtype=lambda dtypes, attrs: np.dtype(attrs["out_dtype"] or dtypes[0]))


def _others(x, axes):
    made = np.empty_like(x)
    for spot in np.ndindex(x.shape):
        line = x.copy()
        line[spot] = 1
        made[spot] = np.prod(line[tuple(slice(None) if axis in axes else spot[axis] for axis in range(x.ndim))])
    return made


add("_others", _others)
add("_others_along", lambda x, direction, axes: _others(x + 1e-20j * direction, axes).imag / 1e-20)
add("_spread", lambda x, kept, shape, factor: np.broadcast_to(x.reshape(kept), shape) * factor)


def _sum_to(x, shape):
    axes = [axis for axis in range(x.ndim) if axis < x.ndim - len(shape) or shape[axis - x.ndim] == 1]
    return np.sum(x, axis=tuple(axes), keepdims=True).reshape(shape)


add("_sum_to", _sum_to)


def _moments(x, axes, keepdims):
    """Of integers, the mean is cut to an integer before differences from it are taken, as in MXNet."""
    axes, wide = axes_of(x, axes), x.astype(np.float64)
    mean = np.mean(wide, axis=axes, keepdims=True)
    mean = mean if x.dtype.kind == "f" else np.trunc(mean)
    variance = np.mean((wide - mean) ** 2, axis=axes, keepdims=True)
    return [one if keepdims else one.squeeze(axes) for one in (mean, variance)]


add("moments", _moments, exact=True)
add("cumsum", lambda x, axis, dtype: np.cumsum(x, axis), dtype=lambda dtypes, attrs: np.dtype(attrs["dtype"] or dtypes[0]))

# orders


def _along(x, axis):
    return (x.reshape(-1), 0) if axis is None else (x, axis)


def _order(x, axis, ascending):
    return np.argsort(x if ascending else -x, axis=axis, kind="stable")


def _sorted(x, axis, is_ascend):
    x, axis = _along(x, axis)
    return np.take_along_axis(x, _order(x, axis, is_ascend), axis)


add("sort", _sorted)
add("argsort", lambda x, axis, is_ascend, dtype: _order(*_along(x, axis), is_ascend),
    dtype=lambda dtypes, attrs: np.dtype(attrs["dtype"]))


def _top(x, axis, k, ret_typ, is_ascend, dtype):
    line, along = _along(x, axis)
    found = np.take(_order(line, along, is_ascend), range(k if k > 0 else line.shape[along]), along)
    if ret_typ == "mask":
        made = np.zeros(line.shape)
        np.put_along_axis(made, found, 1, along)
        return made.reshape(x.shape)
    values = np.take_along_axis(line, found, along)
    return {"indices": found, "value": values, "both": [values, found]}[ret_typ]


def _top_types(dtypes, attrs):
    places = np.dtype(attrs["dtype"])
    return {"indices": places, "value": dtypes[0], "mask": dtypes[0], "both": [dtypes[0], places]}[attrs["ret_typ"]]


add("topk", _top, dtype=_top_types)
for _name, _function in {"argmax": np.argmax, "argmin": np.argmin}.items():
    add(_name, lambda x, axis, keepdims, function=_function: function(x, axis=axis, keepdims=keepdims))
add("argmax_channel", lambda x: np.argmax(x, axis=1) if x.ndim > 1 else np.argmax(x))


def _put_along(x, places, axis, shape):
    made = np.zeros(shape)
    np.put_along_axis(made, places.astype(int), x, axis)
    return made


add("_put_along", _put_along, dtype=first)
add("_take_along", lambda x, places, axis: np.take_along_axis(x, places.astype(int), axis), dtype=first)


def _histogram(x, *bins, bin_cnt, range):
    return list(np.histogram(x, bins[0] if bins else bin_cnt, range))


add("_histogram", _histogram, dtype=lambda dtypes, attrs: [np.dtype(np.int64), dtypes[-1]],
    types=(*FLOATS, "int8", "int32", "int64"))
add("_contrib_getnnz", lambda x, axis: np.sum(x != 0, axis=axis), dtype=always("int64"))
