"""Write the stubs of the operators from the registry, and ``ops/later.py``: ``python tests/stubs.py``.

Operators are made from the registry when they are first used, so an editor or a type checker would not know them.  The stubs
declare each of them with its parameters, the arrays that it takes and gives, and a line of what it does.  An operator that has
a storage rule with a sparse result is declared once more for the sparse arrays of that rule.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import keyword
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import sparsekit as mx
from sparsekit.compat.names import rows
from sparsekit.core.op import REQUIRED, Op, Rule, registry
from sparsekit.core.types import ArrayObject
from sparsekit.ndarray.functions import F as array_functions
from sparsekit.ndarray.methods import FUNCTIONS as ARRAY_FUNCTIONS
from sparsekit.ndarray.methods import METHODS
from sparsekit.ndarray.namespaces import GROUPS
from sparsekit.ops.later import LATER
from sparsekit.symbol.arithmetic import FUNCTIONS as OF_TWO_SYMBOLS
from sparsekit.symbol.functions import F as symbol_functions

PACKAGE = Path(mx.__file__).parent

#: Classes of arrays by storage type.
CLASSES = {"default": "NDArray", "csr": "CSRNDArray", "row_sparse": "RowSparseNDArray", "*": "NDArray"}

#: Types of attributes by name, where the default value does not tell them.
TYPES = {
    **dict.fromkeys(("t", "block_size", "repeats", "num_arrays", "state_size", "num_layers", "nsize"), "int"),
    **dict.fromkeys(("eta", "wd", "momentum", "next_momentum", "low", "high", "eps"), "float"),
    **dict.fromkeys(("temperature", "min_calib_range", "max_calib_range", "lstm_state_clip_min", "lstm_state_clip_max"),
                    "float | None"),
    **dict.fromkeys(("kernel", "stride", "pad", "dilate", "reps", "output_size", "size", "offset", "h_w"), "int | Sequence[int]"),
    **dict.fromkeys(("lhs_axes", "rhs_axes"), "int | Sequence[int] | None"),
    **dict.fromkeys(("lhs_begin", "lhs_end", "rhs_begin", "rhs_end"), "Sequence[int | None] | None"),
    **dict.fromkeys(("lrs", "wds", "etas", "learning_rates"), "Sequence[float]"),
    **dict.fromkeys(("bounds", "step_count"), "Sequence[int]"),
    **dict.fromkeys(("key", "kept", "view"), "object"),
    **dict.fromkeys(("N", "num", "range_max"), "int"), "bin_cnt": "int | None", "range": "tuple[float, float] | None",
    "start": "float", "stop": "float | None",
    **dict.fromkeys(("mode", "act_type"), "str"),
    "pad_width": "Sequence[int]", "projection_size": "int | None", "schedule": "object",
    "axis": "int | Sequence[int] | None", "axes": "int | Sequence[int] | None", "shape": "int | Sequence[int] | None",
    "dtype": "DTypeLike", "out_dtype": "DTypeLike", "ctx": "Context | str | None", "stype": "str", "forward_stype": "str | None",
    "begin": "object", "end": "object", "step": "object", "a_min": "float", "a_max": "float", "scalar": "float",
    "lr": "float", "num_outputs": "int", "depth": "int", "num_hidden": "int", "input_dim": "int", "output_dim": "int",
    "num_args": "int | None",
}

HEAD = '''"""{title}

Written by ``python tests/stubs.py`` from the registry of operators; a test compares it with that.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from ..base.context import Context
from ..base.types import DTypeLike
{imports}

