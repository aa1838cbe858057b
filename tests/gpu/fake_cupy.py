"""A stand-in for cupy on machines without a GPU: its arrays hold numpy's, and refuse what cupy's refuse.

Which names, parameters, methods and attributes there are was recorded from cupy (``tests/golden/cupy.json``).  Mixing with
numpy's arrays raises ``TypeError``, as does any implicit conversion to numpy; numbers that a reduction gives are arrays
without axes.  What it cannot show: results of an index that is out of bounds, which cupy wraps around silently, speed, and
anything that depends on threads running at once.
"""

from __future__ import annotations

import contextlib
import json
import types
from pathlib import Path

import fake_cuda
import numpy as np
from capturing import Capture, CUDARuntimeError, called, done, made, refuse_library, refuse_waiting
from fake_cuda import Device, Stream, chosen, counts, pinned

RECORD = json.loads((Path(__file__).parents[1] / "golden" / "cupy.json").read_text(encoding="utf-8"))

#: Functions of arrays that give Python's values, not arrays.
PLAIN = {"can_cast", "may_share_memory", "shares_memory", "result_type", "promote_types", "ndim", "shape", "issubdtype",
         "iscomplexobj", "isrealobj", "isscalar", "broadcast_shapes"}

#: Functions that take arrays of numpy.
TAKING = {"array", "asarray", "ascontiguousarray", "asanyarray"}

#: Functions that read the size of their result, or a value, back from the device, or whose sort waits for it.
WAITING = {"nonzero", "flatnonzero", "argwhere", "unique", "compress", "extract", "sort", "argsort", "lexsort", "argpartition",
           "partition", "msort", "array_equal", "allclose", "median", "percentile", "quantile", "delete", "setdiff1d", "in1d",
           "isin", "intersect1d", "union1d", "trim_zeros", "bincount", "histogram"}

#: Those of them whose result has the size of what they are given.
SORTS = {"sort", "argsort", "lexsort", "argpartition", "partition", "msort"}

#: Functions that call cuBLAS.
PRODUCTS = {"matmul", "dot", "tensordot", "vdot", "inner", "einsum", "kron"}

#: Functions that add up by atomics where places repeat: the order, and so the last digits, differ from run to run.
ATOMIC = {"bincount", "histogram"}

#: Functions that write to their first argument.
WRITING = {"copyto", "put", "place", "putmask", "fill_diagonal"}

#: Functions that scan all elements in an order that differs from run to run, unless an axis is named.
SCANS = {"cumsum", "cumprod"}

SPECIAL_METHODS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift", "matmul")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def unwrap(value):
    """numpy's array behind an array of the stand-in; raises for an array of numpy itself, as cupy does."""
    if isinstance(value, ndarray):
        if value.number != Device.current:
            raise RuntimeError(f"an array of device {value.number} is used while device {Device.current} is the current one")
        return value._host
    if isinstance(value, Ufunc):
        return value._real
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(value, (list, tuple)):
        return type(value)([unwrap(item) for item in value])
    return value


def hosts(*values):
    """numpy's arrays among arguments."""
    found = []
    for value in values:
        if isinstance(value, np.ndarray):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += hosts(*value)
    return found


def upload(value):
    """Take memory for a copy from the host, as cupy does for numpy's arrays, lists and numbers."""
    counts["upload"] += 1
    called("upload")
    pinned.allocator(np.asarray(value).nbytes)


def wrap(value):
    """What the stand-in gives for a result of numpy's."""
    if isinstance(value, (np.ndarray, np.generic)):
        return ndarray(np.asarray(value))
    if isinstance(value, (list, tuple)):
        return type(value)([wrap(item) for item in value]) if type(value) in (list, tuple) else tuple(map(wrap, value))
    return value


def check(names, what, kwargs):
    unknown = set(kwargs) - set(names)
    if unknown:
        raise TypeError(f"{what}() got an unexpected keyword argument {unknown.pop()!r}")


