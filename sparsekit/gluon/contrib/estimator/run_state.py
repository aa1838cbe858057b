"""What a training run is besides weights and optimizer, as JSON and arrays: counters, metrics, random numbers, order of data."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....base import rng
from ....base.plain_data import decoded, encoded
from ...data.dataloader import Origin

if TYPE_CHECKING:
    from ....base.types import JSON, Array
    from ....metric import EvalMetric
    from .events import EventHandler
    from .types import Saved

__all__ = ["attributes_of", "metrics_of", "origin_of", "saved_origin", "set_attributes", "set_metrics"]

#: What the order of an epoch is made of.
ORIGIN = {"Origin": Origin, "States": rng.States}


def attributes_of(handlers: Sequence[EventHandler], arrays: list[Array]) -> list[JSON]:
    """Of each handler its class and the attributes that it names in ``resumed``."""
    return [[type(one).__name__, {name: encoded(getattr(one, name), arrays, f"{type(one).__name__}.{name}")
                                  for name in type(one).resumed if hasattr(one, name)}] for one in handlers]


def set_attributes(handlers: Sequence[EventHandler], found: Sequence[Saved], arrays: list[Array]) -> None:
    """Give handlers what ``attributes_of`` noted, to each class in the order of its handlers."""
    left = list(found)
    for one in handlers:
        noted = next((each for each in left if each[0] == type(one).__name__), None)
        if noted is None:
            continue
        left.remove(noted)
        for name, value in noted[1].items():
            if name in type(one).resumed:
                setattr(one, name, decoded(value, arrays))


def metrics_of(metrics: Sequence[EvalMetric], arrays: list[Array]) -> list[JSON]:
    """Of each metric its name and its sums: every attribute that is not one of its arguments."""
    found: list[JSON] = []
    for metric in metrics:
        fixed = {"name", "output_names", "label_names", "_has_global_stats", "_kwargs", *metric._kwargs}
        found.append([metric.name, {name: encoded(value, arrays, f"{type(metric).__name__}.{name}", _classes_beside(metric))
                                    for name, value in vars(metric).items() if name not in fixed and not callable(value)}])
    return found


def set_metrics(metrics: Sequence[EvalMetric], found: Sequence[Saved], arrays: list[Array]) -> None:
    """Give metrics what ``metrics_of`` noted, if they have the same names."""
    for metric, (name, sums) in zip(metrics, found, strict=False):
        if metric.name == name:
            vars(metric).update({key: decoded(value, arrays, _classes_beside(metric)) for key, value in sums.items()
                                 if key in vars(metric)})


def _classes_beside(metric: EvalMetric) -> dict[str, type[Any]]:
    """The classes of the module of a metric, of which it may keep its sums in."""
    module = type(metric).__module__
    return {name: one for name, one in vars(sys.modules[module]).items() if isinstance(one, type) and one.__module__ == module}


def saved_origin(origin: Origin | None, arrays: list[Array]) -> JSON:
    """Where a data loader drew the order of an epoch from."""
    return encoded(origin, arrays, "The rest of the sampler", ORIGIN)


def origin_of(found: Saved, arrays: list[Array]) -> Origin | None:
    """What ``saved_origin`` noted."""
    origin: Origin | None = decoded(found, arrays, ORIGIN)
    return origin
