"""A second copy of a program: functions, the variables they close over, the globals they name, and every object those hold.

A function keeps no state of its own, but it reaches state through its cells, its defaults, its globals and the object that it
is bound to.  ``Cloner`` copies all of that with one memo, so that what was shared is shared again, and functions of the
program are made anew over the copies.  Functions and classes of libraries stay what they are.
"""

from __future__ import annotations

import copyreg
import functools
import sys
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar, cast

from ..base.errors import SparsekitError
from ..ndarray.ndarray import NDArray

__all__ = ["COPIERS", "Cloner", "Found", "NotCloneable", "is_program", "names_in"]

T = TypeVar("T")

#: Parts of sparsekit that are programs themselves, as a user's are.
PROGRAMS = ("sparsekit.demo", "sparsekit.examples")

#: Folders whose modules belong to libraries.
_LIBRARIES = ("site-packages", "dist-packages")

#: What is never copied: it cannot change, or a copy of it would not be it.
_SHARED = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented), range, slice, types.CodeType,
           types.BuiltinFunctionType, types.GetSetDescriptorType, types.MemberDescriptorType,
           types.WrapperDescriptorType, types.MethodDescriptorType, weakref.ref)


#: Functions that copy objects of one library, ``(cloner, object, path)``, or give None; other libraries add theirs.
COPIERS: list[Callable[[Cloner, Any, str], Any]] = []  # Any: objects and their copies


class NotCloneable(SparsekitError, TypeError):
    """Something that a program holds cannot be copied; the message names it and the way to it."""


class Found(NamedTuple):
    """An object that the program holds, with the way to it: ``net``, ``trainer._params[0]``."""

    original: Any  # Any: whatever the program holds
    path: str


def is_program(names: Mapping[str, Any]) -> bool:  # Any: the globals of a module
    """Whether globals belong to a program of the user, rather than to a library."""
    name = str(names.get("__name__", ""))
    top = name.partition(".")[0]
    if top == "sparsekit":
        return name.startswith(PROGRAMS)
    if name != "__main__" and top in sys.stdlib_module_names:
        return False
    return not any(f"/{folder}/" in str(names.get("__file__") or "").replace("\\", "/") for folder in _LIBRARIES)


