"""The settings of the library, validated when they are set."""

from __future__ import annotations

from typing import ClassVar

from .errors import UnknownNameError, expected
from .scoped import Assigned


class Config:
    """The settings of this process; ``sparsekit.config`` is the only one.

    Attributes
    ----------
    densify : {"warn", "error", "allow"}
        What to do when an operation implicitly makes a sparse array dense.  ``"error"`` raises ``DensificationError`` for
        every conversion that the ledger would list: fallbacks, where no sparse kernel fits, and what is dense by nature, such
        as ``csr + 1``.  ``"warn"`` (default) warns of fallbacks, once per operator and combination of storage types; what is
        dense by nature does not warn, as in MXNet.  ``"allow"`` is silent.
    densify_limit : int
        Bytes; one silent conversion that would make more than this raises, whatever
        ``densify`` says short of ``"allow"``.  Default 1 GiB.
    line_limit : int
        Bytes that one line of a text file may have for ``LibSVMIter``, ``load_libsvm`` and ``CSVIter``, decompressed.
        Reading a line takes some ten times as much memory.  Default 64 MiB.
    batch_limit : int
        Bytes that one batch of ``LibSVMIter`` or ``CSVIter`` may take.  Default 4 GiB.
    check_format : bool
        Validate the components of sparse arrays on construction, O(nnz).  Default True.
    cuda_graphs : bool
        Let hybridized blocks on a GPU replay captured CUDA graphs.  Default True.
    tables : bool
        Let hybridized blocks on a CPU run as tables of compiled calls, without Python between their operators.  Default True.
    indices : {"warn", "error", "allow"}
        What to do about an embedding id or a class label that is outside its axis, which MXNet clips to the nearest
        end, and about integers that lose digits in a float array: warn once per line (default), raise
        ``RowIndexError``, or stay silent.
    log_storage_types : bool or None
        Print the storage types of every operator when a symbol is bound, to the standard error stream.  None, the
        default, does what the environment variable MXNET_INFER_STORAGE_TYPE_VERBOSE_LOGGING says.
    """

    _choices: ClassVar[dict[str, tuple[bool | str | None, ...]]] = {
        "densify": ("warn", "error", "allow"), "check_format": (True, False), "cuda_graphs": (True, False),
        "tables": (True, False),
        "indices": ("warn", "error", "allow"), "log_storage_types": (None, True, False)}
    _sizes: ClassVar[tuple[str, ...]] = ("densify_limit", "line_limit", "batch_limit")
    _names: ClassVar[tuple[str, ...]] = ("batch_limit", "check_format", "cuda_graphs", "densify", "densify_limit", "indices",
                                         "line_limit", "log_storage_types", "tables")
    #: Those that rules of operators read: what was lowered under others is lowered anew.
    _read_by_rules: ClassVar[tuple[str, ...]] = ("densify", "densify_limit", "indices")
    __slots__ = (*_names, "decisive")
    decisive: tuple[str | int | None, ...]

    def __init__(self) -> None:
        self.densify = "warn"
        self.densify_limit = 1 << 30
        self.line_limit = 1 << 26
        self.batch_limit = 1 << 32
        self.check_format = True
        self.cuda_graphs = True
        self.tables = True
        self.indices = "warn"
        self.log_storage_types: bool | None = None

    def __setattr__(self, name: str, value: int | str) -> None:
        if name not in self._names:
            raise UnknownNameError.of("setting", name, self._names)
        choices = self._choices.get(name)
        if choices and value not in choices:
            raise UnknownNameError.of(f"value of config.{name}", value, map(str, choices))
        if name in self._sizes and (not isinstance(value, int) or value < 0):
            raise UnknownNameError(expected(f"config.{name}", "a number of bytes", value), hint="1 << 30 is 1 GiB.")
        object.__setattr__(self, name, value)
        if name in self._read_by_rules:
            object.__setattr__(self, "decisive", tuple([getattr(self, read, None) for read in self._read_by_rules]))

    def set(self, **settings: str | int) -> Assigned:
        """Change settings inside a ``with`` block, whose target is the configuration."""
        for name in settings:
            if name not in self._names:
                raise UnknownNameError.of("setting", name, self._names)
        return Assigned(self, **settings)

    def __repr__(self) -> str:
        return "Config(" + ", ".join(f"{name}={getattr(self, name)!r}" for name in self._names) + ")"


config = Config()
