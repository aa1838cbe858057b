"""What remedies look at, and what each of them is."""

from __future__ import annotations

import ast
import linecache
import types
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..source import Source, calls, span_of

if TYPE_CHECKING:
    from ...profiler.advice import Finding
    from ...profiler.profile import Profile
    from ..candidate import Candidate
    from ..live import LiveProgram
    from ..program import Program

#: Statements that run later than where they stand.
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Remedy:
    """One way to fix programs; the declaration of a subclass adds it to ``remedies``.

    Attributes
    ----------
    name : str
        As the table shows it.
    rules : tuple of str
        Rules of the advice that it answers.
    of_torch : bool
        Whether it is one for programs in PyTorch.
    """

    name = ""
    rules: tuple[str, ...] = ()
    of_torch = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        remedies.append(cls())

    def find(self, look: Look) -> Iterator[Candidate]:
        """Candidates for this program, from its profile; none, unless a subclass overrides this."""
        return iter(())


#: Every remedy, in the order in which they are tried.
remedies: list[Remedy] = []


class Part(NamedTuple):
    """A part of what a step runs: its text, its node, and the function that it belongs to."""

    source: Source
    node: ast.AST
    function: types.FunctionType


class Look:
    """A program and the profile of some of its steps, with the queries that remedies make.

    Attributes
    ----------
    program : Program or LiveProgram
    profile : Profile
        Of the program with the fixes that hold so far.
    applied : tuple of Candidate
        Those fixes.
    findings : list of Finding
    """

    def __init__(self, program: Program | LiveProgram, profile: Profile, applied: Sequence[Candidate] = ()) -> None:
        self.program, self.profile, self.applied = program, profile, tuple(applied)
        self.findings: list[Finding] = list(profile.advice())

    def findings_of(self, *rules: str) -> list[Finding]:
        """The findings of some rules."""
        return [finding for finding in self.findings if finding.rule in rules]

    def parts(self) -> Iterator[Part]:
        """The text of what the step runs: its functions, and the statements of a cell or a script."""
        snippet, seen = self.program.snippet, set()
        for function in self.program.functions:
            source = self.program.source(function.__code__.co_filename, function.__globals__)
            if source is None or function.__code__ in seen:
                continue
            seen.add(function.__code__)
            if function.__code__.co_name == "<module>" and snippet is None:  # a script: its functions have parts of their own
                nodes: Sequence[ast.AST | None] = [statement for statement in source.tree.body
                                                   if not isinstance(statement, _DEFINITIONS)]
            elif snippet is not None and function in snippet.parts:
                nodes = snippet.statements(source.tree) if function is snippet.parts[0] else ()
            else:
                nodes = [source.function_of(function)]
            yield from (Part(source, node, function) for node in nodes if node is not None)

    def variables(self, place: Part) -> dict[str, Any]:  # Any: whatever they hold
        """The variables that a part of the text sees."""
        function: Any = place.function  # Any: mypy takes it for a method
        return self.program.variables(function)

    def calls(self, test: Callable[[ast.Call], bool]) -> list[tuple[Source, ast.Call]]:
        """The calls that pass a test, in what the step runs, each once."""
        return [(source, node) for source, node in self.expressions() if isinstance(node, ast.Call) and test(node)]

    def expressions(self) -> Iterator[tuple[Source, ast.expr]]:
        """The expressions in what the step runs, each once."""
        seen = set()
        for source, node, _ in self.parts():
            for inner in ast.walk(node):
                if isinstance(inner, ast.expr) and (source.file, *source.span(inner)) not in seen:
                    seen.add((source.file, *source.span(inner)))
                    yield source, inner

    def texts(self) -> list[Source]:
        """The files and cells of the program: those of what the step runs, and the other cells of its notebook."""
        sources = {source.file: source for source in self.program.sources()}
        if any(_is_cell(file) for file in sources):
            for file in sorted(filter(_is_cell, linecache.cache)):
                source = self.program.source(file)
                if source is not None:
                    sources.setdefault(file, source)
        return list(sources.values())

    def everywhere(self, test: Callable[[ast.Call], bool]) -> list[tuple[Source, ast.Call]]:
        """The calls that pass a test, in the files and cells of the program, whether the step runs them or not."""
        return [(source, call) for source in self.texts() for call in calls(source.tree, test)]

    def calls_at(self, test: Callable[[ast.Call], bool], lines: Sequence[str]) -> list[tuple[Source, ast.Call]]:
        """The calls in one of these lines, ``train.py:12``; all if none does, as in modules of the library."""
        matching = self.calls(test)
        here = [(source, call) for source, call in matching
                if {f"{source.label}:{line}" for line in span_of(call)} & set(lines)]
        return here or matching


def _is_cell(file: str) -> bool:
    return "ipykernel" in file or file.startswith("<ipython-input")


def named(call: ast.Call) -> str:
    """The last part of what is called: ``Dense`` of ``gluon.nn.Dense(…)``."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def constant(node: ast.expr | None) -> Any:  # Any: a constant of Python
    """The value of a constant; None of anything else."""
    return node.value if isinstance(node, ast.Constant) else None


def argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    """An argument by its place or its name."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if len(call.args) > place and not any(isinstance(expression, ast.Starred) for expression in call.args[: place + 1]):
        return call.args[place]
    return None


def at(source: Source, node: ast.expr | ast.stmt) -> str:
    """The place of a node, for people: ``train.py:12``."""
    return f"{source.label}:{node.lineno}"
