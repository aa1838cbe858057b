"""Custom operators, which ``mx.nd.Custom`` and ``mx.sym.Custom`` call: ``mx.operator``."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..autograd import check_gradients
from ..base.errors import CustomOpError, ParameterError, ShapeError, SparsekitError, UnknownNameError, UnsupportedError, expected
from ..base.lazy import add_lazy_names
from ..core import hooks
from ..core.dispatch import written_dense
from ..core.graph import CustomNode
from ..core.op import registry as all_operators
from ..core.trace import RunsInPython, refuse
from ..kernels import for_device
from ..ndarray import NDArray, array, sparse, wrap, zeros
from ..symbol import attr_text
from ..symbol.mxnet_names import spelling_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base.context import Context
    from ..base.types import DTypeLike, ShapeLike


__all__ = ["Custom", "CustomOp", "CustomOpProp", "OperatorArguments", "get_all_registered_operators", "get_operator_arguments",
           "register"]

add_lazy_names(globals())

_registered: dict[str, type[CustomOpProp]] = {}


class CustomOp:
    """The computation of a custom operator: override ``forward`` and ``backward``, which write results with ``assign``."""

    def forward(self, is_train: bool, req: list[str], in_data: list[NDArray], out_data: list[NDArray],
                aux: list[NDArray]) -> None:
        """Compute ``out_data`` from ``in_data``; a subclass must override this method."""
        raise UnsupportedError(f"{type(self).__name__} has no forward().", hint="override it.")

    def backward(self, req: list[str], out_grad: list[NDArray], in_data: list[NDArray], out_data: list[NDArray],
                 in_grad: list[NDArray], aux: list[NDArray]) -> None:
        """Compute ``in_grad``, the gradients of the inputs, from ``out_grad``; a subclass must override this method."""
        raise UnsupportedError(f"{type(self).__name__} has no backward().", hint="override it.")

    def assign(self, dst: NDArray, req: str, src: NDArray) -> None:
        """Write ``src`` to ``dst``; ``req`` is "write", "inplace", "add" (add to ``dst``) or "null" (do nothing)."""
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst += src
        elif req != "null":
            raise ParameterError(expected("req", "'write', 'inplace', 'add' or 'null'", req),
                                 hint="pass an entry of req of forward() or backward().")


class CustomOpProp:
    """The inputs, outputs and inference of a custom operator.

    The default is one input ``data``, and an output of the same shape and type; a subclass overrides what differs.

    Parameters
    ----------
    need_top_grad : bool
        Whether the gradient depends on the gradients of the outputs; False for output layers such as a loss.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the auxiliary states, which have no gradient."""
        return []

    def infer_shape(self, in_shape: list[Any]) -> tuple[list[Any], ...]:
        """Shapes of the inputs, the outputs and the auxiliary states."""
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list[Any]) -> tuple[list[Any], ...]:
        """Element types of the inputs, the outputs and the auxiliary states."""
        kept = [in_type[0]] * len(self.list_auxiliary_states())
        return in_type, [in_type[0]] * len(self.list_outputs()), kept

    def infer_storage_type(self, in_stype: list[str]) -> tuple[list[Any], ...]:
        """Storage types in which ``forward`` receives the inputs, the outputs and the auxiliary states."""
        dense = "default"
        return ([dense] * len(in_stype), [dense] * len(self.list_outputs()),
                [dense] * len(self.list_auxiliary_states()))

    def infer_storage_type_backward(self, ograd_stype: list[str], in_stype: list[str], out_stype: list[str],
                                    igrad_stype: list[str], aux_stype: list[str]) -> tuple[list[str], ...]:
        """Storage types of output gradients, inputs, outputs, input gradients and auxiliary states in ``backward``.

        Only the fourth list has an effect: the storage types of the arrays to which ``backward`` writes the gradients.
        """
        return ograd_stype, in_stype, out_stype, ["default"] * len(igrad_stype), aux_stype

    def declare_backward_dependency(self, out_grad: list[Any], in_data: list[Any], out_data: list[Any]) -> list[Any]:
        """Arrays that ``backward`` uses; this has no effect, as ``backward`` always receives all of them."""
        return [*(out_grad if self.need_top_grad_ else []), *in_data, *out_data]

    def create_operator(self, ctx: object, in_shapes: list[Any], in_dtypes: list[Any]) -> CustomOp:
        """Make the ``CustomOp`` for inputs of these shapes and element types."""
        return CustomOp()


def register(reg_name: str) -> Callable[[type[CustomOpProp]], type[CustomOpProp]]:
    """Register a ``CustomOpProp`` by ``@register("name")``, for calls of ``mx.nd.Custom(…, op_type="name")``."""

    def keep(prop: type[CustomOpProp]) -> type[CustomOpProp]:
        if not (isinstance(prop, type) and issubclass(prop, CustomOpProp)):
            raise ParameterError(expected("A custom operator", "a class derived from CustomOpProp", prop),
                                 hint="define, for example, class Scale(mx.operator.CustomOpProp).")
        _registered[reg_name] = prop
        return prop

    return keep


def get_all_registered_operators() -> list[str]:
    """Names of all operators, with aliases, including registered custom operators."""
    return sorted({*all_operators, *_registered})


class OperatorArguments(NamedTuple):
    """Number, names and type descriptions of the arguments of an operator."""

    narg: int
    names: list[str]
    types: list[str]


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """Describe the arguments of an operator: first its arrays, then its attributes with their defaults.

    Examples
    --------
    >>> import sparsekit as mx
    >>> mx.operator.get_operator_arguments("dot").names[:3]
    ['lhs', 'rhs', 'transpose_a']
    """
    spelling = spelling_of(op_name)
    arrays, attrs = spelling.op.inputs, {name: value for name, value in spelling.op.attrs.items() if name not in spelling.fixed}
    theirs = {ours: name for name, ours in spelling.renamed.items()}
    names = [*arrays, *(theirs.get(name, name) for name in attrs)]
    return OperatorArguments(len(names), names, ["NDArray-or-Symbol"] * len(arrays) + [
        _described(default) for default in attrs.values()])


def _described(default: object) -> str:
    """The type of an attribute, inferred from its default, as text of the form that MXNet uses."""
    if str(default) == "required":
        return "required"
    if isinstance(default, bool):
        return f"boolean, optional, default={int(default)}"
    for kind, name in ((int, "int"), (float, "float"), (str, "string"), (tuple, "Shape(tuple)")):
        if isinstance(default, kind):
            value = repr(default) if kind is str else attr_text.text(default)
            return f"{name}, optional, default={value}"
    return f"optional, default={default!r}"


def _made(stype: str, shape: ShapeLike, dtype: DTypeLike, ctx: Context | None) -> NDArray:
    return zeros(shape, ctx, dtype) if stype == "default" else sparse.zeros(stype, shape, ctx, dtype)


def _inputs(op_type: str, names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[NDArray]:
    """The input arrays, from ``args`` in order and from ``kwargs`` by name; removes the latter from ``kwargs``."""
    values = dict(zip(names, args, strict=False))
    values.update({name: kwargs.pop(name) for name in names if name in kwargs})
    if len(values) != len(names) or len(args) > len(names):
        raise SparsekitError(f"Custom {op_type!r} requires the arrays {', '.join(names)}, got {len(args)} by position and "
                             f"{len(values) - min(len(args), len(names))} by name.", hint="pass each array once.")
    return [value if isinstance(value, NDArray) else array(value) for value in (values[name] for name in names)]


def Custom(*args: NDArray, op_type: str, **kwargs: object) -> NDArray | list[NDArray]:
    """Call a registered custom operator.

    Parameters
    ----------
    *args : NDArray
        Inputs and auxiliary states in the order of ``list_arguments`` and ``list_auxiliary_states``, or by keyword.
    op_type : str
        Name with which the operator is registered.
    **kwargs
        Other arguments are passed to the ``CustomOpProp`` as strings, as in MXNet.

    Returns
    -------
    NDArray or list of NDArray
    """
    kwargs.pop("name", None)
    names = _names_of(op_type, kwargs)
    prop = prop_of(op_type, {name: str(value) for name, value in kwargs.items() if name not in names})
    return apply(op_type, prop, _inputs(op_type, [*prop.list_arguments(), *prop.list_auxiliary_states()], args, kwargs))


def prop_of(op_type: str, settings: dict[str, str]) -> Any:  # Any: a CustomOpProp inside a _Guarded
    """Make the ``CustomOpProp`` that is registered with a name, with these arguments."""
    if op_type not in _registered:
        if not _registered:
            raise UnknownNameError(f"There is no custom operator named {op_type!r}.",
                                   hint=f"register its CustomOpProp first: @mx.operator.register({op_type!r}).")
        raise UnknownNameError.of("custom operator", op_type, _registered)
    make: Any = _registered[op_type]
    try:
        with _code_of(op_type, "__init__"):
            return _Guarded(op_type, make(**settings))
    except CustomOpError as error:
        if not isinstance(error.__cause__, TypeError):
            raise
        raise ParameterError(f"The CustomOpProp {op_type!r} does not take {', '.join(settings) or 'no settings'}: "
                             f"{error.__cause__}.", hint="keywords that are not inputs are passed to its __init__, as strings."
                             ) from error.__cause__


@contextlib.contextmanager
def _code_of(op_type: str, method: str) -> Iterator[None]:
    """Convert exceptions of user code to ``CustomOpError``, as in MXNet."""
    try:
        yield
    except SparsekitError:
        raise
    except Exception as error:
        raise CustomOpError(f"{method} of the custom operator {op_type!r} raised {type(error).__name__}: {error}.",
                            hint="see the exception above for the line.") from error


class _Guarded:
    """Wrapper of a user's ``CustomOpProp`` or ``CustomOp`` that converts exceptions, and profiles forward and backward."""

    def __init__(self, op_type: str, own: object) -> None:
        self._op_type, self._own = op_type, own

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._own, name)
        if not callable(attribute):
            return attribute
        prefix = {"forward": "", "backward": "_backward_"}.get(name)

        def method(*args: object) -> _Guarded | tuple[Any, ...] | list[Any]:
            start = time.perf_counter_ns()
            label = f"{prefix}{self._op_type}{hooks.CUSTOM}"
            layer = hooks.state.layer
            try:
                if prefix is not None:
                    hooks.state.layer = label
                with _code_of(self._op_type, name):
                    result = attribute(*args)
            finally:
                hooks.state.layer = layer
            if prefix is not None and hooks.sink is not None:
                hooks.sink.span(label, "user", start, time.perf_counter_ns(), {})
            return _Guarded(self._op_type, result) if name == "create_operator" else result

        return method


