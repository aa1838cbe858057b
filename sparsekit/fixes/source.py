"""The text of a program: where its functions stand, edits of it, the code of the edited text, and the diff."""

from __future__ import annotations

import ast
import difflib
import itertools
import linecache
import tokenize
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..base.files import write_whole
from ..base.lazy import computed_once
from ..profiler.source_location import name_of_file


class Edit(NamedTuple):
    """A change of a file's text: ``new`` in place of the characters from ``start`` to ``stop``.

    Attributes
    ----------
    file : str
        As code objects name it.
    start, stop : int
        Characters from the beginning of the text; equal for an insertion.
    new : str
    """

    file: str
    start: int
    stop: int
    new: str


class Source:
    """The text of one file or notebook cell, with its syntax tree.

    Attributes
    ----------
    file : str
        As code objects name it.
    text : str
    tree : ast.Module
    """

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.tree = ast.parse(text)
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._parents = {child: parent for parent in ast.walk(self.tree) for child in ast.iter_child_nodes(parent)}

    @classmethod
    def of(cls, file: str, names: dict[str, Any] | None = None) -> Source | None:  # Any: the globals of its module
        """The source that code objects of this file name were compiled from; None if it is not known."""
        text = "".join(linecache.getlines(file, names))
        if not text:
            return None
        try:
            return cls(file, text)
        except (SyntaxError, ValueError):
            return None

    @computed_once
    def codes(self) -> tuple[types.CodeType, ...]:
        """All code that the text compiles to, as a whole and by statements."""
        return tuple([code for compiled in _COMPILED for code in compiled(self.text, self.file)])

    @property
    def label(self) -> str:
        """What people call it: ``train.py``, ``In [3]``."""
        return name_of_file(self.file)

    def place(self, line: int, column: int) -> int:
        """Characters before a place; ``column`` is in bytes, as the tree has it."""
        start = self._starts[line - 1]
        text = self.text[start: self._starts[line]] if line < len(self._starts) else self.text[start:]
        return start + len(text.encode()[:column].decode(errors="ignore"))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """First and last character of a node."""
        return (self.place(node.lineno, node.col_offset),
                self.place(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset))

    def text_of(self, node: ast.expr | ast.stmt) -> str:
        """The characters of a node."""
        start, stop = self.span(node)
        return self.text[start:stop]

    def replace(self, node: ast.expr | ast.stmt, new: str) -> Edit:
        """The edit that puts ``new`` in the place of a node."""
        return Edit(self.file, *self.span(node), new)

    def without(self, statement: ast.stmt) -> Edit:
        """The edit that takes the lines of a statement away, which has them for itself."""
        last = statement.end_lineno or statement.lineno
        stop = self._starts[last] if last < len(self._starts) else len(self.text)
        return Edit(self.file, self._starts[statement.lineno - 1], stop, "")

    def keyword(self, call: ast.Call, name: str, value: str) -> Edit:
        """The edit that gives a call a keyword argument, or another value for the one that it has."""
        for keyword in call.keywords:
            if keyword.arg == name:
                return self.replace(keyword.value, value)
        return self.inserted(call, self.text[self.span(call.func)[1]:].index("(") + 1 + len(self.text_of(call.func)),
                             f"{name}={value}")

    def inserted(self, node: ast.expr, opening: int, new: str) -> Edit:
        """The edit that adds an item before the closing bracket of a call or a display.

        Parameters
        ----------
        node : ast.expr
        opening : int
            Characters of the node up to its opening bracket, which is the last of them.
        new : str
        """
        start, stop = self.span(node)
        inside = self.text[start + opening: stop - 1]
        stripped = inside.rstrip()
        comma = "" if not stripped else " " if stripped.endswith(",") else ", "
        place = stop - 1 - (len(inside) - len(stripped))
        return Edit(self.file, place, place, f"{comma}{new}")

    def closed(self, node: ast.expr) -> str:
        """The characters of a node, in parentheses where a dot could not follow them."""
        text = self.text_of(node)
        return text if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node that a node stands in."""
        return self._parents.get(node)

    def around(self, node: ast.AST, *kinds: type) -> Iterator[Any]:  # Any: nodes of these kinds
        """The nodes of these kinds that a node stands in, the innermost first."""
        outer = self._parents.get(node)
        while outer is not None:
            if isinstance(outer, kinds):
                yield outer
            outer = self._parents.get(outer)

    def function_of(self, function: types.FunctionType) -> ast.FunctionDef | ast.Lambda | None:
        """The node of a function; None if the text is not what the function was compiled from."""
        code = function.__code__
        if not any(_same(compiled, code) for compiled in self.codes):
            return None
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                decorated = getattr(node, "decorator_list", [])
                first = min([node.lineno, *(decorator.lineno for decorator in decorated)])
                if first == code.co_firstlineno and getattr(node, "name", "<lambda>") == code.co_name:
                    return node
        return None


class Texts:
    """The texts of a program's functions, each read once.

    Parameters
    ----------
    functions : list of function
    """

    def __init__(self, functions: list[types.FunctionType]) -> None:
        self.functions = functions
        self._sources: dict[str, Source | None] = {}

    def source(self, file: str, names: dict[str, Any] | None = None) -> Source | None:  # Any: globals
        """The text of a file, if it is known."""
        if file not in self._sources:
            self._sources[file] = Source.of(file, names)
        return self._sources[file]

    def sources(self) -> Iterator[Source]:
        """The texts that the program's functions and statements were compiled from, each once."""
        files = {function.__code__.co_filename: function.__globals__ for function in self.functions}
        yield from filter(None, (self.source(file, names) for file, names in files.items()))


