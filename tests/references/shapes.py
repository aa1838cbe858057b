"""Arrays made, moved, repeated, joined, split and described."""

import math

import numpy as np

from . import add as _add
from . import always, common, derivative, first


def add(name, value, **more):
    """What only moves values is exact."""
    _add(name, value, **{"exact": True, "dtype": first, **more})


def _typed(dtypes, attrs):
    return np.dtype(attrs["dtype_"])


def tuple_of(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


add("_full", lambda shape, value, dtype_: np.full(shape, value), dtype=_typed)
add("_arange", lambda start, stop, step, repeat, dtype_: np.repeat(
    np.arange(start, stop, step) if stop is not None else np.arange(start), repeat), dtype=_typed)
add("_linspace", lambda start, stop, num, endpoint, dtype_: np.linspace(start, stop, num, endpoint=endpoint), dtype=_typed)
add("_eye", lambda N, M, k, dtype_: np.eye(N, M or N, k), dtype=_typed)

# axes and sizes


def reshape(x, shape, reverse=False):
    """MXNet's codes: 0 keeps a size, -1 takes the rest, -2 all that follow, -3 multiplies two, -4 splits one in two."""
    sizes, codes, made = list(x.shape), list(tuple_of(shape)), []
    if reverse:
        return reshape(np.empty(x.shape[::-1]), tuple(codes[::-1])).shape[::-1]
    while codes:
        code = codes.pop(0)
        if code == 0:
            made.append(sizes.pop(0))
        elif code == -1:
            made.append(-1)
            sizes = sizes[1:]
        elif code == -2:
            made, sizes = made + sizes, []
        elif code == -3:
            made.append(sizes.pop(0) * sizes.pop(0))
        elif code == -4:
            whole, left, right = sizes.pop(0), codes.pop(0), codes.pop(0)
            made += [whole // right if left == -1 else left, whole // left if right == -1 else right]
        else:
            made.append(code)
            sizes = sizes[1:]
    return x.reshape(made)


def _reshape(x, shape, reverse, target_shape, keep_highest):
    if shape is None:
        sizes = [size or -1 for size in target_shape]
        return x.reshape([x.shape[0], *sizes[1:]] if keep_highest else sizes)
    return x.reshape(reshape(x, shape, True)) if reverse else reshape(x, shape)


def _reshape_like(x, like, lhs_begin, lhs_end, rhs_begin, rhs_end):
    ours, theirs = slice(lhs_begin, lhs_end).indices(x.ndim), slice(rhs_begin, rhs_end).indices(like.ndim)
    return x.reshape(x.shape[: ours[0]] + like.shape[theirs[0]: theirs[1]] + x.shape[ours[1]:])


add("_view", lambda x, shape: x.reshape(shape))
add("Reshape", _reshape)
add("reshape_like", _reshape_like)
add("_identity_with_attr_like_rhs", lambda x, like: x)
add("Flatten", lambda x: x.reshape(x.shape[0], -1))
add("transpose", lambda x, axes: np.transpose(x, tuple_of(axes) if axes not in ((), None) else None))
add("expand_dims", lambda x, axis: np.expand_dims(x, axis))
add("SwapAxis", lambda x, dim1, dim2: np.swapaxes(x, dim1, dim2))
add("squeeze", lambda x, axis: np.squeeze(x, axis if axis is None else tuple_of(axis)).reshape(
    np.squeeze(x, axis if axis is None else tuple_of(axis)).shape or (1,)))
add("reverse", lambda x, axis: np.flip(x, axis))
add("broadcast_to", lambda x, shape: np.broadcast_to(x, tuple(
    size or old for size, old in zip(shape, (1,) * (len(shape) - x.ndim) + x.shape, strict=True))))


def _broadcast_axis(x, axis, size):
    shape = list(x.shape)
    for place, wanted in zip(tuple_of(axis), tuple_of(size), strict=True):
        shape[place] = wanted
    return np.broadcast_to(x, shape)


def _broadcast_like(x, like, lhs_axes, rhs_axes):
    if lhs_axes is None:
        return np.broadcast_to(x, like.shape)
    return _broadcast_axis(x, lhs_axes, tuple(like.shape[axis] for axis in tuple_of(rhs_axes)))


def _slice_like(x, like, axes):
    chosen = range(x.ndim) if axes in ((), None) else [axis % x.ndim for axis in tuple_of(axes)]
    return x[tuple(slice(0, like.shape[axis] if axis in chosen else None) for axis in range(x.ndim))]


add("broadcast_axis", _broadcast_axis)
add("broadcast_like", _broadcast_like)
add("slice_like", _slice_like)
add("diag", lambda x, k, axis1, axis2: np.diag(x, k) if x.ndim == 1 else np.diagonal(x, k, axis1, axis2))


def _on_diagonal(x, k, axis1, axis2, shape):
    made = np.zeros(shape, x.dtype)
    places = np.diagonal(np.arange(math.prod(shape)).reshape(shape), k, axis1, axis2)
    made.reshape(-1)[places] = x
    return made


add("_on_diagonal", _on_diagonal)


def _space_to_depth(x, block_size):
    batch, depth, height, width = x.shape
    made = np.empty((batch, depth * block_size**2, height // block_size, width // block_size), x.dtype)
    for row in range(block_size):
        for column in range(block_size):
            first_channel = (row * block_size + column) * depth
            made[:, first_channel: first_channel + depth] = x[:, :, row::block_size, column::block_size]
    return made


def _depth_to_space(x, block_size):
    batch, depth, height, width = x.shape
    depth //= block_size**2
    made = np.empty((batch, depth, height * block_size, width * block_size), x.dtype)
    for row in range(block_size):
        for column in range(block_size):
            first_channel = (row * block_size + column) * depth
            made[:, :, row::block_size, column::block_size] = x[:, first_channel: first_channel + depth]
    return made


add("space_to_depth", _space_to_depth)
add("depth_to_space", _depth_to_space)
add("tile", lambda x, reps: np.tile(x, reps))
add("repeat", lambda x, repeats, axis: np.repeat(x, repeats, axis))


def _pad(x, mode, pad_width, constant_value=0.0):
    widths = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    return np.pad(x, widths, mode, **({"constant_values": constant_value} if mode == "constant" else {}))


add("Pad", _pad)
_add("_unpad", lambda g, mode, pad_width, shape: derivative(lambda x: _pad(x, mode, pad_width), [np.zeros(shape)], 0, g, 1.0))

# joined and split

add("concat", lambda *arrays, dim, num_args: np.concatenate(arrays, dim), dtype=common)
add("stack", lambda *arrays, axis, num_args: np.stack(arrays, axis), dtype=common)


def _parts(parts, axis, squeeze_axis):
    made = [part.squeeze(axis) if squeeze_axis else part for part in parts]
    return made if len(made) > 1 else made[0]


add("SliceChannel", lambda x, num_outputs, axis, squeeze_axis: _parts(np.split(x, num_outputs, axis), axis, squeeze_axis))
add("_split_v2", lambda x, indices, axis, squeeze_axis, sections: _parts(
    np.split(x, sections or list(indices[1:]), axis), axis, squeeze_axis))


def _unsplit(*parts, shape, axis, bounds):
    made = np.zeros(shape, parts[0].dtype)
    for part, (low, high) in zip(parts, bounds, strict=True):
        np.moveaxis(made, axis, 0)[low:high] = np.moveaxis(part, axis, 0)
    return made


add("_unsplit", _unsplit, dtype=common)

# what an array is like

add("shape_array", lambda x: np.array(x.shape), dtype=always("int64"))
add("size_array", lambda x: np.array([x.size]), dtype=always("int64"))


def _arange_like(x, start, step, repeat, ctx, axis):
    count = x.size if axis is None else x.shape[axis]
    made = np.array([start + step * (place // repeat) for place in range(count)])
    return made.reshape(x.shape) if axis is None else made


add("_contrib_arange_like", _arange_like)
add("_contrib_index_array", lambda x, axes: np.stack(
    [np.indices(x.shape)[axis] for axis in (range(x.ndim) if axes is None else tuple_of(axes))], -1), dtype=always("int64"))
_add("_contrib_allclose", lambda a, b, rtol, atol, equal_nan: np.allclose(a, b, rtol, atol, equal_nan),
     dtype=always("uint8"), scalar=True)


def _widest(dtypes, attrs):
    floats = sorted((np.dtype(kind) for kind in dtypes if np.dtype(kind).kind == "f"), key=lambda kind: kind.itemsize)
    chosen = floats and floats[0 if attrs["cast_narrow"] else -1]
    return [chosen if np.dtype(kind).kind == "f" else kind for kind in dtypes]


_add("amp_multicast", lambda *arrays, num_outputs, cast_narrow: list(arrays), dtype=_widest)
