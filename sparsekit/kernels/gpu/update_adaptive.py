"""Optimizer steps with a learning rate of each element; the device functions are in ``update_adaptive.cu``."""

from __future__ import annotations

from .launch import Kernel, lanes_for
from .update import over_rows

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

_group_adagrad_step = Kernel("group_adagrad_step", "data* data index data* count count count count count numbers")


@over_rows(states=2, numbers=8)
def adam_step(gradient, n, weight, mean, variance):
    """``g = clip(g + decay * w)``, its moving mean m and that of its square v; ``w -= rate * m / (sqrt(v) + epsilon)``."""


@over_rows(states=2, numbers=8)
def adamw_step(gradient, n, weight, mean, variance):
    """``adam_step`` whose decay is apart: ``w -= eta * (rate * m / (sqrt(v) + epsilon) + decay * w)``."""


@over_rows(states=2, numbers=6)
def adamax_step(gradient, n, weight, mean, largest):
    """``g = clip(g + decay * w)``, its moving mean m, ``u = max(keep * u, |g|)``; ``w -= rate * m / u``, at rest where u is 0."""


@over_rows(states=2, numbers=10)
def nadam_step(gradient, n, weight, mean, variance):
    """``g = clip(g + decay * w)``, m and v as Adam's; ``w -= (now * g + next * m) / (sqrt(v * unbias) + epsilon)``."""


@over_rows(states=3, numbers=9)
def lamb_step(gradient, n, weight, out, mean, variance):
    """Moving means as Adam's of ``clip(g)``; ``out = unbias_mean * m / (sqrt(unbias * v) + epsilon) + decay * w``."""


@over_rows(states=1, numbers=4)
def adagrad_step(gradient, n, weight, history):
    """``g = clip(g); h += g * g; w -= rate * (g / sqrt(h + epsilon) + decay * w)``."""


def group_adagrad_step(weight, data, indices, moves, numbers, history):
    """``adagrad_step`` with one history a row, (rows, 1), to which the mean of its ``g * g`` is added."""
    lanes = lanes_for(weight.shape[1])
    _group_adagrad_step(indices.shape[0] * lanes, weight, data, indices, history, indices.shape[0], *weight.shape, moves, lanes,
                        numbers.tolist())
    return indices.shape[0]


@over_rows(states=1, numbers=7)
def rmsprop_step(gradient, n, weight, square):
    """``g = clip(g + decay * w)``, the moving mean n of its square; ``w -= rate * g / sqrt(n + epsilon)``, w then clipped."""


@over_rows(states=3, numbers=8)
def centered_rmsprop_step(gradient, n, weight, square, mean, delta):
    """As ``rmsprop_step``, by the variance ``n - mean * mean``, and with momentum in delta."""


@over_rows(states=2, numbers=5)
def ftrl_step(gradient, n, weight, total, square):
    """``z += g - (sqrt(n + g * g) - sqrt(n)) * w / rate; n += g * g``; w from z and n, 0 where ``|z| <= sparsity``."""


@over_rows(states=3, numbers=9)
def ftml_step(gradient, n, weight, scale, variance, total):
    """Follow the moving leader: d, v and z of the paper are ``scale``, ``variance`` and ``total``; ``w = -z / d``."""


@over_rows(states=2, numbers=5)
def adadelta_step(gradient, n, weight, square, moved):
    """``g = clip(g)``, the moving means of ``g * g`` and of the squared movements; no learning rate."""
