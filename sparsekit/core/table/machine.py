"""The compiled functions that a table calls: numpy's inner loops, and kernels by way of *adapters*."""

from __future__ import annotations

import ctypes
import functools
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...base.forking import load
from ...base.layout import layout_differs, unknown_versions
from ...base.refusal import Refused
from ...kernels.cpu.jit import why_numpy

if TYPE_CHECKING:
    from ...base.types import DType
    from ...kernels.cpu.jit import Kernel

#: Name of the capsule with what ``ufunc._get_strided_loop`` found; numpy changes it when the structure changes.
CAPSULE = b"numpy_1.24_ufunc_call_info"


class Loop(NamedTuple):
    """An inner loop of numpy.

    Attributes
    ----------
    dtypes : tuple of dtype
        Element types of the inputs and results.
    function, context, extra : int
        Addresses.
    owner : object
        Keeps them valid.
    """

    dtypes: tuple[DType, ...]
    function: int
    context: int
    extra: int
    owner: object  # object: a capsule, which nothing reads


def type_word(dtype: DType) -> int:
    """What ``bind_arrays`` compares of an element type."""
    rows: Any = load("sparsekit.kernels.cpu.table_rows")  # Any: a module of kernels
    return int(ctypes.c_int64.from_address(id(dtype) + rows.KIND).value & rows.TELLING)


class _Capsule(ctypes.Structure):
    """What numpy's capsule holds."""

    _fields_ = (("function", ctypes.c_void_p), ("context", ctypes.c_void_p), ("extra", ctypes.c_void_p),
                ("needs_python", ctypes.c_byte), ("no_floating_errors", ctypes.c_byte))


_loops: dict[tuple[np.ufunc, tuple[Any, ...]], Loop | None] = {}  # Any: element types, or types of Python's numbers


# Any: element types, or types of Python's numbers
def inner_loop(ufunc: np.ufunc, operand_types: tuple[Any, ...]) -> Loop:
    """The inner loop of a ufunc for these element types; a Python ``int`` or ``float`` adapts to the others.

    Raises
    ------
    Refused
        If numpy has none, or it needs the interpreter.
    """
    key = ufunc, operand_types
    if key not in _loops:
        _loops[key] = _inner_loop(ufunc, operand_types)
    loop = _loops[key]
    if loop is None:
        raise Refused(f"numpy's {ufunc.__name__} needs the interpreter for these element types")
    return loop


def _inner_loop(ufunc: np.ufunc, operand_types: tuple[Any, ...]) -> Loop | None:  # Any: as above
    hidden: Any = ufunc  # Any: numpy's stubs leave these methods out
    try:
        dtypes, capsule = hidden._resolve_dtypes_and_context((*operand_types, *[None] * ufunc.nout))
        hidden._get_strided_loop(capsule)
    except TypeError as error:
        raise Refused(f"numpy has no loop of {ufunc.__name__} for these element types") from error
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    record = _Capsule.from_address(pointer_of(capsule, CAPSULE))
    if record.needs_python:
        return None
    return Loop(tuple(dtypes), record.function, record.context or 0, record.extra or 0, capsule)


class Compiled(NamedTuple):
    """A kernel for some types, as a row calls it.

    Attributes
    ----------
    adapter, target : int
        Addresses: the adapter loads the arguments from a block of words and calls the target.
    returns : bool
        Whether it returns an integer, which the adapter puts behind the arguments.
    """

    adapter: int
    target: int
    returns: bool


_lock = threading.RLock()
_adapters: dict[tuple[str, bool, bool], int] = {}
_engine: list[Any] = []  # Any: llvmlite's, which has no types


def compiled(kernel: Kernel, signature: tuple[Any, ...], status: bool = False) -> Compiled:  # Any: types of numba
    """The kernel for these types of arguments.

    Parameters
    ----------
    status : bool
        Whether the integer that it returns stops the table unless it is 0.

    Raises
    ------
    Refused
        If it returns anything but None or an integer.
    """
    numba = load("numba")
    dispatcher: Any = kernel.dispatcher  # Any: numba's, which has no types
    kernel.compile(signature)
    result = dispatcher.overloads[signature]
    kind = result.signature.return_type
    if not isinstance(kind, (numba.types.Integer, numba.types.NoneType)):
        raise Refused(f"the kernel {kernel.py_func.__name__} returns {kind}")
    returns = isinstance(kind, numba.types.Integer)
    words = "".join(_words_of(argument_type) for argument_type in signature)
    target = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
    return Compiled(_adapter(words, returns, status), target, returns and not status)


def _words_of(kind: Any) -> str:  # Any: a type of numba
    """One letter for each word of an argument: i for an integer or a pointer, f, d and b."""
    types: Any = load("numba").types  # Any: numba has none
    if isinstance(kind, types.BaseTuple):
        return "".join(map(_words_of, kind))
    if isinstance(kind, types.Array):
        return "i" * int(5 + 2 * kind.ndim)
    if isinstance(kind, types.Boolean):
        return "b"
    if isinstance(kind, types.Float):
        return "d" if kind.bitwidth == 64 else "f"
    return "i"


