"""Intrinsics of kernels: prefetches, atomic words, and work for other threads.

``jit`` loads this with numba, before the first kernel is compiled.
"""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

from llvmlite import binding, ir
from numba import config, extending, types
from numba.core import cgutils
from numba.np.unsafe import ndarray

from . import intrinsic_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numba.core.cpu import CPUContext
    from numba.core.typing.context import BaseContext
    from numba.core.typing.templates import Signature

    #: An intrinsic's signature, and what writes its code from the values of its arguments.
    Intrinsic: TypeAlias = tuple[Signature, Callable[[CPUContext, ir.IRBuilder, Signature, Sequence[ir.Value]], ir.Value]]

__all__ = ["has_products_without_carries", "register"]

#: For a read, into the second cache, of data: the last three arguments of ``llvm.prefetch``.  The first cache has
#: few places for what is under way; asked into the second one, rows from anywhere in memory came 15 to 20 % faster.
READ, SECOND, DATA = 0, 2, 1

#: LLVM's intrinsic of a spin-wait hint, and its arguments; empty for a processor without one.
PAUSE: tuple[str, tuple[int, ...]] = {
    "x86_64": ("llvm.x86.sse2.pause", ()), "AMD64": ("llvm.x86.sse2.pause", ()),
    "aarch64": ("llvm.aarch64.hint", (1,)), "arm64": ("llvm.aarch64.hint", (1,)),
}.get(platform.machine(), ("", ()))

_words: Any = extending  # Any: its decorators hide the types of what they make
to_fixed_tuple: Any = ndarray.to_fixed_tuple  # Any: the same
_byte, _status, _word = ir.IntType(8), ir.IntType(32), ir.IntType(64)
#: A piece of a shared loop: arguments, start, stop; the status that numba gives its functions.
_piece = ir.FunctionType(_status, [_byte.as_pointer(), _word, _word])


def _where(context: CPUContext, builder: ir.IRBuilder, kind: types.Type, array: ir.Value, place: ir.Value) -> ir.Value:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [place])