_Out: TypeAlias = {out}
'''


def type_of(name: str, default: object) -> str:
    """What may be given for an attribute."""
    if name in TYPES:
        found = TYPES[name]
        return f"{found} | None" if default is None and "None" not in found and found not in ("object", "DTypeLike") else found
    if isinstance(default, bool):
        return "bool"
    if isinstance(default, tuple):
        return "int | Sequence[Any]"
    for kind in (int, float, str):
        if isinstance(default, kind):
            return kind.__name__
    return "Any"


def value_of(default: object) -> str:
    """A default value as a stub has it."""
    return repr(default) if isinstance(default, (bool, int, str, tuple, type(None))) else (
        repr(default) if isinstance(default, float) and repr(default)[-1].isdigit() else "...")


class Stub:
    """How the functions of one front end are declared.

    Parameters
    ----------
    array : str
        The class that operators take and give.
    arguments : tuple of str
        Parameters of every function, beside those of its signature.
    """

    def __init__(self, array: str, *arguments: str) -> None:
        self.array, self.arguments = array, arguments

    def signatures(self, op: Op, signature: inspect.Signature) -> list[str]:
        """Parameters and result of an operator: of the rules that give sparse arrays, then of all calls."""
        found = [self._line(op, signature, {}, self._result(op), {})]
        if self.array == "NDArray" and op.outputs == 1 and not op.mutates:
            found = [*[line for _, line in sorted(self._sparse(op, signature), key=lambda pair: -pair[0])], *found]
        return list(dict.fromkeys(found))

    def _result(self, op: Op) -> str:
        if self.array != "NDArray":
            return self.array
        given = op.outputs if op.visible is None else op.visible
        if given in (0, 1):
            return "NDArray" if given else "list[NDArray]"
        return "list[NDArray]" if isinstance(given, int) or op.name.partition("multi_")[0] in ("", "preloaded_") else "Any"

    def _sparse(self, op: Op, signature: inspect.Signature) -> Iterator[tuple[int, str]]:
        """A declaration for every combination of storage types that gives a sparse array, with how many of them are sparse."""
        seen: list[tuple[tuple[str, ...], dict[str, Any]]] = []
        for rule in op.rules:
            result = rule.outputs[0].removesuffix("...")
            if result not in ("csr", "row_sparse") or not self._known(rule):
                continue
            for stypes in self._combinations(rule, op):
                if (stypes, rule.when) not in seen and (stypes, {}) not in seen:
                    seen.append((stypes, rule.when))
                    yield (sum(one in ("csr", "row_sparse") for one in stypes),
                           self._line(op, signature, dict(zip(op.inputs, stypes, strict=False)), CLASSES[result], rule.when))

    @staticmethod
    def _known(rule: Rule) -> bool:
        return all(isinstance(values, tuple) and all(isinstance(one, (bool, str, type(None))) for one in values)
                   for values in rule.when.values())

    @staticmethod
    def _combinations(rule: Rule, op: Op) -> Iterable[tuple[str, ...]]:
        """The storage types of the inputs, without alternatives; those that are all dense are left to the declaration of all."""
        words = [word.rstrip("?").removesuffix("...") for word in rule.inputs]
        if op.variadic and "|" in words[0]:
            return ()
        return (stypes for stypes in itertools.product(*[word.split("|") for word in words])
                if any(one in ("csr", "row_sparse") for one in stypes) or rule.when)

    def _line(self, op: Op, signature: inspect.Signature, stypes: dict[str, str], result: str, when: dict[str, Any]) -> str:
        parts: list[str] = []
        named = False
        for parameter in signature.parameters.values():
            if parameter.kind is parameter.VAR_POSITIONAL:
                kind = CLASSES[stypes.get(parameter.name, "default")] if stypes else self.array
                parts.append(f"*{parameter.name}: {kind} | Sequence[{kind}]")
                named = True
                continue
            needed = when.get(parameter.name, ()) and parameter.default not in when[parameter.name]
            if not named and (parameter.kind is parameter.KEYWORD_ONLY or (needed and any("=" in part for part in parts)) or (
                    when and parameter.name in op.attrs)):
                parts.append("*")
                named = True
            parts.append(self._parameter(op, parameter, stypes, when, bool(needed)))
        if self.arguments and not named:
            parts.append("*")
        parts += self.arguments
        return f"({', '.join(parts)}) -> {result}: ..."

    def _parameter(self, op: Op, parameter: inspect.Parameter, stypes: dict[str, str], when: dict[str, Any], needed: bool) -> str:
        name, default = parameter.name, parameter.default
        if name == "out":
            return "out: _Out = None"
        if name == "name":
            return "name: str | None = None"
        if name == "attr":
            return "attr: dict[str, str] | None = None"
        if name in op.inputs:
            kind = CLASSES[stypes[name]] if name in stypes else self.array
            return f"{name}: {kind}" + ("" if default is parameter.empty else " | None = None")
        if name in when:
            kind = f"Literal[{', '.join(map(repr, when[name]))}]"
        else:
            kind = TYPES.get(name, "Any") if default in (parameter.empty, REQUIRED) else type_of(name, default)
        if needed or default is parameter.empty:
            return f"{name}: {kind}"
        return f"{name}: {kind} = {'...' if default is REQUIRED else value_of(default)}"


def declared(name: str, op: Op, lines: list[str], indent: str = "") -> str:
    """The declarations of one function; the line of what it does stands in the last one."""
    summary = " ".join(op.doc.split("\n\n")[0].split()).replace("\\", "\\\\").replace('"""', "'''")
    overloaded = f"{indent}@overload\n" if len(lines) > 1 else ""
    text = "".join(f"{overloaded}{indent}def {name}{line}\n" for line in lines[:-1])
    return text + f'{overloaded}{indent}def {name}{lines[-1].removesuffix(" ...")}\n{indent}    """{summary}"""\n'


