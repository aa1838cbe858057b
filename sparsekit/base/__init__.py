"""What every other package uses: errors, contexts, settings, names, optional imports."""

from .errors import *  # noqa: F403 - the error classes are all public, as in mxnet.base
from .lazy import lazy as _lazy

__getattr__, __dir__ = _lazy(globals())
