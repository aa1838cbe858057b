"""Record the public names of some modules of MXNet, with their arguments and defaults, and the methods of classes."""

import inspect
import sys

import mxnet as mx
import recording

MODULES = ["metric", "optimizer", "lr_scheduler", "initializer", "callback", "gluon.rnn", "gluon.contrib.rnn",
           "module", "model", "monitor"]


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


def methods(cls):
    """What a class has of its own and from bases of the modules recorded."""
    found = {}
    for base in reversed(cls.__mro__):
        if any(base.__module__.startswith(f"mxnet.{name}") for name in MODULES):
            found.update({name: value for name, value in vars(base).items() if not name.startswith("_") and callable(value)})
    return {name: arguments(value) for name, value in sorted(found.items())}


def record(module, name, value):
    entry = {"module": module, "name": name, "arguments": arguments(value.__init__ if inspect.isclass(value) else value)}
    if inspect.isclass(value):
        entry["methods"] = methods(value)
    return entry


cases = []
for module in MODULES:
    holder = mx
    for part in module.split("."):
        holder = getattr(holder, part)
    for name in sorted(getattr(holder, "__all__", None) or dir(holder)):
        value = getattr(holder, name)
        if not name.startswith("_") and callable(value) and value.__module__.startswith((f"mxnet.{module}", "mxnet.registry")):
            cases.append(record(module, name, value))
recording.save(sys.argv[1], {"cases": cases})
