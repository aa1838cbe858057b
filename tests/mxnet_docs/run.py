"""Run the examples that ``collect.py`` finds, on MXNet or on sparsekit, and describe what each statement gives."""

import ast
import builtins
import contextlib
import importlib
import io
import math
import os
import random
import re
import sys
import tempfile
import types

import numpy as np

from . import scope

#: What is described of a large array.
LONGEST = 100


def numbers(values):
    """Return values as JSON can hold them, with the digits that float32 has."""
    def one(value):
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
        if isinstance(value, (int, np.integer)):
            return int(value)
        return float(f"{value:.7g}") if math.isfinite(value) else str(float(value))

    flat = np.ravel(values)
    return [one(value) for value in flat[:LONGEST].tolist()]


def array(kind, value, dense):
    return {kind: [int(size) for size in value.shape], "dtype": np.dtype(value.dtype).name, "stype": getattr(value, "stype", ""),
            "values": numbers(dense)}


def describe(value, depth=0):
    """Return plain data that say what a value is."""
    kind = type(value).__name__
    if value is None or isinstance(value, (bool, int, str)):
        return cleaned(value) if isinstance(value, str) else value
    if isinstance(value, float):
        return numbers([value])[0]
    if hasattr(value, "asnumpy") and hasattr(value, "stype"):
        return array("array", value, value.asnumpy())
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biuf":
        return array("numpy", value, value)
    if hasattr(value, "list_arguments") and hasattr(value, "list_outputs"):
        return {"symbol": value.list_arguments(), "outputs": value.list_outputs(), "states": value.list_auxiliary_states()}
    if isinstance(value, (list, tuple)) and depth < 4:
        return {kind if kind in ("list", "tuple") else "tuple": [describe(one, depth + 1) for one in value[:20]]}
    if isinstance(value, dict) and depth < 4:
        return {"dict": {name: describe(one, depth + 1) for name, one in sorted((str(key), one) for key, one in value.items())}}
    return {"object": "type" if isinstance(value, type) else "function" if isinstance(value, types.FunctionType) else kind}


def cleaned(text):
    """Return text without what no two runs share: addresses, the time of a message, how versions of numpy write scalars."""
    text = re.sub(r"\[\d\d:\d\d:\d\d\] ", "", text)
    text = re.sub(r"0x[0-9a-f]{6,}", "0x", text)
    text = re.sub(r"np\.(?:float|int|uint)\d+\(([^()]*)\)", r"\1", text).replace("np.True_", "True").replace("np.False_", "False")
    text = re.sub(r"<(class|module) '(?:\w+\.)*(\w+)'[^>]*>", r"<\1 '\2'>", text)
    return re.sub(r"\s+", " ", text).strip()


class Names(dict):
    """The names of an example in the operators' own notation: any operator, and arrays."""

    def __init__(self, mx, front, where):
        super().__init__()
        self.mx, self.front, self.values = mx, front, {}
        self.own = where.rsplit(".", 1)[-1]
        self.update(mx=mx, np=np, nd=mx.nd, sym=mx.sym, symbol=mx.sym, random=mx.random, cpu=mx.cpu, array=self.make,
                    stored=self.stored, Variable=mx.sym.Variable)
        if front is mx.sym:
            self["ones"] = lambda *shape: self.variable(mx.nd.ones(*shape))
        inner = re.search(r"gen_(\w+)\.", where).group(1)
        order = ([] if inner in ("op", "_internal") else [inner]) + ["", "sparse", "contrib", "linalg", "random", "_internal"]
        self.spaces = [getattr(front, name, front) if name else front for name in order]

    def __missing__(self, name):
        shortened = name in self.own  # the documentation shortens names of operators
        for wanted in [self.own, name] if self.own == f"random_{name}" else [name, self.own] if shortened else [name]:
            for space in self.spaces:
                if hasattr(space, wanted) and not isinstance(getattr(space, wanted), types.ModuleType):
                    return getattr(space, wanted)
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise NameError(name)

    def variable(self, value):
        name = f"v{len(self.values)}"
        self.values[name] = value
        return self.mx.sym.Variable(name, stype=value.stype)

    def make(self, *arguments, **settings):
        value = self.mx.nd.array(*arguments, **settings)
        return self.variable(value) if self.front is self.mx.sym else value

    def stored(self, stype):
        values = self.mx.nd.array([[0.5, 0, 0.25], [0, 0, 0], [0, 0.75, 0]])
        value = values[0] if stype == "row" else values.tostype(stype)
        return self.variable(value) if self.front is self.mx.sym else value

    def shown(self, value):
        """Return what stands for a symbol: its value."""
        if not hasattr(value, "list_arguments") or not set(value.list_arguments()) <= set(self.values):
            return value
        results = value.bind(self.mx.cpu(), {name: self.values[name] for name in value.list_arguments()}).forward()
        return results[0] if len(results) == 1 else results


def given_names(mx):
    """Return what a reader of the documentation takes for granted."""
    from_gluon = {name: getattr(mx.gluon, name) for name in ("nn", "rnn", "data", "loss", "Block", "HybridBlock")}
    known = {"mx": mx, "mxnet": mx, "np": np, "numpy": np, "nd": mx.nd, "sym": mx.sym, "symbol": mx.sym, "gluon": mx.gluon,
             "autograd": mx.autograd, "os": os, "F": mx.nd, "random": random, **from_gluon}
    return known


