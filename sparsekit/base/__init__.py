"""What every other package uses: errors, contexts, settings, names, optional imports."""

from .errors import *  # noqa: F403 - the error classes are all public, as in mxnet.base
from .lazy import lazy as _lazy

__getattr__ = _lazy(globals(), {name: f"compat.base:{name}" for name in (
    "classproperty", "integer_types", "mx_real_t", "numeric_types", "py_str", "string_types")})