def names_in(code: types.CodeType) -> Iterator[str]:
    """Names that code may look up in its globals, those of the functions inside included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_in(constant)


class Cloner:
    """Copies objects with one memo.

    Parameters
    ----------
    code_of : callable, optional
        Gives the code that the copy of a function runs; by default that of the function.
    missing : callable, optional
        Gives the value of a free variable that new code has and the function had not: ``missing(name, function, cloner)``.
    replace : dict, optional
        ``id`` of an array -> function that makes its copy.

    Attributes
    ----------
    memo : dict
        ``id`` of each original -> its copy.
    found : list of Found
    functions : list of function
        Originals of the functions that were made anew.
    """

    def __init__(self, code_of: Callable[[types.FunctionType], types.CodeType] | None = None,
                 missing: Callable[[str, types.FunctionType, Cloner], Any] | None = None,  # Any: a variable's value
                 replace: Mapping[int, Callable[[Any], Any]] | None = None) -> None:  # Any: arrays
        self.memo: dict[int, Any] = {}  # Any: copies of whatever there is
        self.found: list[Found] = []
        self.functions: list[types.FunctionType] = []
        self._code_of = code_of or (lambda function: function.__code__)
        self._missing, self._replace = missing, dict(replace or {})
        self._globals: dict[int, dict[str, Any]] = {}  # Any: globals
        self._seen: dict[int, set[str]] = {}
        self._kept: list[Any] = []  # Any: originals, which must not be freed as long as their id is known

    def __call__(self, value: T, path: str = "") -> T:
        """The copy of a value, the same for the same value.

        Raises
        ------
        NotCloneable
            If it cannot be copied.
        """
        if isinstance(value, _SHARED):
            return value
        key = id(value)
        if key in self.memo:
            return cast(T, self.memo[key])
        made = self._made(value, path)
        if key not in self.memo:
            self._keep(value, made)
        if made is not value and not isinstance(value, (dict, list, tuple, set, types.FunctionType, type)):
            self.found.append(Found(value, path))
        return cast(T, self.memo[key])

    def _keep(self, value: object, made: object) -> None:
        self.memo[id(value)] = made
        self._kept.append(value)

    def _made(self, value: object, path: str) -> object:
        kind = type(value)
        if id(value) in self._replace:
            return self._replace[id(value)](self._array(value) if isinstance(value, NDArray) else value)
        if isinstance(value, NDArray):
            return self._array(value)
        for copier in COPIERS:
            made = copier(self, value, path)
            if made is not None:
                return made
        for known, copy in _WAYS.items():
            if kind is known:
                return copy(self, value, path)
        if isinstance(value, type):
            return self._class(value, path)
        if isinstance(value, (property, staticmethod, classmethod)):
            return value
        return self._object(value, path)

    # functions

    def _function(self, function: types.FunctionType, path: str) -> types.FunctionType:
        if not is_program(function.__globals__):
            return function
        code = self._code_of(function)
        before = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        new = [name for name in code.co_freevars if id(before.get(name)) not in self.memo]
        cells = tuple(types.CellType() if name in new else self.memo[id(before[name])] for name in code.co_freevars)
        made = types.FunctionType(code, self.globals_of(function.__globals__), function.__name__, None, cells)
        self._keep(function, made)
        self.functions.append(function)
        for name, cell in zip(code.co_freevars, cells, strict=True):
            if name in before:
                self._keep(before[name], cell)
        for name, cell in zip(code.co_freevars, cells, strict=True):
            if name in new and name in before:
                self._cell(before[name], cell, name)
            elif name not in before and self._missing is not None:
                cell.cell_contents = self._missing(name, function, self)
        made.__defaults__ = self(function.__defaults__, f"{path}.__defaults__")
        made.__kwdefaults__ = self(function.__kwdefaults__, f"{path}.__kwdefaults__")
        made.__qualname__, made.__module__, made.__doc__ = function.__qualname__, function.__module__, function.__doc__
        made.__annotations__ = function.__annotations__
        made.__dict__.update(self(function.__dict__, path))
        self.fill(code, function.__globals__)
        return made

    def _cell(self, before: types.CellType, cell: types.CellType, name: str) -> None:
        """Fill a new cell with a copy of what is in another one."""
        try:
            value = before.cell_contents
        except ValueError:  # not assigned yet
            return
        cell.cell_contents = self(value, name)

    def globals_of(self, names: dict[str, Any]) -> dict[str, Any]:  # Any: globals
        """The globals of the copies of a module's functions: those of the module until ``fill`` copies what code names."""
        made = self._globals.get(id(names))
        if made is None:
            made = self._globals[id(names)] = dict(names)
            self._kept.append(names)
            self._seen[id(names)] = set()
        return made

    def fill(self, code: types.CodeType, names: dict[str, Any]) -> None:  # Any: globals
        """Copy the globals that code names."""
        made, seen = self.globals_of(names), self._seen[id(names)]
        attributes = set(names_in(code))
        for name in attributes:
            if name in seen or name not in names:
                continue
            seen.add(name)
            value = names[name]
            made[name] = self.module(value, attributes) if isinstance(value, types.ModuleType) else self(value, name)

    def module(self, module: types.ModuleType, attributes: set[str]) -> types.ModuleType:
        """A module of the user with copies of what code may read of it; one of a library itself."""
        if not is_program(vars(module)) or getattr(module, "__file__", None) is None:
            return module
        made = self.memo.get(id(module))
        if made is None:
            made = types.ModuleType(module.__name__, module.__doc__)
            self._keep(module, made)
            made.__dict__.update(self.globals_of(vars(module)))
        for name in attributes & set(vars(module)):
            value = vars(module)[name]
            copy = (self.module(value, attributes) if isinstance(value, types.ModuleType)
                    else self(value, f"{module.__name__}.{name}"))
            vars(made)[name] = self.globals_of(vars(module))[name] = copy
        return made

    # classes

    def _class(self, cls: type, path: str) -> type:
        """A class of the program, as one derived from it whose methods and whose own state are copies."""
        module = sys.modules.get(cls.__module__)
        names = vars(module) if module is not None else {"__name__": cls.__module__}
        inside = map(_function_in, vars(cls).values())
        methods = [function for function in inside if isinstance(function, types.FunctionType)]
        if methods:
            names = methods[0].__globals__
        if not is_program(names) or not methods or issubclass(cls, (BaseException, tuple)) or type(cls) is not type:
            return cls
        try:
            made = type(cls.__name__, (cls,), {"__slots__": (), "__module__": cls.__module__, "__qualname__": cls.__qualname__,
                                               "__doc__": cls.__doc__})
        except TypeError:  # a class that allows no class derived from it
            return cls
        self._keep(cls, made)
        for base in reversed(cls.__mro__[:-1]):
            self._methods(base, made, path)
        return made

    def _methods(self, base: type, made: type, path: str) -> None:
        for name, value in vars(base).items():
            function = _function_in(value)
            if isinstance(function, types.FunctionType):
                if is_program(function.__globals__):
                    setattr(made, name, _like(value, self, path))
            elif not name.startswith("__") and isinstance(value, (list, dict, set, NDArray)) and is_program(_names_of(base)):
                setattr(made, name, self(value, f"{base.__name__}.{name}"))

    # objects

    def _array(self, value: NDArray) -> NDArray:
        """The copy of an array, with its gradient; ``copy.deepcopy`` leaves that out."""
        made: NDArray = value.__deepcopy__(self.memo)
        gradient = value.grad if value._entry is not None else None
        if gradient is not None:
            made.attach_grad(_request(value), gradient.stype)
            made.grad._receive(gradient)
        return made

    def _object(self, value: object, path: str) -> object:
        own = getattr(type(value), "__deepcopy__", None)
        try:
            if own is not None:
                return own(value, self.memo)
            return self._reduced(value, path)
        except NotCloneable:
            raise
        except (MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:
            what = f"{type(value).__module__.removeprefix('builtins')}.{type(value).__qualname__}".lstrip(".")
            why = f": {str(error).splitlines()[0]}" if str(error) else "."
            raise NotCloneable(f"{path or 'The step'} holds a {what}, which cannot be copied{why}",
                               hint="make it inside the step, or keep its values in arrays and lists.") from error

    def _reduced(self, value: object, path: str) -> object:
        reducer = copyreg.dispatch_table.get(type(value))
        parts = reducer(value) if reducer is not None else value.__reduce_ex__(4)
        if isinstance(parts, str):
            return value  # a constant of its module
        make, arguments, state, items, pairs = (*parts, None, None, None)[:5]
        made = make(*(self(one, path) for one in arguments))
        self._keep(value, made)
        if state is not None:
            self._restore(made, self(state, path))
        for item in items or ():
            made.append(self(item, path))
        for key, item in pairs or ():
            made[self(key, path)] = self(item, path)
        return made

    def _restore(self, made: Any, state: Any) -> None:  # Any: an object and what it holds
        if hasattr(made, "__setstate__"):
            made.__setstate__(state)
            return
        slots = None
        if isinstance(state, tuple) and len(state) == 2:
            state, slots = state
        vars(made).update(state) if state else None
        for name, item in (slots or {}).items():
            object.__setattr__(made, name, item)


def _request(value: NDArray) -> str:
    return str(getattr(value._entry[0], "grad_req", "write")) if value._entry is not None else "write"


def _names_of(cls: type) -> Mapping[str, Any]:  # Any: globals
    module = sys.modules.get(cls.__module__)
    return {"__name__": cls.__module__} if module is None else vars(module)


def _function_in(value: object) -> object:
    if isinstance(value, (staticmethod, classmethod)):
        return value.__func__
    return value.fget if isinstance(value, property) else value


def _like(value: object, copy: Cloner, path: str) -> object:
    """A method, or a property, over the copies of its functions."""
    if isinstance(value, property):
        return property(copy(value.fget, path), copy(value.fset, path), copy(value.fdel, path), value.__doc__)
    if isinstance(value, (staticmethod, classmethod)):
        return type(value)(copy(value.__func__, path))
    return copy(value, path)


def _dict(copy: Cloner, value: dict[Any, Any], path: str) -> dict[Any, Any]:  # Any: keys and values of any kind
    made: dict[Any, Any] = {}  # Any: as above
    copy._keep(value, made)
    for key, item in value.items():
        made[copy(key, path)] = copy(item, f"{path}.{key}" if isinstance(key, str) and key.isidentifier() else f"{path}[{key!r}]")
    return made


def _list(copy: Cloner, value: list[Any], path: str) -> list[Any]:  # Any: items of any kind
    made: list[Any] = []  # Any: as above
    copy._keep(value, made)
    made.extend(copy(item, f"{path}[{place}]") for place, item in enumerate(value))
    return made


def _tuple(copy: Cloner, value: tuple[Any, ...], path: str) -> tuple[Any, ...]:  # Any: items of any kind
    made = tuple(copy(item, f"{path}[{place}]") for place, item in enumerate(value))
    if id(value) in copy.memo:  # it holds itself, by way of a list
        return copy.memo[id(value)]  # type: ignore[no-any-return]  # the memo holds anything
    return value if all(one is other for one, other in zip(made, value, strict=True)) else made


def _set(copy: Cloner, value: set[Any] | frozenset[Any], path: str) -> object:  # Any: items of any kind
    return type(value)(copy(item, path) for item in value)


def _method(copy: Cloner, value: types.MethodType, path: str) -> types.MethodType:
    return types.MethodType(copy(value.__func__, path), copy(value.__self__, f"{path}.__self__"))


def _partial(copy: Cloner, value: functools.partial[Any], path: str) -> functools.partial[Any]:  # Any: its result
    return functools.partial(copy(value.func, path), *copy(value.args, path), **copy(value.keywords, path))


def _cell_copy(copy: Cloner, value: types.CellType, path: str) -> types.CellType:
    made = types.CellType()
    copy._keep(value, made)
    copy._cell(value, made, path)
    return made


def _module(copy: Cloner, value: types.ModuleType, path: str) -> types.ModuleType:
    return copy.module(value, set())


#: How values of these very types are copied.
_WAYS: dict[type, Callable[[Cloner, Any, str], object]] = {  # Any: the value, of that type
    dict: _dict, list: _list, tuple: _tuple, set: _set, frozenset: _set, types.FunctionType: Cloner._function,
    types.MethodType: _method, functools.partial: _partial, types.CellType: _cell_copy, types.ModuleType: _module,
}
