"""Modules, which train networks that are defined by symbols: ``mx.mod``, ``mx.module``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.entry import entry_classes
from ..base.lazy import add_lazy_names
from .base_module import BaseModule
from .module import Module

__all__ = ["BaseModule", "BucketingModule", "Module", "PythonLossModule", "PythonModule", "SequentialModule"]

entry_classes(BaseModule, Module)

if TYPE_CHECKING:
    from ..compat.module.bucketing_module import BucketingModule
    from ..compat.module.python_module import PythonLossModule, PythonModule
    from ..compat.module.sequential_module import SequentialModule

add_lazy_names(globals())
