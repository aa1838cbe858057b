"""Products of matrices, factorizations and triangles."""

import numpy as np
import scipy.linalg as linalg

from . import add, derivative, first


def turned(x, really):
    return np.swapaxes(x, -1, -2) if really else x


def dot(x, y, transpose_a, transpose_b, forward_stype=None):
    """The sum over the last axis of x and the first of y; over the first of x, the last of y, where they are turned."""
    return np.tensordot(x, y, ([0 if transpose_a else x.ndim - 1], [y.ndim - 1 if transpose_b else 0]))


add("dot", dot)
add("_dot_left_gradient", lambda g, x, y, **attrs: derivative(
    lambda x, y: dot(x, y, **attrs), [x, y], 0, g.reshape(dot(x, y, **attrs).shape), 1.0),
    dtype=lambda dtypes, attrs: np.result_type(dtypes[0], dtypes[2]))
add("_dot_right_gradient", lambda g, x, y, **attrs: derivative(
    lambda x, y: dot(x, y, **attrs), [x, y], 1, g.reshape(dot(x, y, **attrs).shape), 1.0),
    dtype=lambda dtypes, attrs: np.result_type(dtypes[0], dtypes[1]))
add("batch_dot", lambda x, y, transpose_a, transpose_b, forward_stype: turned(x, transpose_a) @ turned(y, transpose_b))


def _gemm2(a, b, transpose_a, transpose_b, alpha, axis):
    a, b = (np.moveaxis(one, axis, -2) for one in (a, b))
    return np.moveaxis(alpha * turned(a, transpose_a) @ turned(b, transpose_b), -2, axis)


add("_linalg_gemm2", _gemm2)
add("_linalg_gemm", lambda a, b, c, beta, **attrs: _gemm2(a, b, **attrs) + beta * c)
add("_linalg_syrk", lambda a, transpose, alpha: alpha * turned(a, transpose) @ turned(a, not transpose))
add("khatri_rao", lambda *arrays: np.stack([
    _kron([array[:, column] for array in arrays]) for column in range(arrays[0].shape[1])], 1))


def _kron(vectors):
    made = vectors[0]
    for vector in vectors[1:]:
        made = np.kron(made, vector)
    return made


def each(function):
    """A function of a matrix, of each of the matrices."""

    def value(*arrays, **attrs):
        lead = arrays[0].shape[:-2]
        made = [function(*(array[spot] for array in arrays), **attrs) for spot in np.ndindex(lead)]
        several = isinstance(made[0], tuple)
        columns = zip(*made, strict=True) if several else [made]
        found = [np.array(column).reshape((*lead, *np.shape(column[0]))) for column in columns]
        return found if several else found[0]

    return value


def _even(a):
    return (a + a.T) / 2


def _triangle_of(a, transpose, lower):
    return turned(np.tril(a) if lower else np.triu(a), transpose)


def _gelqf(a):
    """L has a diagonal of any signs: that of Householder's reflections, as LAPACK makes them."""
    q, r = linalg.qr(a.T, mode="economic")
    return q.T, r.T


def _syevd(a):
    values, vectors = linalg.eigh(_even(a))
    vectors = vectors.T
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(1)[:, None], 1)
    return vectors * np.sign(largest), values


add("_linalg_potrf", each(lambda a, lower: linalg.cholesky(_even(a), lower=lower)))
add("_linalg_potri", each(lambda a, lower: linalg.inv(np.tril(a) @ np.tril(a).T if lower else np.triu(a).T @ np.triu(a))))
add("_linalg_trmm", each(lambda a, b, transpose, rightside, lower, alpha: alpha * (
    b @ _triangle_of(a, transpose, lower) if rightside else _triangle_of(a, transpose, lower) @ b)))
add("_linalg_trsm", each(lambda a, b, transpose, rightside, lower, alpha: alpha * (
    linalg.solve(_triangle_of(a, not transpose, lower), b.T).T if rightside
    else linalg.solve(_triangle_of(a, transpose, lower), b))))
add("_linalg_inverse", each(linalg.inv))
add("_linalg_det", each(linalg.det))
add("_linalg_slogdet", each(lambda a: (np.sign(linalg.det(a)), np.log(np.abs(linalg.det(a))))))
add("_linalg_gelqf", each(_gelqf))
add("_linalg_syevd", each(_syevd))
add("_linalg_sumlogdiag", each(lambda a: np.log(np.diag(a)).sum()))
add("_linalg_extractdiag", each(lambda a, offset: np.diag(a, offset)))
add("_linalg_makediag", lambda a, offset: np.array([
    np.diag(row, offset) for row in a.reshape(-1, a.shape[-1])]).reshape(*a.shape[:-1], *[a.shape[-1] + abs(offset)] * 2))


def _triangle_places(size, offset, lower):
    """Of a lower triangle row by row, of an upper one column by column, as MXNet numbers them."""
    if offset > 0 or (offset == 0 and not lower):
        return np.tril_indices(size, -offset)[::-1]
    return np.tril_indices(size, offset)


add("_linalg_extracttrian", each(lambda a, offset, lower: a[_triangle_places(len(a), offset, lower)]))


def _maketrian(a, offset, lower):
    size = next(size for size in range(1, 100) if len(_triangle_places(size, offset, lower)[0]) == a.shape[-1])
    made = np.zeros((*a.shape[:-1], size, size))
    made[(..., *_triangle_places(size, offset, lower))] = a
    return made


add("_linalg_maketrian", _maketrian)
add("_triangle", lambda a, lower: np.tril(a) if lower else np.triu(a))
add("_mirrored", lambda a: np.tril(a) + turned(np.tril(a, -1), True))


def _apart(values):
    gap = values[..., :, None] - values[..., None, :]
    return np.where(gap == 0, 0, 1 / np.where(gap == 0, 1, gap))


add("_apart", _apart)


def _dense(x, weight, *bias, num_hidden, no_bias, flatten):
    made = (x.reshape(len(x), -1) if flatten else x) @ weight.T
    return made + bias[0].reshape(-1) if bias else made


add("FullyConnected", _dense)


def _crop(x, *like, offset, h_w, center_crop, num_args):
    height, width = like[0].shape[2:] if like else h_w
    top, left = ((x.shape[2] - height) // 2, (x.shape[3] - width) // 2) if center_crop else offset
    return x[:, :, top: top + height, left: left + width]


add("Crop", _crop, dtype=first)
