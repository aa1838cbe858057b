"""Every way of running a graph, each compared with the reference or, to the bit, with the plain run."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import re
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import reference
from graphs import Graph, Node

import sparsekit as mx
from sparsekit.base.errors import GradientError, SparsekitError


class Finding(NamedTuple):
    """What is wrong: the way of running, the operator, the kind; and what was seen."""

    way: str
    op: str
    kind: str
    message: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.way, self.op, self.kind


#: Values decide the shapes of their results, which symbols therefore do not know.
OPEN = {"_contrib_boolean_mask"}

#: What is refused by design, as in MXNet: operators with the error's name.
REFUSED = {("take", "ShapeError")}  # a csr array with indices of two dimensions


class Refused(Exception):
    """A graph holds a call that is refused by design."""


class Found(Exception):
    """Carries a finding out of a check."""

    def __init__(self, way: str, op: str, kind: str, message: str) -> None:
        super().__init__(message)
        self.finding = Finding(way, op, kind, message)


@functools.lru_cache(maxsize=4096)
def compiled(text: str) -> Any:
    return compile(text, "<graph>", "eval")


def evaluate(text: str, names: dict[str, Any]) -> Any:
    return eval(compiled(text), {"mx": mx, "np": np, "array": np.array, "nan": np.nan, "inf": np.inf}, names)


def inputs_of(graph: Graph) -> dict[str, Any]:
    return {name: evaluate(one.text(), {}) for name, one in graph.inputs.items()}


def put(names: dict[str, Any], node: Node, made: Any) -> None:
    names[node.name] = made
    if node.count > 1:
        for place, result in enumerate(node.results()):
            names[result] = made[place]


def build(F: Any, graph: Graph, inputs: dict[str, Any]) -> dict[str, Any]:
    """All values of the graph, computed in the namespace ``F``."""
    names = {"F": F, **inputs}
    for node in graph.nodes:
        try:
            made = evaluate(node.text(), names)
        except Exception as error:
            error.node = node  # type: ignore[attr-defined]
            raise
        put(names, node, made)
    return names


def described(x: Any) -> str:
    return f"{x.stype} {x.shape} {x.dtype}"


def same_bits(x: Any, y: Any) -> str:
    """How two arrays differ: storage type, shape, element type or values; nothing if they do not."""
    if (x.stype, x.shape, x.dtype) != (y.stype, y.shape, y.dtype):
        for what in ("stype", "shape", "dtype"):
            if getattr(x, what) != getattr(y, what):
                return what
    left, right = x.asnumpy(), y.asnumpy()
    return "" if left.tobytes() == right.tobytes() or np.array_equal(left, right, equal_nan=left.dtype.kind == "f") else "value"


def expect_same(way: str, graph: Graph, got: Any, wanted: dict[str, Any]) -> None:
    """What the graph gives in the end, an array or several, is what the plain run gave."""
    for name, one in zip(graph.ends(), got if isinstance(got, (list, tuple)) else [got], strict=True):
        kind = same_bits(one, wanted[name])
        if kind:
            op = next(node.op for node in graph.nodes if name in node.results())
            raise Found(way, op, kind, f"{name}: {described(one)}\n{one.asnumpy()!r}\n  plain run: {described(wanted[name])}\n"
                                       f"{wanted[name].asnumpy()!r}")


# the plain run and its reference


def plain(graph: Graph) -> dict[str, Any]:
    """The plain run; an error of any kind is a finding, since every input is one that the operator takes."""
    try:
        return build(mx.nd, graph, inputs_of(graph))
    except Exception as error:
        node = getattr(error, "node", None)
        if node and (node.function, type(error).__name__) in REFUSED:
            raise Refused from error
        kind = f"refused: {type(error).__name__}" if isinstance(error, SparsekitError) else f"bare {type(error).__name__}"
        raise Found("plain", node.op if node else "input", kind, str(error)) from error


def agrees(got: Any, wanted: Any, kind: Any, entry: reference.Reference, scale: Any, sparse: bool) -> Any:
    """Which elements are right."""
    with np.errstate(all="ignore"):
        if kind.kind in "iub" and not entry.exact:
            loose = wanted.dtype.kind == "f"
            ends = np.iinfo(kind) if kind.kind != "b" else None
            open_ = loose & (~np.isfinite(wanted) | (ends is not None
                                                     and ((wanted <= ends.min - 1.0) | (wanted >= ends.max + 1.0))))
            near = loose & (np.abs(wanted - np.rint(wanted)) < 1e-3 * np.maximum(1, np.abs(wanted)))  # rounding decides the cut
            target = np.where(open_, 0, wanted).astype(kind)
            difference = np.abs(got.astype(object) - target.astype(object))
            return open_ | (got == target) | (near & (difference <= 1).astype(bool))
        target = wanted.astype(kind)
        same = (got == target) | (np.isnan(got) & np.isnan(target)) if kind.kind == "f" else got == target
        if sparse and kind.kind == "f":
            same |= ~np.isfinite(target)  # what is absent stays out of products, whatever it meets
        if entry.exact or kind.kind != "f":
            return same
        eps, tiny = np.finfo(kind).eps, np.finfo(kind).tiny
        if kind == np.float64:
            eps = max(eps, 1e-12 / entry.ulps) if entry.ulps > 64 else eps
        size = (np.abs(wanted) if scale is None or (entry.strict and kind == np.float64)
                else np.maximum(np.abs(wanted), np.broadcast_to(scale, wanted.shape)))
        least = tiny if kind == np.float16 or entry.flushes else 0
        close = np.abs(got.astype(np.longdouble) - wanted) <= entry.ulps * eps * size + 8 * tiny * eps + least
        top = np.finfo(kind).max
        edge = np.isinf(got) & (np.abs(wanted) > 0.99 * top)  # sums that overflow on the way
        return same | close | edge


def against_reference(graph: Graph, values: dict[str, Any]) -> None:
    """Every call, on the arrays that it was given, is what numpy makes of them."""
    for node in graph.nodes:
        entry = reference.table[node.op]
        if entry.value is None:
            continue
        given = [values[arg] for arg in node.args]
        arrays = [x.asnumpy() for x in given]
        made, kinds, scale = entry(arrays, node.attrs)
        results = [values[name] for name in node.results()]
        sparse = any(x.stype != "default" for x in given) and ("/" in node.op or "div" in node.op or "mod" in node.op
            or "%" in node.op or any(not np.isfinite(x.astype(float)).all() for x in arrays))
        for got, wanted, kind in zip(results, made, kinds, strict=True):
            if got.shape != wanted.shape:
                raise Found("reference", node.op, "shape", f"{got.shape}, numpy: {wanted.shape}")
            if got.dtype != kind:
                raise Found("reference", node.op, f"dtype {got.dtype} for {kind}",
                            f"{described(got)} for {', '.join(map(described, given))}; numpy: {kind}")
            x = got.asnumpy()
            right = agrees(x, wanted, kind, entry, scale, sparse)
            if not np.all(right):
                place = tuple(int(i) for i in np.argwhere(~np.broadcast_to(right, x.shape))[0])
                raise Found("reference", node.op, "value", f"at {place}: {x[place]!r}, numpy: {wanted[place]!r}; inputs "
                                                           f"{', '.join(map(described, given))}")


# inference


def symbols(graph: Graph) -> dict[str, Any]:
    return build(mx.sym, graph, {name: mx.sym.Variable(name) for name in graph.inputs})


def inference(graph: Graph, values: dict[str, Any]) -> None:
    """Shapes, element types and storage types that symbols infer, and that ``graph()`` shows, are those of the run."""
    made = symbols(graph)
    inputs = {name: values[name] for name in graph.inputs}
    results = [name for node in graph.nodes for name in node.results()]
    group = mx.sym.Group([made[name] for name in results])
    named = {name: x for name, x in inputs.items() if name in set(group.list_arguments())}
    is_open = any(node.op in OPEN for node in graph.nodes)
    for what, method in (("shape", "infer_shape"), ("dtype", "infer_type"), ("stype", "infer_storage_type")):
        given = {name: getattr(x, what) for name, x in named.items()}
        asked = group
        if what == "stype":  # of a transposed row_sparse array it depends on the number of axes, which variables may declare
            declared = build(mx.sym, graph, {name: mx.sym.Variable(name, shape=values[name].shape) for name in graph.inputs})
            asked = mx.sym.Group([declared[name] for name in results])
        try:
            _, found, _ = getattr(asked, method)(**given)
        except SparsekitError as error:
            raise Found(method, last(graph), "refused", str(error)) from error
        if found is None and method == "infer_shape" and is_open:
            continue
        if found is None:
            alone = {node.op: mx.sym.Group([made[name] for name in node.results()]) for node in graph.nodes}
            known = {op: {name: one for name, one in given.items() if name in group.list_arguments()}
                     for op, group in alone.items()}
            op = next((op for op, one in alone.items() if getattr(one, method)(**known[op])[1] is None), last(graph))
            raise Found(method, op, "decides nothing", "None")
        for name, one in zip(results, found, strict=True):
            actual = getattr(values[name], what)
            if one is None or (np.dtype(one) if what == "dtype" else one) != actual:
                op = next(node.op for node in graph.nodes if name in node.results())
                raise Found(method, op, what, f"{name}: inferred {one}, computed {actual}")
    shown = group.graph(**named)
    for row in shown.table.rows:
        row = row if isinstance(row, (list, tuple)) else list(row.values())
        if row[0] in ("variable", "gradient") or row[0].endswith(", backward"):
            continue
        if not re.match(r"(default|csr|row_sparse) ", str(row[3])):
            continue
        texts = [re.sub(r";.*", "", text) for text in re.split(r" \| |, (?=default|csr|row_sparse)", str(row[3]))]
        wanted = {f"{values[name].stype} {' × '.join(map(str, values[name].shape)) or 'scalar'} {values[name].dtype}"
                  for name in results}
        if is_open:
            wanted |= {f"{values[name].stype} shape not known {values[name].dtype}" for name in results}
        for text in texts:
            if text not in wanted:
                raise Found("graph()", str(row[0]), "disagrees", f"shows {text!r}; computed: {sorted(wanted)}")


def last(graph: Graph) -> str:
    return graph.nodes[-1].op


# other ways


class Net(mx.gluon.HybridBlock):
    """A graph as a block; what it gives are the ends."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._graph, self._ends = graph, graph.ends()

    def hybrid_forward(self, F: Any, *args: Any) -> Any:
        made = build(F, self._graph, dict(zip(self._graph.inputs, args, strict=True)))
        return [made[name] for name in self._ends]