ARRAYS, SYMBOLS = Stub("NDArray", "name: str | None = None"), Stub("Symbol")
ARRAY_IMPORTS = "from .ndarray import NDArray\nfrom .sparse import CSRNDArray, RowSparseNDArray"


def of_arrays(names: dict[str, str]) -> str:
    """Functions of arrays: their names, and the operators behind them."""
    return "\n".join(declared(name, registry[op], ARRAYS.signatures(
        registry[op], inspect.signature(getattr(array_functions, op)))) for name, op in names.items())


def of_symbols(names: dict[str, str]) -> str:
    """Functions of symbols, as ``of_arrays``."""
    return "\n".join(declared(name, registry[op], SYMBOLS.signatures(
        registry[op], inspect.signature(getattr(symbol_functions, op)))) for name, op in names.items())


def methods() -> str:
    """Operators as methods of arrays, whose first input is the array."""
    found = []
    for name in METHODS:
        op = registry[name]
        signature = inspect.signature(getattr(array_functions, name))
        rest = signature.replace(parameters=[one for one in signature.parameters.values() if one.name != op.inputs[0]])
        keeps = len(op.inputs) == 1 and {("csr", "csr"), ("row_sparse", "row_sparse")} <= {
            (rule.inputs[0], rule.outputs[0]) for rule in op.rules if not rule.when}
        line = ARRAYS._line(op, rest, {}, "Self" if keeps else ARRAYS._result(op), {})
        found.append(declared(name, op, ["(self" + (", " if line[1] != ")" else "") + line[1:]], "    "))
    found += [written_out(function) for function in ARRAY_FUNCTIONS]
    return "class ArrayMethods(ArrayObject):\n    writable: bool\n\n" + "\n".join(found)


def written_out(function: Callable[..., Any]) -> str:
    """The signature of a method without an operator, with the class of the array where storage types may stay."""
    signature = inspect.signature(function)
    result = signature.return_annotation
    if any(function.__name__ in vars(cls).get("__annotations__", ()) for cls in ArrayObject.__mro__):
        result = "Self" if result == "NDArray" else "Any"
    line = str(signature.replace(return_annotation=inspect.Signature.empty)).replace("'", "").replace("self: NDArray", "self")
    summary = (function.__doc__ or "").split("\n\n")[0]
    return f'    def {function.__name__}{line} -> {result}:\n        """{summary}"""\n'


