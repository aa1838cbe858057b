"""Optimizer steps with a learning rate of each element; the device functions are in ``update_adaptive.cu``."""

from __future__ import annotations

from .launch import Kernel, lanes_for
from .update import _run_step

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

_adam_step = Kernel("adam_step", "data* data index data* data* count count count count numbers")
_adamw_step = Kernel("adamw_step", "data* data index data* data* count count count count numbers")
_adamax_step = Kernel("adamax_step", "data* data index data* data* count count count count numbers")
_nadam_step = Kernel("nadam_step", "data* data index data* data* count count count count numbers")
_lamb_step = Kernel("lamb_step", "data* data index data* data* data* count count count count numbers")
_adagrad_step = Kernel("adagrad_step", "data* data index data* count count count count numbers")
_group_adagrad_step = Kernel("group_adagrad_step", "data* data index data* count count count count count numbers")
_rmsprop_step = Kernel("rmsprop_step", "data* data index data* count count count count numbers")
_centered_rmsprop_step = Kernel("centered_rmsprop_step", "data* data index data* data* data* count count count count numbers")
_ftrl_step = Kernel("ftrl_step", "data* data index data* data* count count count count numbers")
_ftml_step = Kernel("ftml_step", "data* data index data* data* data* count count count count numbers")
_adadelta_step = Kernel("adadelta_step", "data* data index data* data* count count count count numbers")


def adam_step(weight, data, indices, moves, numbers, mean, variance):
    """``g = clip(g + decay * w)``, its moving mean m and that of its square v; ``w -= rate * m / (sqrt(v) + epsilon)``."""
    return _run_step(_adam_step, weight, data, indices, moves, numbers, mean, variance)


def adamw_step(weight, data, indices, moves, numbers, mean, variance):
    """``adam_step`` whose decay is apart: ``w -= eta * (rate * m / (sqrt(v) + epsilon) + decay * w)``."""
    return _run_step(_adamw_step, weight, data, indices, moves, numbers, mean, variance)


def adamax_step(weight, data, indices, moves, numbers, mean, largest):
    """``g = clip(g + decay * w)``, its moving mean m, ``u = max(keep * u, |g|)``; ``w -= rate * m / u``, at rest where u is 0."""
    return _run_step(_adamax_step, weight, data, indices, moves, numbers, mean, largest)


def nadam_step(weight, data, indices, moves, numbers, mean, variance):
    """``g = clip(g + decay * w)``, m and v as Adam's; ``w -= (now * g + next * m) / (sqrt(v * unbias) + epsilon)``."""
    return _run_step(_nadam_step, weight, data, indices, moves, numbers, mean, variance)


def lamb_step(weight, data, indices, moves, numbers, out, mean, variance):
    """Moving means as Adam's of ``clip(g)``; ``out = unbias_mean * m / (sqrt(unbias * v) + epsilon) + decay * w``."""
    return _run_step(_lamb_step, weight, data, indices, moves, numbers, out, mean, variance)


def adagrad_step(weight, data, indices, moves, numbers, history):
    """``g = clip(g); h += g * g; w -= rate * (g / sqrt(h + epsilon) + decay * w)``."""
    return _run_step(_adagrad_step, weight, data, indices, moves, numbers, history)


def group_adagrad_step(weight, data, indices, moves, numbers, history):
    """``adagrad_step`` with one history a row, (rows, 1), to which the mean of its ``g * g`` is added."""
    lanes = lanes_for(weight.shape[1])
    _group_adagrad_step(indices.shape[0] * lanes, weight, data, indices, history, indices.shape[0], *weight.shape, moves, lanes,
                        numbers.tolist())
    return indices.shape[0]


def rmsprop_step(weight, data, indices, moves, numbers, square):
    """``g = clip(g + decay * w)``, the moving mean n of its square; ``w -= rate * g / sqrt(n + epsilon)``, w then clipped."""
    return _run_step(_rmsprop_step, weight, data, indices, moves, numbers, square)


def centered_rmsprop_step(weight, data, indices, moves, numbers, square, mean, delta):
    """As ``rmsprop_step``, by the variance ``n - mean * mean``, and with momentum in delta."""
    return _run_step(_centered_rmsprop_step, weight, data, indices, moves, numbers, square, mean, delta)


def ftrl_step(weight, data, indices, moves, numbers, total, square):
    """``z += g - (sqrt(n + g * g) - sqrt(n)) * w / rate; n += g * g``; w from z and n, 0 where ``|z| <= sparsity``."""
    return _run_step(_ftrl_step, weight, data, indices, moves, numbers, total, square)


def ftml_step(weight, data, indices, moves, numbers, scale, variance, total):
    """Follow the moving leader: d, v and z of the paper are ``scale``, ``variance`` and ``total``; ``w = -z / d``."""
    return _run_step(_ftml_step, weight, data, indices, moves, numbers, scale, variance, total)


def adadelta_step(weight, data, indices, moves, numbers, square, moved):
    """``g = clip(g)``, the moving means of ``g * g`` and of the squared movements; no learning rate."""
    return _run_step(_adadelta_step, weight, data, indices, moves, numbers, square, moved)
