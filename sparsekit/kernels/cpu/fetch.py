"""The processor's prefetch instruction, for kernels that read memory in no order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["overload"]

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
