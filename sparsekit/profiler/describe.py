"""Plain descriptions of recorded arrays, and figures computed from them."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from .allocations import COMPONENTS
from .columns import writable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ..base.types import JSON, Attrs, DType, Shape
    from .event_buffer import Operator
    from .types import ArrayRecord


class ArrayKey(NamedTuple):
    """All that a record says of an array, hashable: equal arrays are described once."""

    stype: str
    shape: Shape
    dtype: str
    nnz: int
    index_dtype: str | None
    components: tuple[tuple[str, int], ...]
    rows: int | None
    role: str = ""
    owner: str = ""


_dtypes: dict[int, tuple[DType, str, int]] = {}


def dtype_of(dtype: DType) -> tuple[DType, str, int]:
    """The dtype, its name and its size in bytes; cached, because numpy takes microseconds."""
    cached = _dtypes.get(id(dtype))
    if cached is None:
        cached = _dtypes[id(dtype)] = (dtype, str(dtype), int(dtype.itemsize))
    return cached


def size_of(entry: Any) -> int:  # Any: an entry that has an element type: it is dense, and its memory is known
    """Bytes of a dense array."""
    return int(math.prod(entry.shape)) * dtype_of(entry.dtype)[2]


# Any: an entry; a sparse one has parts, each of them dense
def key_of(entry: Any, role: str = "", owner: str = "") -> ArrayKey | None:
    """Describe an array that the recorder noted, and what it serves as; None for an input that was left out."""
    if entry.parts:
        parts = entry.parts
        components = tuple((name, size_of(part)) for name, part in zip(COMPONENTS.get(entry.stype, ()), parts, strict=False))
        rows = int(parts[1].shape[0]) if entry.stype == "row_sparse" else None
        return ArrayKey(entry.stype, entry.shape, dtype_of(parts[0].dtype)[1], int(math.prod(parts[0].shape)),
                        dtype_of(parts[1].dtype)[1], components, rows, role, owner)
    if entry.dtype is None:
        return None
    shape = tuple(entry.shape)
    return ArrayKey("default", shape, dtype_of(entry.dtype)[1], int(math.prod(shape)), None, (("data", size_of(entry)),), None,
                    role, owner)


def describe(key: ArrayKey) -> ArrayRecord:
    """The plain form in which a record holds an array."""
    size = math.prod(key.shape)
    density = 1.0 if key.stype == "default" else key.nnz / size if size else 0.0
    record: ArrayRecord = {
        "stype": key.stype, "shape": list(key.shape), "dtype": key.dtype, "nnz": key.nnz, "density": density,
        "index_dtype": key.index_dtype, "bytes": sum(size for _, size in key.components),
        "components": dict(key.components),
    }
    if key.rows is not None:
        record["rows"] = key.rows
    if key.role:
        record["role"] = key.role
    if key.owner:
        record["owner"] = key.owner
    return record


def storage(inputs: Sequence[ArrayRecord], outputs: Sequence[ArrayRecord]) -> str:
    """Storage types of a call: ``"csr, default -> default"``; empty for events that are not operators."""
    if not inputs and not outputs:
        return ""
    return " -> ".join(", ".join(array["stype"] for array in side) for side in (inputs, outputs)).strip()


def moved(inputs: Sequence[ArrayRecord], outputs: Sequence[ArrayRecord], everything: bool, in_place: bool = False) -> int:
    """Bytes moved by a call: each array that it reads, and each that it gives.

    Every array counts once, however often a kernel comes back to it, and with its indices if it is sparse.
    A kernel with a sparse operand visits of a dense array only the rows that the operand selects:
    at most one per stored value of CSR, one per stored row of row-sparse.  Of a weight that has the columns
    of a CSR operand as columns, as that of a fully connected layer has, it visits these columns.  This bound is used, so
    that a product with 100 rows out of a million does not count as moving the whole weight.
    ``everything`` says that the call visits all of it: after a fallback.  ``in_place`` says that the result is the first input,
    of which it then writes no more than it reads.
    """
    selected = _selected(inputs, outputs)
    if everything or selected is None:
        return sum(array["bytes"] for array in (*inputs, *outputs))
    dense = [] if in_place else [array["shape"] for array in outputs if array["stype"] == "default"]
    widths = {a["shape"][-1] for a in inputs if a["stype"] == "csr"}
    return (sum(_rows(array, selected) if in_place else array["bytes"] for array in outputs)
            + sum(a["bytes"] if a["shape"] in dense else _rows(a, selected, widths) for a in inputs))


def moved_in_place(inputs: Sequence[ArrayRecord], created: Sequence[ArrayRecord], reads: Mapping[int, int | None],
                   writes: Mapping[int, int | None]) -> int:
    """Bytes moved by a call that writes to inputs: each array that it reads, each that it writes, and ``created``, the new ones.

    So what it reads and writes, such as the weight and the states of an optimizer's step, counts twice.
    ``reads`` and ``writes`` are as ``core.op.Visits`` has them: where they name the row_sparse input that stores the rows
    visited, an array counts with so many rows.  What is written in place counts without indices, which stay as they are.
    """
    total = sum(array["bytes"] for array in created)
    for visited in (reads, writes):
        for place, rows in visited.items():
            total += _visited(inputs[place], None if rows is None else inputs[rows].get("rows", 0), place in writes)
    return total


def _visited(array: ArrayRecord, rows: int | None, in_place: bool) -> int:
    """Bytes of an array, or of so many of its rows."""
    if rows is None and not in_place:
        return int(array["bytes"])
    values, held = int(array["components"]["data"]), array.get("rows", array["shape"][0] if array["shape"] else 1)
    return values if rows is None or held <= rows else values // held * rows


def selected(inputs: Sequence[ArrayRecord], outputs: Sequence[ArrayRecord], place: int) -> int:
    """Bytes read and written by a call that reads of the input at ``place`` only what its results hold."""
    written = sum(array["bytes"] for array in outputs)
    return written + sum(min(array["bytes"], written) if at == place else array["bytes"] for at, array in enumerate(inputs))


def _selected(inputs: Sequence[ArrayRecord], outputs: Sequence[ArrayRecord]) -> int | None:
    counts = [a.get("rows", a["nnz"]) for a in (*inputs, *outputs) if a["stype"] != "default"]
    return max(counts) if any(a["stype"] != "default" for a in inputs) else None


def _rows(array: ArrayRecord, count: int, widths: Collection[int] = ()) -> int:
    """Bytes of ``count`` rows of a dense array, or of so many columns where these belong to the columns of CSR."""
    shape = array["shape"]
    if array["stype"] != "default" or not shape:
        return int(array["bytes"])
    slices = shape[-1] if len(shape) == 2 and shape[-1] in widths and shape[0] not in widths else shape[0]
    return int(array["bytes"]) if slices <= count else int(array["bytes"] // slices * count)


def flops(op: Operator, attrs: Attrs, inputs: list[ArrayRecord], outputs: list[ArrayRecord]) -> tuple[int, int]:
    """Useful and dense-equivalent operations by the operator's own formula; (0, 0) without one."""
    cost = getattr(op, "cost", None)
    if cost is None:
        return 0, 0
    try:
        useful, dense = cost(attrs, inputs, outputs)
    except (LookupError, TypeError, ValueError, ArithmeticError):
        # A formula that does not fit an unusual call must not cost the user the profile.
        return 0, 0
    return int(useful), int(dense)


def plain(value: object) -> JSON:  # object: an attribute, an argument or a mark of any kind
    """A value as JSON can write it; element types and the like become their names."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return writable(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {writable(str(name)): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, type):
        return value.__name__
    item = getattr(value, "item", None)
    if item is not None and not getattr(value, "shape", None) and hasattr(value, "dtype"):
        return plain(item())
    text = writable(str(value))
    # A dtype or a context has a short text; a text with an address differs from run to run.
    return type(value).__name__ if " at 0x" in text else text


def without_folders(value: JSON) -> JSON:
    """The same without the folders of files: a profile is shown to others."""
    if isinstance(value, str):
        return re.split(r"[/\\]", value)[-1] if re.match(r"(/|[A-Za-z]:[\\/]|\\\\)[^\s]", value) else value
    if isinstance(value, dict):
        return {name: without_folders(item) for name, item in value.items()}
    if isinstance(value, list):
        return [without_folders(item) for item in value]
    return value