def hybridized(graph: Graph, values: dict[str, Any]) -> None:
    """A hybridized block, in its first run and in its second."""
    net, inputs = Net(graph), inputs_of(graph)
    net.hybridize()
    for _ in range(2):
        expect_same("hybridized", graph, net(*inputs.values()), values)


def bound(graph: Graph, values: dict[str, Any]) -> None:
    """An executor over the arrays; one with arrays of its own, fed by ``forward``; and the same from JSON."""
    made, inputs = symbols(graph), inputs_of(graph)
    group = mx.sym.Group([made[name] for name in graph.ends()])
    args = {name: inputs[name] for name in group.list_arguments()}
    expect_same("bind", graph, group.bind(mx.cpu(), args).forward(), values)
    executor = group.simple_bind(mx.cpu(), grad_req="null", type_dict={name: x.dtype for name, x in args.items()},
                                 stype_dict={name: x.stype for name, x in args.items()},
                                 **{name: x.shape for name, x in args.items()})
    expect_same("simple_bind", graph, executor.forward(**args), values)
    expect_same("read back", graph, mx.sym.load_json(group.tojson()).eval(**args), values)


def imported(graph: Graph, values: dict[str, Any]) -> None:
    """A SymbolBlock of what JSON gives back, plain and hybridized."""
    made, inputs = symbols(graph), inputs_of(graph)
    group = mx.sym.load_json(mx.sym.Group([made[name] for name in graph.ends()]).tojson())
    names = [name for name in inputs if name in group.list_arguments()]
    block = mx.gluon.SymbolBlock(group, [mx.sym.Variable(name) for name in names])
    for hybrid in (False, True):
        if hybrid:
            block.hybridize()
        expect_same("SymbolBlock", graph, block(*[inputs[name] for name in names]), values)


