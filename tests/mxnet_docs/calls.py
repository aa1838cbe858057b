"""Note the calls that an example makes, as data, and make the same calls again.

A step is a list ``[statement, what, on, arguments, keywords, result]``: ``what`` is ``call``, ``get``, ``item``, ``set``,
``assign``, ``enter``, ``exit``, or the name of a builtin or of a function of ``operator``. A value is itself if JSON has it, else
a dict with one key that says what it is: ``$`` the result of a step, ``m`` a public name of the library.
"""

import builtins
import operator
import types

import numpy as np

from . import run

#: Arrays of more numbers are not noted.
LARGEST = 3000

_BUILTINS = ("repr", "len", "bool", "float", "int")
_BINARY = ("add", "sub", "mul", "truediv", "mod", "pow", "matmul", "floordiv", "eq", "ne", "lt", "le", "gt", "ge")
_OPERATORS = {*_BINARY, "neg", "abs", "iadd", "isub", "imul", "itruediv", "imod"}


class NotNoted(Exception):
    """An example does what cannot be written down: it hands over a function or a class of its own."""


def _plain(value):
    if isinstance(value, (list, tuple)):
        return all(_plain(one) for one in value)
    if isinstance(value, dict):
        return all(_plain(one) for one in value.values())
    return value is None or value is NotImplemented or isinstance(value, (bool, int, float, str, bytes, np.ndarray, np.generic,
                                                                          np.dtype)) or (
        isinstance(value, type) and value.__module__ in ("numpy", "builtins"))


class Noter:
    """Notes the steps of one example. ``root`` is what stands for the library."""

    def __init__(self, mx):
        self.steps, self.statement, self.held, self.numbers, self.paths = [], 0, [], {}, {}
        self.mx = mx
        self.root = self.at(mx, "")

    def at(self, value, path):
        """Return what stands for a public name."""
        if path not in self.paths:
            self.paths[path] = Noted(self, value, {"m": path})
        return self.paths[path]

    def wrapped(self, value, code):
        """Return what stands for a value: itself if it is plain data."""
        if _plain(value):
            return value
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            return type(value)(self.wrapped(one, {"$": [*code["$"], index]}) for index, one in enumerate(value))
        if type(value) is dict:
            return {name: self.wrapped(one, {"$": [*code["$"], name]}) for name, one in value.items()}
        if id(value) not in self.numbers:
            self.held.append(value)
            self.numbers[id(value)] = Noted(self, value, code)
        return self.numbers[id(value)]

    def do(self, what, on, arguments=(), keywords=None):
        """Do a step, and note it."""
        code = [what, self.code(on), [self.code(one) for one in arguments],
                {name: self.code(one) for name, one in (keywords or {}).items()}]
        number = len(self.steps)
        self.steps.append([self.statement, *code, {"raises": True}])
        result = step(what, bare(on), bare(list(arguments)), bare(keywords or {}))
        quiet = isinstance(result, (types.FunctionType, types.MethodType, types.BuiltinFunctionType, type)) and what == "get"
        described = None if quiet or what in ("enter", "iter") else shown(what, result)
        private = isinstance(described, dict) and str(described.get("object", "")).startswith("_")
        self.steps[number][-1] = None if private else described
        return self.wrapped(result, {"$": [number]})

    def code(self, value):
        """Return a value as JSON."""
        if isinstance(value, Noted):
            return value._code
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, (int, float)) and not isinstance(value, np.generic):
            return value if np.isfinite(value) else {"float": str(value)}
        if isinstance(value, (np.ndarray, np.generic)):
            if value.size > LARGEST or value.dtype.kind not in "biuf":
                raise NotNoted(f"an array of {value.size} {value.dtype}")
            return {"numpy": [value.dtype.name, list(value.shape), [float(one) if value.dtype.kind == "f" else int(one)
                                                                    for one in np.ravel(value)]]}
        if isinstance(value, np.dtype):
            return {"dtype": value.name}
        if isinstance(value, type) and value.__module__ == "numpy":
            return {"type": value.__name__}
        if value in (int, float, bool):
            return {"builtin": value.__name__}
        if hasattr(value, "_fields") and not type(value).__module__.startswith("mxnet"):
            raise NotNoted("a named tuple")
        if isinstance(value, (list, tuple)):
            made = [self.code(one) for one in value]
            return made if isinstance(value, list) else {"tuple": made}
        if isinstance(value, dict):
            return {"dict": [[self.code(name), self.code(one)] for name, one in value.items()]}
        if isinstance(value, slice):
            return {"slice": [self.code(one) for one in (value.start, value.stop, value.step)]}
        if value is Ellipsis:
            return {"ellipsis": 0}
        raise NotNoted(type(value).__name__)


