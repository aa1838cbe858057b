"""Private helpers of MXNet that programs import: those with which custom losses, datasets and loaders begin."""

from __future__ import annotations

import contextlib
import os
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING

from ..base.errors import DTypeError
from .base import numeric_types

if TYPE_CHECKING:
    from ..core.types import Functions, Tensor

__all__ = ["ForkingPickler", "apply_weighting", "replace_file", "repo_file_url", "repo_url"]


def apply_weighting(F: Functions, loss: Tensor, weight: float | None = None, sample_weight: Tensor | None = None) -> Tensor:
    """Multiply losses by the weights of the samples, with broadcasting, and by the weight of the loss."""
    if sample_weight is not None:
        loss = F.broadcast_mul(loss, sample_weight)
    if weight is None:
        return loss
    if not isinstance(weight, numeric_types):
        raise DTypeError(f"weight must be a number, not a {type(weight).__name__}.", hint="weights of samples are sample_weight.")
    return loss * weight


def repo_url() -> str:
    """The address of MXNet's repository of datasets and models, or ``MXNET_GLUON_REPO``; it ends with a slash."""
    return f"{os.environ.get('MXNET_GLUON_REPO', 'https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com').rstrip('/')}/"


def repo_file_url(namespace: str, filename: str) -> str:
    """The address of a file of that repository."""
    return f"{repo_url()}{namespace}/{filename}"


def replace_file(src: str, dst: str) -> None:
    """Rename a file to ``dst``, in one step; if that fails, delete it and raise an ``OSError``."""
    try:
        os.replace(src, dst)
    except OSError:
        with contextlib.suppress(OSError):
            os.remove(src)
        raise