class Flags:
    """cupy's flags know these three only."""

    def __init__(self, host):
        self.c_contiguous, self.f_contiguous = host.flags.c_contiguous, host.flags.f_contiguous
        self.owndata = host.base is None


class ndarray:
    """An array that lies on no device, and behaves as if."""

    __hash__ = None
    __array_priority__ = 100

    def __init__(self, host, base=None):
        if base is None and Capture.current is not None and chosen.malloc is None:
            Capture.current.invalid = True
            raise CUDARuntimeError("memory of an array that is not a graph's own is taken while a stream is captured")
        self._host, self.base = host, base
        self.number = Device.current if base is None else base.number

    def __array__(self, *_args, **_kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array "
                        "explicitly.")

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        name = ufunc.__name__
        if name not in RECORD["ufuncs"] and name not in RECORD["functions"]:
            return NotImplemented
        found = getattr(MODULE, {"absolute": "abs"}.get(name, name))
        if method != "__call__":
            if method == "at":
                return found.at(*inputs, **kwargs)
            return NotImplemented
        if kwargs.get("out") is not None:
            kwargs["out"] = kwargs["out"][0]
        return found(*inputs, **kwargs)

    def __array_function__(self, function, _types, args, kwargs):
        found = getattr(MODULE, function.__name__, None)
        if found is None or function.__module__ != "numpy":
            return NotImplemented
        return found(*args, **kwargs)

    flags = property(lambda self: Flags(self._host))
    device = property(lambda self: Device(self.number))
    data = property(lambda self: types.SimpleNamespace(ptr=self._host.ctypes.data))
    __cuda_array_interface__ = property(lambda self: {
        "shape": self._host.shape, "typestr": self._host.dtype.str, "data": (self._host.ctypes.data, False), "version": 3})
    T = property(lambda self: ndarray(self._host.T, self))

    def __getattr__(self, name):
        if name in ("shape", "dtype", "ndim", "size", "nbytes", "itemsize", "strides"):
            return getattr(self._host, name)
        parameters = RECORD["methods"].get(name, "absent")
        if parameters == "absent":
            raise AttributeError(f"'cupy.ndarray' object has no attribute {name!r}")

        def method(*args, **kwargs):
            if parameters is not None:
                check(parameters, name, kwargs)
                if len(args) > len(parameters) and name not in ("reshape", "transpose"):
                    raise TypeError(f"{name}() takes at most {len(parameters)} arguments")
            if name in ("sort", "argsort"):
                kwargs["kind"] = "stable"
            if name in WAITING:
                refuse_waiting(f"{name} and other calls that wait")
                counts["size"] += name not in SORTS
            if name in PRODUCTS:
                refuse_library("cuBLAS")
            args, kwargs = [unwrap(item) for item in args], {key: unwrap(item) for key, item in kwargs.items()}
            host = self._host if name == "view" else unwrap(self)  # a view starts nothing
            if name in ("fill", "put"):
                done(lambda: getattr(host, name)(*args, **kwargs), name)
                return None
            result = made(lambda: getattr(host, name)(*args, **kwargs), hosts(host, args), name)
            if isinstance(result, np.ndarray) and result.base is not None and np.may_share_memory(result, host):
                return ndarray(result, self)
            return wrap(result)

        return method

    def get(self, *_args, **_kwargs):
        refuse_waiting("synchronous device-to-host transfers")
        counts["get"] += 1
        called("get")
        return self._host.copy()

    def item(self, *args):
        refuse_waiting()
        counts["synchronize"] += 1
        called("get")
        return self._host.item(*args)

    def tolist(self):
        refuse_waiting()
        counts["synchronize"] += 1
        called("get")
        return self._host.tolist()

    def set(self, values):
        refuse_waiting("synchronous host-to-device transfers")
        upload(values)
        self._host[...] = values

    def __len__(self):
        return len(self._host)

    def __iter__(self):
        return iter([self[place] for place in range(len(self._host))])

    def _number(self, kind):
        refuse_waiting()
        counts["synchronize"] += 1
        called("get")
        return kind(self._host)

    def __float__(self):
        return self._number(float)

    def __int__(self):
        return self._number(int)

    def __bool__(self):
        return self._number(bool)

    def __index__(self):
        return self._number(lambda host: host.__index__())

    def __str__(self):
        return str(self._host)

    def __repr__(self):
        return repr(self._host)

    def __getitem__(self, key):
        host, place, name = self._host, _key(key), "take"
        if any(part.dtype == bool for part in hosts(place)):
            name = "mask"
            refuse_waiting("choices by a mask, whose number is read back,")
            counts["size"] += 1
        if isinstance(place, (int, np.integer)) and host.ndim == 1:
            place = place, ...  # a view, as cupy gives
        result = made(lambda: host[place], hosts(host), name)
        if isinstance(result, np.ndarray) and np.may_share_memory(result, host):
            return ndarray(result, self)
        return wrap(result)

    def __setitem__(self, key, value):
        if isinstance(value, (list, tuple)):
            raise TypeError("Unsupported type <class 'list'>")
        host, place, given = unwrap(self), _key(key), unwrap(value)
        done(lambda: host.__setitem__(place, given), "set")

    def __neg__(self):
        return wrap(made(lambda: -self._host, [self._host]))

    def __abs__(self):
        return wrap(made(lambda: abs(self._host), [self._host]))

    def __invert__(self):
        return wrap(made(lambda: ~self._host, [self._host]))