def text_of_file(path: str | Path) -> str:
    """The text of a file of Python, in whatever encoding, with ``\\n`` at the ends of its lines."""
    with tokenize.open(path) as file:
        return file.read()


def write_text(path: Path, text: str) -> None:
    """Write another text of a file of Python, in its own encoding and with its own ends of lines."""
    with path.open("rb") as file:
        encoding, _ = tokenize.detect_encoding(file.readline)
    write_whole(path, text.replace("\n", ends_of_lines(path)).encode(encoding))


def ends_of_lines(path: Path) -> str:
    """What ends the first line of a file."""
    with path.open("rb") as file:
        return "\r\n" if file.readline().endswith(b"\r\n") else "\n"


def compile_text(text: str, file: str) -> types.CodeType:
    """The code of a file's text."""
    return compile(text, file, "exec", dont_inherit=True)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _whole(text: str, file: str) -> Iterator[types.CodeType]:
    """All code of a text that is compiled as a whole, as files are."""
    return _codes(compile_text(text, file))


def _by_statement(text: str, file: str) -> Iterator[types.CodeType]:
    """All code of a text whose statements are compiled one by one, as IPython does with cells.

    A function that calls what the same cell imports has other instructions then.
    """
    for statement in ast.parse(text).body:
        yield from _codes(compile(ast.Module([statement], []), file, "exec", dont_inherit=True))


_COMPILED = (_whole, _by_statement)


def _same(code: types.CodeType, wanted: types.CodeType) -> bool:
    """Whether code is that of a function."""
    return (code.co_qualname == wanted.co_qualname and code.co_firstlineno == wanted.co_firstlineno
            and code.co_code == wanted.co_code)


def edited(text: str, edits: Iterable[Edit]) -> str:
    """A text after edits, which must not overlap; equal ones are made once."""
    for edit in sorted(set(edits), key=lambda edit: (-edit.start, -edit.stop, edit.new)):
        text = text[: edit.start] + edit.new + text[edit.stop:]
    return text


def overlap(edits: Iterable[Edit]) -> bool:
    """Whether two different edits change the same characters."""
    order = sorted(set(edits), key=lambda edit: (edit.file, edit.start, edit.stop))
    return any(first.file == second.file and second.start < first.stop for first, second in itertools.pairwise(order))


def new_code(wanted: types.CodeType, before: str, after: str, file: str) -> types.CodeType | None:
    """The code of a function in the edited text: the one that stands in its place among those of its name."""
    for compiled in _COMPILED:
        old = [code for code in compiled(before, file) if code.co_qualname == wanted.co_qualname]
        new = [code for code in compiled(after, file) if code.co_qualname == wanted.co_qualname]
        replacements = [replacement for code, replacement in zip(old, new, strict=False) if _same(code, wanted)]
        if len(old) == len(new) and replacements:
            return replacements[0]
    return None


def unified(file: str, before: str, after: str, ends: str = "\n") -> str:
    """The difference of two texts as ``patch`` and ``git apply`` read it; ``ends`` ends the lines of the file."""
    before, after = before.replace("\n", ends), after.replace("\n", ends)
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{file}", f"b/{file}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def span_of(node: ast.expr | ast.stmt) -> range:
    """The lines of a node."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def calls(tree: ast.AST, test: Callable[[ast.Call], bool]) -> list[ast.Call]:
    """The calls in a tree that pass a test, in the order of the text."""
    matching = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and test(node)]
    return sorted(matching, key=lambda node: (node.lineno, node.col_offset))