def apply(op_type: str, prop: CustomOpProp, arrays: list[NDArray]) -> NDArray | list[NDArray]:
    """Run an operator on its inputs and auxiliary states; record it if autograd is recording."""
    if hooks.state.tracing:
        raise refuse(f"the custom operator {op_type!r} runs Python at every call.", kind=RunsInPython)
    count = len(prop.list_arguments())
    inputs, aux = arrays[:count], arrays[count:]
    ctx = inputs[0].context if inputs else None
    shapes = [list(each.shape) for each in inputs]
    _, out_shapes, _ = _three(prop.infer_shape(shapes))
    _, out_types, _ = _three(prop.infer_type([each.dtype.type for each in inputs]))
    wanted, out_stypes, _ = _three(prop.infer_storage_type([each.stype for each in inputs]))
    operator = prop.create_operator(ctx, shapes, [each.dtype.type for each in inputs])
    return _run(op_type, prop, operator, inputs, aux, wanted,
                [_made(*each, ctx) for each in zip(out_stypes, map(tuple, out_shapes), out_types, strict=True)])


def _names_of(op_type: str, kwargs: dict[str, Any]) -> set[str]:
    """Keywords whose values are arrays; the others are arguments of the ``CustomOpProp``."""
    return {name for name, value in kwargs.items() if isinstance(value, (NDArray, np.ndarray))}


