"""Random graphs of operators on dense and sparse arrays, as data that can be made smaller and printed as a program."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import reference
from reference import FLOATS, NUMBERS, TYPES

import sparsekit.ndarray  # noqa: F401 - declares the operators
from sparsekit.core.op import find, registry

reference.fill_up(registry)

#: Values that floats are drawn from, beside random ones: signs, denormals, the largest numbers, what is not a number.
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-39, -1e-39, 3e38, 65504.0, 1e-7, np.nan, np.inf, -np.inf, 1e20)
ENDS = {"int8": (-128, 127), "uint8": (0, 255), "int32": (-(2**31), 2**31 - 1), "int64": (-(2**62), 2**62)}


@dataclasses.dataclass(frozen=True)
class Input:
    """An array given to a graph: its values, and how it is stored.

    Attributes
    ----------
    stored : numpy array of bool or None
        Which elements, or rows, a sparse array stores; what is not zero is stored anyway.
    index : str
        Element type of a sparse array's indices.
    layout : {"plain", "slice"}
        Whether a dense array is one of its own or a view of a larger one.
    """

    array: Any
    stype: str = "default"
    stored: Any = None
    index: str = "int64"
    layout: str = "plain"

    def text(self) -> str:
        """The expression that makes it."""
        x, kind = self.array, str(self.array.dtype)
        if self.stype == "default":
            if self.layout == "slice":
                return f"mx.nd.array({literal(np.concatenate([x, x]))}, dtype={kind!r})[{len(x)}:]"
            return f"mx.nd.array({literal(x)}, dtype={kind!r})"
        stored = (x != 0) | np.isnan(x.astype(float)) if self.stored is None else self.stored | (x != 0)
        if self.stype == "csr":
            row, column = np.nonzero(stored)
            starts = np.concatenate([[0], np.cumsum(stored.sum(1))])
            return (f"mx.nd.sparse.csr_matrix(({literal(x[row, column])}, {literal(column.astype(self.index))}, "
                    f"{literal(starts.astype(self.index))}), shape={x.shape}, dtype={kind!r}{self._index()})")
        rows = np.flatnonzero(stored.reshape(len(x), -1).any(1))
        return (f"mx.nd.sparse.row_sparse_array(({literal(x[rows])}, {literal(rows.astype(self.index))}), "
                f"shape={x.shape}, dtype={kind!r}{self._index()})")

    def _index(self) -> str:
        return "" if self.index == "int64" else f", index_dtype={self.index!r}"


@dataclasses.dataclass(frozen=True)
class Node:
    """One call: the operator's name in ``reference.table``, the names of its inputs, its attributes."""

    name: str
    op: str
    args: tuple[str, ...]
    attrs: dict[str, Any]
    count: int = 1

    @property
    def function(self) -> str:
        return self.op.partition(":")[0]

    def text(self, out: str = "") -> str:
        """The call as Python, with ``F`` for the namespace."""
        form = reference.table[self.op].write
        if form:
            return form.format(*self.args, **self.attrs)
        attrs = "".join(f", {name}={value!r}" for name, value in self.attrs.items())
        return f"F.{self.function}({', '.join(self.args)}{attrs}{out and f', out={out}'})"

    def results(self) -> list[str]:
        """Names of what it gives."""
        return [self.name] if self.count == 1 else [f"{self.name}[{place}]" for place in range(self.count)]


@dataclasses.dataclass(frozen=True)
class Graph:
    """Inputs by name, and calls in their order."""

    inputs: dict[str, Input]
    nodes: tuple[Node, ...]

    def lines(self) -> list[str]:
        """The graph as Python, with ``F`` for the namespace of the functions."""
        return [f"{node.name} = {node.text()}" for node in self.nodes]

    def ends(self) -> list[str]:
        """Names of the results that nothing else uses."""
        used = {arg for node in self.nodes for arg in node.args}
        return [name for node in self.nodes for name in node.results() if name not in used] or self.nodes[-1].results()

    def program(self) -> list[str]:
        """Lines that make the inputs."""
        return ["import numpy as np", "from numpy import array, inf, nan", "import sparsekit as mx", "F = mx.nd",
                *[f"{name} = {one.text()}" for name, one in self.inputs.items()]]


def literal(x: Any) -> str:
    """An array as Python."""
    if not x.size:
        return f"np.zeros({x.shape}, {str(x.dtype)!r})"
    return f"array({x.tolist()!r}, {str(x.dtype)!r})"


