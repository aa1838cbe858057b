"""Contracts: counts and bytes that a profile must keep to, never milliseconds.

What they assert is the same on every machine, so notebooks and tests can rely on them::

    expect(prof).no_densify().peak_below("2 MB").calls("dot", 3).grad_rows("dense0.weight", at_most=120)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import ParamSpec, Self, TypeVar

from ..base.errors import ContractError, ProfilerError, expected
from ..base.formatting import counted, format_bytes, parse_bytes
from ..base.scoped import Scoped
from .arguments import checked
from .profile import Profile
from .profiler import Profiler
from .torch_operators import is_torch

P = ParamSpec("P")
T = TypeVar("T")


def expect(profile: Profile | None = None) -> Expectation:
    """Start a chain of contracts on a profile, or on a block that has not run yet.

    Parameters
    ----------
    profile : Profile or Profiler, optional
        Without a profile, the contracts apply to a ``with`` block or to a decorated function, such as a test.  The code is
        profiled, and the contracts are checked when it ends, unless it raises an exception.

    Returns
    -------
    Expectation

    Raises
    ------
    ProfilerError
        If ``profile`` is not a profile, is still being recorded, or has not been started.

    Examples
    --------
    >>> import sparsekit as mx
    >>> with mx.Profiler() as prof:
    ...     _ = mx.nd.ones((2, 3)) + 1
    >>> mx.expect(prof).no_densify().peak_below("1 MB")
    2 contracts hold: no_densify(), peak_below('1 MB')
    >>> with mx.expect().calls("ones_like", at_most=0) as expected:
    ...     _ = mx.nd.ones((2, 3)) + 1
    ...     expected = expected.no_densify()
    >>> expected
    2 contracts hold: calls('ones_like', at_most=0), no_densify()
    """
    if profile is None:
        return Promise()
    if not isinstance(profile, Profile):
        raise ProfilerError(expected("The argument of expect()", "a profile", type(profile)),
                            hint="with sparsekit.Profiler() as prof: ...; then expect(prof).")
    if isinstance(profile, Profiler) and profile.state in ("running", "paused"):
        raise ProfilerError("The profile is still being recorded.", hint="call expect(prof) after the `with` block.")
    if isinstance(profile, Profiler) and profile.state == "new":
        raise ProfilerError("The profiler has recorded nothing yet.",
                            hint="with sparsekit.Profiler() as prof: ...; then expect(prof).")
    return Expectation(profile)


class Expectation:
    """A chain of contracts; each method checks one contract, and returns the chain.

    Every method raises ``ContractError`` if the contract is broken, and the message says what was found.  It also raises
    ``ContractError`` if the profile lacks the data: older calls may be in the totals only, and traces of other profilers do
    not have everything.  ``ProfilerError`` or ``UnknownNameError`` means that an argument is invalid, or that the contract
    would always hold.
    """

    #: Whether there is a profile to check; until then, contracts are promised.
    _done = True

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._held: list[str] = []
        self._promised: list[Callable[[], Expectation]] = []

    def __repr__(self) -> str:
        return f"{counted(len(self._held), 'contract', 'hold')}: {', '.join(self._held)}"

    def _check(self, contract: str, holds: bool, observed: str, hint: str = "") -> Expectation:
        if not holds:
            kept = f" ({counted(len(self._held), 'contract', 'hold')} before it.)" if self._held else ""
            raise ContractError(f"{contract} is broken: {observed}.{kept}", hint=hint)
        self._held.append(contract)
        return self

    @checked
    def no_densify(self, *, allow: str | Sequence[str] = ()) -> Expectation:
        """No sparse array implicitly became dense: by a fallback, or because a result is dense by nature.

        ``allow="dense by nature"`` or ``allow="fallback"`` permits that kind.  ``profile.ledger`` explains the two kinds.
        """
        return self._densified(_call("no_densify", allow=allow or None), 0, allow)

    @checked
    def densify_at_most(self, number: int, *, allow: str | Sequence[str] = ()) -> Expectation:
        """Sparse arrays implicitly became dense at most ``number`` times, not counting the kind that ``allow`` names."""
        return self._densified(_call("densify_at_most", number, allow=allow or None), number, allow)

    def _densified(self, contract: str, most: int, allow: str | Sequence[str]) -> Expectation:
        self._recorded("which arrays became dense")
        left_out = (allow,) if isinstance(allow, str) else tuple(allow)
        counts = self._profile._densified_by_kind
        count = sum(number for kind, number in counts.items() if kind not in left_out)
        ledger = [record for record in self._profile.ledger if record.kind not in left_out]
        which = "; ".join(
            f"{r.op} at {r.line or 'an unknown line'}: {r.source} {tuple(r.shape)} -> {r.target}, "
            f"{format_bytes(r.bytes_before)} -> {format_bytes(r.bytes_after)}, {r.kind}" for r in ledger[:3])
        others = f"; and {count - 3} more" if count > 3 else ""
        return self._check(contract, count <= most, f"{count} happened: {which}{others}",
                           ledger[0].remedy if ledger else "")

    @checked
    def peak_below(self, size: int | str) -> Expectation:
        """All arrays together never held ``size`` bytes or more; ``"2 MB"`` is 2,000,000."""
        memory = self._profile.memory
        if not memory["samples"]:
            self._recorded("what memory was held")
        largest = "; ".join(f"{row['role']} of {row['owner']} ({row['component']}), {format_bytes(row['bytes'])}"
                            for row in memory["at_peak"][:3])
        return self._check(f"peak_below({size!r})", memory["peak_bytes"] < parse_bytes(size),
                           f"the peak was {format_bytes(memory['peak_bytes'])}; largest then: {largest}")

    @checked
    def calls(self, op: str, number: int | None = None, *, lane: str | None = None, layer: str | None = None,
              at_most: int | None = None, at_least: int | None = None) -> Expectation:
        """``op`` ran exactly ``number`` times, or within bounds, counting one lane or layer if given.

        If an operator with an ``at_most`` bound never ran, the printed chain has the note "(it never ran)", because the name
        may be misspelt.
        """
        rows = [row for row in self._profile.table(group_by="op+layer").rows if row["lane"] != "profiler"]
        count = sum(row["calls"] for row in rows if row["name"] == op and lane in (None, row["lane"])
                    and layer in (None, row["layer"]))
        holds = ((number is None or count == number) and (at_most is None or count <= at_most)
                 and (at_least is None or count >= at_least))
        contract = _call("calls", op, number, lane=lane, layer=layer, at_most=at_most, at_least=at_least)
        contract += " (it never ran)" if holds and at_most and not count else ""
        ran = ", ".join(f"{row['name']} ({row['lane']}{', ' + row['layer'] if row['layer'] else ''}) {row['calls']}"
                        for row in sorted(rows, key=lambda row: (row["name"] != op, row["lane"], row["name"]))[:8])
        return self._check(contract, holds, f"it ran {counted(count, 'time')}; what ran: {ran or 'nothing'}")

    @checked
    def storage(self, op: str, types: str, *, lane: str | None = None) -> Expectation:
        """Every call of ``op`` had these storage types, such as ``"csr, default -> default"``."""
        self._recorded("storage types")
        counts: dict[str, int] = {}
        for row in self._profile.table(group_by="storage").rows:
            if row["name"] == op and lane in (None, row["lane"]) and row["storage"]:
                counts[row["storage"]] = counts.get(row["storage"], 0) + row["calls"]
        seen = ", ".join(f"{name} ({counted(number, 'time')})" for name, number in sorted(counts.items()))
        return self._check(_call("storage", op, types, lane=lane), set(counts) == {_tidy(types)},
                           f"found {seen or f'no call of {op}'}")

    @checked
    def grad_rows(self, owner: str, at_most: int) -> Expectation:
        """No gradient of the parameter ``owner`` stored more than ``at_most`` rows.

        A gradient of PyTorch that is not coalesced may store a row several times, and each counts.
        """
        rows = self._gradient_rows(owner)
        contract = f"grad_rows({owner!r}, at_most={at_most})"
        if rows is None:
            torch = any(map(is_torch, self._profile.records))
            return self._check(contract, False, f"no {'sparse' if torch else 'row_sparse'} gradient of {owner} was seen",
                               "make the layer with sparse=True; names are those of prof.table(of='gradients')." if torch else
                               "the parameter needs grad_stype='row_sparse'; names are those of "
                               "prof.memory['at_peak'] and of the layers.")
        return self._check(contract, rows <= at_most, f"one stored {counted(rows, 'row')}")

    @checked
    def update_rows(self, at_most: int, op: str | None = None) -> Expectation:
        """No update took a row_sparse gradient of more than ``at_most`` rows, and none a dense one or touched every row.

        The contract is also broken if there was no update, or none by the operator ``op`` if that is given.
        """
        seen = most = dense = 0
        self._whole()
        self._recorded("rows of gradients")
        for record in self._profile.records:
            if record["lane"] == "update" and op in (None, record["name"]) and len(record["inputs"]) > 1:
                gradient = record["inputs"][1]
                rows = None if record["attrs"].get("lazy_update") is False else gradient.get("rows")
                seen += 1
                dense += rows is None
                most = max(most, rows or 0)
        contract = _call("update_rows", at_most=at_most, op=op)
        if not seen:
            return self._check(contract, False, f"no update{f' by {op}' if op else ''} was seen",
                               "profile a whole step, trainer.step() included; names are those of prof.table().")
        return self._check(contract, not dense and most <= at_most,
                           f"{counted(dense, 'update')} took a dense gradient or updated every row, "
                           f"and the largest row_sparse one stored {counted(most, 'row')}")

    @checked
    def bytes_moved_below(self, size: int | str, *, op: str | None = None, lane: str | None = None) -> Expectation:
        """Operators read and wrote fewer than ``size`` bytes in all; ``op``, if given, must have run."""
        self._recorded("all bytes that were moved")
        rows = [row for row in self._profile.totals if op in (None, row["name"]) and lane in (None, row["lane"])]
        moved = sum(row["bytes"] for row in rows)
        most = sorted(rows, key=lambda row: -row["bytes"])[:3]
        by = ", ".join(f"{row['name']} ({row['lane']}) {format_bytes(row['bytes'])}" for row in most)
        contract = _call("bytes_moved_below", size, op=op, lane=lane)
        if op is not None and not rows:
            return self._check(contract, False, f"{op} never ran", "names are those of prof.table().")
        return self._check(contract, moved < parse_bytes(size),
                           f"{format_bytes(moved)} were moved, most by {by}")

    def _recorded(self, data: str) -> None:
        """Raise for a trace without the data that the contract needs: the contract would always hold."""
        origin = self._profile.environment.get("trace of")
        if origin is not None:
            raise ContractError(f"A trace of {origin} does not say {data}.", hint="calls() works with any trace.")

    def _whole(self) -> None:
        """Raise if single calls were folded into totals."""
        if self._profile._data().folded:
            raise ContractError(f"{counted(self._profile._data().folded, 'older event', 'are')} in the totals only.",
                                hint="profile fewer steps, or with Profiler(capacity=…).")

    def _gradient_rows(self, owner: str) -> int | None:
        """Most rows stored by a row_sparse gradient of ``owner``: of its update, else of its layer's backward pass."""
        wanted = _tidy_name(owner)
        owners = self._profile.gradient_rows
        stored = [rows for name, rows in owners.items() if _tidy_name(name) == wanted]
        if stored:
            return max(stored)
        self._whole()
        layer = _tidy_name(owner.replace(".", "_").rpartition("_")[0])
        rows = [array["rows"] for record in self._profile.records
                if record["lane"] == "backward" and _tidy_name(record["layer"]) == layer
                for array in record["outputs"] if array["stype"] == "row_sparse"]
        return max(rows, default=None)