def _three(lists: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """Lists for inputs, outputs and auxiliary states, of which the last may be missing."""
    if len(lists) not in (2, 3):
        raise ShapeError(f"Inference must return 2 or 3 lists, got {len(lists)}.",
                         hint="return lists for the inputs, the outputs and the auxiliary states.")
    return lists[0], lists[1], lists[2] if len(lists) == 3 else []


def _as_declared(op_type: str, source: NDArray, stype: str) -> NDArray:
    """Convert an input to the declared storage type; the profiler records a conversion to dense."""
    if stype != "default" or source.stype == "default":
        return source.tostype(stype).detach()
    k = for_device(source.context.device_type)
    store = written_dense(op_type, source._store, k, f"the custom operator {op_type} declares its input dense")
    dense: NDArray = wrap(store, source.context)
    return dense


def _run(op_type: str, prop: CustomOpProp, operator: CustomOp, sources: list[NDArray], aux: list[NDArray], wanted: list[str],
         outputs: list[NDArray]) -> NDArray | list[NDArray]:
    state = hooks.state
    recording = state.recording
    try:
        state.recording = False
        inputs = [_as_declared(op_type, each, stype) for each, stype in zip(sources, wanted, strict=True)]
        operator.forward(state.training, ["write"] * len(outputs), inputs, outputs, aux)
    finally:
        state.recording = recording
    entries = tuple(each._entry for each in sources)
    if recording and any(entry is not None for entry in entries):

        def gradients(head: list[Any]) -> list[Any]:
            grads = [_made("default", out.shape, out.dtype, out.context) if each is None else each
                     for each, out in zip(head, outputs, strict=True)]
            stypes = prop.infer_storage_type_backward(*([each.stype for each in group] for group in
                                                        (grads, inputs, outputs, inputs, aux)))[3]
            input_gradients = [_made(stype, each.shape, each.dtype, each.context)
                               for stype, each in zip(stypes, inputs, strict=True)]
            operator.backward(["write"] * len(input_gradients), grads, inputs, outputs, input_gradients, aux)
            return check_gradients(op_type, input_gradients, [each.shape for each in inputs])

        node = CustomNode(gradients, entries, len(outputs), inputs[0].context)
        outputs = [wrap(each._store, each.context, (node, place)) for place, each in enumerate(outputs)]
    return outputs if len(outputs) > 1 else outputs[0]