def _key(key):
    """An index: cupy converts lists and numpy's arrays."""
    if isinstance(key, tuple):
        return tuple(_key(part) for part in key)
    if isinstance(key, (list, np.ndarray)):
        upload(key)
    return key._host if isinstance(key, ndarray) else key


def _operand(value):
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if not isinstance(value, (ndarray, bool, int, float, np.generic)):
        return NotImplemented
    return unwrap(value)


def _method(name):
    def run(self, other):
        given = _operand(other)
        if given is NotImplemented:
            return given
        if "matmul" in name:
            refuse_library("cuBLAS")
        host = unwrap(self)
        return wrap(made(lambda: getattr(host, name)(given), hosts(host, given)))
    return run


def _in_place(name):
    def run(self, other):
        given = _operand(other)
        if given is NotImplemented:
            return NotImplemented
        host = self._host
        done(lambda: getattr(host, name)(given))
        return self
    return run


for _name in SPECIAL_METHODS:
    setattr(ndarray, f"__{_name}__", _method(f"__{_name}__"))
    setattr(ndarray, f"__r{_name}__", _method(f"__r{_name}__"))
    if _name != "matmul":
        setattr(ndarray, f"__i{_name}__", _in_place(f"__i{_name}__"))
for _name in COMPARISONS:
    setattr(ndarray, f"__{_name}__", _method(f"__{_name}__"))


