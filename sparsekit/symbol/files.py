"""Symbols as JSON, in MXNet 1.x's layout; reading executes nothing, and errors name the problem and the place."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..base.errors import DataFileError, DTypeError, FileFormatError, SparsekitError, expected
from ..base.files import path_of, write_whole
from ..base.lazy import old
from ..core.op import Op
from ..core.partial_shapes import meaning, to_user
from . import attr_text
from .compose import complete_inputs
from .mxnet_names import HIDDEN, PASSED_OVER, Spelling, adjusted, is_known, output_names, spelling_of
from .node import Entry, SymbolNode, copied, order, rebuilt, states_of
from .shapes import declared

if TYPE_CHECKING:
    from pathlib import Path

#: The most characters of a symbol: a thousand layers take about a megabyte.
LARGEST = 1 << 28

_VERSION = 10901
#: Operators that hold graphs or run Python.
COMPOSITES = ("_foreach", "_while_loop", "_cond", "Custom")

_SEVERAL = frozenset({"concat", "add_n", "stack", "khatri_rao"})


# writing


def write(heads: Sequence[Entry], remove_amp_cast: bool = True) -> str:
    """A graph as the text that MXNet 1.9.1 writes."""
    if remove_amp_cast:
        heads = rebuilt(heads, _without_casts)
    version = f'"mxnet_version": ["int", {_VERSION}]'
    attrs = f'{{\n    "is_np_shape": ["int", 1], \n    {version}\n  }}' if meaning.zero_is_a_size else f"{{{version}}}"
    return f'{_graph(heads)}, \n  "attrs": {attrs}\n}}'


def _graph(heads: Sequence[Entry]) -> str:
    """A graph, or one inside a node, without what closes it."""
    nodes = order(heads)
    numbers = {node: number for number, node in enumerate(nodes)}
    rows = [0]
    for node in nodes:
        rows.append(rows[-1] + _outputs(node))
    leaves = [number for number, node in enumerate(nodes) if node.call is None]
    entries = [f"[{numbers[node]}, {place}, 0]" for node, place in heads]
    versions: dict[SymbolNode, int] = {}
    described = ", \n".join(_node(node, numbers, versions) for node in nodes)
    return (f'{{\n  "nodes": [\n{described}\n  ], \n  "arg_nodes": {_list(leaves)}, \n  "node_row_ptr": {_list(rows)}, \n'
            f'  "heads": {_list(entries)}')


def _without_casts(node: SymbolNode, inputs: list[Entry]) -> Entry | SymbolNode:
    """Casts of automatic mixed precision between operators are left out; a result that is one stays."""
    return copied(node, [source.inputs[0] if source.call is not None and source.call.op.name == "amp_cast" else (source, place)
                         for source, place in inputs])


def _outputs(node: SymbolNode) -> int:
    if node.call is None:
        return 1
    return len(output_names(node.written, node.call))


def _list(items: Sequence[Any], indent: str = "  ") -> str:
    """A list on one line, or of more than ten items on as many, as MXNet writes it."""
    if len(items) <= 10:
        return f"[{', '.join(map(str, items))}]"
    inner = f", \n{indent}  ".join(map(str, items))
    return f"[\n{indent}  {inner}\n{indent}]"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)  # MXNet reads no escapes beyond those of quotes and lines


def _versions(node: SymbolNode, versions: dict[SymbolNode, int]) -> list[int]:
    """How often each input had been written to when the operator was done: MXNet's order of reading and writing states."""
    for place in states_of(node):
        source = node.inputs[place][0]
        versions[source] = versions.get(source, 0) + 1
    return [versions.get(source, 0) for source, _ in node.inputs]


def _node(node: SymbolNode, numbers: dict[SymbolNode, int], versions: dict[SymbolNode, int]) -> str:
    attrs = {**node.params, **node.attrs}
    if node.call is not None and node.call.op.name in _SEVERAL:
        attrs["num_args"] = str(len(node.inputs))
    lines = [f'      "op": {_text(node.written)}', f'      "name": {_text(node.name)}']
    pairs = [f"{_text(name)}: {_text(attrs[name])}" for name in sorted(attrs)]
    if len(pairs) == 1:
        lines.append(f'      "attrs": {{{pairs[0]}}}')
    elif pairs:
        lines.append('      "attrs": {\n        ' + ", \n        ".join(pairs) + "\n      }")
    inputs = [f"[{numbers[source]}, {place}, {version}]" for (source, place), version in
              zip(node.inputs, _versions(node, versions), strict=True)]
    lines.append(f'      "inputs": {_list(inputs, "      ")}')
    inner = getattr(node.call and node.call.op, "graphs", ())
    graphs = [textwrap.indent(f"{_graph(graph.heads)}\n}}", " " * 8) for graph in inner]
    if graphs:
        lines.append('      "subgraphs": [\n' + ", \n".join(graphs) + "\n      ]")
    return "    {\n" + ", \n".join(lines) + "\n    }"


