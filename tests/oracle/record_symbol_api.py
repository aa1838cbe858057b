"""Record the public names of MXNet's symbols: methods with their parameters, and the functions of each module."""

import inspect
import sys

import mxnet as mx
import recording


def parameters(member):
    try:
        return [[one.name, one.kind.name, "" if one.default is one.empty else repr(one.default)]
                for one in inspect.signature(member).parameters.values()]
    except (TypeError, ValueError):
        return None


def members(cls):
    return {name: "property" if isinstance(member, property) else parameters(member)
            for name, member in vars(cls).items() if not name.startswith("_")}


def functions(module):
    return sorted(name for name, value in vars(module).items() if not name.startswith("_") and inspect.isfunction(value))


S = mx.sym
composed = ("var", "Variable", "Group", "load", "load_json", "pow", "power", "maximum", "minimum", "hypot", "eye", "zeros",
            "ones", "full", "arange", "linspace", "histogram", "split_v2")
recording.save(sys.argv[1],
               {"Symbol": members(S.Symbol), "Executor": members(mx.executor.Executor),
                "functions": {name: parameters(getattr(S, name)) for name in composed}, "modules": {"": functions(S),
    **{name: functions(getattr(S, name)) for name in ("sparse", "random", "linalg", "contrib")}}})
