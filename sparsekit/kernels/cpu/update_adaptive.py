"""Optimizer steps with a learning rate for each element; ``update.py`` describes the arguments of a step."""

from __future__ import annotations

import math

from .jit import kernel
from .update import clipped, sign_of

__all__ = [
    "adadelta_step",
    "adagrad_step",
    "adam_step",
    "adamax_step",
    "adamw_step",
    "centered_rmsprop_step",
    "ftml_step",
    "ftrl_step",
    "group_adagrad_step",
    "lamb_step",
    "nadam_step",
    "rmsprop_step",
]


@kernel(error_model="numpy")
def adam_step(weight, data, indices, moves, numbers, mean, variance):
    """``g = clip(g + decay * w)``, its moving mean m and that of its square v; ``w -= rate * m / (sqrt(v) + epsilon)``."""
    rescale, bound, rate, decay, epsilon = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    keep_mean, take_mean, keep_variance, take_variance = numbers[5], numbers[6], numbers[7], numbers[8]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient, means, variances = weight[row], data[rank * moves], mean[row], variance[row]
        for column in range(weights.shape[0]):
            step = clipped(rescale * gradient[column] + decay * weights[column], bound)
            first = keep_mean * means[column] + take_mean * step
            second = keep_variance * variances[column] + take_variance * step * step
            means[column] = first
            variances[column] = second
            weights[column] -= rate * first / (math.sqrt(second) + epsilon)
    return indices.shape[0]


@kernel(error_model="numpy")
def adamw_step(weight, data, indices, moves, numbers, mean, variance):
    """``adam_step`` whose decay is apart: ``w -= eta * (rate * m / (sqrt(v) + epsilon) + decay * w)``."""
    rescale, bound, rate, decay, epsilon = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    keep_mean, take_mean, keep_variance, take_variance = numbers[5], numbers[6], numbers[7], numbers[8]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient, means, variances = weight[row], data[rank * moves], mean[row], variance[row]
        for column in range(weights.shape[0]):
            step = clipped(rescale * gradient[column], bound)
            first = keep_mean * means[column] + take_mean * step
            second = keep_variance * variances[column] + take_variance * step * step
            means[column] = first
            variances[column] = second
            weights[column] -= rate * first / (math.sqrt(second) + epsilon) + decay * weights[column]
    return indices.shape[0]


@kernel(error_model="numpy")
def adamax_step(weight, data, indices, moves, numbers, mean, largest):
    """``g = clip(g + decay * w)``, its moving mean m, ``u = max(keep * u, |g|)``; ``w -= rate * m / u``, at rest where u is 0."""
    rescale, bound, rate, decay = numbers[0], numbers[1], numbers[2], numbers[3]
    keep_mean, take_mean, keep = numbers[4], numbers[5], numbers[6]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient, means, sizes = weight[row], data[rank * moves], mean[row], largest[row]
        for column in range(weights.shape[0]):
            step = clipped(rescale * gradient[column] + decay * weights[column], bound)
            first = keep_mean * means[column] + take_mean * step
            size, now = keep * sizes[column], abs(step)
            size = size if size > now else now
            means[column] = first
            sizes[column] = size
            weights[column] -= rate * first / size if size != 0 else type(size)(0)
    return indices.shape[0]


@kernel(error_model="numpy")
def nadam_step(weight, data, indices, moves, numbers, mean, variance):
    """``g = clip(g + decay * w)``, m and v as Adam's; ``w -= (now * g + next * m) / (sqrt(v * unbias) + epsilon)``."""
    rescale, bound, now, after, decay = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    epsilon, unbias = numbers[5], numbers[6]
    keep_mean, take_mean, keep_variance, take_variance = numbers[7], numbers[8], numbers[9], numbers[10]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient, means, variances = weight[row], data[rank * moves], mean[row], variance[row]
        for column in range(weights.shape[0]):
            step = clipped(rescale * gradient[column] + decay * weights[column], bound)
            first = keep_mean * means[column] + take_mean * step
            second = keep_variance * variances[column] + take_variance * step * step
            means[column] = first
            variances[column] = second
            weights[column] -= (now * step + after * first) / (math.sqrt(unbias * second) + epsilon)
    return indices.shape[0]


@kernel(error_model="numpy")
def lamb_step(weight, data, indices, moves, numbers, out, mean, variance):
    """Moving means as Adam's of ``clip(g)``; ``out = unbias_mean * m / (sqrt(unbias * v) + epsilon) + decay * w``."""
    rescale, bound, unbias_mean, unbias, decay, epsilon = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    keep_mean, take_mean, keep_variance, take_variance = numbers[6], numbers[7], numbers[8], numbers[9]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient, means, variances, made = weight[row], data[rank * moves], mean[row], variance[row], out[row]
        for column in range(weights.shape[0]):
            step = clipped(rescale * gradient[column], bound)
            first = keep_mean * means[column] + take_mean * step
            second = keep_variance * variances[column] + take_variance * step * step
            means[column] = first
            variances[column] = second
            made[column] = unbias_mean * first / (math.sqrt(unbias * second) + epsilon) + decay * weights[column]
    return indices.shape[0]


