"""For type checkers: the module that ``compat`` has of this name, which exports the names of two."""

from .compat.test_checks import *
from .compat.test_utils import *
