"""Operators of ``mx.sym.op``.

Written by ``python tests/stubs.py`` from the registry of operators; a test compares it with that.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from ..base.context import Context
from ..base.types import DTypeLike
from .symbol import Symbol
from ..compat.symbol.custom import Custom as Custom
from .operators import *

_Out: TypeAlias = object