@kernel(error_model="numpy")
def adagrad_step(weight, data, indices, moves, numbers, history):
    """``g = clip(g); h += g * g; w -= rate * (g / sqrt(h + epsilon) + decay * w)``."""
    rescale, bound, rate, decay, epsilon = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient, sums = weight[row], data[rank * moves], history[row]
        for column in range(weights.shape[0]):
            step = clipped(rescale * gradient[column], bound)
            total = sums[column] + step * step
            sums[column] = total
            weights[column] -= rate * (step / math.sqrt(total + epsilon) + decay * weights[column])
    return indices.shape[0]


@kernel(error_model="numpy")
def group_adagrad_step(weight, data, indices, moves, numbers, history):
    """``adagrad_step`` with one history a row, (rows, 1), to which the mean of its ``g * g`` is added."""
    rescale, bound, rate, epsilon = numbers[0], numbers[1], numbers[2], numbers[3]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient = weight[row], data[rank * moves]
        total = type(rate)(0)
        for column in range(weights.shape[0]):
            step = clipped(rescale * gradient[column], bound)
            total += step * step
        history[row, 0] += total / type(rate)(max(weights.shape[0], 1))
        speed = rate / math.sqrt(history[row, 0] + epsilon)
        for column in range(weights.shape[0]):
            weights[column] -= speed * clipped(rescale * gradient[column], bound)
    return indices.shape[0]


@kernel(error_model="numpy")
def rmsprop_step(weight, data, indices, moves, numbers, square):
    """``g = clip(g + decay * w)``, the moving mean n of its square; ``w -= rate * g / sqrt(n + epsilon)``, w then clipped."""
    rescale, bound, rate, decay, epsilon = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    keep, take, limit = numbers[5], numbers[6], numbers[7]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient, squares = weight[row], data[rank * moves], square[row]
        for column in range(weights.shape[0]):
            step = clipped(rescale * gradient[column] + decay * weights[column], bound)
            second = keep * squares[column] + take * step * step
            squares[column] = second
            weights[column] = clipped(weights[column] - rate * step / math.sqrt(second + epsilon), limit)
    return indices.shape[0]


@kernel(error_model="numpy")
def centered_rmsprop_step(weight, data, indices, moves, numbers, square, mean, delta):
    """As ``rmsprop_step``, by the variance ``n - mean * mean``, and with momentum in delta."""
    rescale, bound, rate, decay, epsilon = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    keep, take, limit, friction = numbers[5], numbers[6], numbers[7], numbers[8]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient, squares = weight[row], data[rank * moves], square[row]
        means, moved = mean[row], delta[row]
        for column in range(weights.shape[0]):
            step = clipped(rescale * gradient[column] + decay * weights[column], bound)
            second = keep * squares[column] + take * step * step
            first = keep * means[column] + take * step
            movement = friction * moved[column] - rate * step / math.sqrt(second - first * first + epsilon)
            squares[column] = second
            means[column] = first
            moved[column] = movement
            weights[column] = clipped(weights[column] + movement, limit)
    return indices.shape[0]


@kernel(error_model="numpy")
def ftrl_step(weight, data, indices, moves, numbers, total, square):
    """``z += g - (sqrt(n + g * g) - sqrt(n)) * w / rate; n += g * g``; w from z and n, 0 where ``|z| <= sparsity``."""
    rescale, bound, rate, decay, sparsity, beta = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient, totals, squares = weight[row], data[rank * moves], total[row], square[row]
        for column in range(weights.shape[0]):
            step = clipped(rescale * gradient[column], bound)
            second = squares[column] + step * step
            root = math.sqrt(second)
            z = totals[column] + step - (root - math.sqrt(squares[column])) * weights[column] / rate
            totals[column] = z
            squares[column] = second
            value = (sign_of(z) * sparsity - z) / ((beta + root) / rate + decay)
            weights[column] = type(z)(0) if abs(z) <= sparsity else value
    return indices.shape[0]


@kernel(error_model="numpy")
def ftml_step(weight, data, indices, moves, numbers, scale, variance, total):
    """Follow the moving leader: d, v and z of the paper are ``scale``, ``variance`` and ``total``; ``w = -z / d``."""
    rescale, bound, speed, unbias, decay, epsilon = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    keep_mean, take_mean, keep_variance, take_variance = numbers[6], numbers[7], numbers[8], numbers[9]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient = weight[row], data[rank * moves]
        scales, variances, totals = scale[row], variance[row], total[row]
        for column in range(weights.shape[0]):
            step = clipped(rescale * gradient[column] + decay * weights[column], bound)
            second = keep_variance * variances[column] + take_variance * step * step
            now = speed * (math.sqrt(unbias * second) + epsilon)
            z = keep_mean * totals[column] + take_mean * step - (now - keep_mean * scales[column]) * weights[column]
            variances[column] = second
            scales[column] = now
            totals[column] = z
            weights[column] = -z / now
    return indices.shape[0]


@kernel(error_model="numpy")
def adadelta_step(weight, data, indices, moves, numbers, square, moved):
    """``g = clip(g)``, the moving means of ``g * g`` and of the squared movements; no learning rate."""
    rescale, bound, decay, epsilon, keep, take = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient, squares, movements = weight[row], data[rank * moves], square[row], moved[row]
        for column in range(weights.shape[0]):
            step = clipped(rescale * gradient[column], bound)
            second = keep * squares[column] + take * step * step
            movement = math.sqrt(movements[column] + epsilon) / math.sqrt(second + epsilon) * step
            squares[column] = second
            movements[column] = keep * movements[column] + take * movement * movement
            weights[column] -= movement + decay * weights[column]
    return indices.shape[0]
