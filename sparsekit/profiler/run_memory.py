"""The memory of a run: plain data, and its figure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from ..base import displays
from ..base.errors import ProfilerError, expected
from ..base.formatting import format_bytes, parse_bytes
from .arguments import number, text
from .what_if import what_if

if TYPE_CHECKING:
    from ..figures.kit import Figure
    from .profile import Profile
    from .types import Alive, Temporary
    from .what_if import WhatIf


class RunMemory(dict[str, Any]):  # Any: the values of ``types.Memory``
    """The memory of a run, as plain data; in a notebook it shows itself as its figure.

    Parameters
    ----------
    profile : Profile
        Of data that do not change any more.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile, self._data = profile, profile._data()
        super().__init__(self._data.memory)

    # What rows of the two lists hold is known to type checkers; tests/kernels/test_types.py asks for it.
    @overload
    def __getitem__(self, name: Literal["at_peak"]) -> list[Alive]: ...
    @overload
    def __getitem__(self, name: Literal["temporaries"]) -> list[Temporary]: ...
    @overload
    def __getitem__(self, name: str) -> Any: ...  # Any: a field of any type

    def __getitem__(self, name: str) -> object:  # object: the overloads say what
        return super().__getitem__(name)

    def figure(self, against: Mapping[str, RunMemory] | None = None, name: str = "this run", title: str = "",
               top: float = 0.0, budget: float | str = 0) -> Figure:
        """Memory over time, stacked by what it is, and the arrays that were alive at the peak.

        Parameters
        ----------
        against : mapping of str to memory, optional
            ``profile.memory`` of other runs by name.  The figure then compares the peaks, this one last if it is not among them.
        name : str
            What this run is called then.
        title : str, optional
        top : float
            Least number of bytes at the top of the picture, to give pictures of several runs one scale.
        budget : int or str
            Bytes that a run may hold, such as ``"250 MB"``: a line across the bars of the peaks.  Without ``against`` there is
            one bar, that of this run.

        Returns
        -------
        figures.kit.Figure
            The live view tells which operator made an array, and computes the memory with other types, gradients and batches.

        Raises
        ------
        ProfilerError
            If ``against`` is not a mapping of names to memory, ``title`` is not a text, or ``top`` or ``budget`` is not a number
            of bytes.
        """
        name, title = text("name", name), text("title", title)
        number("top", top, "a number of bytes", lambda top: 0 <= top < math.inf, "top=2e6, for example.")
        most = parse_bytes(budget)
        against = {} if against is None and most else against
        if against is not None:
            if not isinstance(against, Mapping) or not all(isinstance(other, RunMemory) for other in against.values()):
                raise ProfilerError(expected("against", "a mapping of names to the memory of profiles", against),
                                    hint='prof.memory.figure({"dense": dense.memory}), for example.')
            there = any(other._data is self._data for other in against.values())
            peaks: Figure = displays.call("peaks_figure", against if there else {**against, name: self}, title, most)
            return peaks
        data = self._data
        run = data.memories.index(data.memory)
        where = f"Where the memory of {data.parts[run].process.name} goes" if data.parts else ""
        shown: Figure = displays.call("memory_figure", data.columns, data.memory, run, title or where, top,
                                      self._asked if data.has_lives else None)
        return shown

    def _asked(self, changes: Mapping[str, Any]) -> WhatIf:  # Any: values of the inputs
        """The memory with some changes; ``batch`` is a factor of the batch that was recorded."""
        options = dict(changes)
        if "batch" in options:
            options["batch_size"] = max(1, int(self._data.lives.batch * options.pop("batch") + 0.5))
        return what_if(self._profile, **options)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # object: IPython's, not used
        return self.figure()._repr_mimebundle_()

    def __repr__(self) -> str:
        return f"<RunMemory: at most {format_bytes(self['peak_bytes'])}, {len(self['at_peak']):,} pieces then>"

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:  # Any: as of the class
        return dict, (dict(self),)
