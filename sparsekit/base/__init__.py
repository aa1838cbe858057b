"""What every other package uses: errors, contexts, settings, names, optional imports."""

from .errors import *  # noqa: F403 - the error classes are all public, as in mxnet.base
from .lazy import add_lazy_names as _add_lazy_names

_add_lazy_names(globals())