class Ufunc:
    """cupy's universal functions: their names differ from numpy's, and they take no ``where``."""

    def __init__(self, real, name):
        self._real, self.nin, self.nout = real, real.nin, real.nout
        self.name = self.__name__ = f"cupy_{name}"

    def __call__(self, *args, **kwargs):
        check(("out", "dtype", "casting"), self.name, kwargs)
        if not any(isinstance(value, ndarray) for value in (*args, kwargs.get("out"))) and any(
                isinstance(value, (list, tuple, np.ndarray)) for value in args):
            raise TypeError(f"Unsupported type {type(args[0])}")
        if self.name == "cupy_matmul":
            refuse_library("cuBLAS")
        out, args = kwargs.get("out"), [unwrap(value) for value in args]
        given = {key: unwrap(value) for key, value in kwargs.items()}
        if out is not None:
            done(lambda: self._real(*args, **given), self.name)
            return out
        return wrap(made(lambda: self._real(*args, **given), hosts(args), self.name))

    def reduce(self, array, axis=0, dtype=None, out=None, keepdims=False):
        if self.name not in ("cupy_add", "cupy_multiply", "cupy_maximum", "cupy_minimum", "cupy_logical_and", "cupy_logical_or"):
            raise NotImplementedError(f"`{self.name}.reduce` is not supported yet")
        host = unwrap(array)
        return wrap(made(lambda: self._real.reduce(host, axis, dtype, unwrap(out), keepdims), [host]))

    def reduceat(self, array, indices, axis=0, dtype=None, out=None):
        if self.name != "cupy_add":
            raise NotImplementedError(f"`{self.name}.reduceat` is not supported yet")
        host = unwrap(array)
        return wrap(made(lambda: self._real.reduceat(host, unwrap(indices), axis, dtype, unwrap(out)), [host]))

    def accumulate(self, array, axis=0, dtype=None, out=None):
        if self.name not in ("cupy_add", "cupy_multiply"):
            raise NotImplementedError(f"`{self.name}.accumulate` is not supported yet")
        host = unwrap(array)
        return wrap(made(lambda: self._real.accumulate(host, axis, dtype, unwrap(out)), [host]))

    def at(self, a, indices, b=None):
        if self.name not in ("cupy_add", "cupy_subtract", "cupy_maximum", "cupy_minimum", "cupy_bitwise_and", "cupy_bitwise_or",
                             "cupy_bitwise_xor"):
            raise NotImplementedError(f"`{self.name}.at` is not supported yet")
        host, places, given = unwrap(a), _key(indices), unwrap(b)
        counts["atomic"] += host.dtype.kind == "f" and self.name in ("cupy_add", "cupy_subtract")
        done(lambda: self._real.at(host, places, given))

    def outer(self, first, second, **kwargs):
        left, right = unwrap(first), unwrap(second)
        return wrap(made(lambda: self._real.outer(left, right, **kwargs), [left, right]))


def _function(real, name, parameters):
    def run(*args, **kwargs):
        if parameters is not None:
            check(parameters, name, kwargs)
            if len(args) > len(parameters):
                raise TypeError(f"{name}() takes at most {len(parameters)} arguments")
        if name in WAITING or (name == "where" and len(args) == 1) or (name == "repeat" and isinstance(args[1], ndarray)):
            refuse_waiting(f"{name} and other calls that wait")
            counts["size"] += name not in SORTS
        if name in PRODUCTS:
            refuse_library("cuBLAS")
        counts["atomic"] += name in ATOMIC and "weights" in kwargs
        if name in SCANS and (args[1] if len(args) > 1 else kwargs.get("axis")) is None:
            kinds = (args[0].dtype, args[2] if len(args) > 2 else kwargs.get("dtype"))
            counts["atomic"] += any(kind is not None and np.dtype(kind).kind == "f" for kind in kinds)
        if name in PLAIN:  # of which none asks a device
            return real(*[value._host if isinstance(value, ndarray) else unwrap(value) for value in args],
                        **{key: unwrap(value) for key, value in kwargs.items()})
        if name in TAKING:
            given = args[0]
            if isinstance(given, ndarray):
                given = given._host  # from another device too
            else:
                upload(given)
                given = np.array(given)  # never the memory of the host's array
            args = [given if isinstance(given, np.ndarray) else unwrap(given), *map(unwrap, args[1:])]
        else:
            args = [unwrap(value) for value in args]
        out, given = kwargs.get("out"), {key: unwrap(value) for key, value in kwargs.items()}
        if out is not None:
            done(lambda: real(*args, **given), name)
            return out
        if name in WRITING:
            return done(lambda: real(*args, **given), name)
        return wrap(made(lambda: real(*args, **given), hosts(list(args), list(given.values())), name))

    run.__name__ = name
    return run


def _spoiled(real):
    """Memory that was taken and not cleared holds what shows in every result that is made of it."""
    def run(*args, **kwargs):
        made = real(*args, **kwargs)
        made[...] = np.nan if made.dtype.kind in "fc" else np.ones((), made.dtype) if made.dtype.kind == "b" else 77
        return made
    return run


