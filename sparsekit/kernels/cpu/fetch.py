"""Instructions that numba has no name for: fetch memory ahead of its use, read eight bytes at once, count zero bits."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

__all__ = ["eight_bytes", "overload", "zero_bits"]

#: For a read, to be kept near, of data: the last three arguments of ``llvm.prefetch``.
READ, NEAR, DATA = 0, 3, 1


def overload() -> Callable[..., Any]:
    """What numba compiles a call of ``jit.prefetch`` to; loading this needs numba."""
    from llvmlite import ir  # with numba, by the first kernel that is compiled
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def fetch(typing_context: Any, array: Any, place: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
            where = builder.bitcast(builder.gep(start, [arguments[1]]), byte)
            builder.call(function, [where, *(ir.Constant(number, value) for value in (READ, NEAR, DATA))])
            return context.get_dummy_value()

        return types.void(array, types.uintp), generate

    call: Any = fetch

    def compiled(array, place):  # numba compares it with the lambda, which cannot be annotated
        return lambda array, place: call(array, place)

    return compiled


def eight_bytes() -> Callable[..., Any]:
    """What numba compiles a call of ``jit.eight_bytes`` to; loading this needs numba."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def read(typing_context: Any, array: Any, place: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            where = builder.bitcast(builder.gep(start, [arguments[1]]), ir.IntType(64).as_pointer())
            word = builder.load(where, align=1)
            return word if sys.byteorder == "little" else builder.bswap(word)

        return types.uint64(array, types.intp), generate

    call: Any = read

    def compiled(array, place):
        return lambda array, place: call(array, place)

    return compiled


def zero_bits() -> Callable[..., Any]:
    """What numba compiles a call of ``jit.zero_bits`` to; loading this needs numba."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def count(typing_context: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

        return types.int64(types.uint64), generate

    call: Any = count

    def compiled(word):
        return lambda word: call(word)

    return compiled