def write_file(path: str | Path, heads: Sequence[Entry], remove_amp_cast: bool = True) -> None:
    """Write a file that appears under its name when it is complete."""
    write_whole(_path(path), write(heads, remove_amp_cast).encode())


def _path(path: object) -> str:
    if isinstance(path, bytes):
        raise DTypeError("fname must be str, got bytes.", hint="fname required to be string.")
    return path_of(path)


# reading


def read_file(path: str | Path) -> list[Entry]:
    """The graph in a file."""
    path = _path(path)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(LARGEST + 1)  # a larger one is refused below, without being read to its end
    except FileNotFoundError as error:
        raise DataFileError(f"{path} does not exist.", hint="symbols are saved as NAME-symbol.json.") from error
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path} is not text: {error.reason} at byte {error.start}.",
                              hint="parameters, in files .params, are read by mx.nd.load.") from error
    except OSError as error:
        raise DataFileError(f"{path} cannot be read: {error.strerror}.", hint="give the file of a symbol.") from error
    return read(text, path)


def read(text: str, source: str = "The text") -> list[Entry]:
    """The graph that a text describes: ours, or MXNet's of any 1.x version and the older layouts that it reads.

    Raises
    ------
    FileFormatError
        If it is truncated, not valid JSON, or does not describe a graph; the message names the node.
    """
    if not isinstance(text, str):
        raise DTypeError(expected("json_str", "a str of JSON", type(text)), hint="give a str; mx.sym.load reads files.")
    if len(text) > LARGEST:
        raise FileFormatError(f"{source} has {len(text):,} characters, more than a symbol may have.",
                              hint="check that it is the file of a symbol.")
    try:
        document = json.loads(text)
    except RecursionError:
        raise FileFormatError(f"{source} is nested too deeply.",
                              hint="check that it is the file of a symbol, whose nodes form one list.") from None
    except ValueError as error:
        raise FileFormatError(f"{source} is not valid JSON: {error}.", hint="it may be cut off; symbols are saved by Symbol.save."
                              ) from None
    try:
        return _Reader(document, source).heads()
    except RecursionError:
        raise FileFormatError(f"{source} nests subgraphs too deeply.", hint="check that it was written by Symbol.save.") from None


