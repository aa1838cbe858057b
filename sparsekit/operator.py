"""User-defined operators: ``mx.operator``, called as ``mx.nd.Custom`` and ``mx.sym.Custom``."""

from .compat.operator import (
    Custom,
    CustomOp,
    CustomOpProp,
    OperatorArguments,
    get_all_registered_operators,
    get_operator_arguments,
    register,
)

__all__ = ["Custom", "CustomOp", "CustomOpProp", "OperatorArguments", "get_all_registered_operators", "get_operator_arguments",
           "register"]