class Draw:
    """Chooses inputs and attributes for one call, from what a graph has so far or anew."""

    def __init__(self, rng: np.random.Generator, values: dict[str, Any], inputs: dict[str, Input]) -> None:
        self.rng, self.values, self.inputs = rng, values, inputs

    def choose(self, items):
        items = list(items)
        return items[int(self.rng.integers(len(items)))]

    def flip(self) -> bool:
        return bool(self.rng.random() < 0.5)

    def integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def permutation(self, count: int) -> list[int]:
        return [int(place) for place in self.rng.permutation(count)]

    def value(self, key: str):
        return self.values[key]

    def beside(self, shape):
        """A shape that broadcasts with this one."""
        shape = tuple(1 if self.rng.random() < 0.35 else size for size in shape)
        return shape[self.integer(0, len(shape) - 1) :] if self.rng.random() < 0.3 else shape

    def array(self, types=NUMBERS, low=None, high=None, shape=None, ndims=(1, 2, 2, 2, 3), finite=False, stype=None) -> str:
        """A value of the graph that fits, or a new input."""
        if stype is None and self.rng.random() < 0.6:
            fitting = [key for key, x in self.values.items() if str(x.dtype) in types
                       and (x.shape == tuple(shape) if shape is not None else x.ndim in ndims) and x.size
                       and fits(x, low, high, finite)]
            if fitting:
                return self.choose(fitting)
        shape = tuple(self.integer(1, 4) for _ in range(self.choose(ndims))) if shape is None else tuple(shape)
        kind = "float32" if "float32" in types and self.rng.random() < 0.3 else self.choose(types)
        return self.fresh(self.dense(shape, kind, low, high, finite), stype)

    def fresh(self, x, stype: str | None = None) -> str:
        """A new input of these values."""
        name = f"x{len(self.inputs)}"
        fitting = ["default"] * (1 if x.ndim == 2 else 2) + ["row_sparse"] * (x.ndim > 0) + ["csr"] * (x.ndim == 2)
        stype = stype or self.choose(fitting)
        stored = None
        if stype != "default" and self.rng.random() < 0.4:
            stored = self.rng.random(x.shape) < 0.3
        index = "int32" if self.rng.random() < 0.2 else "int64"
        layout = "slice" if self.rng.random() < 0.25 else "plain"
        self.inputs[name] = Input(x, stype, stored, index, layout)
        self.values[name] = x
        return name

    def dense(self, shape, kind, low=None, high=None, finite=False):
        """A numpy array of small and special numbers, half of them zeros where zero is allowed."""
        kind = np.dtype(kind)
        size = int(np.prod(shape))
        if kind.kind == "b":
            return self.rng.random(shape) < 0.5
        if kind.kind in "iu":
            bottom, top = (int(max(ENDS[kind.name][0], -9 if low is None else low)),
                           int(min(ENDS[kind.name][1], 9 if high is None else high)))
            x = self.rng.integers(min(bottom + (low == 0.1), top), top + 1, size)
            if low is None and high is None and self.rng.random() < 0.15:
                x[self.rng.integers(size)] = self.choose(ENDS[kind.name])
        else:
            bottom, top = max(-4.0, -4.0 if low is None else low), min(4.0, 4.0 if high is None else high)
            bottom, top = (bottom, top) if bottom < top else (low, low + 4)
            x = self.rng.uniform(bottom, top, size)
            if self.flip():
                x = np.clip(np.round(x * 2) / 2, bottom, top)
            if not finite and self.rng.random() < 0.3:
                fitting = [one for one in SPECIAL if one != one
                           or ((low is None or one >= low) and (high is None or one <= high))]
                x[self.rng.integers(size)] = self.choose(fitting)
        if low is None or low <= 0:
            x[self.rng.random(size) < self.choose([0.0, 0.5, 0.8])] = 0
        with np.errstate(all="ignore"):
            return x.astype(kind).reshape(shape)


def fits(x, low, high, finite) -> bool:
    """Whether all values lie where an operator takes them."""
    if x.dtype.kind == "b":
        return True
    with np.errstate(all="ignore"):
        y = x.astype(float)
        if finite and not np.isfinite(y).all():
            return False
        bad = np.isnan(y)
        return bool(((low is None) | bad | (y >= (-np.inf if low is None else low))).all()
                    and ((high is None) | bad | (y <= (np.inf if high is None else high))).all())


def make(rng: np.random.Generator, operators: tuple[str, ...] = ()) -> Graph:
    """A random graph of one to five calls, of these operators if any are named."""
    values: dict[str, Any] = {}
    inputs: dict[str, Input] = {}
    nodes: list[Node] = []
    names = operators or [name for name, entry in reference.table.items() for _ in range(3 if entry.value else 1)]
    while len(nodes) < int(rng.choice([1, 1, 2, 3, 5])):
        op = names[int(rng.integers(len(names)))]
        entry = reference.table[op]
        args, attrs = entry.draw(Draw(rng, values, inputs))
        made, kinds, _ = entry([values[arg] for arg in args], attrs)
        count = len(made) if entry.value else find(op).bind(attrs).visible
        node = Node(f"v{len(nodes)}", op, tuple(args), attrs, count)
        nodes.append(node)
        if entry.value is None:
            continue
        for name, one, kind in zip(node.results(), made, kinds, strict=True):
            if one.size and one.ndim <= 4:
                values[name] = rounded(one, kind)
    used = {arg for node in nodes for arg in node.args}
    return Graph({name: one for name, one in inputs.items() if name in used}, tuple(nodes))


def rounded(x, kind):
    """Values of a reference in an element type; what an integer type does not hold becomes 0."""
    with np.errstate(all="ignore"):
        if np.dtype(kind).kind in "iu" and x.dtype.kind == "f":
            ends = np.iinfo(kind)
            return np.where(np.isfinite(x) & (x > ends.min) & (x < ends.max), x, 0).astype(kind)
        return x.astype(kind)


__all__ = ["FLOATS", "NUMBERS", "TYPES", "Draw", "Graph", "Input", "Node", "fits", "literal", "make", "rounded"]
