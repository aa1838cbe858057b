"""Binding of a symbol to an executor: given arrays are checked, missing ones are inferred and made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..base.context import Context
from ..base.dtypes import element_type
from ..base.errors import (
    DTypeError,
    ParameterError,
    ShapeError,
    StorageFallbackWarning,
    StorageTypeError,
    UnknownNameError,
    expected,
)
from ..base.warn import warn_user
from ..core.partial_shapes import complete, to_user
from ..core.spec import Spec, infer_shapes
from ..ndarray.creation import zeros
from ..ndarray.ndarray import NDArray
from .executor import Executor
from .gradients import gradient_stypes
from .groups import checked_groups, places
from .inference import InferredGraph, NodeStorage, declared_stype
from .node import Entry, SymbolNode, order, variables
from .shapes import from_user
from .storage_log import log_storage, wanted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..base.types import DType, DTypeLike

REQUESTS = ("write", "add", "null")


def requests_of(names: list[str], grad_req: object) -> list[str]:
    """What a backward pass does to each argument's gradient.

    Parameters
    ----------
    grad_req : str, list of str, or dict of str
        One for all, one for each, or by name, where those not named are "null".
    """
    if isinstance(grad_req, str):
        requests = [grad_req] * len(names)
    elif isinstance(grad_req, dict):
        requests = [grad_req.get(name, "null") for name in names]
    elif isinstance(grad_req, (list, tuple)):
        requests = list(grad_req)
        if len(requests) != len(names):
            raise ParameterError(f"The length of the grad_req list is {len(requests)}, and there are {len(names)} arguments.",
                                 hint=f"they are {', '.join(names)}; a dict names some.")
    else:
        raise DTypeError(expected("grad_req", "a string, or a list or dict of strings", type(grad_req)),
                         hint="grad_req='write', for example.")
    for request in requests:
        if request not in REQUESTS:
            raise UnknownNameError.of("grad_req", request, REQUESTS)
    return requests


def check_names(nodes: list[SymbolNode]) -> None:
    """Raise unless the variables have names of their own."""
    names = [node.name for node in nodes]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise ParameterError(f"Several variables are named {', '.join(map(repr, twice))}, so that arrays cannot be given to "
                             "them by name.", hint="use one Variable in all places, or give each its own name.")


def _check_complete(facts: InferredGraph, nodes: list[SymbolNode], what: str) -> None:
    """Raise unless the shapes of these variables are known."""
    unknown = [f"{node.name}: {to_user(facts.shapes.get((node, 0)))}" for node in nodes
               if not complete(facts.shapes.get((node, 0)))]
    if unknown:
        raise ShapeError(f"{what} cannot decide shapes for {'; '.join(unknown)} (0 is an unknown size).",
                         hint="give them as keywords, or declare them: mx.sym.Variable(name, shape=…).")


def simple_bind(heads: Sequence[Entry], ctx: Context, grad_req: str | Sequence[str] | Mapping[str, str],
                type_dict: dict[str, Any] | None, stype_dict: dict[str, str] | None, group2ctx: object,
                shared_arg_names: Sequence[str] | None, shared_exec: Executor | None, shared_buffer: dict[str, NDArray] | None,
                shapes: dict[str, Any]) -> Executor:
    """An executor with arrays of zeros for whatever the shapes given lead to."""
    where = places(heads, ctx, checked_groups(group2ctx, ctx))
    arguments, states = variables(order(heads))
    leaves = [*arguments, *states]
    check_names(leaves)
    by_name = {node.name: node for node in leaves}
    node_shapes = {by_name[name]: from_user(shape, name) for name, shape in shapes.items() if name in by_name}
    dtypes = {by_name[name]: _dtype(dtype, name) for name, dtype in (type_dict or {}).items() if name in by_name}
    stypes = {by_name[name]: _stype(stype, name) for name, stype in (stype_dict or {}).items() if name in by_name}
    facts = InferredGraph(heads, node_shapes, dtypes, stypes)
    _check_complete(facts, leaves, "simple_bind")
    requests = requests_of([node.name for node in arguments], grad_req)
    into = _gradient_types(heads, facts, arguments, requests)
    store = _Shared(where, shared_exec, shared_buffer, shared_arg_names)
    args = [store.array("arg", node, facts.spec((node, 0))) for node in arguments]
    grads = [None if request == "null" else store.array("grad", node, facts.spec((node, 0))._replace(stype=into[node]))
             for node, request in zip(arguments, requests, strict=True)]
    aux = [store.array("aux", node, facts.spec((node, 0))) for node in states]
    _log(heads, facts.storages, {node.name: into[node] for node, request in zip(arguments, requests, strict=True)
                                 if request != "null"})
    return Executor(heads, ctx, args, grads, requests, aux)


def _dtype(dtype: DTypeLike, name: str) -> DType:
    try:
        return element_type(dtype)
    except DTypeError as error:
        raise DTypeError(f"type_dict gives {dtype!r:.60} for {name}: {error.message}", hint=error.hint) from None


def _stype(stype: str, name: str) -> str:
    if stype not in ("default", "row_sparse", "csr"):
        raise StorageTypeError(expected(f"stype_dict[{name!r}]", "a storage type", stype),
                               hint="it is 'default', 'row_sparse' or 'csr'.")
    return str(stype)


def _gradient_types(heads: Sequence[Entry], facts: InferredGraph, arguments: list[SymbolNode], requests: list[str]
                    ) -> dict[SymbolNode, str]:
    """The storage type of each argument's gradient."""
    if all(request == "null" for request in requests):
        return {}
    _refuse_values(facts)
    stypes = gradient_stypes(heads, facts.specs(), wanted={node for node, request in zip(arguments, requests, strict=True)
                                                  if request != "null"})
    return {node: stypes.get(node, "default") for node in arguments}


