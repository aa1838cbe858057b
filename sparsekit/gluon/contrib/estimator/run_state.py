"""What a training run is besides weights and optimizer: position, counters, metrics, random numbers; as JSON.

Nothing of it is executed when it is read.
"""

from __future__ import annotations

import base64
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ....base import rng
from ....base.errors import FileFormatError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....base.types import JSON
    from ....metric import EvalMetric
    from ...data.dataloader import Origin
    from .events import EventHandler
    from .types import Saved

__all__ = ["attributes_of", "decoded", "encoded", "loader_state", "metrics_of", "random_state", "set_attributes", "set_metrics",
           "states_of"]


# values


# object: an attribute of a user's handler or metric may be anything
def encoded(value: object, what: str, module: str = "") -> JSON:
    """A value as JSON: numbers, texts, None, numpy arrays, and lists, tuples and dicts of these.

    Parameters
    ----------
    value : object
    what : str
        What it is, for the error.
    module : str, optional
        A module whose own classes may stand among the values, with their attributes.

    Raises
    ------
    UnsupportedError
        If it is anything else.
    """
    if isinstance(value, np.generic):
        return {"scalar": value.dtype.str, "value": encoded(value.item(), what)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return [encoded(one, what, module) for one in value]
    if isinstance(value, dict):
        return {"pairs": [[encoded(key, what, module), encoded(one, what, module)] for key, one in value.items()]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        data = np.ascontiguousarray(value)
        return {"array": base64.b64encode(data.tobytes()).decode(), "dtype": data.dtype.str, "shape": list(value.shape)}
    kind = type(value)
    own = bool(module) and kind.__module__ == module and vars(sys.modules[module]).get(kind.__name__) is kind
    if isinstance(value, tuple) and (own or kind is tuple):
        return {"tuple": [encoded(one, what, module) for one in value], **({"class": kind.__name__} if own else {})}
    if own:
        return {"class": kind.__name__, "attributes": {name: encoded(one, what, module) for name, one in vars(value).items()}}
    raise UnsupportedError(f"{what} is a {kind.__name__}, which a checkpoint cannot keep.",
                           hint="keep numbers, texts, numpy arrays, and lists, tuples and dicts of these.")


def decoded(value: Saved, module: str = "") -> Saved:
    """The inverse of ``encoded``.

    Raises
    ------
    FileFormatError
        If the JSON is not what ``encoded`` gives.
    """
    try:
        return _decoded(value, module)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise FileFormatError(f"The state of the run cannot be read: {type(error).__name__} {error}.",
                              hint="the file is damaged; resume from an earlier checkpoint.") from error


def _decoded(value: Saved, module: str) -> Saved:
    if isinstance(value, list):
        return [_decoded(one, module) for one in value]
    if not isinstance(value, dict):
        return value
    if "scalar" in value:
        return np.dtype(value["scalar"]).type(value["value"])
    if "pairs" in value:
        return {_decoded(key, module): _decoded(one, module) for key, one in value["pairs"]}
    kind: Any = None  # Any: a class of the module
    if "class" in value:
        kind = vars(sys.modules[module])[value["class"]]
        if not isinstance(kind, type) or kind.__module__ != module:
            raise TypeError(f"{value['class']} must be a class of {module}")
    if "tuple" in value:
        items = [_decoded(one, module) for one in value["tuple"]]
        return tuple(items) if kind is None else tuple.__new__(kind, items)
    if kind is not None:
        made = object.__new__(kind)
        vars(made).update({name: _decoded(one, module) for name, one in value["attributes"].items()})
        return made
    found = np.frombuffer(base64.b64decode(value["array"]), np.dtype(value["dtype"]))
    return found.reshape(value["shape"]).copy()


# handlers and metrics


def attributes_of(handlers: Sequence[EventHandler]) -> list[Any]:
    """Of each handler its class and the attributes that it names in ``resumed``."""
    return [[type(one).__name__, {name: encoded(getattr(one, name), f"{type(one).__name__}.{name}")
                                  for name in type(one).resumed if hasattr(one, name)}] for one in handlers]


def set_attributes(handlers: Sequence[EventHandler], found: Sequence[Any]) -> None:
    """Give handlers what ``attributes_of`` noted, to each class in the order of its handlers."""
    left = list(found)
    for one in handlers:
        noted = next((each for each in left if each[0] == type(one).__name__), None)
        if noted is None:
            continue
        left.remove(noted)
        for name, value in noted[1].items():
            if name in type(one).resumed:
                setattr(one, name, decoded(value))


def metrics_of(metrics: Sequence[EvalMetric]) -> list[Any]:
    """Of each metric its name and its sums: every attribute that is not one of its arguments."""
    found: list[Any] = []
    for metric in metrics:
        fixed = {"name", "output_names", "label_names", "_has_global_stats", "_kwargs", *metric._kwargs}
        what, module = type(metric).__name__, type(metric).__module__
        found.append([metric.name, {name: encoded(value, f"{what}.{name}", module) for name, value in vars(metric).items()
                                    if name not in fixed and not callable(value)}])
    return found


def set_metrics(metrics: Sequence[EvalMetric], found: Sequence[Any]) -> None:
    """Give metrics what ``metrics_of`` noted, if they have the same names."""
    for metric, (name, sums) in zip(metrics, found, strict=False):
        if metric.name == name:
            vars(metric).update({key: decoded(value, type(metric).__module__) for key, value in sums.items()
                                 if key in vars(metric)})


# random numbers, and the order of the data


def random_state(states: rng.States) -> JSON:
    """The states of generators as JSON."""
    version, internal, gauss = states.python
    return encoded((states.library, states.numpy, (version, np.array(internal, np.int64), gauss)), "the random state")


def states_of(found: Saved) -> rng.States:
    """The states of generators that ``random_state`` wrote."""
    library, ours, (version, internal, gauss) = decoded(found)
    return rng.States(library, ours, (version, tuple(internal.tolist()), gauss))


def loader_state(origin: Origin | None) -> JSON:
    """Where a data loader drew the order of an epoch from, as JSON."""
    return None if origin is None else {"random": random_state(origin.random), "left": encoded(origin.left, "the sampler's rest")}
