"""The base class of key-value stores, and ``create``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, overload

from ..base.entry import entry
from ..base.errors import DTypeError, UnknownNameError, UnsupportedError
from ..base.lazy import add_lazy_names, old
from ..base.warn import warn_user

if TYPE_CHECKING:
    from os import PathLike

    from .dist import DistKVStore
    from .kvstore import KVStore

__all__ = ["KVStoreBase", "create"]

add_lazy_names(globals())

_Store = TypeVar("_Store", bound="KVStoreBase")

#: Prefixes of the names of MXNet's stores that there are none of here.
ABSENT = ("nccl", "horovod", "byteps", "p3", "dist_p3")


class KVStoreBase:
    """Base of key-value stores.

    A subclass overrides ``broadcast``, ``pushpull`` and ``is_capable``; a store that applies an optimizer also overrides the
    other methods.  ``@KVStoreBase.register`` registers a class under its name in lower case, and ``create`` makes a store of
    that name.  A ``Trainer`` accepts such stores as ``kvstore``.
    """

    #: The only capability.
    OPTIMIZER = "optimizer"
    kv_registry: ClassVar[dict[str, type[KVStoreBase]]] = {}
    #: Names under which the class is registered; if empty, its own name in lower case.
    names: ClassVar[tuple[str, ...]] = ()
    _type = ""

    @staticmethod
    def register(klass: type[_Store]) -> type[_Store]:
        """Register a class of stores under its name in lower case; for use as a decorator."""
        for name in klass.names or (klass.__name__.lower(),):
            earlier = KVStoreBase.kv_registry.get(name)
            if earlier is not None:
                warn_user(f"New kvstore {klass.__module__}.{klass.__name__} is overriding existing kvstore "
                              f"{earlier.__module__}.{earlier.__name__}.")
            KVStoreBase.kv_registry[name] = klass
        return klass

    def broadcast(self, key: object, value: object, out: object, priority: int = 0) -> None:
        """Store a value under a new key, and write it to every array of ``out``."""
        raise self._undefined("broadcast")

    def pushpull(self, key: object, value: object, out: object = None, priority: int = 0) -> None:
        """Sum the arrays of ``value``, and write the sum to ``out``, by default to the arrays of ``value``."""
        raise self._undefined("pushpull")

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Whether the store has a capability; ``"optimizer"`` is the only one."""
        return False

    def set_optimizer(self, optimizer: object) -> None:
        """Set the optimizer that updates the values by the gradients that are pushed."""
        raise self._undefined("set_optimizer")

    def save_optimizer_states(self, fname: str | PathLike[str], dump_optimizer: bool = False) -> None:
        """Write the optimizer's states to a file."""
        raise self._undefined("save_optimizer_states")

    def load_optimizer_states(self, fname: str | PathLike[str]) -> None:
        """Read the optimizer's states from a file."""
        raise self._undefined("load_optimizer_states")

    def set_gradient_compression(self, compression_params: dict[str, Any]) -> None:
        """Not supported: the contexts of one machine share its memory.

        Raises
        ------
        UnsupportedError
            Always.
        """
        raise UnsupportedError("Gradient compression is not supported: contexts of one machine share its memory.",
                               hint="leave compression_params out.")

    def _undefined(self, name: str) -> UnsupportedError:
        return UnsupportedError(f"{type(self).__name__} does not define {name}().", hint="override it.")

    @property
    def type(self) -> str:
        """The name by which the store was created; the name of the class in lower case, of a class without ``names``."""
        return self._type or type(self).__name__.lower()

    @property
    def rank(self) -> int:
        """The number of this worker; always 0."""
        return 0

    @property
    def num_workers(self) -> int:
        """The number of workers; always 1."""
        return 1


@overload
def create(name: Literal["local", "device"] = ...) -> KVStore: ...
@overload
def create(name: Literal["dist_sync", "dist_async",  # type: ignore[overload-overlap]  # the last one takes any text
                         "dist_device_sync"]) -> DistKVStore: ...
@overload
def create(name: str) -> KVStore: ...  # or a class of the user's, whose methods have these names
def create(name: str = "local") -> object:
    """Make a key-value store by name.

    Parameters
    ----------
    name : {"local", "device", "dist_sync", "dist_async", "dist_device_sync"} or a registered name
        ``"local"`` keeps and sums values on the CPU, ``"device"`` on the context of the first array.  The ``dist_`` names make
        a ``DistKVStore``, for programs that ``sparsekit launch`` or ``mx.dist.run`` starts.

    Raises
    ------
    DTypeError
        If ``name`` is not a string.
    NoClusterError
        If the name is a ``dist_`` name, and the program was not started as a worker.
    UnsupportedError
        If the name is a store of MXNet that needs unsupported software, such as ``"horovod"``.
    UnknownNameError
        If no store has this name.

    Examples
    --------
    >>> kv = mx.kv.create("local")
    >>> kv.init(3, mx.nd.zeros((2,)))
    >>> kv.push(3, [mx.nd.ones((2,), mx.cpu(0)), mx.nd.ones((2,), mx.cpu(1))])
    >>> out = mx.nd.zeros((2,))
    >>> kv.pull(3, out=out)
    >>> out.asnumpy()
    array([2., 2.], dtype=float32)
    """
    if not isinstance(name, str):
        raise DTypeError(f"name must be a string, not a {type(name).__name__}.", hint="pass 'local' or 'device'.")
    lower = name.lower()
    store_class = KVStoreBase.kv_registry.get(lower)
    if store_class is not None:
        return store_class(lower) if store_class.names else store_class()  # type: ignore[call-arg]
    if lower == "teststore":
        return old(__name__, "TestStore")()
    if lower.startswith(ABSENT):
        raise UnsupportedError(f"The kvstore {name!r} needs software for communicating GPUs, which is not supported.",
                               hint="use 'device' on one machine, and 'dist_sync' on several.")
    raise UnknownNameError.of("kvstore", name, KVStoreBase.kv_registry)


create = entry(create)