class Noted:
    """Stands for an object of the library, and notes what is done with it."""

    def __init__(self, noter, value, code):
        vars(self).update(_noter=noter, _value=value, _code=code)

    def __getattr__(self, name):
        path = self._code.get("m")
        if path is not None and (name == "__all__" or not name.startswith("__")):
            found = getattr(self._value, name)
            inner = f"{path}.{name}" if path else name
            return found if _plain(found) else self._noter.at(found, inner)
        if name.startswith("__"):
            raise AttributeError(name)
        getattr(self._value, name)  # an AttributeError is the example's
        return self._noter.do("get", self, [name])

    def __setattr__(self, name, value):
        self._noter.do("assign", self, [name, value])

    def __call__(self, *arguments, **keywords):
        return self._noter.do("call", self, arguments, keywords)

    def __getitem__(self, key):
        return self._noter.do("item", self, [key])

    def __setitem__(self, key, value):
        self._noter.do("set", self, [key, value])

    def __enter__(self):
        return self._noter.do("enter", self)

    def __exit__(self, *exception):
        self._noter.do("exit", self)

    def __iter__(self):
        iterator = self._noter.do("iter", self)
        return iterator if isinstance(iterator, Noted) else iter(iterator)

    def __next__(self):
        return self._noter.do("next", self)

    def __repr__(self):
        return self._noter.do("repr", self)

    def __len__(self):
        return self._noter.do("len", self)

    def __bool__(self):
        return self._noter.do("bool", self)

    def __float__(self):
        return self._noter.do("float", self)

    def __int__(self):
        return self._noter.do("int", self)

    def __hash__(self):
        return id(self)

    def __mro_entries__(self, bases):
        raise NotNoted("a class")


def _forwards(name):
    return lambda self, *others: self._noter.do(name, self, others)


def _backwards(name):
    return lambda self, other: self._noter.do(name, other, [self])


for _name in _OPERATORS:
    setattr(Noted, f"__{_name}__", _forwards(_name))
    if _name in _BINARY[:8]:
        setattr(Noted, f"__r{_name}__", _backwards(_name))


def shown(what, result):
    """Return what is compared of a step's result."""
    return {"text": run.describe(result)} if what == "repr" else run.describe(result)


def bare(value):
    """Return a value with the objects themselves in the place of what stands for them."""
    if isinstance(value, Noted):
        return value._value
    if type(value) in (list, tuple):
        return type(value)(bare(one) for one in value)
    if type(value) is dict:
        return {name: bare(one) for name, one in value.items()}
    if isinstance(value, slice):
        return slice(bare(value.start), bare(value.stop), bare(value.step))
    return value


def step(what, on, arguments, keywords):
    """Do one step."""
    if what == "call":
        return on(*arguments, **keywords)
    if what == "get":
        return getattr(on, *arguments)
    if what == "item":
        return on[arguments[0]]
    if what == "set":
        return operator.setitem(on, *arguments)
    if what == "assign":
        return setattr(on, *arguments)
    if what == "enter":
        return type(on).__enter__(on)
    if what == "exit":
        return type(on).__exit__(on, None, None, None)
    if what in ("iter", "next", *_BUILTINS):
        return getattr(builtins, what)(on)
    return getattr(operator, what)(on, *arguments)


