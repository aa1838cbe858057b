"""Raw-buffer kernels: ``cpu`` in numba, ``numpy`` in numpy and scipy, ``gpu`` in cupy and CUDA, mirrored file by file.

``for_device("cpu")`` gives the object that operators see as ``k``: its ``xp`` is the array
module, its other attributes are kernels, imported when first touched.  Those of the CPU are the ones in numpy where
``SPARSEKIT_KERNELS=numpy`` asks for them, and where numba is missing or does not work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from ..base.context import HOST
from ..base.errors import UnknownNameError
from ..base.forking import load
from .cpu.jit import listeners, numba_works, why_numpy

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from ..base.types import Array
    from .types import ArrayModule, Kernels

__all__ = ["NUMPY", "for_device", "host_file", "is_numpy", "loaded", "warm", "why_numpy"]

#: Which file holds which kernel; the same for every device.  The steps of optimizers are found by ``kernels_of``.
FILES = {
    "csr": (
        "csr_dot_dense", "csr_drop_absent", "csr_dot_csr", "csr_transposed_dot_dense", "csr_transposed_dot_row_sparse",
        "csr_transposed_dot_rows", "csr_sum_rows", "csr_sum_columns", "csr_row_scale", "csr_column_scale",
        "csr_add_csr", "csr_multiply_csr", "csr_add_dense",
    ),
    "activation": (
        "gelu", "gelu_backward", "layer_norm_backward_rows", "log_softmax_backward_rows",
        "relu_slope", "sigmoid", "softmax_backward_rows",
    ),
    "convert": ("csr_to_dense", "csr_to_rows", "dense_occupied_rows", "dense_to_csr"),
    "csr_product": ("csr_product",),
    "csr_select": (
        "csr_values_at", "csr_transpose", "csr_union", "csr_copy_rows", "csr_put_rows", "csr_column_bounds",
        "csr_column_steps", "csr_count_columns", "csr_take_columns", "csr_reshape", "csr_where",
        "csr_argmax",
    ),
    "dense": ("dense_dot_csr", "dense_dot_csr_transposed"),
    "embedding": ("sum_rows_grouped",),
    "normalize": ("layer_norm_rows", "log_softmax_rows", "softmax_rows"),
    "group": ("distinct", "group_columns", "outside", "row_ranks", "shared_rows", "unique_with_rank"),
    "recurrent": (
        "elman_backward", "elman_forward", "gru_backward", "gru_forward", "lstm_backward", "lstm_forward",
    ),
    "row_sparse": (
        "row_sparse_merge", "row_sparse_multiply", "add_rows", "copy_rows",
    ),
    "update": ("update_rows", "update_dense", "update_other_rows"),
    "update_adaptive": (),
}
_FILE_OF = {name: file for file, names in FILES.items() for name in names}

#: Files that hold steps of optimizers, whose names are those in the ``__all__`` of the file in ``cpu``.
STEPS = ("update", "update_adaptive")


def kernels_of(file: str) -> tuple[str, ...]:
    """The names of the kernels of a file."""
    steps = load(f"{__name__}.cpu.{file}").__all__ if file in STEPS else ()
    return FILES[file] + tuple(name for name in steps if name.endswith("_step"))


def _file_of(name: str) -> str:
    """The file that holds a kernel.

    Raises
    ------
    UnknownNameError
        If no kernel has this name.
    """
    file = _FILE_OF.get(name)
    if file is None and name.endswith("_step"):
        file = next((candidate for candidate in STEPS if name in kernels_of(candidate)), None)
    if file is None:
        raise UnknownNameError.of("kernel", name, [kernel for candidate in FILES for kernel in kernels_of(candidate)])
    return file


class DeviceKernels:
    """The kernels of one device, loaded one by one on first use; ``types.Kernels`` declares them one by one."""

    #: ``cpu.sums.sum_few`` once numba has been imported for another kernel: it takes a quarter of the time of numpy's ``reduce``
    #: on a small array.
    sum_few: Callable[[Array], Array | None] | None = None

    def __init__(self, device: str, xp: ArrayModule) -> None:
        self.device, self.xp = device, xp

    def __getattr__(self, name: str) -> Callable[..., Any]:  # Any: which kernel it is, is known at run time alone
        # Any: the same
        kernel: Callable[..., Any] = getattr(load(f"{__name__}.{_folder(self.device)}.{_file_of(name)}"), name)
        setattr(self, name, kernel)
        return kernel


#: numpy as operators see it; a cast, since its stubs have overloads where ArrayModule has one line.
NUMPY = cast("ArrayModule", np)


def is_numpy(xp: ArrayModule) -> bool:
    """Whether an array module is numpy, or notes what numpy would do."""
    return xp is NUMPY or getattr(xp, "notes_numpy", False)


_loaded: dict[str, Kernels] = {}


def _sum_by_numba(name: str, start: int, end: int) -> None:
    if name == "import numba" and numba_works():
        for_device("cpu").sum_few = load(f"{__name__}.cpu.sums").sum_few


listeners.append(_sum_by_numba)


#: Substitutes for the kernels of contexts that are not devices.
stand_ins: dict[str, Kernels] = {}


def for_device(device: str) -> Kernels:
    """The kernels of ``"cpu"`` or ``"gpu"``; the latter imports cupy."""
    kernels = _loaded.get(device)
    if kernels is None:
        if device in HOST and device != "cpu":
            return for_device("cpu")
        if device in stand_ins:
            return stand_ins[device]
        # The cast: cupy has no types.
        xp = NUMPY if device == "cpu" else cast("ArrayModule", load(f"{__name__}.gpu.arrays").Arrays())
        # The cast: __getattr__ declares no kernels.
        kernels = _loaded[device] = cast("Kernels", DeviceKernels(device, xp))
    return kernels


def _folder(device: str) -> str:
    return "numpy" if device == "cpu" and why_numpy() else device


def host_file(name: str) -> ModuleType:
    """A file of the CPU's kernels that no other device has, such as ``libsvm_read``."""
    return load(f"{__name__}.{_folder('cpu')}.{name}")


def loaded() -> tuple[str, ...]:
    """The devices whose kernels have been loaded."""
    return tuple(_loaded)


def warm() -> int:
    """Compile the CPU kernels for float32 values and int64 indices; returns how many.

    Compiled code is kept on disk (``NUMBA_CACHE_DIR``), so that later processes start fast.  For kernels in numpy, it imports
    the parts of scipy that they call.
    """
    if why_numpy():
        load(f"{__name__}.numpy.arrays").warm()
        return 0
    module = load(f"{__name__}.cpu.warm")
    return int(module.warm())
