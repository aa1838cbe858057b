"""A step by value: pickled for another process, with its functions as the code of their edited text.

Functions and classes of the program go as their code, with the variables that this code names; those of libraries are imported
there.  One pickle has all of it, so that what was shared is shared again.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import dis
import enum
import importlib
import io
import marshal
import pickle
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.errors import SparsekitError
from ..ndarray.ndarray import NDArray
from . import torch_programs
from .source import compile_text, edited, new_code, overlap

if TYPE_CHECKING:
    from .program import Program
    from .source import Edit

#: Parts of sparsekit that are programs themselves, as a user's are.
PROGRAMS = ("sparsekit.demo", "sparsekit.examples")

#: Folders whose modules belong to libraries.
_LIBRARIES = ("site-packages", "dist-packages")

#: Attributes of classes that Python makes itself.
_MADE = ("__dict__", "__weakref__", "__slots__", "__module__", "__qualname__", "_abc_impl")


class Inapplicable(SparsekitError):
    """A remedy cannot be applied to a program; the message says why."""


class NotSendable(SparsekitError, TypeError):
    """Something that a step holds cannot be sent to another process; the message names it and the way to it."""


def is_program(names: Mapping[str, Any]) -> bool:  # Any: the globals of a module
    """Whether globals belong to a program of the user, rather than to a library."""
    name = str(names.get("__name__", ""))
    top = name.partition(".")[0]
    if top == "sparsekit":
        return name.startswith(PROGRAMS)
    if name != "__main__" and top in sys.stdlib_module_names:
        return False
    return not any(f"/{folder}/" in str(names.get("__file__") or "").replace("\\", "/") for folder in _LIBRARIES)


def namespace_of(cls: type) -> Mapping[str, Any]:  # Any: globals
    """The globals of the module of a class."""
    module = sys.modules.get(cls.__module__)
    return {"__name__": cls.__module__} if module is None else vars(module)


def names_in(code: types.CodeType) -> Iterator[tuple[str, bool]]:
    """Names in code and in the functions inside it, and whether each is a global; others are attributes."""
    for instruction in dis.get_instructions(code):
        if isinstance(instruction.argval, str):
            yield instruction.argval, "GLOBAL" in instruction.opname or instruction.opname == "LOAD_NAME"
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_in(constant)


def contents_of(function: types.FunctionType) -> dict[str, Any]:  # Any: variables
    """The variables of outer functions that a function reads, as far as they are assigned."""
    contents = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):
            contents[name] = cell.cell_contents
    return contents


class Variant(NamedTuple):
    """What a process gets: a step with some remedies, and what of it is looked at.

    Attributes
    ----------
    step : callable
    changes : list of callable
        What is called before the first step.
    weights : list of tuple
        Key, name, whether it is held transposed, and the parameter, array or tensor.
    batch : list of tuple
        Arrays that every step reads as they are, and how another batch is made of each: "columns" or "numbers".
    optimizers : list of tuple
        Name and optimizer, of PyTorch.
    states : dict
        Random numbers, settings and names.
    """

    step: Callable[[], object]  # object: what it returns
    changes: list[Callable[[], None]]
    weights: list[tuple[int, str, bool, Any]]  # Any: as above
    batch: list[tuple[Any, str]]  # Any: arrays of this library and of PyTorch
    optimizers: list[tuple[str, Any]]  # Any: PyTorch's
    states: dict[str, Any]  # Any: of each kind its own


class Names:
    """The modules and the variables of functions in the process that gets a program."""

    def __init__(self) -> None:
        self.modules: dict[int, types.ModuleType] = {}
        self.cells: dict[int, types.CellType] = {}

    def __reduce__(self) -> tuple[type[Names], tuple[()]]:
        return Names, ()

    def of(self, key: int | str) -> dict[str, Any]:  # Any: globals
        """The globals of a module of the program by its number, of a library by its name."""
        if isinstance(key, str):
            return vars(importlib.import_module(key))
        names = vars(self.modules.setdefault(key, types.ModuleType("program")))
        names["__builtins__"] = builtins
        return names

    def cell(self, key: int) -> types.CellType:
        """A variable that functions share."""
        return self.cells.setdefault(key, types.CellType())


class Sender(pickle.Pickler):
    """Pickles a program, with edits of its text.

    Parameters
    ----------
    program : Program
    edits : sequence of Edit

    Attributes
    ----------
    found : list
        Objects and functions of the program that were met.
    paths : dict
        ``id`` of an object -> the variable that holds it.

    Raises
    ------
    Inapplicable
        If two edits change the same characters, or the edited text does not compile.
    """

    def __init__(self, program: Program, edits: Sequence[Edit] = ()) -> None:
        self._file = io.BytesIO()
        super().__init__(self._file, protocol=5)
        self._program, self._names = program, Names()
        self.objects: list[Any] = []  # Any: whatever there is
        self.paths: dict[int, str] = {}
        if overlap(edits):
            raise Inapplicable("Two remedies change the same lines.", hint="apply one, and run try_fixes again.")
        self._texts: dict[str, tuple[str, str]] = {}
        for file in {edit.file for edit in edits}:
            source = program.source(file)
            if source is None:
                raise Inapplicable(f"The source text of {file} is not available.", hint="save the program in a file.")
            self._texts[file] = source.text, edited(source.text, [edit for edit in edits if edit.file == file])
            try:
                compile_text(self._texts[file][1], file)
            except SyntaxError as error:
                raise Inapplicable(f"The edit of {source.label} does not compile: {error.msg}, line {error.lineno}.",
                                   hint="write the lines by hand.") from error

    def sent(self, value: object) -> bytes:
        """The pickle of a value.

        Raises
        ------
        NotSendable
            If it holds what cannot be sent; the message names it.
        """
        try:
            self.dump(value)
        except SparsekitError:
            raise
        except Exception as error:
            culprit = self.objects[-1] if self.objects else value
            kind = f"{type(culprit).__module__.removeprefix('builtins')}.{type(culprit).__qualname__}".lstrip(".")
            raise NotSendable(f"{self._way_to(culprit)} holds a {kind}, which cannot be sent to another process: "
                              f"{(str(error).splitlines() or [type(error).__name__])[0]}",
                              hint="make it inside the step, or keep its values in arrays and lists.") from error
        return self._file.getvalue()

    def _way_to(self, culprit: object) -> str:
        """Where the program holds an object: its variable, or the attribute of another one."""
        if id(culprit) in self.paths:
            return self.paths[id(culprit)]
        for holder in reversed(self.objects):
            for name, value in getattr(holder, "__dict__", {}).items():
                if value is culprit:
                    return f"{self.paths.get(id(holder)) or type(holder).__name__}.{name}"
        return "The step"

    def reducer_override(self, value: object) -> Any:  # object: what a program holds; Any: how pickle makes it
        """How a value is made in the other process; pickle's own way for those of libraries."""
        if isinstance(value, type):
            return self._class(value) if is_program(namespace_of(value)) else NotImplemented
        if isinstance(value, types.ModuleType):
            return self._module(value)
        if isinstance(value, types.CodeType):
            return marshal.loads, (marshal.dumps(_under_label(value)),)
        if isinstance(value, (staticmethod, classmethod)):
            return type(value), (value.__func__,)
        if isinstance(value, property):
            return property, (value.fget, value.fset, value.fdel, value.__doc__)
        if isinstance(value, types.FunctionType) and _is_imported(value):
            return NotImplemented
        self.objects.append(value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        return self._array(value) if isinstance(value, NDArray) else torch_programs.reduced(value)

    def _array(self, value: NDArray) -> tuple[Any, ...]:  # Any: as pickle has it
        gradient = value.grad if value._entry is not None else None
        reduced = value.__reduce__()
        if gradient is None:
            return reduced
        request = str(getattr(value._entry[0], "grad_req", "write"))
        return (*reduced, (request, gradient), None, None, _attach)

    # functions

    def _function(self, function: types.FunctionType) -> tuple[Any, ...]:  # Any: as pickle has it
        code, names = self._code_of(function), function.__globals__
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        if set(code.co_freevars) - set(cells):
            raise Inapplicable(f"{code.co_qualname} reads other variables after the edit.", hint="write the lines by hand.")
        contents = contents_of(function)
        self._note(contents)
        own = is_program(names)
        state = {"names": self._globals(code, names) if own else [],  # those of a library are there
                 "contents": {id(cells[name]): value for name, value in contents.items()},
                 "defaults": function.__defaults__, "kwdefaults": function.__kwdefaults__, "own": function.__dict__,
                 "about": (function.__name__, function.__qualname__, function.__module__)}
        arguments = self._names, id(names) if own else names["__name__"], code, [id(cells[name]) for name in code.co_freevars]
        return _make_function, arguments, (self._names, state), None, None, _fill_function

    def _globals(self, code: types.CodeType, names: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:  # Any: globals
        """The globals that code names, and what it names of the user's own modules, each with the number of its module."""
        named = set(names_in(code))
        wanted = {name for name, is_global in named if is_global} | {"__name__", "__file__"}
        own = {name: value for name, value in names.items() if name in wanted}
        modules = [vars(value) for value in own.values() if isinstance(value, types.ModuleType) and _is_sent(value)]
        attributes = {name for name, is_global in named if not is_global} | {"__name__", "__file__"}
        namespaces = [(id(names), own), *((id(namespace), {name: namespace[name] for name in attributes & set(namespace)})
                                          for namespace in modules)]
        for _, variables in namespaces:
            self._note(variables)
        return namespaces

    def _note(self, names: Mapping[str, Any]) -> None:  # Any: variables
        for name, value in names.items():
            self.paths.setdefault(id(value), name)

    def _code_of(self, function: types.FunctionType) -> types.CodeType:
        code = function.__code__
        if code.co_filename not in self._texts:
            return code
        before, after = self._texts[code.co_filename]
        snippet = self._program.snippet
        if snippet is not None and function in snippet.parts:
            return snippet.compiled(after, code.co_filename)[snippet.parts.index(function)]
        edited_code = new_code(code, before, after, code.co_filename)
        if edited_code is None:
            raise Inapplicable(f"{code.co_qualname} was not compiled from the current lines of its file.",
                               hint="run the program again after you change its file.")
        return edited_code

    # modules and classes

    def _module(self, module: types.ModuleType) -> tuple[Any, ...]:  # Any: as pickle has it
        if _is_sent(module):
            return _make_module, (self._names, id(vars(module)), module.__name__)
        return importlib.import_module, (module.__name__,)

    def _class(self, cls: type) -> tuple[Any, ...]:  # Any: as pickle has it
        if isinstance(cls, enum.EnumMeta):
            raise TypeError(f"{cls.__name__} is an Enum of the program itself")
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            plain = _make_tuple(cls.__name__, (), ())
            own = {name: value for name, value in vars(cls).items() if name not in (*vars(plain), *cls._fields)}
            fields = cls.__name__, cls._fields, tuple(cls._field_defaults.values())  # type: ignore[attr-defined]  # as all such have
            return _make_tuple, fields, own, None, None, _fill_class
        first = {name: vars(cls)[name] for name in ("__slots__", "__module__", "__qualname__") if name in vars(cls)}
        body = {name: value for name, value in vars(cls).items() if name not in _MADE
                and not isinstance(value, (types.GetSetDescriptorType, types.MemberDescriptorType))}
        return _make_class, (type(cls), cls.__name__, cls.__bases__, first), body, None, None, _fill_class


def _is_imported(function: types.FunctionType) -> bool:
    """Whether a function is one of a library, that has it under its name."""
    value: Any = sys.modules.get(function.__module__)  # Any: whatever has attributes
    for name in function.__qualname__.split("."):
        value = getattr(value, name, None)
    return value is function and not is_program(function.__globals__)


def _is_sent(module: types.ModuleType) -> bool:
    """Whether a module is the user's own, of which the other process gets what is named."""
    return is_program(vars(module)) and getattr(module, "__file__", None) is not None


def _under_label(code: types.CodeType) -> types.CodeType:
    """Code of a cell under a name that tells the cell's number in any process."""
    from ..profiler.source_location import name_of_file

    label = name_of_file(code.co_filename)
    if not label.startswith("In ["):
        return code
    constants = tuple(_under_label(constant) if isinstance(constant, types.CodeType) else constant for constant in code.co_consts)
    return code.replace(co_filename=f"<ipython-input-{label[4:-1]}-sent>", co_consts=constants)


# --------------------------------------------------------------------------- in the other process


def _make_function(names: Names, key: int | str, code: types.CodeType, cells: Sequence[int]) -> types.FunctionType:
    return types.FunctionType(code, names.of(key), None, None, tuple(map(names.cell, cells)))


def _fill_function(function: types.FunctionType, filled: tuple[Names, Any]) -> None:  # Any: see ``Sender._function``
    names, state = filled
    for key, variables in state["names"]:
        names.of(key).update(variables)
    for key, value in state["contents"].items():
        names.cell(key).cell_contents = value
    function.__defaults__, function.__kwdefaults__ = state["defaults"], state["kwdefaults"]
    function.__name__, function.__qualname__, function.__module__ = state["about"]
    function.__dict__.update(state["own"])


def _make_module(names: Names, key: int, name: str) -> types.ModuleType:
    names.of(key)["__name__"] = name
    return names.modules[key]


def _make_class(kind: type, name: str, bases: tuple[type, ...], body: Mapping[str, Any]) -> type:  # Any: attributes
    return types.new_class(name, bases, {"metaclass": kind}, lambda namespace: namespace.update(body))


def _make_tuple(name: str, fields: Iterable[str], defaults: Iterable[Any]) -> type:  # Any: values
    return collections.namedtuple(name, fields, defaults=tuple(defaults))  # noqa: PYI024  # of fields that are given


def _fill_class(cls: type, body: Mapping[str, Any]) -> None:  # Any: attributes
    for name, value in body.items():
        setattr(cls, name, value)


def _attach(array: NDArray, state: tuple[str, NDArray]) -> None:
    request, gradient = state
    array.attach_grad(request, gradient.stype)
    array.grad._receive(gradient)
