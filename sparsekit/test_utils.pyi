"""For type checkers: the module that ``compat`` has of this name."""

from .compat.test_utils import *
