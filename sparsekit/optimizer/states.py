"""Serialization of optimizer states and settings, as ``ndarray.state_files`` has it: reading executes no code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base import rng
from ..base.changes import SettingsDict
from ..base.errors import SparsekitError, UnsupportedError
from ..base.nested import leaves
from ..base.plain_data import decoded, encoded
from ..lr_scheduler import LRScheduler
from ..ndarray import state_files
from ..ndarray.ndarray import NDArray
from .optimizer import Optimizer, registry

if TYPE_CHECKING:
    from ..base.types import JSON
    from .types import Index, State

#: Attributes of an optimizer that are not settings; a new optimizer initializes them.
_NOT_SAVED = ("param_dict", "sym_info", "_calls", "_recorded_calls", "_index_update_count", "_device", "_op", "_sums",
              "_collected", "_executing", "_half")


def arrays_of(state: State) -> Iterator[NDArray]:
    """The arrays of a state, in order."""
    return (leaf for leaf in leaves(state) if isinstance(leaf, NDArray))


# states


def encoded_state(state: State, arrays: list[NDArray]) -> JSON:
    """A state as JSON; its arrays are appended to ``arrays``, as they are.  ``decoded`` is the inverse."""
    return encoded(state, arrays, "A state", hint="a state must be an array, None, or a tuple of these.", kept=NDArray)


# settings


def _written(value: object, name: str) -> JSON:  # object: a setting of a user's optimizer may be anything
    """A setting as JSON."""
    arrays: list[Any] = []  # Any: arrays
    hint = "save only the states: get_states(dump_optimizer=False)."
    setting = encoded(value, arrays, f"The setting {name}", _schedulers(LRScheduler), hint)
    if arrays:
        raise UnsupportedError(f"The setting {name} holds an array, which cannot be saved.", hint=hint)
    return setting


def _read(setting: Any) -> Any:  # Any: JSON of a file, and a setting
    return decoded(setting, [], _schedulers(LRScheduler))


def _schedulers(base: type[LRScheduler]) -> dict[str, type[LRScheduler]]:
    """All classes of schedules in this process, by name."""
    classes = {base.__name__: base}
    for cls in base.__subclasses__():
        classes.update(_schedulers(cls))
    return classes


def _describe(optimizer: Optimizer) -> JSON:
    settings = {name: value for name, value in vars(optimizer).items() if name not in _NOT_SAVED}
    return {"name": type(optimizer).__name__.lower(),
            "settings": {name: _written(value, name) for name, value in settings.items()}}


def _set(optimizer: Optimizer, settings: dict[str, Any]) -> None:  # Any: settings
    for name, value in settings.items():
        setattr(optimizer, name, SettingsDict(value) if name in ("lr_mult", "wd_mult") else value)


def _restore(description: Any, classes: Mapping[str, type[Optimizer]] = registry) -> Optimizer:  # Any: as in _read
    optimizer = classes[description["name"]]()
    _set(optimizer, {name: _read(value) for name, value in description["settings"].items()})
    optimizer._set_current_context(0)
    if hasattr(optimizer, "_select"):
        optimizer._select()
    return optimizer


# optimizers that other processes run


def described(optimizer: Optimizer) -> str:
    """An optimizer as text, from which ``restored`` makes its twin in another process, which knows no parameters.

    Raises
    ------
    SparsekitError
        If a setting is not of plain data, or if rows make up for missed steps, which servers do not support.
    """
    if optimizer._is_exact:
        raise UnsupportedError("Servers do not support lazy_update='exact'.", hint="use lazy_update=True or False.")
    description: Any = _describe(optimizer)  # Any: JSON
    # Any: factors, or names
    factors: dict[str, dict[Index, Any]] = {name: dict(vars(optimizer)[name]) for name in ("lr_mult", "wd_mult", "idx2name")}
    for index, parameter in optimizer.param_dict.items():
        factors["lr_mult"][index], factors["wd_mult"][index] = parameter.lr_mult, parameter.wd_mult
        factors["idx2name"][index] = parameter.name
    description["settings"].update({name: _written(value, name) for name, value in factors.items()})
    if optimizer._keeps_order:
        description["random"] = rng.generator().bit_generator.state
    return json.dumps(description)


def random_of(text: str) -> np.random.Generator | None:
    """The generator of random numbers as it was when ``described`` wrote a text, if its optimizer may draw any."""
    state = json.loads(text).get("random")
    return None if state is None else generator_from(state)


def generator_from(state: Any) -> np.random.Generator:  # Any: numpy's own description
    """The generator of random numbers in a state that ``bit_generator.state`` gave."""
    generator = np.random.default_rng()
    generator.bit_generator.state = state
    return generator


def restored(text: str, classes: Mapping[str, type[Optimizer]] | None = None) -> Optimizer:
    """The optimizer that ``described`` described.

    Parameters
    ----------
    text : str
    classes : dict of str to type, optional
        Classes by lower-case name, beside those that are registered.

    Raises
    ------
    SparsekitError
        If the text is not valid, or its class is not known.
    """
    try:
        return _restore(json.loads(text), {**registry, **(classes or {})})
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise SparsekitError(f"The optimizer cannot be made from its description: {type(error).__name__} {error}.",
                             hint="its class must be registered, and must need no arguments.") from error


def encoded_settings(settings: Mapping[str, object]) -> str:  # object: as in _written
    """Settings of an optimizer as text, sorted, so that the same settings are the same text.

    Raises
    ------
    SparsekitError
        If a setting is not of plain data.
    """
    return json.dumps({name: _written(settings[name], name) for name in sorted(settings)})


def applied_settings(optimizer: Optimizer, text: str) -> None:
    """Give an optimizer the settings of a text from ``encoded_settings``.

    Raises
    ------
    SparsekitError
        If the text is not valid, or names what is not a setting.
    """
    try:
        settings = {name: _read(value) for name, value in json.loads(text).items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise SparsekitError(f"The settings {text!r:.200} cannot be read.", hint="encoded_settings() writes them.") from error
    unknown = sorted(name for name in settings if name not in vars(optimizer) or name in _NOT_SAVED)
    if unknown:
        raise SparsekitError(f"{type(optimizer).__name__} has no settings {', '.join(unknown)}.",
                             hint="send attributes that the optimizer has.")
    _set(optimizer, settings)


# states and settings


class Progress(NamedTuple):
    """What an optimizer has counted and summed up so far: without it, training does not go on from the states as it would have.

    Attributes
    ----------
    counts : dict
        Values of attributes: the numbers of updates, and what the optimizer names in ``_counted``.
    sums : dict
        Sums of gradients that wait for the next step, by device and weight.
    """

    counts: dict[str, Any]  # Any: values of attributes
    sums: dict[int, dict[Index, NDArray]]

    @classmethod
    def of(cls, optimizer: Optimizer) -> Progress:
        """The progress of an optimizer."""
        names = ("begin_num_update", "_all_index_update_counts", *optimizer._counted)
        return cls({name: vars(optimizer)[name] for name in names if name in vars(optimizer)}, getattr(optimizer, "_sums", {}))

    def give(self, optimizer: Optimizer) -> None:
        """Have an optimizer go on from here."""
        _set(optimizer, {name: self.counts[name] for name in Progress.of(optimizer).counts if name in self.counts})
        optimizer._set_current_context(optimizer._device)
        if self.sums or hasattr(optimizer, "_sums"):
            optimizer._sums = {device: dict(sums) for device, sums in self.sums.items()}


def _as_is(index: Index, state: State) -> State:
    return state


def pack(states: Mapping[Index, State], optimizer: Optimizer | None, progress: Progress | None = None,
         turned: Callable[[Index, State], State] = _as_is) -> bytes:
    """Serialize the states, the progress and, unless it is None, the settings of the optimizer.

    ``turned`` gives the states and sums of a weight as the bytes are to have them.
    """
    arrays: list[NDArray] = []
    about: dict[str, Any] = {  # Any: JSON
        "states": [[key, encoded_state(turned(key, state), arrays)] for key, state in states.items()],
        "optimizer": None if optimizer is None else _describe(optimizer)}
    if progress is not None:
        about["counts"] = _written(progress.counts, "counts")
        about["sums"] = [[device, key, encoded_state(turned(key, total), arrays)]
                         for device, sums in progress.sums.items() for key, total in sums.items()]
    return state_files.pack(about, arrays)


def unpack(data: bytes) -> tuple[dict[Index, State], Optimizer | None]:
    """The states and the optimizer of ``unpack_all``."""
    return unpack_all(data)[:2]


def unpack_all(data: bytes, turned: Callable[[Index, State], State] = _as_is
               ) -> tuple[dict[Index, State], Optimizer | None, Progress | None]:
    """The states, the optimizer and the progress that ``pack`` serialized.

    Raises
    ------
    SparsekitError
        If the bytes are not valid.
    """
    try:
        about, arrays = state_files.unpack(data)
        states = {key: turned(key, decoded(state, arrays)) for key, state in about["states"]}
        progress = None
        if "counts" in about:
            progress = Progress(_read(about["counts"]), {})
            for device, key, total in about["sums"]:
                array: Any = turned(key, decoded(total, arrays))  # Any: a sum is one array
                progress.sums.setdefault(device, {})[key] = array
        return states, None if about["optimizer"] is None else _restore(about["optimizer"]), progress
    except (SparsekitError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise SparsekitError(f"The optimizer states cannot be read: {error}",
                             hint="check that the file is complete and that its optimizer is registered.") from error
