"""What a store of values by key can do, and how one is made."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, ClassVar

from ..base.errors import DTypeError, UnknownNameError, UnsupportedError
from ..base.forking import load

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["KVStoreBase", "create"]

#: Kinds that need several machines or several GPUs, by what their names begin with.
DISTRIBUTED = ("dist", "nccl", "horovod", "byteps", "p3")


class KVStoreBase:
    """Base of stores: override ``broadcast``, ``pushpull`` and ``is_capable``, and for an optimizer the others.

    A class under ``@KVStoreBase.register`` is made by ``create`` under its lower-case name, and can be
    given to a ``Trainer``.
    """

    #: The only capability.
    OPTIMIZER = "optimizer"
    kv_registry: ClassVar[dict[str, type[KVStoreBase]]] = {}
    #: Names that the class is registered under beside its own.
    names: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def register(klass: type[KVStoreBase]) -> type[KVStoreBase]:
        """Make a kind of store known under its lower-case name."""
        for name in klass.names or (klass.__name__.lower(),):
            known = KVStoreBase.kv_registry.get(name)
            if known is not None:
                warnings.warn(f"New kvstore {klass.__module__}.{klass.__name__} is overriding existing kvstore "
                              f"{known.__module__}.{known.__name__}.", stacklevel=2)
            KVStoreBase.kv_registry[name] = klass
        return klass

    def broadcast(self, key: object, value: object, out: object, priority: int = 0) -> None:
        """Keep a value, and write it to every array of ``out``."""
        raise self._lacks("broadcast")

    def pushpull(self, key: object, value: object, out: object = None, priority: int = 0) -> None:
        """Sum the values, and write the result to ``out``, or to where they came from."""
        raise self._lacks("pushpull")

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Whether the store has a capability; ``"optimizer"`` is the only one."""
        return False

    def set_optimizer(self, optimizer: object) -> None:
        """Let an optimizer change what is kept by what is pushed."""
        raise self._lacks("set_optimizer")

    def save_optimizer_states(self, fname: str | PathLike[str], dump_optimizer: bool = False) -> None:
        """Write the optimizer's states to a file."""
        raise self._lacks("save_optimizer_states")

    def load_optimizer_states(self, fname: str | PathLike[str]) -> None:
        """Read the optimizer's states from a file."""
        raise self._lacks("load_optimizer_states")

    def _lacks(self, name: str) -> UnsupportedError:
        return UnsupportedError(f"{type(self).__name__} has no {name}().", hint="override it.")

    @property
    def type(self) -> str:
        """The name that the store was made by."""
        return type(self).__name__.lower()

    @property
    def rank(self) -> int:
        """The number of this worker: 0, there is one."""
        return 0

    @property
    def num_workers(self) -> int:
        """How many workers share the store: 1."""
        return 1


def create(name: str = "local") -> KVStoreBase:
    """A store by the name of its kind.

    Parameters
    ----------
    name : {"local", "device"} or a registered name
        ``"local"`` sums on the CPU, ``"device"`` where the values lie.

    Raises
    ------
    UnsupportedError
        If the kind needs several machines, as ``"dist_sync"`` does.
    UnknownNameError
        If there is no such kind.

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
        raise DTypeError(f"name must be a string, not a {type(name).__name__}.", hint="give 'local' or 'device'.")
    lower = name.lower()
    found = KVStoreBase.kv_registry.get(lower)
    if found is not None:
        return found(lower) if found.names else found()  # type: ignore[call-arg]
    if lower == "teststore":
        return load("sparsekit.compat.teststore").TestStore()
    if lower.startswith(DISTRIBUTED):
        raise UnsupportedError(f"A kvstore of kind {name!r} needs several machines or GPUs that talk to each other; here all "
                               "contexts are of one machine.", hint="use 'device' or 'local'.")
    raise UnknownNameError.of("kvstore", name, KVStoreBase.kv_registry)
