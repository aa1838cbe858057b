"""Sparse arrays, automatic differentiation and Gluon layers with the interface of Apache MXNet 1.x, and a profiler.

The profiler records the storage types, bytes and density of the arrays of every operator::

    import sparsekit as mx

The import loads numpy only; numba, cupy and the notebook displays load on first use.
"""

from __future__ import annotations

import os
import sys as _sys
from typing import TYPE_CHECKING

from .base import errors as _errors
from .base.config import config
from .base.context import Context, cpu, cpu_pinned, current_context, gpu, num_gpus
from .base.errors import *  # noqa: F403 - the error classes are all public
from .base.forking import load as _load
from .base.lazy import OldModules as _OldModules
from .base.lazy import lazy as _lazy
from .base.version import __version__

#: Submodules and names that load on first use: name -> module, or module and attribute, below ``sparsekit``.
_LAZY = {
    "nd": "ndarray", "ndarray": "ndarray", "autograd": "autograd",
    "gluon": "gluon", "io": "io", "profiler": "profiler", "optimizer": "optimizer", "random": "random",
    "metric": "metric", "callback": "callback", "dist": "dist",
    "initializer": "initializer", "init": "initializer", "figures": "figures",
    "sym": "symbol", "symbol": "symbol", "AttrScope": "base.attributes:AttrScope",
    "datasets": "datasets", "lr_scheduler": "lr_scheduler", "kernels": "kernels",
    "engine": "engine", "kvstore": "kvstore", "kv": "kvstore", "module": "module", "mod": "module", "model": "model",
    "Profiler": "profiler:Profiler", "expect": "profiler:expect",
    "course": "course", "predict": "course:predict", "reveal": "course:reveal", "exercise": "course:exercise",
    "check": "course:check", "progress": "course:progress",
    "million_rows": "course:million_rows",
    "rnd": "random",
}

__all__ = ["Context", "__version__", "config", "cpu", "cpu_pinned", "current_context", "gpu", "num_gpus",
           *_errors.__all__, *_LAZY]


if TYPE_CHECKING:  # what loads on first use
    from . import (
        autograd,
        callback,
        course,
        datasets,
        dist,
        engine,
        figures,
        gluon,
        initializer,
        io,
        kernels,
        kvstore,
        lr_scheduler,
        metric,
        model,
        module,
        monitor,
        ndarray,
        operator,
        optimizer,
        profiler,
        random,
        rnn,
        symbol,
        test_utils,
    )
    from .base import attributes as _attributes
    from .base import context as context
    from .base import naming as _naming
    from .base.attributes import AttrScope as AttrScope
    from .compat import log as log
    from .compat import runtime as runtime
    from .compat import util as util
    from .compat import visualization as visualization
    from .compat.util import is_np_array as is_np_array
    from .compat.util import is_np_shape as is_np_shape
    from .compat.util import np_shape as np_shape
    from .compat.util import set_np_shape as set_np_shape
    from .compat.util import use_np_shape as use_np_shape
    from .course import check as check
    from .course import exercise as exercise
    from .course import million_rows as million_rows
    from .course import predict as predict
    from .course import progress as progress
    from .course import reveal as reveal
    from .profiler import Profiler as Profiler
    from .profiler import expect as expect
    from .symbol import executor as executor

    attribute = _attributes
    init = initializer
    kv = kvstore
    mod = module
    mon = monitor
    nd = ndarray
    name = _naming
    rnd = random
    sym = symbol
    viz = visualization
else:
    __getattr__, __dir__ = _lazy(globals(), _LAZY)
    _sys.meta_path.append(_OldModules)  # type checkers take OldModules for none of theirs


def load_ipython_extension(ipython: object) -> None:
    """Register the magics ``%profile`` and ``%needs``, for lines and cells, for ``%load_ext sparsekit``."""
    _load(".profiler.magics", __name__).load_ipython_extension(ipython)
    _load(".course.saved", __name__).load_ipython_extension(ipython)


if os.environ.get("SPARSEKIT_PROFILE", "0") not in ("", "0"):
    _load(".profiler.api", __name__).autostart()
