"""``pytest --op NAME``: the tests that concern one operator, collected without importing the files of the others.

What concerns an operator is found by names alone, so that there is no list to keep.  A test belongs to it if

- one of its parameters enumerates operators, and has this one: the sweeps over the registry;
- a parameter's value names it: recorded cases, expressions, tables;
- its body names it; or no parameter does, and a function or fixture of its file that it uses calls it, or it goes through the
  whole registry;
- its file is named after it.

Tests in folders that use operators to look at something else (``BESIDE``) are not among them.
A name is the operator's or an alias, written as a call on ``nd``, ``sym``, ``F`` and the like or as a string; expressions in
parameters need no such prefix.  A defect in this file leaves tests out of ``--op`` only, never out of the suite.
"""

from __future__ import annotations

import functools
import inspect
import linecache
import lzma
import re
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

import sparsekit.ndarray  # noqa: F401 - declares the operators
from sparsekit.base.errors import UnknownNameError
from sparsekit.core.op import Op, find, registry

TESTS = Path(__file__).resolve().parent
GOLDEN = TESTS / "golden"

#: What an operator's function is an attribute of.
MODULES = "nd|sym|symbol|ndarray|F|S|sparse|contrib|linalg|random|image|op|_internal"
#: What the beginning of an operator's name stands for, where its function has a module of its own.
GROUPS = ("_contrib_", "_linalg_", "_random_", "_sample_", "_sparse_")

#: Folders and files of tests that use operators to look at something else: profiles, pictures, files, training loops, commands.
BESIDE = (
    "base", "bench", "browser", "course", "datasets", "demo", "examples", "faults", "initializer", "io", "kvstore", "metric",
    "module", "profiler", "programs", "storage", "figures", "test_cli.py", "test_one_operator.py", "test_package.py",
    "test_slides.py")

#: Files with a parameter or a loop for each operator.
SWEEPS = re.compile(r"core\.op import [^\n]*\bregistry\b|\bOPS\b")


def words_for(op: Op) -> list[str]:
    """The names under which tests may call an operator."""
    names = {name for name, found in registry.items() if found is op}
    return sorted(names | {name.removeprefix(group) for name in names for group in GROUPS})


def in_calls(words: Iterable[str]) -> re.Pattern[str]:
    """How code calls an operator: ``nd.dot``, ``mx.sym.sparse.dot``; numpy's functions of that name are others."""
    return re.compile(rf"\b(?<!np\.)(?<!scipy\.)(?:{MODULES})\.(?:{'|'.join(map(re.escape, words))})\b")


def in_code(words: Iterable[str]) -> re.Pattern[str]:
    """How code names an operator: calls, and ``"dot"``."""
    return re.compile(rf"{in_calls(words).pattern}|[\"'](?:{'|'.join(map(re.escape, words))})[\"']")


def in_expressions(words: Iterable[str]) -> re.Pattern[str]:
    """How an expression in a parameter names it: as code does, without the module, as a method, or as nothing else."""
    either = "|".join(map(re.escape, words))
    return re.compile(rf"{in_code(words).pattern}|(?<!np\.)\b(?:{either})\(|\A(?:{either})\Z")


def is_operator(value: Any) -> bool:
    """Whether a parameter's value stands for an operator."""
    return isinstance(value, Op) or (isinstance(value, str) and value in registry)


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A function's code, and that of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def plain(function: Any) -> Any:
    """The function that fixtures and decorators wrap, None if there is none."""
    function = getattr(function, "_fixture_function", function)
    function = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    function = inspect.unwrap(function) if callable(function) else None
    return function if isinstance(function, types.FunctionType) else None


def body(function: types.FunctionType) -> str:
    """The text of a function, without its decorators."""
    begin = function.__code__.co_firstlineno
    end = max(line for code in codes(function.__code__) for _, _, line in code.co_lines() if line is not None)
    lines = linecache.getlines(function.__code__.co_filename)[begin - 1:end]
    if function.__name__ == "<lambda>":
        return "".join(lines)
    skipped = next((place for place, line in enumerate(lines) if re.match(r"\s*(async\s+)?def\s", line)), 0)
    return "".join(lines[skipped:])


