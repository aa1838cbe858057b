"""Record the public names of some modules of MXNet, with their arguments and defaults, and what classes define."""

import inspect
import sys

import mxnet as mx
import recording

MODULES = ["metric", "optimizer", "lr_scheduler", "initializer", "callback", "gluon", "gluon.nn", "gluon.loss", "gluon.utils",
           "gluon.rnn", "gluon.contrib.nn", "gluon.contrib.rnn", "gluon.contrib.estimator", "kvstore", "module",
           "model", "monitor", "symbol.symbol", "executor"]


def default_of(parameter):
    if parameter.default is inspect.Parameter.empty:
        return "required"
    value = parameter.default
    named = callable(value) or inspect.ismodule(value)
    return getattr(value, "__name__", type(value).__name__) if named else repr(value)


def arguments(function):
    found = inspect.signature(function)
    return [[("*" * {"VAR_POSITIONAL": 1, "VAR_KEYWORD": 2}.get(one.kind.name, 0)) + one.name, default_of(one)]
            for one in found.parameters.values() if one.name != "self"]


def members(cls):
    """What a class has of its own and from private bases."""
    found = {}
    for base in reversed(cls.__mro__):
        mine = base is cls or (base.__name__.startswith("_") and base.__module__.startswith("mxnet."))
        for name, value in vars(base).items() if mine else ():
            if not name.startswith("_") and (callable(getattr(cls, name)) or isinstance(value, property)):
                found[name] = "property" if isinstance(value, property) else arguments(getattr(cls, name))
    return dict(sorted(found.items()))


def record(module, name, value):
    entry = {"module": module, "name": name, "arguments": arguments(value.__init__ if inspect.isclass(value) else value)}
    if inspect.isclass(value):
        entry["members"] = members(value)
    return entry


cases = []
for module in MODULES:
    holder = mx
    for part in module.split("."):
        holder = getattr(holder, part)
    for name in sorted((module != "gluon.utils" and getattr(holder, "__all__", None)) or dir(holder)):  # whose list is short
        value = getattr(holder, name)
        if not name.startswith("_") and callable(value) and value.__module__.startswith((f"mxnet.{module}", "mxnet.registry")):
            cases.append(record(module, name, value))
recording.save(sys.argv[1], {"cases": cases})
