"""Names of the modules and parameters of PyTorch programs, found when a module is called that none of ours contains."""

from __future__ import annotations

import functools
import gc
import inspect
import itertools
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from types import FrameType

    from .torch_types import Torch, TorchModule, TorchReference, TorchTensor

#: Parts of an object among which a module is looked for, and names, keys and numbers that lead to it at most.
MOST_PARTS, MOST_STEPS = 100, 3

#: References to the variables of a frame that the frame, a variable and a call have.
HELD_BY_FRAME = 3


class Names:
    """Names of modules and parameters, as ``named_modules`` and ``named_parameters`` of the outermost modules give them.

    Where a name is taken by another module's part, the variable that holds the outermost module stands in front, as the program
    writes it: ``item_tower.embedding.weight``; its class does if no variable holds it, and where that module has no others in
    it: ``Embedding.weight``.

    Attributes
    ----------
    parameters : dict
        By the address of a parameter: a weak reference to it, its name, and the class of the module that has it.
    modules : dict
        By the name of a parameter: a weak reference to the module that has it.
    """

    def __init__(self) -> None:
        self.parameters: dict[int, tuple[TorchReference, str, str]] = {}
        self.modules: dict[str, TorchReference] = {}
        self._modules: dict[int, tuple[TorchReference, str]] = {}
        self._taken: dict[str, TorchReference] = {}
        self._roots: dict[int, TorchReference] = {}
        self._found: dict[int, tuple[TorchReference, TorchReference]] = {}  # of modules: each and its outermost one
        self._asked = 0

    def of_module(self, module: TorchModule, alone: bool) -> str:
        """The name of a module; ``alone`` says that no other module's call surrounds this one."""
        known = self._modules.get(id(module))
        if known is not None and known[0]() is module:
            return known[1]
        if not alone:
            return type(module).__name__
        self._learn(self._outermost_of(module))
        return self._modules[id(module)][1]

    def learn_owners(self, parameters: Iterable[TorchTensor], kind: type) -> None:
        """Name parameters that no call of a module has named: a method other than ``__call__`` may have used them."""
        unknown = {id(parameter) for parameter in parameters if not self.knows(parameter)}
        if not unknown:
            return
        self._search(kind)
        for reference in {id(outer): outer for _, outer in self._found.values()}.values():
            root = reference()
            if root is not None and any(id(parameter) in unknown for parameter in root.parameters()):
                self._learn(root)

    def is_root(self, module: TorchModule) -> bool:
        """Whether a module was called with no other around it."""
        known = self._roots.get(id(module))
        return known is not None and known() is module

    def knows(self, parameter: TorchTensor) -> bool:
        """Whether a parameter has a name."""
        known = self.parameters.get(id(parameter))
        return known is not None and known[0]() is parameter

    def parameter(self, parameter: TorchTensor, otherwise: str) -> str:
        """The name of a parameter; one of no module gets the name ``otherwise``."""
        if not self.knows(parameter):
            self._note_parameter(parameter, self._free(otherwise, parameter), "")
        return self.parameters[id(parameter)][1]

    def kind(self, parameter: TorchTensor) -> str:
        """The class of the module that has a parameter, or an empty text."""
        return self.parameters[id(parameter)][2] if self.knows(parameter) else ""

    def alive(self) -> Iterator[tuple[TorchTensor, str, str]]:
        """Each parameter that lives, its name and the class of its module."""
        for key, (reference, name, kind) in list(self.parameters.items()):
            parameter = reference()
            if parameter is None:
                del self.parameters[key]
            else:
                yield parameter, name, kind

    def _outermost_of(self, module: TorchModule) -> TorchModule:
        """The outermost module that contains another, which may be that itself.

        A module without parameters is not searched for, as many programs make their loss anew in each step.
        """
        outer = self._outer(module)
        if outer is None and (not self._found or next(module.parameters(), None) is not None):
            self._search(type(module))
            outer = self._outer(module)
        return module if outer is None else outer

    def _outer(self, module: TorchModule) -> TorchModule | None:
        """The outermost module that contains another, as the last search has found it."""
        known = self._found.get(id(module))
        return known[1]() if known is not None and known[0]() is module else None

    def _search(self, kind: type) -> None:
        """Find all modules, the first, second, fourth, eighth … time that this is asked for: it takes tens of milliseconds."""
        self._asked += 1
        if self._asked & (self._asked - 1):
            return
        self._found = {}
        for root in _outermost(kind):
            outer = weakref.ref(root)
            for module in root.modules():
                self._found.setdefault(id(module), (weakref.ref(module), outer))

    def _learn(self, root: TorchModule) -> None:
        """Name a module, what it contains, and all their parameters and buffers."""
        own = self._free(type(root).__name__, root)

        @functools.cache
        def front() -> str:
            written = written_as(root)
            return self._free(written, root) if written and self._is_free(written, root) else own
        own = own if own == type(root).__name__ else front()
        self._roots[id(root)] = weakref.ref(root)
        for path, module in root.named_modules():
            name = self._free(path, module, front) if path else own
            self._modules[id(module)] = weakref.ref(module), name
            for part in (module._parameters, module._buffers):
                for label, tensor in part.items():
                    held = None if tensor is None else self.parameters.get(id(tensor))
                    if tensor is None or (held is not None and held[0]() is tensor and held[2]):
                        continue  # of the names of a parameter that modules share, the first is kept
                    full = f"{path}.{label}" if path else f"{own}.{label}" if not root._modules else label
                    name = self._free(full, tensor, front)
                    self._note_parameter(tensor, name, type(module).__name__)
                    self.modules[name] = weakref.ref(module)

    def _note_parameter(self, tensor: TorchTensor, name: str, kind: str) -> None:
        self.parameters[id(tensor)] = weakref.ref(tensor), name, kind

    def _free(self, name: str, subject: TorchModule | TorchTensor, root: Callable[[], str] | None = None) -> str:
        """A name that nothing else has: the name itself, with its root's name in front, or with a number."""
        number, tried = 1, name
        while not self._is_free(tried, subject):
            if root is not None:
                tried, root = f"{root()}.{name}", None
            else:
                number += 1
                tried = f"{name}{number}"
        self._taken[tried] = weakref.ref(subject)
        return tried

    def _is_free(self, name: str, subject: TorchModule | TorchTensor) -> bool:
        """Whether nothing but ``subject`` has a name."""
        taken = self._taken.get(name)
        holder = None if taken is None else taken()
        return holder is None or holder is subject


