"""The process that runs a PyTorch script from its beginning to some step, with edited texts, and what it sees there.

A step ends where an optimizer's step has ended, whoever calls it: the script, a trainer that it imports, or a library.
"""

from __future__ import annotations

import functools
import importlib.machinery
import io
import itertools
import linecache
import multiprocessing.spawn
import multiprocessing.util
import os
import random
import runpy
import sys
import time
import traceback
import types
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import SparsekitError
from ..base.optional import whole_import
from ..base.platform import before_leaving
from ..profiler.profiler import Profiler
from ..profiler.source_location import name_of_file
from ..profiler.torch_mode import torch_of, unseen
from . import runner
from .live import NOWHERE, LiveProgram, Made, calling, place_of
from .many_steps import ManySteps, number_of
from .observe import Run, Weight
from .remedies import Look, remedies
from .send import is_program
from .source import text_of_file
from .torch_programs import OwnUpdate, has_values, names_of_weights, size_of_state, to_numpy, unwrapped, weights_behind

if TYPE_CHECKING:
    from ..profiler.torch_types import Torch, TorchOptimizer, TorchReference, TorchTensor
    from .candidate import Candidate

#: The seed of a program that sets none.
SEED = 0


class Request(NamedTuple):
    """What is run.

    Attributes
    ----------
    script : str
        Path of the script.
    arguments : tuple of str
    texts : dict
        File -> its text in this run, if it is not that of the file.
    steps : int
        Steps that are profiled, after one that is not; without a profiler, all steps at most.
    input : bytes, optional
        What the script reads from its standard input.
    seconds : float, optional
        If given, steps are made without a profiler, for so long at most.
    """

    script: str
    arguments: tuple[str, ...]
    texts: dict[str, str]
    steps: int
    input: bytes | None = None
    seconds: float | None = None


class NoSteps(SparsekitError):
    """A script ended before it made two steps with an optimizer of PyTorch."""

    def __init__(self, said: str, status: int = 0) -> None:
        super().__init__(said, hint="give the script the arguments with which it trains; prof.try_fixes(step) takes any function "
                                    "without arguments that makes one step. Of a script that does not train, sparsekit profile "
                                    "tells what is dense.")
        self.said, self.status = said, status

    def __reduce__(self) -> tuple[type[NoSteps], tuple[str, int]]:
        return NoSteps, (self.said, self.status)


class NeedsInput(SparsekitError):
    """A script reads its standard input, which was not given."""

    def __init__(self) -> None:
        super().__init__("The script reads its input, which each run needs anew: write it to a file, and run "
                         "sparsekit fix train.py < answers.txt.", hint="or give the script arguments with which it asks nothing.")

    def __reduce__(self) -> tuple[type[NeedsInput], tuple[()]]:
        return NeedsInput, ()