class _Reader:
    """One document, checked while its nodes are made."""

    def __init__(self, document: object, source: str) -> None:
        self.source = source
        if not isinstance(document, dict):
            raise self._wrong(f"holds a {type(document).__name__}, not the nodes of a graph")
        self.descriptions, self.document = self._need(document, "nodes", list), document
        self.nodes: list[SymbolNode] = []
        #: Whether a size of 0 in the document is unknown, which -1 says where zero is a size.
        self.renames_zero = meaning.zero_is_a_size and not _is_np_shape(document)

    def _wrong(self, what: str, hint: str = "it was damaged, or written by something else.") -> FileFormatError:
        return FileFormatError(f"{self.source} {what}.", hint=hint)

    def _need(self, holder: dict[str, Any], key: str, kind: type) -> Any:
        value = holder.get(key)
        if not isinstance(value, kind):
            raise self._wrong(f"has no {key}" if value is None else f"has a {type(value).__name__} for {key}")
        return value

    def heads(self) -> list[Entry]:
        for number, described in enumerate(self.descriptions):
            if not isinstance(described, dict):
                raise self._wrong(f"has a {type(described).__name__} for node {number}")
            name = self._need(described, "name", str)
            where = f"node {number} {name!r:.80}"
            self.nodes.append(self._node(described, name, where))
        entries = [self._entry(entry, "its heads", len(self.nodes)) for entry in self._need(self.document, "heads", list)]
        if not entries:
            raise self._wrong("has no heads")
        return entries

    def _attributes(self, described: dict[str, Any], where: str) -> dict[str, str]:
        """Attributes under any of the keys that versions of MXNet have used."""
        attributes: dict[str, str] = {}
        for key in ("param", "attr", "attrs"):
            held = described.get(key, {})
            if not isinstance(held, dict) or not all(isinstance(value, str) for value in held.values()):
                raise self._wrong(f"has attributes of {where} that are not strings", "attributes map names to strings.")
            attributes.update(held)
        return attributes

    def _node(self, described: dict[str, Any], name: str, where: str) -> SymbolNode:
        attrs = self._attributes(described, where)
        op_name = self._need(described, "op", str)
        inputs = [self._entry(entry, where, len(self.nodes)) for entry in self._need(described, "inputs", list)]
        if op_name == "null":
            if inputs:
                raise self._wrong(f"gives inputs to {where}, a variable")
            params = {key: value for key, value in attrs.items() if not _is_own(key)}
            if self.renames_zero and "__shape__" in attrs:
                attrs["__shape__"] = str(to_user(declared(attrs["__shape__"], name, True)))
            return SymbolNode(name, params=params, attrs=_hidden({k: v for k, v in attrs.items() if _is_own(k)}))
        if op_name in COMPOSITES:
            return self._composite(op_name, described, name, attrs, inputs, where)
        if not is_known(op_name):
            raise self._wrong(f"has {where} with the operator {op_name!r:.80}, which is not here",
                              "DIFFERENCES.md lists what is; convolutions, pooling and image operators are not.")
        return self._operator(spelling_of(op_name), name, attrs, inputs, where)

    def _composite(self, op_name: str, described: dict[str, Any], name: str, attrs: dict[str, str], inputs: list[Entry],
                   where: str) -> SymbolNode:
        """An operator that holds graphs, or that ``mx.operator`` knows."""
        inner = described.get("subgraphs", [])
        if not isinstance(inner, list):
            raise self._wrong(f"has a {type(inner).__name__} for subgraphs of {where}")
        graphs = [_Reader(graph, f"{self.source}: a graph in {where}").heads() for graph in inner]
        params = {key: value for key, value in attrs.items() if not _is_own(key)}
        try:
            op = old(__name__, op_name)(params, graphs, len(inputs))
        except FileFormatError:
            raise
        except SparsekitError as error:
            raise self._wrong(f"has {where} that cannot be made: {error.message.rstrip('.')}", error.hint) from None
        return SymbolNode(name, op.bind({}), inputs, op_name, params, _hidden({k: v for k, v in attrs.items() if _is_own(k)}))

    def _operator(self, spelling: Spelling, name: str, attrs: dict[str, str], inputs: list[Entry], where: str) -> SymbolNode:
        params, user, own = {}, {}, dict(spelling.fixed)
        for key, value in attrs.items():
            ours = spelling.renamed.get(key, key)
            if ours in spelling.op.attrs and not (key == "num_args" and spelling.op.variadic):
                own[ours] = attr_text.parse(value, spelling.op.attrs[ours], f"{self.source}: {key} of {where}")
                params[key] = value
            elif _is_own(key):
                user[key] = value
            elif key in PASSED_OVER and key != "num_args":
                params[key] = value
            elif key != "num_args" and not key.endswith(HIDDEN):
                raise self._wrong(f"has {where} with the attribute {key!r:.80}, which {spelling.op.name} does not have")
        try:
            call = spelling.op.bind(adjusted(spelling.op, own))
        except SparsekitError as error:
            raise self._wrong(f"has {where} with attributes that do not fit: {error.message.rstrip('.')}") from None
        node = SymbolNode(name, call, (), spelling.name, params, _hidden(user), spelling.one_shape)
        self._check_count(spelling.op, inputs, where)
        node.inputs = self._aligned(node, inputs)
        return node

    def _check_count(self, op: Op, inputs: list[Entry], where: str) -> None:
        if not op.variadic and len(inputs) > len(op.inputs):
            raise self._wrong(f"gives {len(inputs)} inputs to {where}; {op.name} takes {', '.join(op.inputs)}")
        if op.variadic and not inputs:
            raise self._wrong(f"gives no inputs to {where}")

    def _aligned(self, node: SymbolNode, inputs: list[Entry]) -> tuple[Entry, ...]:
        """The inputs; what old files leave out, such as the states of BatchNorm, becomes variables."""
        call: Any = node.call
        if call.op.variadic or len(inputs) >= call.op.needed:
            return tuple(inputs)
        return complete_inputs(node, list(inputs))

    def _entry(self, entry: object, where: str, count: int) -> Entry:
        if not (isinstance(entry, list) and len(entry) in (2, 3) and all(type(item) is int for item in entry)):
            raise self._wrong(f"has {str(entry)[:60]!r} as an input of {where}", "an input is [node, output, version].")
        number, place = entry[:2]
        if not 0 <= number < count:
            later = 0 <= number < len(self.descriptions)
            raise self._wrong(f"has {where} depend on node {number}, which " + (
                "comes later, so that the graph has a cycle or is out of order" if later else "does not exist"),
                "each node comes after its inputs.")
        node = self.nodes[number]
        if not 0 <= place < node.visible:
            raise self._wrong(f"has {where} take output {place} of {node.name!r:.80}, which has {node.visible}")
        return node, place


def _is_np_shape(document: dict[str, Any]) -> bool:
    """Whether a document says that it was written inside ``np_shape``."""
    attrs = document.get("attrs")
    return isinstance(attrs, dict) and attrs.get("is_np_shape") in (["int", 1], ["bool", True])


def _is_own(key: str) -> bool:
    """Whether an attribute is the user's, not the operator's."""
    return (key.startswith("__") and key.endswith("__")) or key in HIDDEN


def _hidden(attrs: dict[str, str]) -> dict[str, str]:
    return {f"__{key}__" if key in HIDDEN else key: value for key, value in attrs.items()}
