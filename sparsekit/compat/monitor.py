"""``Monitor``, which records statistics of arrays during training: ``mx.mon``, ``mx.monitor``."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..base.checks import whole
from ..base.errors import DTypeError, ParameterError, expected
from ..ndarray import NDArray, norm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..symbol.executor import Executor

__all__ = ["Monitor"]


def root_mean_square(x: NDArray) -> NDArray:
    """The norm of an array divided by the square root of its size."""
    result: NDArray = norm(x) / math.sqrt(x.size)
    return result


class Monitor:
    """Record statistics of the outputs, gradients and parameters of a network at intervals of batches.

    Outputs have names such as ``fc1_output``.  Gradients are named after the operator that sends them to one of its inputs, such
    as ``fc1_backward_output1``, as in MXNet; a batch without a backward pass has none.  Parameters and data keep their names.

    Parameters
    ----------
    interval : int
        Number of batches from one record to the next.
    stat_func : callable, optional
        ``stat_func(array)`` returns an array or a list of arrays.  The default is the norm divided by the square root of
        the size.
    pattern : str
        Regular expression that must match the beginning of a name, such as ``".*weight"``.
    sort : bool
        Sort the statistics by name.  Default False.
    monitor_all : bool
        Record the inputs of operators, too.  Default False.

    Examples
    --------
    >>> mon = mx.mon.Monitor(100, pattern=".*weight|.*output", sort=True)
    >>> mod.fit(train_iter, monitor=mon, num_epoch=1)
    """

    def __init__(self, interval: int, stat_func: Callable[[Any], Any] | None = None, pattern: str = ".*", sort: bool = False,
                 monitor_all: bool = False) -> None:
        whole("interval", interval, 1, hint="pass 1 to record every batch.")
        try:
            self.re_prog = re.compile(pattern)
        except re.error as error:
            raise ParameterError(f"pattern must be a regular expression, got {pattern!r}: {error}.",
                                 hint="pass '.*' for all names.") from None
        self.interval, self.stat_func = interval, stat_func or root_mean_square
        self.sort, self.monitor_all = sort, monitor_all
        self.activated, self.step = False, 0
        self.queue: list[tuple[int, str, Any]] = []
        self.exes: list[Any] = []

    def __repr__(self) -> str:
        return f"Monitor({self.interval}, pattern={self.re_prog.pattern!r})"

    def install(self, exe: Executor) -> None:
        """Monitor an executor, in addition to those installed before."""
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.exes.append(exe)

    def stat_helper(self, name: str, array: NDArray) -> None:
        """Record the statistic of an array, if this batch is recorded and ``pattern`` matches the name."""
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def tic(self) -> None:
        """Start a batch; call before the forward pass."""
        if self.step % self.interval == 0:
            self.queue, self.activated = [], True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """Finish a batch.

        Returns
        -------
        list of (int, str, str)
            Number of the batch, name and statistic; empty if this batch is not recorded.
        """
        if not self.activated:
            return []
        for exe in self.exes:
            for name, array in (*exe.arg_dict.items(), *exe.aux_dict.items()):
                self.stat_helper(name, array)
        self.activated = False
        entries = sorted(self.queue, key=lambda entry: entry[1]) if self.sort else self.queue
        self.queue = []
        return [(step, name, _text(name, values)) for step, name, values in entries]

    def toc_print(self) -> None:
        """Finish a batch, and log the statistics."""
        for step, name, text in self.toc():
            logging.info("Batch: %7d %-30s %s", step, name, text)


def _text(name: str, values: NDArray | Sequence[NDArray]) -> str:
    listed: Sequence[Any] = values if isinstance(values, (list, tuple)) else [values]
    for value in listed:
        if not isinstance(value, NDArray):
            raise DTypeError(expected(f"The result of stat_func for {name}", "an NDArray or a list", type(value)),
                             hint="return, for example, x.norm().")
    return "".join(f"{(value.asscalar() if value.shape == (1,) else value.asnumpy())!s}\t" for value in listed)