class NotingRunner(run.Runner):
    """Runs an example whose library notes what is done with it."""

    def show(self, value, found):
        value = self.names.shown(value) if self.notation else value
        if isinstance(value, Noted):
            repr(value)

    def bound(self, value, found):
        if self.notation:
            self.names.shown(value)

    def imported(self, name, *arguments, **settings):
        if name.split(".")[0] != "mxnet":
            return builtins.__import__(name, *arguments, **settings)
        found = self.mx
        for part in name.split(".")[1:]:
            found = getattr(found, part)
        names = arguments[2] if len(arguments) > 2 else settings.get("fromlist")
        return found if names else self.mx


def note(mx, example, seed=0):
    """Return the steps of an example, or raise ``NotNoted``."""
    noter = Noter(mx)
    run.seed(mx, seed)
    with run.place_of_its_own(), mx.name.NameManager():
        runner = NotingRunner(noter.root, example)
        for number, statement in enumerate(example.statements):
            noter.statement = number
            outcome = runner.step(statement)
            if isinstance(outcome.get("raised"), NotNoted):
                raise outcome["raised"]
            if "error" in outcome:  # what MXNet refuses is done, but says nothing
                noter.steps = [one if one[0] != number else [None, *one[1:]] for one in noter.steps]
    return noter.steps


def without_numbers(steps, other, chance):
    """Return the steps with the results of which another run has other numbers, or may have, as forms."""
    if [one[:3] for one in steps] != [two[:3] for two in other]:
        raise NotNoted("other steps in another run")
    return [one if one[5] is None or (run.same(one[5], two[5]) and not chance) else [*one[:5], {"form": run.form(one[5])}]
            for one, two in zip(steps, other, strict=True)]


class Replay:
    """Makes the calls of a record, and compares what they give."""

    def __init__(self, mx):
        self.mx, self.results = mx, {}

    def value(self, code):
        """Return what JSON says of a value."""
        if isinstance(code, list):
            return [self.value(one) for one in code]
        if not isinstance(code, dict):
            return code
        (kind, inner), = code.items()
        if kind == "$":
            found = self.results[inner[0]]
            for place in inner[1:]:
                found = found[place]
            return found
        if kind == "m":
            found = self.mx
            for part in inner.split(".") if inner else ():
                found = getattr(found, part)
            return found
        if kind == "numpy":
            return np.array(inner[2], inner[0]).reshape(inner[1])
        simple = {"float": float, "dtype": np.dtype, "type": lambda name: getattr(np, name), "ellipsis": lambda _: Ellipsis,
                  "builtin": lambda name: getattr(builtins, name)}
        if kind in simple:
            return simple[kind](inner)
        if kind == "tuple":
            return tuple(self.value(one) for one in inner)
        if kind == "dict":
            return {self.value(name): self.value(one) for name, one in inner}
        return slice(*(self.value(one) for one in inner))

    def run(self, steps):
        """Yield for each step its statement, and None or what is wrong with its result."""
        for number, (statement, what, on, arguments, keywords, expected) in enumerate(steps):
            if not self.has(on) or not self.has(arguments) or not self.has(keywords):
                yield statement, "needs the result of a step that failed"
                continue
            try:
                given = {name: self.value(one) for name, one in keywords.items()}
                self.results[number] = result = step(what, self.value(on), self.value(arguments), given)
            except Exception as error:  # whatever is raised is the result
                right = expected == {"raises": True}
                yield statement, None if right else f"{type(error).__name__}: {run.cleaned(str(error))[:300]}"
                continue
            found = None if expected is None else shown(what, result)
            if isinstance(expected, dict) and "form" in expected:
                found, expected = run.form(found), expected["form"]
            yield statement, None if run.same(found, expected) else f"gives {str(found)[:300]} instead of {str(expected)[:300]}"

    def has(self, code):
        """Whether all results that a value needs are there."""
        if isinstance(code, dict):
            return code["$"][0] in self.results if "$" in code else all(self.has(one) for one in code.values())
        return not isinstance(code, list) or all(self.has(one) for one in code)


def replay(mx, steps, seed=0):
    """Return for each step its statement, and None or what is wrong with its result."""
    run.seed(mx, seed)
    with run.place_of_its_own(), mx.name.NameManager():
        return list(Replay(mx).run(steps))