def exported(graph: Graph, values: dict[str, Any]) -> None:
    """What ``export`` writes, read back as a block and as a symbol."""
    net, inputs = Net(graph), inputs_of(graph)
    net.hybridize()
    with tempfile.TemporaryDirectory() as folder, showing("exported"):
        net(*inputs.values())
        net.export(f"{folder}/exported")
        names = mx.sym.load(f"{folder}/exported-symbol.json").list_arguments()
        called = dict(zip(["data"] if len(inputs) == 1 else [f"data{place}" for place in range(len(inputs))], inputs,
                          strict=True))
        block = mx.gluon.SymbolBlock.imports(f"{folder}/exported-symbol.json", names, f"{folder}/exported-0000.params")
        got = block(*[inputs[called[name]] for name in names])
    expect_same("exported", graph, got, values)


def profiled(graph: Graph, values: dict[str, Any]) -> None:
    """The plain run while a profiler records."""
    with mx.profiler.Profiler():
        made = build(mx.nd, graph, inputs_of(graph))
    expect_same("profiled", graph, [made[name] for name in graph.ends()], values)


def into_out(graph: Graph, values: dict[str, Any]) -> None:
    """Each call with ``out=``: of its own type, of another element type, dense, and an input itself."""
    for node in graph.nodes:
        if reference.table[node.op].write or node.count > 1 or node.op in ("cast_storage",):
            continue
        wanted = values[node.name]
        other = "float64" if wanted.dtype != np.float64 else "float32"
        targets = [(wanted.dtype, wanted.stype), (other, wanted.stype), (wanted.dtype, "default")]
        for kind, stype in targets:
            out = mx.nd.zeros(wanted.shape, dtype=kind, stype=stype)
            _into("out=", node, dict(values), out, wanted)
        for arg in dict.fromkeys(node.args):
            if arg.isidentifier() and described(values[arg]) == described(wanted):
                copies = {**values, **{name: values[name].copy() for name in node.args}}
                _into("out=input", node, copies, copies[arg], wanted)