class Promise(Expectation, Scoped):
    """Contracts on what has not run yet: a ``with`` block, or a function that this decorates.

    Attributes
    ----------
    profile : Profiler or None
        Profile of the latest block; None before the first block.
    """

    def __init__(self) -> None:
        super().__init__(None)  # type: ignore[arg-type]  # there is none before the block
        self.profile: Profiler | None = None
        self._done = False

    def _before(self) -> Profiler:
        return Profiler()

    def _enter(self, before: Profiler) -> Self:
        before.start()
        self._done, self._held, self.profile = False, [], before
        return self

    def _leave(self, before: Profiler, kind: type[BaseException] | None) -> None:
        before.stop()

    def _after(self, before: Profiler, kind: type[BaseException] | None) -> None:
        self._profile, self._done = before, True
        if kind is None:
            for check in self._promised:
                check()

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """Decorate a function: each call is profiled and held to the contracts."""
        if not self._promised:
            raise ProfilerError("expect() needs at least one contract before it decorates a function.",
                                hint="@expect().no_densify(), for instance.")

        @functools.wraps(function)
        def held(*args: P.args, **kwargs: P.kwargs) -> T:
            with self:
                return function(*args, **kwargs)

        return held

    def __repr__(self) -> str:
        return super().__repr__() if self._done else f"{len(self._promised)} contracts to hold"


#: Names of the contracts.
CONTRACTS = tuple(name for name, value in vars(Expectation).items() if not name.startswith("_") and callable(value))


def _tidy(types: str) -> str:
    sides = [", ".join(word.strip() for word in side.split(",")) for side in types.replace("→", "->").split("->")]
    return " -> ".join(sides)


def _tidy_name(name: str) -> str:
    return name.replace(".", "_")


def _call(name: str, *args: object, **kwargs: object) -> str:  # object: their text is shown
    arguments = [repr(value) for value in args if value is not None]
    arguments += [f"{key}={value!r}" for key, value in kwargs.items() if value is not None]
    return f"{name}({', '.join(arguments)})"


