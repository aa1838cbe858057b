"""The nodes of a graph, read from untrusted plain data, and text about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..base.formatting import format_bytes, format_count, number

COLUMNS = ("operator", "name", "inputs", "result", "bytes", "becomes dense", "remedy")

#: Rows that a table of a graph has at most; those that fall back are always among them.
MOST_ROWS = 200

_ITEM_SIZES = {"float16": 2, "float32": 4, "float64": 8, "int8": 1, "uint8": 1, "int32": 4, "int64": 8, "bool": 1}


class Array(NamedTuple):
    """One output: what is known of it before it exists.

    Attributes
    ----------
    shape : tuple of int or None, or None
        None for a size that is not known, or where not even their number is.
    dtype, stype : str
        Empty if not known.
    index_bytes : int
        Bytes of one index of a sparse array.
    bytes : int or None
        Exact, of an array that exists.
    """

    shape: tuple[int | None, ...] | None
    dtype: str
    stype: str
    index_bytes: int = 8
    bytes: int | None = None

    @property
    def size(self) -> int | None:
        """Number of elements, None if not known."""
        if self.shape is None or None in self.shape:
            return None
        elements = 1
        for length in self.shape:
            elements *= length or 0
        return elements

    @property
    def item(self) -> int | None:
        """Bytes of one element, None if not known."""
        return _ITEM_SIZES.get(self.dtype)

    @property
    def known_bytes(self) -> int | None:
        """Bytes of the whole array, None where they are not known before it exists, as of a sparse one."""
        if self.bytes is not None or self.stype != "default" or None in (self.size, self.item):
            return self.bytes
        return (self.size or 0) * (self.item or 0)


class Fallback(NamedTuple):
    """What becomes dense because no kernel takes it.

    Attributes
    ----------
    what : str
        Which arrays: ``"data csr 10 × 1,000,000"``.
    bytes : int or None
        Bytes of the dense arrays that would be made; None if not known.
    remedy : str
    refused : bool
        Whether that is more than the limit allows, so that it would raise.
    """

    what: str
    bytes: int | None
    remedy: str
    refused: bool = False


class Node(NamedTuple):
    """An operator, or a variable, whose ``op`` is empty.

    Attributes
    ----------
    inputs : tuple of (int, int, str)
        Number of the node, which of its outputs, and what the operator calls it.
    fallback : Fallback or None
    result : Fallback or None
        A result that is dense by nature, not by a fallback, and beyond the limit.
    backward : tuple of Fallback
        What its gradient makes dense.
    gradient : str
        Storage type of a variable's gradient, empty if unknown or without a gradient.
    of : int
        Of a node of the backward pass, the number of the node that it belongs to; else -1.
    """

    name: str
    op: str
    inputs: tuple[tuple[int, int, str], ...]
    outputs: tuple[Array, ...]
    fallback: Fallback | None
    backward: tuple[Fallback, ...]
    gradient: str
    attrs: tuple[tuple[str, str], ...]
    result: Fallback | None = None
    of: int = -1

    @property
    def alarms(self) -> tuple[Fallback, ...]:
        """All that becomes dense at this node, forwards and backwards."""
        return (*(fallback for fallback in (self.fallback, self.result) if fallback is not None), *self.backward)


def _items(value: object) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _maps(value: object) -> list[Mapping[str, Any]]:
    return [item for item in _items(value) if isinstance(item, Mapping)]


def _whole(value: int | None) -> int | None:
    amount = number(value, -1.0)
    return int(amount) if amount >= 0 and not isinstance(value, bool) else None


def _array(value: Mapping[str, Any]) -> Array:
    shape = value.get("shape")
    sizes = tuple(_whole(size) for size in shape) if isinstance(shape, (list, tuple)) else None
    return Array(sizes, str(value.get("dtype") or ""), str(value.get("stype") or ""), _whole(value.get("index_bytes", 8)) or 8,
                 _whole(value.get("bytes")))


def _fallback(value: dict[str, Any] | None) -> Fallback | None:
    if not isinstance(value, Mapping):
        return None
    return Fallback(str(value.get("what", "")), _whole(value.get("bytes")), str(value.get("remedy", "")),
                    bool(value.get("refused")))


def read_graph(data: object) -> list[Node]:
    """Read ``{"nodes": [...]}``; what cannot be read is left out, and inputs come before what uses them."""
    nodes: list[Node] = []
    forward = 0
    for value in _maps(data.get("nodes") if isinstance(data, Mapping) else ()):
        attrs = value.get("attrs")
        backward = tuple(fallback for fallback in map(_fallback, _items(value.get("backward"))) if fallback is not None)
        of = _whole(value.get("of"))
        if of is None and forward == len(nodes):
            forward += 1  # the backward pass comes behind all of these
        nodes.append(Node(str(value.get("name", "")), str(value.get("op") or ""), tuple(_inputs(value, nodes)),
                          tuple(map(_array, _maps(value.get("outputs")))) or (Array(None, "", ""),),
                          _fallback(value.get("fallback")), backward, str(value.get("gradient") or ""),
                          tuple((str(key), str(text)) for key, text in attrs.items()) if isinstance(attrs, Mapping) else (),
                          _fallback(value.get("result")), of if of is not None and of < forward else -1))
    return nodes


def forward_half(nodes: Sequence[Node]) -> list[Node]:
    """The nodes before the first of the backward pass."""
    return list(nodes[:next((i for i, node in enumerate(nodes) if node.of >= 0), len(nodes))])


def both_halves(nodes: Sequence[Node]) -> list[Node]:
    """The nodes with what becomes dense in the backward pass at the nodes of that."""
    takers = {node.of: i for i, node in reversed([*enumerate(nodes)]) if node.of >= 0}
    return [node._replace(backward=nodes[node.of].backward) if takers.get(node.of) == i
            else node._replace(backward=()) if i in takers else node for i, node in enumerate(nodes)]


def _inputs(value: Mapping[str, Any], before: Sequence[Node]) -> Iterable[tuple[int, int, str]]:
    for entry in map(_items, _items(value.get("inputs"))):
        source, place = (_whole(entry[at]) if len(entry) > at else None for at in (0, 1))
        if source is not None and source < len(before):
            yield source, min(place or 0, len(before[source].outputs) - 1), str(entry[2]) if len(entry) > 2 else ""


# words


def shape_words(shape: Sequence[int | None] | None) -> str:
    """Write a shape in which sizes may not be known: ``"10 × ?"``."""
    if shape is None:
        return "shape not known"
    return " × ".join("?" if size is None else f"{size:,}" for size in shape) if shape else "scalar"


def array_words(array: Array) -> str:
    """Write storage type, shape and element type: ``"csr 10 × 1,000,000 float32"``."""
    return f"{array.stype or '?'} {shape_words(array.shape)} {array.dtype or '?'}"


def bytes_words(array: Array, bound: bool = True) -> str:
    """Write how large an array will be: exactly if dense or bound, else what each stored value or row takes.

    A bound of what it takes with every place stored follows if ``bound`` is set; without it the words are short.
    """
    if array.bytes is not None:
        return format_bytes(array.bytes)
    if array.item is None or array.shape is None:
        return "bytes not known"
    if array.stype in ("csr", "row_sparse"):
        each, fixed, most = _sparse_bytes(array)
        if each is None:
            return "bytes not known"
        words = f"{format_bytes(each)} per {'stored ' * bound}{'value' if array.stype == 'csr' else 'row'}"
        words += f" + {format_bytes(fixed)}" if fixed else ""
        return f"{words}, at most {format_bytes(most)}" if bound and most is not None else words
    return "bytes not known" if array.size is None else format_bytes(array.size * array.item)


def _sparse_bytes(array: Array) -> tuple[int | None, int, int | None]:
    """Bytes of each stored value or row, of what is there in any case, and of all with every place stored."""
    item, shape, index = array.item or 0, array.shape or (), array.index_bytes
    first = shape[0] if shape else None
    if array.stype == "csr":
        fixed = 0 if first is None else index * (first + 1)
        return item + index, fixed, None if array.size is None else array.size * (item + index) + fixed
    row = array._replace(shape=shape[1:]).size
    each = None if row is None else row * item + index
    return each, 0, None if each is None or first is None else first * each


def cost(fallbacks: Iterable[Fallback]) -> str:
    """Write how many bytes become dense, ``"512 MB dense"``; sizes that are not known are said to be so."""
    listed = list(fallbacks)
    sizes = [fallback.bytes for fallback in listed if fallback.bytes is not None]
    if not sizes:
        return "dense bytes not known"
    return f"{'' if len(sizes) == len(listed) else 'at least '}{format_bytes(sum(sizes))} dense"


#: Storage types that only tensors of PyTorch have.
_OF_PYTORCH = ("coo", "csc", "bsr", "bsc")


def finding(nodes: Sequence[Node]) -> str:
    """State what a graph would do: how many operators fall back, at what cost, and which arrays are sparse."""
    nodes = forward_half(nodes)
    operators = [node for node in nodes if node.op]
    if not operators:
        return f"A graph of {_many(len(nodes), 'variable')} and no operators."
    words = _fallbacks(operators)
    stypes = Counter(array.stype for node in nodes for array in node.outputs)
    names = {"csr": "csr", "row_sparse": "row-sparse", **{name: name for name in _OF_PYTORCH}, "default": "dense"}
    parts = [f"{format_count(stypes[stype])} {name}" for stype, name in names.items() if stypes[stype]]
    return f"{words} Arrays: {', '.join(parts)}." if parts else words


def _many(count: int, noun: str) -> str:
    return f"{format_count(count)} {noun}{'' if count == 1 else 's'}"


def _fallbacks(operators: Sequence[Node]) -> str:
    forward = [node for node in operators if node.fallback]
    backward = [node for node in operators if node.backward]
    total = _many(len(operators), "operator")
    words = []
    if not forward and not backward:
        words = ["The one operator does not fall back." if len(operators) == 1 else f"None of {total} falls back."]
    for nodes, arrays, where in ((forward, [node.fallback for node in forward if node.fallback], ""),
                                 (backward, [fallback for node in backward for fallback in node.backward],
                                  " in the backward pass")):
        if nodes:
            largest = sorted(nodes, key=lambda node: -sum(fallback.bytes or 0 for fallback in node.alarms))[:3]
            named = ", ".join(node.name for node in largest) + (" …" if len(nodes) > 3 else "")
            verb = "falls" if len(nodes) == 1 else "fall"
            subject = f"{format_count(len(nodes))} of {total}" if len(operators) > 1 else "The one operator"
            words.append(f"{subject} {verb} back{where}, {cost(arrays)}: {named}.")
    natural = [node for node in operators if node.result]
    if natural:
        verb = "has a result that is" if len(natural) == 1 else "have results that are"
        words.append(f"{format_count(len(natural))} {verb} dense by nature, {cost([n.result for n in natural if n.result])}: "
                     f"{', '.join(node.name for node in natural[:3])}{' …' if len(natural) > 3 else ''}.")
    refused = sum(any(fallback.refused for fallback in node.alarms) for node in operators)
    if refused:
        words.append(f"{format_count(refused)} of these would raise: more than the limit allows.")
    return " ".join(words)


def table_rows(nodes: Sequence[Node]) -> list[tuple[str, ...]]:
    """The table that says the same as the picture, a row for each node; long ones keep what falls back."""
    kept = [node for node in nodes if node.alarms] if len(nodes) > MOST_ROWS else list(nodes)
    if len(nodes) > MOST_ROWS:
        room = max(0, MOST_ROWS - len(kept))
        others = {id(node) for node in [node for node in nodes if not node.alarms][:room]}
        kept = [node for node in nodes if node.alarms or id(node) in others]
    rows = [_row(node, nodes) for node in kept]
    if len(kept) < len(nodes):
        rows.append((f"{format_count(len(nodes) - len(kept))} others", "none of them falls back", "", "", "", "", ""))
    return rows


def _row(node: Node, nodes: Sequence[Node]) -> tuple[str, ...]:
    inputs = ", ".join(f"{name} {nodes[source].name} ({nodes[source].outputs[place].stype or '?'})".strip()
                       for source, place, name in node.inputs)
    results = "; ".join(map(array_words, node.outputs)) + (f"; gradient {node.gradient}" if node.gradient else "")
    dense = "; ".join([f"{fallback.what}: {cost([fallback])}{', would raise' if fallback.refused else ''}"
                       for fallback in node.alarms])
    return (node.op or "variable", node.name, inputs, results, "; ".join(map(bytes_words, node.outputs)), dense,
            "; ".join(dict.fromkeys(fallback.remedy for fallback in node.alarms)))