def _stable(real):
    """cupy's sorts are stable, whatever kind is asked for, and take no other kind."""
    def run(array, axis=-1, kind=None):
        if kind not in (None, "stable"):
            raise ValueError("kind can only be None or 'stable'")
        return real(array, axis=axis, kind="stable")
    return run


#: Whether linear algebra looks if it went well.
_looking = types.SimpleNamespace(linalg="ignore")


@contextlib.contextmanager
def errstate(linalg="ignore"):
    before, _looking.linalg = _looking.linalg, linalg
    try:
        yield
    finally:
        _looking.linalg = before


def _solver(real):
    """A function of linear algebra: cuSOLVER does it, but for norms; where there is no solution it gives nan, unless told."""
    def run(array, *args, **kwargs):
        if real is np.linalg.norm:
            return real(array, *args, **kwargs)
        refuse_library("cuSOLVER")
        counts["synchronize"] += _looking.linalg == "raise"
        try:
            return real(array, *args, **kwargs)
        except np.linalg.LinAlgError:
            if _looking.linalg == "raise":
                raise
            return np.full_like(array, np.nan)
    return run


def _module():
    module = types.ModuleType("cupy")
    for name in RECORD["values"]:
        if hasattr(np, name):
            setattr(module, name, getattr(np, name))
    for name, parameters in RECORD["functions"].items():
        real = getattr(np, name, None)
        if callable(real):
            setattr(module, name, _function(real, name, parameters))
    for name in RECORD["ufuncs"]:
        real = getattr(np, name, None)
        if isinstance(real, np.ufunc):
            setattr(module, name, Ufunc(real, name))
    module.isinf, module.ndarray = Ufunc(np.isinf, "isinf"), ndarray
    module.pad = _function(np.pad, "pad", None)
    for name in ("empty", "empty_like"):
        setattr(module, name, _function(_spoiled(getattr(np, name)), name, RECORD["functions"][name]))
    for name in ("sort", "argsort"):
        setattr(module, name, _function(_stable(getattr(np, name)), name, RECORD["functions"][name]))
    module.linalg = types.SimpleNamespace(**{
        name: _function(_solver(getattr(np.linalg, name)), name, None) for name in RECORD["linalg"]
        if callable(getattr(np.linalg, name, None)) and not isinstance(getattr(np.linalg, name), type)},
        LinAlgError=np.linalg.LinAlgError)
    tricks = np.lib.stride_tricks
    module.lib = types.SimpleNamespace(stride_tricks=types.SimpleNamespace(
        as_strided=_function(tricks.as_strided, "as_strided", ["x", "shape", "strides"]),
        sliding_window_view=_function(tricks.sliding_window_view, "sliding_window_view", None)))
    module.asnumpy = lambda array: array.get()
    module.cuda, module.Stream = fake_cuda.module(), Stream
    module.get_default_memory_pool = fake_cuda.Pool
    module.get_default_pinned_memory_pool = lambda: fake_cuda.pinned_pool
    module.__spec__ = types.SimpleNamespace(name="cupy")
    module.__version__ = RECORD["version"]
    return module


def _special():
    import scipy.special

    found = {name: getattr(scipy.special, name, None) for name in RECORD["special"]}
    return {name: Ufunc(real, name) if isinstance(real, np.ufunc) else _function(real, name, None)
            for name, real in found.items() if callable(real)}


MODULE = _module()


def modules():
    """What ``sys.modules`` holds while the stand-in is in place."""
    special = types.ModuleType("cupyx.scipy.special")
    special.__dict__.update(_special())
    cupyx = types.ModuleType("cupyx")
    cupyx.errstate = errstate
    return {"cupy": MODULE, "cupyx": cupyx, "cupyx.scipy": types.ModuleType("cupyx.scipy"),
            "cupyx.scipy.special": special}