def _into(way: str, node: Node, names: dict[str, Any], out: Any, wanted: Any) -> None:
    try:
        given = evaluate(node.text("out"), {**names, "F": mx.nd, "out": out})
    except SparsekitError as error:
        raise Found(way, node.op, f"refused: {type(error).__name__}", str(error)) from error
    with np.errstate(all="ignore"):
        right = wanted if wanted.dtype == out.dtype else wanted.astype(out.dtype)
    if given is not out:
        raise Found(way, node.op, "another array is returned", "")
    if out.shape != right.shape or not np.array_equal(out.asnumpy(), right.asnumpy(), equal_nan=out.dtype.kind == "f"):
        raise Found(way, node.op, f"value into {out.stype} {out.dtype}" if out.dtype != wanted.dtype else "value",
                    f"{out.asnumpy()!r}\n  without out=: {right.asnumpy()!r}")


def in_place(graph: Graph, values: dict[str, Any]) -> None:
    """``x += y`` is ``x = x + y`` in the type of x."""
    for node in graph.nodes:
        symbol = re.fullmatch(r"(\w+) ([-+*/%]) (.+)", node.text())
        if not symbol or symbol[1] not in node.args or symbol[1] not in graph.inputs:
            continue
        name, sign, right = symbol.groups()
        target = values[name].copy()
        wanted = values[node.name]
        if wanted.stype != target.stype:
            continue
        names = {**values, "target": target}
        exec(f"target {sign}= {'target' if right == name else right}", {"mx": mx}, names)
        got = names["target"]
        if got is not target or got.dtype != values[name].dtype:
            raise Found("in place", node.op, "another array", described(got))
        with np.errstate(all="ignore"):
            if not np.array_equal(got.asnumpy(), wanted.astype(got.dtype).asnumpy(), equal_nan=got.dtype.kind == "f"):
                raise Found("in place", node.op, "value", f"{got.asnumpy()!r}, plain: {wanted.asnumpy()!r}")


# gradients


def heads_of(graph: Graph, values: dict[str, Any]) -> list[str]:
    return [name for name in graph.ends() if values[name].dtype.kind == "f"]


def weights_of(graph: Graph, values: dict[str, Any], heads: list[str]) -> list[Any]:
    return [mx.nd.array((np.arange(values[name].size).reshape(values[name].shape) % 5 - 1.5), dtype=values[name].dtype)
            for name in heads]


def differentiable(graph: Graph) -> list[str]:
    return [name for name, one in graph.inputs.items() if one.array.dtype.kind == "f"]


def recorded(graph: Graph, values: dict[str, Any], request: str = "write", rounds: int = 1) -> tuple[dict[str, Any], list[Any]]:
    inputs = inputs_of(graph)
    for name in differentiable(graph):
        inputs[name].attach_grad(grad_req=request)
    heads = heads_of(graph, values)
    for _ in range(rounds):
        with mx.autograd.record():
            made = build(mx.nd, graph, inputs)
        mx.autograd.backward([made[name] for name in heads], weights_of(graph, values, heads))
    return {name: inputs[name].grad for name in differentiable(graph)}, [made[name] for name in graph.ends()]


