"""Where arrays live: ``cpu()`` and ``gpu(i)``."""

from __future__ import annotations

import importlib.util
import sys
import threading
from typing import ClassVar

from .entry import entry
from .errors import DTypeError, GPUNotFound, UnknownNameError, expected
from .scoped import Innermost, Pushed

__all__ = ["HOST", "Context", "cpu", "cpu_pinned", "current_context", "gpu", "gpu_memory_info", "num_gpus"]

#: Types of devices whose memory is the machine's own; the last two are MXNet's names, and mean no other memory here.
HOST = frozenset({"cpu", "cpu_pinned", "cpu_shared"})


class Context(Pushed):
    """A device that holds arrays and runs operators; the same arguments give the same object.

    Parameters
    ----------
    device_type : {"cpu", "gpu", "cpu_pinned", "cpu_shared"} or Context
    device_id : int
        Number of the device, from 0.

    Examples
    --------
    >>> import sparsekit as mx
    >>> with mx.Context("cpu", 0):
    ...     mx.nd.zeros((2, 2)).context
    cpu(0)
    """

    __slots__ = ("device_id", "device_type")
    device_type: str
    device_id: int
    _known: ClassVar[dict[tuple[str, int], Context]] = {}
    #: MXNet's numbers of the types of devices.
    devtype2str: ClassVar[dict[int, str]] = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}
    devstr2type: ClassVar[dict[str, int]] = {name: number for number, name in devtype2str.items()}

    default_ctx = Innermost(lambda: _current.stack, "The innermost context of a ``with`` block, else ``cpu(0)``; setting it "
                            "replaces that one for the calling thread.")

    @entry
    def __new__(cls, device_type: str | Context = "cpu", device_id: int = 0) -> Context:  # noqa: PYI034 - one object a device
        """The one object of that device."""
        if isinstance(device_type, Context):
            return device_type
        if not isinstance(device_type, str) or (device_type != "gpu" and device_type not in HOST):
            raise UnknownNameError.of("device type", device_type, ("gpu", *sorted(HOST)))
        key = (device_type, int(device_id))
        context = cls._known.get(key)
        if context is None:
            context = super().__new__(cls)
            context.device_type, context.device_id = key
            context = cls._known.setdefault(key, context)
        return context

    @property
    def device_typeid(self) -> int:
        """MXNet's number of the type of the device, as in ``devstr2type``."""
        return self.devstr2type[self.device_type]

    def empty_cache(self) -> None:
        """Return the memory that cupy caches for this GPU to the device; the context of a CPU caches none."""
        if self.device_type == "gpu":
            number = require(self).device_id  # which says what is missing where there is no cupy
            cupy = importlib.import_module("cupy")
            with cupy.cuda.Device(number):
                cupy.get_default_memory_pool().free_all_blocks()

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    __str__ = __repr__

    def __reduce__(self) -> tuple[type[Context], tuple[str, int]]:
        return Context, (self.device_type, self.device_id)

    def _stack(self) -> list[Context]:
        return _current.stack


class _Current(threading.local):
    def __init__(self) -> None:
        self.stack: list[Context] = [Context("cpu", 0)]


_current: _Current = _Current()


def cpu(device_id: int = 0) -> Context:
    """The context of the host's memory and cores."""
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """MXNet's context for pinned memory; here it is ordinary memory of the host, under that name."""
    return Context("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Context:
    """The context of one GPU; creating arrays there needs cupy and the hardware."""
    return Context("gpu", device_id)


def current_context() -> Context:
    """The innermost context of a ``with`` block, else ``cpu(0)``."""
    return _current.stack[-1]


def set_default(ctx: Context) -> None:
    """Set the context of the calling thread outside of all ``with`` blocks."""
    _current.stack[0] = ctx


def num_gpus() -> int:
    """Number of GPUs that cupy can use; 0 without cupy."""
    if "cupy" not in sys.modules and importlib.util.find_spec("cupy") is None:
        return 0
    try:
        cupy = importlib.import_module("cupy")
        return int(cupy.cuda.runtime.getDeviceCount())
    except Exception:  # a broken driver may raise anything
        return 0


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Bytes that are free on a GPU, and how many it has.

    Raises
    ------
    GPUNotFound
        If that GPU is not here.
    """
    require(gpu(device_id))
    cupy = importlib.import_module("cupy")
    free, total = cupy.cuda.Device(device_id).mem_info
    return int(free), int(total)


def require(ctx: Context) -> Context:
    """Return ``ctx`` if arrays can be made there, else raise ``GPUNotFound``, or ``DTypeError`` if ``ctx`` is not a context."""
    if not isinstance(ctx, Context):
        raise DTypeError(expected("ctx", "a Context", ctx), hint="give mx.cpu() or mx.gpu(0).")
    if ctx.device_type == "gpu" and ctx.device_id >= num_gpus():
        raise GPUNotFound(
            f"{ctx} was asked for, but {num_gpus()} GPUs are usable here.",
            hint="use mx.cpu(), or install cupy for your CUDA version: "
            "python -m pip install 'sparsekit[cuda13]'; `sparsekit doctor` tells what is missing.",
        )
    return ctx
