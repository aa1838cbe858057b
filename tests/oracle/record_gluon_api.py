"""Record the public names of mxnet.gluon and mxnet.kvstore 1.9.1, with their signatures."""

import inspect
import sys

import mxnet as mx
import recording

MODULES = {"gluon": mx.gluon, "gluon.nn": mx.gluon.nn, "gluon.loss": mx.gluon.loss, "gluon.utils": mx.gluon.utils,
           "gluon.parameter": mx.gluon.parameter, "gluon.contrib.nn": mx.gluon.contrib.nn,
           "gluon.contrib.estimator": mx.gluon.contrib.estimator, "kvstore": mx.kvstore}
#: Modules without a list of their names, and modules whose list is not what they offer.
NAMES = {"gluon": ["Block", "Constant", "DeferredInitializationError", "HybridBlock", "Parameter", "ParameterDict",
                   "SymbolBlock", "Trainer", "contrib", "data", "loss", "model_zoo", "nn", "parameter", "rnn", "utils"],
         "gluon.contrib.estimator": [*mx.gluon.contrib.estimator.event_handler.__all__, "BatchProcessor", "Estimator"],
         "gluon.utils": ["HookHandle", "check_sha1", "clip_global_norm", "download", "replace_file", "shape_is_known",
                         "split_and_load", "split_data"], "kvstore": ["KVStore", "KVStoreBase", "create"]}


def plain_default(value):
    if value is inspect.Parameter.empty:
        return ["required"]
    if value is None or isinstance(value, (bool, int, float, str)):
        return ["value", value]
    if isinstance(value, (tuple, list)):
        return ["value", list(value)]
    return ["object", getattr(value, "__name__", type(value).__name__)]


def signature(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [[one.name, one.kind.name, plain_default(one.default)] for one in parameters]


def members(cls):
    """What a class defines itself; what it inherits is its bases'."""
    found = {}
    for name, value in sorted(vars(cls).items()):
        if name.startswith("_"):
            continue
        if isinstance(value, property):
            found[name] = "property"
        elif callable(value) or isinstance(value, (staticmethod, classmethod)):
            found[name] = signature(getattr(cls, name))
        else:
            found[name] = "attribute"
    return found


def describe(value):
    if inspect.ismodule(value):
        return {"kind": "module"}
    if inspect.isclass(value):
        made = value.__init__ is not object.__init__ and not issubclass(value, BaseException)
        return {"kind": "class", "init": signature(value.__init__)[1:] if made else None, "members": members(value)}
    return {"kind": "function", "signature": signature(value)} if callable(value) else {"kind": "value"}


def classes(module):
    """The classes that a module offers, where it has no list of names."""
    return [name for name, value in vars(module).items() if inspect.isclass(value) and not name.startswith("_")]


facts = {}
for key, module in MODULES.items():
    names = NAMES.get(key) or getattr(module, "__all__", None) or classes(module)
    facts[key] = {name: describe(getattr(module, name)) for name in sorted(set(names))}
recording.save(sys.argv[1], {"modules": facts})
