"""Device functions of optimizer steps, made from the formulas of ``kernels/cpu``, which numba compiles and numpy evaluates."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING

from ..cpu import update, update_adaptive

if TYPE_CHECKING:
    from ..cpu.jit import Kernel

#: What C++ reads as Python does.
ALIKE = (ast.Name, ast.expr_context, ast.Constant, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.UnaryOp, ast.USub,
         ast.Compare, ast.Eq, ast.LtE, ast.Call, ast.Attribute)

#: Functions that have another name there; ``update.cu`` has those that are not C++'s.
CALLED = {"math.sqrt": "sqrt", "abs": "fabs"}


def device_functions() -> str:
    """The text of the device functions of all steps that have a formula."""
    return "\n".join(device_function(step) for file in (update, update_adaptive) for step in update.with_formulas(file).values())


def device_function(step: Kernel) -> str:
    """The text of the device function of a step, by ``STEP`` of ``update.cu``; all its values are of the weight's type."""
    function = ast.parse(inspect.getsource(step.formula)).body[0]
    assert isinstance(function, ast.FunctionDef)
    arrays = [argument.arg for argument in function.args.args[2:]]
    used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    lines, changed = [f"Value {name} = to_{name}[i];" for name in arrays if name in used], set[str]()
    for line in function.body[1:]:  # behind the docstring
        match line:
            case ast.Assign([ast.Tuple(names)], _):
                lines += [f"Value {ast.unparse(name)} = n({place});" for place, name in enumerate(names, 1)]
            case ast.Assign([ast.Name(name)], value):
                lines.append(f"{'' if name in {*arrays, *changed} else 'Value '}{name} = {_expression(value)};")
                changed.add(name)
            case ast.Return(ast.Tuple(results)):
                lines += [f"to_{name}[i] = {_expression(new)};" for name, new in zip(arrays, results, strict=True)
                          if ast.unparse(new) != name or name in changed]
            case ast.Return(ast.expr() as result):
                lines.append(f"to_weight[i] = {_expression(result)};")
    states = "".join(f"Value* to_{name}, " for name in arrays[1:])
    return "\n    ".join([f"STEP({function.name}, STATES({states}), {{", *lines]) + "\n})\n"


def _expression(node: ast.expr) -> str:
    for part in ast.walk(node):
        assert isinstance(part, ALIKE), ast.unparse(node)
        if isinstance(part, ast.Call):
            called = ast.unparse(part.func)
            part.func = ast.Name(CALLED.get(called, called))
    return ast.unparse(node)