def _outermost(kind: type) -> list[TorchModule]:
    """The modules that there are and that no other one contains; ``kind`` is a class of modules."""
    module = "torch.nn.modules.module"
    # object: a class of PyTorch's
    base: type[object] = next(candidate for candidate in kind.__mro__
                              if candidate.__module__ == module and candidate.__name__ == "Module")
    kinds, fresh = {base}, [base]
    while fresh:
        for below in fresh.pop().__subclasses__():
            if below not in kinds:
                kinds.add(below)
                fresh.append(below)
    modules: list[TorchModule] = [candidate for candidate in gc.get_objects()
                                  if type(candidate) in kinds and "_modules" in candidate.__dict__]
    inner = {id(part) for candidate in modules for part in candidate.__dict__["_modules"].values()}
    return [candidate for candidate in modules if id(candidate) not in inner]


def leaves_behind(node: Torch) -> list[TorchTensor]:
    """The tensors that a backward pass from a node of the graph gives gradients, in the order in which they are reached."""
    leaves: dict[int, TorchTensor] = {}
    seen: set[Torch] = set()
    left = [node]
    while left:
        current = left.pop()
        if current not in seen:
            seen.add(current)
            leaf = getattr(current, "variable", None)  # of the nodes that add to a gradient
            if leaf is not None:
                leaves[id(leaf)] = leaf
            left += [following for following, _ in current.next_functions if following is not None]
    return list(leaves.values())


def variable_of(tensor: TorchTensor) -> str:
    """The variable that holds a tensor in the program that runs now; empty if none does."""
    return next((name for variables in _variables() for name, value in variables.items() if value is tensor), "")


def written_as(module: TorchModule) -> str:
    """How the program that runs now writes a module, as ``path_among`` says it."""
    return next(filter(None, (path_among(variables, module) for variables in _variables())), "")


def path_among(variables: Mapping[str, object], module: TorchModule) -> str:  # object: whatever they hold
    """How a program writes a module: ``model``, ``trainer.model``, ``self.towers[0]``; empty if no variable leads to it.

    A module is not called ``self``, as each of its methods calls it.
    """
    ways = [(name, held) for name, held in variables.items() if held is not module or name != "self"]
    for _ in range(MOST_STEPS):
        found = next((way for way, held in ways if held is module), "")
        if found:
            return found
        ways = [(f"{way}{step}", inner) for way, held in ways for step, inner in _parts(held)]
    return ""


def _parts(holder: object) -> Iterator[tuple[str, object]]:  # object: whatever it holds
    """What an object of the program holds, and how that is written after the object."""
    if type(holder) in (list, tuple, dict):
        held = cast("dict[object, object] | list[object]", holder)  # object: keys and items of any type
        items: Iterable[tuple[object, object]] = held.items() if isinstance(held, dict) else enumerate(held)
        yield from ((f"[{key!r}]", inner) for key, inner in [*itertools.islice(items, MOST_PARTS)] if type(key) in (int, str))
    elif not issubclass(type(holder), (type, ModuleType)):
        with suppress(Exception):  # a proxy runs code of the program
            yield from ((f".{name}", inner) for name, inner in list(getattr(holder, "__dict__", {}).items())[:MOST_PARTS])


def _variables() -> Iterator[dict[str, object]]:  # object: whatever they hold
    """The variables of the functions of the program that run now, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] not in ("torch", "sparsekit"):
            yield _locals_of(frame)
        frame = frame.f_back


def _locals_of(frame: FrameType) -> dict[str, object]:  # object: whatever they hold
    """The variables of a frame.

    Before Python 3.13 the frame of a function keeps the dict that ``f_locals`` gives, and so the tensors of that moment, until it
    is asked again.  They are taken out, unless the program has this dict from ``locals()``.
    """
    held = frame.f_locals
    variables = dict(held)
    if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.getrefcount(held) <= HELD_BY_FRAME:
        held.clear()
    return variables