def no_gradient(error: Exception) -> bool:
    """Whether an error says that there is nothing to differentiate."""
    return isinstance(error, GradientError) and any(words in str(error)
        for words in ("has no gradient", "not computed while recording"))


def gradients(graph: Graph, values: dict[str, Any]) -> None:
    """The plain run, a hybridized block and an executor give the same gradients; two rounds of "add" give twice as much."""
    heads, names = heads_of(graph, values), differentiable(graph)
    if not heads or not names:
        return
    try:
        grads, outputs = recorded(graph, values)
    except SparsekitError as error:
        if no_gradient(error):
            return
        raise Found("gradient", last(graph), f"refused: {type(error).__name__}", str(error)) from error
    expect_same("recorded", graph, outputs, values)

    def compare(way: str, others: dict[str, Any], factor: int = 1) -> None:
        for name in names:
            one, other = grads[name], others[name]
            kind = next((what for what in ("stype", "shape", "dtype") if getattr(one, what) != getattr(other, what)), "")
            with np.errstate(all="ignore"):
                left, right = one.asnumpy() * one.dtype.type(factor), other.asnumpy()
                top = np.abs(left[np.isfinite(left)]).max(initial=0) if not kind else 0  # contributions may come in another order
                if not kind and not np.allclose(left, right, 8 * np.finfo(one.dtype).eps, 8 * np.finfo(one.dtype).eps * top,
                                                True):
                    kind = "value"
            if kind:
                raise Found(way, last(graph), f"gradient {kind}", f"of {name}: {described(other)} {right.tolist()}, plain run: "
                                                                  f"{described(one)} {left.tolist()}")

    if all(graph.inputs[name].stype == "default" for name in names):
        again, _ = recorded(graph, values, "add", 2)
        compare("grad_req add", again, 2)
    net, inputs = Net(graph), inputs_of(graph)
    net.hybridize()
    for name in names:
        inputs[name].attach_grad()
    with showing("hybridized gradient"):
        for _ in range(2):
            with mx.autograd.record():
                made = net(*inputs.values())
            got = dict(zip(graph.ends(), made if isinstance(made, list) else [made], strict=True))
            mx.autograd.backward([got[name] for name in heads], weights_of(graph, values, heads))
    compare("hybridized gradient", {name: inputs[name].grad for name in names})
    made, inputs = symbols(graph), inputs_of(graph)
    group = mx.sym.Group([made[name] for name in heads])
    args = {name: inputs[name] for name in group.list_arguments()}
    buffers = {name: mx.nd.zeros(args[name].shape, dtype=args[name].dtype, stype=grads[name].stype) for name in names
               if name in args}
    with showing("executor gradient"):
        executor = group.bind(mx.cpu(), args, buffers, dict.fromkeys(buffers, "write"))
        executor.forward(is_train=True)
        executor.backward(weights_of(graph, values, heads))
    # An executor adds up contributions in the order of its own nodes, which decides what is left where they cancel.
    order = [node["name"] for node in json.loads(group.tojson())["nodes"]]
    known = [node for node in graph.nodes if made[node.results()[0]].name in order]
    known.sort(key=lambda node: order.index(made[node.results()[0]].name))
    grads, _ = recorded(dataclasses.replace(graph, nodes=tuple(known)), values)
    compare("executor gradient", {name: executor.grad_dict[name] if name in buffers else grads[name] for name in names})


