"""Intrinsics of kernels: prefetches, atomic words, and work for other threads.

``jit`` loads this with numba, before the first kernel is compiled.
"""

from __future__ import annotations

import functools
import platform
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
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
def read_ahead(typing_context: BaseContext, array: types.Type, place: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        kind: Any = signature.args[0]  # Any: an array's type
        # As an atomic word's, a read of what nothing uses stays.
        builder.load_atomic(_where(context, builder, kind, *arguments), "monotonic", kind.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.uintp), generate


@_words.intrinsic
def add_eight(typing_context: BaseContext, totals: types.Type, place: types.Type, sources: types.Type, source: types.Type,
              factor: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        kind: Any = signature.args[0]  # Any: an array's type
        eight = ir.VectorType(arguments[4].type, 8)
        where, origin = [builder.bitcast(_where(context, builder, kind, *arguments[first: first + 2]), eight.as_pointer())
                         for first in (0, 2)]
        total, values = [builder.load(pointer, align=kind.dtype.bitwidth // 8) for pointer in (where, origin)]
        factors = ir.Constant(eight, ir.Undefined)
        for number in range(8):
            factors = builder.insert_element(factors, arguments[4], _status(number))
        if isinstance(kind.dtype, types.Float):
            # As in loops with fastmath={"contract"}: without rounding in between where the processor can do that.
            total = builder.fadd(total, builder.fmul(factors, values, flags=("contract",)), flags=("contract",))
        else:
            total = builder.add(total, builder.mul(factors, values))
        builder.store(total, where, align=kind.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(totals, types.uintp, sources, types.uintp, factor), generate


def _in_order(context: CPUContext, builder: ir.IRBuilder, kinds: Sequence[types.Type], vectors: Sequence[ir.Value]) -> ir.Value:
    """The sum over the products of vectors' elements."""
    arrays = [context.make_array(kind)(context, builder, vector) for kind, vector in zip(kinds, vectors, strict=True)]
    size, element = cgutils.unpack_tuple(builder, arrays[0].shape)[0], arrays[0].data.type.pointee
    align = kinds[0].dtype.bitwidth // 8  # type: ignore[attr-defined]  # of an array

    def add(totals: ir.Value, place: ir.Value) -> None:
        kind = totals.type
        read = [builder.load(builder.bitcast(builder.gep(array.data, [place]), kind), align=align) for array in arrays]
        builder.store(builder.fadd(builder.load(totals), functools.reduce(builder.fmul, read)), totals)

    lanes = intrinsic_names.LANES
    done = builder.and_(size, size.type(-lanes))
    sums = ir.Constant(ir.VectorType(element, lanes), [0.0] * lanes)
    totals = cgutils.alloca_once(builder, sums.type)
    builder.store(sums, totals)
    with cgutils.for_range_slice(builder, size.type(0), done, size.type(lanes)) as (place, _):
        add(totals, place)
    while lanes > 1:
        lanes, sums = lanes // 2, builder.load(totals)
        if lanes > 1:
            sums = builder.fadd(*[
                builder.shuffle_vector(sums, sums, ir.Constant(ir.VectorType(_status, lanes), list(places)))
                for places in (range(lanes), range(lanes, 2 * lanes))])
        else:
            sums = builder.fadd(*[builder.extract_element(sums, _status(place)) for place in range(2)])
        totals = cgutils.alloca_once(builder, sums.type)
        builder.store(sums, totals)
        with builder.if_then(builder.icmp_unsigned("!=", builder.and_(size, size.type(lanes)), size.type(0))):
            add(totals, done)
        done = builder.and_(size, size.type(-lanes))
    return builder.load(totals)


@_words.intrinsic
def sum_in_order(typing_context: BaseContext, values: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        return _in_order(context, builder, signature.args, arguments)

    return values.dtype(values), generate  # type: ignore[attr-defined]  # of an array


@_words.intrinsic
def dot_in_order(typing_context: BaseContext, first: types.Type, second: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        return _in_order(context, builder, signature.args, arguments)

    return first.dtype(first, second), generate  # type: ignore[attr-defined]  # of an array


@_words.intrinsic
def eight_bytes(typing_context: BaseContext, text: types.Type, place: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        where = _where(context, builder, signature.args[0], *arguments)
        word = builder.load(builder.bitcast(where, _word.as_pointer()), align=1)
        return word if sys.byteorder == "little" else builder.bswap(word)

    return types.uint64(text, types.intp), generate


@_words.intrinsic
def take_marks(typing_context: BaseContext, marks: types.Type, place: types.Type) -> Intrinsic:
    many = ir.VectorType(_byte, 64)

    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        where = builder.bitcast(_where(context, builder, signature.args[0], *arguments), many.as_pointer())
        none = ir.Constant(many, [0] * 64)
        bits = builder.bitcast(builder.icmp_unsigned("!=", builder.load(where, align=1), none), _word)
        builder.store(none, where, align=1)
        return bits if sys.byteorder == "little" else builder.bitreverse(bits)

    return types.uint64(marks, types.intp), generate


@_words.intrinsic
def changed(typing_context: BaseContext, values: types.Type, place: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        kind: Any = signature.args[0]  # Any: an array's type
        size = kind.dtype.bitwidth
        many = ir.VectorType(ir.IntType(size), 64)
        where = builder.bitcast(_where(context, builder, kind, *arguments), many.as_pointer())
        begun = ir.Constant(many, [1 << (size - 1)] * 64)
        bits = builder.bitcast(builder.icmp_unsigned("!=", builder.load(where, align=size // 8), begun), _word)
        return bits if sys.byteorder == "little" else builder.bitreverse(bits)

    return types.uint64(values, types.intp), generate


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


@_words.intrinsic
def swap(typing_context: BaseContext, shared_state: types.Type, place: types.Type, old: types.Type, new: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        where = _where(context, builder, signature.args[0], *arguments[:2])
        return builder.extract_value(builder.cmpxchg(where, *arguments[2:], "seq_cst", "seq_cst"), 1)

    return types.boolean(shared_state, types.intp, types.int64, types.int64), generate


@_words.intrinsic
def call_words(typing_context: BaseContext, function: types.Type, first: types.Type, second: types.Type) -> Intrinsic:
    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        kind = ir.FunctionType(_word, [_word] * 2)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), list(arguments[1:]))

    return types.int64(*[types.int64] * 3), generate


@_words.intrinsic  # Any: the type of a kernel, whose dispatcher numba's own types do not know
def put_up(typing_context: BaseContext, body: Any, arguments: types.Tuple) -> Intrinsic:
    """Where a function is that runs ``body(*arguments, start, stop)``, and where the arguments are.

    They are in the frame of the calling function, which therefore must not return before the loop is done.
    """
    wanted = (*arguments.types, types.int64, types.int64)
    body.dispatcher.get_call_template(wanted, {})  # compiles for these types, beside others that it may have been compiled for
    inner = body.dispatcher.overloads[wanted].signature

    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Signature, operands: Sequence[ir.Value]) -> ir.Value:
        packed = cgutils.alloca_once_value(builder, operands[1])
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
        return context.make_tuple(
            builder, signature.return_type, [builder.ptrtoint(pointer, _word) for pointer in (function, packed)])

    return types.UniTuple(types.int64, 2)(body, arguments), generate


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
        held = [cgutils.alloca_once_value(builder, builder.load(builder.gep(sums, [_word(lane)]), align=1)) for lane in four]
        factors = pair([_word(factor) for factor in intrinsic_names.FOUR_PAIRS_ON])
        with cgutils.for_range(builder, builder.sub(arguments[1], _word(1))) as loop:
            start = builder.mul(builder.add(loop.index, _word(1)), _word(4))
            for lane in four:
                low, high = (builder.call(product, [builder.load(held[lane]), factors, _byte(which)]) for which in (0x00, 0x11))
                following = builder.load(builder.gep(source, [builder.add(start, _word(lane))]), align=1)
                builder.store(builder.xor(builder.xor(low, high), following), held[lane])
        for lane in four:
            builder.store(builder.load(held[lane]), builder.gep(sums, [_word(lane)]), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, sums), generate


def has_products_without_carries() -> bool:
    """Whether kernels are compiled for a processor of x86 that multiplies without carries."""
    chosen = any(getattr(config, name, None) for name in ("CPU_NAME", "CPU_FEATURES"))  # then another processor may be meant
    return platform.machine() in ("x86_64", "AMD64") and not chosen and bool(binding.get_host_cpu_features().get("pclmul"))


# numba compares signatures, so neither these nor the lambdas can be annotated.
def _fetch(array, place):
    return lambda array, place: fetch(array, place)


def _read_ahead(array, place):
    return lambda array, place: read_ahead(array, place)


def _add_eight(totals, place, sources, source, factor):
    if totals.dtype == sources.dtype == factor:
        return lambda totals, place, sources, source, factor: add_eight(totals, place, sources, source, factor)

    def each(totals, place, sources, source, factor):
        for number in range(np.uint64(8)):
            totals[place + number] += factor * sources[source + number]

    return each


def _sum_in_order(values):
    return lambda values: sum_in_order(values)


def _dot_in_order(first, second):
    return lambda first, second: dot_in_order(first, second)


def _eight_bytes(text, place):
    return lambda text, place: eight_bytes(text, place)


def _leading(array, count):
    return lambda array, count: to_fixed_tuple(array, count)


def _take_marks(marks, place):
    return lambda marks, place: take_marks(marks, place)


def _changed(values, place):
    return lambda values, place: changed(values, place)


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


def _put_up(body, arguments):
    return lambda body, arguments: put_up(body, arguments)


def _swap(shared_state, place, old, new):
    return lambda shared_state, place, old, new: swap(shared_state, place, old, new)


def _call_words(function, first, second):
    return lambda function, first, second: call_words(function, first, second)


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
            intrinsic_names.read_ahead: _read_ahead,
            intrinsic_names.add_eight: _add_eight,
            intrinsic_names.sum_in_order: _sum_in_order,
            intrinsic_names.dot_in_order: _dot_in_order,
            intrinsic_names.eight_bytes: _eight_bytes,
            intrinsic_names.leading: _leading,
            intrinsic_names.take_marks: _take_marks,
            intrinsic_names.changed: _changed,
            intrinsic_names.zero_bits: _zero_bits,
            intrinsic_names.one_bits: _one_bits,
            intrinsic_names.by_type: _by_type,
            intrinsic_names.add: _add,
            intrinsic_names.read: _read,
            intrinsic_names.write: _write,
            intrinsic_names.pause: _pause,
            intrinsic_names.run_piece: _run_piece,
            intrinsic_names.swap: _swap,
            intrinsic_names.call_words: _call_words,
            intrinsic_names.get_word: _get_word,
            intrinsic_names.put_word: _put_word,
            intrinsic_names.call_loop: _call_loop,
            intrinsic_names.carry_over: _carry_over,
    }.items():
        _words.overload(word)(compiled)
    # In the calling kernel's frame: what it puts up must be there until the loop is done.
    _words.overload(intrinsic_names.put_up, inline="always")(_put_up)