@contextlib.contextmanager
def place_of_its_own():
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


class Runner:
    """Runs the statements of one example one by one."""

    def __init__(self, mx, example):
        self.mx, self.example = mx, example
        self.notation = example.kind in ("equations", "facts")
        front = mx.sym if example.front == "symbol" else mx.nd
        self.names = Names(mx, front, example.where) if self.notation else given_names(mx)
        self.globals = self.names if not self.notation else {}
        self.globals["__builtins__"] = {**vars(builtins), "__import__": self.imported}
        self.globals["__name__"] = "example"
        exec(compile(given(example), "given", "exec"), self.globals, self.names)

    def imported(self, name, *arguments, **settings):
        """Give the library that is tested for ``mxnet``."""
        if name.split(".")[0] != "mxnet" or self.mx.__name__ == "mxnet":
            return builtins.__import__(name, *arguments, **settings)
        found = importlib.import_module(name.replace("mxnet", self.mx.__name__, 1))
        names = arguments[2] if len(arguments) > 2 else settings.get("fromlist")
        return found if names else self.mx

    def show(self, value, found):
        if self.notation:
            value = self.names.shown(value)
        if value is not None:
            found["value"] = describe(value)
            found["text"] = cleaned(repr(value)) if not self.notation else ""

    def bound(self, value, found):
        found["bound"] = describe(self.names.shown(value) if self.notation else value)

    def step(self, statement):
        """Run a statement, and return what it prints, shows and names."""
        found, out = {}, io.StringIO()
        try:
            tree = ast.parse(statement)
            with contextlib.redirect_stdout(out):
                last = tree.body[-1] if tree.body else None
                if isinstance(last, ast.Expr):
                    before = ast.Module(tree.body[:-1], [])
                    exec(compile(before, "example", "exec"), self.globals, self.names)
                    self.show(eval(compile(ast.Expression(last.value), "example", "eval"), self.globals, self.names), found)
                else:
                    exec(compile(tree, "example", "exec"), self.globals, self.names)
                    if isinstance(last, (ast.Assign, ast.AugAssign)):
                        target = last.targets[0] if isinstance(last, ast.Assign) else last.target
                        if isinstance(target, ast.Name):
                            self.bound(self.names[target.id], found)
        except Exception as error:  # whatever an example raises is its result
            return {"error": type(error).__name__, "message": cleaned(str(error))[:200], "raised": error}
        if out.getvalue().strip():
            found["printed"] = cleaned(out.getvalue())
        return found


def seed(mx, number):
    """Have every generator of random numbers start anew."""
    mx.random.seed(number)
    np.random.seed(number)
    random.seed(number)


def run(mx, example, number=0):
    """Return what each statement of an example gives."""
    seed(mx, number)
    with place_of_its_own(), mx.name.NameManager():
        runner = Runner(mx, example)
        return [runner.step(statement) for statement in example.statements]


def given(example):
    """Return the statements that define what an example uses without saying where it is from."""
    return "\n".join(source for pattern, source in scope.GIVEN.items() if re.search(pattern, f"{example.where}:{example.kind}"))


def matches(patterns, example, index=None):
    """Return the first pattern that an example, or one of its statements, matches, or None."""
    name = f"{example.where}:{example.kind}" + ("" if index is None else f"#{index}")
    return next((pattern for pattern in patterns if re.search(pattern, name)), None)


_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|inf|nan)(?![\w])")


def same_text(found, expected):
    """Whether two printed results are equal but for the last digits of numbers, and spaces."""
    def parts(text):
        skeleton = re.sub(r"\s+", "", _NUMBER.sub("#", text)).replace(",#", "#").replace(",[", "[")
        return skeleton, [float(number) for number in _NUMBER.findall(text)]

    (one, these), (other, those) = parts(found), parts(expected)
    return one == other and len(these) == len(those) and all(close(a, b) for a, b in zip(these, those, strict=True))


def close(one, other):
    one, other = float(one), float(other)
    return one == other or (math.isnan(one) and math.isnan(other)) or abs(one - other) <= 2e-5 * max(abs(one), abs(other)) + 1e-6


def same(found, expected):
    """Whether descriptions are equal, numbers nearly so."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and set(found) == set(expected) and all(same_text(found[key], expected[key])
            if key in ("text", "printed") else same(found[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        alike = isinstance(found, list) and len(found) == len(expected)
        return alike and all(same(a, b) for a, b in zip(found, expected, strict=True))
    if isinstance(expected, float) or isinstance(found, float):
        return isinstance(found, (int, float)) and isinstance(expected, (int, float)) and close(found, expected)
    return found == expected


def form(outcome):
    """Return what of an outcome does not depend on chance: everything but numbers."""
    if isinstance(outcome, dict):
        return {key: _NUMBER.sub("#", value).replace(" ", "") if key in ("text", "printed")
                else [] if key == "values" else form(value) for key, value in outcome.items() if key != "raised"}
    if isinstance(outcome, list):
        return [form(one) for one in outcome]
    return 0.0 if isinstance(outcome, float) else outcome


if __name__ == "__main__":
    sys.exit("This is a part of the tests, and of tests/oracle/record_docstrings.py.")
