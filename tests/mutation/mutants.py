"""Small faults for a source file, one at a time: what to put where, and whether the program is then another one.

Each fault replaces the text of one node of the syntax tree, so that every other line stays as it was.
"""

from __future__ import annotations

import ast
import hashlib
import types
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Mutant", "is_equivalent", "mutants"]

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_SYMBOLS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is", ast.IsNot: "is not",
    ast.In: "in", ast.NotIn: "not in", ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//",
    ast.Mod: "%", ast.Pow: "**", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.MatMult: "@",
}
#: Element types and storage types, as strings or as attributes of numpy.
_TYPES = {
    "float16": "float32", "float32": "float64", "float64": "float32", "int32": "int64", "int64": "int32", "uint8": "int8",
    "csr": "row_sparse", "row_sparse": "default", "default": "csr", "intp": "int32",
}
#: Functions that are easily mistaken for one another.
_NAMES = {
    "min": "max", "max": "min", "all": "any", "any": "all", "minimum": "maximum", "maximum": "minimum", "zeros": "ones",
    "ones": "zeros", "empty": "ones", "zeros_like": "ones_like", "floor": "ceil", "ceil": "floor", "argmin": "argmax",
    "argmax": "argmin", "sin": "cos", "cos": "sin", "add": "subtract", "subtract": "add", "multiply": "add",
    "logical_and": "logical_or", "logical_or": "logical_and", "left": "right", "indices": "indptr", "indptr": "indices",
    "append": "extend", "sum": "prod", "start": "stop", "stop": "start", "first": "last", "last": "first",
}

#: Functions that end the process, or the group of processes, of a number.
_ENDING = ("kill", "killpg", "end_group")


class Mutant(NamedTuple):
    """One fault: where it is, what kind, and which characters of the file become which."""

    path: str
    line: int
    kind: str
    before: str
    after: str
    start: int
    end: int
    scope: tuple[tuple[int, str], ...]  # the functions around it, the innermost last: first line and qualified name
    statement: tuple[int, int]          # first and last line of the outermost statement at module level
    text: str                           # the line as it is
    before_it: int = 0                  # how many of the same kind there are before it, on equal lines of the function

    @property
    def name(self) -> str:
        """An identity that survives a change of other lines."""
        qualified = self.scope[-1][1] if self.scope else ""
        parts = "\0".join((self.path, qualified, self.text.strip(), self.kind, self.before, self.after,
                           *([str(self.before_it)] if self.before_it else [])))
        return hashlib.sha1(parts.encode()).hexdigest()[:12]

    def applied(self, source: str) -> str:
        """The file with this fault."""
        return source[:self.start] + self.after + source[self.end:]


def mutants(path: str, source: str) -> list[Mutant]:
    """Every fault of a file, in the order of its lines.

    Left out are docstrings, annotations, imports, formatted strings, ``__all__``, ``__slots__``, what only a type checker
    reads, the sample inputs that operators declare for tests, and which process is ended: it would be another one.
    """
    finder = _Finder(path, source)
    finder.visit(ast.parse(source))
    seen: dict[str, int] = {}
    found = []
    for mutant in sorted(finder.found, key=lambda m: (m.line, m.start, m.kind, m.after)):
        number = seen[mutant.name] = seen.get(mutant.name, -1) + 1
        found.append(mutant._replace(before_it=number))
    return found


def is_equivalent(source: str, changed: str) -> bool:
    """Whether both texts compile to the same instructions."""
    return _same(compile(source, "f", "exec", optimize=1), compile(changed, "f", "exec", optimize=1))


def _same(one: types.CodeType, other: types.CodeType) -> bool:
    if (one.co_code, one.co_names, one.co_varnames, one.co_freevars, one.co_exceptiontable, one.co_name) != (
            other.co_code, other.co_names, other.co_varnames, other.co_freevars, other.co_exceptiontable, other.co_name):
        return False
    if len(one.co_consts) != len(other.co_consts):
        return False
    return all(_same(a, b) if isinstance(a, types.CodeType) and isinstance(b, types.CodeType) else repr(a) == repr(b)
               for a, b in zip(one.co_consts, other.co_consts, strict=True))