@functools.cache
def golden_text(name: str) -> str:
    """Recorded data as text."""
    path = GOLDEN / name
    if path.suffix == ".xz":
        return lzma.decompress(path.read_bytes()).decode()
    return path.read_text(encoding="utf-8") if path.suffix in (".json", ".txt") else ""


class OneOperator:
    """The plugin: which files, which functions, which parameters.

    Parameters
    ----------
    op : Op
        The operator.
    """

    def __init__(self, op: Op) -> None:
        self.op, self.words = op, words_for(op)
        self.in_calls, self.in_code, self.in_expressions = (made(self.words) for made in (in_calls, in_code, in_expressions))
        stems = "|".join(re.escape(word.strip("_").lower()) for word in self.words)
        self.in_stem = re.compile(rf"(?:^|_)(?:{stems})(?:_|$)")
        self.bodies: dict[str, bool] = {}
        self.by_parameters: set[str] = set()
        self.left_out: set[str] = set()

    def pytest_report_header(self) -> str:
        """The operator that is tested."""
        return f"operator: {self.op.name} ({', '.join(self.words)})"

    @functools.cached_property
    def files(self) -> set[Path]:
        """Test files that name the operator, or sweep over all, or read recorded data that name it."""
        golden = {path.name: path for path in GOLDEN.iterdir()}
        naming = [name.partition(".")[0] for name in golden if self.in_expressions.search(unquoted(golden_text(name)))]
        reads = re.compile(rf"[\"'/](?:{'|'.join(naming)})(?:\.json|\.txt|[\"'])")
        found = set()
        for path in TESTS.rglob("test_*.py"):
            if path.relative_to(TESTS).parts[0] in BESIDE:
                continue
            text = path.read_text(encoding="utf-8")
            if self.named_after(path) or self.in_code.search(text) or SWEEPS.search(text) or (naming and reads.search(text)):
                found.add(path)
        return found

    def named_after(self, path: Path) -> bool:
        """Whether a file's name has the operator's."""
        return self.in_stem.search(path.stem.removeprefix("test_")) is not None

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Notebooks, and files and folders of tests without anything on the operator."""
        if collection_path.is_dir():
            within = collection_path == TESTS or TESTS in collection_path.parents
            return None if collection_path in TESTS.parents or (
                within and any(collection_path in path.parents for path in self.files)) else True
        return None if collection_path in self.files or collection_path.name == "__init__.py" else True

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Leave the other operators out before there is a test for each."""
        name, kept = metafunc.definition.nodeid, {}
        markers = list(metafunc.definition.iter_markers("parametrize"))
        columns = {id(marker): column_of_operators(values_of(marker)) for marker in markers}
        if any(column is not None for column in columns.values()):
            kept = {id(marker): [value for value in values_of(marker) if self.is_it(row_of(value)[columns[id(marker)]])]
                    for marker in markers if columns[id(marker)] is not None}
        elif not (self.named_after(metafunc.definition.path) or self.says_it(metafunc.function)):
            found = {id(marker): [value for value in values_of(marker) if self.mentions(row_of(value))] for marker in markers}
            naming = {place: values for place, values in found.items() if values}
            if naming:
                kept = naming if len(naming) == 1 else {}  # with two parameters that name it, a test may have either
                self.by_parameters.add(name)
            elif not self.names_it(metafunc.function):
                self.left_out.add(name)
        if not all(kept.values()):
            self.left_out.add(name)
        if kept or name in self.left_out:
            metafunc.parametrize = functools.partial(self.narrowed, metafunc.parametrize, kept, name in self.left_out)

    @staticmethod
    def narrowed(parametrize: Callable[..., None], kept: dict[int, list[Any]], left_out: bool, argnames: Any,
                 argvalues: Collection[Any], *args: Any, ids: Any = None, _param_mark: Any = None, **kwargs: Any) -> None:
        """``parametrize`` with some of the values, each under the id that it has among all; with none for a test left out."""
        if left_out:
            return
        if id(_param_mark) in kept:
            wanted = set(map(id, kept[id(_param_mark)]))
            places = [place for place, value in enumerate(argvalues) if id(value) in wanted]
            ids = [each for place, each in enumerate(ids) if place in places] if ids is not None and not callable(ids) else ids
            argvalues = kept[id(_param_mark)]
        parametrize(argnames, argvalues, *args, ids=ids, _param_mark=_param_mark, **kwargs)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what only shares a file with tests of the operator."""
        others = [item for item in items if not self.concerns(item)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if self.concerns(item)]

    def concerns(self, item: pytest.Item) -> bool:
        """Whether a test is one of the operator's."""
        name = item.nodeid.partition("[")[0]
        if name in self.left_out:
            return False
        return name not in self.by_parameters or any(map(self.mentions, item.callspec.params.values()))

    def is_it(self, value: Any) -> bool:
        """Whether a parameter's value is the operator or a name of it."""
        return value is self.op or (isinstance(value, str) and registry.get(value) is self.op)

    def mentions(self, value: Any) -> bool:
        """Whether a parameter's value is the operator, names it, or has a part that does."""
        if isinstance(value, str):
            return self.in_expressions.search(value) is not None
        if isinstance(value, Mapping):
            return any(map(self.mentions, value)) or any(map(self.mentions, value.values()))
        if isinstance(value, (list, tuple, set, frozenset)):
            return any(map(self.mentions, value))
        return value is self.op or (isinstance(value, types.FunctionType) and self.in_code.search(body(value)) is not None)

    def names_it(self, function: Any) -> bool:
        """Whether a function calls the operator, itself or by what it uses of its file."""
        function = plain(function)
        if function is None:
            return False
        key = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}:{function.__qualname__}"
        if key not in self.bodies:
            self.bodies[key] = False  # while it is looked at, for functions that call each other
            text = body(function)  # where a string may be a line of a table for many tests
            self.bodies[key] = self.in_calls.search(text) is not None or any(map(self.holds_it, used_by(function)))
        return self.bodies[key]

    def says_it(self, function: Any) -> bool:
        """Whether a function's own text names the operator."""
        function = plain(function)
        return function is not None and self.in_code.search(body(function)) is not None

    def holds_it(self, value: Any) -> bool:
        """Whether a value of a module is the operator, has it as an item, or is a function that names it."""
        if isinstance(value, Mapping):
            return self.op.name in value
        if isinstance(value, (list, tuple, set, frozenset)):
            return any(one is self.op or one == self.op.name for one in value if isinstance(one, (str, Op)))
        return value is self.op or self.names_it(value)


