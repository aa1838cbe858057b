"""Modules, which train networks that are defined by symbols: ``mx.mod``, ``mx.module``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.entry import doors
from ..base.lazy import lazy
from .base_module import BaseModule
from .module import Module

__all__ = ["BaseModule", "BucketingModule", "Module", "PythonLossModule", "PythonModule", "SequentialModule"]

doors(BaseModule, Module)

if TYPE_CHECKING:
    from ..compat.module.bucketing_module import BucketingModule
    from ..compat.module.python_module import PythonLossModule, PythonModule
    from ..compat.module.sequential_module import SequentialModule
else:
    __getattr__ = lazy(globals(), {
        "BucketingModule": "compat.module.bucketing_module:BucketingModule",
        "PythonLossModule": "compat.module.python_module:PythonLossModule",
        "PythonModule": "compat.module.python_module:PythonModule",
        "SequentialModule": "compat.module.sequential_module:SequentialModule",
    })


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