def slopes(graph: Graph, values: dict[str, Any]) -> None:
    """The gradient of each call is the slope of its reference, by differences in float64, where that has one."""
    for node in graph.nodes:
        entry = reference.table[node.op]
        given = [values[arg] for arg in node.args]
        if (not entry.smooth or node.count > 1 or not all(x.dtype.kind in "fiu" for x in given)
            or values[node.name].dtype.kind != "f"):
            continue
        arrays = [x.asnumpy() for x in given]
        if not all(np.isfinite(x.astype(float)).all() and np.abs(x.astype(float)).max(initial=0) < 1e3 for x in arrays):
            continue
        if (len(set(node.args)) < len(node.args) or not all(map(str.isidentifier, node.args))
            or any(x.dtype == np.float16 for x in given)):
            continue
        if ("mod" in node.op or "%" in node.op) and (np.abs(arrays[-1]) < 1e-3).any():
            continue  # a remainder of zero is zero, but its slope is taken to be 1, as in MXNet; others jump within a step
        if "hypot" in node.op and all((array == 0).any() for array in arrays):
            continue  # at the tip of the cone there is no slope, and head gradients that add up to zero hide that
        if node.op in ("sort", "topk") and np.unique(arrays[0]).size < arrays[0].size:
            continue  # which of equal numbers comes first is open, and equal head gradients at both ends hide that
        copies = {arg: x.copy() for arg, x in zip(node.args, given, strict=True)}
        places = [place for place, x in enumerate(given) if x.dtype.kind == "f"]
        for place in places:
            copies[node.args[place]].attach_grad(stype="default")
        head = weights_of(graph, values, [node.name])[0]
        with mx.autograd.record():
            made = evaluate(node.text(), {**copies, "F": mx.nd})
        try:
            mx.autograd.backward([made], [head])
        except SparsekitError as error:
            if no_gradient(error):
                continue
            raise Found("slope", node.op, f"refused: {type(error).__name__}", str(error)) from error
        double = [x.astype(np.float64) for x in arrays]
        loose = 2e-5 if all(x.dtype == np.float64 for x in given if x.dtype.kind == "f") and made.dtype == np.float64 else 2e-3
        for place in places:
            got = copies[node.args[place]].grad.asnumpy().astype(np.float64)
            wanted, known = slope(entry, double, node.attrs, place, head.asnumpy().astype(np.float64))
            known &= np.abs(wanted) < np.finfo(copies[node.args[place]].grad.dtype).max
            if given[place].stype != "default":
                known &= arrays[place] != 0
            size = np.maximum(1, np.abs(wanted))
            wrong = known & ~(np.abs(got - wanted) <= loose * max(1.0, float(np.max(size[known], initial=0))))
            if wrong.any():
                at = tuple(int(i) for i in np.argwhere(wrong)[0])
                raise Found("slope", node.op, f"of input {place}", f"gradient {got[at]!r}, slope {wanted[at]!r} at {at}; inputs "
                                                                   f"{', '.join(map(described, given))}")


def slope(entry: reference.Reference, arrays: list[Any], attrs: dict[str, Any], place: int, head: Any) -> tuple[Any, Any]:
    """Slopes along each element of one input, and where left and right slope agree."""
    x = arrays[place]
    wanted, known = np.zeros(x.shape), np.zeros(x.shape, bool)

    def result(moved: Any) -> Any:
        with np.errstate(all="ignore"):
            made = entry.value(*[moved if one == place else array for one, array in enumerate(arrays)], **attrs)
            return np.asarray(made, np.float64).reshape(head.shape)

    def rise(low: Any, high: Any) -> float:
        """Of the sum of all elements times their heads, of which a large one must not drown the others."""
        with np.errstate(all="ignore"):
            return float(((high - low) * head).sum())

    middle = result(x)
    for at in np.ndindex(*x.shape):
        found = []
        for step in (1e-5 * max(1.0, abs(float(x[at]))), 2e-6):
            up, down = x.copy(), x.copy()
            up[at] += step
            down[at] -= step
            found += [rise(middle, result(up)) / step, rise(result(down), middle) / step]
        wanted[at] = (found[0] + found[1]) / 2
        known[at] = np.isfinite(wanted[at]) and np.ptp(found) <= 1e-3 * max(1.0, abs(wanted[at]))
    return wanted, known


def where(error: Exception) -> str:
    """File and function of the library that raised an error."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if f"{os.sep}sparsekit{os.sep}" in frame.filename]
    return f"{Path(frames[-1].filename).name} {frames[-1].name}" if frames else "the fuzzer"


@contextlib.contextmanager
def showing(way: str) -> Iterator[None]:
    """Make an error inside a finding of this way."""
    try:
        yield
    except Found:
        raise
    except Exception as error:
        raise Found(way, where(error), type(error).__name__, str(error)) from error


WAYS = (against_reference, inference, hybridized, bound, imported, profiled, into_out, in_place, gradients, slopes, exported)


def check(graph: Graph, ways: Any = WAYS) -> Finding | None:
    """The first thing that is wrong with a graph, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            values = plain(graph)
        except Refused:
            return None
        except Found as found:
            return found.finding
        for way in ways:
            try:
                way(graph, values)
            except Found as found:
                return found.finding
            except Exception as error:
                return Finding(way.__name__, where(error), type(error).__name__, str(error))
    return None
