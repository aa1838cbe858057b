"""Initial values of parameters: ``mx.init``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .base.errors import ShapeError, SparsekitError, UnknownNameError
from .random import generator

__all__ = ["Constant", "Initializer", "Normal", "One", "Uniform", "Xavier", "Zero", "create", "register"]

registry: dict[str, type[Initializer]] = {}


def register(cls: type[Initializer]) -> type[Initializer]:
    """Make an initializer known under its lower-case name."""
    registry[cls.__name__.lower()] = cls
    return cls


class Initializer:
    """Fills a numpy array with initial values; called as ``initializer(name, values)``.

    As in MXNet, names that end in ``bias`` or ``beta`` start at zero and in ``gamma`` at one, unless the
    parameter names an initializer of its own.
    """

    def __call__(self, name: str, values: Any) -> None:
        """Fill by the name's ending."""
        if name.endswith(("bias", "beta", "running_mean", "moving_mean")):
            values.fill(0)
        elif name.endswith(("gamma", "running_var", "moving_var")):
            values.fill(1)
        else:
            self.fill(name, values)

    def fill(self, name: str, values: Any) -> None:
        """Write the values; to be overridden."""
        raise SparsekitError(f"{type(self).__name__} does not say how to fill {name!r}.", hint="override fill(name, values).")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


@register
class Zero(Initializer):
    """Zeros."""

    def fill(self, name: str, values: Any) -> None:
        values.fill(0)


@register
class One(Initializer):
    """Ones."""

    def fill(self, name: str, values: Any) -> None:
        values.fill(1)


@register
class Constant(Initializer):
    """One value everywhere, or the values of an array."""

    def __init__(self, value: Any = 0.0) -> None:
        self.value = value

    def fill(self, name: str, values: Any) -> None:
        values[...] = self.value.asnumpy() if hasattr(self.value, "asnumpy") else self.value


@register
class Uniform(Initializer):
    """Values drawn evenly from -scale to scale."""

    def __init__(self, scale: float = 0.07) -> None:
        self.scale = scale

    def fill(self, name: str, values: Any) -> None:
        _draw_uniform(values, self.scale)


@register
class Normal(Initializer):
    """Values drawn from a normal distribution with mean zero and standard deviation sigma."""

    def __init__(self, sigma: float = 0.01) -> None:
        self.sigma = sigma

    def fill(self, name: str, values: Any) -> None:
        values[...] = generator().standard_normal(values.shape, np.float32) * np.float32(self.sigma)


@register
class Xavier(Initializer):
    """Values scaled by the number of inputs and outputs: X. Glorot and Y. Bengio, AISTATS 2010.

    Parameters
    ----------
    rnd_type : {"uniform", "gaussian"}
    factor_type : {"avg", "in", "out"}
    magnitude : float
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        for kind, value, known in (("rnd_type", rnd_type, ("uniform", "gaussian")),
                                   ("factor_type", factor_type, ("avg", "in", "out"))):
            if value not in known:
                raise UnknownNameError.of(kind, value, known)
        self.rnd_type, self.factor_type, self.magnitude = rnd_type, factor_type, magnitude

    def fill(self, name: str, values: Any) -> None:
        if values.ndim < 2:
            raise ShapeError(f"Xavier needs two dimensions or more; {name!r} has shape {values.shape}.",
                             hint="initialise vectors with Zero() or Uniform().")
        area = math.prod(values.shape[2:])
        inputs, outputs = values.shape[1] * area, values.shape[0] * area
        factor = {"avg": (inputs + outputs) / 2, "in": inputs, "out": outputs}[self.factor_type]
        scale = math.sqrt(self.magnitude / factor)
        if self.rnd_type == "uniform":
            _draw_uniform(values, scale)
        else:
            values[...] = generator().standard_normal(values.shape, np.float32) * np.float32(scale)


def _draw_uniform(values: Any, scale: float) -> None:
    """Fill in place, so that a large parameter needs no second copy of itself."""
    if values.dtype in (np.float32, np.float64) and values.flags.c_contiguous:
        generator().random(dtype=values.dtype, out=values)
    else:
        values[...] = generator().random(values.shape)
    values *= 2 * scale
    values -= scale


for _name, _same in (("zeros", Zero), ("ones", One)):
    registry[_name] = _same


def create(initializer: Any, default: Any = None) -> Initializer:
    """The initializer that a name, a class, an instance or None stands for."""
    if initializer is None:
        return create(default) if default is not None else Uniform()
    if isinstance(initializer, Initializer):
        return initializer
    if isinstance(initializer, type) and issubclass(initializer, Initializer):
        return initializer()
    found = registry.get(str(initializer).lower())
    if found is None:
        raise UnknownNameError.of("initializer", initializer, registry)
    return found()
