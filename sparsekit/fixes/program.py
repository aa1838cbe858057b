"""A user's step, with clones of it in which remedies are applied."""

from __future__ import annotations

import ast
import copy
import itertools
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

from ..base.errors import DTypeError, SparsekitError, expected
from .candidate import Candidate
from .clone import Cloner, names_in
from .source import Source, compile_text, edited, new_code, overlap

__all__ = ["Clone", "Inapplicable", "Program", "Snippet", "cell_step"]

T = TypeVar("T")

#: The name by which a loop of a script that is cut short calls ``itertools.islice``.
LIMIT = "__sparsekit_first__"


class Inapplicable(SparsekitError):
    """A remedy cannot be applied to a clone; the message says why."""


class Snippet:
    """Statements of a cell or a script, as a step.

    Parameters
    ----------
    file : str
        As code objects name it.
    text : str
        Of the whole cell or script.
    names : dict
        The globals.
    kind : type, optional
        Of the one statement that is the step, ``ast.For`` for instance; all statements by default.
    number : int
        Which one of them, in the order of the text.
    most : int, optional
        How often a ``for`` loop goes round at most.
    """

    def __init__(self, file: str, text: str, names: dict[str, Any], kind: type[ast.stmt] | None = None,  # Any: globals
                 number: int = 0, most: int | None = None) -> None:
        self.file, self.names, self._kind, self._number, self._most = file, names, kind, number, most
        self.codes = self.compiled(text)

    def statements(self, tree: ast.Module) -> list[ast.stmt]:
        """The statements in a tree of the text."""
        if self._kind is None:
            return tree.body
        found = [node for node in ast.walk(tree) if isinstance(node, self._kind)]
        return [sorted(found, key=lambda node: (node.lineno, node.col_offset))[self._number]]

    @property
    def code(self) -> types.CodeType:
        """The code of the statements, but for a last expression."""
        return self.codes[0]

    def compiled(self, text: str) -> tuple[types.CodeType, types.CodeType | None]:
        """The code of the statements, in this text or an edited one, and that of an expression at their end."""
        statements = self.statements(ast.parse(text))
        for one in statements if self._most is not None else ():
            if isinstance(one, ast.For):
                one.iter = ast.Call(ast.Name(LIMIT, ast.Load()), [one.iter, ast.Constant(self._most)], [])
        last = statements[-1] if statements else None
        if isinstance(last, ast.Expr):
            return (self._compiled(ast.Module(statements[:-1], []), "exec"), self._compiled(ast.Expression(last.value), "eval"))
        return self._compiled(ast.Module(statements, []), "exec"), None

    def _compiled(self, tree: ast.Module | ast.Expression, mode: str) -> types.CodeType:
        made: types.CodeType = compile(ast.fix_missing_locations(tree), self.file, mode, dont_inherit=True)
        return made

    def over(self, names: dict[str, Any], text: str | None) -> Snippet:  # Any: globals
        """The same statements with other globals, and in another text."""
        made = copy.copy(self)
        made.names, made.codes = names, self.codes if text is None else self.compiled(text)
        return made

    def __call__(self) -> object:
        """Run the statements; what an expression at their end gives is the result."""
        if self._most is not None:
            self.names[LIMIT] = itertools.islice
        exec(self.codes[0], self.names)
        return None if self.codes[1] is None else eval(self.codes[1], self.names)


def cell_step(file: str, text: str, names: dict[str, Any]) -> Snippet:  # Any: globals
    """A cell of a notebook as a step.

    Parameters
    ----------
    file, text : str
        The cell, as its code names it.
    names : dict
        The notebook's globals.
    """
    return Snippet(file, text, names)


class Program:
    """A step and everything it holds.

    Parameters
    ----------
    step : callable
        A function, method, ``partial`` or object, called without arguments; one call is one step, or a loop of several.

    Attributes
    ----------
    functions : list of function
        Those of the program itself that the step may call.
    found : list of Found
        Objects that the step holds.
    repeated : set of int
        ``id`` of tensors of PyTorch that give every step the same row numbers.

    Raises
    ------
    DTypeError
        If the step is not callable.
    NotCloneable
        If it holds what cannot be copied.
    """

    def __init__(self, step: object) -> None:  # object: checked below
        if not callable(step):
            raise DTypeError(expected("step", "a function without arguments that makes one step", step),
                             hint="prof.try_fixes(lambda: train(net, batch)).")
        self.step: Callable[[], object] = step  # object: what it returns
        self._sources: dict[str, Source | None] = {}
        self.repeated: set[int] = set()
        first = Clone(self, ())
        self.functions, self.found = first.cloner.functions, first.cloner.found

    def clone(self, candidates: Sequence[Candidate] = ()) -> Clone:
        """A copy of the step with remedies applied."""
        return Clone(self, candidates)

    def source(self, file: str, names: dict[str, Any] | None = None) -> Source | None:  # Any: globals
        """The text of a file, if it is known."""
        if file not in self._sources:
            self._sources[file] = Source.of(file, names)
        return self._sources[file]

    def sources(self) -> Iterator[Source]:
        """The texts that the program's functions and statements were compiled from, each once."""
        seen = set()
        for code, names in self.codes():
            if code.co_filename not in seen:
                seen.add(code.co_filename)
                source = self.source(code.co_filename, names)
                if source is not None:
                    yield source

    def codes(self) -> Iterator[tuple[types.CodeType, dict[str, Any]]]:  # Any: globals
        """The code of the program's functions and statements, with its globals."""
        if isinstance(self.step, Snippet):
            yield self.step.code, self.step.names
        for function in self.functions:
            yield function.__code__, function.__globals__

    def originals(self, kind: type[T]) -> list[T]:
        """The objects of one class that the step holds, in the order in which they were met."""
        return [found.original for found in self.found if isinstance(found.original, kind)]

    def path_of(self, original: object) -> str:
        """How the program reaches an object: ``net``, ``trainer._params[0]``."""
        return next((found.path for found in self.found if found.original is original), "")


