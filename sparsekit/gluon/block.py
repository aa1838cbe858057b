"""Blocks: layers and networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, Unpack

from .. import ndarray
from ..base.changes import MarkedDict, changes
from ..base.context import Context
from ..base.errors import DTypeError, ParameterError, UnknownNameError, UnsupportedError
from ..base.lazy import add_lazy_names
from ..base.nested import leaves
from ..base.warn import warn_user
from ..core import hooks
from ..core.trace import RunsInPython, aside, current, meet, refuse
from ..ndarray.ndarray import NDArray
from . import model_files, symbolic
from .hybrid import Programs
from .monitor import OperatorMonitor
from .parameter import DeferredInitializationError, Parameter, ParameterDict
from .scope import Scope
from .summary import print_summary
from .user_python import is_ours, reason_of
from .utils import HookHandle, refuse_foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ..base.types import DTypeLike
    from ..core.types import Functions
    from ..initializer.base import InitLike
    from .types import HybridizeOptions


__all__ = ["Block", "HybridBlock"]

add_lazy_names(globals(), {"SymbolBlock": "gluon.symbol_block:SymbolBlock"})


class Block:
    """Base of layers and networks: override ``forward``, which runs in Python at every call.

    Blocks and parameters that are attributes belong to the block.  Blocks in a list or dict do not, and a
    warning says so: use ``Sequential`` or ``register_child`` for them.

    Parameters
    ----------
    prefix : str, optional
        Prefix of the names of parameters and children.  The default is made from the class name.
    params : ParameterDict, optional
        Shared parameters, such as those of another block.

    Examples
    --------
    >>> class Model(mx.gluon.Block):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         with self.name_scope():
    ...             self.first, self.second = mx.gluon.nn.Dense(20), mx.gluon.nn.Dense(1)
    ...     def forward(self, x):
    ...         return self.second(self.first(x).relu())
    >>> model = Model()
    >>> model.initialize()
    >>> model(mx.nd.ones((10, 5))).shape
    (10, 1)
    """

    #: Names of what a call of the block calls, which may be the user's.
    _called: tuple[str, ...] = ("forward", "__call__")

    #: Attributes that a call of the block itself may set, and that no program depends on.
    _unmarked: frozenset[str] = frozenset()

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        self._children: dict[str, Block] = MarkedDict()
        self._reg_params: dict[str, Parameter] = MarkedDict()
        self._forward_hooks: dict[int, Any] = MarkedDict()
        self._forward_pre_hooks: dict[int, Any] = MarkedDict()
        self._monitor: OperatorMonitor | None = None
        self._empty_prefix, self._of_library = prefix == "", type(self).__module__.startswith("sparsekit.gluon")
        self._prefix, self._params = Scope.create(prefix, params, self._alias())
        self._name = self._prefix[:-1] if self._prefix.endswith("_") else self._prefix
        self._scope = Scope(self)

    def __getstate__(self) -> dict[str, Any]:  # Any: attributes
        """What a copy or a pickle has of a block: its scope knows the block itself, and is made anew."""
        return {**vars(self), "_scope": self._scope._counts}

    def __setstate__(self, state: dict[str, Any]) -> None:  # Any: attributes
        vars(self).update(state)
        self._scope = Scope(self)
        self._scope._counts = dict(state["_scope"])

    def _alias(self) -> str:
        """What automatic names of such blocks start with."""
        return type(self).__name__.lower()

    # names

    @property
    def prefix(self) -> str:
        """What the names of parameters and children start with."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without its final underscore."""
        return self._name

    @property
    def params(self) -> ParameterDict:
        """The block's own parameters, not those of its children."""
        return self._params

    def name_scope(self) -> Scope:
        """``with self.name_scope():`` children and parameters made inside carry this block's prefix."""
        return self._scope

    def __repr__(self) -> str:
        lines = [f"  ({key}): {_indent(repr(value))}" for key, value in vars(self).items() if isinstance(value, Block)]
        return "\n".join([f"{type(self).__name__}(", *(lines or [""]), ")"])

    # parts

    def __setattr__(self, name: str, value: object) -> None:
        held = self.__dict__.get(name)
        if isinstance(held, (Parameter, Block)) and not isinstance(value, type(held)):
            raise DTypeError(f"Changing attribute type for {name} from {type(held).__name__} to {type(value).__name__} is not "
                             "allowed.", hint="use another name.")
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            if name in self._reg_params:
                raise ParameterError(f"Overriding Parameter attribute {name} is not allowed.",
                                     hint="to share parameters between blocks, give params= when making the block.")
            self._reg_params[name] = value
        super().__setattr__(name, value)
        if name not in self._unmarked:
            self.__dict__["_mark"] = changes.mark = (name,)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self.__dict__["_mark"] = changes.mark = (name,)

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Add a child, whose parameters then belong to this block too."""
        self._children[str(len(self._children)) if name is None else name] = block

    def _warn_of_hidden_blocks(self) -> None:
        """Warn of blocks in lists and dicts, which are not children."""
        registered = set(map(id, self._children.values()))
        for name, value in vars(self).items():
            if name != "_children" and isinstance(value, (list, tuple, dict)) and _holds_others(value, registered):
                warn_user(f'"{type(self).__name__}.{name}" is an unregistered container with Blocks. Blocks inside a list, '
                              "tuple or dict are not registered; use register_child(), nn.Sequential or "
                              "nn.HybridSequential.")

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """Parameters of this block and all below.

        Parameters
        ----------
        select : str, optional
            A regular expression, such as ``".*weight|.*bias"``.  The result has only the parameters whose names match it
            from the start.

        Returns
        -------
        ParameterDict
        """
        self._warn_of_hidden_blocks()
        parameters = ParameterDict(self._params.prefix)
        parameters.update(self._params if select is None else self._params.select(select))
        for child in self._children.values():
            parameters.update(child.collect_params(select))
        return parameters

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """Parameters under the names of their attributes, joined by dots, as files have them."""
        prefix += "." if prefix else ""
        parameters = {prefix + key: parameter for key, parameter in self._reg_params.items()}
        for name, child in self._children.items():
            parameters.update(child._collect_params_with_prefix(prefix + name))
        return parameters

    def apply(self, fn: Callable[..., Any]) -> Self:
        """Call ``fn`` on every block below and on this one, and return this one."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    # parameters

    def initialize(self, init: InitLike = None, ctx: Context | Sequence[Context] | None = None, verbose: bool = False,
                   force_reinit: bool = False) -> None:
        """Give all parameters their initial values; ``Uniform(0.07)`` by default.

        Parameters
        ----------
        init : Initializer or str, optional
            Initializer of the parameters that have none of their own.
        ctx : Context or list of Context, optional
            Contexts that each get a copy of the values; the current context by default.
        verbose : bool
            Let the initializer log its work, if it supports this.
        force_reinit : bool
            Initialize parameters again that already have values.  By default they keep them, and a warning says so.
        """
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def cast(self, dtype: DTypeLike) -> None:
        """Change the element type of all parameters; layers may keep some of theirs."""
        for child in self._children.values():
            child.cast(dtype)
        for parameter in self._params.values():
            parameter.cast(dtype)

    # files

    def save_parameters(self, filename: str | Path, deduplicate: bool = False) -> None:
        """Write all parameters to a file, under the names of their attributes, such as ``0.weight``.

        MXNet can read the file.  It does not contain the structure of the network: build the same network before you call
        ``load_parameters``.

        Parameters
        ----------
        filename : str or path
        deduplicate : bool
            Write a parameter that several blocks share once, under one of its names.
        """
        model_files.save_parameters(self, filename, deduplicate)

    def load_parameters(self, filename: str | Path, ctx: Context | Sequence[Context] | None = None, allow_missing: bool = False,
                        ignore_extra: bool = False, cast_dtype: bool = False, dtype_source: str = "current") -> None:
        """Read parameters that ``save_parameters``, ours or MXNet's, has written.

        Parameters
        ----------
        filename : str or path
        ctx : Context or list of Context, optional
            Contexts of the parameters that have no values yet; the CPU by default.
        allow_missing : bool
            Leave parameters that are not in the file unchanged, instead of raising an error.
        ignore_extra : bool
            Ignore arrays in the file that the network does not have, instead of raising an error.
        cast_dtype : bool
            Allow the element types in the file to differ from those of the network.
        dtype_source : {"current", "saved"}
            With ``cast_dtype``, whether a parameter keeps its current element type or takes that of the file.

        Raises
        ------
        ParameterError
            If names, shapes or element types do not match.
        DataFileError
            If the file is missing or damaged.
        """
        model_files.load_parameters(self, filename, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source)

    def save_params(self, filename: str | Path) -> None:
        """Write all parameters under their own names, without the block's prefix; ``save_parameters`` is better."""
        warn_user("save_params is deprecated. Please use save_parameters.")
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_params(self, filename: str | Path, ctx: Context | Sequence[Context] | None = None, allow_missing: bool = False,
                    ignore_extra: bool = False) -> None:
        """As ``load_parameters``, under its old name."""
        warn_user("load_params is deprecated. Please use load_parameters.")
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def save(self, prefix: str) -> None:
        """Write the names of all blocks to ``<prefix>-model.json`` and the parameters to ``<prefix>-model.params``."""
        model_files.save(self, prefix)

    def load(self, prefix: str) -> None:
        """Read what ``save`` wrote into a network that was made in the same way; blocks get the names they had."""
        model_files.load(self, prefix)

    # hooks

    def register_forward_hook(self, hook: Callable[..., Any] | str) -> HookHandle:
        """Call ``hook(block, inputs, output)`` after each forward pass, until the returned handle is detached."""
        handle = HookHandle()
        handle.attach(self._forward_hooks, hook)
        return handle

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, inputs)`` before each forward pass, until the returned handle is detached."""
        handle = HookHandle()
        handle.attach(self._forward_pre_hooks, hook)
        return handle

    def register_op_hook(self, callback: Callable[..., Any] | None, monitor_all: bool = False) -> None:
        """Show a function every array that the operators below compute.

        Parameters
        ----------
        callback : function or None
            ``callback(node_name, operator_name, array)``, with names such as ``dense0_fwd_output``; None takes it away.
        monitor_all : bool
            Show the operators' inputs too.
        """
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def hybridize(self, active: bool = True, **kwargs: Unpack[HybridizeOptions]) -> None:
        """Hybridize every HybridBlock below; this block itself runs as it is written."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    def summary(self, *inputs: NDArray) -> None:
        """Print a table of the layers with the shapes of their outputs and the numbers of their parameters.

        The network must have been initialized.  It runs once on the inputs.
        """
        print_summary(self, inputs)

    # forward

    def __call__(self, *args: Any) -> Any:
        """Run the hooks and ``forward``."""
        here = hooks.state.__dict__
        if here["tracing"]:
            if why := reason_of(self):
                raise refuse(f"{why}.", kind=RunsInPython)
            meet(self)
        if self._forward_pre_hooks:
            for hook in tuple(self._forward_pre_hooks.values()):
                hook(self, args)
        outer, caller = here["layer"], here["caller"]
        here["layer"] = self._name
        if hooks.sink is not None:
            # Operators inside a layer of the library are reported at the user's line that called the layer.
            here["caller"] = (caller or hooks.caller()) if self._of_library else None
        try:
            out = self._run(*args) if self._monitor is None else self._monitor.watch(self._name, self.forward, args)
        finally:
            here["layer"], here["caller"] = outer, caller
        if self._forward_hooks:
            for hook in tuple(self._forward_hooks.values()):
                hook(self, args, out)
        return out

    def _run(self, *args: object) -> object:
        return self.forward(*args)

    def forward(self, *args: Any) -> Any:
        """Compute the output; to be overridden."""
        raise UnsupportedError(f"{type(self).__name__} has no forward().", hint="override forward(self, x).")