def _refuse_values(facts: InferredGraph) -> None:
    """Raise if an operator's result has a shape that only values decide: the storage types of gradients follow from shapes."""
    for node in facts.nodes:
        shapes = [shape for shape in map(facts.shapes.get, node.inputs) if complete(shape)]
        if node.call is not None and len(shapes) == len(node.inputs) and infer_shapes(node.call, shapes) is None:
            raise ShapeError(f"simple_bind cannot decide the shape of {node.name} ({node.call.op.label}): it depends on values.",
                             hint="bind takes arrays and the gradients' arrays; grad_req='null' needs none.")


def _log(heads: Sequence[Entry], storages: list[NodeStorage], gradients: dict[str, str]) -> None:
    if wanted():
        log_storage(heads, storages, gradients)


class _Shared:
    """Where arrays come from: those of another executor or a pool where they fit, else new ones."""

    def __init__(self, where: dict[SymbolNode, Context], other: Executor | None, pool: dict[str, NDArray] | None,
                 names: Sequence[str] | None) -> None:
        self._where, self._pool, self._names = where, pool, None if names is None else set(names)
        self._held = {} if other is None else {"arg": other.arg_dict, "grad": other.grad_dict, "aux": other.aux_dict}

    def array(self, kind: str, node: SymbolNode, spec: Spec) -> NDArray:
        """An array of that kind for a variable; one that is shared keeps its values."""
        name = node.name
        if self._names is None or name in self._names or kind == "aux":
            held = self._held.get(kind, {}).get(name)
            if held is not None and (held.shape, held.dtype, held.stype) == (spec.shape, spec.dtype, spec.stype):
                return held
        key = name if kind == "arg" else f"{kind}:{name}"
        held = None if self._pool is None else self._pool.get(key)
        if held is not None and (held.shape, held.dtype, held.stype) == (spec.shape, spec.dtype, spec.stype):
            shared: NDArray = held
            return shared
        buffer = zeros(spec.shape, self._where[node], spec.dtype, spec.stype)
        if self._pool is not None:
            self._pool[key] = buffer
        return buffer