@_words.intrinsic
def fetch(typing_context: BaseContext, array: types.Type, place: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        kind = ir.FunctionType(ir.VoidType(), [_byte.as_pointer(), _status, _status, _status])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        where = builder.bitcast(_where(context, builder, signature.args[0], *arguments), _byte.as_pointer())
        builder.call(function, [where, *(ir.Constant(_status, value) for value in (READ, SECOND, DATA))])
        return context.get_dummy_value()

    return types.void(array, types.uintp), generate


@_words.intrinsic
def eight_bytes(typing_context: BaseContext, text: types.Type, place: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        where = _where(context, builder, signature.args[0], *arguments)
        word = builder.load(builder.bitcast(where, _word.as_pointer()), align=1)
        return word if sys.byteorder == "little" else builder.bswap(word)

    return types.uint64(text, types.intp), generate


@_words.intrinsic
def zero_bits(typing_context: BaseContext, word: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@_words.intrinsic
def one_bits(typing_context: BaseContext, word: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@_words.intrinsic
def add(typing_context: BaseContext, shared_state: types.Type, place: types.Type, amount: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        where = _where(context, builder, signature.args[0], *arguments[:2])
        return builder.atomic_rmw("add", where, arguments[2], "seq_cst")

    return types.int64(shared_state, types.intp, types.int64), generate


@_words.intrinsic
def read(typing_context: BaseContext, shared_state: types.Type, place: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        return builder.load_atomic(_where(context, builder, signature.args[0], *arguments), "seq_cst", 8)

    return types.int64(shared_state, types.intp), generate


@_words.intrinsic
def write(typing_context: BaseContext, shared_state: types.Type, place: types.Type, value: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        builder.store_atomic(arguments[2], _where(context, builder, signature.args[0], *arguments[:2]), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(shared_state, types.intp, types.int64), generate


@_words.intrinsic
def pause(typing_context: BaseContext) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        word, values = PAUSE
        if word:
            kind = ir.FunctionType(ir.VoidType(), [_status] * len(values))
            builder.call(cgutils.get_or_insert_function(builder.module, kind, word), [_status(value) for value in values])
        return context.get_dummy_value()

    return types.void(), generate


@_words.intrinsic  # Any: the type of a kernel, whose dispatcher numba's own types do not know
def put_up(typing_context: BaseContext, shared_state: types.Type, body: Any, arguments: types.Tuple) -> Intrinsic:
    """Write on the shared_state where a function is that runs ``body(*arguments, start, stop)``, and where the arguments are.

    They are in the frame of the calling function, which therefore must not return before the loop is done.
    """
    wanted = (*arguments.types, types.int64, types.int64)
    body.dispatcher.get_call_template(wanted, {})  # compiles for these types, beside others that it may have been compiled for
    inner = body.dispatcher.overloads[wanted].signature

    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, given: Sequence[ir.Value]) -> ir.Value:
        packed = cgutils.alloca_once_value(builder, given[2])
        compiled = body.dispatcher.overloads[inner.args]
        context.active_code_library.add_linking_library(compiled.library)
        name = builder.module.get_unique_name(f"{builder.function.name}.piece")
        function = ir.Function(builder.module, _piece, name)
        function.linkage = "internal"
        within = ir.IRBuilder(function.append_basic_block())
        held = within.load(within.bitcast(function.args[0], packed.type))
        values = [*cgutils.unpack_tuple(within, held), *function.args[1:]]
        callee = context.declare_function(builder.module, compiled.fndesc)
        status, _ = context.call_conv.call_function(within, callee, inner.return_type, inner.args, values)
        within.ret(status.code)
        for word, pointer in ((intrinsic_names.FUNCTION, function), (intrinsic_names.ARGUMENTS, packed)):
            where = _where(context, builder, signature.args[0], given[0], ir.Constant(_word, word))
            builder.store_atomic(builder.ptrtoint(pointer, _word), where, "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(shared_state, body, arguments), generate


@_words.intrinsic
def run_piece(typing_context: BaseContext, function: types.Type, packed: types.Type, start: types.Type,
              stop: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        pointer = builder.inttoptr(arguments[0], _piece.as_pointer())
        status = builder.call(pointer, [builder.inttoptr(arguments[1], _byte.as_pointer()), *arguments[2:]])
        return builder.sext(status, _word)

    return types.int64(types.int64, types.int64, types.int64, types.int64), generate


@_words.intrinsic
def get_word(typing_context: BaseContext, address: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        return builder.load(builder.inttoptr(arguments[0], _word.as_pointer()))

    return types.int64(types.int64), generate


@_words.intrinsic
def put_word(typing_context: BaseContext, address: types.Type, value: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        builder.store(arguments[1], builder.inttoptr(arguments[0], _word.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@_words.intrinsic
def call_loop(typing_context: BaseContext, function: types.Type, context: types.Type, data: types.Type,
              dimensions: types.Type, strides: types.Type, extra: types.Type) -> Intrinsic:
    def generate(target: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        kind = ir.FunctionType(_status, [_word] * 5)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), list(arguments[1:]))

    return types.int32(*[types.int64] * 6), generate


@_words.intrinsic
def carry_over(typing_context: BaseContext, address: types.Type, count: types.Type, sums: types.Type) -> Intrinsic:
    pair, four = ir.VectorType(_word, 2), range(4)

    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        kind = ir.FunctionType(pair, [pair, pair, _byte])
        product = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.pclmulqdq")
        source = builder.inttoptr(arguments[0], pair.as_pointer())
        sums = builder.bitcast(_where(context, builder, signature.args[2], arguments[2], _word(0)), pair.as_pointer())
        held = [cgutils.alloca_once_value(builder, builder.load(builder.gep(sums, [_word(one)]), align=1)) for one in four]
        factors = pair([_word(factor) for factor in intrinsic_names.FOUR_PAIRS_ON])
        with cgutils.for_range(builder, builder.sub(arguments[1], _word(1))) as loop:
            start = builder.mul(builder.add(loop.index, _word(1)), _word(4))
            for one in four:
                low, high = (builder.call(product, [builder.load(held[one]), factors, _byte(which)]) for which in (0x00, 0x11))
                following = builder.load(builder.gep(source, [builder.add(start, _word(one))]), align=1)
                builder.store(builder.xor(builder.xor(low, high), following), held[one])
        for one in four:
            builder.store(builder.load(held[one]), builder.gep(sums, [_word(one)]), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, sums), generate


def has_products_without_carries() -> bool:
    """Whether kernels are compiled for a processor of x86 that multiplies without carries."""
    chosen = any(getattr(config, name, None) for name in ("CPU_NAME", "CPU_FEATURES"))  # then another processor may be meant
    return platform.machine() in ("x86_64", "AMD64") and not chosen and bool(binding.get_host_cpu_features().get("pclmul"))


# numba compares signatures, so neither these nor the lambdas can be annotated.
def _fetch(array, place):
    return lambda array, place: fetch(array, place)


def _eight_bytes(text, place):
    return lambda text, place: eight_bytes(text, place)


def _leading(array, count):
    return lambda array, count: to_fixed_tuple(array, count)


def _zero_bits(word):
    return lambda word: zero_bits(word)


def _one_bits(word):
    return lambda word: one_bits(word)


def _by_type(value, single, double):
    if value == types.float32:
        return lambda value, single, double: single(value)
    return lambda value, single, double: double(value)


def _add(shared_state, place, amount):
    return lambda shared_state, place, amount: add(shared_state, place, amount)


def _read(shared_state, place):
    return lambda shared_state, place: read(shared_state, place)


def _write(shared_state, place, value):
    return lambda shared_state, place, value: write(shared_state, place, value)


def _pause():
    return lambda: pause()


def _run_piece(function, packed, start, stop):
    return lambda function, packed, start, stop: run_piece(function, packed, start, stop)


def _put_up(shared_state, body, arguments):
    return lambda shared_state, body, arguments: put_up(shared_state, body, arguments)


def _get_word(address):
    return lambda address: get_word(address)


def _put_word(address, value):
    return lambda address, value: put_word(address, value)


def _call_loop(function, context, data, dimensions, strides, extra):
    return lambda function, context, data, dimensions, strides, extra: call_loop(
        function, context, data, dimensions, strides, extra)


def _carry_over(address, count, sums):
    return lambda address, count, sums: carry_over(address, count, sums)


def register() -> None:
    """Register the compiled forms of ``intrinsic_names`` with numba."""
    for word, compiled in {
            intrinsic_names.prefetch: _fetch,
            intrinsic_names.eight_bytes: _eight_bytes,
            intrinsic_names.leading: _leading,
            intrinsic_names.zero_bits: _zero_bits,
            intrinsic_names.one_bits: _one_bits,
            intrinsic_names.by_type: _by_type,
            intrinsic_names.add: _add,
            intrinsic_names.read: _read,
            intrinsic_names.write: _write,
            intrinsic_names.pause: _pause,
            intrinsic_names.run_piece: _run_piece,
            intrinsic_names.get_word: _get_word,
            intrinsic_names.put_word: _put_word,
            intrinsic_names.call_loop: _call_loop,
            intrinsic_names.carry_over: _carry_over,
    }.items():
        _words.overload(word)(compiled)
    # In the calling kernel's frame: what it puts up must be there until the loop is done.
    _words.overload(intrinsic_names.put_up, inline="always")(_put_up)