def _holds_others(value: object, registered: set[int]) -> bool:
    """Whether a container holds blocks that are not children."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (list, tuple)):
        return any(_holds_others(item, registered) for item in value)
    return isinstance(value, Block) and id(value) not in registered


def _indent(text: str) -> str:
    first, *others = text.split("\n")
    return "\n".join([first, *("  " + line for line in others)])


_OPTIONS = ("active", "backend", "clear", "static_alloc", "static_shape", "inline_limit", "forward_bulk_size",
            "backward_bulk_size")


class HybridBlock(Block):
    """A block whose ``hybrid_forward(F, x, **parameters)`` is written once for every interpreter.

    ``F`` is ``mx.nd`` for arrays and ``mx.sym`` for symbols.  The block's parameters are passed as keyword arguments, under
    the names of the attributes that hold them.  ``hybridize()`` makes programs of ``hybrid_forward``.  A HybridBlock that
    overrides ``forward`` instead runs in Python at every call, as a Block does.
    """

    # Not in __dict__, which programs keep for its mark: a block would be part of a cycle.
    __slots__ = ("_programs",)
    _programs: Programs | None

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._programs = None

    def __getstate__(self) -> dict[str, Any]:  # Any: as in Block
        # Any copy is traced by itself: it may be changed.
        return {**super().__getstate__(), "_programs": None if self._programs is None else Programs()}

    def __setstate__(self, state: dict[str, Any]) -> None:  # Any: as in Block
        self._programs = state["_programs"]
        super().__setstate__({name: value for name, value in state.items() if name != "_programs"})

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Add a child, which must be a HybridBlock too."""
        if not isinstance(block, HybridBlock):
            raise DTypeError(f"Children of HybridBlock must also be HybridBlock, but {name or len(self._children)} has type "
                             f"{type(block).__name__}.", hint="derive it from HybridBlock, use HybridSequential in place of "
                             "Sequential, or derive this one from Block.")
        super().register_child(block, name)

    def register_op_hook(self, callback: Callable[..., Any] | None, monitor_all: bool = False) -> None:
        """Show a function every array that the operators of this block and those below compute.

        Parameters
        ----------
        callback : function or None
            ``callback(node_name, operator_name, array)``, with names such as ``dense0_fwd_output``; None takes it away.
        monitor_all : bool
            Show the operators' inputs too.
        """
        self._monitor = None if callback is None else OperatorMonitor(callback, monitor_all)
        super().register_op_hook(callback, monitor_all)

    def hybridize(self, active: bool = True, backend: str | None = None, clear: bool = True, static_alloc: bool = False,
                  static_shape: bool = False, inline_limit: int = 2, forward_bulk_size: int | None = None,
                  backward_bulk_size: int | None = None, **kwargs: object) -> None:
        """Run as a program from now on: the first call traces it, later calls reuse its kernels and memory.

        A program is made for each combination of input shapes, element types, storage types, other arguments, training mode
        and recording mode.  Results, gradients and profiler events are those of the block without ``hybridize``.  Side
        effects of ``hybrid_forward`` (printing, counting, setting attributes) happen only when a program is traced.  The
        arrays of a trace have shapes but no values, and print as ``<NDArray 2x3 @trace(0)>``.

        What overrides ``forward`` is not traced.  It runs in Python at every call, and so do the blocks that it is in, while
        their other hybridized children are programs.  The same holds for a block below this one that overrides ``__call__``,
        calls the function of a ``Lambda``, or has hooks or a monitor, and for custom operators and ``autograd.Function``.
        ``gluon.hybrid.explain`` names the block.

        The block is traced again when an attribute of it, of a block below or of another block that it called is set or deleted,
        when a child, a parameter or a hook is added, replaced or removed, and after ``cast``, ``initialize``, ``grad_req`` and
        ``load_parameters``.  Values of parameters and of arrays that are attributes are inputs of the program, so that
        ``set_data`` and what an optimizer does take effect at once.

        As in MXNet, everything else that ``hybrid_forward`` reads while it is traced is a constant of the program: the items of
        lists, dicts and numpy arrays, also of those that are attributes; global and enclosing variables; attributes of classes,
        modules and objects that are not blocks; numbers drawn by ``random`` or ``numpy.random``; ``os.environ``, files and the
        clock.  A block that is not a child must be called as ``block(x)``: ``block.forward(x)`` is traced, even if it overrides
        ``forward``.  To change a constant, set an attribute of the block (``net.scales = [2, 3]``, not
        ``net.scales[0] = 2``), pass it as an argument, or call ``hybridize()`` again.  ``TrainStep.verify`` finds such constants.

        Some blocks cannot be traced: those whose ``hybrid_forward`` reads values (``float(x)``, ``if x.sum() > 0``,
        ``asnumpy``), writes to an array from outside (``self.steps[:] += 1``, ``set_data``), or calls an operator whose result
        has a shape that depends on values.  Such a block runs operator by operator, with one ``HybridizeWarning``, and the hybrid
        blocks inside it run as programs of their own.  ``F.contrib.while_loop`` and ``cond`` do the same without a warning.

        Parameters
        ----------
        active : bool
            False makes the block run operator by operator again.
        clear : bool
            Discard the existing programs.
        static_alloc, static_shape, inline_limit, forward_bulk_size, backward_bulk_size
            MXNet's options.  They have no effect, because a program always reuses its memory and knows its shapes.

        Raises
        ------
        UnsupportedError
            If ``backend`` is given: no backend is supported.
        UnknownNameError
            If an option is none of MXNet's.
        """
        if backend is not None:
            raise UnsupportedError(f"There is no backend {backend!r} to hybridize for.", hint="leave backend out.")
        if kwargs:
            raise UnknownNameError.of("option of hybridize", next(iter(kwargs)), _OPTIONS)
        if clear or not active or self._programs is None:
            self._programs = Programs() if active else None
        super().hybridize(active, clear=clear)

    def _clear_cached_op(self) -> None:
        """Discard the programs of this block, which programs for MXNet do after they changed what it computes."""
        if self._programs is not None:
            self._programs = Programs()

    def _run(self, *args: object) -> object:
        forward = self.forward
        if self._programs is None or self._monitor is not None or hooks.state.tracing:
            return forward(*args)
        if getattr(forward, "__func__", None) is HybridBlock.forward or is_ours(forward):  # of the class and of this block
            return self._programs.run(self, args)
        return forward(*args)

    def export(self, path: str | Path, epoch: int = 0, remove_amp_cast: bool = True) -> tuple[str, str]:
        """Write the network as a symbol, ``path-symbol.json``, and its parameters, ``path-0000.params``.

        ``gluon.SymbolBlock.imports``, ``Module`` and MXNet 1.9.1 read these files.  A single input is called ``data``; several
        inputs are called ``data0``, ``data1`` and so on.

        Parameters
        ----------
        path : str or path
            Start of both file names.
        epoch : int
            Number in the second file name, with four digits.
        remove_amp_cast : bool
            Leave out the casts of automatic mixed precision.

        Returns
        -------
        tuple of str
            Names of the two files.

        Raises
        ------
        InitializationError
            If a parameter has no values yet.
        """
        return symbolic.export(self, path, epoch, remove_amp_cast)

    def graph(self, *args: object) -> Any:  # Any: a figure, which is above this
        """A picture of the network: storage type, shape and bytes of every array, and every conversion to dense.

        Nothing runs, and parameters need neither values nor known shapes.

        Parameters
        ----------
        *args : NDArray, tuple of int, str, dtype, or a tuple of several
            An example, the shape, the storage type or the element type of each input, as for ``Symbol.graph``.  The graph
            shows no sizes for inputs that are left out.

        Returns
        -------
        figures.kit.Figure
        """
        return symbolic.graph(self, args)

    def infer_shape(self, *args: Any) -> None:
        """Complete the shapes of parameters from the inputs.

        The method runs ``hybrid_forward`` on symbols and infers their shapes.  A block must override this method and set
        ``parameter.shape`` if it does not run on symbols, or if its operators do not determine the shapes.

        Raises
        ------
        ShapeError
            If a shape remains unknown.
        """
        symbolic.infer_shapes(self, args)

    def forward(self, x: Any, *args: Any) -> Any:
        """Call ``hybrid_forward`` with the parameters, completing deferred shapes first; symbols give a symbol."""
        if type(x) is not NDArray and symbolic.holds_symbols((x, *args)):
            return symbolic.forward(self, x, *args)
        ctx = x._ctx if isinstance(x, NDArray) else self._place((x, *args))
        try:
            values = self._values(ctx)
        except DeferredInitializationError:
            with aside():
                self._complete(x, *args)
            values = self._values(ctx)
        return self.hybrid_forward(ndarray, x, *args, **values)

    def _complete(self, *args: object) -> None:
        """Initialize the parameters whose initialization waited for their shapes."""
        self.infer_shape(*args)
        for parameter in (*self._reg_params.values(), *self.params.values()):
            parameter._finish_deferred_init()

    def _values(self, ctx: Context) -> dict[str, Any]:
        """The parameters' arrays on a context; in a trace, their traced arrays."""
        tracer = current() if ctx.device_type == "trace" else None
        if tracer is None:
            return {name: parameter.data(ctx) for name, parameter in self._reg_params.items()}
        return {name: tracer.lift(parameter.data(tracer.ctx), parameter) for name, parameter in self._reg_params.items()}

    def _place(self, args: tuple[Any, ...]) -> Context:
        """The context of the first array among arguments that may be lists."""
        for array in leaves(args):
            if isinstance(array, NDArray):
                return array._ctx
        refuse_foreign(self._name, args)
        raise DTypeError(f"{self._name} takes NDArrays, not {type(args[0]).__name__}.", hint="make one with mx.nd.array(…).")

    def hybrid_forward(self, F: Functions, x: Any, *args: Any, **parameters: Any) -> Any:
        """Compute the output from operators of ``F``; to be overridden."""
        raise UnsupportedError(f"{type(self).__name__} has no hybrid_forward().", hint="override hybrid_forward(self, F, x, …).")