def _adapter(words: str, returns: bool, status: bool) -> int:
    """A function that calls another with arguments that it loads from a block of words, which is compiled once."""
    key = words, returns, status
    with _lock:
        if key not in _adapters:
            _adapters[key] = _compiled_adapter(words, returns, status)
        return _adapters[key]


def _compiled_adapter(words: str, returns: bool, status: bool) -> int:
    from llvmlite import ir  # a table needs it, and importing the library does not

    word, short, byte = ir.IntType(64), ir.IntType(32), ir.IntType(8)
    kinds = {"i": word, "d": ir.DoubleType(), "f": ir.FloatType(), "b": byte}
    module, name = ir.Module(), f"sparsekit_adapter_{len(_adapters)}"
    function = ir.Function(module, ir.FunctionType(short, [word] * 5), name)
    builder = ir.IRBuilder(function.append_basic_block())
    target, block = function.args[0], builder.inttoptr(function.args[1], word.as_pointer())
    result, trouble = builder.alloca(word, size=4), builder.alloca(word)
    arguments = [builder.ptrtoint(result, word), builder.ptrtoint(trouble, word)]
    for place, letter in enumerate(words):
        value = builder.load(builder.gep(block, [word(place)]))
        if letter == "d":
            value = builder.bitcast(value, kinds["d"])
        elif letter == "f":
            value = builder.bitcast(builder.trunc(value, short), kinds["f"])
        elif letter == "b":
            value = builder.trunc(value, byte)
        arguments.append(value)
    callee = ir.FunctionType(short, [word, word, *[kinds[letter] for letter in words]])
    failed = builder.call(builder.inttoptr(target, callee.as_pointer()), arguments)
    if returns:
        value = builder.load(result)
        if status:
            failed = builder.or_(failed, builder.trunc(value, short))
        else:
            builder.store(value, builder.gep(block, [word(len(words))]))
    builder.ret(failed)
    return _address_of(str(module), name)


def _address_of(code: str, name: str) -> int:
    """Compile LLVM's code of a module; where its function of this name lies."""
    from llvmlite import binding

    if not _engine:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        machine = binding.Target.from_default_triple().create_target_machine(opt=2, jit=True)
        _engine.append(binding.create_mcjit_compiler(binding.parse_assembly(""), machine))
    _engine[0].add_module(binding.parse_assembly(code))
    _engine[0].finalize_object()
    address: int = _engine[0].get_function_address(name)
    return address


def compiled_counter(clock: tuple[int, int] | None) -> int:
    """A function, with the five words of a row, that writes a count to the address that it gets first.

    Parameters
    ----------
    clock : tuple of int or None
        Address of ``clock_gettime`` and the number of a clock, whose nanoseconds it counts; None for the cycles of the processor.
    """
    from llvmlite import ir

    word, short = ir.IntType(64), ir.IntType(32)
    module, name = ir.Module(), "sparsekit_counter_of_" + ("cycles" if clock is None else "nanoseconds")
    function = ir.Function(module, ir.FunctionType(short, [word] * 5), name)
    builder = ir.IRBuilder(function.append_basic_block())
    if clock is None:
        count = builder.call(ir.Function(module, ir.FunctionType(word, []), "llvm.readcyclecounter"), [])
    else:
        reading = builder.alloca(word, size=2)
        callee = builder.inttoptr(word(clock[0]), ir.FunctionType(short, [short, word.as_pointer()]).as_pointer())
        builder.call(callee, [short(clock[1]), reading])
        seconds, nanoseconds = (builder.load(builder.gep(reading, [word(place)])) for place in range(2))
        count = builder.add(builder.mul(seconds, word(10**9)), nanoseconds)
    builder.store(count, builder.inttoptr(function.args[0], word.as_pointer()))
    builder.ret(short(0))
    with _lock:
        return _address_of(str(module), name)


@functools.cache
def reason_against_tables() -> str:
    """Why no table can run in this process; empty if they can."""
    if why_numpy():
        return f"tables need compiled kernels, but the kernels in numpy are used ({why_numpy()})"
    return "kernels are interpreted (NUMBA_DISABLE_JIT)" if load("numba").config.DISABLE_JIT else unknown_layout()


@functools.cache
def unknown_layout() -> str:
    """What tables would read of Python's and numpy's objects without knowing where it lies; empty if they know."""
    return unknown_versions() or layout_differs(load("sparsekit.kernels.cpu.table_rows")) or _loop_differs()


def _loop_differs() -> str:
    """Whether an inner loop of numpy does what it should when it is called by address."""
    kind = np.dtype(np.float64)
    try:
        loop = inner_loop(np.add, (kind, kind))
    except (Refused, ValueError) as error:  # the capsule has another name
        return f"the structure of numpy's inner loops is unknown ({error})"
    left, right, out = np.arange(5.0), np.ones(5), np.zeros(5)
    pointers = np.array([array.ctypes.data for array in (left, right, out)])
    sizes, steps = np.array([5]), np.array([8, 8, 8])
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * 5)(loop.function)
    failed = function(loop.context, pointers.ctypes.data, sizes.ctypes.data, steps.ctypes.data, loop.extra)
    return "" if not failed and (out == left + 1).all() else "the calling convention of numpy's inner loops is unknown"


