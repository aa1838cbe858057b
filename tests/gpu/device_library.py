"""The device functions of every GPU kernel, with the signatures they are checked for."""

from __future__ import annotations

import importlib

from sparsekit.kernels import FILES
from sparsekit.kernels.gpu import formulas, launch

#: C++ types of values and of indices that are compiled: all values with wide indices, float32 with narrow ones too.  Steps of
#: optimizers get float16 as float32 copies, and recurrent layers compute in single precision at least.
VALUES = ("Half", "float", "double")
INDICES = ("int", "long long")
SUMS = {"Half": "float"}
WIDE = {"elman_forward", "elman_backward", "lstm_forward", "lstm_backward", "gru_forward", "gru_backward"}


def kernels() -> dict[str, launch.Kernel]:
    """Every device function, by name."""
    for file in (*FILES, "arrays", "formulas", "grouped"):
        importlib.import_module(f"sparsekit.kernels.gpu.{file}")
    return launch.KERNELS


def kinds_of(kernel: launch.Kernel, value: str, index: str) -> tuple[str, ...]:
    """The C++ types of its parameters for such values and indices."""
    types = {"data": value, "index": index, "pointer": index, "place": "long long", "part": SUMS.get(value, value)}
    kinds = []
    for word in kernel.parameters:
        name = types.get(word.rstrip("*"))
        if name is None:
            kinds.append({"count": "long long", "number": "double"}.get(word, word))
        else:
            kinds.append(f"{name}*" if word.endswith("*") else f"const {name}*")
    return tuple(kinds)


def suited(value: str) -> list[str]:
    """The device functions that take values of a type, as numpy names it."""
    real = {*formulas.FORMULAS, "gelu", "gelu_backward", "softmax", "softmax_backward", "sum_powers", "sum_slopes", "dot_tiles",
            "layer_norm", "layer_norm_backward", "piece_moments", "piece_slopes"}
    wide = {name for name in kernels() if name in WIDE or name.endswith("_step")}
    return sorted(set(kernels()) - (set() if value == "float64" else wide) - (real if value.startswith("int") else set()))


def signatures(name: str, values: tuple[str, ...] = VALUES) -> list[tuple[str, ...]]:
    """All signatures that one device function is checked for."""
    kernel = kernels()[name]
    wide = name in WIDE or name.endswith("_step")
    pairs = [(value, INDICES[1]) for value in values if not (wide and value == "Half")]
    pairs += [("float", INDICES[0])]
    found = [kinds_of(kernel, value, index) for value, index in pairs]
    return list(dict.fromkeys(found))


def program(names: list[str], values: tuple[str, ...] = VALUES) -> tuple[str, dict[tuple[str, tuple[str, ...]], str]]:
    """One source with an entry point for each function and signature, and the symbols of these."""
    symbols = {(name, kinds): f"run_{name}_{number}" for name in names for number, kinds in enumerate(signatures(name, values))}
    parts = [launch.library(), *(launch.entry_point(name, kinds, symbol) for (name, kinds), symbol in symbols.items())]
    return "\n".join(parts), symbols
