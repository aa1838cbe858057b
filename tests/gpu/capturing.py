"""What cupy's stand-in does while a stream is captured: work is written down, not done, and done by each launch.

As on a GPU, results hold nothing before the graph was launched; whoever reads them is refused, and so are waiting, sizes
that depend on values, cuBLAS, memory that is not the graph's own, and the null stream.
"""

from __future__ import annotations

import numpy as np

#: What the device was asked to do since the list was cleared: kernels, copies, graphs that are launched.
calls = []

#: Functions of cupy that take several such calls, as its sources have them: a sort copies, numbers and sorts; a choice of what
#: is not zero marks, scans, reads back and gathers.
SEVERAL = {"argsort": 3, "sort": 2, "msort": 2, "lexsort": 3, "unique": 7, "flatnonzero": 4, "nonzero": 4, "argwhere": 5,
           "mask": 4, "cumsum": 2, "cumprod": 2, "compress": 4, "mean": 2, "var": 4, "std": 5, "append": 2}

#: Functions that start nothing.
NOTHING = {"empty", "empty_like"}


def called(name):
    """Note what the device is asked to do; work that is being captured is done by the launch."""
    if Capture.current is None and name not in NOTHING:
        calls.extend([name] * SEVERAL.get(name, 1))


class CUDARuntimeError(RuntimeError):
    """CUDA's error."""


class Capture:
    """What one stream has been given since its capture began."""

    current = None

    def __init__(self):
        self.work, self.invalid = [], False


def refuse_waiting(what="synchronous API calls"):
    """Raise if a capture is on: the device has done nothing that could be waited for."""
    if Capture.current is not None:
        Capture.current.invalid = True
        raise RuntimeError(f"the current stream is capturing, so {what} are not allowed")


def refuse_library(name):
    """Raise if a capture is on: cupy has not prepared that library for it."""
    if Capture.current is not None:
        raise NotImplementedError(f"calling {name} API during stream capture is currently unsupported")


def done(work, name="write"):
    """Do work that writes to arrays that exist, now or at each launch."""
    called(name)
    if Capture.current is None:
        work()
    else:
        Capture.current.work.append(work)


def made(work, given, name="operator"):
    """Results of ``work()``; under capture they are rubbish of the right shape, which each launch replaces.

    ``given`` are numpy's arrays that the work reads: a result that shares their memory is a view, which starts nothing.
    """
    results = work()
    if Capture.current is None:
        if _starts(results, given):
            called(name)
        return results
    listed = list(results) if isinstance(results, (list, tuple)) else [results]
    fresh = []
    for place, part in enumerate(listed):
        if isinstance(part, np.generic):
            part = listed[place] = np.asarray(part)
        if isinstance(part, np.ndarray) and not any(np.may_share_memory(part, array) for array in given):
            if not part.flags.writeable or 0 in part.strides:
                part = listed[place] = part.copy()
            fresh.append((place, part))
    if fresh:
        def again():
            found = work()
            found = found if isinstance(found, (list, tuple)) else [found]
            for place, part in fresh:
                part[...] = found[place]

        for _, part in fresh:
            if part.dtype.kind == "f":
                part[...] = np.nan
        Capture.current.work.append(again)
    return type(results)(listed) if type(results) in (list, tuple) else tuple(listed) if isinstance(results, tuple) else listed[0]


def _starts(results, given):
    """Whether any of the results is new memory, not a view."""
    listed = results if isinstance(results, (list, tuple)) else [results]
    return any(isinstance(part, (np.ndarray, np.generic)) and not any(np.may_share_memory(part, array) for array in given)
               for part in listed)


class Graph:
    """Work that was captured on one device; ``launches`` counts those of all graphs."""

    launches = 0

    def __init__(self, work, current_device):
        self._work, self._current_device, self._device = work, current_device, current_device()

    def launch(self, stream=None):
        refuse_waiting("launches of other graphs")
        if self._current_device() != self._device:
            raise CUDARuntimeError("cudaErrorInvalidDevice: the graph was captured on another device")
        Graph.launches += 1
        called("graph")
        for work in self._work:
            work()
