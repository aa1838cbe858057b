"""Optimizer steps with a learning rate for each element; ``update.py`` describes the arguments of a step."""

from __future__ import annotations

import math

from .jit import kernel
from .update import _shared_step, clipped, over_rows, sign_of

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


@kernel
def _larger(value, other):
    """The larger of two values; the second if either is nan."""
    return value if value > other else other


@kernel
def _zero_if(condition, value):
    """The value, or 0 where a condition holds."""
    return type(value)(0) if condition else value


@over_rows(states=2, numbers=8)
def adam_step(gradient, n, weight, mean, variance):
    """``g = clip(g + decay * w)``, its moving mean m and that of its square v; ``w -= rate * m / (sqrt(v) + epsilon)``."""
    bound, rate, decay, epsilon, keep_mean, take_mean, keep_variance, take_variance = n
    g = clipped(gradient + decay * weight, bound)
    mean = keep_mean * mean + take_mean * g
    variance = keep_variance * variance + take_variance * g * g
    return weight - rate * mean / (math.sqrt(variance) + epsilon), mean, variance


@over_rows(states=2, numbers=8)
def adamw_step(gradient, n, weight, mean, variance):
    """``adam_step`` whose decay is apart: ``w -= eta * (rate * m / (sqrt(v) + epsilon) + decay * w)``."""
    bound, rate, decay, epsilon, keep_mean, take_mean, keep_variance, take_variance = n
    g = clipped(gradient, bound)
    mean = keep_mean * mean + take_mean * g
    variance = keep_variance * variance + take_variance * g * g
    return weight - (rate * mean / (math.sqrt(variance) + epsilon) + decay * weight), mean, variance


@over_rows(states=2, numbers=6)
def adamax_step(gradient, n, weight, mean, largest):
    """``g = clip(g + decay * w)``, its moving mean m, ``u = max(keep * u, |g|)``; ``w -= rate * m / u``, at rest where u is 0."""
    bound, rate, decay, keep_mean, take_mean, keep = n
    g = clipped(gradient + decay * weight, bound)
    mean = keep_mean * mean + take_mean * g
    size = _larger(keep * largest, abs(g))
    return weight - _zero_if(size == 0, rate * mean / size), mean, size


@over_rows(states=2, numbers=10)
def nadam_step(gradient, n, weight, mean, variance):
    """``g = clip(g + decay * w)``, m and v as Adam's; ``w -= (now * g + next * m) / (sqrt(v * unbias) + epsilon)``."""
    bound, now, after, decay, epsilon, unbias, keep_mean, take_mean, keep_variance, take_variance = n
    g = clipped(gradient + decay * weight, bound)
    mean = keep_mean * mean + take_mean * g
    variance = keep_variance * variance + take_variance * g * g
    return weight - (now * g + after * mean) / (math.sqrt(unbias * variance) + epsilon), mean, variance


@over_rows(states=3, numbers=9)
def lamb_step(gradient, n, weight, out, mean, variance):
    """Moving means as Adam's of ``clip(g)``; ``out = unbias_mean * m / (sqrt(unbias * v) + epsilon) + decay * w``."""
    bound, unbias_mean, unbias, decay, epsilon, keep_mean, take_mean, keep_variance, take_variance = n
    g = clipped(gradient, bound)
    mean = keep_mean * mean + take_mean * g
    variance = keep_variance * variance + take_variance * g * g
    return weight, unbias_mean * mean / (math.sqrt(unbias * variance) + epsilon) + decay * weight, mean, variance


@over_rows(states=1, numbers=4)
def adagrad_step(gradient, n, weight, history):
    """``g = clip(g); h += g * g; w -= rate * (g / sqrt(h + epsilon) + decay * w)``."""
    bound, rate, decay, epsilon = n
    g = clipped(gradient, bound)
    history = history + g * g
    return weight - rate * (g / math.sqrt(history + epsilon) + decay * weight), history


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


group_adagrad_step.shared = _shared_step(group_adagrad_step, 1, group_adagrad_step.py_func, by_elements=False)


@over_rows(states=1, numbers=7)
def rmsprop_step(gradient, n, weight, square):
    """``g = clip(g + decay * w)``, the moving mean n of its square; ``w -= rate * g / sqrt(n + epsilon)``, w then clipped."""
    bound, rate, decay, epsilon, keep, take, limit = n
    g = clipped(gradient + decay * weight, bound)
    square = keep * square + take * g * g
    return clipped(weight - rate * g / math.sqrt(square + epsilon), limit), square


@over_rows(states=3, numbers=8)
def centered_rmsprop_step(gradient, n, weight, square, mean, delta):
    """As ``rmsprop_step``, by the variance ``n - mean * mean``, and with momentum in delta."""
    bound, rate, decay, epsilon, keep, take, limit, friction = n
    g = clipped(gradient + decay * weight, bound)
    square = keep * square + take * g * g
    mean = keep * mean + take * g
    delta = friction * delta - rate * g / math.sqrt(square - mean * mean + epsilon)
    return clipped(weight + delta, limit), square, mean, delta


@over_rows(states=2, numbers=5)
def ftrl_step(gradient, n, weight, total, square):
    """``z += g - (sqrt(n + g * g) - sqrt(n)) * w / rate; n += g * g``; w from z and n, 0 where ``|z| <= sparsity``."""
    bound, rate, decay, sparsity, beta = n
    g = clipped(gradient, bound)
    second = square + g * g
    root = math.sqrt(second)
    z = total + g - (root - math.sqrt(square)) * weight / rate
    value = (sign_of(z) * sparsity - z) / ((beta + root) / rate + decay)
    return _zero_if(abs(z) <= sparsity, value), z, second


@over_rows(states=3, numbers=9)
def ftml_step(gradient, n, weight, scale, variance, total):
    """Follow the moving leader: d, v and z of the paper are ``scale``, ``variance`` and ``total``; ``w = -z / d``."""
    bound, speed, unbias, decay, epsilon, keep_mean, take_mean, keep_variance, take_variance = n
    g = clipped(gradient + decay * weight, bound)
    variance = keep_variance * variance + take_variance * g * g
    now = speed * (math.sqrt(unbias * variance) + epsilon)
    z = keep_mean * total + take_mean * g - (now - keep_mean * scale) * weight
    return -z / now, now, variance, z


@over_rows(states=2, numbers=5)
def adadelta_step(gradient, n, weight, square, moved):
    """``g = clip(g)``, the moving means of ``g * g`` and of the squared movements; no learning rate."""
    bound, decay, epsilon, keep, take = n
    g = clipped(gradient, bound)
    square = keep * square + take * g * g
    movement = math.sqrt(moved + epsilon) / math.sqrt(square + epsilon) * g
    return weight - (movement + decay * weight), square, keep * moved + take * movement * movement