def _brackets(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


class _Finder(ast.NodeVisitor):
    def __init__(self, path: str, source: str) -> None:
        self.path, self.source = path, source
        self.lines = source.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.scope: list[tuple[int, str]] = []
        self.statement = (0, 0)
        self.found: list[Mutant] = []

    # -- places ------------------------------------------------------------------------------------------------------

    def _place(self, line: int, column: int) -> int:
        text = self.lines[line - 1]
        return self.starts[line - 1] + len(text.encode()[:column].decode())

    def _add(self, node: ast.AST, kind: str, after: str) -> None:
        start = self._place(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end = self._place(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        before = self.source[start:end]
        if after != before:
            line = node.lineno  # type: ignore[attr-defined]
            self.found.append(Mutant(self.path, line, kind, before, after, start, end, tuple(self.scope), self.statement,
                                     self.lines[line - 1].rstrip("\n")))

    def _replace(self, node: ast.expr, kind: str, new: ast.expr) -> None:
        self._add(node, kind, _brackets(new))

    # -- what is not mutated -----------------------------------------------------------------------------------------

    def visit_Module(self, node: ast.Module) -> None:
        for child in _without_docstring(node.body):
            self.statement = (child.lineno, child.end_lineno or child.lineno)
            self.visit(child)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.scope.append((node.lineno, self._qualified(node.name, function=False)))
        for child in _without_docstring(node.body):
            self.visit(child)
        self.scope.pop()

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        if any(ast.unparse(d).endswith("overload") for d in node.decorator_list):
            return
        if node.returns is not None and "samples." in ast.unparse(node.returns):
            return  # inputs that tests run an operator on
        self.scope.append((first, self._qualified(node.name)))
        for child in _without_docstring(node.body):
            self.visit(child)
        self.scope.pop()

    visit_FunctionDef = _function
    visit_AsyncFunctionDef = _function

    def visit_Lambda(self, node: ast.Lambda) -> None:
        if any(isinstance(inner, ast.Name) and inner.id == "samples" for inner in ast.walk(node.body)):
            return  # inputs that tests run an operator on
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self.scope.append((node.lineno, self._qualified("<lambda>")))
        self.visit(node.body)
        self.scope.pop()

    def _qualified(self, name: str, function: bool = True) -> str:
        if not self.scope:
            return name if function else f"{name}\0"
        outer = self.scope[-1][1]
        joined = f"{outer[:-1]}.{name}" if outer.endswith("\0") else f"{outer}.<locals>.{name}"
        return joined if function else f"{joined}\0"

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in ast.unparse(node.test):
            return
        self._negate(node.test)
        self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    def visit_Import(self, node: ast.Import) -> None:
        pass

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        pass

    # -- statements --------------------------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(t, ast.Name) and t.id in ("__all__", "__slots__") for t in node.targets):
            return
        if self.scope:
            self._add(node, "statement dropped", "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._add(node, "statement dropped", "pass")
        other = _COMPUTED.get(type(node.op))
        if other is not None:
            self._add(node, "other operation", f"{ast.unparse(node.target)} {_SYMBOLS[other]}= {ast.unparse(node.value)}")
        self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        self._add(node, "statement dropped", "pass")
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        self._add(node, "statement dropped", "pass")

    def visit_Raise(self, node: ast.Raise) -> None:
        self._add(node, "statement dropped", "pass")

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self._add(node, "returns None", "return None")
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self._add(node, "other jump", "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._add(node, "other jump", "break")

    def visit_While(self, node: ast.While) -> None:
        if not isinstance(node.test, ast.Constant):
            self._negate(node.test)
        self.generic_visit(node)

    # -- expressions -------------------------------------------------------------------------------------------------

    def _negate(self, test: ast.expr) -> None:
        if not (isinstance(test, ast.Compare) and len(test.ops) == 1):  # that is flipped anyway
            self._replace(test, "condition negated", ast.UnaryOp(ast.Not(), test))

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self._replace(node, "branches swapped", ast.IfExp(node.test, node.orelse, node.body))
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for number, operator in enumerate(node.ops):
            other = _COMPARED[type(operator)]
            ops = [*node.ops[:number], other(), *node.ops[number + 1:]]
            self._replace(node, "other comparison", ast.Compare(node.left, ops, node.comparators))
            if isinstance(operator, (ast.Lt, ast.Gt, ast.LtE, ast.GtE)):
                turned = ast.Gt() if isinstance(operator, (ast.Lt, ast.LtE)) else ast.Lt()
                ops = [*node.ops[:number], turned, *node.ops[number + 1:]]
                self._replace(node, "comparison turned", ast.Compare(node.left, ops, node.comparators))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        text = any(isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
                   for side in (node.left, node.right))
        other = _COMPUTED.get(type(node.op))
        if other is not None and not text:
            self._replace(node, "other operation", ast.BinOp(node.left, other(), node.right))
            if isinstance(node.op, (ast.Sub, ast.Div, ast.FloorDiv, ast.Pow, ast.Mod)):
                self._replace(node, "operands swapped", ast.BinOp(node.right, node.op, node.left))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
            self._replace(node, "sign dropped", node.operand)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._replace(node, "and/or", ast.BoolOp(other, node.values))
        for number in range(len(node.values)):
            rest = [*node.values[:number], *node.values[number + 1:]]
            new = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
            self._replace(node, "condition dropped", new)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._add(node, "other constant", str(not value))
        elif isinstance(value, int):
            self._add(node, "off by one", str(value + 1))
            if value > 0:
                self._add(node, "off by one", str(value - 1))
        elif isinstance(value, float):
            self._add(node, "other constant", repr(value * 2 if value else 1.0))
        elif isinstance(value, str) and value in _TYPES:
            self._add(node, "other type", repr(_TYPES[value]))

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and node.id in _NAMES and node.id in ("min", "max", "all", "any"):
            self._add(node, "other function", _NAMES[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Load):
            if node.attr in _TYPES:
                self._replace(node, "other type", ast.Attribute(node.value, _TYPES[node.attr], node.ctx))
            elif node.attr in _NAMES:
                self._replace(node, "other function", ast.Attribute(node.value, _NAMES[node.attr], node.ctx))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if ast.unparse(node.func).rpartition(".")[2] in _ENDING:
            return
        plain = not any(isinstance(a, ast.Starred) for a in node.args)
        for number in range(len(node.args) - 1 if plain else 0):
            args = list(node.args)
            args[number], args[number + 1] = args[number + 1], args[number]
            self._replace(node, "arguments swapped", ast.Call(node.func, args, node.keywords))
        for keyword in node.keywords:
            rest = [k for k in node.keywords if k is not keyword]
            if keyword.arg not in (None, "hint"):
                self._replace(node, "keyword dropped", ast.Call(node.func, node.args, rest))
        for child in (node.func, *node.args):
            self.visit(child)
        for keyword in node.keywords:
            if keyword.arg != "hint":
                self.visit(keyword.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        cut = node.slice
        if isinstance(node.ctx, ast.Load) and isinstance(cut, ast.Slice):
            self._replace(node, "slice dropped", node.value)
            for bound in ("lower", "upper", "step"):
                if getattr(cut, bound) is not None:
                    kept = {b: getattr(cut, b) for b in ("lower", "upper", "step") if b != bound}
                    self._replace(node, "bound dropped", ast.Subscript(node.value, ast.Slice(**kept), node.ctx))
        self.generic_visit(node)


def _without_docstring(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for number, statement in enumerate(body):
        if not (number == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
                and isinstance(statement.value.value, str)):
            yield statement
