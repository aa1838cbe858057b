"""Modules: networks given as symbols, which are trained batch by batch: ``mx.mod``, ``mx.module``."""

from __future__ import annotations

from ..base.entry import doors
from .base_module import BaseModule
from .bucketing_module import BucketingModule
from .module import Module
from .python_module import PythonLossModule, PythonModule
from .sequential_module import SequentialModule

__all__ = ["BaseModule", "BucketingModule", "Module", "PythonLossModule", "PythonModule", "SequentialModule"]

doors(BaseModule, BucketingModule, Module, PythonModule, PythonLossModule, SequentialModule)