class _NoInput(io.RawIOBase):
    """The standard input of a script that was given none."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:  # object: a buffer, which stays as it is
        runner.answer(NeedsInput())


def run_script(request: Request) -> Run | ManySteps:
    """Run a script as ``python SCRIPT`` does, and answer with the run of its steps; it ends the process."""
    watch, status = _watch_for(request), 0
    sys.argv, sys.path[0:0] = [request.script, *request.arguments], [os.path.dirname(request.script)]
    stream = io.BufferedReader(_NoInput()) if request.input is None else io.BytesIO(request.input)
    sys.stdin = io.TextIOWrapper(stream, encoding=sys.stdin.encoding)
    sys.modules["__main__"] = watch.module
    try:
        exec(watch.main.__code__, watch.main.__globals__)
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except Exception as error:
        watch.failed(error)
    watch.ended(status)
    os._exit(0)


class _Joined:
    """Begins to watch a process that the script has started; that happens while the process reads what it is to do."""

    def __init__(self, request: Request) -> None:
        self.request = request

    def __reduce__(self) -> tuple[Callable[..., None], tuple[Request, str | int]]:
        return _join, (self.request, runner.pipe())


def _join(request: Request, pipe: str | int) -> None:
    runner.answer_to(pipe)
    watch = _watch_for(request)
    imported = runpy.run_path  # by which multiprocessing imports the script

    # object: anything
    def edited(path: str, init_globals: dict[str, Any] | None = None, run_name: str | None = None) -> dict[str, Any]:
        if not os.path.samefile(path, request.script):
            return imported(path, init_globals, run_name or "<run_path>")
        module = sys.modules[run_name or "<run_path>"] = types.ModuleType(run_name or "<run_path>")
        vars(module).update(init_globals or {}, __file__=path)
        exec(watch.main.__code__, vars(module))
        return vars(module)
    runpy.run_path = edited  # type: ignore[assignment]  # it is called with these arguments
    multiprocessing.util.Finalize(None, watch.ended, (None,), exitpriority=1000)


class _Watch:
    """The hooks in a process, and what they saw."""

    def __init__(self, request: Request) -> None:
        self.request, self.torch = request, torch_of()
        self.process, self.rank = os.getpid(), 0  # the process that has made the latest step, and its rank
        self.profile: Profiler | None = None
        self.over = False  # what the profiler tries at its end is none of the program's
        self.where: dict[str, str] = {}  # what makes the step, and its line
        self.losses: list[list[Any]] = []  # Any: arrays of any type
        # By the order of the first steps: optimizers, steps that they made, bytes of their states, and the parameters.
        self.optimizers: list[TorchOptimizer | OwnUpdate] = []
        self.counts: list[int] = []
        self.sizes: list[list[tuple[int, int]]] = []
        # What stands for an optimizer where there is none, and the weights before the latest backward pass, with their values.
        self.own: OwnUpdate | None = None
        self.before: list[tuple[TorchReference, Any]] = []  # Any: values
        self.inside: set[int] = set()
        self.parameters: list[TorchTensor] = []
        self.start: dict[int, Any] = {}  # Any: values
        self.places: Made = {}
        self._install()
        self.module = types.ModuleType("__main__")
        self.main = self._main()

    # what is put into the process

    def _install(self) -> None:
        torch, optimizers = self.torch, whole_import("torch.optim.optimizer")
        apart = torch.compiler.disable  # a step that torch.compile makes one function of is interrupted for the hooks
        optimizers.register_optimizer_step_pre_hook(apart(self._before_step))
        optimizers.register_optimizer_step_post_hook(apart(self._after_step))
        for begin, roots in (("backward", "tensors"), ("grad", "outputs")):
            setattr(torch.autograd, begin, apart(self._noting(getattr(torch.autograd, begin), roots)))
        before_leaving(self._leaving)
        for layer in (torch.nn.Embedding, torch.nn.EmbeddingBag):
            layer.__init__ = _placed(layer.__init__, self.places)
        self._edit_imports()
        prepared = multiprocessing.spawn.get_preparation_data

        def joined(name: str) -> dict[str, object]:
            return {"sparsekit": _Joined(self.request), **prepared(name)}
        multiprocessing.spawn.get_preparation_data = joined
        _seed(torch)
        torch.set_num_threads(1)  # so that sums are added up in one order

    def _leaving(self, status: int) -> None:
        """Answer also where the script ends its process at once."""
        if not self.over:
            self.ended(status)

    def _noting(self, begin: Callable[..., Torch], roots: str) -> Callable[..., Torch]:
        """A function of PyTorch that begins a backward pass, from its argument ``roots``, and notes weights and losses before.

        ``torch.autograd.grad`` has other uses where an optimizer makes the steps.
        """
        is_backward = roots == "tensors"
        name = "backward()" if is_backward else "torch.autograd.grad()"

        def noted(*arguments: Torch, **named: Torch) -> Torch:
            self._begin_profile()
            if not self.over and (is_backward or not self._has_optimizer()):
                tensors = arguments[0] if arguments else named[roots]
                losses = [tensors] if isinstance(tensors, self.torch.Tensor) else list(tensors)
                if all(map(has_values, losses)):  # torch.compile traces backward passes of tensors that have none
                    self._look_for_update(losses)
                    wrapped = any(loss is not unwrapped(loss) for loss in losses)
                    self._note_losses(losses, "torch.func.grad()" if wrapped else name)
            return begin(*arguments, **named)
        return noted

    def _edit_imports(self) -> None:
        loader, texts = importlib.machinery.SourceFileLoader, self.request.texts
        get_code = loader.get_code

        def edited(own_loader: importlib.machinery.SourceFileLoader, fullname: str) -> types.CodeType | None:
            path = os.path.abspath(own_loader.path)
            return compile(texts[path], path, "exec", dont_inherit=True) if path in texts else get_code(own_loader, fullname)
        loader.get_code = edited  # type: ignore[method-assign, assignment]  # of a file's own loader
        for path, text in texts.items():
            linecache.cache[path] = len(text), None, text.splitlines(keepends=True), path

    def _main(self) -> types.FunctionType:
        """The code of the script, as a function of the main module."""
        script = self.request.script
        text = self.request.texts.get(script)
        text = text_of_file(script) if text is None else text
        self.module.__file__ = script
        vars(self.module)["__builtins__"] = __builtins__
        return types.FunctionType(compile(text, script, "exec", dont_inherit=True), vars(self.module))

    # what is noted

    def _note_losses(self, losses: list[TorchTensor], begun: str) -> None:
        self.where.setdefault(begun, _line(calling()))
        with unseen(self.torch):
            self.losses.append([to_numpy(loss) for loss in losses])

    def _look_for_update(self, losses: list[TorchTensor]) -> None:
        """See whether the program itself has changed its weights since the pass before, where no optimizer has made a step."""
        if self._has_optimizer():
            return
        before = self.before
        with unseen(self.torch):
            leaves = weights_behind(losses)
            self.before = [(weakref.ref(leaf), to_numpy(leaf)) for leaf in leaves]
            kept = [reference for reference, _ in before]
            shapes = [values.shape for _, values in before]
            if all(reference() is None for reference in kept) and shapes == [leaf.shape for leaf in leaves]:
                kept = [reference for reference, _ in self.before]  # the program has made new ones
            weights = [reference() for reference in kept]
            changed = any(weight is not None and not np.array_equal(to_numpy(weight), values, equal_nan=True)
                          for weight, (_, values) in zip(weights, before, strict=True))
        if changed:
            if self.own is None:
                self.own, self.start = OwnUpdate([]), {number: values for number, (_, values) in enumerate(before)}
            self.own.weights = kept
            self._before_step(self.own, None, None)
            self._after_step(self.own, None, None)

    def _has_optimizer(self) -> bool:
        """Whether an optimizer of PyTorch has made a step."""
        return bool(self.optimizers) and self.optimizers[0] is not self.own

    def _before_step(self, optimizer: TorchOptimizer | OwnUpdate, args: Torch, kwargs: Torch) -> None:
        number = next((place for place, other in enumerate(self.optimizers) if other is optimizer), len(self.optimizers))
        if number in self.inside:
            return  # a class calls the step of its base
        if number == len(self.optimizers):
            self._meet(optimizer)
        if self._is_enough(number):
            self.ended(0)
        self.inside.add(number)

    def _is_enough(self, number: int) -> bool:
        return self.counts[number] > self.request.steps

    def _meet(self, optimizer: TorchOptimizer | OwnUpdate) -> None:
        self.optimizers.append(optimizer)
        self.counts.append(0)
        self.sizes.append([])
        if optimizer is self.own:
            self.where["the program's own update of its weights"] = ""
        else:
            self.where.setdefault(f"{type(optimizer).__name__}.step()", _line(calling()))
        for parameter in itertools.chain(*(group["params"] for group in optimizer.param_groups)):
            if not any(parameter is seen for seen in self.parameters):
                with unseen(self.torch):
                    self.start[len(self.parameters)] = to_numpy(parameter)
                self.parameters.append(parameter)

    def _after_step(self, optimizer: TorchOptimizer | OwnUpdate, args: Torch, kwargs: Torch) -> None:
        number = next(place for place, other in enumerate(self.optimizers) if other is optimizer)
        if number not in self.inside:
            return
        self.inside.remove(number)
        self.counts[number] += 1
        self.process, self.rank = os.getpid(), self._rank()
        self._step_ended(number)

    def _step_ended(self, number: int) -> None:
        with unseen(self.torch):
            self.sizes[number].append(size_of_state(self.torch, self.optimizers[number]))
        self._begin_profile()

    def _begin_profile(self) -> None:
        """Record from here on, if a step was made; not within a backward pass, at whose end the recording would be gone."""
        if (self.profile is None and any(self.counts) and self._rank() == 0
                and self.torch._C._current_graph_task_id() == -1):
            self.profile = Profiler(torch=True).start()

    def _rank(self) -> int:
        """The rank of this process, also when it has left its group."""
        distributed = self.torch.distributed
        if distributed.is_available() and distributed.is_initialized():
            self.rank = int(distributed.get_rank())
        return self.rank

    # the answer

    def failed(self, error: Exception) -> None:
        """The script has raised an error."""
        if self.optimizers or self.request.texts:  # those of a fix
            raise error
        frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if is_program(frame.f_globals)]
        where = f" in {name_of_file(frames[-1][0].f_code.co_filename)}:{frames[-1][1]}" if frames else ""
        said = f"The script raises {runner.words_of(error)}{where}, before an optimizer of PyTorch made a step."
        runner.answer(NoSteps(said, 1))

    def ended(self, status: int | None) -> None:
        """Answer with what was seen; ``status`` is that of the script if it has ended, and None for a process that it started."""
        if self.process != os.getpid():
            return  # it was forked by another one, and has made no step
        if self._rank() or (status is None and self.profile is None):
            while self._rank():
                time.sleep(1)  # until the process that answers ends this one
            return
        if self.profile is None or max(self.counts) < 2:
            said = ("The script made one step only, and two are compared at least." if any(self.counts) else
                    "No optimizer of PyTorch made a step." if not status else
                    f"The script ended with status {status} before an optimizer of PyTorch made a step.")
            runner.answer(NoSteps(said, status or 0))
        self.over = True
        try:
            self.profile.stop()
            runner.answer(self._run(self.profile))
        except Exception as error:
            runner.answer(runner.failure(error))

    def _weights(self) -> list[tuple[int, TorchTensor]]:
        """The weights that are compared, with their numbers."""
        if self.own is None or self._has_optimizer():
            return list(enumerate(self.parameters))
        weights = [reference() for reference in self.own.weights]
        return [(number, weight) for number, weight in enumerate(weights) if weight is not None]

    def _run(self, profile: Profiler) -> Run:
        program = LiveProgram(self.main, calling(), self.places)
        names = names_of_weights(program)
        weights = {}
        for number, parameter in self._weights():
            gradient = None if parameter.grad is None else to_numpy(parameter.grad)
            name = names.get(id(parameter)) or program.path_of(parameter) or f"parameter {number}"
            weights[number] = Weight(name, to_numpy(parameter), gradient)
        start = {number: Weight(weights[number].name, values) for number, values in self.start.items() if number in weights}
        result = Run(profile.tables, start, weights, self.losses)
        for number, (optimizer, sizes) in enumerate(zip(self.optimizers, self.sizes, strict=True)):
            path = program.path_of(optimizer) or str(number)
            result.states[f"{type(optimizer).__name__} ({path})"] = sizes
        result.step = " and ".join(f"{maker}{line and f' in {line}'}" for maker, line in self.where.items())
        look = Look(program, profile)
        result.candidates = [_sendable(candidate) for remedy in remedies if remedy.of_torch for candidate in remedy.find(look)]
        return result


class _LongWatch(_Watch):
    """The hooks of a run without a profiler, which keeps numbers of the losses alone."""

    def _install(self) -> None:
        super()._install()
        self.numbers: list[tuple[float, ...]] = []
        self.began = 0.0
        self.ending = ""

    def _note_losses(self, losses: list[TorchTensor], begun: str) -> None:
        with unseen(self.torch):
            self.numbers.append(tuple(number_of(to_numpy(loss)) for loss in losses))

    def _is_enough(self, number: int) -> bool:
        spent = time.monotonic() - self.began if self.began else 0.0
        return self.counts[number] >= self.request.steps or spent > (self.request.seconds or 0.0)

    def _step_ended(self, number: int) -> None:
        self.began = self.began or time.monotonic()

    def _begin_profile(self) -> None:
        """Record nothing."""

    def _answer(self) -> None:
        runner.answer(ManySteps(max(self.counts, default=0), self.numbers, self.ending))

    def failed(self, error: Exception) -> None:
        """Answer with the losses until then."""
        self.ending = str(runner.failure(error)).splitlines()[0]
        self._answer()

    def ended(self, status: int | None) -> None:
        """Answer with the losses, if this process has made steps or ran the whole script."""
        if self.process != os.getpid():
            return  # it was forked by another one, and has made no step
        while self._rank():
            time.sleep(1)  # until the process that answers ends this one
        if status is not None or self.counts:
            self.ending = f"it ends with status {status}" if status else ""
            self._answer()


def _watch_for(request: Request) -> _Watch:
    return _Watch(request) if request.seconds is None else _LongWatch(request)


def _seed(torch: Torch) -> None:
    """Give every generator a seed, also those that the program makes or seeds without one."""
    counted = itertools.count(SEED)
    make, seed_python, seed_numpy = np.random.default_rng, random.seed, np.random.seed

    def default_rng(seed: object = None) -> np.random.Generator:  # object: whatever numpy takes
        return make(next(counted) if seed is None else seed)  # type: ignore[arg-type]  # which numpy checks
    np.random.default_rng = default_rng
    random.seed = lambda a=None, version=2: seed_python(SEED if a is None else a, version)
    np.random.seed = lambda seed=None: seed_numpy(SEED if seed is None else seed)
    torch.seed = torch.random.seed = lambda: int(torch.manual_seed(SEED).initial_seed())
    random.seed()
    np.random.seed()
    torch.seed()


def _sendable(candidate: Candidate) -> Candidate:
    """A candidate without the objects of this process: its edits are what is tried."""
    return replace(candidate, change=None, transposed=(), otherwise=tuple(map(_sendable, candidate.otherwise)))


def _placed(make: Callable[..., None], places: Made) -> Callable[..., None]:
    """The ``__init__`` of a layer that notes which call of the program makes it."""
    @functools.wraps(make)
    def noted(self: Torch, *args: Torch, **kwargs: Torch) -> None:
        make(self, *args, **kwargs)
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_name == "from_pretrained":
            frame = frame.f_back
        places[id(self)] = weakref.ref(self), place_of(frame) if frame is not None and is_program(frame.f_globals) else NOWHERE
    return noted


def _line(frame: types.FrameType | None) -> str:
    return "" if frame is None else f"{name_of_file(frame.f_code.co_filename)}:{frame.f_lineno}"