def values_of(marker: pytest.Mark) -> list[Any]:
    """The sets of parameters of one ``parametrize``."""
    return list(marker.args[1] if len(marker.args) > 1 else marker.kwargs["argvalues"])


def row_of(argument: Any) -> tuple[Any, ...]:
    """The values of one set of parameters, however it is written."""
    if isinstance(argument, ParameterSet):
        return tuple(argument.values)
    return argument if isinstance(argument, tuple) else (argument,)


def column_of_operators(arguments: list[Any]) -> int | None:
    """At which place each of these sets of parameters has an operator, None if there is no such place."""
    columns = zip(*map(row_of, arguments), strict=False)
    return next((place for place, column in enumerate(columns) if all(map(is_operator, column))), None)


def used_by(function: types.FunctionType) -> Iterator[Any]:
    """What a function uses of the module that it is in: functions, fixtures and data, but no recorded data."""
    names = {name for code in codes(function.__code__) for name in code.co_names}
    names |= set(function.__code__.co_varnames[: function.__code__.co_argcount])
    text = body(function)
    for name in names & set(function.__globals__):
        value = function.__globals__[name]
        made = plain(value) if callable(value) or hasattr(value, "_fixture_function") else None
        if made is not None and made.__module__ == function.__module__:
            yield made
        elif isinstance(value, (Mapping, list, tuple, set, frozenset)) and re.search(rf"\b{name}\b(?!\[)", text):
            yield value  # and not only one item of it


def unquoted(text: str) -> str:
    """JSON text, with the quotes of strings in strings as they are."""
    return text.replace('\\"', '"')


def plugin(name: str) -> OneOperator:
    """The plugin for an operator; an error of use with names alike if there is none."""
    for known in (name, *(group + name for group in GROUPS)):
        if known in registry:
            return OneOperator(registry[known])
    try:
        return OneOperator(find(name))
    except UnknownNameError as error:
        raise pytest.UsageError(f"--op {name}: {error}") from None
