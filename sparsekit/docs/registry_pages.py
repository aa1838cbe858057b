"""A Sphinx extension that writes the reference of operators from the registry.

``.. operators:: module module …`` documents every operator that these modules of ``sparsekit.ops`` declare;
``.. operator-table::`` is a table of all operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.util.nodes import nested_parse_with_titles

from sparsekit.core.function import make_function
from sparsekit.core.op import REQUIRED, Op, Rule, registry
from sparsekit.ndarray.ndarray import NDArray

#: Prefixes of operators' names -> the namespaces that have their functions, without the prefix.
PLACES = (("_linalg_", "linalg."), ("linalg_", "linalg."), ("_contrib_", "contrib."), ("_random_", "random."))


def every_operator() -> list[Op]:
    """Return the operators, each once, sorted by name; internal ones come last."""
    return sorted({id(op): op for op in registry.values()}.values(),
                  key=lambda op: (public_names(op)[0].startswith("_"), public_names(op)[0].lower()))


def module_of(op: Op) -> str:
    """Return the module of the operator's first function that this library defines: a rule, the gradient or the sampler."""
    functions = [*(rule.function for rule in op.rules), op.gradient_function, op.sample]
    modules = [function.__module__ for function in functions if function is not None]
    return next(name for name in modules if name.startswith("sparsekit.ops.")).rpartition(".")[2]


def by_module() -> dict[str, list[Op]]:
    """Return the operators by the module that declares them."""
    operators: dict[str, list[Op]] = {}
    for op in every_operator():
        operators.setdefault(module_of(op), []).append(op)
    return operators


def public_names(op: Op) -> list[str]:
    """Return the names of the operator below ``mx.nd``, the preferred name first."""
    names: list[str] = []
    for key in (op.name, *op.aliases):
        place = next((there + key.removeprefix(start) for start, there in PLACES if key.startswith(start)), key)
        if not place.startswith("_"):
            names.append(place)
    return list(dict.fromkeys(names)) or [f"_internal.{op.name}"]


def gradient_of(op: Op) -> str:
    """Return "yes", or "no" with the reason, for whether the operator has a gradient."""
    if op.gradient_function is not None:
        return "yes"
    if op.mutates:
        return "no: it writes to its inputs"
    return f"no: {op.gradient_hint}" if op.gradient_hint else "no"


def condition(rule: Rule) -> str:
    """Format the attributes that a row requires."""
    return ", ".join(f"{name}={'|'.join(map(str, values))}" if isinstance(values, tuple) else f"{name}={values!r}"
                     for name, values in rule.when.items())


def rows_of(op: Op) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of the operator's storage table: input storage types, output storage types, condition."""
    for rule in op.rules:
        yield ", ".join(rule.inputs) or "nothing", ", ".join(rule.outputs), condition(rule)


def signature_of(op: Op) -> str:
    """Format the signature of the operator's function."""
    function: Any = make_function(op, lambda *_: None, "sparsekit.ndarray", op.name)
    text = str(function.__signature__)
    return text.replace(repr(REQUIRED), "required")


def reference(op: Op) -> list[str]:
    """Return the reference of an operator as lines of reStructuredText."""
    names = public_names(op)
    lines = [f".. py:function:: mx.nd.{names[0]}{signature_of(op)}", ""]
    body = [*op.doc.splitlines(), "",
            "**Storage types.** The first row that matches is used; other inputs are made dense, with a warning.", ""]
    body += [".. list-table::", "   :header-rows: 1", "   :widths: auto", "", "   * - inputs", "     - result", "     - when"]
    for inputs, outputs, when in rows_of(op):
        body += [f"   * - ``{inputs}``", f"     - ``{outputs}``", f"     - {f'``{when}``' if when else ''}"]
    body += ["", f"**Gradient:** {gradient_of(op)}."]
    others = [f"``mx.nd.{name}``" for name in names[1:]]
    if not names[0].startswith(("_", "random.")):
        others.append(f"``mx.sym.{names[0]}``")
    if callable(getattr(NDArray, names[0], None)):
        others.append(f"the method ``NDArray.{names[0]}``")
    if others:
        body += ["", f"**Also:** {', '.join(others)}."]
    return [*lines, *(f"   {line}" if line else "" for line in body), ""]


def table(operators: Iterable[Op]) -> list[str]:
    """Return a table with a row for each operator as lines of reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: auto", "",
             "   * - operator", "     - result", "     - rows with sparse arrays", "     - gradient"]
    for op in operators:
        name = public_names(op)[0]
        sparse = sum("csr" in inputs + outputs or "row_sparse" in inputs + outputs or "*" in inputs
                     for inputs, outputs, _ in rows_of(op))
        first = op.doc.partition(". ")[0].partition("\n\n")[0].replace("\n", " ").rstrip(".")
        lines += [f"   * - :py:func:`{name} <mx.nd.{name}>`", f"     - {first}", f"     - {sparse or ''}",
                  f"     - {gradient_of(op).partition(':')[0]}"]
    return lines


class _Generated(Directive):  # type: ignore[misc]  # docutils has no types
    """A directive with generated content."""

    has_content = False

    def parsed(self, lines: list[str]) -> list[Any]:
        """Parse lines of reStructuredText into nodes."""
        holder = nodes.section()
        holder.document = self.state.document
        nested_parse_with_titles(self.state, StringList(lines, "<registry>"), holder)
        return list(holder.children)


class Operators(_Generated):
    """``.. operators:: dot sparse_pairs``: the operators that these modules declare."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[Any]:
        """Return the reference of each operator."""
        operators = by_module()
        lines: list[str] = []
        for module in self.arguments[0].split():
            for op in operators[module]:
                lines += reference(op)
        return self.parsed(lines)


class OperatorTable(_Generated):
    """``.. operator-table::``: all public operators in one table."""

    def run(self) -> list[Any]:
        """Return the table."""
        return self.parsed(table(op for op in every_operator() if not public_names(op)[0].startswith("_")))


def setup(app: Any) -> dict[str, bool]:
    """Register the two directives with Sphinx."""
    app.add_directive("operators", Operators)
    app.add_directive("operator-table", OperatorTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
