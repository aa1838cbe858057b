"""Kernels whose first operand is a dense array."""

from __future__ import annotations

from .jit import in_threads, kernel

__all__ = ["dense_dot_csr", "dense_dot_csr_transposed", "dense_sgd_momentum_update", "dense_sgd_update"]

#: Elements that one thread should have at least, before a second is worth waking.
GRAIN = 1 << 17


@kernel
def dense_dot_csr(left, data, indices, indptr, out):
    """``out += left · csr``; left (m, rows), out (m, columns or occurring columns) already cleared."""
    for row in range(left.shape[0]):
        for inner in range(left.shape[1]):
            value = left[row, inner]
            for place in range(indptr[inner], indptr[inner + 1]):
                out[row, indices[place]] += value * data[place]


@kernel
def dense_dot_csr_transposed(left, data, indices, indptr, out):
    """``out[...] = left · csrᵀ``; left (m, columns), out (m, rows)."""
    for row in range(left.shape[0]):
        for target in range(indptr.shape[0] - 1):
            total = out.dtype.type(0)
            for place in range(indptr[target], indptr[target + 1]):
                total += left[row, indices[place]] * data[place]
            out[row, target] = total


@kernel
def _sgd(weight, gradient, rate, decay, rescale, clip, start, stop):
    for place in range(start, stop):
        step = rescale * gradient[place]
        if clip >= 0:
            step = max(-clip, min(clip, step))
        weight[place] -= rate * (step + decay * weight[place])


@kernel
def _sgd_momentum(weight, gradient, momentum, rate, friction, decay, rescale, clip, start, stop):
    for place in range(start, stop):
        step = rescale * gradient[place]
        if clip >= 0:
            step = max(-clip, min(clip, step))
        momentum[place] = friction * momentum[place] - rate * (step + decay * weight[place])
        weight[place] += momentum[place]


def dense_sgd_update(weight, gradient, rate, decay, rescale, clip):
    """``weight -= rate * (clip(rescale * gradient) + decay * weight)``, flat arrays, in place.

    Parameters
    ----------
    clip : float
        Bound of the rescaled gradient's absolute value; negative for none.
    """
    count = weight.shape[0]
    if count < 2 * GRAIN:
        _sgd(weight, gradient, rate, decay, rescale, clip, 0, count)
    else:
        in_threads(lambda start, stop: _sgd(weight, gradient, rate, decay, rescale, clip, start, stop), count, GRAIN)


def dense_sgd_momentum_update(weight, gradient, momentum, rate, friction, decay, rescale, clip):
    """Momentum step of flat arrays, in place: ``m = friction * m - rate * (g + decay * w); w += m``."""
    in_threads(lambda start, stop: _sgd_momentum(weight, gradient, momentum, rate, friction, decay, rescale, clip,
                                                 start, stop), weight.shape[0], GRAIN)
