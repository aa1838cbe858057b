"""Features of this installation, with the names of MXNet's build options: ``mx.runtime``."""

from __future__ import annotations

from typing import NamedTuple, Self

from ..base.context import num_gpus
from ..base.errors import UnknownNameError

__all__ = ["Feature", "Features", "feature_list"]

#: MXNet's build options, in the order of MXNet.
_NAMES = (
    "CUDA", "CUDNN", "NCCL", "CUDA_RTC", "TENSORRT", "CPU_SSE", "CPU_SSE2", "CPU_SSE3", "CPU_SSE4_1", "CPU_SSE4_2",
    "CPU_SSE4A", "CPU_AVX", "CPU_AVX2", "OPENMP", "SSE", "F16C", "JEMALLOC", "BLAS_OPEN", "BLAS_ATLAS", "BLAS_MKL",
    "BLAS_APPLE", "LAPACK", "MKLDNN", "OPENCV", "CAFFE", "PROFILER", "DIST_KVSTORE", "CXX14", "INT64_TENSOR_SIZE",
    "SIGNAL_HANDLER", "DEBUG", "TVM_OP",
)

#: Options that are always enabled: numpy's linear algebra, the profiler, and sizes of 64 bits.
_HERE = frozenset({"LAPACK", "PROFILER", "INT64_TENSOR_SIZE"})


class Feature(NamedTuple):
    """A build option of MXNet, and whether this library has the feature."""

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def feature_list() -> list[Feature]:
    """List all features; ``CUDA`` is enabled if a GPU is usable."""
    return [Feature(name, name in _HERE or (name == "CUDA" and num_gpus() > 0)) for name in _NAMES]


class Features(dict[str, Feature]):
    """A dict of the features by name; there is one, which every call returns.

    Examples
    --------
    >>> import sparsekit as mx
    >>> mx.runtime.Features().is_enabled("PROFILER")
    True
    """

    _made: Self | None = None

    def __new__(cls) -> Self:
        """The one that has been made, if one has."""
        if cls._made is None:
            cls._made = super().__new__(cls)
        return cls._made

    def __init__(self) -> None:
        super().__init__({feature.name: feature for feature in feature_list()})

    def is_enabled(self, feature_name: str) -> bool:
        """Whether a feature is enabled; names are case-insensitive."""
        name = feature_name.upper()
        if name not in self:
            raise UnknownNameError.of("feature", feature_name, self)
        return self[name].enabled

    def __repr__(self) -> str:
        return str(list(self.values()))