def bind(heads: Sequence[Entry], ctx: Context, args: Sequence[NDArray] | Mapping[str, NDArray],
         args_grad: Sequence[NDArray | None] | Mapping[str, NDArray] | None, grad_req: object,
         aux_states: Sequence[NDArray] | Mapping[str, NDArray] | None, group2ctx: object,
         shared_exec: Executor | None = None) -> Executor:
    """An executor on the arrays given, which it reads and writes."""
    contexts = {ctx, *checked_groups(group2ctx, ctx).values()}
    arguments, states = variables(order(heads))
    names = [node.name for node in arguments]
    if isinstance(args, dict) or isinstance(args_grad, dict):
        check_names([*arguments, *states])
    values = _arrays("args", arguments, args, contexts, False)
    kept = _arrays("aux_states", states, aux_states, contexts, False)
    grads = _arrays("args_grad", arguments, args_grad, contexts, True) if args_grad is not None else [None] * len(names)
    requests = requests_of(names, grad_req)
    for place, (value, grad) in enumerate(zip(values, grads, strict=True)):
        if grad is None:
            requests[place] = "null"
        elif grad.shape != value.shape:
            raise ShapeError(f"The gradient of {names[place]} has shape {grad.shape}, but the argument has shape {value.shape}.",
                             hint="they must be equal.")
    leaves = list(zip([*arguments, *states], [*values, *kept], strict=True))
    _warn_of_dense(leaves)
    facts = InferredGraph(heads, {node: array.shape for node, array in leaves}, {node: array.dtype for node, array in leaves},
                   {node: array.stype for node, array in leaves})
    _log(heads, facts.storages, {name: grad.stype for name, grad in zip(names, grads, strict=True) if grad is not None})
    return Executor(heads, ctx, values, grads, requests, kept)


def _arrays(what: str, nodes: list[SymbolNode], source: object, contexts: set[Context], partly: bool) -> list[Any]:
    """One array for each variable, from a list in their order or a dict by name."""
    names = [node.name for node in nodes]
    if source is None:
        source = []
    if isinstance(source, dict):
        missing = [name for name in names if name not in source]
        if missing and not partly:
            raise ParameterError(f"key `{missing[0]}` is missing in `{what}`; arrays are missing for {', '.join(missing)}.",
                                 hint=f"give an array for each of {', '.join(names)}.")
        arrays = [source.get(name) for name in names]
    elif isinstance(source, (list, tuple)):
        arrays = list(source)
        if len(arrays) != len(names):
            raise ParameterError(f"Length of {what} does not match the number of arguments: {len(arrays)} were given, and "
                                 f"there are {len(names)}.", hint=f"they are {', '.join(names) or 'none'}.")
    else:
        raise DTypeError(expected(what, "a list or a dict of NDArrays", type(source)), hint="a dict gives arrays by name.")
    for name, array in zip(names, arrays, strict=True):
        if array is None and partly:
            continue
        if not isinstance(array, NDArray):
            raise DTypeError(f"{what} has a {type(array).__name__} for {name}.", hint="make one with mx.nd.array(…).")
        if array.context not in contexts:
            raise ParameterError(f"{what}: {name} is on {array.context}, and the symbol is bound to "
                                 f"{', '.join(sorted(map(str, contexts)))}.", hint="bring it there with as_in_context(ctx).")
    return arrays


def _warn_of_dense(leaves: list[tuple[SymbolNode, NDArray]]) -> None:
    """Warn if the array of a variable that was declared sparse is dense: as in MXNet, the array decides what runs."""
    for node, array in leaves:
        declared = declared_stype(node)
        if array.stype == "default" and declared not in (None, "default"):
            warn_user(f"{node.name} was declared {declared}, and the array for it is dense, so operators on it are dense. "
                      f"Hint: convert the array with tostype({declared!r}), or declare the variable otherwise.",
                      StorageFallbackWarning)