def public(module: str) -> dict[str, str]:
    """Operators under their own names, without those that the module itself declares."""
    tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
    own = {one.asname or one.name for node in tree.body if isinstance(node, ast.ImportFrom) for one in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            own.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
    return {name: name for name in sorted(registry)
            if not name.startswith("_") and not keyword.iskeyword(name) and name not in own}


def of_two_symbols() -> str:
    """Functions of two symbols, or of a symbol and a number, each of which stands for several operators."""
    found = []
    for name, function in OF_TWO_SYMBOLS.items():
        places = ", ".join(f"{one}: Symbol | float" for one in inspect.signature(function).parameters)
        found.append(f"def {name}({places}) -> Symbol: ...\n")
    return "\n".join(found)


def grouped(group: str) -> dict[str, str]:
    """Operators of a group under their names there."""
    found = {name.removeprefix(prefix): name for prefix in reversed(GROUPS[group]) for name in sorted(registry) if
             name.startswith(prefix)}
    return {name: found[name] for name in sorted(found) if name.isidentifier() and not name.startswith("_")}


def declared_in(text: str) -> set[str]:
    """The names of the functions in a stub."""
    return set(re.findall(r"^def (\w+)", text, re.MULTILINE))


def more(group: str) -> list[str]:
    """Functions of a group that are not operators, from where they are."""
    return [f"from ..{place} import {there} as {name}" for name, (place, there) in sorted(rows(group).items()) if place != group]


def renamed(group: str) -> str:
    """Other names of operators of the group itself."""
    return "".join(f"{name} = {there}\n" for name, (place, there) in sorted(rows(group).items()) if place == group)


def hidden() -> dict[str, str]:
    """Operators whose names begin with an underscore."""
    return {name: name for name in sorted(registry) if name.startswith("_")}


def stubs() -> dict[str, str]:
    """The text of every stub, by its path in the package."""
    found = {}
    given = "NDArray | Sequence[NDArray] | None"
    for folder, made, imports, out in (("ndarray", of_arrays, ARRAY_IMPORTS, given),
                                       ("symbol", of_symbols, "from .symbol import Symbol", "object")):
        what = f"``mx.{'nd' if folder == 'ndarray' else 'sym'}``"
        found[f"{folder}/operators.pyi"] = HEAD.format(title=f"Operators of {what}.", imports=imports, out=out) + "\n" + made(
            public(f"{folder}/__init__.py"))
        for group in ("linalg", "contrib", "_internal"):
            head = HEAD.format(title=f"Operators of {what[:-2]}.{group}``.", out=out,
                               imports="\n".join([imports, *more(f"{folder}.{group}")]))
            functions = made(hidden() if group == "_internal" else grouped(group))
            also = renamed(f"{folder}.{group}")
            found[f"{folder}/{group}.pyi"] = f"{head}\n{functions}" + (also and f"\n{also}")
        left = {name: name for name in sorted(registry) if not name.startswith("_") and name not in declared_in(
            found[f"{folder}/operators.pyi"])}
        head = HEAD.format(title=f"Operators of {what[:-2]}.op``.", out=out,
                           imports="\n".join([imports, *more(f"{folder}.op"), "from .operators import *"]))
        found[f"{folder}/op.pyi"] = head + "\n" + made(left)
    shared = [name for name in public("ndarray/sparse.py") if name in public("ndarray/__init__.py")]
    names = "".join(f"    {name} as {name},\n" for name in shared)
    found["ndarray/sparse_operators.pyi"] = (
        f'"""Operators of ``mx.nd.sparse``.\n\nWritten by ``python tests/stubs.py``; a test compares it with that.\n"""\n\n'
        f"from .operators import (\n{names})\n\n__all__: list[str] = {shared}\n")
    found["symbol/sparse.pyi"] = (
        '"""Operators of ``mx.sym.sparse``.\n\nWritten by ``python tests/stubs.py``; a test compares it with that.\n"""\n\n'
        "from .operators import *\n")
    found["symbol/operators.pyi"] += "\n" + of_two_symbols()
    imports = "\n".join(("from typing import NoReturn\n", "from ..base.types import ShapeLike",
                         "from ..core.types import ArrayObject", "from .ndarray import NDArray"))
    head = HEAD.format(title="Operators as methods of arrays.", imports=imports, out=given)
    found["ndarray/array_methods.pyi"] = head + "\n" + methods()
    return found


def later() -> str:
    """The text of ``ops/later.py``: the names of the operators that each module listed there declares."""
    lines = ['"""The names of operators that are declared when one of them is first used, by their module.', "",
             "Written by ``python tests/stubs.py`` for the modules that are listed; a test compares it with the registry.", '"""',
             "", "LATER = {"]
    for module in LATER:
        importlib.import_module(f"sparsekit.{module}")
        names = [name for name, op in registry.items() if op._module["__name__"] == f"sparsekit.{module}"]
        wrapped = textwrap.wrap(" ".join(sorted(names)), 118)
        lines += [f'    "{module}":', *[f'        "{line} "' for line in wrapped[:-1]], f'        "{wrapped[-1]}",']
    return "\n".join([*lines, "}", ""])


def main() -> None:
    """Write the stubs, and first the names of operators."""
    (PACKAGE / "ops" / "later.py").write_text(later(), encoding="utf-8")
    for path, text in stubs().items():
        (PACKAGE / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