class Clone:
    """A copy of a program in which remedies may have been applied.

    Attributes
    ----------
    step : callable
    cloner : Cloner
    transposed : set of int
        ``id`` of the original parameters whose values the clone holds transposed.
    """

    def __init__(self, program: Program, candidates: Sequence[Candidate]) -> None:
        self.program, self.candidates = program, tuple(candidates)
        self.transposed: set[int] = set()
        self._wanted: list[tuple[str, dict[str, Any]]] = []  # Any: globals
        self._extra = {name: value for one in candidates for name, value in one.extra.items()}
        edits = [edit for one in candidates for edit in one.edits]
        if overlap(edits):
            raise Inapplicable("Two remedies change the same lines.", hint="apply one, and run try_fixes again.")
        self._texts = self._edited_texts(edits)
        replace = {key: way for one in candidates for key, way in one.replace.items()}
        self.cloner = Cloner(self._code_of, self._missing, replace)
        self.step: Callable[[], object] = self._copied(program.step)  # object: what the step returns
        for one in candidates:
            if one.change is not None:
                one.change(self)

    def _edited_texts(self, edits: list[Any]) -> dict[str, tuple[str, str]]:  # Any: Edit
        texts = {}
        for file in {edit.file for edit in edits}:
            source = self.program.source(file)
            if source is None:
                raise Inapplicable(f"The source text of {file} is not available.", hint="save the program in a file.")
            texts[file] = source.text, edited(source.text, [edit for edit in edits if edit.file == file])
            try:
                compile_text(texts[file][1], file)
            except SyntaxError as error:
                raise Inapplicable(f"The edit of {source.label} does not compile: {error.msg}, line {error.lineno}.",
                                   hint="write the lines by hand.") from error
        return texts

    def _copied(self, step: Callable[[], object]) -> Callable[[], object]:  # object: what it returns
        if not isinstance(step, Snippet):
            made = self.cloner(step, "step")
            for name, globals_of_it in self._wanted:
                self.cloner.globals_of(globals_of_it)[name] = self._evaluated(name, globals_of_it, {})
            return made
        names = self.cloner.globals_of(step.names)
        made = step.over(names, self._texts[step.file][1] if step.file in self._texts else None)
        for code in filter(None, made.codes):
            self._note_extra(code, step.names)
            self.cloner.fill(code, step.names)
        for name, globals_of_it in self._wanted:
            self.cloner.globals_of(globals_of_it)[name] = self._evaluated(name, globals_of_it, {})
        return made

    def _code_of(self, function: types.FunctionType) -> types.CodeType:
        code = function.__code__
        if code.co_filename not in self._texts:
            return code
        before, after = self._texts[code.co_filename]
        found = new_code(code, before, after, code.co_filename)
        if found is None:
            raise Inapplicable(f"{code.co_qualname} was not compiled from the current lines of its file.",
                               hint="run the program again after you change its file.")
        self._note_extra(found, function.__globals__)
        return found

    def _note_extra(self, code: types.CodeType, names: dict[str, Any]) -> None:  # Any: globals
        """Note which globals new code reads that lines before the step would have defined."""
        new = [name for name in self._extra if name in set(names_in(code)) and name not in names]
        self._wanted += [(name, names) for name in new]

    def _missing(self, name: str, function: types.FunctionType, cloner: Cloner) -> object:
        """A new free variable: what the line before the function would have made of the copies of the others."""
        if name not in self._extra:
            raise Inapplicable(f"{function.__qualname__} has no variable {name}.", hint="write the lines by hand.")
        inner = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        return self._evaluated(name, function.__globals__, {free: cloner(cell.cell_contents, free) for free, cell in inner})

    def _evaluated(self, name: str, names: dict[str, Any], inner: dict[str, Any]) -> object:  # Any: globals, variables
        code = compile(self._extra[name], "<lines before>", "eval")
        self.cloner.fill(code, names)
        return cast(object, eval(code, {**self.cloner.globals_of(names), **inner}))

    def of(self, original: T) -> T:
        """The clone's copy of an object of the program."""
        return self.cloner.memo.get(id(original), original)  # type: ignore[no-any-return]  # of the kind of the original

    def copies(self, kind: type[T]) -> list[tuple[T, T]]:
        """Pairs of the program's objects of one class and the clone's copies, in the order in which they were met."""
        return [(found.original, self.of(found.original)) for found in self.program.found if isinstance(found.original, kind)]
