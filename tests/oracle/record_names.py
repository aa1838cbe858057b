"""Record the tree of MXNet's public modules, and the public names of its classes.

For each module two dicts: what it exports or defines, and what it imports from elsewhere in MXNet.  Their keys are the shortest
paths where the same objects are, and their values the names.
"""

import ast
import functools
import importlib
import inspect
import numbers
import pkgutil
import sys
import types

import mxnet
import recording

#: Installed beside MXNet, but scripts rather than modules.
NOT_MODULES = ("mxnet.libmxnet", "mxnet.onnx.setup")

#: Modules whose functions others import for their own use.
HELPERS = ("mxnet.base", "mxnet._ctypes.ndarray", "mxnet._ctypes.symbol", "mxnet.libinfo", "mxnet.registry")

CLASSES = ["nd.NDArray", "nd.sparse.CSRNDArray", "nd.sparse.RowSparseNDArray", "sym.Symbol", "gluon.Block", "gluon.HybridBlock",
           "gluon.SymbolBlock", "gluon.Parameter", "gluon.Constant", "gluon.ParameterDict", "gluon.Trainer",
           "optimizer.Optimizer", "optimizer.Updater", "metric.EvalMetric", "kv.KVStore", "io.DataIter", "io.NDArrayIter",
           "io.DataBatch", "io.DataDesc", "initializer.Initializer", "lr_scheduler.LRScheduler", "module.Module",
           "module.BaseModule", "module.BucketingModule", "module.SequentialModule", "executor.Executor", "Context",
           "monitor.Monitor", "gluon.rnn.RecurrentCell", "gluon.data.DataLoader", "gluon.data.Dataset", "operator.CustomOp",
           "operator.CustomOpProp", "model.FeedForward", "AttrScope", "name.NameManager", "autograd.Function", "engine.bulk"]


def import_below(package):
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if found.name not in NOT_MODULES:
            module = importlib.import_module(found.name)
            if found.ispkg:
                import_below(module)


def defined_in(module):
    """Names that the module's own text assigns or defines, also below ``if`` and ``try``."""
    try:
        todo = list(ast.parse(inspect.getsource(module)).body)
    except (OSError, TypeError):
        return
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name))
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            todo += [*node.body, *getattr(node, "orelse", ()), *getattr(node, "finalbody", ())]
            todo += [line for handler in getattr(node, "handlers", ()) for line in handler.body]


def home_of(value):
    """The module that a class or function is from, or the name of a module."""
    return (value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)) or ""


def is_below(home, module):
    return f"{home}.".startswith(f"{module}.")


def own(module):
    """Names that a module exports or defines, and that a package has from its modules."""
    names = {*getattr(module, "__all__", ()), *defined_in(module)}
    return names | {name for name, value in vars(module).items()
                    if hasattr(module, "__path__") and is_below(home_of(value), module.__name__)}


def imported(module):
    """Classes and functions for users that a module has from elsewhere in MXNet."""
    return {name for name, value in vars(module).items()
            if callable(value) and is_below(home_of(value), "mxnet") and home_of(value) not in HELPERS}


def is_public(module, name):
    value = getattr(module, name, module)
    return not name.startswith("_") and value is not module and (
        not isinstance(value, types.ModuleType) or value.__name__ in paths)


def place_of(path, name):
    """The shortest path where the very same object is, of those that its own module is below if there are any."""
    value = getattr(sys.modules[path], name)
    if isinstance(value, types.ModuleType):
        return value.__name__
    if isinstance(value, (numbers.Number, str, bytes, tuple, type(None))):
        return path  # equal ones may be one object by chance
    places = [other for other in paths if vars(sys.modules[other]).get(name) is value]
    return min(places, key=lambda other: (not is_below(home_of(value), other), other.count("."), other), default=path)


def class_at(name):
    return functools.reduce(getattr, name.split("."), mxnet)


def by_place(path, names):
    found = {}
    for name in sorted(names):
        if is_public(sys.modules[path], name):
            found.setdefault(place_of(path, name).removeprefix("mxnet").removeprefix("."), []).append(name)
    return {place: " ".join(names) for place, names in found.items()}


import_below(mxnet)
paths = sorted(name for name in sys.modules if is_below(name, "mxnet")
               and not any(part.startswith("_") for part in name.split(".")))
modules = {}
for path in paths:
    names = own(sys.modules[path])
    modules[path.removeprefix("mxnet").removeprefix(".")] = [
        by_place(path, names), by_place(path, imported(sys.modules[path]) - names)]
recording.save(sys.argv[1], {"modules": modules, "classes": {
    name: sorted(key for key in dir(class_at(name)) if not key.startswith("_")) for name in CLASSES}})
