"""Types of annotations."""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict

#: What a data loader gives: data, labels, and perhaps more.
Loaded: TypeAlias = Any
#: What JSON of a file holds, and what it stands for.
Saved: TypeAlias = Any
#: An argument as a user gave it, which is checked.
Given: TypeAlias = Any
#: A class, and instances of it.
Kind: TypeAlias = Any
#: Data, labels, predictions and losses, with an array for each context.
Outcome: TypeAlias = tuple[list[Any], list[Any], list[Any], list[Any]]


class BatchEvent(TypedDict, total=False):
    """What handlers are given after a batch."""

    batch: Any
    pred: list[Any]
    label: list[Any]
    loss: list[Any]
