"""Record the public names of ``mxnet.profiler`` and the signatures of what can be called."""

import inspect
import sys

import mxnet as mx
import recording

MODULE = mx.profiler


def signature(function):
    return [[name, "<required>" if parameter.default is parameter.empty else parameter.default]
            for name, parameter in inspect.signature(function).parameters.items() if parameter.kind is not parameter.VAR_KEYWORD]


def described(value):
    if inspect.isclass(value):
        methods = {name: signature(method) for name, method in vars(value).items()
                   if inspect.isfunction(method) and name not in ("__del__",)}
        return {"kind": "class", "methods": methods}
    return {"kind": "function", "parameters": signature(value)}


found = {name: described(value) for name, value in sorted(vars(MODULE).items())
         if not name.startswith("_") and getattr(value, "__module__", "") == MODULE.__name__}
recording.save(sys.argv[1], {"names": found})
